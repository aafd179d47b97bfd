//! Bench `profile`: plays a height profile on the motor without force feedback and measures the
//! force. Used as it is, for identifying a rig, and for iterative validation.

mod source;

pub use source::{Source, Sweep};

use super::{Bench, BenchSpec, BuildError, Progress, StepFault};
use crate::channel::{ChannelSpec, Frame};
use crate::file::{FieldError, require_within};
use crate::param::{Applies, ParamSet, ParamSpec, Scale};
use crate::signal::ease::smooth_step;
use serde::Deserialize;
use source::Player;
use std::path::Path;

const POSITION: usize = 1;
const HEIGHT: usize = 2;
const TRACKING: usize = 3;
const REFERENCE: usize = 4;

const SCALE: usize = 0;
const OFFSET: usize = 1;
const RATE: usize = 2;

/// The declaration of the bench.
pub static SPEC: BenchSpec = BenchSpec {
    id: "profile",
    title: "Height profile without force feedback",
    period_s: 0.002,
    channels: &[
        ChannelSpec::measured("force", "Contact force", "N"),
        ChannelSpec::measured("motor_position", "Motor position", "m"),
        ChannelSpec::computed("profile_height", "Profile height", "m"),
        ChannelSpec::computed("tracking_error", "Motor tracking error", "m"),
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ],
    params: &[
        ParamSpec {
            id: "scale",
            label: "Scale",
            unit: "",
            default: 1.0,
            min: 0.0,
            max: 2.0,
            slew_per_s: Some(0.5),
            scale: Scale::Linear,
            choices: &[],
            applies: Applies::Directly,
            help: "Factor on the heights of the profile.",
        },
        ParamSpec {
            id: "offset",
            label: "Offset",
            unit: "m",
            default: 0.0,
            min: -0.1,
            max: 0.1,
            slew_per_s: Some(0.05),
            scale: Scale::Linear,
            choices: &[],
            applies: Applies::Directly,
            help: "Height added to the whole profile; lower presses the pantograph down.",
        },
        ParamSpec {
            id: "rate",
            label: "Playback rate",
            unit: "",
            default: 1.0,
            min: 0.1,
            max: 4.0,
            slew_per_s: Some(1.0),
            scale: Scale::Logarithmic,
            choices: &[],
            applies: Applies::Directly,
            help: "Speed of the profile's time: 2 plays a 1 Hz sine at 2 Hz.",
        },
    ],
    limits: &[],
};

/// The settings of the bench in a session file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileConfig {
    /// What is played.
    pub source: Source,
    /// The first seconds: the motor moves smoothly from the parked position to the profile's first
    /// height, and in as many seconds again the profile's time comes up to its rate.
    #[serde(default = "default_entry_s")]
    pub entry_s: f64,
    /// Height that the profile is about, in m.
    #[serde(default)]
    pub base_m: f64,
}

fn default_entry_s() -> f64 {
    1.0
}

/// The bench.
pub struct ProfileBench {
    player: Player,
    entry_ticks: u64,
    base: f64,
    period_s: f64,
    start: f64,
    ticks: u64,
    profile_s: f64,
}

impl ProfileBench {
    /// Checks the settings and reads the profile file, if one is named, relative to `base`.
    pub fn build(config: &ProfileConfig, base: &Path, period_s: f64) -> Result<Self, BuildError> {
        require_within("entry_s", config.entry_s, 0.01, 60.0, "s")?;
        require_within("base_m", config.base_m, -2.0, 2.0, "m")?;
        Ok(Self {
            player: Player::build(&config.source, base, period_s).map_err(|e| match e {
                BuildError::Field(e) => BuildError::Field(FieldError::within(e, "source")),
                other => other,
            })?,
            entry_ticks: (config.entry_s / period_s).round().max(1.0) as u64,
            base: config.base_m,
            period_s,
            start: 0.0,
            ticks: 0,
            profile_s: 0.0,
        })
    }
}

