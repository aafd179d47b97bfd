//! Parameters that need gains: what is asked for, what is applied, and what the model says of it before it
//! is applied.

mod prediction;

use crate::theme;
use crate::tuner::{Tuner, TuningAsk};
use crate::units::{shown, significant};
use crate::view::{Ask, View};
use eframe::egui::{
    Align, Button, Checkbox, Color32, ComboBox, DragValue, Key, Label, Layout, Rect, Response,
    RichText, ScrollArea, Slider, SliderClamping, TextEdit, Ui, UiBuilder, Vec2, pos2, vec2,
};
use rt_core::param::{Applies, ParamSpec};
use serde::{Deserialize, Serialize};

/// From this width on parameters stand beside the prediction, each on one line.
const WIDE: f32 = 700.0;
/// Width of prediction and buttons beside the parameters.
const ASIDE: f32 = 340.0;
/// From this height on prediction and buttons stay while the parameters scroll.
const TALL: f32 = 520.0;
/// Height of one line of controls.
const LINE: f32 = 28.0;
const GAP: f32 = 6.0;
/// Room for the sign of a value that is not applied.
const SIGN: f32 = 16.0;

/// What the panel keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TuningPanel {
    preset_name: String,
    /// The changes that a person insists on; others need insisting anew.
    #[serde(skip)]
    insists_on: Option<Vec<(usize, f64)>>,
}

