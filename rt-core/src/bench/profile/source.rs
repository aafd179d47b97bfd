//! What the profile bench plays: a sine, a chirp, steps, or a file of heights.

use crate::bench::BuildError;
use crate::file::{FileError, require_positive, require_within};
use serde::Deserialize;
use std::f64::consts::TAU;
use std::path::Path;

/// How a chirp's frequency moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Sweep {
    /// Equal steps in equal times.
    Linear,
    /// Equal ratios in equal times.
    Exponential,
}

/// A profile as the session file describes it. Heights are metres, upward, about 0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Source {
    /// z = amplitude · sin(2π·frequency·t).
    Sine {
        /// Amplitude in m.
        amplitude_m: f64,
        /// Frequency in Hz.
        frequency_hz: f64,
    },
    /// A sine whose frequency moves from one value to another; the run ends with it.
    Chirp {
        /// Amplitude in m.
        amplitude_m: f64,
        /// Frequency at the beginning, in Hz.
        from_hz: f64,
        /// Frequency at the end, in Hz.
        to_hz: f64,
        /// Duration in s.
        duration_s: f64,
        /// How the frequency moves.
        sweep: Sweep,
        /// The amplitude falls with frequency so that the acceleration stays below this, in m/s².
        #[serde(default)]
        most_acceleration_m_per_s2: Option<f64>,
    },
    /// Alternates between 0 and a height.
    Steps {
        /// The height in m.
        height_m: f64,
        /// How long each level is held, in s.
        hold_s: f64,
    },
    /// Plays a file with a line `time_s,height_m` per sample; the run ends with it.
    File {
        /// Path, relative to the session file.
        path: String,
    },
}

/// A profile that can be played.
pub(super) enum Player {
    Sine {
        amplitude: f64,
        frequency: f64,
    },
    Chirp {
        amplitude: f64,
        from: f64,
        to: f64,
        duration: f64,
        sweep: Sweep,
        most_acceleration: f64,
    },
    Steps {
        height: f64,
        hold: f64,
    },
    Samples(Samples),
}

/// Largest amplitude that the bench plays, in m.
const MAX_HEIGHT_M: f64 = 0.3;

impl Player {
    pub fn build(source: &Source, base: &Path, period_s: f64) -> Result<Self, BuildError> {
        let height =
            |field, value: f64| require_within(field, value, -MAX_HEIGHT_M, MAX_HEIGHT_M, "m");
        // Above half the sampling frequency a sine turns into another one.
        let frequency =
            |field, value: f64| require_within(field, value, 0.001, 0.5 / period_s, "Hz");
        Ok(match *source {
            Source::Sine {
                amplitude_m,
                frequency_hz,
            } => {
                height("amplitude_m", amplitude_m)?;
                frequency("frequency_hz", frequency_hz)?;
                Player::Sine {
                    amplitude: amplitude_m,
                    frequency: frequency_hz,
                }
            }
            Source::Chirp {
                amplitude_m,
                from_hz,
                to_hz,
                duration_s,
                sweep,
                most_acceleration_m_per_s2,
            } => {
                height("amplitude_m", amplitude_m)?;
                frequency("from_hz", from_hz)?;
                frequency("to_hz", to_hz)?;
                require_positive("duration_s", duration_s, "s")?;
                if let Some(most) = most_acceleration_m_per_s2 {
                    require_positive("most_acceleration_m_per_s2", most, "m/s²")?;
                }
                Player::Chirp {
                    amplitude: amplitude_m,
                    from: from_hz,
                    to: to_hz,
                    duration: duration_s,
                    sweep,
                    most_acceleration: most_acceleration_m_per_s2.unwrap_or(f64::INFINITY),
                }
            }
            Source::Steps { height_m, hold_s } => {
                height("height_m", height_m)?;
                require_within("hold_s", hold_s, 2.0 * period_s, 3600.0, "s")?;
                Player::Steps {
                    height: height_m,
                    hold: hold_s,
                }
            }
            Source::File { ref path } => Player::Samples(Samples::load(&base.join(path))?),
        })
    }

    /// How long it lasts; `None` if it goes on for ever.
    pub fn duration_s(&self) -> Option<f64> {
        match self {
            Player::Sine { .. } | Player::Steps { .. } => None,
            Player::Chirp { duration, .. } => Some(*duration),
            Player::Samples(s) => s.times.last().copied(),
        }
    }

