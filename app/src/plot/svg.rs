//! A drawing of plots as SVG, from the same points as on the screen, on a light ground.

use super::axis::Axis;
use super::overlay::Meaning;
use super::picture::{DrawnLine, PlotPicture, horizontal_marks, horizontal_title};
use super::scale::{Against, Scale};
use crate::data::LineMarks;
use crate::theme;
use std::fmt::Write as _;

/// Width of a drawing, in its units.
pub const WIDTH: f64 = 1200.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 80.0;
const TITLE: f64 = 44.0;
const LEGEND: f64 = 26.0;
const PLOT: f64 = 260.0;
const BELOW: f64 = 56.0;

/// What is drawn.
pub struct Drawing<'a> {
    /// What stands above.
    pub title: &'a str,
    /// The plots, from the top.
    pub plots: &'a [PlotPicture],
    /// The common horizontal axis.
    pub scale: &'a Scale,
    /// What it is.
    pub against: Against,
    /// Supports, against place.
    pub line: Option<&'a LineMarks>,
}

/// The drawing as text. Writing to a string cannot fail.
pub fn svg(drawing: &Drawing<'_>) -> String {
    let height = TITLE + drawing.plots.len() as f64 * (LEGEND + PLOT) + BELOW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    text(
        &mut out,
        (LEFT, 26.0),
        "start",
        "font-size=\"17\" font-weight=\"bold\"",
        drawing.title,
    );
    let marks = horizontal_marks(drawing.scale, (WIDTH - LEFT - RIGHT) as f32);
    let mut top = TITLE;
    for (i, plot) in drawing.plots.iter().enumerate() {
        legend(&mut out, plot, top + 18.0);
        top += LEGEND;
        one(&mut out, drawing, plot, &marks, (i, top));
        top += PLOT;
    }
    for (mark, label) in &marks {
        text(
            &mut out,
            (x(drawing.scale, *mark), top + 18.0),
            "middle",
            "",
            label,
        );
    }
    let title = horizontal_title(drawing.against);
    text(&mut out, (0.5 * WIDTH, top + 40.0), "middle", "", title);
    out.push_str("</svg>\n");
    out
}

fn x(scale: &Scale, at: f64) -> f64 {
    LEFT + scale.part(at) * (WIDTH - LEFT - RIGHT)
}

fn y(axis: Axis, value: f64, top: f64) -> f64 {
    top + PLOT - 14.0 - axis.part(value) * (PLOT - 28.0)
}

fn text(out: &mut String, at: (f64, f64), anchor: &str, more: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" {more} fill=\"#222222\">{words}</text>",
        at.0, at.1
    );
}

fn escaped(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn color(line: &DrawnLine) -> String {
    let [r, g, b, _] = theme::series(false, line.color).to_array();
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn width(line: &DrawnLine) -> f64 {
    if line.is_bold { 2.4 } else { 1.1 }
}

fn legend(out: &mut String, plot: &PlotPicture, base: f64) {
    let mut at = LEFT;
    for line in &plot.lines {
        let words = match line.unit.as_str() {
            "" => format!("{}: {}", line.number, line.label),
            unit => format!("{}: {} ({unit})", line.number, line.label),
        };
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{}\" stroke-width=\"{}\"/>",
            color(line),
            2.0 * width(line),
            y = base - 4.0,
            to = at + 22.0,
        );
        text(out, (at + 28.0, base), "start", "", &words);
        // Letters of a sans-serif font of 13 are about 7 wide.
        at += 28.0 + 7.0 * words.chars().count() as f64 + 24.0;
    }
    if plot.samples_per_point > 1 {
        let words = format!("min/max of {} samples", plot.samples_per_point);
        text(
            out,
            (WIDTH - RIGHT, base),
            "end",
            "fill-opacity=\"0.7\"",
            &words,
        );
    }
}

fn one(
    out: &mut String,
    drawing: &Drawing<'_>,
    plot: &PlotPicture,
    marks: &[(f64, String)],
    (number, top): (usize, f64),
) {
    let (scale, right) = (drawing.scale, WIDTH - RIGHT);
    let frame = format!(
        "x=\"{LEFT}\" y=\"{top}\" width=\"{}\" height=\"{PLOT}\"",
        right - LEFT
    );
    let _ = writeln!(
        out,
        "<clipPath id=\"plot{number}\"><rect {frame}/></clipPath>"
    );
    let upright = |out: &mut String, at: f64, stroke: &str| {
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"{stroke}\"/>",
            top + PLOT
        );
    };
    for (mark, _) in marks {
        upright(out, x(scale, *mark), "#dddddd");
    }
    for support in drawing
        .line
        .map(|l| l.supports_m.as_slice())
        .unwrap_or_default()
    {
        if (0.0..=1.0).contains(&scale.part(*support)) {
            upright(out, x(scale, *support), "#999999");
        }
    }
    for (side, axis) in plot.axes.iter().enumerate() {
        let Some((axis, unit)) = axis else {
            continue;
        };
        let (edge, anchor, middle) = match side {
            0 => (LEFT - 8.0, "end", 18.0),
            _ => (right + 8.0, "start", WIDTH - 14.0),
        };
        for mark in axis.marks() {
            let at = y(*axis, mark, top);
            if side == 0 {
                let _ = writeln!(
                    out,
                    "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>"
                );
            }
            text(out, (edge, at + 4.0), anchor, "", &axis.label(mark));
        }
        let centre = top + 0.5 * PLOT;
        let turned = format!("transform=\"rotate(-90 {middle} {centre})\"");
        text(out, (middle, centre), "middle", &turned, unit);
    }
    let _ = writeln!(out, "<g clip-path=\"url(#plot{number})\">");
    for line in &plot.lines {
        if let Some((axis, _)) = &plot.axes[line.side] {
            draw_line(out, line, scale, *axis, top);
        }
    }
    out.push_str("</g>\n");
    across(out, plot, top);
    let _ = writeln!(out, "<rect {frame} fill=\"none\" stroke=\"#888888\"/>");
}

