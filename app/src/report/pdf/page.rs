//! Pages being filled: where the pen stands, words, lines and boxes, with y from the top as everywhere else.

use super::fonts::{Family, Fonts, resource_name};
use crate::report::symbols;
use eframe::egui::Color32;
use pdf_writer::types::TextRenderingMode;
use pdf_writer::{Content, Name, Str};
use std::collections::BTreeSet;

/// A4, in points.
pub const WIDTH: f32 = 595.28;
/// A4, in points.
pub const HEIGHT: f32 = 841.89;
/// From the edges to the text.
pub const LEFT: f32 = 54.0;
/// The room for text across.
pub const ROOM: f32 = WIDTH - 2.0 * LEFT;
/// Where text begins on a page.
pub const TOP: f32 = 62.0;
/// Where text ends on a page.
pub const BOTTOM: f32 = HEIGHT - 62.0;

/// Size and weight of subscripts by those of the text.
const LOWERED: f32 = 0.72;
const LOWERED_BY: f32 = 0.16;

/// How words look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Type {
    /// Which font.
    pub family: Family,
    /// Size in points.
    pub size: f32,
    /// Whether it is heavier.
    pub is_strong: bool,
    /// Colour.
    pub color: Color32,
}

impl Type {
    /// The share of the size by which letters are made heavier: the shipped font is a light one.
    fn weight(&self) -> f32 {
        match (self.family, self.is_strong) {
            (Family::Text, false) => 0.014,
            (Family::Text, true) => 0.05,
            (Family::Code, false) => 0.0,
            (Family::Code, true) => 0.03,
        }
    }
}

/// The pages so far and what they need.
pub struct Pages {
    /// Contents of the pages, the last one being filled.
    pub contents: Vec<Content>,
    /// Fonts with what is used of them.
    pub fonts: Fonts,
    /// Opacities in use, in parts of 255.
    pub alphas: BTreeSet<u8>,
}

/// The name of an opacity in the pages.
pub fn alpha_name(alpha: u8) -> String {
    format!("A{alpha}")
}

fn rgb(color: Color32) -> [f32; 3] {
    let [r, g, b, _] = color.to_srgba_unmultiplied();
    [r, g, b].map(|part| f32::from(part) / 255.0)
}

impl Pages {
    /// One empty page.
    pub fn new() -> Result<Self, String> {
        Ok(Self {
            contents: vec![Content::new()],
            fonts: Fonts::new()?,
            alphas: BTreeSet::new(),
        })
    }

    /// The page that is being filled.
    pub fn content(&mut self) -> &mut Content {
        let last = self.contents.len() - 1;
        &mut self.contents[last]
    }

    /// Another page.
    pub fn next(&mut self) {
        self.contents.push(Content::new());
    }

