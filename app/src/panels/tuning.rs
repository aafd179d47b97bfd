//! Parameters that need gains: what is asked for, what is applied, and what the model says of it before it
//! is applied.

use crate::theme;
use crate::tuning::{Proposal, changed};
use crate::tuning_history::{Presets, Tuning, TuningHistory, put, tuning_of};
use crate::units::{fixed_width, shown};
use eframe::egui::{
    self, Button, Color32, ComboBox, DragValue, Grid, RichText, ScrollArea, Slider, SliderClamping,
    TextEdit, Ui,
};
use rt_core::bench::{NamedVerdict, Prospect};
use rt_core::control::assessment::Verdict;
use rt_core::guard::State;
use rt_core::param::{Applies, ParamSet, ParamSpec, Scale};

/// What the panel asks of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Say what the parameters asked for would do.
    Judge,
    /// Apply the proposal, against the verdict if `insist`.
    Apply {
        /// Whether a person insists.
        insist: bool,
    },
}

/// What the panel keeps between frames.
pub struct TuningPanel {
    asked: ParamSet,
    applied: ParamSet,
    proposal: Option<Proposal>,
    history: TuningHistory,
    presets: Result<Presets, String>,
    preset_name: String,
    insists: bool,
    /// Apply as soon as the proposal is there: undo, redo, A/B.
    apply_when_judged: bool,
    message: Option<String>,
}

impl TuningPanel {
    /// At the parameters of the start.
    pub fn new(start: ParamSet, presets: Result<Presets, String>) -> Self {
        Self {
            asked: start,
            applied: start,
            proposal: None,
            history: TuningHistory::new(tuning_of(&start)),
            message: presets.as_ref().err().cloned(),
            presets,
            preset_name: String::new(),
            insists: false,
            apply_when_judged: false,
        }
    }

    /// The parameters that were asked for last.
    pub fn asked(&self) -> &ParamSet {
        &self.asked
    }

    /// What was designed last.
    pub fn proposal(&self) -> Option<&Proposal> {
        self.proposal.as_ref()
    }

    /// Takes an answer of the designing thread.
    pub fn take(&mut self, proposal: Proposal) {
        self.proposal = Some(proposal);
    }

    /// Shows a message below the buttons.
    pub fn tell(&mut self, message: Option<String>) {
        self.message = message;
    }

