//! Faults that the simulated rig can be told to show, and when.

use super::load_cell::RAW;
use super::unpowered::BrakeFault;
use rt_core::channel::Frame;
use rt_core::file::{FieldError, require_not_negative, require_positive, require_within};
use rt_core::guard::State;
use serde::Deserialize;

/// A measured signal of the simulated rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Signal {
    /// The contact force.
    Force,
    /// The motor position.
    Position,
}

/// What one load cell does instead of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CellTrouble {
    /// It repeats its last reading.
    Stuck,
    /// No force reaches it: it shows its zero, with its noise.
    Dead,
    /// It has further noise of this standard deviation.
    Noisy {
        /// In N.
        by_n: f64,
    },
    /// Its zero runs away.
    Drifting {
        /// In N/s.
        n_per_s: f64,
    },
    /// It stands at the upper end of its range.
    Saturated,
}

/// A fault of the simulated rig.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SimFault {
    /// The load cell repeats its last value.
    StuckForce,
    /// The motor stands still although it is powered.
    StuckMotor,
    /// A signal is not a number.
    NotANumber(Signal),
    /// A signal jumps by a size (N or m) for one exchange.
    Spike {
        /// Which signal.
        signal: Signal,
        /// By how much.
        size: f64,
    },
    /// A signal is wrong by a size (N or m).
    Offset {
        /// Which signal.
        signal: Signal,
        /// By how much.
        size: f64,
    },
    /// No exchange succeeds.
    LostExchange,
    /// Each exchange takes this long, in µs.
    LateExchange {
        /// Time in µs.
        by_us: f64,
    },
    /// The powered motor moves at this speed whatever its reference says, in m/s.
    Runaway {
        /// Speed in m/s, upward.
        speed_m_per_s: f64,
    },
    /// The rig has no power.
    PowerLoss,
    /// A signal is multiplied: −1 shows it with the wrong sign.
    Scaled {
        /// Which signal.
        signal: Signal,
        /// The factor.
        factor: f64,
    },
    /// A safety circuit is open, counted from 1 as the rig file lists them.
    OpenInterlock {
        /// Which one.
        number: u16,
    },
    /// The drive does not enable, whatever it is told.
    DriveDisabled,
    /// One load cell does not measure, counted from 1 as the rig file lists them.
    Cell {
        /// Which one.
        number: u16,
        /// What it does.
        does: CellTrouble,
    },
    /// The brake holds against this force only, in N.
    BrakeSlips {
        /// The force.
        holds_n: f64,
    },
    /// The brake holds, whatever it is told.
    BrakeStaysEngaged,
    /// The brake is released, whatever it is told.
    BrakeStaysReleased,
}

/// A fault and when it shows.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// What happens.
    pub fault: SimFault,
    /// It is timed from the first moment of this state.
    #[serde(default = "running")]
    pub in_state: State,
    /// How long after that, in s.
    pub after_s: f64,
    /// How long it lasts, in s; `None`: to the end.
    #[serde(default)]
    pub lasting_s: Option<f64>,
}

fn running() -> State {
    State::Running
}

impl Injection {
    /// Refuses times and sizes that make no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        require_not_negative("after_s", self.after_s, "s")?;
        if let Some(lasting) = self.lasting_s {
            require_positive("lasting_s", lasting, "s")?;
        }
        match self.fault {
            SimFault::Cell { number, does } => {
                require_within("fault.number", f64::from(number), 1.0, RAW.len() as f64, "")?;
                match does {
                    CellTrouble::Noisy { by_n } => require_positive("fault.does.by_n", by_n, "N"),
                    CellTrouble::Drifting { n_per_s } => {
                        require_within("fault.does.n_per_s", n_per_s, -1e6, 1e6, "N/s")
                    }
                    CellTrouble::Stuck | CellTrouble::Dead | CellTrouble::Saturated => Ok(()),
                }
            }
            SimFault::LateExchange { by_us } => require_positive("fault.by_us", by_us, "µs"),
            SimFault::BrakeSlips { holds_n } => require_not_negative("fault.holds_n", holds_n, "N"),
            SimFault::Spike { size: value, .. }
            | SimFault::Offset { size: value, .. }
            | SimFault::Scaled { factor: value, .. }
            | SimFault::Runaway {
                speed_m_per_s: value,
            } => {
                if value.is_finite() {
                    Ok(())
                } else {
                    Err(FieldError::new(
                        "fault",
                        format!("is {value}; expected a finite number"),
                    ))
                }
            }
            _ => Ok(()),
        }
    }
}

