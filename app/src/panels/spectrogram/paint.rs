//! Densities over time as a picture: levels, colours, and what lies where.

use super::super::pickers::{self, Segments};
use crate::analysis::stretch::Grid;
use crate::chart::axis::{Axis, Scale};
use crate::chart::color_map;
use eframe::egui::ColorImage;
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::spectrogram::{Spectrogram, spectrogram};
use std::sync::Arc;

/// The most columns and rows of a picture; where there are more segments or lines, the highest is shown.
const MOST_COLUMNS: usize = 640;
const MOST_ROWS: usize = 320;
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) channel: String,
    /// From SI to the unit on the screen.
    pub(super) factor: f64,
    pub(super) segments: Segments,
    pub(super) scale: Scale,
    pub(super) up_to_hz: Option<f64>,
    pub(super) span_db: f64,
}

/// A picture of densities.
pub(super) struct Painted {
    /// Levels in dB of unit² / Hz, row by row from the top; NaN where a sample is missing.
    pub(super) levels: Vec<f32>,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) pixels: Arc<ColorImage>,
    /// Time at the left and the right edge, in s.
    pub(super) time_s: (f64, f64),
    /// The axis of frequencies.
    pub(super) axis: Axis,
    /// Frequencies from the lower to the upper edge of the picture.
    pub(super) picture: Axis,
    /// Level of the lightest colour, a multiple of 10 dB.
    pub(super) top_db: f64,
    pub(super) skipped: usize,
    pub(super) segments: usize,
}

/// In a thread of its own.
pub(super) fn compute(settings: &Settings, grid: &Grid) -> Result<Painted, String> {
    let Some(samples) = grid.channels.first() else {
        return Err("Choose a channel above.".into());
    };
    let welch = settings.segments.settings(grid.rate_hz());
    let welch = SpectrumSettings {
        // Three quarters: with half, what happens at the edges of segments would hardly be seen.
        overlap: welch.segment * 3 / 4,
        ..welch
    };
    let found = spectrogram(samples, &welch).map_err(|e| e.to_string())?;
    Ok(paint(settings, &found, grid.start_s, &welch))
}

fn paint(
    settings: &Settings,
    found: &Spectrogram,
    start_s: f64,
    welch: &SpectrumSettings,
) -> Painted {
    let nyquist_hz = 0.5 * welch.sample_rate_hz;
    let high_hz = settings
        .up_to_hz
        .map_or(nyquist_hz, |hz| hz.min(nyquist_hz));
    let resolution_hz = welch.resolution_hz();
    let axis = match settings.scale {
        Scale::Log => Axis::exactly_log(resolution_hz, high_hz),
        Scale::Linear => Axis::exactly(0.0, high_hz),
    };
    let segments = found.density.len();
    let columns = segments.min(MOST_COLUMNS);
    // Line 0 is what is left of the mean and is not shown.
    let last = found.frequencies_hz.len() - 1;
    let lines = ((high_hz / resolution_hz).round() as usize).clamp(1, last);
    // A line stands for what lies within half a resolution on each side.
    let (rows, picture) = match settings.scale {
        Scale::Linear => {
            let ends = [0.5, lines as f64 + 0.5].map(|k| k * resolution_hz);
            (lines.min(MOST_ROWS), Axis::exactly(ends[0], ends[1]))
        }
        Scale::Log => (MOST_ROWS, axis),
    };
    let lines_of_row = |row: usize| match settings.scale {
        Scale::Linear => {
            let up = rows - 1 - row;
            1 + up * lines / rows..1 + (up + 1) * lines / rows
        }
        Scale::Log => {
            let edge =
                |row: usize| picture.value(1.0 - row as f64 / rows as f64) / resolution_hz + 0.5;
            let from = (edge(row + 1).floor() as usize).clamp(1, last);
            from..(edge(row).ceil() as usize).clamp(from + 1, last + 1)
        }
    };
    let segments_of_column = |c: usize| c * segments / columns..((c + 1) * segments / columns);
    let mut levels = vec![f32::NAN; columns * rows];
    for row in 0..rows {
        let lines = lines_of_row(row);
        for column in 0..columns {
            let covered = &found.density[segments_of_column(column)];
            // `max` prefers a number to NaN: a gap shows only where all is unknown.
            let highest = covered
                .iter()
                .flat_map(|d| &d[lines.clone()])
                .copied()
                .fold(f64::NAN, f64::max);
            levels[row * columns + column] = decibel(highest, settings.factor) as f32;
        }
    }
    let top = levels
        .iter()
        .copied()
        .filter(|l| l.is_finite())
        .fold(f32::NEG_INFINITY, f32::max);
    let top_db = if top.is_finite() {
        (f64::from(top) / 10.0).ceil() * 10.0
    } else {
        0.0
    };
    let shade =
        |level: &f32| color_map::color((f64::from(*level) - top_db) / settings.span_db + 1.0);
    let pixels = levels.iter().map(shade).collect();
    // A segment is shown where its middle is, as wide as the way to the next.
    let hop_s = welch.hop() as f64 / welch.sample_rate_hz;
    let middle_s = |k: usize| start_s + found.times_s.get(k).copied().unwrap_or(0.0);
    Painted {
        levels,
        columns,
        rows,
        pixels: Arc::new(ColorImage::new([columns, rows], pixels)),
        time_s: (
            middle_s(0) - 0.5 * hop_s,
            middle_s(segments - 1) + 0.5 * hop_s,
        ),
        axis,
        picture,
        top_db,
        skipped: found.skipped,
        segments,
    }
}