impl TuningPanel {
    /// Draws the panel. `tuner` is `None` for benches without gains and for recordings.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        tuner: Option<&Tuner>,
        asks: &mut Vec<Ask>,
    ) {
        let Some(tuner) = tuner else {
            nothing_to_tune(ui, view.is_replay);
            return;
        };
        let mut tune = Vec::new();
        let full = ui.available_rect_before_wrap();
        if full.width() >= WIDE {
            let middle = full.right() - ASIDE;
            let left = Rect::from_min_max(full.min, pos2(middle - 3.0 * GAP, full.bottom()));
            let right = Rect::from_min_max(pos2(middle, full.top()), full.max);
            let mut ui_left = ui.new_child(UiBuilder::new().max_rect(left).id_salt("parameters"));
            ScrollArea::vertical()
                .id_salt("parameters")
                .auto_shrink(false)
                .show(&mut ui_left, |ui| parameters(ui, tuner, true, &mut tune));
            let mut ui_right = ui.new_child(UiBuilder::new().max_rect(right).id_salt("aside"));
            ScrollArea::vertical()
                .id_salt("aside")
                .auto_shrink(false)
                .show(&mut ui_right, |ui| {
                    self.decision(ui, tuner, &mut tune);
                    self.memory(ui, tuner, &mut tune);
                });
            ui.advance_cursor_after_rect(full);
        } else {
            let is_tall = full.height() >= TALL;
            if is_tall {
                self.decision(ui, tuner, &mut tune);
            }
            ScrollArea::vertical()
                .id_salt("all")
                .auto_shrink(false)
                .show(ui, |ui| {
                    if !is_tall {
                        self.decision(ui, tuner, &mut tune);
                    }
                    parameters(ui, tuner, false, &mut tune);
                    self.memory(ui, tuner, &mut tune);
                });
        }
        asks.extend(tune.into_iter().map(Ask::Tune));
    }

    /// Prediction, and what can be done about it.
    fn decision(&mut self, ui: &mut Ui, tuner: &Tuner, asks: &mut Vec<TuningAsk>) {
        prediction::show(ui, tuner);
        let changes = tuner.changes();
        let is_changed = !changes.is_empty();
        let mut cells = Cells::new(ui, LINE);
        let quarter = (cells.width - 3.0 * GAP) / 4.0;
        let mut button = |ui: &mut Ui, text: &str, enabled: bool, hint: &str, ask: TuningAsk| {
            let rect = cells.next(quarter);
            let clicked = within(ui, rect, |ui| {
                ui.add_enabled_ui(enabled, |ui| ui.add_sized(rect.size(), narrow(text)))
                    .inner
            })
            .on_hover_text(hint)
            .on_disabled_hover_text(hint)
            .clicked();
            if clicked {
                asks.push(ask);
            }
        };
        button(
            ui,
            "Apply",
            tuner.can_apply(),
            "Send the new gains; they take effect at a border of a cycle, without a jump. Key: Enter \
             while a slider has the focus.",
            TuningAsk::Apply { insist: false },
        );
        button(
            ui,
            "Revert",
            is_changed,
            "Back to the applied values.",
            TuningAsk::Revert,
        );
        button(
            ui,
            "Undo",
            tuner.history().before().is_some(),
            "Apply the tuning before the last change.",
            TuningAsk::Undo,
        );
        button(
            ui,
            "Redo",
            tuner.history().after().is_some(),
            "Apply what was undone.",
            TuningAsk::Redo,
        );
        self.insisting(ui, tuner, &changes, asks);
        message(ui, tuner.message());
    }

    /// Always there, so that nothing moves when it is needed.
    fn insisting(
        &mut self,
        ui: &mut Ui,
        tuner: &Tuner,
        changes: &[(usize, f64)],
        asks: &mut Vec<TuningAsk>,
    ) {
        let is_needed = tuner.needs_insisting();
        let mut insists = is_needed && self.insists_on.as_deref() == Some(changes);
        let mut cells = Cells::new(ui, LINE);
        let half = (cells.width - GAP) / 2.0;
        let hint = "Only needed where the model says too little margin or unstable. With this the gains \
                    can be applied all the same; that is recorded.";
        let tick = within(ui, cells.next(half), |ui| {
            ui.add_enabled(is_needed, Checkbox::new(&mut insists, "I insist"))
        });
        if tick
            .on_hover_text(hint)
            .on_disabled_hover_text(hint)
            .changed()
        {
            self.insists_on = insists.then(|| changes.to_vec());
        }
        let rect = cells.next(half);
        let anyway = within(ui, rect, |ui| {
            let button = if insists {
                let text = RichText::new("Apply anyway").color(Color32::WHITE);
                Button::new(text).fill(theme::DANGER)
            } else {
                Button::new("Apply anyway")
            };
            ui.add_enabled_ui(insists, |ui| ui.add_sized(rect.size(), button))
                .inner
        });
        if anyway
            .on_hover_text(hint)
            .on_disabled_hover_text(hint)
            .clicked()
        {
            asks.push(TuningAsk::Apply { insist: true });
            self.insists_on = None;
        }
    }

    /// A/B and presets.
    fn memory(&mut self, ui: &mut Ui, tuner: &Tuner, asks: &mut Vec<TuningAsk>) {
        ui.separator();
        let mut cells = Cells::new(ui, LINE);
        let half = (cells.width - GAP) / 2.0;
        let rect = cells.next(half);
        let keep = within(ui, rect, |ui| {
            ui.add_sized(rect.size(), narrow("Keep as B"))
        });
        if keep
            .on_hover_text("Keep the applied tuning as side B of a comparison.")
            .clicked()
        {
            asks.push(TuningAsk::KeepAsB);
        }
        let rect = cells.next(half);
        let can_switch = !tuner.history().sides_are_equal();
        let switch = within(ui, rect, |ui| {
            ui.add_enabled_ui(can_switch, |ui| {
                ui.add_sized(rect.size(), narrow("Switch A / B"))
            })
            .inner
        });
        let hint = "Apply the other side; this one becomes B.";
        if switch
            .on_hover_text(hint)
            .on_disabled_hover_text("Both sides are the same; keep one as B and change something.")
            .clicked()
        {
            asks.push(TuningAsk::SwitchSides);
        }
        match tuner.presets() {
            Ok(presets) => {
                let names: Vec<&str> = presets.names().collect();
                self.presets(ui, &names, asks);
            }
            Err(problem) => {
                ui.label(RichText::new(problem).size(13.0).color(warning(ui)));
            }
        }
    }

    fn presets(&mut self, ui: &mut Ui, names: &[&str], asks: &mut Vec<TuningAsk>) {
        let mut cells = Cells::new(ui, LINE);
        let width = cells.width;
        within(ui, cells.next(width), |ui| {
            let label = ui.label("Preset");
            let open = ComboBox::from_id_salt("presets")
                .selected_text(if names.is_empty() {
                    "none yet"
                } else {
                    "propose one …"
                })
                .width(ui.available_width() - GAP)
                .show_ui(ui, |ui| {
                    if names.is_empty() {
                        ui.label("Name the applied tuning below and save it.");
                    }
                    for name in names {
                        if ui.selectable_label(false, *name).clicked() {
                            asks.push(TuningAsk::LoadPreset((*name).to_owned()));
                            self.preset_name = (*name).to_owned();
                        }
                    }
                });
            open.response
                .labelled_by(label.id)
                .on_hover_text("A preset is only proposed: look at its prediction, then apply it.")
        });
        let mut cells = Cells::new(ui, LINE);
        let third = (cells.width - 2.0 * GAP) / 4.0;
        let rect = cells.next(2.0 * third);
        within(ui, rect, |ui| {
            let name = TextEdit::singleline(&mut self.preset_name)
                .hint_text("name of a preset")
                .desired_width(rect.width() - 8.0);
            ui.add(name)
        });
        let name = self.preset_name.trim();
        for (text, enabled, hint, ask) in [
            (
                "Save",
                !name.is_empty(),
                "Keep the applied tuning under this name.",
                TuningAsk::SavePreset(name.to_owned()),
            ),
            (
                "Delete",
                names.contains(&name),
                "Forget the preset of this name.",
                TuningAsk::DeletePreset(name.to_owned()),
            ),
        ] {
            let rect = cells.next(third);
            let button = within(ui, rect, |ui| {
                ui.add_enabled_ui(enabled, |ui| ui.add_sized(rect.size(), narrow(text)))
                    .inner
            });
            if button
                .on_hover_text(hint)
                .on_disabled_hover_text(hint)
                .clicked()
            {
                asks.push(ask);
            }
        }
    }
}

