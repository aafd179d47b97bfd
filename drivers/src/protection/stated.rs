//! What the file of a hardware rig has to state, and how its numbers have to fit to each other, before anything is built.

use super::plausible::{ACCELERATION, Quantity, SPEED, TRACKING_ERROR, TRAVEL_SPEED};
use crate::ethercat::Port;
use crate::hardware::{BusConfig, HardwareConfig};
use crate::simulated::{ActuatorConfig, FORCE, POSITION};
use rt_core::fault::Action;
use rt_core::file::{FieldError, require_within};
use rt_core::guard::Limit;
use rt_core::rig::HELD_FOR_S;

/// What a motor with people beside it may do at most.
const HARDWARE_SPEED: Quantity = SPEED.up_to(5.0);
const HARDWARE_TRAVEL: Quantity = TRAVEL_SPEED.up_to(1.0);
const HARDWARE_TRAVEL_ACCELERATION: Quantity = ACCELERATION.up_to(20.0);
const HARDWARE_BRAKING: Quantity = ACCELERATION.up_to(500.0);
const HARDWARE_TRACKING: Quantity = TRACKING_ERROR.up_to(0.05);
/// For how long a motor may be elsewhere than it was told before it is switched off, in s.
const MOST_TRACKING_S: f64 = 0.05;
/// For how long a limit may be broken before it acts, in s.
const MOST_LIMIT_S: f64 = 0.05;
/// How old what a rig is controlled and protected by may be, in s.
const MOST_INPUT_AGE_S: f64 = 0.05;
const MOST_INTERLOCK_AGE_S: f64 = 0.1;
/// The longest gap in time of hardware, in s.
const MOST_GAP_S: f64 = 0.5;
/// The most deadlines in a row that a session may let be missed on hardware.
const MOST_MISSES: f64 = 100.0;
/// The same where the drive is emulated on this computer, which moves nothing and may be slow, in s.
const MOST_EMULATED_AGE_S: f64 = 1.0;

/// Refuses a file that leaves out, or puts out of reach, what protects.
pub(super) fn require(config: &HardwareConfig, period_s: f64) -> Result<(), FieldError> {
    let actuator = &config.actuator;
    if actuator.unloads.is_none() {
        return Err(FieldError::new(
            "actuator.unloads",
            "is not stated; expected which way takes the load off the specimen: Up (larger positions) or Down. A retreat \
             goes that way only",
        ));
    }
    if config.specimen.is_none() {
        return Err(FieldError::new(
            "specimen",
            "is not stated; expected the force that the specimen bears without damage, for example specimen: (bears_n: \
             1000.0)",
        ));
    }
    require_limits(&config.limits, period_s)?;
    require_motion(config, period_s).map_err(|e| e.within("actuator"))?;
    require_ages(config)
}

/// A limit of the force and one of the position that do something.
fn require_limits(limits: &[Limit], period_s: f64) -> Result<(), FieldError> {
    for (channel, what, example) in [
        (
            FORCE.id,
            "the force on the specimen",
            "(channel: \"force\", low: -50.0, high: 500.0, for_cycles: 1, action: Retreat)",
        ),
        (
            POSITION.id,
            "the position of the motor",
            "(channel: \"motor_position\", low: -0.17, high: 0.17, for_cycles: 1, action: PowerOff)",
        ),
    ] {
        let mut of_channel = limits.iter().filter(|l| l.channel == channel).peekable();
        let problem = if of_channel.peek().is_none() {
            format!("nothing limits {what}; expected for example {example}")
        } else if let Some(limit) = of_channel.find(|l| acts(l)) {
            let most = (MOST_LIMIT_S / period_s).floor();
            if f64::from(limit.for_cycles) <= most {
                continue;
            }
            format!(
                "the limit of {what} acts after {} cycles of {} ms; expected at most {most}, which are {} ms",
                limit.for_cycles,
                period_s * 1e3,
                MOST_LIMIT_S * 1e3
            )
        } else {
            format!(
                "the limits of {what} only warn, or have no end; expected one that acts, for example {example}"
            )
        };
        return Err(FieldError::new("limits", problem));
    }
    Ok(())
}

/// Whether a limit protects: does something, and has ends on both sides.
pub(super) fn acts(limit: &Limit) -> bool {
    let (low, high) = (limit.low.abs(), limit.high.abs());
    limit.action > Action::Warn && low.max(high) <= super::plausible::FORCE.most()
}

