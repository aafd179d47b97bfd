//! Charts as SVG: lines and letters that stay sharp at every size, for reports.

use super::canvas::Canvas;
use super::{Chart, Pen, draw};
use crate::report::symbols;
use eframe::egui::{Align, Align2, Color32, ColorImage, Pos2, Rect, TextureId, Vec2, pos2};
use std::fmt::Write;

/// Writes charts below each other as a picture of a size in points, on white.
pub fn write(charts: &[Chart], size: Vec2) -> String {
    let rect = Rect::from_min_size(Pos2::ZERO, size);
    let mut canvas = SvgCanvas::default();
    super::draw_on(&mut canvas, charts, rect);
    let SvgCanvas { body, clips, .. } = canvas;
    let (w, h) = (size.x, size.y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"sans-serif\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{clips}{body}</svg>\n"
    )
}

#[derive(Default)]
struct SvgCanvas {
    body: String,
    clips: String,
    clip_count: usize,
    /// What is put into every element.
    clip: String,
}

impl SvgCanvas {
    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.body.write_fmt(text);
    }
}

fn color(name: &str, color: Color32) -> String {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    let opacity = f32::from(a) / 255.0;
    match a {
        255 => format!("{name}=\"#{r:02x}{g:02x}{b:02x}\""),
        _ => format!("{name}=\"#{r:02x}{g:02x}{b:02x}\" {name}-opacity=\"{opacity:.3}\""),
    }
}

impl Canvas for SvgCanvas {
    fn clip(&mut self, to: Option<Rect>) {
        let Some(r) = to else {
            self.clip.clear();
            return;
        };
        self.clip_count += 1;
        let n = self.clip_count;
        let _ = writeln!(
            self.clips,
            "<clipPath id=\"c{n}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
            r.left(),
            r.top(),
            r.width(),
            r.height()
        );
        self.clip = format!(" clip-path=\"url(#c{n})\"");
    }

    fn line(&mut self, points: Vec<Pos2>, pen: Pen) {
        let places: Vec<String> = points
            .iter()
            .map(|p| format!("{:.1},{:.1}", p.x, p.y))
            .collect();
        let dashes = draw::strokes(pen.dash).map(|d| format!(" stroke-dasharray=\"{d}\""));
        let (stroke, clip) = (color("stroke", pen.color), self.clip.clone());
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" {stroke} stroke-width=\"{}\"{}{clip}/>\n",
            places.join(" "),
            pen.width,
            dashes.unwrap_or_default()
        ));
    }

    fn dot(&mut self, center: Pos2, radius: f32, fill: Color32, is_hollow: bool) {
        let paint = if is_hollow {
            format!("fill=\"none\" {}", color("stroke", fill))
        } else {
            color("fill", fill)
        };
        let clip = self.clip.clone();
        self.push(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" {paint}{clip}/>\n",
            center.x, center.y
        ));
    }

    fn fill(&mut self, rect: Rect, fill: Color32) {
        let (paint, clip) = (color("fill", fill), self.clip.clone());
        self.push(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" {paint}{clip}/>\n",
            rect.left(),
            rect.top(),
            rect.width().max(0.0),
            rect.height().max(0.0)
        ));
    }

    fn outline(&mut self, rect: Rect, stroke: Color32) {
        let paint = color("stroke", stroke);
        self.push(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" {paint}/>\n",
            rect.left(),
            rect.top(),
            rect.width(),
            rect.height()
        ));
    }

    /// What common fonts take on average; the file's reader chooses the font.
    fn measure(&self, size: f32, text: &str) -> Vec2 {
        Vec2::new(0.55 * size * text.chars().count() as f32, size)
    }

    fn text(&mut self, at: Pos2, align: Align2, size: f32, fill: Color32, text: &str) -> Rect {
        let rect = align.anchor_size(at, self.measure(size, text));
        let anchor = match align.x() {
            Align::Min => "start",
            Align::Center => "middle",
            Align::Max => "end",
        };
        // Letters stand on a line a little above the lower edge.
        let base = pos2(at.x, rect.bottom() - 0.2 * size);
        let (paint, clip) = (color("fill", fill), self.clip.clone());
        self.push(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" {paint}{clip}>{}</text>\n",
            base.x,
            base.y,
            with_symbols(text, size)
        ));
        rect
    }

    fn picture(&mut self, rect: Rect, _texture: TextureId, pixels: &ColorImage) {
        let Some(png) = png(pixels) else {
            // A picture without pixels has nothing to show.
            return;
        };
        let clip = self.clip.clone();
        self.push(format_args!(
            "<image x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" preserveAspectRatio=\"none\"{clip} \
             href=\"data:image/png;base64,{}\"/>\n",
            rect.left(),
            rect.top(),
            rect.width(),
            rect.height(),
            base64(&png)
        ));
    }
}

