//! Tables on pages: columns as wide as their texts need, lines broken where they have to be, the heading again on every
//! page.

use super::layout::{BODY, INK, LEADING, Layout, RULE, toned};
use super::page::{BOTTOM, LEFT, Pages, ROOM, TOP, Type};
use crate::report::document::{Cell, Side, Table};

/// Between the texts of two columns.
const GAP: f32 = 9.0;
/// Above and below the texts of a row.
const PADDING: f32 = 2.4;
/// What columns of numbers get at most if there is room.
const SPREAD: f32 = 24.0;
/// Size of the letters of a caption.
const CAPTION: f32 = 9.2;
/// Sizes of letters that are tried, the largest first.
const SIZES: [f32; 5] = [8.8, 8.2, 7.6, 7.0, 6.4];

fn heading_look(size: f32) -> Type {
    Type {
        size,
        is_strong: true,
        color: INK,
        ..BODY
    }
}

/// The widths of columns: as much as their longest texts want if that fits, else at least as much as their longest
/// words. `None` if even the words do not fit.
fn widths(wanted: &[f32], least: &[f32], sides: &[Side], room: f32) -> Option<Vec<f32>> {
    let sum = |all: &[f32]| all.iter().sum::<f32>();
    let (most, fewest) = (sum(wanted), sum(least));
    if most <= room {
        // What is left over goes to columns of words, so that the table is as wide as the text; numbers stay close
        // together.
        let words = sides.iter().filter(|s| **s == Side::Left).count();
        let numbers = sides.len() - words;
        let over = room - most;
        let spread = (over / sides.len().max(1) as f32).min(SPREAD);
        let share = |side: &Side| match side {
            Side::Left => (over - numbers as f32 * spread) / words as f32,
            Side::Right => spread,
        };
        let spread = wanted.iter().zip(sides).map(|(w, side)| w + share(side));
        return Some(spread.collect());
    }
    if fewest > room {
        return None;
    }
    let part = (room - fewest) / (most - fewest).max(f32::MIN_POSITIVE);
    let between = |(most, least): (&f32, &f32)| least + part * (most - least);
    Some(wanted.iter().zip(least).map(between).collect())
}

/// Size of letters and widths of columns.
fn fit(pages: &Pages, table: &Table) -> (f32, Vec<f32>) {
    let count = table.columns.len();
    let sides: Vec<Side> = table.columns.iter().map(|c| c.1).collect();
    let room = ROOM - GAP * count.saturating_sub(1) as f32;
    let longest_word = |look: Type, text: &str| {
        let words = text.split_whitespace();
        words.map(|w| pages.width(look, w)).fold(0.0, f32::max)
    };
    for size in SIZES {
        let (mut wanted, mut least) = (vec![0.0_f32; count], vec![0.0_f32; count]);
        let mut take = |i: usize, look: Type, text: &str| {
            if i < count {
                let line = text.split('\n').map(|l| pages.width(look, l));
                // A hair, so that rounding does not break a line that just fits.
                wanted[i] = wanted[i].max(line.fold(0.0, f32::max) + 0.1);
                least[i] = least[i].max(longest_word(look, text) + 0.1);
            }
        };
        for (i, (text, _)) in table.columns.iter().enumerate() {
            take(i, heading_look(size), text);
        }
        for row in &table.rows {
            for (i, cell) in row.iter().enumerate() {
                take(i, toned(size, cell.tone), &cell.text);
            }
        }
        if let Some(found) = widths(&wanted, &least, &sides, room) {
            return (size, found);
        }
    }
    // Words are broken: every column has its share.
    (
        SIZES[SIZES.len() - 1],
        vec![room / count.max(1) as f32; count],
    )
}

struct Row {
    cells: Vec<(Type, Vec<String>)>,
    lines: usize,
}

impl Row {
    fn of<'a>(pages: &Pages, widths: &[f32], cells: impl Iterator<Item = (Type, &'a str)>) -> Self {
        let cells: Vec<(Type, Vec<String>)> = cells
            .zip(widths)
            .map(|((look, text), width)| (look, pages.lines(look, text, *width)))
            .collect();
        let lines = cells.iter().map(|c| c.1.len()).max().unwrap_or(1);
        Self { cells, lines }
    }

    fn height(&self, size: f32) -> f32 {
        self.lines as f32 * LEADING * size + 2.0 * PADDING
    }
}

