//! Hazards of machine and specimen: overload, range, following, sensors, buses, computer.

use super::{Facts, Hazard, Protected};
use crate::ethercat::EthercatConfig;
use crate::ethercat::config::{DeviceConfig, SdoValue};
use crate::hardware::BusConfig;
use crate::mounting::Axis;
use crate::protection::stated::acts;
use crate::protection::stopping::force_limit;
use crate::simulated::POSITION;
use rt_core::rig::FrozenCheck;

/// All of them.
pub(super) fn hazards(facts: &Facts<'_>) -> Vec<Hazard> {
    vec![
        overload(facts),
        beyond_range(facts),
        does_not_follow(facts),
        position_unknown(facts),
        sensor_dead(facts),
        wrong_newtons(facts),
        bus_lost(facts),
        computer_too_slow(facts),
        moves_without_power(facts),
        two_masters(facts),
    ]
}

fn overload(facts: &Facts<'_>) -> Hazard {
    let mut hazard = Hazard::new(
        "overload_of_specimen",
        "The motor presses the specimen to pieces",
    );
    let model = &facts.model;
    let Some(limit) = force_limit(&model.limits) else {
        return hazard.at_best(
            Protected::Missing,
            "no limit of the force does more than warn",
        );
    };
    hazard = hazard.by(format!(
        "limit of the force, {} to {} N: {:?} after {} cycle(s)",
        limit.low, limit.high, limit.action, limit.for_cycles
    ));
    if !acts(limit) {
        hazard = hazard.at_best(Protected::Missing, "the limit of the force has no end");
    }
    let Some(stopping) = facts.stopping else {
        return hazard.at_best(Protected::Weak, "its stopping distance is not known");
    };
    if stopping.distance_m > stopping.available_m {
        let note = format!(
            "stopping takes {:.0} mm of the {:.0} mm to the mechanical stop",
            stopping.distance_m * 1e3,
            stopping.available_m * 1e3
        );
        hazard = hazard.at_best(Protected::Missing, note);
    }
    hazard = match model.specimen {
        None => hazard.at_best(
            if facts.hardware.is_some() {
                Protected::Missing
            } else {
                Protected::Weak
            },
            "the file does not say what the specimen bears (specimen.bears_n)",
        ),
        Some(specimen) if stopping.peak_force_n > specimen.bears_n => hazard.at_best(
            Protected::Missing,
            format!(
                "{:.0} N are reached before the motor stands, and the specimen bears {} N",
                stopping.peak_force_n, specimen.bears_n
            ),
        ),
        Some(specimen) => hazard.by(format!(
            "stopping: at most {:.0} N are reached of {} N that the specimen bears",
            stopping.peak_force_n, specimen.bears_n
        )),
    };
    let cells = model.load_cells.len().max(1) as f64;
    let shown_n = model.force_sensor.range_n * cells;
    if facts.hardware.is_some() && model.motor.max_acceleration_m_per_s2.is_none() {
        hazard = hazard.at_best(
            Protected::Weak,
            "that the motor brakes so hard is not shown (motor.max_acceleration_m_per_s2)",
        );
    }
    if limit.high >= shown_n {
        hazard = hazard.at_best(
            Protected::Missing,
            format!("the cells show at most {shown_n} N: the limit is never seen to be broken"),
        );
    } else if stopping.peak_force_n > shown_n {
        let note = format!("the cells show at most {shown_n} N; beyond, only that it is more");
        hazard = hazard.at_best(Protected::Ok, note);
    }
    hazard
}

fn beyond_range(facts: &Facts<'_>) -> Hazard {
    let (a, motor) = (&facts.model.actuator, &facts.model.motor);
    let mut hazard = Hazard::new("motor_beyond_range", "The motor leaves its range").by(format!(
        "references are held within {} to {} m",
        a.low_m, a.high_m
    ));
    let of_position = |l: &&rt_core::guard::Limit| l.channel == POSITION.id && acts(l);
    hazard = match facts.model.limits.iter().find(of_position) {
        Some(l) => hazard.by(format!(
            "limit of the position, {} to {} m: {:?}",
            l.low, l.high, l.action
        )),
        None => hazard.at_best(
            Protected::Missing,
            "no limit of the measured position does more than warn",
        ),
    };
    for circuit in &facts.model.interlocks {
        if circuit.opens_below_m.is_some() || circuit.opens_above_m.is_some() {
            hazard = hazard.by(circuit.label.clone());
        }
    }
    let room = (a.low_m - motor.stroke_low_m).min(motor.stroke_high_m - a.high_m);
    if room < a.max_tracking_error_m {
        hazard = hazard.at_best(
            Protected::Weak,
            format!(
                "the mechanical stop is {:.0} mm behind the end of the range, nearer than the tracking error that is seen",
                room * 1e3
            ),
        );
    }
    hazard
}