/// Text with the subscripts of its symbols.
fn with_symbols(text: &str, size: f32) -> String {
    let (small, drop) = (0.75 * size, 0.2 * size);
    // What follows a subscript goes back up.
    let mut is_low = false;
    let mut set = |part: &symbols::Part<'_>| {
        let letters = escaped(part.text);
        match (
            part.is_lowered,
            std::mem::replace(&mut is_low, part.is_lowered),
        ) {
            (true, _) => {
                format!("<tspan dy=\"{drop:.1}\" font-size=\"{small:.1}\">{letters}</tspan>")
            }
            (false, true) => format!("<tspan dy=\"-{drop:.1}\">{letters}</tspan>"),
            (false, false) => letters,
        }
    };
    symbols::split(text).iter().map(&mut set).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn png(image: &ColorImage) -> Option<Vec<u8>> {
    let [width, height] = image.size.map(|n| u32::try_from(n).unwrap_or(0));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().ok()?;
    let pixels: Vec<u8> = image
        .pixels
        .iter()
        .flat_map(|p| p.to_srgba_unmultiplied())
        .collect();
    writer.write_image_data(&pixels).ok()?;
    writer.finish().ok()?;
    Some(bytes)
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let part = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for i in 0..4 {
            let is_padding = i > chunk.len();
            let letter = LETTERS[(bits >> (18 - 6 * i)) as usize & 63];
            text.push(if is_padding { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::{Dash, Height, Item};
    use super::*;
    use std::sync::Arc;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_chart_becomes_lines_words_and_a_picture() {
        let pen = Pen {
            color: Color32::RED,
            width: 2.0,
            dash: Dash::Dashed,
        };
        let image = ColorImage::filled([2, 3], Color32::GREEN);
        let chart = Chart {
            name: "test".into(),
            x: Axis::exactly(0.0, 10.0),
            x_title: "Frequency (Hz)".into(),
            y: Axis::exactly(0.0, 1.0),
            y_title: "a < b & c".into(),
            items: vec![
                Item::Line(vec![[0.0, 0.0], [10.0, 1.0]], pen),
                Item::Picture {
                    texture: TextureId::default(),
                    pixels: Arc::new(image),
                    x: (0.0, 5.0),
                    y: (0.0, 1.0),
                },
            ],
            legend: vec![(pen, "force".into())],
            height: Height::Share(1.0),
        };
        let svg = write(&[chart], Vec2::new(400.0, 300.0));
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        // The diagonal goes from corner to corner of the plot: 62 … 382 across, 24 … 260 down.
        let diagonal = "<polyline points=\"62.0,260.0 382.0,24.0\" fill=\"none\" stroke=\"#ff0000\" \
                        stroke-width=\"2\" stroke-dasharray=\"7 4\" clip-path=\"url(#c1)\"/>";
        assert!(svg.contains(diagonal), "{svg}");
        assert!(svg.contains(">a &lt; b &amp; c</text>") && svg.contains(">force</text>"));
        assert!(svg.contains("data:image/png;base64,iVBORw0KGgo"));
        let opened = svg.matches("<text").count();
        assert_eq!(opened, svg.matches("</text>").count());
    }
}
