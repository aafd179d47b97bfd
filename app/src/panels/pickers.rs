//! Controls that the panels of computed charts share: channels, ranges, windows, export, readouts, and what
//! is said while there is nothing to show.

mod export;

pub use export::{Export, PICTURE, Source, nothing_to_export, table};

use crate::analysis::stretch::{Found, Offered, Stretch};
use crate::data::Data;
use crate::units::shown;
use crate::view::View;
use eframe::egui::{
    self, Button, ComboBox, Label, PopupCloseBehavior, RichText, TextWrapMode, Ui, Vec2,
};
use rt_core::signal::spectrum::{SpectrumSettings, Window};
use serde::{Deserialize, Serialize};

/// Lengths of a segment that can be chosen, in s.
const SEGMENTS_S: [f64; 7] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Letters of a name before it is cut.
const MOST_LETTERS: usize = 28;

/// A choice among some; the name stands in front of what is chosen.
pub fn choice<T: PartialEq + Clone>(
    ui: &mut Ui,
    name: &str,
    chosen: &mut T,
    choices: &[T],
    text: impl Fn(&T) -> String,
    tip: &str,
) {
    let shown = ComboBox::from_id_salt(name)
        .selected_text(format!("{name}: {}", cut(&text(chosen))))
        .wrap_mode(TextWrapMode::Extend)
        .height(420.0)
        .show_ui(ui, |ui| {
            for one in choices {
                ui.selectable_value(chosen, one.clone(), text(one));
            }
        });
    shown.response.accessible_name(name).on_hover_text(tip);
}

/// A channel by its name.
pub fn channel(ui: &mut Ui, name: &str, chosen: &mut String, data: &Data, tip: &str) {
    let ids: Vec<String> = data.channels.iter().map(|c| c.id.clone()).collect();
    choice(ui, name, chosen, &ids, |id| label_of(data, id), tip);
}

/// Some channels by their names, at most so many.
pub fn channels(ui: &mut Ui, chosen: &mut Vec<String>, data: &Data, most: usize, tip: &str) {
    let text = match chosen.as_slice() {
        [] => "none".to_owned(),
        [one] => cut(&label_of(data, one)),
        many => format!("{} chosen", many.len()),
    };
    let shown = ComboBox::from_id_salt("Channels")
        .selected_text(format!("Channels: {text}"))
        .wrap_mode(TextWrapMode::Extend)
        .height(420.0)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show_ui(ui, |ui| {
            for channel in &data.channels {
                let at = chosen.iter().position(|id| *id == channel.id);
                let mut is_chosen = at.is_some();
                let has_room = is_chosen || chosen.len() < most;
                let row =
                    ui.add_enabled_ui(has_room, |ui| ui.checkbox(&mut is_chosen, &channel.label));
                let tip = if has_room {
                    channel.id.clone()
                } else {
                    format!("{most} at most: remove another first.")
                };
                if row.inner.on_hover_text(tip).changed() {
                    match at {
                        Some(at) => drop(chosen.remove(at)),
                        None => chosen.push(channel.id.clone()),
                    }
                }
            }
        });
    shown
        .response
        .accessible_name("Channels")
        .on_hover_text(tip);
}

/// What a person reads of a channel.
pub fn label_of(data: &Data, id: &str) -> String {
    match data.channel(id) {
        Some((_, channel)) => channel.label.clone(),
        None => format!("{id} (not in this run)"),
    }
}

/// Factor from SI to the unit in which a channel is shown, and that unit.
pub fn unit_of<'a>(data: &'a Data, id: &str) -> (f64, &'a str) {
    let unit = shown(data.channel(id).map_or("", |(_, c)| c.unit.as_str()));
    (unit.factor, unit.unit)
}

