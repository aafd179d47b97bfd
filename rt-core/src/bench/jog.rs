//! Bench `jog`: moves the motor by hand to a height, gently, and holds it there. For commissioning a rig.

use super::{Bench, BenchSpec, BuildError, Progress, StepFault};
use crate::channel::{ChannelSpec, Frame};
use crate::file::require_within;
use crate::param::{Applies, ParamSet, ParamSpec, Scale};
use crate::travel::{Travel, TravelLimits};
use serde::Deserialize;

const POSITION: usize = 1;
const DISTANCE: usize = 2;
const REFERENCE: usize = 3;

/// Index of the parameter `target`.
pub const TARGET: usize = 0;
/// Index of the parameter `speed`.
pub const SPEED: usize = 1;

/// The declaration of the bench.
pub static SPEC: BenchSpec = BenchSpec {
    id: "jog",
    title: "Move the motor by hand",
    period_s: 0.002,
    channels: &[
        ChannelSpec::measured("force", "Contact force", "N"),
        ChannelSpec::measured("motor_position", "Motor position", "m"),
        ChannelSpec::computed("distance_left", "Way to the target", "m"),
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ],
    params: &[
        ParamSpec {
            id: "target",
            label: "Target",
            unit: "m",
            default: 0.0,
            min: -2.0,
            max: 2.0,
            slew_per_s: None,
            scale: Scale::Linear,
            choices: &[],
            applies: Applies::Directly,
            help: "Height to move to; nothing moves before it is changed. The rig's range holds in any case.",
        },
        ParamSpec {
            id: "speed",
            label: "Speed",
            unit: "m/s",
            default: 0.02,
            min: 0.0005,
            max: 0.2,
            slew_per_s: None,
            scale: Scale::Logarithmic,
            choices: &[],
            applies: Applies::Directly,
            help: "How fast the motor moves at most.",
        },
    ],
    limits: &[],
};

/// The settings of the bench in a session file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JogConfig {
    /// Acceleration and deceleration of its moves, in m/s².
    #[serde(default = "default_acceleration")]
    pub acceleration_m_per_s2: f64,
}

fn default_acceleration() -> f64 {
    0.5
}

impl Default for JogConfig {
    fn default() -> Self {
        Self {
            acceleration_m_per_s2: default_acceleration(),
        }
    }
}

/// The bench.
pub struct JogBench {
    travel: Travel,
    acceleration: f64,
    period_s: f64,
    /// The target as it was before anyone moved; `None` since someone did.
    untouched: Option<f64>,
}

impl JogBench {
    /// Checks the settings.
    pub fn build(config: &JogConfig, period_s: f64) -> Result<Self, BuildError> {
        let field = "acceleration_m_per_s2";
        require_within(field, config.acceleration_m_per_s2, 0.01, 20.0, "m/s²")?;
        Ok(Self {
            travel: Travel::default(),
            acceleration: config.acceleration_m_per_s2,
            period_s,
            untouched: None,
        })
    }
}

impl Bench for JogBench {
    fn spec(&self) -> &'static BenchSpec {
        &SPEC
    }

    fn reset(&mut self, params: &ParamSet, start: &Frame) {
        self.travel = Travel::at_rest(start.values[REFERENCE]);
        self.untouched = Some(params.get(TARGET));
    }

    fn step(&mut self, params: &ParamSet, frame: &mut Frame) -> Result<Progress, StepFault> {
        let target = params.get(TARGET);
        // What the guard let through may be less than what was asked: from there it goes on.
        self.travel.position = frame.values[REFERENCE];
        if self.untouched.is_some_and(|before| before != target) {
            self.untouched = None;
        }
        if self.untouched.is_none() {
            let limits = TravelLimits {
                max_speed: params.get(SPEED),
                acceleration: self.acceleration,
                braking: self.acceleration,
            };
            self.travel.toward(target, &limits, self.period_s);
            frame.values[DISTANCE] = target - frame.values[POSITION];
        } else {
            frame.values[DISTANCE] = 0.0;
        }
        frame.values[REFERENCE] = self.travel.position;
        Ok(Progress::Running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_before_the_target_is_changed_and_then_at_no_more_than_the_speed() {
        let mut bench = JogBench::build(&JogConfig::default(), 0.002).unwrap();
        let mut params = ParamSet::new(SPEC.params);
        let mut frame = Frame::empty();
        frame.values[..4].fill(0.05);
        bench.reset(&params, &frame);
        for _ in 0..100 {
            bench.step(&params, &mut frame).unwrap();
            assert_eq!(frame.values[REFERENCE], 0.05);
        }
        assert!(params.request(TARGET, 0.06) && params.request(SPEED, 0.01));
        params.advance(0.002);
        let mut before = 0.05;
        for _ in 0..600 {
            bench.step(&params, &mut frame).unwrap();
            let moved = frame.values[REFERENCE] - before;
            assert!((0.0..=0.01 * 0.002 + 1e-12).contains(&moved), "{moved}");
            before = frame.values[REFERENCE];
        }
        assert_eq!(before, 0.06);
        // A range that ends before the target does not wind it up.
        assert!(params.request(TARGET, 0.5));
        params.advance(0.002);
        for _ in 0..500 {
            bench.step(&params, &mut frame).unwrap();
            frame.values[REFERENCE] = frame.values[REFERENCE].min(0.07);
        }
        assert!(params.request(TARGET, 0.065));
        params.advance(0.002);
        for _ in 0..20 {
            bench.step(&params, &mut frame).unwrap();
        }
        assert!(frame.values[REFERENCE] < 0.07, "turns back at once");
    }
}
