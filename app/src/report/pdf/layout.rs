//! Blocks of a report put onto pages: nothing over an edge, headings with what follows them, headings of tables again
//! on every page.

use super::canvas::PdfCanvas;
use super::fonts::Family;
use super::page::{BOTTOM, LEFT, Pages, ROOM, TOP, Type};
use super::table;
use crate::chart;
use crate::report::document::{Block, Document, Fact, Figure, Tone};
use eframe::egui::{Color32, Pos2, Rect, Vec2};

/// Colours of texts.
pub const INK: Color32 = Color32::from_rgb(28, 33, 38);
const QUIET: Color32 = Color32::from_rgb(78, 88, 97);
/// Lines that divide.
pub const RULE: Color32 = Color32::from_rgb(201, 208, 214);

/// Words of the body.
pub const BODY: Type = Type {
    family: Family::Text,
    size: 9.5,
    is_strong: false,
    color: INK,
};
const CODE: Type = Type {
    family: Family::Code,
    size: 8.0,
    ..BODY
};
/// Distance of base lines by the size of letters.
pub const LEADING: f32 = 1.38;
/// Width of charts in their own points: their letters then have 8 points on paper.
const CHART_WIDTH: f32 = 780.0;

/// A heading that the reader's list of contents shows.
pub struct Bookmark {
    /// Its words.
    pub text: String,
    /// Its level.
    pub level: u8,
    /// The page, from 0.
    pub page: usize,
    /// How far down.
    pub y: f32,
}

/// The pen and what it has written.
pub struct Layout {
    /// The pages.
    pub pages: Pages,
    /// How far down the pen is.
    pub y: f32,
    /// Headings so far.
    pub bookmarks: Vec<Bookmark>,
    figures: usize,
}

/// The colour of a tone, and of the field behind it.
pub fn colors(tone: Tone) -> (Color32, Color32) {
    match tone {
        Tone::Plain | Tone::Literal => (INK, Color32::from_rgb(244, 246, 247)),
        Tone::Good => (
            Color32::from_rgb(18, 101, 47),
            Color32::from_rgb(238, 247, 241),
        ),
        Tone::Warning => (
            Color32::from_rgb(122, 80, 0),
            Color32::from_rgb(253, 246, 231),
        ),
        Tone::Bad => (
            Color32::from_rgb(169, 27, 33),
            Color32::from_rgb(252, 239, 239),
        ),
        Tone::Missing => (
            Color32::from_rgb(105, 115, 124),
            Color32::from_rgb(244, 246, 247),
        ),
    }
}

/// How a text of a tone looks.
pub fn toned(size: f32, tone: Tone) -> Type {
    let is_literal = tone == Tone::Literal;
    Type {
        // Letters of the font for code are wider.
        size: if is_literal { 0.88 * size } else { size },
        family: if is_literal {
            Family::Code
        } else {
            Family::Text
        },
        color: colors(tone).0,
        is_strong: matches!(tone, Tone::Good | Tone::Warning | Tone::Bad),
    }
}

/// How a heading looks, and the room above and below it.
fn heading(level: u8) -> (Type, f32, f32) {
    let size = if level <= 1 { 15.0 } else { 11.5 };
    let look = Type {
        size,
        is_strong: true,
        ..BODY
    };
    match level {
        0 | 1 => (look, 20.0, 8.0),
        _ => (look, 13.0, 4.0),
    }
}

impl Layout {
    /// Puts a whole report onto pages.
    pub fn of(document: &Document) -> Result<Self, String> {
        let mut layout = Self {
            pages: Pages::new()?,
            y: TOP,
            bookmarks: Vec::new(),
            figures: 0,
        };
        let title = Type {
            size: 21.0,
            is_strong: true,
            ..BODY
        };
        layout.paragraph(&document.title, title, ROOM, LEFT);
        let subtitle = Type {
            color: QUIET,
            size: 10.5,
            ..BODY
        };
        layout.y += 2.0;
        layout.paragraph(&document.subtitle, subtitle, ROOM, LEFT);
        layout.y += 6.0;
        let mut blocks = &document.blocks[..];
        while let [block, after @ ..] = blocks {
            layout.block(block, after);
            blocks = after;
        }
        let unknown = layout.pages.fonts.unknown;
        if unknown > 0 {
            let words = format!(
                "{unknown} letters that the fonts of this file do not have stand as □ in it; the report as HTML has them."
            );
            layout.notice(Tone::Warning, &words);
        }
        Ok(layout)
    }