    /// Follows what the loop has confirmed; controls that were not touched follow too.
    pub fn follow(&mut self, confirmed: &[f64]) -> bool {
        let before = self.applied;
        for (i, spec) in before.specs().iter().enumerate() {
            let value = confirmed.get(i).copied().unwrap_or(before.get(i));
            if spec.applies == Applies::ByDesign && value != before.get(i) {
                self.applied.take_designed(i, value);
                if self.asked.get(i) == before.get(i) {
                    self.asked.take_designed(i, value);
                }
            }
        }
        let is_new = !changed(&before, &self.applied).is_empty();
        if is_new {
            self.history.note(tuning_of(&self.applied));
            self.insists = false;
        }
        is_new
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui) -> Vec<Wish> {
        let mut wishes = Vec::new();
        ui.heading("Tuning");
        self.prediction(ui);
        self.buttons(ui, &mut wishes);
        ui.separator();
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            let before = self.asked;
            for (i, spec) in before.specs().iter().enumerate() {
                if spec.applies == Applies::ByDesign {
                    self.control(ui, i, spec);
                }
            }
            if !changed(&before, &self.asked).is_empty() {
                self.insists = false;
                wishes.push(Wish::Judge);
            }
        });
        wishes
    }

    /// Undo, redo and A/B are applied as soon as they are judged, whether the panel is on the screen or not.
    pub fn apply_if_waiting(&mut self) -> Option<Wish> {
        let is_due = self.apply_when_judged && self.is_judged();
        self.apply_when_judged &= !is_due;
        is_due.then_some(Wish::Apply { insist: false })
    }

    /// Asks for the tuning before the last change.
    pub fn undo(&mut self) -> Vec<Wish> {
        let before = self.history.before().cloned();
        self.ask_for(before)
    }

    /// Asks for what was undone.
    pub fn redo(&mut self) -> Vec<Wish> {
        let after = self.history.after().cloned();
        self.ask_for(after)
    }

    fn ask_for(&mut self, tuning: Option<Tuning>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if let Some(tuning) = tuning {
            self.use_tuning(&tuning, &mut wishes);
        }
        wishes
    }

    /// Whether the newest proposal is for what is asked.
    fn is_judged(&self) -> bool {
        self.proposal
            .as_ref()
            .is_some_and(|p| changed(&p.params, &self.asked).is_empty())
    }

    fn is_changed(&self) -> bool {
        !changed(&self.applied, &self.asked).is_empty()
    }

    fn control(&mut self, ui: &mut Ui, index: usize, spec: &ParamSpec) {
        ui.add_space(4.0);
        ui.label(RichText::new(spec.label).size(14.0).strong())
            .on_hover_text(spec.help);
        let applied = self.applied.get(index);
        let mut value = self.asked.get(index);
        if !spec.choices.is_empty() {
            let name = |v: f64| spec.choices.get(v as usize).copied().unwrap_or("?");
            ui.horizontal(|ui| {
                for (i, choice) in spec.choices.iter().enumerate() {
                    ui.selectable_value(&mut value, i as f64, *choice)
                        .on_hover_text(spec.help);
                }
                ui.label(RichText::new(format!("applied {}", name(applied))).size(13.0));
            });
        } else {
            let unit = shown(spec.unit);
            let mut on_screen = value * unit.factor;
            ui.horizontal(|ui| {
                let range = spec.min * unit.factor..=spec.max * unit.factor;
                let slider = Slider::new(&mut on_screen, range)
                    .logarithmic(spec.scale == Scale::Logarithmic)
                    .clamping(SliderClamping::Always)
                    .show_value(false);
                ui.spacing_mut().slider_width = 90.0;
                let slid = ui.add(slider).on_hover_text(spec.help).changed();
                let number = DragValue::new(&mut on_screen)
                    .max_decimals(4)
                    .speed(0.01 * value.abs() * unit.factor)
                    .suffix(format!(" {}", unit.unit));
                let typed = ui.add_sized([100.0, 24.0], number).changed();
                if slid || typed {
                    let wanted = on_screen / unit.factor;
                    match spec.check(wanted) {
                        Ok(accepted) => value = accepted,
                        Err(refused) => self.message = Some(refused.to_string()),
                    }
                }
                let in_force = format!("applied {}", fixed_width(applied * unit.factor).trim());
                ui.label(RichText::new(in_force).monospace().size(13.0))
                    .on_hover_text("The value that the loop has confirmed.");
            });
        }
        if value != self.asked.get(index) {
            self.asked.take_designed(index, value);
        }
    }

    fn prediction(&self, ui: &mut Ui) {
        let dark = ui.visuals().dark_mode;
        let title = if self.is_changed() {
            "Predicted for the values below, not yet applied"
        } else {
            "Predicted for the applied values"
        };
        ui.label(RichText::new(title).size(13.0));
        match self.proposal.as_ref().map(|p| &p.designed) {
            _ if !self.is_judged() => {
                ui.label("computing …");
            }
            Some(Ok((_, prospect))) => {
                // Shapes as in the bar: full circle good, triangle careful, square stop.
                let (color, shape, words) = match prospect.verdict() {
                    Verdict::Stable => (theme::good(dark), State::Ready, "stable"),
                    Verdict::TooLittleMargin { .. } => {
                        (theme::warning(dark), State::Armed, "too little margin")
                    }
                    Verdict::Unstable { .. } => (danger_text(dark), State::Tripped, "unstable"),
                };
                ui.horizontal(|ui| {
                    let size = egui::vec2(16.0, 16.0);
                    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                    theme::paint_state_shape(ui.painter(), shape, rect.center(), 6.0, color);
                    let text = format!("{words}   ρ = {:.5}", prospect.rho_loop);
                    ui.label(RichText::new(text).color(color).strong()).on_hover_text(
                        "ρ: largest growth per cycle of any disturbance in the model of the whole loop; \
                         below 1 it dies away.",
                    );
                });
                margins(ui, prospect);
            }
            Some(Err(problem)) => {
                ui.colored_label(danger_text(dark), problem);
            }
            None => {}
        }
    }

    fn buttons(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        let verdict = self.proposal.as_ref().and_then(Proposal::prospect);
        let verdict: Option<NamedVerdict> = verdict.map(Prospect::verdict);
        let can_apply = self.is_changed() && self.is_judged();
        let is_sound = verdict == Some(Verdict::Stable);
        ui.horizontal(|ui| {
            let apply = ui.add_enabled(can_apply && is_sound, Button::new("Apply"));
            let hint =
                "Send the new gains; they take effect at a border of a cycle, without a jump.";
            if apply
                .on_hover_text(hint)
                .on_disabled_hover_text(hint)
                .clicked()
            {
                wishes.push(Wish::Apply { insist: false });
            }
            let revert = ui.add_enabled(self.is_changed(), Button::new("Revert"));
            if revert
                .on_hover_text("Back to the applied values.")
                .clicked()
            {
                self.asked = self.applied;
                wishes.push(Wish::Judge);
            }
            let undo = ui.add_enabled(self.history.before().is_some(), Button::new("Undo"));
            if undo
                .on_hover_text("Apply the tuning before the last change.")
                .clicked()
                && let Some(before) = self.history.before().cloned()
            {
                self.use_tuning(&before, wishes);
            }
            let redo = ui.add_enabled(self.history.after().is_some(), Button::new("Redo"));
            if redo.on_hover_text("Apply what was undone.").clicked()
                && let Some(after) = self.history.after().cloned()
            {
                self.use_tuning(&after, wishes);
            }
        });
        if can_apply && !is_sound && verdict.is_some() {
            ui.horizontal(|ui| {
                ui.checkbox(&mut self.insists, "I insist")
                    .on_hover_text("The model says no. With this the gains can be applied all the same; that is recorded.");
                let text = RichText::new("Apply anyway").color(Color32::WHITE);
                let button = ui.add_enabled(self.insists, Button::new(text).fill(theme::DANGER));
                if button.clicked() {
                    wishes.push(Wish::Apply { insist: true });
                }
            });
        }
        self.sides_and_presets(ui, wishes);
        if let Some(message) = &self.message {
            ui.colored_label(theme::warning(ui.visuals().dark_mode), message);
        }
    }

    fn sides_and_presets(&mut self, ui: &mut Ui, wishes: &mut Vec<Wish>) {
        ui.horizontal(|ui| {
            if ui
                .button("Keep as B")
                .on_hover_text("Keep the applied tuning as side B of the comparison.")
                .clicked()
            {
                self.history.keep_as_other();
            }
            let switch = ui.add_enabled(!self.history.sides_are_equal(), Button::new("A / B"));
            if switch
                .on_hover_text("Apply the other side; this one becomes B.")
                .clicked()
            {
                let other = self.history.switch();
                self.use_tuning(&other, wishes);
            }
        });
        let Ok(presets) = &mut self.presets else {
            return;
        };
        let mut chosen: Option<Tuning> = None;
        ui.horizontal(|ui| {
            ComboBox::from_id_salt("presets")
                .selected_text("Preset …")
                .width(96.0)
                .show_ui(ui, |ui| {
                    let names: Vec<String> = presets.names().map(str::to_owned).collect();
                    if names.is_empty() {
                        ui.label("none yet");
                    }
                    for name in names {
                        if ui.selectable_label(false, &name).clicked() {
                            chosen = presets.get(&name).cloned();
                            self.preset_name = name;
                        }
                    }
                });
            let name = TextEdit::singleline(&mut self.preset_name)
                .hint_text("name")
                .desired_width(70.0);
            ui.add(name);
            if ui
                .button("Save")
                .on_hover_text("Keep the applied tuning under this name.")
                .clicked()
            {
                self.message = presets
                    .save(&self.preset_name, tuning_of(&self.applied))
                    .err();
            }
            let known = presets.get(self.preset_name.trim()).is_some();
            if ui
                .add_enabled(known, Button::new("Delete"))
                .on_hover_text("Forget the preset of this name.")
                .clicked()
            {
                self.message = presets.remove(self.preset_name.trim()).err();
            }
        });
        if let Some(tuning) = chosen {
            // A preset is only proposed: its prediction is looked at first.
            put(&tuning, &mut self.asked);
            wishes.push(Wish::Judge);
        }
    }

    fn use_tuning(&mut self, tuning: &Tuning, wishes: &mut Vec<Wish>) {
        put(tuning, &mut self.asked);
        self.apply_when_judged = true;
        wishes.push(Wish::Judge);
    }
}

