//! How far a motor goes on into the specimen after a trip, and what the specimen bears by then.
//!
//! The worst case of what the guard passes on: the motor moves against the specimen at the speed that the file permits,
//! the force limit trips, the guard brakes as it always does. It is played through on the simulated plant (motor, pad,
//! pantograph, filter, delays): out of rest, as fast as the motor takes the speed up; with a motor at full speed that meets
//! a specimen at rest; after lifting the motor away for some time, so that the specimen has followed and comes towards it;
//! and after shaking it to and fro. Where the pad only pushes, the last two are the worst: both speeds add up in the
//! impact, which no braking prevents.

use crate::simulated::{MotorFault, Plant, PlantModel, SUBSTEP_S, SimulatedConfig};
use rt_core::fault::Action;
use rt_core::file::FieldError;
use rt_core::guard::{Drive, Limit};
use rt_core::model::pantograph::Pantograph;
use rt_core::rig::Unloads;
use rt_core::travel::{Travel, TravelLimits};
use std::ops::RangeInclusive;

/// What it takes to stop the motor of a rig, in the worst case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// The speed that the file permits, in m/s.
    pub speed_m_s: f64,
    /// From the force at its limit to a motor that begins to brake, in s: filter, delays, cycles, the motor's own lag.
    pub reaction_s: f64,
    /// From there where the force was at its limit to standstill, in m.
    pub distance_m: f64,
    /// From the parked position to the mechanical stop on the specimen's side, in m.
    pub available_m: f64,
    /// The largest force on the specimen by then, in N, as the pantograph of the file yields.
    pub peak_force_n: f64,
    /// The force if the specimen did not yield at all, in N: a bound.
    pub rigid_force_n: f64,
}

/// The limit of the force that trips first, if any does more than warn.
pub(super) fn force_limit(limits: &[Limit]) -> Option<&Limit> {
    limits
        .iter()
        .filter(|l| l.channel == crate::simulated::FORCE.id && l.action > Action::Warn)
        .min_by(|a, b| a.high.total_cmp(&b.high))
}

/// See the module's text. `period_s` is the loop's.
pub fn stopping(model: &SimulatedConfig, pantograph: &Pantograph, period_s: f64) -> Stopping {
    let closed = ClosedForm::of(model, period_s);
    let limit = force_limit(&model.limits);
    let case = Case::build(model, pantograph, period_s);
    let (mut worst, mut searched) = (Passage::default(), Passage::default());
    for phase in 0..PHASES {
        worst = worst.or_worse(case.play(Start::AtRest, phase));
        // A specimen that is fixed to the motor cannot be met by it.
        if !model.pad_pulls {
            worst = worst.or_worse(case.play(Start::InMotion, phase));
        }
    }
    let a = &model.actuator;
    let range_s = (a.high_m - a.low_m) / a.max_speed_m_per_s;
    for k in 1..=SEARCHED {
        let part = f64::from(k) / f64::from(SEARCHED);
        let lifted = Start::AfterLifting(LONGEST_LIFT_S.min(range_s) * part);
        let shaken = Start::Shaken(LONGEST_SHAKE_S.min(range_s) * part);
        searched = searched.or_worse(case.play(lifted, 0));
        searched = searched.or_worse(case.play(shaken, 0));
    }
    searched.peak_n *= BETWEEN_TRIES;
    worst = worst.or_worse(searched);
    let played = Some(worst.distance_m).filter(|m| m.is_finite());
    let distance_m = closed.distance_m().max(played.unwrap_or(0.0));
    let at_limit = limit.map_or(0.0, |l| l.high);
    let rigid_force_n = at_limit
        + model.pad_stiffness_n_per_m * distance_m
        + model.pad_damping_ns_per_m * closed.speed;
    Stopping {
        speed_m_s: closed.speed,
        reaction_s: closed.reaction_s,
        distance_m,
        available_m: available_m(model),
        // What cannot be computed is not less than what a specimen that does not yield would bear.
        peak_force_n: if worst.peak_n.is_finite() {
            worst.peak_n
        } else {
            rigid_force_n
        },
        rigid_force_n,
    }
}