/// 10 lg of a density in the unit on the screen. Nothing at all is far below every scale.
fn decibel(density: f64, factor: f64) -> f64 {
    if density <= 0.0 {
        -1e6
    } else {
        10.0 * (density * factor * factor).log10()
    }
}

impl Painted {
    /// Level at a time and a frequency; `None` outside.
    pub(super) fn level(&self, t_s: f64, hz: f64) -> Option<f64> {
        let across = (t_s - self.time_s.0) / (self.time_s.1 - self.time_s.0);
        let down = 1.0 - self.picture.place(hz);
        if !((0.0..1.0).contains(&across) && (0.0..1.0).contains(&down)) {
            return None;
        }
        let (column, row) = (across * self.columns as f64, down * self.rows as f64);
        self.levels
            .get(row as usize * self.columns + column as usize)
            .map(|l| f64::from(*l))
    }
}

/// Levels in dB: a row for each time, a column for each frequency.
pub(super) fn numbers(painted: &Painted) -> String {
    let time = |c: usize| {
        let share = (c as f64 + 0.5) / painted.columns as f64;
        painted.time_s.0 + share * (painted.time_s.1 - painted.time_s.0)
    };
    let mut columns = vec![(
        "time (s)".to_owned(),
        (0..painted.columns).map(time).collect(),
    )];
    for row in (0..painted.rows).rev() {
        let hz = painted
            .axis
            .value(1.0 - (row as f64 + 0.5) / painted.rows as f64);
        let levels = &painted.levels[row * painted.columns..][..painted.columns];
        columns.push((
            format!("{hz:.3} Hz (dB)"),
            levels.iter().map(|l| f64::from(*l)).collect(),
        ));
    }
    pickers::table(&columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn settings(scale: Scale) -> Settings {
        Settings {
            channel: "force".into(),
            factor: 1.0,
            segments: Segments {
                seconds: 1.0,
                ..Segments::default()
            },
            scale,
            up_to_hz: Some(50.0),
            span_db: 60.0,
        }
    }

    fn grid(signal: impl Fn(f64) -> f64) -> Grid {
        Grid {
            start_s: 100.0,
            period_s: 0.002,
            channels: vec![(0..20_000).map(|n| signal(f64::from(n) * 0.002)).collect()],
        }
    }

    /// At each time the highest row is that of the frequency 5 Hz + t · 1 Hz/s, to a line of 1 Hz.
    #[test]
    fn a_sweep_is_where_it_was_at_each_time_on_both_axes() {
        for scale in [Scale::Linear, Scale::Log] {
            let phase = |t: f64| TAU * (5.0 * t + 0.5 * t * t);
            let painted = compute(&settings(scale), &grid(|t| 150.0 + phase(t).sin())).unwrap();
            for t in [2.0, 10.0, 20.0, 35.0] {
                let rows = (1..=490).map(|i| f64::from(i) * 0.1);
                let level = |hz: &f64| painted.level(100.0 + t, *hz).unwrap_or(f64::NEG_INFINITY);
                let best = rows.max_by(|a, b| level(a).total_cmp(&level(b))).unwrap();
                assert!((best - (5.0 + t)).abs() < 1.3, "{scale:?} {t} s: {best} Hz");
            }
        }
    }

    /// A sine of 10 N on a line: 50 N² / (1.5 · 1 Hz) = 15.2 dB, and the scale goes up to the next 10 dB.
    #[test]
    fn the_level_of_a_sine_is_that_of_the_closed_form() {
        let painted = compute(
            &settings(Scale::Linear),
            &grid(|t| 10.0 * (TAU * 20.0 * t).sin()),
        )
        .unwrap();
        let level = painted.level(120.0, 20.2).unwrap();
        assert!(
            (level - 10.0 * (50.0_f64 / 1.5).log10()).abs() < 0.01,
            "{level}"
        );
        assert_eq!(painted.top_db, 20.0);
        // Every row is one line of the spectrum: 1, 2 … 50 Hz.
        assert_eq!(painted.rows, 50);
        let in_mm = Settings {
            factor: 1e3,
            ..settings(Scale::Linear)
        };
        let larger = compute(&in_mm, &grid(|t| 10.0 * (TAU * 20.0 * t).sin())).unwrap();
        assert!((larger.level(120.0, 20.2).unwrap() - level - 60.0).abs() < 0.01);
    }

    #[test]
    fn a_short_event_is_seen_however_many_segments_share_a_column() {
        let burst = |t: f64| {
            if (20.0..20.1).contains(&t) {
                (TAU * 30.0 * t).sin()
            } else {
                0.0
            }
        };
        let mut long = grid(burst);
        // 400 s: 1597 segments in 640 columns.
        long.channels[0].extend(std::iter::repeat_n(0.0, 180_000));
        let painted = compute(&settings(Scale::Linear), &long).unwrap();
        assert_eq!((painted.columns, painted.segments), (640, 1597));
        assert!(painted.level(120.05, 30.0).unwrap() > painted.top_db - 10.0);
        assert!(painted.level(300.0, 30.0).unwrap() < painted.top_db - 60.0);
    }
}
