//! The editor of a script: letters of one width, numbers of lines, and a mark on the line with the error.

use crate::theme;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{self, Color32, FontId, ScrollArea, TextEdit, Ui};

/// Size of letters.
const LETTERS: f32 = 14.0;
/// Room between numbers and text.
const GAP: f32 = 8.0;

/// Draws the editor; `true` if something was typed.
pub fn show(ui: &mut Ui, text: &mut String, error_line: Option<usize>, is_editable: bool) -> bool {
    let dark = ui.visuals().dark_mode;
    let font = FontId::monospace(LETTERS);
    let colors = Colors {
        text: ui.visuals().text_color(),
        comment: theme::weak_text(dark),
        error: theme::danger_text(dark).gamma_multiply(0.25),
    };
    let lines = text.split('\n').count();
    let mut is_changed = false;
    ScrollArea::both()
        .id_salt("editor")
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = GAP;
                let numbers = numbers(lines, error_line, &font, theme::weak_text(dark), dark);
                // The same distance from above as the text has in its frame.
                ui.vertical(|ui| {
                    ui.add_space(6.0);
                    ui.add(egui::Label::new(numbers).selectable(false).extend());
                });
                let mut layouter = |ui: &Ui, buffer: &dyn egui::TextBuffer, _width: f32| {
                    let job = colors.layout(buffer.as_str(), error_line, &font);
                    ui.fonts_mut(|fonts| fonts.layout_job(job))
                };
                let editor = TextEdit::multiline(text)
                    .code_editor()
                    .font(font.clone())
                    .desired_width(f32::INFINITY)
                    .desired_rows(8)
                    .interactive(is_editable)
                    .layouter(&mut layouter);
                let response = ui.add(editor);
                response.widget_info(|| {
                    egui::WidgetInfo::labeled(
                        egui::Role::MultilineTextInput,
                        is_editable,
                        "Script text",
                    )
                });
                is_changed = response.changed();
            });
        });
    is_changed
}

struct Colors {
    text: Color32,
    comment: Color32,
    error: Color32,
}

impl Colors {
    /// Comments step back; the line with the error has a background.
    fn layout(&self, text: &str, error_line: Option<usize>, font: &FontId) -> LayoutJob {
        let mut job = LayoutJob::default();
        job.wrap.max_width = f32::INFINITY;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            let background = if error_line == Some(i + 1) {
                self.error
            } else {
                Color32::TRANSPARENT
            };
            let format = |color: Color32| TextFormat {
                font_id: font.clone(),
                color,
                background,
                ..TextFormat::default()
            };
            let begin = comment_begin(line).unwrap_or(line.len());
            job.append(&line[..begin], 0.0, format(self.text));
            job.append(&line[begin..], 0.0, format(self.comment));
        }
        if text.is_empty() || text.ends_with('\n') {
            let format = TextFormat::simple(font.clone(), self.text);
            job.append("", 0.0, format);
        }
        job
    }
}

/// Where a comment begins that is not within a text.
fn comment_begin(line: &str) -> Option<usize> {
    let mut quote = None;
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(q), byte) if byte == q => quote = None,
            (None, byte @ (b'"' | b'`')) => quote = Some(byte),
            (None, b'/') if bytes.get(at + 1) == Some(&b'/') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn numbers(
    lines: usize,
    error_line: Option<usize>,
    font: &FontId,
    color: Color32,
    dark: bool,
) -> LayoutJob {
    let mut job = LayoutJob::default();
    job.wrap.max_width = f32::INFINITY;
    let width = lines.to_string().len().max(2);
    for line in 1..=lines {
        let is_error = error_line == Some(line);
        let (sign, color) = if is_error {
            ("✖", theme::danger_text(dark))
        } else {
            (" ", color)
        };
        let end = if line == lines { "" } else { "\n" };
        let text = format!("{sign}{line:>width$}{end}");
        job.append(&text, 0.0, TextFormat::simple(font.clone(), color));
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_outside_of_texts() {
        assert_eq!(comment_begin("// a"), Some(0));
        assert_eq!(comment_begin("let a = 1; // b"), Some(11));
        assert_eq!(comment_begin("\"http://x\""), None);
        assert_eq!(comment_begin("`//` + \"\\\"//\" // c"), Some(14));
        assert_eq!(comment_begin("a / b"), None);
    }
}
