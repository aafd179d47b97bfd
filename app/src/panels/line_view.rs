//! The line from the side: wires at rest and in motion, slack droppers, uplift at the supports, the moving contact, and
//! the contact force over the spans below.

mod draw;
mod explain;
mod force;
mod motion;
mod pass;
mod picture;
#[cfg(test)]
mod tests;

use crate::data::LineMarks;
use crate::theme;
use crate::view::{Ask, View};
use draw::{BELOW, Drawing, Look};
use eframe::egui::{self, ComboBox, Rect, RichText, Sense, Stroke, TextStyle, Ui, pos2, vec2};
use force::ForceChart;
use motion::{Motion, Source};
use pass::Pass;
use picture::Picture;
use rt_core::model::catenary::LineScene;
use rt_core::model::catenary::scene::ScenePoint;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Factors of movement that can be chosen.
const FACTORS: [u32; 8] = [10, 20, 50, 100, 200, 500, 1000, 2000];
/// Numbers of spans around the train that can be chosen.
const SPANS: [u32; 5] = [1, 2, 3, 4, 6];
/// Width for numbers beside picture and chart.
const GUTTER: f32 = 58.0;
/// Height of a row of text in the picture.
const ROW: f32 = 19.0;
/// Least height of picture and chart together.
const LEAST_HEIGHT: f32 = 300.0;
/// Length of a span where nobody knows, in m.
const SPAN_M: f64 = 65.0;

/// Which stretch of the line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stretch {
    /// Some spans around the contact.
    #[default]
    Train,
    /// All of it.
    Whole,
}

/// What the panel keeps.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct LineViewPanel {
    stretch: Stretch,
    spans: u32,
    /// Factor of movement; chosen by itself if `None`.
    movement: Option<u32>,
    #[serde(skip)]
    pass: Pass,
    /// Where the contact was last, in m.
    #[serde(skip)]
    center_m: f64,
}

impl Default for LineViewPanel {
    fn default() -> Self {
        Self {
            stretch: Stretch::Train,
            spans: 4,
            movement: None,
            pass: Pass::default(),
            center_m: 0.0,
        }
    }
}

