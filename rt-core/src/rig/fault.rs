//! Why an exchange with a rig brought no trustworthy inputs: numbers for the loop, words for people.
//!
//! The guard switches the drive off at each of them and, if it was on, latches the trip. Buses connect again by
//! themselves; what a drive has latched is reset after the trip is acknowledged.

use super::al_code;
use super::setting::{object_name, setting_name};
use crate::channel::{ChannelSpec, Layout};
use crate::fault::FaultText;

/// Prefix of the channels that show how old an input is, in the order of [`RigFault::StaleInput`].
pub const AGE_PREFIX: &str = "age_";
/// Prefix of the channels that show an interlock, in the order of [`RigFault::Interlock`].
pub const INTERLOCK_PREFIX: &str = "interlock_";

/// See the module's text. Buses and devices are counted from 1, as the rig file lists them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RigFault {
    /// No answer to this exchange.
    LostExchange {
        /// How many in a row are lost by now.
        in_a_row: u32,
    },
    /// The rig has no power.
    PowerLoss,
    /// A bus is being set up: its devices were not heard of yet, or are being initialised.
    Connecting {
        /// Which bus.
        bus: u16,
    },
    /// A bus has not answered for too long.
    Timeout {
        /// Which bus.
        bus: u16,
        /// For how long, in µs.
        silent_us: u32,
        /// For how long it may, in µs.
        limit_us: u32,
    },
    /// Answers are not those of the requests that were sent.
    Sequence {
        /// Which bus.
        bus: u16,
        /// The expected number.
        expected: u32,
        /// The one that came.
        got: u32,
    },
    /// A cable is out, or the adapter is gone.
    Unplugged {
        /// Which bus.
        bus: u16,
    },
    /// An input is older than it may be.
    StaleInput {
        /// Which input, from 0, in the order of the age channels.
        input: u16,
        /// Its age, in µs.
        age_us: u32,
        /// How old it may be, in µs.
        limit_us: u32,
    },
    /// A safety circuit is open.
    Interlock {
        /// Which one, from 0, in the order of the interlock channels.
        index: u16,
    },
    /// The drive reports an error and has switched itself off.
    DriveFault {
        /// The drive's own code.
        code: u16,
    },
    /// The drive does not do what its enable sequence asks for.
    DriveNotEnabled {
        /// Its status word.
        status: u16,
    },
    /// The drive does not know where it is.
    NotHomed,
    /// The drive is finding its home position.
    Homing,
    /// The drive has tried to find its home position and did not; it is off.
    HomingFailed {
        /// Its status word when it gave up, as CiA 402 defines it.
        status: u16,
    },
    /// The drive itself says that the motor does not follow.
    FollowingError {
        /// Its status word.
        status: u16,
    },
    /// The drive still has power although it was told to be off long enough ago.
    DriveKeepsPower {
        /// Its status word.
        status: u16,
        /// For how long it was told, in µs.
        for_us: u32,
        /// Within which time its power has to be gone, in µs.
        limit_us: u32,
    },
    /// A device has another setting than the rig file demands: it would do something else alone.
    DeviceSetting {
        /// Which device.
        device: u16,
        /// The object, or the register below 0x1000.
        object: u16,
        /// What the rig file demands.
        demanded: i64,
        /// What the device says; `None`: it has no such object, or does not tell.
        found: Option<i64>,
    },
    /// Fewer devices took part in a bus cycle than belong to it.
    WorkingCounter {
        /// What all devices together count.
        expected: u16,
        /// What was counted.
        got: u16,
    },
    /// A device has left its operational state.
    DeviceState {
        /// Which device.
        device: u16,
        /// Its AL status.
        al_status: u16,
        /// Its AL status code.
        al_code: u16,
    },
    /// A device has heard nothing for too long and has switched its outputs off.
    Watchdog {
        /// Which device.
        device: u16,
    },
    /// A device sent an emergency message.
    Emergency {
        /// Which device.
        device: u16,
        /// Its error code.
        code: u16,
    },
    /// The brake was told to let go, or to stay so, and shows that it holds.
    BrakeNotReleased {
        /// For how long by now, in µs.
        for_us: u32,
        /// For how long it may, in µs.
        limit_us: u32,
    },
    /// The brake was told to hold and shows that it does not.
    BrakeNotEngaged {
        /// For how long by now, in µs.
        for_us: u32,
        /// For how long it may, in µs.
        limit_us: u32,
    },
    /// A device is not the one that the rig file expects, or there are more or fewer of them.
    WrongDevice {
        /// Which device.
        device: u16,
    },
}

