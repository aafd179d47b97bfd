//! What can be taken out of the panels of computed charts: samples, pictures, numbers.

use crate::analysis::stretch::Found;
use crate::chart::{Chart, svg};
use crate::view::Ask;
use eframe::egui::{self, Rect, Ui, Vec2};

/// Size of a picture for a report, in points.
pub const PICTURE: Vec2 = Vec2::new(960.0, 600.0);

/// What can be taken out of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// Samples of its channels.
    Samples,
    /// Its charts for a report.
    Svg,
    /// What is on the screen.
    Png,
    /// The numbers of its charts, to the clipboard.
    Numbers,
}

impl Export {
    /// The entries of a menu; what was chosen.
    pub fn menu(ui: &mut Ui) -> Option<Self> {
        let entries = [
            (
                Export::Samples,
                "Export samples…",
                "The channels of this chart over its range, as a table.",
            ),
            (
                Export::Svg,
                "Export picture as SVG…",
                "The chart on white, for a report.",
            ),
            (
                Export::Png,
                "Export picture as PNG…",
                "The chart as it is on the screen.",
            ),
            (
                Export::Numbers,
                "Copy numbers",
                "What the chart shows as a table with tabs, for a spreadsheet.",
            ),
        ];
        let mut chosen = None;
        for (export, name, tip) in entries {
            if ui.button(name).on_hover_text(tip).clicked() {
                chosen = Some(export);
                ui.close();
            }
        }
        chosen
    }

    /// A button with the menu.
    pub fn button(ui: &mut Ui) -> Option<Self> {
        let menu = ui.menu_button("Export", Self::menu);
        menu.response.on_hover_text(
            "Samples, pictures and numbers of this chart. Also with a right click on it.",
        );
        menu.inner.flatten()
    }

    /// Does what was chosen. `charts` draws for a light page, `numbers` is the table.
    pub fn perform(
        self,
        ctx: &egui::Context,
        source: Source<'_>,
        charts: impl FnOnce() -> Vec<Chart>,
        numbers: impl FnOnce() -> String,
    ) -> Option<Ask> {
        let name = source.name.to_owned();
        match self {
            Export::Samples => Some(Ask::ExportData {
                channels: source.channels.to_vec(),
                from_s: source.found.from_s,
                to_s: source.found.to_s,
            }),
            Export::Svg => Some(Ask::ExportSvg {
                name,
                svg: svg::write(&charts(), PICTURE),
            }),
            Export::Png => Some(Ask::ExportPng {
                name,
                rect: source.rect,
            }),
            Export::Numbers => {
                ctx.copy_text(numbers());
                Some(Ask::Tell("The numbers are on the clipboard.".into()))
            }
        }
    }
}

/// What an export is taken from.
pub struct Source<'a> {
    /// Suggested name of a file.
    pub name: &'a str,
    /// Channels by name.
    pub channels: &'a [String],
    /// The stretch that was evaluated.
    pub found: Found,
    /// Where the charts are on the screen.
    pub rect: Rect,
}

/// What is answered to a wish for an export while there is nothing.
pub fn nothing_to_export() -> Ask {
    Ask::Tell("There is nothing to export yet: the panel says what it needs.".into())
}

/// A table with tabs from columns of the same length.
pub fn table(columns: &[(String, Vec<f64>)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = names.join("\t");
    let rows = columns
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, values)| values.get(row).map_or(String::new(), |v| format!("{v}")))
            .collect();
        text.push('\n');
        text.push_str(&cells.join("\t"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_row() {
        let columns = [
            ("f (Hz)".to_owned(), vec![0.0, 0.5]),
            ("S".to_owned(), vec![1e-9, 2.0]),
        ];
        assert_eq!(table(&columns), "f (Hz)\tS\n0\t0.000000001\n0.5\t2\n");
    }
}