/// Speeds, distances and times that people beside the motor can live with, and that fit to each other.
fn require_motion(config: &HardwareConfig, period_s: f64) -> Result<(), FieldError> {
    let (a, motor) = (&config.actuator, &config.motor);
    HARDWARE_SPEED.require("max_speed_m_per_s", a.max_speed_m_per_s)?;
    HARDWARE_TRAVEL.require("travel_speed_m_per_s", a.travel_speed_m_per_s)?;
    HARDWARE_TRAVEL_ACCELERATION.require(
        "travel_acceleration_m_per_s2",
        a.travel_acceleration_m_per_s2,
    )?;
    HARDWARE_BRAKING.require("braking_m_per_s2", a.braking_m_per_s2)?;
    HARDWARE_TRACKING.require("max_tracking_error_m", a.max_tracking_error_m)?;
    if a.travel_speed_m_per_s > a.max_speed_m_per_s {
        return Err(FieldError::new(
            "travel_speed_m_per_s",
            format!(
                "is {} m/s, faster than max_speed_m_per_s permits while running, {} m/s; expected at most that",
                a.travel_speed_m_per_s, a.max_speed_m_per_s
            ),
        ));
    }
    let most = (MOST_TRACKING_S / period_s).floor();
    require_within(
        "tracking_cycles",
        f64::from(a.tracking_cycles),
        1.0,
        most,
        "cycles",
    )?;
    let rooms = [a.low_m - motor.stroke_low_m, motor.stroke_high_m - a.high_m];
    let overrun = overrun_m(config);
    for (field, end, room) in [("low_m", a.low_m, rooms[0]), ("high_m", a.high_m, rooms[1])] {
        if room < overrun {
            return Err(FieldError::new(
                field,
                format!(
                    "is {end} m, {:.1} mm before the mechanical stop; a motor at {} m/s that is told to rest there swings \
                     {:.1} mm beyond. Take the range back by the difference, or permit less speed",
                    room * 1e3,
                    a.max_speed_m_per_s,
                    overrun * 1e3
                ),
            ));
        }
    }
    let room = rooms[0].min(rooms[1]);
    if a.max_tracking_error_m > room {
        return Err(FieldError::new(
            "max_tracking_error_m",
            format!(
                "is {} m; from the end of the range to the mechanical stop there are {room:.4} m, so that the motor would \
                 stand at the stop before it is seen. Expected at most that",
                a.max_tracking_error_m
            ),
        ));
    }
    require_lag(config)?;
    let journey = journey_s(a);
    let held = config.safety.held_for_s.unwrap_or(HELD_FOR_S);
    if journey > held {
        return Err(FieldError::new(
            "travel_speed_m_per_s",
            format!(
                "is {} m/s; from one end of the range to the other a retreat takes {journey:.1} s, and safety.held_for_s \
                 takes the power away after {held} s, before the specimen is unloaded. Travel faster",
                a.travel_speed_m_per_s
            ),
        ));
    }
    Ok(())
}

/// How far a motor swings beyond the end of its range when its reference is held there, in m.
fn overrun_m(config: &HardwareConfig) -> f64 {
    let (motor, speed) = (&config.motor, config.actuator.max_speed_m_per_s);
    let (w, z) = (motor.omega_rad_per_s, motor.damping_ratio);
    let lag = 2.0 * z * speed / w;
    // Out of steady motion at v the motor is lag = 2ζv/ω behind the end when its reference stops there; then it swings
    // freely: e'' + 2ζω e' + ω² e = 0 with e(0) = -lag, e'(0) = v. Overdamped motors creep there without a swing that
    // is worth counting: with ζ ≥ 1, e'(0) = v is less than ω lag / 2.
    let linear = if z < 1.0 {
        let damped = w * (1.0 - z * z).sqrt();
        let (cosine, sine) = (-lag, (speed - z * w * lag) / damped);
        let at =
            |t: f64| (-z * w * t).exp() * (cosine * (damped * t).cos() + sine * (damped * t).sin());
        let swing_s = std::f64::consts::TAU / damped;
        (0..=200)
            .map(|k| at(f64::from(k) / 200.0 * swing_s))
            .fold(0.0, f64::max)
    } else {
        0.0
    };
    let braked = motor
        .max_acceleration_m_per_s2
        .map_or(0.0, |most| speed * speed / (2.0 * most) - lag);
    linear.max(braked)
}