/// What there is to say without a tuner.
pub(super) fn nothing_to_tune(ui: &mut Ui, is_replay: bool) {
    let text = if is_replay {
        "A recording cannot be tuned. Its events say what was applied and when; go back to the bench to \
         change it."
    } else {
        "This bench has no gains to tune. Open a session of bench 'pantograph-lqg', for example \
         sessions/dsa380-250.ron."
    };
    ui.centered_and_justified(|ui| ui.label(text));
}

/// One control a parameter, choices first. Enter on a slider applies.
fn parameters(ui: &mut Ui, tuner: &Tuner, is_wide: bool, asks: &mut Vec<TuningAsk>) {
    let specs = tuner.asked().specs();
    let designed = || {
        let all = specs.iter().enumerate();
        all.filter(|(_, spec)| spec.applies == Applies::ByDesign)
    };
    for (index, spec) in designed().filter(|(_, spec)| !spec.choices.is_empty()) {
        choice(ui, tuner, index, spec, asks);
    }
    if is_wide {
        titles(ui);
    }
    let mut slider_has_focus = false;
    for (index, spec) in designed().filter(|(_, spec)| spec.choices.is_empty()) {
        slider_has_focus |= number(ui, tuner, index, spec, is_wide, asks);
    }
    if slider_has_focus && ui.input(|input| input.key_pressed(Key::Enter)) {
        asks.push(TuningAsk::Apply { insist: false });
    }
}

/// Widths of the columns of a parameter.
struct Columns {
    label: f32,
    slider: f32,
    number: f32,
    unit: f32,
    applied: f32,
}

impl Columns {
    fn wide(width: f32) -> Self {
        let (number, unit, applied) = (92.0, 52.0, 84.0);
        let rest = width - SIGN - number - unit - applied - 5.0 * GAP;
        let label = (0.6 * rest).clamp(150.0, 260.0);
        Self {
            label,
            slider: (rest - label).max(60.0),
            number,
            unit,
            applied,
        }
    }

    fn narrow(width: f32) -> Self {
        let (number, unit) = (84.0, 46.0);
        Self {
            label: width - SIGN - 96.0 - 2.0 * GAP,
            slider: (width - SIGN - number - unit - 3.0 * GAP).max(60.0),
            number,
            unit,
            applied: 96.0,
        }
    }
}