    /// Begins another page unless so much fits on this one. A fresh page always does.
    pub fn need(&mut self, height: f32) {
        if self.y + height > BOTTOM && self.y > TOP {
            self.next_page();
        }
    }

    /// Begins another page.
    pub fn next_page(&mut self) {
        self.pages.next();
        self.y = TOP;
    }

    fn block(&mut self, block: &Block, after: &[Block]) {
        match block {
            Block::NewPage => {
                if self.y > TOP {
                    self.next_page();
                }
            }
            Block::Heading(level, words) => self.heading(*level, words, after),
            Block::Paragraph(words) => {
                // Words that lead to something stay with it.
                if let Some(next) = after.first().filter(|_| words.ends_with(':')) {
                    let lines = self.pages.lines(BODY, words, ROOM).len() as f32;
                    self.need(lines * LEADING * BODY.size + 8.0 + self.least(next));
                }
                self.paragraph(words, BODY, ROOM, LEFT);
                self.y += 5.0;
            }
            Block::Notice(tone, words) => self.notice(*tone, words),
            Block::Facts(facts) => self.facts(facts),
            Block::Table(found) => table::draw(self, found),
            Block::Figure(figure) => self.figure(figure),
            Block::Code(words) => self.code(words),
        }
    }

    /// What a block needs at least to stand below a heading.
    fn least(&self, block: &Block) -> f32 {
        match block {
            Block::NewPage => 0.0,
            Block::Heading(level, _) => {
                let (look, above, below) = heading(*level);
                above + look.size * LEADING + below
            }
            Block::Paragraph(_) => 2.0 * LEADING * BODY.size,
            Block::Notice(_, words) => self.box_need(words, BODY),
            Block::Code(words) => self.box_need(words, CODE),
            Block::Facts(facts) => self.facts_need(facts),
            Block::Table(found) => table::need(self, found),
            Block::Figure(figure) => self.figure_height(figure),
        }
    }

    fn heading(&mut self, level: u8, words: &str, after: &[Block]) {
        let (look, above, below) = heading(level);
        // A heading stays with the headings below it and with what follows them.
        let follows = after
            .iter()
            .position(|b| !matches!(b, Block::Heading(..) | Block::Paragraph(_)))
            .map_or(after, |i| &after[..=i]);
        let needed: f32 = follows.iter().map(|b| self.least(b)).sum();
        self.need(above + look.size * LEADING + below + needed);
        if self.y > TOP {
            self.y += above;
        }
        self.bookmarks.push(Bookmark {
            text: words.to_owned(),
            level,
            page: self.pages.contents.len() - 1,
            y: self.y,
        });
        self.paragraph(words, look, ROOM, LEFT);
        if level <= 1 {
            self.y += 2.0;
            self.pages.rule(self.y, 1.2, RULE);
        }
        self.y += below;
    }

    /// Lines of words, from page to page.
    pub fn paragraph(&mut self, words: &str, look: Type, width: f32, left: f32) {
        let line_height = LEADING * look.size;
        for line in self.pages.lines(look, words, width) {
            self.need(line_height);
            self.y += line_height;
            // The base line is above the end of the line by what letters reach below it.
            let base = self.y - 0.3 * look.size;
            self.pages.words(left, base, look, &line);
        }
    }

    fn notice(&mut self, tone: Tone, words: &str) {
        let (ink, paper) = colors(tone);
        self.boxed(words, BODY, paper, Some(ink));
    }

    fn code(&mut self, words: &str) {
        let (_, paper) = colors(Tone::Plain);
        self.boxed(words, CODE, paper, None);
    }

    /// Words on a field of their own; one that is longer than a page goes on on the next.
    fn boxed(&mut self, words: &str, look: Type, paper: Color32, bar: Option<Color32>) {
        const PADDING: f32 = BOX_PADDING;
        let line_height = LEADING * look.size;
        let left = LEFT + PADDING + 4.0;
        let lines = self.pages.lines(look, words, ROOM - 2.0 * PADDING - 8.0);
        let whole = lines.len() as f32 * line_height + 2.0 * PADDING;
        if whole <= BOTTOM - TOP {
            self.need(whole);
        }
        self.y += 3.0;
        let mut lines = &lines[..];
        while !lines.is_empty() {
            self.need(line_height + 2.0 * PADDING);
            let fit = ((BOTTOM - self.y - 2.0 * PADDING) / line_height).max(1.0) as usize;
            let (now, later) = lines.split_at(fit.min(lines.len()));
            let height = now.len() as f32 * line_height + 2.0 * PADDING;
            self.pages.fill(LEFT, self.y, ROOM, height, paper);
            if let Some(bar) = bar {
                self.pages.fill(LEFT, self.y, 4.0, height, bar);
            }
            for (i, line) in now.iter().enumerate() {
                let base = self.y + PADDING + (i + 1) as f32 * line_height - 0.3 * look.size;
                self.pages.words(left, base, look, line);
            }
            self.y += height;
            lines = later;
        }
        self.y += 6.0;
    }