/// How long a retreat or a return to the parked position may take, in s.
pub(super) fn journey_s(a: &ActuatorConfig) -> f64 {
    (a.high_m - a.low_m) / a.travel_speed_m_per_s
        + a.travel_speed_m_per_s / a.travel_acceleration_m_per_s2
        + a.max_speed_m_per_s / a.braking_m_per_s2
}

/// A motor that moves as fast as it may is not where its reference is; that is no fault.
fn require_lag(config: &HardwareConfig) -> Result<(), FieldError> {
    let model = config.model();
    let motor = &model.motor;
    let lag_s = 2.0 * motor.damping_ratio / motor.omega_rad_per_s
        + model.delays.reference_s
        + model.delays.extra_s;
    let a = &config.actuator;
    let lag = lag_s * a.max_speed_m_per_s;
    if lag < a.max_tracking_error_m {
        return Ok(());
    }
    Err(FieldError::new(
        "max_tracking_error_m",
        format!(
            "is {} m; at {} m/s this motor is {lag:.4} m behind its reference when all is well (motor and delays of this \
             file). Permit less speed, or more distance",
            a.max_tracking_error_m, a.max_speed_m_per_s
        ),
    ))
}

/// What the loop is closed over and protected by is fresh.
fn require_ages(config: &HardwareConfig) -> Result<(), FieldError> {
    let is_emulated = drive_is_emulated_here(config);
    let most = |of_hardware: f64| {
        if is_emulated {
            MOST_EMULATED_AGE_S
        } else {
            of_hardware
        }
    };
    let signals = &config.signals;
    let check = |field: String, age: f64, of_hardware: f64, what: &str| {
        if age <= most(of_hardware) {
            return Ok(());
        }
        Err(FieldError::new(
            field,
            format!(
                "is {age} s; {what} that is older than {} s protects nobody: {:.0} mm at the permitted speed. Expected at \
                 most that",
                most(of_hardware),
                age * config.actuator.max_speed_m_per_s * 1e3
            ),
        ))
    };
    check(
        "signals.motor_position.max_age_s".into(),
        signals.motor_position.max_age_s,
        MOST_INPUT_AGE_S,
        "a position",
    )?;
    for (i, cell) in signals.cells.iter().enumerate() {
        let field = format!("signals.cells[{i}].max_age_s");
        check(field, cell.max_age_s, MOST_INPUT_AGE_S, "a force")?;
    }
    for (i, interlock) in signals.interlocks.iter().enumerate() {
        let field = format!("signals.interlocks[{i}].max_age_s");
        check(
            field,
            interlock.max_age_s,
            MOST_INTERLOCK_AGE_S,
            "a safety circuit",
        )?;
    }
    if let Some(switch) = &signals.dead_man {
        check(
            "signals.dead_man.max_age_s".into(),
            switch.max_age_s,
            MOST_INTERLOCK_AGE_S,
            "a dead man's switch",
        )?;
    }
    require_punctual(config, is_emulated)
}

/// What may pass unnoticed while the drive is on.
fn require_punctual(config: &HardwareConfig, is_emulated: bool) -> Result<(), FieldError> {
    if is_emulated {
        return Ok(());
    }
    let safety = &config.safety;
    if let Some(gap_s) = safety.max_gap_s {
        require_within("safety.max_gap_s", gap_s, 0.0, MOST_GAP_S, "s")?;
    }
    if let Some(misses) = safety.max_misses {
        require_within("safety.max_misses", f64::from(misses), 1.0, MOST_MISSES, "")?;
    }
    Ok(())
}

/// Whether what the drive's bus reaches is a program on this computer: nothing moves.
pub(super) fn drive_is_emulated_here(config: &HardwareConfig) -> bool {
    let drive = config.buses.iter().find(|bus| bus.name() == config.drive);
    match drive {
        Some(BusConfig::Ethercat(segment)) => segment.port == Port::InProcess,
        Some(BusConfig::LinUdp(drive)) => drive.drive_address.is_loopback(),
        Some(BusConfig::Serial(_)) | None => false,
    }
}