    /// The height at a time of the profile.
    pub fn height(&self, t: f64) -> f64 {
        match self {
            Player::Sine {
                amplitude,
                frequency,
            } => amplitude * (TAU * frequency * t).sin(),
            Player::Chirp {
                amplitude,
                from,
                to,
                duration,
                sweep,
                most_acceleration,
            } => {
                let w = TAU * chirp_frequency(*from, *to, *duration, *sweep, t);
                let bounded = amplitude.signum() * amplitude.abs().min(most_acceleration / (w * w));
                bounded * (TAU * chirp_cycles(*from, *to, *duration, *sweep, t)).sin()
            }
            Player::Steps { height, hold } => {
                if (t / hold).floor() % 2.0 == 0.0 {
                    0.0
                } else {
                    *height
                }
            }
            Player::Samples(samples) => samples.at(t),
        }
    }
}

/// Frequency of a chirp at t: linear f₀ + (f₁−f₀)t/D; exponential f₀(f₁/f₀)^(t/D).
fn chirp_frequency(from: f64, to: f64, duration: f64, sweep: Sweep, t: f64) -> f64 {
    match sweep {
        Sweep::Linear => from + (to - from) * t / duration,
        Sweep::Exponential => from * (to / from).powf(t / duration),
    }
}

/// Cycles of a chirp until t: the integral of its frequency,
/// linear f₀t + (f₁−f₀)t²/(2D); exponential f₀·D/ln(f₁/f₀)·((f₁/f₀)^(t/D) − 1).
fn chirp_cycles(from: f64, to: f64, duration: f64, sweep: Sweep, t: f64) -> f64 {
    let ratio = to / from;
    match sweep {
        Sweep::Exponential if (ratio - 1.0).abs() > 1e-9 => {
            from * duration / ratio.ln() * (ratio.powf(t / duration) - 1.0)
        }
        Sweep::Linear | Sweep::Exponential => from * t + 0.5 * (to - from) * t * t / duration,
    }
}

/// Heights at increasing times, joined by cubic pieces whose slopes come from the neighbours, so
/// that samples coarser than the cycle do not kick the motor at each of them.
pub(super) struct Samples {
    times: Vec<f64>,
    heights: Vec<f64>,
    slopes: Vec<f64>,
}

impl Samples {
    fn load(path: &Path) -> Result<Self, BuildError> {
        const KIND: &str = "profile file";
        let text = std::fs::read_to_string(path).map_err(|source| FileError::Unreadable {
            kind: KIND,
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|(line, problem)| {
            BuildError::File(FileError::Malformed {
                kind: KIND,
                path: path.to_owned(),
                line,
                column: 1,
                problem,
            })
        })
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut times: Vec<f64> = Vec::new();
        let mut heights = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            let is_heading = i == 0 && line.starts_with("time_s");
            if line.is_empty() || line.starts_with('#') || is_heading {
                continue;
            }
            let bad = |problem: String| (i + 1, problem);
            let mut fields = line.split(',').map(|f| f.trim().parse::<f64>());
            let (Some(Ok(t)), Some(Ok(z))) = (fields.next(), fields.next()) else {
                return Err(bad(format!("expected 'time_s,height_m', found '{line}'")));
            };
            if !t.is_finite() || !z.is_finite() || z.abs() > MAX_HEIGHT_M {
                return Err(bad(format!(
                    "expected a finite time and a height within ±{MAX_HEIGHT_M} m, found '{line}'"
                )));
            }
            if times.last().is_some_and(|&last| t <= last) {
                return Err(bad(format!(
                    "times must increase, but {t} s does not come after the line before"
                )));
            }
            times.push(t);
            heights.push(z);
        }
        if times.len() < 2 {
            return Err((
                1,
                format!("expected at least 2 samples, found {}", times.len()),
            ));
        }
        let first = times[0];
        times.iter_mut().for_each(|t| *t -= first);
        let slopes = slopes(&times, &heights);
        Ok(Self {
            times,
            heights,
            slopes,
        })
    }

    /// Cubic Hermite interpolation; the ends hold their values.
    fn at(&self, t: f64) -> f64 {
        let next = self.times.partition_point(|&x| x <= t);
        if next == 0 {
            return self.heights[0];
        }
        let i = next - 1;
        let Some(&t1) = self.times.get(next) else {
            return self.heights[i];
        };
        let h = t1 - self.times[i];
        let s = (t - self.times[i]) / h;
        let (s2, s3) = (s * s, s * s * s);
        self.heights[i] * (2.0 * s3 - 3.0 * s2 + 1.0)
            + self.slopes[i] * h * (s3 - 2.0 * s2 + s)
            + self.heights[next] * (3.0 * s2 - 2.0 * s3)
            + self.slopes[next] * h * (s3 - s2)
    }
}

