//! Choosing a file: with the desktop's own dialog, or with a plain one of ours where the desktop has none.

use eframe::egui::{self, Align2, Context, RichText, ScrollArea, TextEdit};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What is to be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What the dialog is called.
    pub title: &'static str,
    /// Whether a file is to be written.
    pub is_save: bool,
    /// Whether a directory is meant.
    pub is_directory: bool,
    /// Where to begin.
    pub directory: PathBuf,
    /// Suggested name of a file to be written.
    pub name: String,
    /// Endings, without the dot; the first is added if a name has none.
    pub endings: &'static [&'static str],
}

/// A dialog on the screen. The answer is `Some(None)` if a person thought better of it.
pub enum FileDialog {
    /// The desktop's.
    Native {
        /// What was asked.
        question: Question,
        /// Since when.
        since: Instant,
        /// The answer.
        answer: mpsc::Receiver<Option<PathBuf>>,
    },
    /// Ours.
    Own(OwnDialog),
}

/// A desktop without a dialog says "cancelled" at once; no person is that fast.
const TOO_FAST: Duration = Duration::from_millis(300);

impl FileDialog {
    /// Asks with the desktop's dialog; `wake` is called when there is an answer.
    pub fn open(question: Question, wake: impl Fn() + Send + 'static) -> Self {
        let (tell, answer) = mpsc::channel();
        let asked = question.clone();
        let work = move || {
            let mut dialog = rfd::FileDialog::new()
                .set_title(asked.title)
                .set_directory(&asked.directory);
            if !asked.endings.is_empty() {
                dialog = dialog.add_filter(asked.endings.join(", "), asked.endings);
            }
            let chosen = if asked.is_directory {
                dialog.pick_folder()
            } else if asked.is_save {
                dialog.set_file_name(&asked.name).save_file()
            } else {
                dialog.pick_file()
            };
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(chosen);
            wake();
        };
        let thread = std::thread::Builder::new().name("pantobench-dialog".into());
        match thread.spawn(work) {
            Ok(_) => Self::Native {
                question,
                since: Instant::now(),
                answer,
            },
            Err(_) => Self::Own(OwnDialog::new(question)),
        }
    }

    /// Draws ours if need be; the answer, once there is one.
    pub fn show(&mut self, ctx: &Context) -> Option<Option<PathBuf>> {
        match self {
            Self::Native {
                question,
                since,
                answer,
            } => match answer.try_recv() {
                Ok(None) if since.elapsed() < TOO_FAST => {
                    *self = Self::Own(OwnDialog::new(question.clone()));
                    ctx.request_repaint();
                    None
                }
                Ok(chosen) => Some(chosen),
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => {
                    *self = Self::Own(OwnDialog::new(question.clone()));
                    ctx.request_repaint();
                    None
                }
            },
            Self::Own(dialog) => dialog.show(ctx),
        }
    }
}

/// A plain dialog: a directory, its files, a name.
pub struct OwnDialog {
    question: Question,
    directory: PathBuf,
    typed: String,
    entries: Result<Vec<Entry>, String>,
    confirm_over: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    is_directory: bool,
}

/// Directories first, then files with one of the endings, both by name.
fn list(directory: &Path, question: &Question) -> Result<Vec<Entry>, String> {
    let read = std::fs::read_dir(directory)
        .map_err(|e| format!("'{}' cannot be read: {e}", directory.display()))?;
    let fits = |name: &str| {
        let ending = Path::new(name).extension().unwrap_or_default();
        question.endings.is_empty() || question.endings.iter().any(|e| ending == *e)
    };
    let mut entries: Vec<Entry> = read
        .filter_map(Result::ok)
        .map(|entry| Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            is_directory: entry.path().is_dir(),
        })
        .filter(|e| !e.name.starts_with('.'))
        .filter(|e| e.is_directory || (!question.is_directory && fits(&e.name)))
        .collect();
    entries.sort_by(|a, b| (b.is_directory, &a.name).cmp(&(a.is_directory, &b.name)));
    Ok(entries)
}

impl OwnDialog {
    fn new(question: Question) -> Self {
        let start = question.directory.canonicalize();
        let directory = start.unwrap_or_else(|_| PathBuf::from("/"));
        Self {
            entries: list(&directory, &question),
            typed: question.name.clone(),
            directory,
            question,
            confirm_over: None,
        }
    }

    fn go_to(&mut self, directory: PathBuf) {
        self.entries = list(&directory, &self.question);
        self.directory = directory;
        if !self.question.is_save {
            self.typed.clear();
        }
    }

    /// The path that is meant, with an ending.
    fn meant(&self) -> PathBuf {
        let path = self.directory.join(self.typed.trim());
        match self.question.endings.first() {
            Some(ending) if self.question.is_save && path.extension().is_none() => {
                path.with_extension(ending)
            }
            _ => path,
        }
    }

