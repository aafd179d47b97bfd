//! Recordings over each other: curves, differences, spectra and coherence, with their statistics.

use crate::chart::axis::Axis;
use crate::chart::{self, Chart, Height, Item, Pen};
use crate::comparison::{Compared, table};
use crate::theme;
use crate::units::shown;
use crate::view::Ask;
use eframe::egui::{Grid, RichText, ScrollArea, Ui};
use std::path::PathBuf;

/// Which of the charts are shown.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Sheet {
    #[default]
    Curves,
    Spectra,
    Statistics,
}

/// A comparison on the screen.
#[derive(Default)]
pub struct ComparisonPanel {
    compared: Option<(Vec<PathBuf>, Box<Compared>)>,
    sheet: Sheet,
    shows_raw: bool,
    charts: Vec<Chart>,
    /// What the charts were made for.
    made_for: Option<(Sheet, bool, bool)>,
}

/// Frequencies that spectra are drawn for, in Hz.
const FREQUENCIES: (f64, f64) = (0.25, 60.0);

impl ComparisonPanel {
    /// Shows a new comparison.
    pub fn take(&mut self, paths: Vec<PathBuf>, compared: Box<Compared>) {
        self.compared = Some((paths, compared));
        self.made_for = None;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, busy: Option<&str>, asks: &mut Vec<Ask>) {
        let dark = ui.visuals().dark_mode;
        if let Some(busy) = busy {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(format!("{busy} …"));
                if ui.button("Give up").clicked() {
                    asks.push(Ask::StopStudy);
                }
            });
        }
        let Some((_, compared)) = &self.compared else {
            if busy.is_none() {
                ui.label(
                    "Nothing is compared yet. Select two or more recordings in the panel Recordings and press \
                     Compare, or open one and press What if …",
                );
            }
            return;
        };
        ui.horizontal_wrapped(|ui| {
            for (sheet, name) in [
                (Sheet::Curves, "Curves"),
                (Sheet::Spectra, "Spectra"),
                (Sheet::Statistics, "Statistics"),
            ] {
                ui.selectable_value(&mut self.sheet, sheet, name);
            }
            ui.separator();
            ui.checkbox(&mut self.shows_raw, "unfiltered")
                .on_hover_text(
                    "Draw the samples as they are in place of those after the 20 Hz filter.",
                );
            ui.separator();
            if ui
                .button("Save picture …")
                .on_hover_text("As SVG.")
                .clicked()
            {
                asks.push(Ask::ExportSvg {
                    name: "comparison".into(),
                    svg: crate::comparison::picture::svg(compared),
                });
            }
            if ui
                .button("Save table …")
                .on_hover_text("Statistics as comma separated values.")
                .clicked()
            {
                asks.push(Ask::ExportText {
                    name: "comparison".into(),
                    text: table::statistics_csv(compared),
                });
            }
            ui.label(
                RichText::new(format!(
                    "{:.1} to {:.1} {}: {}",
                    compared.stretch.from,
                    compared.stretch.to,
                    compared.axis.unit(),
                    compared.stretch.chosen
                ))
                .size(13.0)
                .color(theme::weak_text(dark)),
            );
        });
        for note in &compared.notes {
            ui.label(
                RichText::new(format!("⚠ {note}"))
                    .size(13.0)
                    .color(theme::warning(dark)),
            );
        }
        if self.sheet == Sheet::Statistics {
            statistics(ui, compared);
            return;
        }
        let wanted = (self.sheet, self.shows_raw, dark);
        if self.made_for != Some(wanted) {
            self.charts = match self.sheet {
                Sheet::Spectra => spectra(compared, dark),
                Sheet::Curves | Sheet::Statistics => curves(compared, self.shows_raw, dark),
            };
            self.made_for = Some(wanted);
        }
        chart::show(ui, &self.charts, 0.0);
    }
}

fn points(x: &[f64], y: &[f64], factor: f64, (from, to): (f64, f64)) -> Vec<[f64; 2]> {
    x.iter()
        .zip(y)
        .filter(|(x, _)| (from..=to).contains(*x))
        .map(|(x, y)| [*x, y * factor])
        .collect()
}