fn titles(ui: &mut Ui) {
    let mut cells = Cells::new(ui, 20.0);
    let columns = Columns::wide(cells.width);
    cells.next(SIGN);
    cells.next(columns.label);
    cells.next(columns.slider);
    let small = |text: &str| RichText::new(text).size(13.0).weak();
    cell(
        ui,
        cells.next(columns.number),
        small("asked for"),
        Align::Max,
    );
    cells.next(columns.unit);
    cell(
        ui,
        cells.next(columns.applied),
        small("applied"),
        Align::Max,
    )
    .on_hover_text("The value that the loop has confirmed.");
}

fn choice(ui: &mut Ui, tuner: &Tuner, index: usize, spec: &ParamSpec, asks: &mut Vec<TuningAsk>) {
    let (asked, applied) = (tuner.asked().get(index), tuner.applied().get(index));
    let name = |v: f64| spec.choices.get(v as usize).copied().unwrap_or("?");
    let mut cells = Cells::new(ui, 22.0);
    let applied_width = 130.0;
    sign(ui, cells.next(SIGN), asked != applied);
    let width = cells.rest() - applied_width - GAP;
    let label = RichText::new(spec.label).size(14.0);
    cell(ui, cells.next(width), label, Align::Min).on_hover_text(spec.help);
    let text = RichText::new(format!("applied {}", name(applied))).size(13.0);
    cell(ui, cells.next(applied_width), text, Align::Max)
        .on_hover_text("What the loop has confirmed.");
    let mut cells = Cells::new(ui, LINE);
    cells.next(SIGN);
    let width = cells.rest();
    within(ui, cells.next(width), |ui| {
        for (i, choice) in spec.choices.iter().enumerate() {
            let is_asked = asked == i as f64;
            if ui
                .selectable_label(is_asked, *choice)
                .on_hover_text(spec.help)
                .clicked()
                && !is_asked
            {
                asks.push(TuningAsk::Propose(vec![(index, i as f64)]));
            }
        }
    });
}

/// A slider and a number; whether the slider has the focus.
fn number(
    ui: &mut Ui,
    tuner: &Tuner,
    index: usize,
    spec: &ParamSpec,
    is_wide: bool,
    asks: &mut Vec<TuningAsk>,
) -> bool {
    let unit = shown(spec.unit);
    let (asked, applied) = (tuner.asked().get(index), tuner.applied().get(index));
    let in_force = significant(applied * unit.factor, 5);
    let is_changed = asked != applied;
    let mut cells = Cells::new(ui, if is_wide { LINE } else { 22.0 });
    let columns = if is_wide {
        Columns::wide(cells.width)
    } else {
        Columns::narrow(cells.width)
    };
    sign(ui, cells.next(SIGN), is_changed);
    let label = RichText::new(spec.label).size(14.0);
    let label = cell(ui, cells.next(columns.label), label, Align::Min)
        .on_hover_text(format!("{}. {}", spec.label, spec.help));
    if !is_wide {
        let text = RichText::new(format!("applied {in_force}")).size(13.0);
        cell(ui, cells.next(columns.applied), text, Align::Max)
            .on_hover_text("The value that the loop has confirmed.");
        cells = Cells::new(ui, LINE);
        cells.next(SIGN);
    }
    let mut on_screen = asked * unit.factor;
    let range = spec.min * unit.factor..=spec.max * unit.factor;
    let slider = within(ui, cells.next(columns.slider), |ui| {
        ui.spacing_mut().slider_width = columns.slider;
        let slider = Slider::new(&mut on_screen, range)
            .logarithmic(true)
            // A range that begins at 0 has its decades too.
            .smallest_positive(1e-5 * spec.max * unit.factor)
            .clamping(SliderClamping::Edits)
            .show_value(false);
        ui.add(slider)
    });
    let slider = slider.labelled_by(label.id).on_hover_text(spec.help);
    let mut has_changed = slider.changed();
    let rect = cells.next(columns.number);
    let number = within(ui, rect, |ui| {
        let number = DragValue::new(&mut on_screen)
            .custom_formatter(|value, _| significant(value, 5))
            .update_while_editing(false)
            .speed(0.01 * (asked * unit.factor).abs().max(1e-3));
        ui.add_sized(rect.size(), number)
    });
    let number = number.labelled_by(label.id).on_hover_text(format!(
        "{} to {} {}. Type a value, or drag it.",
        significant(spec.min * unit.factor, 5),
        significant(spec.max * unit.factor, 5),
        unit.unit
    ));
    has_changed |= number.changed();
    if number.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
        // The next Enter applies what was typed.
        slider.request_focus();
    }
    let small = |text: &str| RichText::new(text).size(13.0);
    cell(ui, cells.next(columns.unit), small(unit.unit), Align::Min);
    if is_wide {
        cell(
            ui,
            cells.next(columns.applied),
            small(&in_force),
            Align::Max,
        )
        .on_hover_text("The value that the loop has confirmed.");
    }
    if has_changed {
        asks.push(TuningAsk::Propose(vec![(index, on_screen / unit.factor)]));
    }
    slider.has_focus()
}

