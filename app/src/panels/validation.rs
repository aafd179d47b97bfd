//! Iterative validation: how the rounds converge, the run against the reference along the line, and the error by band.

use crate::chart::axis::Axis;
use crate::chart::{self, Chart, Height, Item, Pen};
use crate::iterate::{Errors, Finding, RoundResult};
use crate::theme;
use crate::validating::Validating;
use crate::view::Ask;
use eframe::egui::{self, Grid, RichText, Ui};

/// What the panel remembers.
#[derive(Default)]
pub struct ValidationPanel {
    charts: Vec<Chart>,
    /// What the charts were made for: rounds, whether there is a result, dark.
    made_for: Option<(usize, bool, bool)>,
}

impl ValidationPanel {
    /// Another validation is shown from now on.
    pub fn renew(&mut self) {
        self.made_for = None;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, validating: Option<&Validating>, asks: &mut Vec<Ask>) {
        let dark = ui.visuals().dark_mode;
        let Some(v) = validating else {
            ui.label(
                "Nothing is validated yet. Select the recording of a run along a line in the panel Recordings and press \
                 Validate …: the wire that its force makes is played without feedback until the force no longer \
                 changes. That force is the reference for the run.",
            );
            return;
        };
        let name = v.path.file_name().unwrap_or_default().to_string_lossy();
        ui.horizontal_wrapped(|ui| {
            verdict(ui, v, dark, asks);
            let weak = RichText::new(name).size(13.0).color(theme::weak_text(dark));
            ui.label(weak);
        });
        for note in &v.notes {
            let text = RichText::new(format!("⚠ {note}")).size(13.0);
            ui.label(text.color(theme::warning(dark)));
        }
        let finding = v.end.as_ref().and_then(|end| end.as_ref().ok());
        if let Some(finding) = finding {
            errors(ui, finding);
        }
        if v.rounds.is_empty() {
            return;
        }
        let wanted = (v.rounds.len(), finding.is_some(), dark);
        if self.made_for != Some(wanted) {
            self.charts = vec![convergence(&v.rounds, v.tolerance_pct, dark)];
            self.charts.extend(finding.map(|f| forces(f, dark)));
            self.made_for = Some(wanted);
        }
        chart::show(ui, &self.charts, 0.0);
    }
}

/// What it has come to, or what it is doing.
fn verdict(ui: &mut Ui, v: &Validating, dark: bool, asks: &mut Vec<Ask>) {
    match &v.end {
        None => {
            ui.spinner();
            let (stage, part) = &v.stage;
            ui.label(format!("{stage} …"));
            ui.add(egui::ProgressBar::new(*part as f32).desired_width(140.0));
            let stop = ui.button("Stop validation");
            if stop
                .on_hover_text("Stops in a controlled way; what was recorded is kept.")
                .clicked()
            {
                asks.push(Ask::StopValidation);
            }
        }
        Some(Err(problem)) => {
            ui.label(RichText::new(format!("✖ {problem}")).color(theme::warning(dark)));
        }
        Some(Ok(finding)) if finding.has_converged() => {
            let rounds = finding.rounds.len();
            ui.label(RichText::new(format!("✔ converged in {rounds} rounds")).strong());
            if let Some(e) = &finding.error_hil {
                ui.label(format!(
                    "the run is {:.2} % away from the reference below 20 Hz",
                    e.filtered_pct
                ));
            }
        }
        Some(Ok(finding)) => {
            let words = format!("✖ {}", finding.verdict.words());
            ui.label(RichText::new(words).color(theme::warning(dark)));
        }
    }
}

/// Errors by band, in time and in frequency.
fn errors(ui: &mut Ui, finding: &Finding) {
    let rows: [(&str, &str, &Option<Errors>); 4] = [
        (
            "run against the reference",
            "How far the hardware-in-the-loop run is from the converged force.",
            &finding.error_hil,
        ),
        (
            "reference against the coupled solution",
            "Only on a simulated rig: the same line and pantograph solved at once, through the pad alone.",
            &finding.error_vs_implicit,
        ),
        (
            "run against the coupled solution with k_i",
            "What controller and delays do.",
            &finding.error_hil_vs_implicit,
        ),
        (
            "share of k_i",
            "The coupled solution with the interaction spring against the one without.",
            &finding.spring_share,
        ),
    ];
    let Some(first) = rows.iter().find_map(|row| row.2.as_ref()) else {
        return;
    };
    Grid::new("validation errors")
        .striped(true)
        .spacing([16.0, 3.0])
        .show(ui, |ui| {
            ui.label(
                RichText::new("error, time / frequency [%]")
                    .size(13.0)
                    .strong(),
            );
            for (band, ..) in &first.bands {
                let head = format!("{}–{} Hz", band.low_hz, band.high_hz);
                ui.label(RichText::new(head).size(13.0).strong());
            }
            ui.end_row();
            for (name, help, errors) in rows {
                let Some(errors) = errors else { continue };
                ui.label(RichText::new(name).size(13.0)).on_hover_text(help);
                for (_, time, frequency) in &errors.bands {
                    let cell = format!("{time:>5.2} / {frequency:>5.2}");
                    ui.label(RichText::new(cell).monospace().size(13.0));
                }
                ui.end_row();
            }
        });
}