/// Slope at each sample of the parabola through it and its neighbours; of the chord at the ends.
fn slopes(times: &[f64], heights: &[f64]) -> Vec<f64> {
    let chord = |i: usize| (heights[i + 1] - heights[i]) / (times[i + 1] - times[i]);
    let last = times.len() - 1;
    (0..=last)
        .map(|i| match i {
            0 => chord(0),
            i if i == last => chord(last - 1),
            i => {
                let (before, after) = (times[i] - times[i - 1], times[i + 1] - times[i]);
                (chord(i - 1) * after + chord(i) * before) / (before + after)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_met_exactly_and_a_parabola_between_them_too() {
        // Uneven times; the cubic through exact slopes of a parabola is the parabola itself.
        let times = [0.0, 0.1, 0.25, 0.3, 0.5, 0.6];
        let parabola = |t: f64| 0.02 + 0.1 * t - 0.3 * t * t;
        let text: String = times
            .iter()
            .map(|&t| format!("{t},{}\n", parabola(t)))
            .collect();
        let samples = Samples::parse(&format!("time_s,height_m\n# note\n\n{text}")).unwrap();
        for &t in &times {
            assert!((samples.at(t) - parabola(t)).abs() < 1e-15);
        }
        for t in [0.12, 0.2, 0.26, 0.4] {
            assert!((samples.at(t) - parabola(t)).abs() < 1e-15, "at {t}");
        }
        assert_eq!(
            (samples.at(-1.0), samples.at(9.0)),
            (parabola(0.0), parabola(0.6))
        );
    }

    #[test]
    fn bad_samples_are_located() {
        for (text, line, word) in [
            ("0,0\n1,x\n", 2, "expected"),
            ("0,0\n1\n", 2, "expected"),
            ("0,0\n0,0.1\n", 2, "increase"),
            ("0,0\n1,NaN\n", 2, "finite"),
            ("0,0\n1,5\n", 2, "within"),
            ("", 1, "at least 2"),
        ] {
            let (found, problem) = Samples::parse(text).err().unwrap();
            assert!(
                found == line && problem.contains(word),
                "{text:?}: {found}: {problem}"
            );
        }
    }

    #[test]
    fn a_chirp_has_the_stated_frequency_at_both_ends() {
        for sweep in [Sweep::Linear, Sweep::Exponential] {
            let frequency_at = |t: f64| {
                let h = 1e-6;
                (chirp_cycles(0.5, 20.0, 10.0, sweep, t + h)
                    - chirp_cycles(0.5, 20.0, 10.0, sweep, t - h))
                    / (2.0 * h)
            };
            assert!((frequency_at(0.0) - 0.5).abs() < 1e-6, "{sweep:?}");
            assert!((frequency_at(10.0) - 20.0).abs() < 1e-5, "{sweep:?}");
        }
        let middle = chirp_cycles(0.5, 20.0, 10.0, Sweep::Linear, 5.0);
        assert!((middle - (0.5 * 5.0 + 0.5 * 19.5 * 25.0 / 10.0)).abs() < 1e-12);
    }

    #[test]
    fn a_bounded_chirp_accelerates_no_more_than_it_may() {
        let (amplitude, most) = (0.002, 3.0);
        let p = Player::Chirp {
            amplitude,
            from: 1.0,
            to: 80.0,
            duration: 10.0,
            sweep: Sweep::Exponential,
            most_acceleration: most,
        };
        let h = 1e-5;
        let (mut fastest, mut highest) = (0.0_f64, 0.0_f64);
        for k in 1..99_999 {
            let t = f64::from(k) * 1e-4;
            let second = (p.height(t + h) - 2.0 * p.height(t) + p.height(t - h)) / (h * h);
            fastest = fastest.max(second.abs());
            highest = highest.max(p.height(t).abs());
        }
        // The sweep itself adds a little: its frequency grows by 44 % a second.
        assert!(
            fastest < 1.1 * most && fastest > 0.95 * most,
            "{fastest} m/s²"
        );
        assert!((highest - amplitude).abs() < 1e-6, "{highest}");
    }

    #[test]
    fn steps_alternate() {
        let p = Player::Steps {
            height: 0.01,
            hold: 0.5,
        };
        assert_eq!(
            [0.0, 0.49, 0.5, 0.99, 1.0].map(|t| p.height(t)),
            [0.0, 0.0, 0.01, 0.01, 0.0]
        );
    }
}