impl RigFault {
    /// Puts the fault in words.
    pub fn describe(&self, layout: &Layout) -> FaultText {
        let text = |id: &str, what: String, advice: &'static str| FaultText {
            id: format!("rig.{id}"),
            what,
            measured: None,
            limit: None,
            advice,
        };
        let with = |measured: f64, limit: f64, text: FaultText| FaultText {
            measured: Some(measured),
            limit: Some(limit),
            ..text
        };
        let ms = |us: u32| f64::from(us) * 1e-3;
        match *self {
            RigFault::LostExchange { in_a_row } => with(
                f64::from(in_a_row),
                0.0,
                text(
                    "lost-exchange",
                    format!("The rig did not answer ({in_a_row} exchange(s) in a row)"),
                    "Check cable, power and the driver's counters, then acknowledge.",
                ),
            ),
            RigFault::PowerLoss => text(
                "power-loss",
                "The rig has lost its power".into(),
                "Check the emergency stop and the supply, then acknowledge.",
            ),
            RigFault::Connecting { bus } => text(
                "connecting",
                format!("Bus {bus} is being set up"),
                "Wait; if it takes long, check that its devices have power and that the rig file names them right.",
            ),
            RigFault::Timeout {
                bus,
                silent_us,
                limit_us,
            } => with(
                f64::from(silent_us) * 1e-6,
                f64::from(limit_us) * 1e-6,
                text(
                    "timeout",
                    format!(
                        "Bus {bus} has been silent for {:.1} ms; allowed: {:.1} ms",
                        ms(silent_us),
                        ms(limit_us)
                    ),
                    "Check cable, power and address of the device; acknowledge when it answers.",
                ),
            ),
            RigFault::Sequence { bus, expected, got } => with(
                f64::from(got),
                f64::from(expected),
                text(
                    "sequence",
                    format!("Bus {bus} answered number {got} where {expected} was expected"),
                    "Check that nobody else talks to the device, then acknowledge.",
                ),
            ),
            RigFault::Unplugged { bus } => text(
                "unplugged",
                format!("Bus {bus} is unplugged, or its adapter is gone"),
                "Plug it in again; acknowledge when it answers.",
            ),
            RigFault::StaleInput {
                input,
                age_us,
                limit_us,
            } => with(
                f64::from(age_us) * 1e-6,
                f64::from(limit_us) * 1e-6,
                text(
                    "stale-input",
                    format!(
                        "{} is {:.1} ms; allowed: {:.1} ms",
                        nth(layout, AGE_PREFIX, input).map_or("The age of an input", |c| c.label),
                        ms(age_us),
                        ms(limit_us)
                    ),
                    "Check the sensor, its amplifier and its cable; acknowledge when values arrive again.",
                ),
            ),
            RigFault::Interlock { index } => {
                let channel = nth(layout, INTERLOCK_PREFIX, index);
                text(
                    "interlock",
                    format!("{} is open", channel.map_or("An interlock", |c| c.label)),
                    "Close the safety circuit, make sure that nobody is in reach, then acknowledge.",
                )
            }
            RigFault::DriveFault { code } => with(
                f64::from(code),
                0.0,
                text(
                    "drive-fault",
                    format!("The drive reports error {code} (0x{code:04X})"),
                    "Look the error up in the drive's manual, remove its cause, then acknowledge: that resets the drive.",
                ),
            ),
            RigFault::DriveNotEnabled { status } => text(
                "drive-not-enabled",
                format!("The drive was told to switch on and did not (status 0x{status:04X})"),
                "Check the drive's enable chain, homing and supply, then acknowledge.",
            ),
            RigFault::NotHomed => text(
                "not-homed",
                "The drive has no home position".into(),
                "Make sure that the motor is free to move and that nobody is in reach, then home the drive.",
            ),
            RigFault::Homing => text(
                "homing",
                "The drive is finding its home position".into(),
                "Wait until it has.",
            ),
            RigFault::HomingFailed { status } => text(
                "homing-failed",
                format!("{} (status 0x{status:04X})", why_homing_failed(status)),
                "Check the home switch, the way to it and the homing objects of the rig file, then home the drive again.",
            ),
            RigFault::FollowingError { status } => text(
                "following-error",
                format!("The drive says that the motor does not follow (status 0x{status:04X})"),
                "Check that the motor is free to move, then acknowledge.",
            ),
            RigFault::DriveKeepsPower {
                status,
                for_us,
                limit_us,
            } => with(
                f64::from(for_us) * 1e-6,
                f64::from(limit_us) * 1e-6,
                text(
                    "drive-keeps-power",
                    format!(
                        "The drive keeps its power {:.0} ms after it was told to be off; allowed: {:.0} ms (status \
                         0x{status:04X})",
                        ms(for_us),
                        ms(limit_us)
                    ),
                    "Press the emergency stop and keep out of reach: the motor may hold or move. Then check the drive \
                     and its quick stop settings.",
                ),
            ),
            RigFault::DeviceSetting {
                device,
                object,
                demanded,
                found,
            } => FaultText {
                measured: found.map(|x| x as f64),
                limit: Some(demanded as f64),
                ..text(
                    "device-setting",
                    format!(
                        "Device {device} has {} in {} ({}); the rig file demands {demanded}",
                        found.map_or("nothing that can be read".to_owned(), |x| x.to_string()),
                        object_name(object),
                        setting_name(object),
                    ),
                    "It is not armed. Set the device by its own tool, or state in the rig file what it really does; 'rig \
                     scan' shows all settings.",
                )
            },
            RigFault::WorkingCounter { expected, got } => with(
                f64::from(got),
                f64::from(expected),
                text(
                    "working-counter",
                    format!(
                        "Working counter {got}, expected {expected}: a device did not take part"
                    ),
                    "Check cables and power of all devices of the segment, then acknowledge.",
                ),
            ),
            RigFault::DeviceState {
                device,
                al_status,
                al_code,
            } => text(
                "device-state",
                format!(
                    "Device {device} is in {} and not in OP: {} (AL status code 0x{al_code:04X})",
                    al_code::state(al_status),
                    al_code::words(al_code)
                ),
                "Remove the cause that the code names, then acknowledge: OP is asked for again by itself.",
            ),
            RigFault::Watchdog { device } => text(
                "watchdog",
                format!(
                    "Device {device} heard nothing for too long and has switched its outputs off"
                ),
                "Check the loop's timing for missed deadlines and the cable, then acknowledge.",
            ),
            RigFault::Emergency { device, code } => with(
                f64::from(code),
                0.0,
                text(
                    "emergency",
                    format!("Device {device} sent the emergency message 0x{code:04X}"),
                    "Look the code up in the device's manual, remove its cause, then acknowledge.",
                ),
            ),
            RigFault::BrakeNotReleased { for_us, limit_us } => with(
                f64::from(for_us) * 1e-6,
                f64::from(limit_us) * 1e-6,
                text(
                    "brake-not-released",
                    format!(
                        "The brake should be released and shows that it holds, for {:.0} ms; allowed: {:.0} ms",
                        ms(for_us),
                        ms(limit_us)
                    ),
                    "Check the brake's supply, its output and its switch ('mounting.brake' of the rig file), then acknowledge.",
                ),
            ),
            RigFault::BrakeNotEngaged { for_us, limit_us } => with(
                f64::from(for_us) * 1e-6,
                f64::from(limit_us) * 1e-6,
                text(
                    "brake-not-engaged",
                    format!(
                        "The brake should hold and shows that it does not, for {:.0} ms; allowed: {:.0} ms",
                        ms(for_us),
                        ms(limit_us)
                    ),
                    "Keep away: nothing may hold the motor without power. Prop it, check brake, output and switch, then acknowledge.",
                ),
            ),
            RigFault::WrongDevice { device } => text(
                "wrong-device",
                format!("Device {device} is not the one that the rig file expects"),
                "Compare the segment with the rig file: order of the devices, and vendor, product and revision of each.",
            ),
        }
    }
}

/// A statusword of a drive that homes says by itself what went wrong.
fn why_homing_failed(status: u16) -> &'static str {
    const HOMING_ERROR: u16 = 1 << 13;
    let is_enabled = status & 0x6F == 0x27;
    match (is_enabled, status & HOMING_ERROR != 0) {
        (true, true) => "The drive reports an error of its homing",
        (true, false) => "The drive did not find its home position in time",
        (false, _) => "The drive did not stay switched on while it was homing",
    }
}

/// The channel that a fault counts, among those with a prefix.
fn nth<'a>(layout: &'a Layout, prefix: &str, index: u16) -> Option<&'a ChannelSpec> {
    let channels = layout.channels().iter();
    channels
        .filter(|c| c.id.starts_with(prefix))
        .nth(usize::from(index))
}