/// A diamond beside what is asked for and not applied.
fn sign(ui: &mut Ui, rect: Rect, is_changed: bool) {
    if is_changed {
        theme::paint_diamond(ui.painter(), rect.center(), 5.0, warning(ui));
    }
}

/// Room for three lines, whether there is a message or not.
fn message(ui: &mut Ui, message: Option<&str>) {
    let room = vec2(ui.available_width(), 52.0);
    let (rect, response) = ui.allocate_exact_size(room, eframe::egui::Sense::hover());
    let dark = ui.visuals().dark_mode;
    let (text, color) = match message {
        Some(message) => (message, warning(ui)),
        None => (
            "Move a slider or type a number: the prediction follows, the loop goes on as it is until you apply.",
            theme::weak_text(dark),
        ),
    };
    let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
    inner.set_clip_rect(rect.intersect(ui.clip_rect()));
    let rich = RichText::new(text).size(13.0).color(color);
    inner.add(Label::new(rich).wrap());
    response.on_hover_text(text);
}

fn warning(ui: &Ui) -> Color32 {
    theme::warning(ui.visuals().dark_mode)
}

fn narrow(text: &str) -> Button<'_> {
    Button::new(text).wrap_mode(eframe::egui::TextWrapMode::Truncate)
}

/// Cells of fixed widths, one after another on a line of fixed height.
pub(super) struct Cells {
    at: Rect,
    width: f32,
}

impl Cells {
    pub(super) fn new(ui: &mut Ui, height: f32) -> Self {
        let width = ui.available_width();
        let (at, _) = ui.allocate_exact_size(vec2(width, height), eframe::egui::Sense::hover());
        Self { at, width }
    }

    pub(super) fn next(&mut self, width: f32) -> Rect {
        let rect = Rect::from_min_size(self.at.min, Vec2::new(width, self.at.height()));
        self.at.min.x += width + GAP;
        rect
    }

    pub(super) fn rest(&self) -> f32 {
        self.at.width()
    }
}

/// Draws something in a cell.
pub(super) fn within<R>(ui: &mut Ui, rect: Rect, add: impl FnOnce(&mut Ui) -> R) -> R {
    let builder = UiBuilder::new()
        .max_rect(rect)
        .layout(Layout::left_to_right(Align::Center));
    let mut inner = ui.new_child(builder);
    inner.spacing_mut().item_spacing.x = GAP;
    // Four buttons have to fit into the narrowest panel.
    inner.spacing_mut().button_padding.x = GAP;
    add(&mut inner)
}

/// Text in a cell, at its left (`Min`) or right (`Max`) end.
pub(super) fn cell(ui: &mut Ui, rect: Rect, text: RichText, align: Align) -> Response {
    let layout = if align == Align::Max {
        Layout::right_to_left(Align::Center)
    } else {
        Layout::left_to_right(Align::Center)
    };
    let mut inner = ui.new_child(UiBuilder::new().max_rect(rect).layout(layout));
    inner.add(Label::new(text).truncate())
}

#[cfg(test)]
mod tests;