/// What a person tolerates of a motor that is not where it was told to be, in m.
const CLOSE_M: f64 = 0.05;

fn does_not_follow(facts: &Facts<'_>) -> Hazard {
    let a = &facts.model.actuator;
    let mut hazard = Hazard::new(
        "motor_does_not_follow",
        "The motor stands still, sticks or runs away",
    )
    .by(format!(
        "tracking error above {} m for {} cycles: power off",
        a.max_tracking_error_m, a.tracking_cycles
    ));
    let stated =
        drive_of(facts).and_then(|(segment, _)| segment.drive.as_ref()?.reactions.as_ref());
    if let Some(reactions) = stated {
        let mm = 1e3 * reactions.following_window_m;
        let ms = reactions.following_time_ms;
        hazard = hazard.by(format!(
            "the drive's own window of {mm} mm for {ms} ms (0x6065, 0x6066)"
        ));
    }
    let window = drive_of(facts).and_then(|(_, drive)| object(drive, 0x6065));
    if let Some(counts) = window.filter(|counts| *counts != 0xFFFF_FFFF) {
        hazard = hazard.by(format!(
            "the drive's own window of {counts} counts (0x6065)"
        ));
    }
    if a.max_tracking_error_m > CLOSE_M {
        hazard = hazard.at_best(
            Protected::Weak,
            format!("{} m is far; 20 mm are usual", a.max_tracking_error_m),
        );
    }
    hazard
}

fn position_unknown(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new(
        "position_unknown",
        "The drive does not know where it is, and moves",
    );
    let homes = "not armed before it was homed";
    let Some(hardware) = facts.hardware else {
        return hazard.by(match facts.model.homing {
            Some(_) => homes,
            None => "a simulated drive knows where it is",
        });
    };
    match hardware
        .buses
        .iter()
        .find(|bus| bus.name() == hardware.drive)
    {
        Some(BusConfig::Ethercat(segment)) => {
            match segment.drive.as_ref().and_then(|d| d.homing.as_ref()) {
                Some(_) => hazard.by(homes),
                None => hazard.by("an absolute encoder, as the file says (no 'homing')"),
            }
        }
        Some(BusConfig::LinUdp(drive)) if drive.home_bit.is_none() => hazard.at_best(
            Protected::Weak,
            "the file says that the drive is homed by other means (no home_bit): nothing asks it whether it was",
        ),
        Some(_) => hazard.by(homes),
        None => hazard.at_best(Protected::Missing, "no bus drives the motor"),
    }
}

fn sensor_dead(facts: &Facts<'_>) -> Hazard {
    let mut hazard = Hazard::new("sensor_dead", "A sensor freezes, breaks or is unplugged")
        .by("values that are no number: retreat, or power off for the position");
    if let Some(hardware) = facts.hardware {
        let ages = hardware.signals.cells.iter().map(|c| c.max_age_s);
        let oldest = ages.fold(hardware.signals.motor_position.max_age_s, f64::max);
        hazard = hazard.by(format!("values older than {oldest} s: power off"));
    }
    match facts.spec.frozen.first() {
        Some(FrozenCheck { channel, cycles }) => {
            hazard.by(format!("'{channel}' {cycles} times the same: retreat"))
        }
        None => hazard.at_best(
            Protected::Weak,
            "a force that repeats to the last bit is not noticed (frozen_after_cycles)",
        ),
    }
}

fn wrong_newtons(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new(
        "wrong_newtons",
        "The force is not what is shown: calibration, wiring, sign",
    );
    if facts.spec.cells.is_empty() {
        return hazard.by("the simulated sensor gives newtons");
    }
    if facts.spec.safety.needs_calibration == Some(false) {
        return hazard.at_best(
            Protected::Weak,
            "the file lets it be armed without valid calibrations (safety.needs_calibration)",
        );
    }
    hazard
        .by("not armed without valid calibrations")
        .by("'pantobench rig check' for wiring and signs")
}

/// How soon a device has to notice that nobody speaks to it any more, in ms.
const WATCHDOG_MS: f64 = 100.0;

