//! What answers on a rig with its drive off: devices, faults, inputs, against what the rig file expects.

use super::WorkError;
use super::play::Stand;
use crate::home;
use drivers::rig_file::{self, RigError, RigSetup};
use drivers::simulated::SimTime;
use rt_core::channel::{ChannelSpec, Frame, Layout};
use rt_core::fault::{Fault, FaultText};
use rt_core::guard::{Drive, State};
use rt_core::identify::noise_floor;
use rt_core::pacing::{Clock, ExactClock, NANOS_PER_SECOND, Pacer, RealClock};
use rt_core::rig::device::DeviceState;
use rt_core::rig::setting::Setting;
use rt_core::rig::{Rig, RigCommand, RigFault, RigRefusal};
use std::sync::atomic::Ordering;

/// A device that the rig file expects.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDevice {
    /// What a person calls it.
    pub name: String,
    /// What it has told of itself, where its protocol has such.
    pub identity: Option<String>,
    /// What it does.
    pub state: DeviceState,
    /// Whether it answers.
    pub answers: bool,
    /// Exchanges that were tried.
    pub exchanges: u64,
    /// Exchanges without an answer.
    pub lost: u64,
    /// Answers that came late.
    pub late: u64,
    /// What decides what it does alone: as the rig file demands it, and as it was read back.
    pub settings: Vec<Setting>,
}

/// What an input showed.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundInput {
    /// The channel.
    pub channel: ChannelSpec,
    /// Mean of what it showed; `None` if it showed nothing.
    pub mean: Option<f64>,
    /// Its standard deviation.
    pub deviation: Option<f64>,
}

/// What a scan found.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The rig's name.
    pub rig: String,
    /// Its devices.
    pub devices: Vec<FoundDevice>,
    /// Its inputs.
    pub inputs: Vec<FoundInput>,
    /// Why the last exchange failed, if it did.
    pub fault: Option<FaultText>,
    /// Exchanges that succeeded.
    pub good: u64,
    /// Exchanges in all.
    pub tried: u64,
    /// Differences from what the rig file expects.
    pub differences: Vec<String>,
}

