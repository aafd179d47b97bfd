//! The command palette: every command of the window in a list that is searched by typing.

use crate::command::UiCommand;
use eframe::egui::{self, Align2, Context, Key, RichText, ScrollArea, TextEdit};
use rt_core::guard::State;

/// The palette; closed at first.
#[derive(Default)]
pub struct Palette {
    is_open: bool,
    search: String,
    chosen: usize,
}

/// How well a command fits what was typed; smaller is better, `None` not at all.
fn fit(command: UiCommand, search: &str) -> Option<usize> {
    let text = command.text().to_lowercase();
    let all = format!("{text} {}", command.tooltip().to_lowercase());
    let words: Vec<&str> = search.split_whitespace().collect();
    if !words.iter().all(|word| all.contains(word)) {
        return None;
    }
    let in_text = words.iter().filter(|word| text.contains(**word)).count();
    Some(words.len() - in_text)
}

/// Commands that fit, the best first.
fn matches(search: &str) -> Vec<UiCommand> {
    let search = search.to_lowercase();
    let mut found: Vec<(usize, UiCommand)> = UiCommand::all()
        .filter(|c| *c != UiCommand::Palette)
        .filter_map(|c| Some((fit(c, &search)?, c)))
        .collect();
    found.sort_by_key(|(fit, _)| *fit);
    found.into_iter().map(|(_, command)| command).collect()
}

impl Palette {
    /// Opens it, or closes it.
    pub fn toggle(&mut self) {
        *self = Self {
            is_open: !self.is_open,
            ..Self::default()
        };
    }

    /// Draws it; returns the command that was chosen.
    pub fn show(&mut self, ctx: &Context, state: State, is_replay: bool) -> Option<UiCommand> {
        if !self.is_open {
            return None;
        }
        let found = matches(&self.search);
        let (up, down, enter) = ctx.input_mut(|input| {
            let none = egui::Modifiers::NONE;
            (
                input.consume_key(none, Key::ArrowUp),
                input.consume_key(none, Key::ArrowDown),
                input.consume_key(none, Key::Enter),
            )
        });
        let last = found.len().saturating_sub(1);
        if down {
            self.chosen += 1;
        }
        if up {
            self.chosen = self.chosen.saturating_sub(1);
        }
        self.chosen = self.chosen.min(last);
        let is_available = |c: &UiCommand| c.is_available(state, is_replay);
        let mut taken = None;
        let mut still_open = true;
        egui::Window::new("Commands")
            .anchor(Align2::CENTER_TOP, egui::vec2(0.0, 90.0))
            .collapsible(false)
            .resizable(false)
            .open(&mut still_open)
            .default_width(520.0)
            .show(ctx, |ui| {
                let search = TextEdit::singleline(&mut self.search)
                    .hint_text("Type what you want to do")
                    .desired_width(500.0);
                let field = ui.add(search);
                field.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search commands")
                });
                field.request_focus();
                if field.changed() {
                    self.chosen = 0;
                }
                if found.is_empty() {
                    ui.label("No command fits.");
                }
                ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                    for (i, command) in found.iter().enumerate() {
                        let key = ctx.format_shortcut(&command.shortcut());
                        let text = RichText::new(format!("{:<24} {key}", command.text()));
                        let button = egui::Button::selectable(i == self.chosen, text.monospace())
                            .min_size(egui::vec2(490.0, 26.0));
                        let response = ui
                            .add_enabled(is_available(command), button)
                            .on_hover_text(command.tooltip())
                            .on_disabled_hover_text(format!(
                                "{} Not possible now: {}",
                                command.tooltip(),
                                command.obstacle(state, is_replay).unwrap_or_default()
                            ));
                        if i == self.chosen && (up || down) {
                            response.scroll_to_me(None);
                        }
                        if response.clicked() {
                            taken = Some(*command);
                        }
                    }
                });
                ui.label(RichText::new("↑ ↓ choose, Enter does it, Ctrl+P closes").size(13.0));
            });
        if enter {
            taken = taken.or(found.get(self.chosen).copied().filter(is_available));
        }
        self.is_open = still_open && taken.is_none();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_words_and_the_name_counts_most() {
        assert_eq!(matches("arm")[0], UiCommand::Arm);
        assert_eq!(matches("open rec")[0], UiCommand::OpenRecording);
        assert_eq!(matches("dark")[0], UiCommand::Theme);
        assert!(matches("xyzzy").is_empty());
        assert_eq!(matches("").len(), UiCommand::all().count() - 1);
    }
}