fn bus_lost(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new(
        "bus_lost",
        "A cable breaks, the program dies: the drive is alone",
    );
    let Some(hardware) = facts.hardware else {
        return hazard
            .by("a simulated drive switches itself off after 5 cycles without an exchange");
    };
    let hazard = hazard.by("an exchange that is lost: power off");
    if let Some((segment, drive)) = drive_of(facts) {
        let hazard = match segment.watchdog_ms {
            Some(ms) if ms <= WATCHDOG_MS => {
                hazard.by(format!("watchdog of each device, {ms} ms (0x0420)"))
            }
            Some(ms) => hazard.at_best(
                Protected::Weak,
                format!(
                    "the devices' watchdog waits for {ms} ms; expected at most {WATCHDOG_MS} ms"
                ),
            ),
            None => hazard.at_best(
                Protected::Weak,
                "the devices' own watchdog time is used, whatever it is (watchdog_ms)",
            ),
        };
        let stated = segment.drive.as_ref().and_then(|d| d.reactions.as_ref());
        let stated = stated.map(|r| i64::from(r.connection_loss));
        return match stated.or(object(drive, 0x6007)) {
            Some(0) => hazard.at_best(
                Protected::Missing,
                "object 0x6007 is 0: the drive does nothing when the connection is lost",
            ),
            Some(option) => hazard.by(format!("abort connection option {option} (0x6007)")),
            None => hazard.at_best(
                Protected::Weak,
                "what the drive does when the connection is lost is left to it (object 0x6007)",
            ),
        };
    }
    let is_serial = |bus: &&BusConfig| matches!(bus, BusConfig::Serial(_));
    let of_drive = hardware.buses.iter().find(|b| b.name() == hardware.drive);
    let link = if of_drive.filter(is_serial).is_some() {
        "serial line"
    } else {
        "network"
    };
    hazard.at_best(
        Protected::Weak,
        format!("the drive's own time-out on the {link} has to be set in the drive; this program cannot confirm it"),
    )
}

/// Longest gap and most misses that stay without consequence for people.
const SHORT_GAP_S: f64 = 0.2;
const FEW_MISSES: u32 = 200;

fn computer_too_slow(facts: &Facts<'_>) -> Hazard {
    let safety = &facts.spec.safety;
    let mut hazard = Hazard::new(
        "computer_too_slow",
        "The computer is late, frozen or asleep while the drive is on",
    );
    hazard = match safety.max_gap_s {
        Some(s) if s <= SHORT_GAP_S => hazard.by(format!("a gap above {s} s: power off")),
        Some(s) => hazard.at_best(
            Protected::Weak,
            format!("a gap is only noticed from {s} s on (safety.max_gap_s)"),
        ),
        None => hazard.at_best(
            Protected::Missing,
            "gaps are not noticed (safety.max_gap_s)",
        ),
    };
    match safety.max_misses {
        Some(n) if n <= FEW_MISSES => hazard.by(format!("at most {n} deadlines missed in a row")),
        Some(n) => hazard.at_best(
            Protected::Weak,
            format!("a session may let {n} deadlines be missed in a row (safety.max_misses)"),
        ),
        None => hazard.at_best(
            Protected::Weak,
            "a session may let any number of deadlines be missed (safety.max_misses)",
        ),
    }
}

/// What becomes of the motor without power: what the file says about its mounting and brake.
fn moves_without_power(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new(
        "moves_without_power",
        "Without power the motor falls, or the specimen pushes it",
    );
    let Some(mounting) = &facts.model.mounting else {
        return if facts.hardware.is_some() {
            hazard.at_best(
                Protected::Missing,
                "the file does not say how the motor is mounted and what holds it without power (mounting)",
            )
        } else {
            hazard.by("an ideal brake holds a simulated motor without power")
        };
    };
    match (mounting.danger(), mounting.axis) {
        (None, _) => hazard.by("a brake that grips before the power goes (mounting.brake)"),
        (Some(danger), Axis::Vertical) => hazard.at_best(Protected::Missing, danger),
        (Some(danger), Axis::Horizontal) => hazard.at_best(Protected::Weak, danger),
    }
}

fn two_masters(facts: &Facts<'_>) -> Hazard {
    let hazard = Hazard::new("two_masters", "Two programs command one drive");
    match facts.hardware {
        None => hazard.by("a simulated rig belongs to its program"),
        Some(hardware) if hardware.is_in_process() => {
            hazard.by("a segment in this process belongs to it")
        }
        // Whoever opens a bus takes its lock first.
        Some(_) => hazard.by(
            "one program a drive: its address, interface or port is locked while it is spoken to",
        ),
    }
}

/// The segment that drives the motor, with its drive.
fn drive_of<'a>(facts: &Facts<'a>) -> Option<(&'a EthercatConfig, &'a DeviceConfig)> {
    let hardware = facts.hardware?;
    let bus = hardware.buses.iter().find(|b| b.name() == hardware.drive)?;
    let BusConfig::Ethercat(segment) = bus else {
        return None;
    };
    let name = &segment.drive.as_ref()?.device;
    let drive = segment.devices.iter().find(|d| d.name == *name)?;
    Some((segment, drive))
}

/// What the file writes into an object of a device.
fn object(device: &DeviceConfig, index: u16) -> Option<i64> {
    let written = device.sdo.iter().rev().find(|o| o.index == index)?;
    Some(match written.value {
        SdoValue::U8(v) => v.into(),
        SdoValue::U16(v) => v.into(),
        SdoValue::U32(v) => v.into(),
        SdoValue::I8(v) => v.into(),
        SdoValue::I16(v) => v.into(),
        SdoValue::I32(v) => v.into(),
    })
}