impl Scan {
    /// Whether everything that the rig file expects is there and answers.
    pub fn is_held(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Longest time that devices get to connect, in s.
const CONNECT_S: f64 = 10.0;
/// Good exchanges that are read then.
const READ: u64 = 250;
const PERIOD_NANOS: u64 = 2_000_000;

/// Simulated time or the system's.
enum AnyClock {
    Exact(ExactClock),
    Real(RealClock),
}

impl Clock for AnyClock {
    fn now(&self) -> u64 {
        match self {
            AnyClock::Exact(clock) => clock.now(),
            AnyClock::Real(clock) => clock.now(),
        }
    }

    fn sleep_until(&mut self, deadline: u64) {
        match self {
            AnyClock::Exact(clock) => clock.sleep_until(deadline),
            AnyClock::Real(clock) => clock.sleep_until(deadline),
        }
    }
}

/// A rig between its exchanges, drive off, and the clock by which it is exchanged.
pub(super) struct Listener {
    pub rig: Box<dyn Rig>,
    pub layout: Layout,
    pub frame: Frame,
    /// The drive was told to find its home position.
    homes: bool,
    max_gap_s: Option<f64>,
    pacer: Pacer,
    clock: AnyClock,
}

impl Listener {
    /// Builds the rig without a bench.
    pub fn open(stand: &Stand) -> Result<Self, WorkError> {
        let exact = ExactClock::default();
        let (time, clock) = if stand.is_exact()? {
            (SimTime::Exact(exact.clone()), AnyClock::Exact(exact))
        } else {
            (SimTime::Real, AnyClock::Real(RealClock))
        };
        let setup = RigSetup {
            period_nanos: PERIOD_NANOS,
            time,
            injections: &stand.inject,
            uplift_n: None,
            own_calibrations: Some(home::calibrations_dir()),
        };
        let mut rig = rig_file::load_rig(&stand.path, setup).map_err(|e| match e {
            RigError::File(e) => WorkError::Input(e.to_string()),
            RigError::Hardware { .. } => WorkError::Environment(e.to_string()),
        })?;
        let mut layout = Layout::default();
        layout
            .append(&rig.spec().channels)
            .and_then(|()| rig.bind(&layout))
            .map_err(|e| WorkError::Input(e.to_string()))?;
        let mut frame = Frame::empty();
        (frame.state, frame.drive) = (State::Idle, Drive::Off);
        Ok(Self {
            max_gap_s: rig.spec().safety.max_gap_s,
            homes: false,
            rig,
            layout,
            frame,
            pacer: Pacer::new(PERIOD_NANOS),
            clock,
        })
    }

    /// One exchange at its time.
    pub fn exchange(&mut self) -> Result<(), RigFault> {
        let tick = self.pacer.wait(&mut self.clock);
        (self.frame.seq, self.frame.t_nanos) = (tick.seq, tick.t_nanos);
        let gap_s = tick.skipped as f64 * PERIOD_NANOS as f64 / NANOS_PER_SECOND as f64;
        // What moves unwatched is stopped before anything else is said.
        if self.homes && self.max_gap_s.is_some_and(|most| gap_s > most) {
            self.homes = self.rig.command(RigCommand::StopHoming).is_err();
        }
        self.rig.exchange(&mut self.frame)
    }

    /// Lets the drive find its home position.
    pub fn begin_homing(&mut self) -> Result<(), RigRefusal> {
        self.rig.command(RigCommand::Home)?;
        self.homes = true;
        Ok(())
    }

    /// Whether it was stopped because this program stood still for longer than the rig allows.
    pub fn lost_homing(&self) -> bool {
        !self.homes
    }
}

impl Listener {
    /// Ends a homing in a controlled way: the drive is told so in exchanges of its own.
    pub fn stop_homing(&mut self) {
        if self.rig.command(RigCommand::StopHoming).is_ok() {
            for _ in 0..STOPPING {
                // Whatever it answers, it was told.
                let _ = self.exchange();
            }
        }
    }
}

/// Exchanges in which a drive is told to stop homing.
const STOPPING: usize = 5;

/// Exchanges in a time.
pub(super) fn cycles(seconds: f64) -> u64 {
    (seconds * NANOS_PER_SECOND as f64 / PERIOD_NANOS as f64) as u64
}

/// Listens to a rig.
pub fn scan(stand: &Stand) -> Result<Scan, WorkError> {
    let mut listener = Listener::open(stand)?;
    let devices = listener.rig.devices();
    let channels = listener.rig.spec().channels.clone();
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); channels.len()];
    let (mut good, mut tried, mut last) = (0, 0, None);
    // A simulated rig connects at once: no need to wait for what will not come.
    let patience = if stand.is_simulated() { 0.5 } else { CONNECT_S };
    // A drive that is not homed, or is set otherwise, answers as well as it can.
    let mut answered = 0;
    while good + answered < READ && tried < cycles(patience) + READ {
        if stand.stop.load(Ordering::Relaxed) {
            return Err(WorkError::Stopped);
        }
        tried += 1;
        match listener.exchange() {
            Ok(()) => {
                good += 1;
                last = None;
                for (values, value) in samples.iter_mut().zip(&listener.frame.values) {
                    values.push(*value);
                }
            }
            Err(fault) => {
                last = Some(fault);
                let answers = matches!(fault, RigFault::NotHomed | RigFault::DeviceSetting { .. });
                answered += u64::from(answers);
            }
        }
    }
    let devices: Vec<FoundDevice> = devices
        .iter()
        .map(|device| {
            let state = device.state();
            FoundDevice {
                name: device.name.clone(),
                identity: device.identity(),
                state,
                answers: matches!(state, DeviceState::Operational | DeviceState::Powered),
                exchanges: device.exchanges.load(Ordering::Relaxed),
                lost: device.lost.load(Ordering::Relaxed),
                late: device.late.load(Ordering::Relaxed),
                settings: device.settings(),
            }
        })
        .collect();
    let fault = last.map(|fault| Fault::Rig(fault).describe(&listener.layout));
    let inputs: Vec<FoundInput> = channels
        .iter()
        .zip(&samples)
        .map(|(channel, values)| {
            let known: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            FoundInput {
                channel: *channel,
                mean: (!known.is_empty()).then_some(mean),
                deviation: noise_floor(&known),
            }
        })
        .collect();
    let absent = devices.iter().filter(|d| !d.answers);
    let mut differences: Vec<String> = absent
        .map(|d| {
            format!(
                "{} is expected and does not answer ({})",
                d.name,
                d.state.name()
            )
        })
        .collect();
    if let Some(fault) = &fault {
        differences.push(format!("{}. {}", fault.what, fault.advice));
    }
    differences.extend(listener.rig.devices().iter().filter_map(|d| d.problem()));
    for device in &devices {
        let others = device.settings.iter().filter(|s| s.agrees == Some(false));
        differences.extend(others.map(|s| format!("{}: {}", device.name, s.describe())));
    }
    if good > 0 {
        let silent = inputs.iter().filter(|input| input.mean.is_none());
        differences.extend(silent.map(|input| {
            format!(
                "{} ({}) shows no number: check its cable, amplifier and calibration",
                input.channel.label, input.channel.id
            )
        }));
    }
    Ok(Scan {
        rig: listener.rig.spec().name.clone(),
        devices,
        inputs,
        fault,
        good,
        tried,
        differences,
    })
}
