//! Densities as charts with marks and peaks, and their readouts.

use super::super::pickers;
use super::{Settings, Spectra, SpectraPanel};
use crate::analysis::desk::Answer;
use crate::chart::axis::{Axis, Scale};
use crate::chart::{Chart, Height, Hover, Item, Pen, number};
use crate::data::Data;
use crate::theme;
use eframe::egui::Ui;
use rt_core::signal::spectrum::density::Density;

impl SpectraPanel {
    /// One chart for each unit, in the order in which the units come.
    pub(super) fn charts(
        &self,
        data: &Data,
        answer: &Answer<Settings, Spectra>,
        spectra: &Spectra,
        dark: bool,
    ) -> Vec<Chart> {
        let resolution_hz = 1.0 / answer.settings.segments.seconds;
        let nyquist_hz = 0.5 / data.period_s;
        let high_hz = self.up_to_hz.map_or(nyquist_hz, |hz| hz.min(nyquist_hz));
        let x = match self.frequency_scale {
            Scale::Log => Axis::exactly_log(resolution_hz, high_hz),
            Scale::Linear => Axis::exactly(0.0, high_hz),
        };
        let mut units: Vec<&str> = Vec::new();
        for id in &answer.settings.channels {
            let unit = pickers::unit_of(data, id).1;
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        let mut charts: Vec<Chart> = units
            .iter()
            .map(|unit| self.chart(data, answer, spectra, (unit, x), dark))
            .collect();
        if let Some(last) = charts.last_mut() {
            last.x_title = "Frequency (Hz)".into();
        }
        charts
    }

    fn chart(
        &self,
        data: &Data,
        answer: &Answer<Settings, Spectra>,
        spectra: &Spectra,
        (unit, x): (&str, Axis),
        dark: bool,
    ) -> Chart {
        let mut range: Option<(f64, f64)> = None;
        let (mut lines, mut notes, mut legend) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (id, spectrum)) in answer
            .settings
            .channels
            .iter()
            .zip(&spectra.spectra)
            .enumerate()
        {
            let (factor, own_unit) = pickers::unit_of(data, id);
            let (true, Ok(spectrum)) = (own_unit == unit, spectrum) else {
                continue;
            };
            let pen = Pen::of_series(dark, index);
            let scaled = |s: f64| s * factor * factor;
            let bins = spectrum
                .density
                .frequencies_hz
                .iter()
                .zip(&spectrum.density.density);
            let points: Vec<[f64; 2]> = bins.skip(1).map(|(f, s)| [*f, scaled(*s)]).collect();
            for [_, s] in points.iter().filter(|[f, s]| *f <= x.high && *s > 0.0) {
                let (low, high) = range.unwrap_or((*s, *s));
                range = Some((low.min(*s), high.max(*s)));
            }
            lines.push(Item::Line(points, pen));
            notes.extend(spectrum.peaks.iter().map(|p| Item::Note {
                at: [p.frequency_hz, scaled(p.density)],
                color: pen.color,
                text: format!("{:.2} Hz", p.frequency_hz),
            }));
            legend.push((pen, pickers::label_of(data, id)));
        }
        let mut items = if self.shows_marks {
            marks(data, spectra, dark)
        } else {
            Vec::new()
        };
        items.append(&mut lines);
        items.append(&mut notes);
        let y = match self.density_scale {
            // Above the highest peak stands its frequency.
            Scale::Log => Axis::decades(range.map(|(low, high)| (low, 4.0 * high)), 8),
            Scale::Linear => Axis::from_zero(range.map_or(1.0, |r| 1.15 * r.1)),
        };
        Chart {
            name: format!("Power spectral density in {}", density_unit(unit)),
            x,
            x_title: String::new(),
            y,
            y_title: density_unit(unit),
            items,
            legend,
            height: Height::Share(1.0),
        }
    }
}

/// Marks of the frequencies at which spans and droppers are passed.
pub(super) fn marks(data: &Data, spectra: &Spectra, dark: bool) -> Vec<Item> {
    let (Some(travel), Some(line)) = (spectra.travel, data.line.as_ref()) else {
        return Vec::new();
    };
    let passing = travel.passing(line);
    let mark = |what: &str, hz: Option<f64>| {
        hz.map(|hz| Item::Upright {
            x: hz,
            pen: Pen::dashed(theme::warning(dark), 1.2),
            text: format!("{what} {hz:.2} Hz"),
        })
    };
    let both = [
        mark("spans", passing.span_hz),
        mark("droppers", passing.dropper_hz),
    ];
    both.into_iter().flatten().collect()
}