/// A table in lines.
struct Set {
    size: f32,
    widths: Vec<f32>,
    heading: Row,
    rows: Vec<Row>,
}

fn set(pages: &Pages, table: &Table) -> Set {
    let (size, widths) = fit(pages, table);
    let titles = table.columns.iter();
    let heading = Row::of(
        pages,
        &widths,
        titles.map(|(text, _)| (heading_look(size), text.as_str())),
    );
    let row = |row: &Vec<Cell>| {
        let cells = row.iter();
        let cells = cells.map(|c| (toned(size, c.tone), c.text.as_str()));
        Row::of(pages, &widths, cells)
    };
    Set {
        size,
        heading,
        rows: table.rows.iter().map(row).collect(),
        widths,
    }
}

impl Set {
    /// A short table stays on one page, a long one begins with two rows.
    fn need(&self) -> f32 {
        let height = |rows: &[Row]| rows.iter().map(|r| r.height(self.size)).sum::<f32>();
        let head = self.heading.height(self.size) + 2.0 * LEADING * CAPTION;
        let all = height(&self.rows);
        if head + all < 0.4 * (BOTTOM - TOP) {
            head + all
        } else {
            head + height(&self.rows[..self.rows.len().min(2)])
        }
    }
}

/// What a table needs on a page to begin there.
pub fn need(layout: &Layout, table: &Table) -> f32 {
    set(&layout.pages, table).need()
}

/// Draws a table.
pub fn draw(layout: &mut Layout, table: &Table) {
    let found = set(&layout.pages, table);
    let sides: Vec<Side> = table.columns.iter().map(|c| c.1).collect();
    layout.need(found.need());
    if !table.caption.is_empty() {
        layout.y += 4.0;
        layout.paragraph(&table.caption, heading_look(CAPTION), ROOM, LEFT);
    }
    let (size, widths) = (found.size, &found.widths);
    put(layout, &found.heading, widths, &sides, size, 1.2);
    for row in &found.rows {
        if layout.y + row.height(size) > BOTTOM {
            layout.next_page();
            put(layout, &found.heading, widths, &sides, size, 1.2);
        }
        put(layout, row, widths, &sides, size, 0.5);
    }
    layout.y += 9.0;
}

fn put(layout: &mut Layout, row: &Row, widths: &[f32], sides: &[Side], size: f32, rule: f32) {
    let mut x = LEFT;
    for (i, (look, lines)) in row.cells.iter().enumerate() {
        for (k, line) in lines.iter().enumerate() {
            let base = layout.y + PADDING + (k + 1) as f32 * LEADING * size - 0.3 * size;
            let at = match sides[i] {
                Side::Left => x,
                Side::Right => x + widths[i] - layout.pages.width(*look, line),
            };
            layout.pages.words(at, base, *look, line);
        }
        x += widths[i] + GAP;
    }
    layout.y += row.height(size);
    let end = (x - GAP).min(LEFT + ROOM);
    layout.pages.rule_to(end, layout.y, rule, RULE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_room_and_keep_their_words_whole() {
        let sides = [Side::Left, Side::Right];
        let found = widths(&[50.0, 80.0], &[20.0, 30.0], &sides, 200.0).unwrap();
        assert_eq!(found, [50.0 + 70.0 - SPREAD, 80.0 + SPREAD]);
        let numbers = [Side::Right; 2];
        let found = widths(&[50.0, 80.0], &[20.0, 30.0], &numbers, 200.0).unwrap();
        assert_eq!(found, [50.0 + SPREAD, 80.0 + SPREAD]);
        let found = widths(&[300.0, 100.0], &[20.0, 30.0], &sides, 200.0).unwrap();
        assert!((found.iter().sum::<f32>() - 200.0).abs() < 1e-3);
        assert!(found[0] >= 20.0 && found[1] >= 30.0);
        assert_eq!(widths(&[300.0, 100.0], &[150.0, 60.0], &sides, 200.0), None);
    }
}