fn range(items: &[Vec<[f64; 2]>]) -> Option<(f64, f64)> {
    let values = items
        .iter()
        .flatten()
        .map(|p| p[1])
        .filter(|v| v.is_finite());
    values.fold(None, |found: Option<(f64, f64)>, v| {
        Some(found.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
    })
}

fn chart(
    name: &str,
    x: (Axis, &str),
    y: (Axis, String),
    lines: Vec<Vec<[f64; 2]>>,
    legend: Vec<(Pen, String)>,
) -> Chart {
    let items = lines
        .into_iter()
        .zip(&legend)
        .map(|(line, (pen, _))| Item::Line(line, *pen))
        .collect();
    Chart {
        name: name.to_owned(),
        x: x.0,
        x_title: x.1.to_owned(),
        y: y.0,
        y_title: y.1,
        items,
        legend,
        height: Height::Share(1.0),
    }
}

/// Curves over each other, and their differences to the first.
fn curves(compared: &Compared, raw: bool, dark: bool) -> Vec<Chart> {
    let unit = shown(&compared.channel.unit);
    let stretch = (compared.stretch.from, compared.stretch.to);
    let x = Axis::exactly(stretch.0, stretch.1);
    let filter = if raw { "" } else { ", 20 Hz" };
    let legend = |skip: usize| -> Vec<(Pen, String)> {
        let named = compared.curves().enumerate().skip(skip);
        named
            .map(|(i, c)| (Pen::of_series(dark, i), c.name.clone()))
            .collect()
    };
    let over: Vec<Vec<[f64; 2]>> = compared
        .curves()
        .map(|c| {
            let values = if raw { &c.values } else { &c.filtered };
            points(&c.positions, values, unit.factor, stretch)
        })
        .collect();
    let apart: Vec<Vec<[f64; 2]>> = compared
        .others
        .iter()
        .map(|a| {
            let values = if raw {
                &a.difference.difference
            } else {
                &a.filtered_difference
            };
            points(&a.curve.positions, values, unit.factor, stretch)
        })
        .collect();
    let title = format!("{} [{}]{filter}", compared.channel.label, unit.unit);
    let along = format!("{} [{}]", compared.axis.name(), compared.axis.unit());
    vec![
        chart(
            "Curves",
            (x, ""),
            (Axis::around(range(&over)), title),
            over,
            legend(0),
        ),
        chart(
            "Differences",
            (x, &along),
            (
                Axis::around(range(&apart)),
                format!("less {} [{}]{filter}", compared.reference.name, unit.unit),
            ),
            apart,
            legend(1),
        ),
    ]
}

fn spectra(compared: &Compared, dark: bool) -> Vec<Chart> {
    let unit = shown(&compared.channel.unit);
    let x = Axis::exactly_log(FREQUENCIES.0, FREQUENCIES.1);
    let legend = |skip: usize| -> Vec<(Pen, String)> {
        let named = compared.curves().enumerate().skip(skip);
        named
            .map(|(i, c)| (Pen::of_series(dark, i), c.name.clone()))
            .collect()
    };
    let densities: Vec<Vec<[f64; 2]>> = compared
        .curves()
        .map(|c| {
            let squared = unit.factor * unit.factor;
            points(
                &c.spectrum.frequencies_hz,
                &c.spectrum.density,
                squared,
                FREQUENCIES,
            )
        })
        .collect();
    let coherences: Vec<Vec<[f64; 2]>> = compared
        .others
        .iter()
        .map(|a| match &a.coherence {
            Ok(c) => points(&c.frequencies_hz, &c.coherence, 1.0, FREQUENCIES),
            Err(_) => Vec::new(),
        })
        .collect();
    vec![
        chart(
            "Spectra",
            (x, ""),
            (
                Axis::decades(range(&densities), 6),
                format!("density [{}²/Hz]", unit.unit),
            ),
            densities,
            legend(0),
        ),
        chart(
            "Coherence",
            (x, "frequency [Hz]"),
            (
                Axis::exactly(0.0, 1.0),
                format!("coherence with {}", compared.reference.name),
            ),
            coherences,
            legend(1),
        ),
    ]
}

fn statistics(ui: &mut Ui, compared: &Compared) {
    let unit = shown(&compared.channel.unit);
    let bands = &compared.reference.report.bands;
    let number = |v: Option<f64>, factor: f64| match v.filter(|v| v.is_finite()) {
        Some(v) => format!("{:>9.2}", v * factor),
        None => format!("{:>9}", "–"),
    };
    ScrollArea::both()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            Grid::new("comparison statistics")
                .striped(true)
                .spacing([14.0, 4.0])
                .show(ui, |ui| {
                    let mut heads: Vec<String> = ["recording", "span"].map(str::to_owned).into();
                    for name in ["mean", "σ", "mean + 3σ", "mean − 3σ", "max", "min"] {
                        heads.push(format!("{name} [{}]", unit.unit));
                    }
                    heads.extend(
                        bands
                            .iter()
                            .map(|b| format!("σ {}–{} Hz", b.band.low_hz, b.band.high_hz)),
                    );
                    heads.push("error, all [%]".into());
                    heads.extend(
                        bands
                            .iter()
                            .map(|b| format!("error {}–{} Hz [%]", b.band.low_hz, b.band.high_hz)),
                    );
                    for head in &heads {
                        ui.label(RichText::new(head).size(13.0).strong());
                    }
                    ui.end_row();
                    for row in table::rows(compared) {
                        ui.label(row.recording);
                        ui.label(row.span_m.map_or_else(
                            || "all".to_owned(),
                            |(a, b)| format!("{a:.0} … {b:.0} m"),
                        ));
                        let s = row.filtered;
                        let values = [
                            s.map(|s| s.mean),
                            s.map(|s| s.standard_deviation),
                            s.map(|s| s.statistical_max),
                            s.map(|s| s.statistical_min),
                            s.map(|s| s.max),
                            s.map(|s| s.min),
                        ];
                        let deviations = (0..bands.len()).map(|i| row.bands.get(i).copied());
                        for value in values.into_iter().chain(deviations) {
                            ui.label(
                                RichText::new(number(value, unit.factor))
                                    .monospace()
                                    .size(13.0),
                            );
                        }
                        for i in 0..=bands.len() {
                            let error = row.errors_percent.get(i).copied().flatten();
                            ui.label(RichText::new(number(error, 1.0)).monospace().size(13.0));
                        }
                        ui.end_row();
                    }
                });
        });
}