/// The name of a channel with its unit, for an axis.
pub fn title_of(data: &Data, id: &str) -> String {
    let label = label_of(data, id);
    match unit_of(data, id).1 {
        "" => label,
        unit => format!("{label} ({unit})"),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MOST_LETTERS {
        return text.to_owned();
    }
    let begin: String = text.chars().take(MOST_LETTERS - 1).collect();
    format!("{}…", begin.trim_end())
}

/// Which stretch of time.
pub fn stretch(ui: &mut Ui, chosen: &mut Stretch) {
    let tip = "Which stretch of time is evaluated: the last seconds move with the picture; visible range and \
               cursors are those of the time plots.";
    choice(ui, "Range", chosen, &Stretch::CHOICES, |s| s.name(), tip);
}

/// How spectra are cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Segments {
    /// Weights.
    pub window: Window,
    /// Length of a segment in s; the resolution is one over it.
    pub seconds: f64,
}

impl Default for Segments {
    fn default() -> Self {
        Self {
            window: Window::Hann,
            seconds: 4.0,
        }
    }
}

impl Segments {
    /// Window and length to choose.
    pub fn show(&mut self, ui: &mut Ui) {
        let resolution = |s: &f64| format!("{s} s, Δf {} Hz", 1.0 / s);
        let tip = "Length of a segment. Longer: finer frequencies; shorter: more segments to average, less scatter.";
        choice(
            ui,
            "Segment",
            &mut self.seconds,
            &SEGMENTS_S,
            resolution,
            tip,
        );
        let windows = [Window::Hann, Window::Hamming, Window::Boxcar];
        let tip = "Weight of the samples within a segment. Hann leaks least; Boxcar is for signals that repeat exactly \
                   in a segment.";
        choice(
            ui,
            "Window",
            &mut self.window,
            &windows,
            |w| format!("{w:?}"),
            tip,
        );
    }

    /// Settings of Welch's method with half overlap.
    pub fn settings(&self, rate_hz: f64) -> SpectrumSettings {
        let samples = (self.seconds * rate_hz).round().max(2.0) as usize;
        SpectrumSettings {
            window: self.window,
            ..SpectrumSettings::new(rate_hz, samples)
        }
    }
}

/// The samples that a panel asks for, and the places of its channels; or what to tell a person.
pub fn ready(
    view: &View<'_>,
    (stretch, offered): (Stretch, &Offered),
    channels: &[&str],
    needs_s: f64,
) -> Result<(Found, Vec<usize>), String> {
    let place = |id: &&str| {
        view.data.find(id).ok_or_else(|| {
            format!("There is no channel '{id}' in this run. Choose another one above.")
        })
    };
    let places = channels.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    if let Stretch::Last(seconds) = stretch
        && seconds < needs_s
    {
        return Err(format!(
            "The range of {seconds} s is shorter than the {needs_s} s that are needed. Choose a longer range or \
             shorter segments."
        ));
    }
    let (from_s, to_s) = stretch.bounds(view, offered)?;
    let Some(found) = Found::within(view.data, from_s, to_s) else {
        return Err("There are no samples in this range yet.".into());
    };
    let seconds = found.seconds(view.data.period_s);
    // Half a sample is rounding.
    if seconds < needs_s - 0.5 * view.data.period_s {
        return Err(format!(
            "Needs {needs_s} s of samples; {seconds:.1} s so far."
        ));
    }
    Ok((found, places))
}

/// Says why there is no chart, where it would be.
pub fn empty(ui: &mut Ui, text: &str) {
    ui.centered_and_justified(|ui| ui.label(RichText::new(text).weak()));
}

/// Controls of a panel in rows that break where there is no more room.
pub fn controls(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.scope(|ui| {
        ui.spacing_mut().button_padding = Vec2::new(8.0, 3.0);
        ui.spacing_mut().item_spacing = Vec2::new(6.0, 5.0);
        ui.horizontal_wrapped(add);
    });
}

/// Opens and closes the second row of controls.
pub fn settings_button(ui: &mut Ui, is_open: &mut bool, tip: &str) {
    let button = Button::new("Settings").selected(*is_open);
    if ui.add(button).on_hover_text(tip).clicked() {
        *is_open = !*is_open;
    }
}

/// Room below the charts for readouts: so many lines of 13-point letters.
pub fn room_below(lines: usize) -> f32 {
    20.0 * lines as f32 + 10.0
}