/// N²/Hz of N; powers of compound units in brackets.
pub fn density_unit(unit: &str) -> String {
    match unit {
        "" => "1/Hz".into(),
        simple if simple.chars().all(char::is_alphabetic) => format!("{simple}²/Hz"),
        compound => format!("({compound})²/Hz"),
    }
}

/// The line of a spectrum next to a frequency.
fn at_frequency(density: &Density, hz: f64) -> Option<(f64, f64)> {
    let k = (hz / density.resolution_hz).round() as usize;
    Some((*density.frequencies_hz.get(k)?, *density.density.get(k)?))
}

/// A line for each channel, with the density at the pointer or the peaks; then how sure they are.
pub(super) fn figures(
    ui: &mut Ui,
    data: &Data,
    answer: &Answer<Settings, Spectra>,
    spectra: &Spectra,
    hover: Option<Hover>,
) {
    let mut sureness = None;
    let labels: Vec<String> = answer
        .settings
        .channels
        .iter()
        .map(|id| pickers::label_of(data, id))
        .collect();
    let widest = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    for ((id, label), spectrum) in answer
        .settings
        .channels
        .iter()
        .zip(&labels)
        .zip(&spectra.spectra)
    {
        let label = format!("{label:<widest$}");
        let (factor, unit) = pickers::unit_of(data, id);
        let text = match (spectrum, hover) {
            (Err(e), _) => format!("{label}  {e}"),
            (Ok(s), Some(hover)) => match at_frequency(&s.density, hover.x) {
                Some((hz, value)) => {
                    let density = number(value * factor * factor);
                    format!("{label} {hz:>7.2} Hz {density} {}", density_unit(unit))
                }
                None => format!("{label}  –"),
            },
            (Ok(s), None) if s.peaks.is_empty() => format!("{label}  no peak stands out"),
            (Ok(s), None) => {
                let peaks: Vec<String> = s
                    .peaks
                    .iter()
                    .map(|p| {
                        format!(
                            "{:>6.2} Hz {} {unit}",
                            p.frequency_hz,
                            number(p.rms * factor)
                        )
                    })
                    .collect();
                format!("{label}  peaks (rms) {}", peaks.join(", "))
            }
        };
        let tip = format!(
            "{text}\n\nPeaks with the root mean square of what lies within two lines of them, which of a sine is \
             its amplitude / √2. Point at the chart for the density at a frequency."
        );
        pickers::figures(ui, &text).on_hover_text(tip);
        sureness = sureness.or(spectrum.as_ref().ok().map(|s| &s.density));
    }
    let Some(density) = sureness else {
        return;
    };
    let cut = if answer.found.is_cut {
        ", older samples left out"
    } else {
        ""
    };
    let skipped = match density.skipped {
        0 => String::new(),
        n => format!(", {n} left out for gaps"),
    };
    let text = format!(
        "{:>3} segments{skipped}, scatter ±{:>2.0} %, {:.1} … {:.1} s{cut}",
        density.segments,
        100.0 * density.relative_error(),
        answer.found.from_s,
        answer.found.to_s
    );
    pickers::figures(ui, &text).on_hover_text(
        "How many segments are averaged, and how far the density of noise scatters (one standard deviation). More \
         segments: less scatter. Segments with missing samples are left out.",
    );
}

/// Frequencies and densities as a table.
pub(super) fn numbers(
    data: &Data,
    answer: &Answer<Settings, Spectra>,
    spectra: &Spectra,
) -> String {
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for (id, spectrum) in answer.settings.channels.iter().zip(&spectra.spectra) {
        let Ok(spectrum) = spectrum else {
            continue;
        };
        if columns.is_empty() {
            columns.push((
                "frequency (Hz)".into(),
                spectrum.density.frequencies_hz.clone(),
            ));
        }
        let (factor, unit) = pickers::unit_of(data, id);
        let values = spectrum.density.density.iter().map(|s| s * factor * factor);
        columns.push((format!("{id} ({})", density_unit(unit)), values.collect()));
    }
    pickers::table(&columns)
}