impl LineViewPanel {
    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        if view.data.find("line_position").is_none() {
            nothing(
                ui,
                "This bench has no overhead line.\nOpen a session of the bench pantograph-lqg, for example sessions/dsa380-250.ron.",
            );
            return;
        }
        let marks = view.data.line.as_ref();
        let supports: &[f64] = match (&view.data.wire, marks) {
            (Some(wire), _) => &wire.scene.supports_m,
            (None, Some(marks)) => &marks.supports_m,
            (None, None) => &[],
        };
        self.pass.update(view.data, supports, view.now_s);
        let scene = match &view.data.wire {
            Some(wire) => Cow::Borrowed(&wire.scene),
            None => Cow::Owned(level_scene(marks, &self.pass)),
        };
        if scene.contact.len() < 2 {
            nothing(
                ui,
                "Nothing of the line is known yet.\nArm the bench (F5) and run it (F6).",
            );
            return;
        }
        let motion = Motion::of(view, &scene, &self.pass);
        if let Some(x) = motion.contact_m {
            self.center_m = x;
        } else if self.pass.bins().is_empty() {
            self.center_m = scene.supports_m.get(2).copied().unwrap_or_default();
        }
        self.choices(ui, &scene);
        self.line_and_force(ui, view, &scene, &motion, asks);
    }

    fn choices(&mut self, ui: &mut Ui, scene: &LineScene) {
        ui.horizontal_wrapped(|ui| {
            ui.selectable_value(&mut self.stretch, Stretch::Train, "Follow the train")
                .on_hover_text("Some spans around the contact, which stays in the middle.");
            ui.selectable_value(&mut self.stretch, Stretch::Whole, "Whole section")
                .on_hover_text(format!("All {} spans of {}.", scene.spans(), scene.name));
            ui.add_enabled_ui(self.stretch == Stretch::Train, |ui| {
                ComboBox::from_label("spans")
                    .width(44.0)
                    .selected_text(self.spans.to_string())
                    .show_ui(ui, |ui| {
                        for count in SPANS {
                            ui.selectable_value(&mut self.spans, count, count.to_string());
                        }
                    })
                    .response
                    .on_hover_text("How many spans are shown around the train.");
            });
            let name = |factor: Option<u32>| factor.map_or("auto".into(), |f| format!("×{f}"));
            ComboBox::from_label("movement")
                .width(66.0)
                .selected_text(name(self.movement))
                .show_ui(ui, |ui| {
                    ui.selectable_value(&mut self.movement, None, "auto");
                    for factor in FACTORS {
                        ui.selectable_value(&mut self.movement, Some(factor), name(Some(factor)));
                    }
                })
                .response
                .on_hover_text("How much larger than lengths along the line the movement of the wire is drawn.");
        });
    }

    /// First and last place that is shown, in m.
    fn range(&self, scene: &LineScene) -> (f64, f64) {
        let ends = (scene.contact.first(), scene.contact.last());
        let (Some(first), Some(last)) = ends else {
            return (0.0, 1.0);
        };
        let (first, last) = (first.x_m, last.x_m);
        let whole = last - first;
        let mean_span = match scene.spans() {
            0 => SPAN_M,
            spans => whole / spans as f64,
        };
        let width = mean_span * f64::from(self.spans);
        if self.stretch == Stretch::Whole || width >= whole {
            return (first, last);
        }
        let from = (self.center_m - 0.5 * width).clamp(first, last - width);
        (from, from + width)
    }

    fn line_and_force(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        scene: &LineScene,
        motion: &Motion,
        asks: &mut Vec<Ask>,
    ) {
        let look = Look {
            dark: ui.visuals().dark_mode,
            text: ui.visuals().text_color(),
            paper: ui.visuals().extreme_bg_color,
            font: TextStyle::Small.resolve(ui.style()),
            mono: egui::FontId::monospace(14.0),
        };
        let range = self.range(scene);
        // The words about the picture stand above it, and need its factors.
        let words = ui.cursor().min;
        let words_height = 2.0 * ROW + 2.0;
        ui.add_space(words_height);
        let size = ui.available_size().max(vec2(240.0, LEAST_HEIGHT));
        let (response, painter) = ui.allocate_painter(size, Sense::click());
        let all = response.rect;
        let inner = Rect::from_min_max(all.min + vec2(GUTTER, 0.0), all.max - vec2(8.0, 0.0));
        let for_line = 0.58 * all.height();
        let labels = Rect::from_min_size(inner.min, vec2(inner.width(), ROW));
        let rows_top = inner.top() + for_line - 2.0 * ROW;
        let rows =
            Rect::from_min_size(pos2(inner.left(), rows_top), vec2(inner.width(), 2.0 * ROW));
        let line_rect = Rect::from_min_max(labels.left_bottom(), rows.right_top());
        let force_rect = Rect::from_min_max(
            pos2(inner.left(), rows.bottom() + 10.0),
            inner.max - vec2(0.0, ROW + 2.0),
        );
        for rect in [line_rect, force_rect] {
            painter.rect_filled(rect, 2.0, look.paper);
        }
        let movement = self.movement.map(f64::from);
        let picture = Picture::fit(line_rect, BELOW, range, scene, movement);
        let drawing = Drawing {
            painter: &painter,
            look: &look,
            picture: &picture,
            scene,
            motion,
            pass: &self.pass,
        };
        drawing.line(labels);
        drawing.uplift_table(rows);
        let chart = ForceChart {
            painter: &painter,
            look: &look,
            rect: force_rect,
            range_m: range,
            pass: &self.pass,
            supports_m: &scene.supports_m,
        };
        chart.draw(motion.contact_m);
        let words = Rect::from_min_size(words, vec2(all.width(), words_height));
        self.say(ui, words, &picture, motion, view);
        response.widget_info(|| {
            let text = explain::summary(&picture, motion);
            egui::WidgetInfo::labeled(egui::Role::Label, true, text)
        });
        let pointer = response
            .hover_pos()
            .filter(|p| inner.x_range().contains(p.x));
        if let Some(pointer) = pointer {
            let stroke = Stroke::new(1.0, look.text.gamma_multiply(0.4));
            for rect in [line_rect, force_rect] {
                painter.vline(pointer.x, rect.y_range(), stroke);
            }
            let place = picture.place(pointer.x);
            if response.clicked()
                && let Some(bin) = self.pass.bin_at(place)
            {
                asks.push(Ask::ShowTime(bin.t_s));
            }
            response
                .on_hover_ui_at_pointer(|ui| explain::place(ui, place, scene, motion, &self.pass));
        }
    }

    /// Two lines of words above the picture: what is exaggerated, and where the movement comes from.
    fn say(&self, ui: &mut Ui, rect: Rect, picture: &Picture, motion: &Motion, view: &View<'_>) {
        let dark = ui.visuals().dark_mode;
        let mut words = ui.new_child(egui::UiBuilder::new().max_rect(rect));
        let ui = &mut words;
        ui.spacing_mut().item_spacing.y = 0.0;
        let auto = if self.movement.is_none() {
            " (auto)"
        } else {
            ""
        };
        let slack = match motion.slack_count {
            Some(0) => "no slack dropper".to_owned(),
            Some(1) => "1 slack dropper".to_owned(),
            Some(count) => format!("{count} slack droppers"),
            None => String::new(),
        };
        ui.horizontal(|ui| {
            let factors = format!("heights ×{}, movement ×{}{auto}", picture.heights, picture.movement);
            ui.label(RichText::new(factors).small())
                .on_hover_text("Larger than lengths along the line: at movement ×100 a rise of 10 mm is as long as 1 m of line.");
            let color = match motion.slack_count {
                Some(1..) => theme::warning(dark),
                _ => theme::weak_text(dark),
            };
            if matches!(motion.slack_count, Some(1..)) {
                let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
                let paper = ui.visuals().extreme_bg_color;
                draw::diamond(ui.painter(), rect.center(), 5.5, paper, Stroke::new(2.0, color));
            }
            ui.label(RichText::new(slack).small().color(color))
                .on_hover_text("Slack droppers are dashed and have a diamond.");
        });
        let (text, more) = match motion.source {
            Source::Shape { t_s, is_old: false } => (
                format!("wire as computed at {t_s:8.2} s"),
                "The bench's own wire model, 25 times a second. Messenger and stitch wires are computed where droppers hang, and straight between.",
            ),
            Source::Shape { t_s, is_old: true } => (
                format!("not running: wire as it was at {t_s:.2} s"),
                "The last shape that the bench computed before the moment that is shown.",
            ),
            Source::Channels(why) => {
                let text = if view.is_replay {
                    "from a recording: movement at the contact only"
                } else {
                    "movement at the contact only"
                };
                (text.to_owned(), why)
            }
        };
        ui.add(
            egui::Label::new(RichText::new(text).small().color(theme::weak_text(dark))).truncate(),
        )
        .on_hover_text(more);
    }
}

/// A line of which only the places of the supports are known, or not even these.
fn level_scene(marks: Option<&LineMarks>, pass: &Pass) -> LineScene {
    let level = |x_m: f64| ScenePoint { x_m, z_m: 0.0 };
    let supports_m = marks.map_or(Vec::new(), |m| m.supports_m.clone());
    let contact = if supports_m.len() >= 2 {
        supports_m.iter().map(|x| level(*x)).collect()
    } else {
        let ends = [pass.bins().first(), pass.bins().last()];
        ends.into_iter().flatten().map(|b| level(b.x_m)).collect()
    };
    LineScene {
        name: "a line whose file is not known".into(),
        supports_m,
        contact,
        ..LineScene::default()
    }
}

fn nothing(ui: &mut Ui, text: &str) {
    ui.centered_and_justified(|ui| {
        ui.label(RichText::new(text).color(theme::weak_text(ui.visuals().dark_mode)))
    });
}