fn convergence(rounds: &[RoundResult], tolerance_pct: f64, dark: bool) -> Chart {
    let points: Vec<[f64; 2]> = rounds
        .iter()
        .map(|r| [r.index as f64, r.change_pct])
        .collect();
    let most = points.iter().map(|p| p[1]).fold(tolerance_pct, f64::max);
    let pen = Pen::of_series(dark, 0);
    Chart {
        name: "Convergence".into(),
        x: Axis::exactly(0.5, rounds.len().max(3) as f64 + 0.5),
        x_title: "round".into(),
        y: Axis::from_zero(1.1 * most),
        y_title: "change of the force [%]".into(),
        items: vec![
            Item::Line(points.clone(), pen),
            Item::Dots {
                points,
                radius: 4.0,
                color: pen.color,
                is_hollow: false,
            },
            Item::Level {
                y: tolerance_pct,
                pen: Pen::dashed(theme::warning(dark), 1.2),
                text: format!("tolerance {tolerance_pct} %"),
            },
        ],
        legend: Vec::new(),
        height: Height::Share(0.7),
    }
}

fn forces(finding: &Finding, dark: bool) -> Chart {
    let (from, to) = finding.evaluated_m;
    let line = |values: &[f64]| -> Vec<[f64; 2]> {
        let pairs = finding.places_m.iter().zip(values);
        pairs
            .filter(|(x, _)| (from..=to).contains(*x))
            .map(|(x, f)| [*x, *f])
            .collect()
    };
    let lines = [
        line(&finding.reference.filtered),
        line(&finding.hil.filtered),
    ];
    let values = lines.iter().flatten().map(|p| p[1]);
    let range = values.fold(None, |found: Option<(f64, f64)>, v| {
        Some(found.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
    });
    let legend =
        [(0, "reference"), (1, "run")].map(|(i, name)| (Pen::of_series(dark, i), name.to_owned()));
    let items = lines
        .into_iter()
        .zip(&legend)
        .map(|(line, (pen, _))| Item::Line(line, *pen));
    Chart {
        name: "Forces".into(),
        x: Axis::exactly(from, to),
        x_title: "place along the line [m]".into(),
        y: Axis::around(range),
        y_title: "contact force [N], 20 Hz".into(),
        items: items.collect(),
        legend: legend.into(),
        height: Height::Share(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iterate::Verdict;
    use crate::validating::sample;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    struct Shown {
        panel: ValidationPanel,
        validating: Option<Validating>,
        asks: Vec<Ask>,
    }

    fn shown(validating: Option<Validating>) -> Harness<'static, Shown> {
        let state = Shown {
            panel: ValidationPanel::default(),
            validating,
            asks: Vec::new(),
        };
        let draw = |ui: &mut Ui, s: &mut Shown| {
            s.panel.show(ui, s.validating.as_ref(), &mut s.asks);
        };
        Harness::builder()
            .with_size(egui::vec2(900.0, 600.0))
            .build_ui_state(draw, state)
    }

    #[test]
    fn without_a_validation_it_says_how_to_begin() {
        let mut harness = shown(None);
        harness.run_steps(2);
        harness.get_by_label_contains("press Validate …");
    }

    #[test]
    fn while_it_goes_on_it_can_be_stopped() {
        let mut harness = shown(Some(sample::validating(None)));
        harness.run_steps(2);
        harness.get_by_label_contains("round 3: the line under the force");
        harness.get_by_label("Stop validation").click();
        harness.run_steps(2);
        assert_eq!(harness.state().asks, [Ask::StopValidation]);
        let validating = harness.state().validating.as_ref().unwrap();
        assert!(!sample::is_stopping(validating));
        validating.stop();
        assert!(sample::is_stopping(validating));
    }

    #[test]
    fn the_verdict_is_said_in_words() {
        for (end, words) in [
            (
                Ok(sample::finding(Verdict::Converged)),
                "converged in 2 rounds",
            ),
            (Ok(sample::finding(Verdict::NotYet)), "not converged"),
            (
                Ok(sample::finding(Verdict::Diverged("it grows".into()))),
                "diverged: it grows",
            ),
            (Err("the disk is full".to_owned()), "the disk is full"),
        ] {
            let has_errors = end.is_ok();
            let mut harness = shown(Some(sample::validating(Some(end))));
            harness.run_steps(2);
            harness.get_by_label_contains(words);
            let rows = harness
                .query_all_by_label_contains("run against the reference")
                .count();
            assert_eq!(rows > 0, has_errors, "{words}");
        }
    }
}