    /// What facts need on a page: a short list all of it, a long one its beginning.
    fn facts_need(&self, facts: &[Fact]) -> f32 {
        let line_height = LEADING * BODY.size;
        let height = |fact: &Fact| {
            let look = toned(BODY.size, fact.tone);
            let lines = self.pages.lines(look, &fact.value, (1.0 - NAMES) * ROOM);
            lines.len() as f32 * line_height + 2.0 * FACT_PADDING
        };
        let whole: f32 = facts.iter().map(height).sum();
        if whole < 0.35 * (BOTTOM - TOP) {
            whole
        } else {
            4.0 * (line_height + 2.0 * FACT_PADDING)
        }
    }

    /// What words on a field of their own need.
    fn box_need(&self, words: &str, look: Type) -> f32 {
        let lines = self
            .pages
            .lines(look, words, ROOM - 2.0 * BOX_PADDING - 8.0);
        let whole = lines.len() as f32 * LEADING * look.size + 2.0 * BOX_PADDING + 3.0;
        whole.min(0.35 * (BOTTOM - TOP))
    }

    fn facts(&mut self, facts: &[Fact]) {
        let line_height = LEADING * BODY.size;
        let names = Type {
            color: QUIET,
            ..BODY
        };
        let (left, width) = (LEFT + NAMES * ROOM, (1.0 - NAMES) * ROOM);
        const PADDING: f32 = FACT_PADDING;
        self.need(self.facts_need(facts));
        for fact in facts {
            let look = toned(BODY.size, fact.tone);
            let values = self.pages.lines(look, &fact.value, width);
            let titles = self.pages.lines(names, &fact.name, NAMES * ROOM - 10.0);
            let rows = values.len().max(titles.len());
            // A long text goes on on the next page.
            self.need((rows.min(3) as f32) * line_height + 2.0 * PADDING);
            self.y += PADDING;
            for i in 0..rows {
                self.need(line_height);
                self.y += line_height;
                let base = self.y - 0.3 * BODY.size;
                for (x, look, lines) in [(LEFT, names, &titles), (left, look, &values)] {
                    if let Some(line) = lines.get(i) {
                        self.pages.words(x, base, look, line);
                    }
                }
            }
            self.y += PADDING;
            self.pages.rule(self.y, 0.5, RULE);
        }
        self.y += 8.0;
    }

    fn caption(&self, figure: &Figure, number: usize) -> Vec<String> {
        let words = format!("Figure {number}: {}", figure.caption);
        self.pages.lines(CAPTION, &words, ROOM)
    }

    fn figure_height(&self, figure: &Figure) -> f32 {
        let lines = self.caption(figure, self.figures + 1).len() as f32;
        figure.aspect * ROOM + lines * LEADING * CAPTION.size + 16.0
    }

    fn figure(&mut self, figure: &Figure) {
        self.need(self.figure_height(figure));
        self.figures += 1;
        self.y += 4.0;
        let scale = ROOM / CHART_WIDTH;
        let size = Vec2::new(CHART_WIDTH, CHART_WIDTH * figure.aspect);
        let origin = Pos2::new(LEFT, self.y);
        let mut canvas = PdfCanvas {
            pages: &mut self.pages,
            origin,
            scale,
            is_clipped: false,
        };
        chart::draw_on(
            &mut canvas,
            &figure.charts,
            Rect::from_min_size(Pos2::ZERO, size),
        );
        self.y += scale * size.y + 2.0;
        let words = self.caption(figure, self.figures).join(" ");
        self.paragraph(&words, CAPTION, ROOM, LEFT);
        self.y += 8.0;
    }
}

/// The share of the width that names of facts have, and the room above and below a fact.
const NAMES: f32 = 0.31;
const FACT_PADDING: f32 = 2.6;
/// Around words on a field of their own.
const BOX_PADDING: f32 = 7.0;

const CAPTION: Type = Type {
    size: 8.6,
    color: QUIET,
    ..BODY
};