/// From the parked position to the mechanical stop on the side of the specimen.
fn available_m(model: &SimulatedConfig) -> f64 {
    let park = model.actuator.park_m;
    match model.actuator.unloads.unwrap_or(Unloads::Up) {
        Unloads::Up => park - model.motor.stroke_low_m,
        Unloads::Down => model.motor.stroke_high_m - park,
    }
}

/// v t + v²/2a.
#[derive(Clone, Copy, Debug)]
struct ClosedForm {
    speed: f64,
    reaction_s: f64,
    braking: f64,
}

impl ClosedForm {
    fn of(model: &SimulatedConfig, period_s: f64) -> Self {
        let cycles = force_limit(&model.limits).map_or(1, |l| l.for_cycles);
        let filter_s = model
            .force_sensor
            .filter_hz
            .map_or(0.0, |hz| 1.0 / (std::f64::consts::TAU * hz));
        let motor = &model.motor;
        let lag_s = 2.0 * motor.damping_ratio / motor.omega_rad_per_s;
        // The sample that just missed it, the cycles that the limit asks for, and the one in which the loop sends.
        let cycles_s = (f64::from(cycles) + 1.0) * period_s;
        let delays_s = model.delays.force_s + model.delays.reference_s + model.delays.extra_s;
        Self {
            speed: model.actuator.max_speed_m_per_s,
            reaction_s: delays_s + filter_s + cycles_s + lag_s,
            braking: braking(model),
        }
    }

    fn distance_m(&self) -> f64 {
        self.speed * self.reaction_s + self.speed * self.speed / (2.0 * self.braking)
    }
}

/// The deceleration that can be believed: the file's, and no more than the motor can do.
fn braking(model: &SimulatedConfig) -> f64 {
    let most = model.motor.max_acceleration_m_per_s2;
    model
        .actuator
        .braking_m_per_s2
        .min(most.unwrap_or(f64::INFINITY))
}

/// Moments within a cycle at which the worst case begins.
const PHASES: usize = 4;
/// How many times of lifting and of shaking are tried, and the longest, in s.
const SEARCHED: u32 = 20;
const LONGEST_LIFT_S: f64 = 0.5;
const LONGEST_SHAKE_S: f64 = 0.25;
/// What lies between two tries, and what no try is like, may be worse: random motions came to a tenth more.
const BETWEEN_TRIES: f64 = 1.25;
/// How long a trip is waited for, in s; then someone presses STOP.
const WAITING_S: f64 = 0.5;
/// How long it is shaken, in s.
const SHAKING_S: f64 = 1.0;
/// What is looked at beyond the standstill of the reference, in s: motor and specimen swing.
const SWING_S: f64 = 0.06;
/// The longest that is looked at at all, in s.
const LONGEST_S: f64 = 1.5;
/// Cycles over which the guard takes the speed that it brakes from.
const SPEED_CYCLES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    AtRest,
    InMotion,
    /// For so many seconds away from the specimen first.
    AfterLifting(f64),
    /// Away and back again, so many seconds each.
    Shaken(f64),
}

impl Start {
    /// Whether the motor moves away from the specimen at a time.
    fn is_away(self, seconds: f64) -> bool {
        match self {
            Start::AtRest | Start::InMotion => false,
            Start::AfterLifting(lifting) => seconds < lifting,
            Start::Shaken(half) => ((seconds / half) as u64).is_multiple_of(2),
        }
    }

    /// After which time a trip is no longer waited for.
    fn waits_s(self) -> f64 {
        match self {
            Start::AtRest | Start::InMotion => WAITING_S,
            Start::AfterLifting(lifting) => lifting + WAITING_S,
            Start::Shaken(_) => SHAKING_S,
        }
    }
}

