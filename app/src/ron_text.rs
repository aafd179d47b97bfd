//! Fields of a session or rig file changed in its text: everything else stays as a person wrote it, comments, order and
//! layout, and what was changed is a file that says so.

/// Sets a field, named by its path from the outermost brackets, to a value in the file's own notation. A field that is
/// not there yet is added; brackets on the way to it have to be there.
pub fn set_field(text: &str, path: &[&str], value: &str) -> Result<String, String> {
    let mut body = body_of(text, 0, text.len()).ok_or("the file has no brackets")?;
    let Some((last, groups)) = path.split_last() else {
        return Err("no field is named".into());
    };
    for group in groups {
        let found = find_field(text, body, group)
            .and_then(|(from, to)| body_of(text, from, to))
            .ok_or_else(|| format!("'{group}' has no fields in this file"))?;
        body = found;
    }
    Ok(match find_field(text, body, last) {
        Some((from, to)) => format!("{}{value}{}", &text[..from], &text[to..]),
        None => format!("{}{last}: {value}, {}", &text[..body.0], &text[body.0..]),
    })
}

/// What lies within the first round brackets from `from` on.
fn body_of(text: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let mut scan = Scan { text, at: from };
    while scan.at < to {
        if scan.byte() == Some(b'(') {
            let begin = scan.at + 1;
            scan.skip_token();
            return Some((begin, scan.at.checked_sub(1)?));
        }
        scan.skip_token();
    }
    None
}

/// Where the value of a field stands between `body.0` and `body.1`, without blanks around it.
fn find_field(text: &str, body: (usize, usize), name: &str) -> Option<(usize, usize)> {
    let mut scan = Scan { text, at: body.0 };
    loop {
        scan.skip_blank();
        let begin = scan.at;
        while scan.at < body.1 && scan.byte().is_some_and(is_of_name) {
            scan.at += 1;
        }
        let found = &text[begin..scan.at];
        scan.skip_blank();
        if scan.at >= body.1 {
            return None;
        }
        let is_field = scan.byte() == Some(b':') && !found.is_empty();
        if is_field {
            scan.at += 1;
            scan.skip_blank();
        }
        let value = scan.at;
        let mut end = value;
        while scan.at < body.1 && scan.byte() != Some(b',') {
            scan.skip_token();
            end = scan.at;
            scan.skip_blank();
        }
        if is_field && found == name {
            return Some((value, end.min(body.1)));
        }
        if scan.at >= body.1 {
            return None;
        }
        scan.at += 1;
    }
}

fn is_of_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Blanks and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let length = if rest.first().is_some_and(u8::is_ascii_whitespace) {
                1
            } else if rest.starts_with(b"//") {
                rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
            } else if rest.starts_with(b"/*") {
                let end = rest.windows(2).position(|w| w == b"*/");
                end.map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += length;
        }
    }

    /// One byte, one text in quotes, one comment, or all within a pair of brackets.
    fn skip_token(&mut self) {
        let before = self.at;
        self.skip_blank();
        if self.at > before {
            return;
        }
        match self.byte() {
            Some(b'"') => self.skip_text(),
            Some(b'(' | b'[' | b'{') => {
                self.at += 1;
                loop {
                    self.skip_blank();
                    match self.byte() {
                        None => return,
                        Some(b')' | b']' | b'}') => {
                            self.at += 1;
                            return;
                        }
                        Some(_) => self.skip_token(),
                    }
                }
            }
            _ => self.at += 1,
        }
    }

    fn skip_text(&mut self) {
        self.at += 1;
        while let Some(byte) = self.byte() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// (not here)\nSession(\n    title: \"a, (b): \\\" speed_kmh: 1\",\n    \
        bench: Steady(speed_kmh: 300.0 /* fast */, list: [(1, 2), 3]),\n    seconds: 4, // last\n)\n";

    #[test]
    fn a_field_is_replaced_wherever_it_stands() {
        let found = set_field(TEXT, &["seconds"], "9.5").unwrap();
        assert!(found.contains("    seconds: 9.5, // last\n"), "{found}");
        let found = set_field(TEXT, &["bench", "speed_kmh"], "250.0").unwrap();
        assert!(
            found.contains("Steady(speed_kmh: 250.0 /* fast */, list"),
            "{found}"
        );
        let found = set_field(TEXT, &["bench", "list"], "[]").unwrap();
        assert!(found.contains("list: []),\n"), "{found}");
        let found = set_field(TEXT, &["title"], "\"x\"").unwrap();
        assert!(found.contains("title: \"x\",\n"), "{found}");
    }

    #[test]
    fn a_field_that_is_not_there_is_added_and_a_group_is_not() {
        let found = set_field(TEXT, &["uplift_n"], "120.0").unwrap();
        assert!(found.contains("Session(uplift_n: 120.0, \n"), "{found}");
        let found = set_field(TEXT, &["bench", "mesh_m"], "2").unwrap();
        assert!(
            found.contains("Steady(mesh_m: 2, speed_kmh: 300.0"),
            "{found}"
        );
        let problem = set_field(TEXT, &["delays", "extra_s"], "0.0").unwrap_err();
        assert!(problem.contains("'delays' has no fields"), "{problem}");
        assert!(set_field("no brackets", &["a"], "1").is_err());
        assert!(set_field("Session(", &["a"], "1").is_ok_and(|t| t.contains("a: 1")));
    }

    #[test]
    fn a_field_is_found_by_its_path_whatever_stands_around() {
        const RIG: &str = r#"// motor: (omega: 1.0)
Simulated(
    name: "delays: (force_s: 9.0)", /* pad: 3 */
    pad: 240000.0, // N/m
    motor: (
        omega: 212.13, // it was 200,
        list: [(omega: 1.0), (omega: 2.0)],
        damping: 0.42),
    delays: Delays(reference_s: 0.0, force_s: 0.002),
    filter: None,
)"#;
        for (path, from) in [
            (&["pad"][..], "pad: 240000.0,"),
            (&["motor", "omega"], "omega: 212.13,"),
            (&["motor", "damping"], "damping: 0.42)"),
            (&["delays", "force_s"], ", force_s: 0.002)"),
            (&["filter"], "filter: None,"),
        ] {
            let (name, value) = from.split_once(": ").unwrap();
            let end = value.trim_start_matches(|c: char| c.is_alphanumeric() || c == '.');
            let expected = RIG.replacen(from, &format!("{name}: 7.5{end}"), 1);
            assert_eq!(set_field(RIG, path, "7.5").unwrap(), expected);
        }
        assert!(set_field(RIG, &["name", "delays", "force_s"], "1").is_err());
    }

    #[test]
    fn the_shipped_files_stay_readable() {
        use crate::session::Session;
        use rt_core::file;
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions");
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "ron") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let before: Session = file::parse(&text, &path).unwrap();
            let changed = set_field(&text, &["seconds"], "7.25").unwrap();
            let after: Session = file::parse(&changed, &path).unwrap();
            let expected = Session {
                seconds: Some(7.25),
                ..before
            };
            assert_eq!(after, expected, "{}", path.display());
        }
    }
}