fn danger_text(dark: bool) -> Color32 {
    if dark {
        Color32::from_rgb(255, 120, 115)
    } else {
        theme::DANGER
    }
}

fn margins(ui: &mut Ui, prospect: &Prospect) {
    if prospect.margins.is_empty() {
        ui.label("An unstable loop has no margins.");
        return;
    }
    let or_none = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.1}"));
    Grid::new("margins")
        .num_columns(4)
        .spacing(egui::vec2(10.0, 2.0))
        .show(ui, |ui| {
            for (text, hint) in [
                ("margin at", "Where the loop is cut."),
                (
                    "disk",
                    "How far gain and phase may change together; 0.02 is very little, 0.5 is much.",
                ),
                ("gain dB", "How much gain may be lost and added."),
                ("delay ms", "How much delay may be added."),
            ] {
                ui.label(RichText::new(text).size(13.0)).on_hover_text(hint);
            }
            ui.end_row();
            for (name, m) in &prospect.margins {
                let gain = format!("{} … {}", or_none(m.gain_down_db), or_none(m.gain_up_db));
                ui.label(RichText::new(*name).size(13.0));
                for number in [format!("{:.3}", m.disk), gain, or_none(m.delay_ms)] {
                    ui.label(RichText::new(number).monospace().size(13.0));
                }
                ui.end_row();
            }
        });
}