    /// How long words are, in points.
    pub fn width(&self, look: Type, words: &str) -> f32 {
        let part_width = |part: &symbols::Part<'_>| {
            let size = if part.is_lowered { LOWERED } else { 1.0 };
            size * self.fonts.width(look.family, part.text)
        };
        let parts = match look.family {
            Family::Text => symbols::split(words),
            Family::Code => {
                return look.size * self.fonts.width(look.family, words);
            }
        };
        look.size * parts.iter().map(part_width).sum::<f32>()
    }

    /// Words that begin at x on a base line at y of the last page.
    pub fn words(&mut self, x: f32, y: f32, look: Type, words: &str) {
        let page = self.contents.len() - 1;
        self.words_on(page, x, y, look, words);
    }

    /// Words on some page.
    pub fn words_on(&mut self, page: usize, x: f32, y: f32, look: Type, words: &str) {
        let parts = match look.family {
            Family::Text => symbols::split(words),
            Family::Code => vec![symbols::Part {
                text: words,
                is_lowered: false,
            }],
        };
        let mut x = x;
        self.open(page, look.color);
        let content = &mut self.contents[page];
        let [r, g, b] = rgb(look.color);
        content.set_stroke_rgb(r, g, b);
        content.begin_text();
        if look.weight() > 0.0 {
            content.set_line_width(look.weight() * look.size);
            content.set_text_rendering_mode(TextRenderingMode::FillStroke);
        }
        for part in parts {
            let (size, drop) = match part.is_lowered {
                true => (LOWERED * look.size, LOWERED_BY * look.size),
                false => (look.size, 0.0),
            };
            for run in self.fonts.shape(look.family, part.text) {
                let name = resource_name(run.font);
                content.set_font(Name(name.as_bytes()), size);
                content.set_text_matrix([1.0, 0.0, 0.0, 1.0, x, HEIGHT - y - drop]);
                content.show(Str(&run.codes));
                x += size * run.width;
            }
        }
        content.end_text();
        content.restore_state();
    }

    /// Saves the state of the page and sets a colour for filling, with its opacity.
    fn open(&mut self, page: usize, color: Color32) {
        let [.., alpha] = color.to_srgba_unmultiplied();
        let [r, g, b] = rgb(color);
        let content = &mut self.contents[page];
        content.save_state();
        content.set_fill_rgb(r, g, b);
        if alpha < 255 {
            self.alphas.insert(alpha);
            content.set_parameters(Name(alpha_name(alpha).as_bytes()));
        }
    }

    /// A filled rectangle.
    pub fn fill(&mut self, x: f32, y: f32, width: f32, height: f32, color: Color32) {
        let page = self.contents.len() - 1;
        self.open(page, color);
        let content = self.content();
        content.rect(x, HEIGHT - y - height, width, height);
        content.fill_nonzero();
        content.restore_state();
    }

    /// Opens a state for strokes, to be closed with `restore_state`.
    pub fn open_stroke(&mut self, width: f32, color: Color32) -> &mut Content {
        let page = self.contents.len() - 1;
        self.open(page, color);
        let [r, g, b] = rgb(color);
        let content = self.content();
        content.set_stroke_rgb(r, g, b);
        content.set_line_width(width);
        content
    }

    /// A line across the page.
    pub fn rule(&mut self, y: f32, width: f32, color: Color32) {
        self.rule_to(LEFT + ROOM, y, width, color);
    }

    /// A line from the left to a place.
    pub fn rule_to(&mut self, end: f32, y: f32, width: f32, color: Color32) {
        let content = self.open_stroke(width, color);
        content.move_to(LEFT, HEIGHT - y);
        content.line_to(end, HEIGHT - y);
        content.stroke();
        content.restore_state();
    }

    /// Words in lines of at most a width. A word that is longer is broken.
    pub fn lines(&self, look: Type, words: &str, width: f32) -> Vec<String> {
        let mut lines = Vec::new();
        for paragraph in words.split('\n') {
            let mut line = String::new();
            for word in paragraph.split_whitespace() {
                let longer = if line.is_empty() {
                    word.to_owned()
                } else {
                    format!("{line} {word}")
                };
                if self.width(look, &longer) <= width {
                    line = longer;
                    continue;
                }
                if !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
                line = self.broken(look, word, width, &mut lines);
            }
            lines.push(line);
        }
        lines
    }

    /// The last piece of a word, after the pieces that fill lines of their own.
    fn broken(&self, look: Type, word: &str, width: f32, lines: &mut Vec<String>) -> String {
        if self.width(look, word) <= width {
            return word.to_owned();
        }
        let mut piece = String::new();
        for letter in word.chars() {
            piece.push(letter);
            if self.width(look, &piece) > width && piece.chars().count() > 1 {
                piece.pop();
                lines.push(std::mem::take(&mut piece));
                piece.push(letter);
            }
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Type = Type {
        family: Family::Text,
        size: 10.0,
        is_strong: false,
        color: Color32::BLACK,
    };

    #[test]
    fn lines_fit_and_nothing_is_lost() {
        let pages = Pages::new().unwrap();
        let words = "The force of a run, F_m ± 3σ, and a_very_long_name_that_does_not_fit_at_all_into_one_line\nnew";
        let lines = pages.lines(LOOK, words, 90.0);
        for line in &lines {
            assert!(pages.width(LOOK, line) <= 90.0, "{line}");
        }
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&lines.concat()), letters(words));
        assert_eq!(lines.last().unwrap(), "new");
        assert_eq!(pages.lines(LOOK, "", 90.0), [""]);
    }

    #[test]
    fn a_subscript_is_narrower_than_its_letter() {
        let pages = Pages::new().unwrap();
        let lowered = pages.width(LOOK, "F_m");
        assert!(lowered < pages.width(LOOK, "Fm") && lowered > pages.width(LOOK, "F"));
    }
}