/// A line with figures that stand still.
pub fn figures(ui: &mut Ui, text: &str) -> egui::Response {
    let text = RichText::new(text).monospace().size(13.0);
    ui.add(Label::new(text).truncate())
}

#[cfg(test)]
pub mod test_help {
    //! A window around one panel, for tests.

    use crate::data::Data;
    use crate::theme;
    use crate::view::{Ask, View};
    use eframe::egui::{Theme, Ui};
    use egui_kittest::Harness;
    use std::path::PathBuf;

    /// A panel with data.
    pub struct Stage<P> {
        /// The panel.
        pub panel: P,
        /// What it draws from.
        pub data: Data,
        /// What it asked for.
        pub asks: Vec<Ask>,
    }

    /// How a panel is shown.
    pub type Show<P> = fn(&mut P, &mut Ui, &View<'_>, &mut Vec<Ask>);

    /// A window of a size with a panel at the newest sample.
    pub fn stage<P: 'static>(
        panel: P,
        data: Data,
        size: [f32; 2],
        look: Theme,
        show: Show<P>,
    ) -> Harness<'static, Stage<P>> {
        let stage = Stage {
            panel,
            data,
            asks: Vec::new(),
        };
        Harness::builder()
            .with_size(size)
            .with_theme(look)
            .with_step_dt(0.3)
            .with_context_setup(theme::apply)
            .build_ui_state(
                move |ui, stage| {
                    let view = View {
                        data: &stage.data,
                        now_s: stage.data.history.newest_s().unwrap_or(0.0),
                        is_following: true,
                        is_replay: false,
                    };
                    show(&mut stage.panel, ui, &view, &mut stage.asks);
                },
                stage,
            )
    }

    /// Writes pictures of a panel if `PANTOBENCH_LOOK` names a directory: both looks, small and large.
    pub fn look<P: 'static>(
        name: &str,
        mut panel: impl FnMut() -> P,
        mut data: impl FnMut() -> Data,
        is_done: fn(&P) -> bool,
        show: Show<P>,
    ) {
        let Some(dir) = std::env::var_os("PANTOBENCH_LOOK").map(PathBuf::from) else {
            return;
        };
        for theme in [Theme::Dark, Theme::Light] {
            for size in [[420.0, 500.0], [1400.0, 800.0]] {
                let mut harness = stage(panel(), data(), size, theme, show);
                crate::analysis::desk::test_help::until("the answer", || {
                    harness.step();
                    is_done(&harness.state().panel)
                });
                harness.hover_at(eframe::egui::pos2(0.55 * size[0], 0.45 * size[1]));
                harness.run_steps(2);
                let file = dir.join(format!("{name}-{theme:?}-{}.png", size[0]).to_lowercase());
                harness.render().unwrap().save(file).unwrap();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn what_is_missing_is_said() {
        let data = sample::run(1.2);
        let view = View {
            data: &data,
            now_s: 1.198,
            is_following: true,
            is_replay: false,
        };
        let ask = |stretch, channels: &[&str], needs_s| {
            ready(&view, (stretch, &Offered::default()), channels, needs_s)
        };
        let said = |r: Result<_, String>| r.map(|_: (Found, Vec<usize>)| ()).unwrap_err();
        let text = said(ask(Stretch::Last(10.0), &["force"], 4.0));
        assert_eq!(text, "Needs 4 s of samples; 1.2 s so far.");
        let text = said(ask(Stretch::Last(2.0), &["force"], 4.0));
        assert!(
            text.starts_with("The range of 2 s is shorter than the 4 s"),
            "{text}"
        );
        assert!(said(ask(Stretch::All, &["nix"], 1.0)).contains("no channel 'nix'"));
        assert!(said(ask(Stretch::Cursors, &["force"], 1.0)).contains("Set both cursors"));
        let (found, places) = ask(Stretch::Last(10.0), &["line_position", "force"], 1.2).unwrap();
        assert_eq!((found.len(), places), (600, vec![2, 0]));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("Contact force"), "Contact force");
        assert_eq!(
            cut("Controller in charge (0 LQG, 1 predictive)"),
            "Controller in charge (0 LQG…"
        );
    }
}
