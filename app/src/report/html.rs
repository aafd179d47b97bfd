//! A report as one HTML file: pictures inside, nothing from outside, for the screen, for paper and for a phone.

use super::document::{Block, Cell, Document, Figure, Side, Table, Tone};
use super::symbols;
use crate::chart::svg;
use eframe::egui::Vec2;
use std::fmt::Write;

/// Width of pictures, in points of their own.
const PICTURE_WIDTH: f32 = 900.0;

/// Everything that the page looks like.
const STYLE: &str = "
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #f1f3f5; color: #1c2126;
  font: 16px/1.5 system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; }
main { max-width: 980px; margin: 24px auto; padding: 40px 48px; background: #fff; border-radius: 6px;
  box-shadow: 0 1px 4px rgba(0,0,0,.15); }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .2em; }
.subtitle { color: #56606a; margin: 0 0 1.6em; }
h2 { font-size: 1.45rem; margin: 2.2em 0 .6em; padding-bottom: .2em; border-bottom: 2px solid #c9d0d6; }
h3 { font-size: 1.12rem; margin: 1.7em 0 .5em; }
p { margin: .5em 0; overflow-wrap: anywhere; }
sub { line-height: 0; }
.notice { margin: .8em 0; padding: .6em .9em; border-left: 5px solid #7a8691; background: #f4f6f7; overflow-wrap: anywhere; }
.notice.good { border-color: #187a3c; background: #eef7f1; }
.notice.warning { border-color: #946100; background: #fdf6e7; }
.notice.bad { border-color: #be2026; background: #fcefef; }
.scroll { overflow-x: auto; margin: .8em 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3em 0; }
.narrow { width: auto; }
.wide { min-width: 560px; }
.fit { width: 1%; }
th, td { padding: .34em .6em; border-bottom: 1px solid #dde2e6; vertical-align: top; text-align: left; }
thead th { border-bottom: 2px solid #aab4bc; font-weight: 600; vertical-align: bottom; }
.right { text-align: right; }
td.right { white-space: nowrap; }
.facts th { width: 31%; font-weight: 500; color: #56606a; }
.facts td { overflow-wrap: anywhere; }
td.good, .facts td.good { color: #12652f; font-weight: 600; }
td.warning { color: #7a5000; font-weight: 600; }
td.bad { color: #a91b21; font-weight: 600; }
td.literal { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: .86em; overflow-wrap: anywhere; }
td.missing { color: #69737c; font-style: italic; }
figure { margin: 1.2em 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { color: #454e56; font-size: .9rem; margin-top: .3em; }
pre { background: #f4f6f7; border: 1px solid #dde2e6; padding: .7em .9em; border-radius: 4px; font-size: .86rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-top: 3em; padding-top: .8em; border-top: 1px solid #c9d0d6; color: #56606a; font-size: .85rem;
  overflow-wrap: anywhere; }
@media (max-width: 720px) {
  main { margin: 0; padding: 20px 16px; border-radius: 0; box-shadow: none; }
  h1 { font-size: 1.5rem; }
  .facts th, .facts td { display: block; width: auto; border: 0; padding: .1em 0; }
  .facts tr { display: block; border-bottom: 1px solid #dde2e6; padding: .3em 0; }
  figure .scroll svg { min-width: 640px; }
}
@page { size: A4; margin: 18mm 16mm; }
@media print {
  body { background: #fff; font-size: 10.5pt; }
  main { max-width: none; margin: 0; padding: 0; box-shadow: none; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .notice, pre { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; }
  .part { break-before: page; }
}
";

/// Draws a report.
pub fn write(document: &Document) -> String {
    let mut out = String::new();
    let title = escaped(&document.title);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
        text(&document.title),
        text(&document.subtitle)
    );
    let mut figures = 0;
    let mut begins_page = false;
    for block in &document.blocks {
        match block {
            Block::NewPage => {
                begins_page = true;
                continue;
            }
            Block::Heading(level, words) => {
                let tag = if *level <= 1 { "h2" } else { "h3" };
                let class = if begins_page { " class=\"part\"" } else { "" };
                let _ = writeln!(out, "<{tag}{class}>{}</{tag}>", text(words));
            }
            Block::Paragraph(words) => {
                let _ = writeln!(out, "<p>{}</p>", text(words));
            }
            Block::Notice(tone, words) => {
                let _ = writeln!(
                    out,
                    "<p class=\"notice {}\">{}</p>",
                    class(*tone),
                    text(words)
                );
            }
            Block::Facts(facts) => {
                out.push_str("<table class=\"facts\">\n<tbody>\n");
                for fact in facts {
                    let _ = writeln!(
                        out,
                        "<tr><th scope=\"row\">{}</th><td class=\"{}\">{}</td></tr>",
                        text(&fact.name),
                        class(fact.tone),
                        toned(&fact.value, fact.tone)
                    );
                }
                out.push_str("</tbody>\n</table>\n");
            }
            Block::Table(found) => table(&mut out, found),
            Block::Figure(found) => {
                figures += 1;
                figure(&mut out, found, figures);
            }
            Block::Code(words) => {
                let _ = writeln!(out, "<pre><code>{}</code></pre>", escaped(words));
            }
        }
        begins_page = false;
    }
    let _ = write!(
        out,
        "<footer>{}</footer>\n</main>\n</body>\n</html>\n",
        text(&document.footer)
    );
    out
}

fn table(out: &mut String, table: &Table) {
    let side = |i: usize| match table.columns.get(i) {
        Some((_, Side::Right)) => "right",
        _ => "left",
    };
    // Columns of numbers are as narrow as they may be beside words; a table of numbers alone is narrow itself.
    let has_words = table.columns.iter().any(|(_, side)| *side == Side::Left);
    let class_of_table = match (has_words, table.columns.len()) {
        (false, _) => "narrow",
        (true, ..=3) => "plain",
        (true, _) => "wide",
    };
    let fit = if has_words { " fit" } else { "" };
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"{class_of_table}\">"
    );
    if !table.caption.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", text(&table.caption));
    }
    out.push_str("<thead><tr>");
    for (i, (words, _)) in table.columns.iter().enumerate() {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"{}{}\">{}</th>",
            side(i),
            if side(i) == "right" { fit } else { "" },
            text(words)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (i, Cell { text: words, tone }) in row.iter().enumerate() {
            let _ = write!(
                out,
                "<td class=\"{} {}\">{}</td>",
                side(i),
                class(*tone),
                toned(words, *tone)
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn figure(out: &mut String, figure: &Figure, number: usize) {
    let size = Vec2::new(PICTURE_WIDTH, PICTURE_WIDTH * figure.aspect);
    let drawn = svg::write(&figure.charts, size);
    // Names within a picture are its own: all pictures stand in one page.
    let drawn = drawn
        .replace("id=\"c", &format!("id=\"f{number}c"))
        .replace("url(#c", &format!("url(#f{number}c"));
    let label = escaped(&figure.caption).replace('"', "&quot;");
    let drawn = drawn.replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{label}\" "),
        1,
    );
    let _ = write!(
        out,
        "<figure>\n<div class=\"scroll\">{drawn}</div>\n<figcaption>Figure {number}: {}</figcaption>\n</figure>\n",
        text(&figure.caption)
    );
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
        Tone::Missing => "missing",
        Tone::Literal => "literal",
    }
}

/// Text of a field: names that are typed have no symbols.
fn toned(words: &str, tone: Tone) -> String {
    match tone {
        Tone::Literal => escaped(words),
        _ => text(words),
    }
}

/// Text with its symbols set; nothing in it is markup. Lines stay lines.
fn text(words: &str) -> String {
    let set = |part: &symbols::Part<'_>| match part.is_lowered {
        true => format!("<sub>{}</sub>", escaped(part.text)),
        false => escaped(part.text).replace('\n', "<br/>"),
    };
    symbols::split(words).iter().map(set).collect()
}

/// Text in which nothing is markup. Control characters have no place in a page.
fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Fact;

    #[test]
    fn nothing_that_a_person_wrote_becomes_markup() {
        let evil = "<script>alert(\"1\")</script> & 'x' \u{7}";
        let document = Document {
            title: evil.into(),
            subtitle: evil.into(),
            footer: evil.into(),
            blocks: vec![
                Block::Heading(1, evil.into()),
                Block::Paragraph(evil.into()),
                Block::Notice(Tone::Bad, evil.into()),
                Block::Facts(vec![Fact::new(evil, evil)]),
                Block::Code(evil.into()),
                Block::Table(Table {
                    caption: evil.into(),
                    columns: vec![(evil.into(), Side::Left)],
                    rows: vec![vec![evil.into()]],
                }),
            ],
        };
        let page = write(&document);
        assert!(!page.contains("<script") && !page.contains('\u{7}'));
        let safe = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; \u{fffd}";
        assert_eq!(page.matches(safe).count(), 13, "{page}");
    }

    #[test]
    fn lines_stay_lines_and_symbols_are_set() {
        assert_eq!(text("F_m\nσ < 1"), "F<sub>m</sub><br/>σ &lt; 1");
    }
}