    fn show(&mut self, ctx: &Context) -> Option<Option<PathBuf>> {
        let mut answer = None;
        let mut is_open = true;
        egui::Window::new(self.question.title)
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
            .collapsible(false)
            .resizable(false)
            .open(&mut is_open)
            .show(ctx, |ui| {
                ui.set_width(560.0);
                ui.horizontal(|ui| {
                    let up = ui
                        .add_enabled(self.directory.parent().is_some(), egui::Button::new("⬆ Up"));
                    if up.on_hover_text("The directory above.").clicked()
                        && let Some(above) = self.directory.parent().map(Path::to_owned)
                    {
                        self.go_to(above);
                    }
                    ui.label(RichText::new(self.directory.display().to_string()).monospace());
                });
                self.files(ui, &mut answer);
                self.name_and_buttons(ui, &mut answer);
            });
        if is_open { answer } else { Some(None) }
    }

    fn files(&mut self, ui: &mut egui::Ui, answer: &mut Option<Option<PathBuf>>) {
        let mut enter = None;
        ScrollArea::vertical()
            .max_height(320.0)
            .auto_shrink([false, false])
            .show(ui, |ui| match &self.entries {
                Err(problem) => {
                    ui.label(problem);
                }
                Ok(entries) if entries.is_empty() => {
                    let kinds = self.question.endings.join(", ");
                    ui.label(format!("Nothing here that could be chosen ({kinds})."));
                }
                Ok(entries) => {
                    for entry in entries {
                        let text = if entry.is_directory {
                            format!("📁 {}", entry.name)
                        } else {
                            entry.name.clone()
                        };
                        let chosen = self.typed == entry.name;
                        let response = ui.selectable_label(chosen, text);
                        if response.clicked() && !entry.is_directory {
                            self.typed = entry.name.clone();
                        }
                        let opened = if entry.is_directory {
                            response.clicked()
                        } else {
                            response.double_clicked()
                        };
                        if opened {
                            enter = Some(entry.clone());
                        }
                    }
                }
            });
        match enter {
            Some(entry) if entry.is_directory => self.go_to(self.directory.join(entry.name)),
            Some(entry) if !self.question.is_save => {
                *answer = Some(Some(self.directory.join(entry.name)));
            }
            _ => {}
        }
    }

    fn name_and_buttons(&mut self, ui: &mut egui::Ui, answer: &mut Option<Option<PathBuf>>) {
        let verb = match (self.question.is_save, self.question.is_directory) {
            (true, _) => "Save",
            (_, true) => "Use this directory",
            _ => "Open",
        };
        ui.horizontal(|ui| {
            if !self.question.is_directory {
                let name = ui.label("Name");
                let field = ui.add(TextEdit::singleline(&mut self.typed).desired_width(300.0));
                field.labelled_by(name.id);
            }
            let meant = self.meant();
            let can = self.question.is_directory
                || (!self.typed.trim().is_empty() && (self.question.is_save || meant.is_file()));
            let done = ui.add_enabled(can, egui::Button::new(verb)).clicked();
            if done && self.question.is_directory {
                *answer = Some(Some(self.directory.clone()));
            } else if done && self.question.is_save && meant.exists() {
                self.confirm_over = Some(meant);
            } else if done {
                *answer = Some(Some(meant));
            }
            if ui.button("Cancel").clicked() {
                *answer = Some(None);
            }
        });
        if let Some(path) = self.confirm_over.clone() {
            ui.horizontal(|ui| {
                ui.label(format!("'{}' exists already.", path.display()));
                if ui.button("Write over it").clicked() {
                    *answer = Some(Some(path));
                }
                if ui.button("Another name").clicked() {
                    self.confirm_over = None;
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(directory: &Path, is_save: bool) -> Question {
        Question {
            title: "Test",
            is_save,
            is_directory: false,
            directory: directory.to_owned(),
            name: if is_save {
                "table".into()
            } else {
                String::new()
            },
            endings: &["csv", "parquet"],
        }
    }

    #[test]
    fn only_what_can_be_chosen_is_listed_and_names_get_their_ending() {
        let own = format!("pantobench-dialog-{}", std::process::id());
        let directory = std::env::temp_dir().join(own);
        std::fs::create_dir_all(directory.join("below")).unwrap();
        for name in ["b.csv", "a.parquet", "c.txt", ".hidden.csv"] {
            std::fs::write(directory.join(name), "x").unwrap();
        }
        let names = |d: &OwnDialog| {
            let entries = d.entries.as_ref().unwrap();
            entries.iter().map(|e| e.name.clone()).collect::<Vec<_>>()
        };
        let dialog = OwnDialog::new(question(&directory, false));
        assert_eq!(names(&dialog), ["below", "a.parquet", "b.csv"]);
        let save = OwnDialog::new(question(&directory, true));
        assert!(save.meant().ends_with("table.csv"));
        let lost = OwnDialog::new(question(Path::new("/nowhere/at/all"), false));
        assert_eq!(lost.directory, Path::new("/"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