/// What a motor and a specimen go through.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    distance_m: f64,
    peak_n: f64,
}

impl Passage {
    fn or_worse(self, other: Self) -> Self {
        // What is not a number is the worst.
        let worse = |a: f64, b: f64| if a.is_nan() || a >= b { a } else { b };
        Self {
            distance_m: worse(self.distance_m, other.distance_m),
            peak_n: worse(self.peak_n, other.peak_n),
        }
    }
}

/// The plant and the guard's part, ready to be played.
struct Case {
    model: PlantModel,
    park_m: f64,
    speed: f64,
    /// Where the force may be.
    allowed: RangeInclusive<f64>,
    for_cycles: u32,
    travel: TravelLimits,
    period_s: f64,
    substep_s: f64,
    substeps: usize,
}

impl Case {
    fn build(config: &SimulatedConfig, pantograph: &Pantograph, period_s: f64) -> Self {
        let substeps = (period_s / SUBSTEP_S).ceil().max(PHASES as f64);
        let substep_s = period_s / substeps;
        let limit = force_limit(&config.limits);
        // The mechanical stops protect nobody: what would pass them has to be seen.
        let mut endless = config.clone();
        // The drive is on all the time.
        endless.mounting = None;
        (endless.motor.stroke_low_m, endless.motor.stroke_high_m) =
            (f64::NEG_INFINITY, f64::INFINITY);
        Self {
            model: PlantModel::build(&endless, pantograph, substep_s),
            park_m: config.actuator.park_m,
            speed: config.actuator.max_speed_m_per_s,
            allowed: limit.map_or(f64::NEG_INFINITY..=f64::INFINITY, |l| l.low..=l.high),
            for_cycles: limit.map_or(1, |l| l.for_cycles),
            travel: TravelLimits {
                braking: braking(config),
                ..config.actuator.spec().travel
            },
            period_s,
            substep_s,
            substeps: substeps as usize,
        }
    }

    /// The plant has the motor above the specimen: against it is downward, whatever the file calls that way.
    fn play(&self, start: Start, phase: usize) -> Passage {
        let (v, dt) = (-self.speed, self.period_s);
        let model = self.model.clone();
        let mut plant = match start {
            Start::InMotion => Plant::in_motion(model, self.park_m, v, self.substep_s),
            _ => Plant::at_rest(model, self.park_m),
        };
        let first_tick = phase * self.substeps / PHASES;
        let moved = if start == Start::InMotion { v } else { 0.0 };
        let mut told = Travel {
            position: plant.reference() + moved * first_tick as f64 * self.substep_s,
            speed: moved,
        };
        let before = moved * dt;
        let mut recent: [f64; SPEED_CYCLES] =
            std::array::from_fn(|k| told.position - before * (SPEED_CYCLES - k) as f64);
        let (mut broken, mut braking, mut still_for_s) = (0, false, 0.0);
        let (mut crossed_at, mut lowest) = (None, f64::INFINITY);
        let mut passage = Passage {
            distance_m: 0.0,
            peak_n: plant.contact_force().abs(),
        };
        let steps = (LONGEST_S / self.substep_s) as usize;
        for step in 0..steps {
            if step % self.substeps == first_tick {
                // What the cycle before has computed is sent, then the force is read.
                plant.set_reference(told.position);
                let is_allowed = self.allowed.contains(&plant.measured_force());
                broken = if is_allowed { 0 } else { broken + 1 };
                let at_s = step as f64 * self.substep_s;
                let waited = at_s > start.waits_s();
                braking = braking || broken >= self.for_cycles || waited;
                if braking {
                    let rests = told.brake(&self.travel, dt);
                    still_for_s += if rests { dt } else { 0.0 };
                } else {
                    told.position += if start.is_away(at_s) { -v } else { v } * dt;
                    told.speed = (told.position - recent[0]) / (SPEED_CYCLES as f64 * dt);
                    recent.rotate_left(1);
                    recent[SPEED_CYCLES - 1] = told.position;
                }
            }
            plant.advance_period(Drive::On, MotorFault::None);
            let force = plant.contact_force();
            passage.peak_n = if passage.peak_n >= force.abs() {
                passage.peak_n
            } else {
                force.abs()
            };
            let here = plant.motor_position();
            if force > *self.allowed.end() && crossed_at.is_none() {
                (crossed_at, lowest) = (Some(here), here);
            } else if !braking && force <= *self.allowed.end() {
                // A blow that is over before it is seen.
                crossed_at = None;
            }
            lowest = here.min(lowest);
            if still_for_s > SWING_S || !force.is_finite() {
                break;
            }
        }
        passage.distance_m = crossed_at.map_or(0.0, |at| at - lowest);
        passage
    }
}