fn draw_line(out: &mut String, line: &DrawnLine, scale: &Scale, axis: Axis, top: f64) {
    let style = format!(
        "stroke=\"{0}\" stroke-width=\"{1}\" stroke-linejoin=\"bevel\"",
        color(line),
        width(line)
    );
    let points = &line.line.points;
    for run in points.split(|p| p.is_gap()).filter(|r| !r.is_empty()) {
        let at =
            |x_at: f64, value: f64| format!("{:.2},{:.2} ", x(scale, x_at), y(axis, value, top));
        let there: String = run.iter().map(|p| at(p.x, p.high)).collect();
        if line.line.samples_per_point > 1 {
            let back: String = run.iter().rev().map(|p| at(p.x, p.low)).collect();
            let fill = color(line);
            let _ = writeln!(
                out,
                "<polygon points=\"{there}{}\" fill=\"{fill}\" {style}/>",
                back.trim_end()
            );
        } else {
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" {style}/>",
                there.trim_end()
            );
        }
    }
}

fn across(out: &mut String, plot: &PlotPicture, top: f64) {
    let (side, lines) = &plot.across;
    let Some((axis, _)) = &plot.axes[*side] else {
        return;
    };
    for line in lines {
        let at = y(*axis, line.value, top);
        if !(top..=top + PLOT).contains(&at) {
            continue;
        }
        let (stroke, dashes) = match line.meaning {
            Meaning::Limit => ("#be2026", "10 6"),
            Meaning::Mean => ("#333333", "24 3"),
            Meaning::Deviation => ("#333333", "3 4"),
        };
        let right = WIDTH - RIGHT;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"{stroke}\" \
             stroke-width=\"1.2\" stroke-dasharray=\"{dashes}\"/>"
        );
        let (edge, anchor) = match line.meaning {
            Meaning::Limit => (right - 6.0, "end"),
            Meaning::Mean | Meaning::Deviation => (LEFT + 6.0, "start"),
        };
        text(out, (edge, at - 4.0), anchor, "", &line.label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use crate::plot::scale::Horizontal;
    use crate::plot::stack::defaults;
    use crate::view::View;

    /// Every element that is opened is closed in order, and no stray sign is in the text: a small reader of
    /// what this file writes, which uses no comments and no CDATA.
    pub fn check_well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = svg;
        while let Some(at) = rest.find('<') {
            let (before, after) = rest.split_at(at);
            assert!(!before.contains('>'), "stray > in {before:?}");
            for part in before.split('&').skip(1) {
                assert!(
                    ["amp;", "lt;", "gt;", "quot;"]
                        .iter()
                        .any(|e| part.starts_with(e)),
                    "{part}"
                );
            }
            let end = after.find('>').unwrap();
            let tag = &after[1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap());
            }
            rest = &after[end + 1..];
        }
        assert!(
            open.is_empty() && rest.trim().is_empty(),
            "{open:?} {rest:?}"
        );
    }

    #[test]
    fn a_drawing_is_well_formed_and_holds_labels_units_and_title() {
        let data = sample::run(20.0);
        let view = View {
            data: &data,
            now_s: 19.0,
            is_following: true,
            is_replay: false,
        };
        for span in [Some(2.0), None] {
            let horizontal = Horizontal {
                span_s: span,
                ..Horizontal::default()
            };
            let scale = horizontal.scale(&view).unwrap();
            let mut plots = defaults(&data.channels);
            let pictures: Vec<PlotPicture> = plots
                .iter_mut()
                .map(|p| PlotPicture::of(&view, p, &scale, WIDTH as f32, 0.0).0)
                .collect();
            let drawn = svg(&Drawing {
                title: "Run <1> & \"2\"",
                plots: &pictures,
                scale: &scale,
                against: Against::Time,
                line: None,
            });
            check_well_formed(&drawn);
            for words in [
                "Run &lt;1&gt; &amp; &quot;2&quot;",
                "2: Contact force, 20 Hz (N)",
                "Motor tracking error (mm)",
                "time in s",
                "F_m + 3σ",
                "limit F_m + 3σ ≤ 350 N",
            ] {
                assert!(drawn.contains(words), "{words}");
            }
            assert_eq!(drawn.contains("min/max of"), span.is_none());
            assert_eq!(drawn.contains("<polygon"), span.is_none());
            assert!(!drawn.contains("NaN"));
        }
    }
}