/// What the motor does instead of following its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MotorFault {
    /// Nothing unusual.
    None,
    /// Stands still.
    Stuck,
    /// Moves at a speed in m/s.
    Runaway(f64),
}

/// All faults that act in one exchange.
#[derive(Clone, Copy, Debug)]
pub struct ActiveFaults {
    pub motor: MotorFault,
    pub force_stuck: bool,
    pub force_error: f64,
    pub position_error: f64,
    pub exchange_lost: bool,
    pub late_nanos: u64,
    pub power_lost: bool,
    pub force_factor: f64,
    pub position_factor: f64,
    /// Index of the first open circuit.
    pub open_interlock: Option<u16>,
    pub drive_disabled: bool,
    /// What each load cell does instead of measuring.
    pub cells: [Option<CellTrouble>; RAW.len()],
    pub brake: Option<BrakeFault>,
}

/// Decides in each exchange which faults act.
pub struct Injector {
    timed: Vec<Timed>,
}

struct Timed {
    injection: Injection,
    state_since: Option<u64>,
    spiked: bool,
}

impl Injector {
    pub fn new(injections: &[Injection]) -> Self {
        let timed = |&injection| Timed {
            injection,
            state_since: None,
            spiked: false,
        };
        Self {
            timed: injections.iter().map(timed).collect(),
        }
    }

    pub fn active(&mut self, frame: &Frame) -> ActiveFaults {
        let mut all = ActiveFaults {
            motor: MotorFault::None,
            force_stuck: false,
            force_error: 0.0,
            position_error: 0.0,
            exchange_lost: false,
            late_nanos: 0,
            power_lost: false,
            force_factor: 1.0,
            position_factor: 1.0,
            open_interlock: None,
            drive_disabled: false,
            cells: [None; RAW.len()],
            brake: None,
        };
        for timed in &mut self.timed {
            if timed.is_due(frame) {
                timed.act(&mut all);
            }
        }
        all
    }
}

impl Timed {
    fn is_due(&mut self, frame: &Frame) -> bool {
        if self.state_since.is_none() && frame.state == self.injection.in_state {
            self.state_since = Some(frame.t_nanos);
        }
        let Some(since) = self.state_since else {
            return false;
        };
        let after = (frame.t_nanos - since) as f64 * 1e-9 - self.injection.after_s;
        after >= 0.0
            && self
                .injection
                .lasting_s
                .is_none_or(|lasting| after < lasting)
    }

    fn act(&mut self, all: &mut ActiveFaults) {
        let mut add = |signal, size| match signal {
            Signal::Force => all.force_error += size,
            Signal::Position => all.position_error += size,
        };
        match self.injection.fault {
            SimFault::StuckForce => all.force_stuck = true,
            SimFault::StuckMotor => all.motor = MotorFault::Stuck,
            SimFault::NotANumber(signal) => add(signal, f64::NAN),
            SimFault::Spike { signal, size } => {
                if !self.spiked {
                    add(signal, size);
                }
                self.spiked = true;
            }
            SimFault::Offset { signal, size } => add(signal, size),
            SimFault::LostExchange => all.exchange_lost = true,
            SimFault::LateExchange { by_us } => all.late_nanos += (by_us * 1e3) as u64,
            SimFault::Runaway { speed_m_per_s } => all.motor = MotorFault::Runaway(speed_m_per_s),
            SimFault::PowerLoss => all.power_lost = true,
            SimFault::Scaled { signal, factor } => match signal {
                Signal::Force => all.force_factor *= factor,
                Signal::Position => all.position_factor *= factor,
            },
            SimFault::OpenInterlock { number } => {
                let index = number.saturating_sub(1);
                all.open_interlock = Some(all.open_interlock.map_or(index, |i| i.min(index)));
            }
            SimFault::DriveDisabled => all.drive_disabled = true,
            SimFault::Cell { number, does } => {
                let index = usize::from(number.saturating_sub(1));
                if let Some(cell) = all.cells.get_mut(index) {
                    *cell = Some(does);
                }
            }
            SimFault::BrakeSlips { holds_n } => all.brake = Some(BrakeFault::Slips(holds_n)),
            SimFault::BrakeStaysEngaged => all.brake = Some(BrakeFault::StaysEngaged),
            SimFault::BrakeStaysReleased => all.brake = Some(BrakeFault::StaysReleased),
        }
    }
}