/// Refuses what cannot stop within its stroke, or not before the specimen bears more than it can.
pub(super) fn require(
    model: &SimulatedConfig,
    pantograph: &Pantograph,
    period_s: f64,
) -> Result<(), FieldError> {
    let found = stopping(model, pantograph, period_s);
    let fastest = |bears_n: f64| match bearable(model, pantograph, period_s, bears_n) {
        Some(speed) => format!("Permit at most {speed} m/s in actuator.max_speed_m_per_s"),
        None => "No speed of use stays within that: look at delays, braking and pad".to_owned(),
    };
    if found.distance_m > found.available_m {
        return Err(FieldError::new(
            "actuator.max_speed_m_per_s",
            format!(
                "is {} m/s; stopping from it takes {:.0} mm ({:.1} ms of reaction, then braking with {} m/s²), and from the \
                 parked position to the mechanical stop there are {:.0} mm. {}, or brake harder",
                found.speed_m_s,
                found.distance_m * 1e3,
                found.reaction_s * 1e3,
                braking(model),
                found.available_m * 1e3,
                fastest(f64::INFINITY),
            ),
        ));
    }
    let Some(specimen) = model.specimen else {
        return Ok(());
    };
    if let Some(limit) = force_limit(&model.limits)
        && limit.high >= specimen.bears_n
    {
        return Err(FieldError::new(
            "specimen.bears_n",
            format!(
                "is {} N, and the first limit of the force that acts is at {} N: it would act when the specimen is broken. \
                 Put the limit well below what the specimen bears",
                specimen.bears_n, limit.high
            ),
        ));
    }
    if found.peak_force_n > specimen.bears_n {
        return Err(FieldError::new(
            "specimen.bears_n",
            format!(
                "is {} N; tripped at {} m/s into the specimen, the motor goes {:.0} mm further, and the force reaches up to {:.0} \
                 N (that of a blow after the pad has left the specimen included). {}, or brake harder, or trip earlier",
                specimen.bears_n,
                found.speed_m_s,
                found.distance_m * 1e3,
                found.peak_force_n,
                fastest(specimen.bears_n),
            ),
        ));
    }
    Ok(())
}

/// The fastest speed, in whole cm/s, from which it stops in time and at which the specimen bears what is reached.
fn bearable(
    model: &SimulatedConfig,
    pantograph: &Pantograph,
    period_s: f64,
    bears_n: f64,
) -> Option<f64> {
    let fits = |speed: f64| {
        let mut slower = model.clone();
        slower.actuator.max_speed_m_per_s = speed;
        let found = stopping(&slower, pantograph, period_s);
        found.peak_force_n <= bears_n && found.distance_m <= found.available_m
    };
    let (mut low, mut high) = (0.0, model.actuator.max_speed_m_per_s);
    for _ in 0..10 {
        let middle = 0.5 * (low + high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(floored(low)).filter(|speed| *speed > 0.0 && fits(*speed))
}

fn floored(speed: f64) -> f64 {
    (speed * 100.0).floor() / 100.0
}