impl Bench for ProfileBench {
    fn spec(&self) -> &'static BenchSpec {
        &SPEC
    }

    fn reset(&mut self, _params: &ParamSet, start: &Frame) {
        self.start = start.values[REFERENCE];
        self.ticks = 0;
        self.profile_s = 0.0;
    }

    fn step(&mut self, params: &ParamSet, frame: &mut Frame) -> Result<Progress, StepFault> {
        frame.values[TRACKING] = frame.values[REFERENCE] - frame.values[POSITION];
        self.ticks += 1;
        // A profile that starts with a slope would kick the motor, so its own time starts gently too.
        let entered = self.ticks as f64 / self.entry_ticks as f64;
        self.profile_s += self.period_s * params.get(RATE) * smooth_step(entered - 1.0);
        let profile = params.get(SCALE) * self.player.height(self.profile_s);
        let height = self.base + params.get(OFFSET) + profile;
        let blend = smooth_step(entered);
        frame.values[HEIGHT] = height;
        frame.values[REFERENCE] = self.start + blend * (height - self.start);
        let finished = self
            .player
            .duration_s()
            .is_some_and(|d| self.profile_s >= d);
        Ok(if finished {
            Progress::Finished
        } else {
            Progress::Running
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(source: Source) -> ProfileBench {
        ProfileBench::build(
            &ProfileConfig {
                source,
                entry_s: 0.5,
                base_m: 0.0,
            },
            Path::new("."),
            0.002,
        )
        .unwrap()
    }

    /// Runs a bench whose motor follows at once; returns the references.
    fn references(bench: &mut ProfileBench, params: &mut ParamSet, steps: usize) -> Vec<f64> {
        let mut frame = Frame::empty();
        frame.values[REFERENCE] = 0.05;
        frame.values[POSITION] = 0.05;
        bench.reset(params, &frame);
        let mut all = Vec::new();
        for _ in 0..steps {
            params.advance(0.002);
            bench.step(params, &mut frame).unwrap();
            frame.values[POSITION] = frame.values[REFERENCE];
            all.push(frame.values[REFERENCE]);
        }
        all
    }

    #[test]
    fn a_sine_is_entered_without_a_jump_and_then_exact() {
        let mut params = ParamSet::new(SPEC.params);
        let mut b = bench(Source::Sine {
            amplitude_m: 0.01,
            frequency_hz: 2.0,
        });
        let all = references(&mut b, &mut params, 1500);
        // 6s⁵ − 15s⁴ + 10s³ has its largest slope 1.875 in the middle: 0.05 m / 0.5 s · 1.875.
        let fastest = all
            .windows(2)
            .map(|w| (w[1] - w[0]).abs() / 0.002)
            .fold(0.0, f64::max);
        assert!(
            fastest <= 0.1876 && (all[0] - 0.05).abs() < 1e-6,
            "{fastest}"
        );
        // Approach −0.05 m · 5.7735/(0.5 s)² and a 2 Hz sine 0.01 m · (4π/s)² are the largest accelerations.
        let kick = all
            .windows(3)
            .map(|w| (w[2] - 2.0 * w[1] + w[0]).abs() / 4e-6)
            .fold(0.0, f64::max);
        assert!(kick <= 1.2 * 1.58, "{kick} m/s²");
        // Once the profile's time runs at its rate, the reference is that sine.
        let w = 2.0 * std::f64::consts::PI * 2.0;
        for k in 501..1499 {
            // A sampled sine obeys z₊ + z₋ = 2 cos(ωT) z exactly.
            let sum = all[k + 1] + all[k - 1];
            assert!(
                (sum - 2.0 * (w * 0.002).cos() * all[k]).abs() < 1e-12,
                "step {k}"
            );
        }
        let amplitude = all[750..].iter().fold(0.0_f64, |a, z| a.max(z.abs()));
        assert!((amplitude - 0.01).abs() < 1e-6, "{amplitude}");
    }

    #[test]
    fn scale_offset_and_rate_act_without_a_jump() {
        let mut params = ParamSet::new(SPEC.params);
        let mut b = bench(Source::Sine {
            amplitude_m: 0.01,
            frequency_hz: 1.0,
        });
        references(&mut b, &mut params, 600);
        for index in [SCALE, OFFSET, RATE] {
            let spec = &SPEC.params[index];
            assert!(params.request(index, spec.max));
        }
        let mut frame = Frame::empty();
        frame.values[POSITION] = 0.0;
        let mut last = None;
        for _ in 0..2000 {
            params.advance(0.002);
            b.step(&params, &mut frame).unwrap();
            let z = frame.values[REFERENCE];
            // Slew 0.05 m/s of the offset, 0.5/s · 0.01 m of the scale, 2·0.01 m·2π·4 Hz of the sine.
            let bound = 0.002 * (0.05 + 0.005 + 0.51);
            assert!(last.is_none_or(|l: f64| (z - l).abs() <= bound));
            last = Some(z);
        }
        assert_eq!(params.get(OFFSET), 0.1);
        assert!(
            frame.values[HEIGHT] >= 0.1 - 0.02 - 1e-12
                && frame.values[HEIGHT] <= 0.1 + 0.02 + 1e-12
        );
    }

    #[test]
    fn senseless_settings_are_refused_with_their_place() {
        let config = ProfileConfig {
            source: Source::Sine {
                amplitude_m: 0.01,
                frequency_hz: 400.0,
            },
            entry_s: 1.0,
            base_m: 0.0,
        };
        let text = ProfileBench::build(&config, Path::new("."), 0.002)
            .err()
            .unwrap()
            .to_string();
        assert!(
            text.contains("bench.source.frequency_hz: is 400 Hz"),
            "{text}"
        );
    }
}
