//! Symbols with a subscript, written `F_m` in texts: found again, so that they are set as a book sets them.

/// Symbols that are set with a subscript. Anything else with an underscore, such as the name of a channel or a file,
/// stays as it is.
const SYMBOLS: [(&str, &str); 8] = [
    ("F", "m"),
    ("k", "i"),
    ("c", "i"),
    ("m", "i"),
    ("Q", "kf"),
    ("R", "kf"),
    ("N", "δ"),
    ("N", "eff"),
];

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its letters.
    pub text: &'a str,
    /// Whether it stands lower and smaller.
    pub is_lowered: bool,
}

/// The parts of a text; together they are the text without the underscores of its symbols.
pub fn split(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in text.match_indices('_') {
        let before = &text[begin.min(at)..at];
        let after = &text[at + 1..];
        let found = SYMBOLS.iter().find(|(base, lowered)| {
            let is_alone = |rest: &str| !rest.chars().next_back().is_some_and(belongs);
            before.strip_suffix(base).is_some_and(is_alone)
                && after
                    .strip_prefix(lowered)
                    .is_some_and(|rest| !rest.chars().next().is_some_and(belongs))
        });
        if let Some((_, lowered)) = found {
            parts.push(plain(before));
            begin = at + 1 + lowered.len();
            parts.push(Part {
                text: &text[at + 1..begin],
                is_lowered: true,
            });
        }
    }
    parts.push(plain(&text[begin..]));
    parts.retain(|part| !part.text.is_empty());
    parts
}

fn plain(text: &str) -> Part<'_> {
    Part {
        text,
        is_lowered: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mark = |p: &Part<'_>| match p.is_lowered {
            true => format!("[{}]", p.text),
            false => p.text.to_owned(),
        };
        split(text).iter().map(mark).collect()
    }

    #[test]
    fn symbols_are_found_and_names_left_alone() {
        assert_eq!(shown("F_m + 3σ"), "F[m] + 3σ");
        assert_eq!(shown("σ ≤ 0.3 F_m, k_i"), "σ ≤ 0.3 F[m], k[i]");
        assert_eq!(shown("Q_kf and N_δ."), "Q[kf] and N[δ].");
        for name in [
            "motor_position",
            "F_max",
            "XF_m",
            "F_m_2",
            "_",
            "__F",
            "rig_k_i",
            "",
        ] {
            assert_eq!(shown(name), name);
        }
    }
}
