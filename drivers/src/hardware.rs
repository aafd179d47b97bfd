//! The hardware rig: several buses behind one trait, their inputs brought to the tick and turned into metres and newtons.
//!
//! An input that is older than its file allows is a fault, never a value.

pub mod align;
mod brake;
pub mod bus;
pub mod catch_up;
pub mod config;
pub mod signals;
#[cfg(test)]
mod tests;

pub use config::{BusConfig, EmulatedConfig, HardwareConfig};

use crate::cell_watch;
use crate::cells::Cells;
use crate::emulate::ethercat as emulated_ethercat;
use crate::ethercat::{EthercatBus, Port};
use crate::intern::intern;
use crate::linudp::LinUdp;
use crate::mounting::BRAKE;
use crate::serial::SerialBus;
use crate::simulated::{FORCE, POSITION, REFERENCE, SimTime};
use align::{Align, TickTime};
use brake::Brake;
use bus::{Bus, DriveCommand, Slot};
use rt_core::channel::{ChannelSpec, Frame, Layout, LayoutError};
use rt_core::guard::{Drive, PowerOff, State};
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::{Clock, RealClock};
use rt_core::rig::device::Device;
use rt_core::rig::fault::{AGE_PREFIX, INTERLOCK_PREFIX};
use rt_core::rig::{
    CellSpec, FrozenCheck, Rig, RigCommand, RigFault, RigRefusal, RigSpec, SafetySpec,
};
use signals::{DeadManConfig, InterlockConfig, find_input};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Why a hardware rig cannot be used at all, in distinction to a device that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HardwareError {
    /// Hardware has its own time.
    #[error(
        "the rig '{0}' is hardware and has a time of its own: leave --fast out, or give a simulated rig for what is to \
         run as fast as it can"
    )]
    RealTimeOnly(String),
    /// A bus cannot be set up.
    #[error("bus '{bus}' cannot be set up: {problem}")]
    Bus {
        /// Its name.
        bus: String,
        /// Why, and what to do.
        problem: String,
    },
}

/// What a bus has to know of the rig that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusContext {
    /// The loop's period, in ns.
    pub period_nanos: u64,
    /// How fast a reference catches up after a drive has switched on, in m/s; see [`catch_up`].
    pub catch_up_m_per_s: f64,
}

/// What stands in a rig and whose time passes there, for a segment that is emulated in this process.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    rig: &'a HardwareConfig,
    pantograph: &'a Pantograph,
    time: &'a SimTime,
}

impl BusConfig {
    /// Sets the bus up; devices may be absent and come later. `number` counts from 1 and is named in faults.
    fn open(
        &self,
        number: u16,
        context: &BusContext,
        around: Surroundings<'_>,
    ) -> Result<Box<dyn Bus>, HardwareError> {
        let bus: Result<Box<dyn Bus>, String> = match self {
            BusConfig::LinUdp(config) => LinUdp::open(config, number, context.catch_up_m_per_s)
                .map(|bus| Box::new(bus) as Box<dyn Bus>),
            BusConfig::Ethercat(config) => {
                let in_process = || {
                    emulated_ethercat::in_process(
                        config,
                        around.rig,
                        around.pantograph,
                        around.time,
                    )
                };
                EthercatBus::open(
                    config,
                    number,
                    context.period_nanos,
                    context.catch_up_m_per_s,
                    in_process,
                )
                .and_then(|bus| {
                    // Exact time passes only in cycles; setting up takes real time.
                    if matches!(around.time, SimTime::Exact(_)) {
                        bus.wait_until_set_up(SET_UP)?;
                    }
                    Ok(Box::new(bus) as Box<dyn Bus>)
                })
            }
            BusConfig::Serial(config) => {
                SerialBus::open(config, number, context).map(|bus| Box::new(bus) as Box<dyn Bus>)
            }
        };
        bus.map_err(|problem| HardwareError::Bus {
            bus: self.name().to_owned(),
            problem,
        })
    }
}

/// How long a loop in exact time waits for a segment in the same process.
const SET_UP: Duration = Duration::from_secs(20);

/// SCHED_FIFO priority of the threads of buses: below the loop, above everything else.
pub(crate) const BUS_PRIORITY: u8 = 70;

/// An input that a channel is made of.
struct Input {
    slot: usize,
    align: Align,
    max_age_nanos: i64,
    /// Column of its age.
    age_column: usize,
}

struct Auxiliary {
    input: usize,
    scale: f64,
    offset: f64,
    column: usize,
}

struct Interlock {
    config: InterlockConfig,
    input: usize,
    column: usize,
}

struct DeadMan {
    config: DeadManConfig,
    input: usize,
    column: usize,
}

impl DeadMan {
    fn is_held(&self, values: &[f64]) -> bool {
        self.config.is_held(values[self.input])
    }
}

struct Cell {
    input: usize,
    column: usize,
    /// Its strip, if it has one.
    strip: Option<usize>,
}

struct Mounted {
    bus: Box<dyn Bus>,
    slots: Range<usize>,
}

/// See the module's text.
pub struct HardwareRig {
    spec: RigSpec,
    clock: Box<dyn Clock>,
    ticks: TickTime,
    buses: Vec<Mounted>,
    drive: usize,
    brake: Option<Brake>,
    /// The drive has been told to home and has not finished.
    home: bool,
    /// Until when drives may reset what they have latched: someone has asked for it.
    resets_until: Option<u64>,
    slots: Vec<Slot>,
    /// The motor's position first, then cells, auxiliary channels, interlocks, the brake's switch and the dead man's.
    inputs: Vec<Input>,
    values: Vec<f64>,
    cells: Vec<Cell>,
    lines: Cells,
    strip_columns: Vec<usize>,
    auxiliary: Vec<Auxiliary>,
    interlocks: Vec<Interlock>,
    dead_man: Option<DeadMan>,
    force_column: usize,
    position_column: usize,
    reference_column: Option<usize>,
}

impl HardwareRig {
    /// Opens the buses of a configuration that has been checked. `cells` are those of [`HardwareConfig::cells`] with
    /// the calibrations that they use.
    pub fn open(
        config: &HardwareConfig,
        cells: Vec<CellSpec>,
        pantograph: &Pantograph,
        time: &SimTime,
        period_nanos: u64,
    ) -> Result<Self, HardwareError> {
        let clock: Box<dyn Clock> = match time {
            SimTime::Real => Box::new(RealClock),
            SimTime::Exact(clock) if config.is_in_process() => Box::new(clock.clone()),
            SimTime::Exact(_) => return Err(HardwareError::RealTimeOnly(config.name.clone())),
        };
        let around = Surroundings {
            rig: config,
            pantograph,
            time,
        };
        let context = BusContext {
            period_nanos,
            // Faster than the travel that it catches up with, by as much again.
            catch_up_m_per_s: config.actuator.travel_speed_m_per_s * 2.0,
        };
        let buses = (1..)
            .zip(&config.buses)
            .map(|(number, bus)| bus.open(number, &context, around))
            .collect::<Result<_, _>>()?;
        Ok(Self::assemble(config, buses, cells, clock))
    }

    /// Puts a rig together from buses that were made elsewhere, in the order of the configuration.
    pub fn assemble(
        config: &HardwareConfig,
        buses: Vec<Box<dyn Bus>>,
        cells: Vec<CellSpec>,
        clock: Box<dyn Clock>,
    ) -> Self {
        let mut slots = 0;
        let mounted = buses.into_iter().zip(&config.buses).map(|(bus, config)| {
            let first = slots;
            slots += config.inputs().len();
            Mounted {
                bus,
                slots: first..slots,
            }
        });
        let buses: Vec<Mounted> = mounted.collect();
        let input = |name: &str, align: Align, max_age_s: f64| Input {
            slot: find_input(name, &config.buses).unwrap_or_default(),
            align,
            max_age_nanos: (max_age_s * 1e9) as i64,
            age_column: 0,
        };
        let signals = &config.signals;
        let position = &signals.motor_position;
        let mut inputs = vec![input(&position.input, position.align, position.max_age_s)];
        let strips = config.strips();
        let mut bound_cells = Vec::new();
        for cell in &signals.cells {
            bound_cells.push(Cell {
                input: inputs.len(),
                column: 0,
                strip: strips
                    .iter()
                    .position(|s| Some(*s) == cell.strip.as_deref()),
            });
            inputs.push(input(&cell.input, Align::Hold, cell.max_age_s));
        }
        let mut auxiliary = Vec::new();
        for channel in &signals.auxiliary {
            auxiliary.push(Auxiliary {
                input: inputs.len(),
                scale: channel.scale,
                offset: channel.offset,
                column: 0,
            });
            inputs.push(input(&channel.input, channel.align, channel.max_age_s));
        }
        let mut interlocks = Vec::new();
        for interlock in &signals.interlocks {
            interlocks.push(Interlock {
                config: interlock.clone(),
                input: inputs.len(),
                column: 0,
            });
            inputs.push(input(&interlock.input, Align::Hold, interlock.max_age_s));
        }
        let brake = config
            .brake()
            .map(|brake| Brake::new(brake, &config.buses, inputs.len()));
        if let Some(switch) = config.brake().and_then(|brake| brake.feedback.as_ref()) {
            let name = switch.input.as_deref().unwrap_or_default();
            inputs.push(input(name, Align::Hold, switch.max_age_s));
        }
        let dead_man = signals.dead_man.as_ref().map(|switch| {
            inputs.push(input(&switch.input, Align::Hold, switch.max_age_s));
            DeadMan {
                config: switch.clone(),
                input: inputs.len() - 1,
                column: 0,
            }
        });
        Self {
            lines: Cells::new(&cells),
            spec: config.spec(cells),
            clock,
            ticks: TickTime::default(),
            drive: config
                .buses
                .iter()
                .position(|bus| bus.name() == config.drive)
                .unwrap_or_default(),
            brake,
            buses,
            home: false,
            resets_until: None,
            slots: vec![Slot::default(); slots],
            values: vec![f64::NAN; inputs.len()],
            inputs,
            cells: bound_cells,
            strip_columns: vec![0; strips.len()],
            auxiliary,
            interlocks,
            dead_man,
            force_column: 0,
            position_column: 0,
            reference_column: None,
        }
    }

    /// Whether the drive may move by itself, without the guard: no safety circuit is open or unknown, and the switch is
    /// held.
    fn may_home(&self) -> bool {
        let is_safe = |i: &Interlock| i.config.is_safe(self.values[i.input]);
        let is_held = |switch: &DeadMan| switch.is_held(&self.values);
        self.interlocks.iter().all(is_safe) && self.dead_man.as_ref().is_none_or(is_held)
    }

    /// Brings all inputs to the tick; the first fault is an open interlock, then what a bus says, then an input that
    /// is too old.
    fn read(
        &mut self,
        tick_nanos: u64,
        bus_fault: Option<RigFault>,
        frame: &mut Frame,
    ) -> Result<(), RigFault> {
        let mut stale = None;
        for (i, input) in self.inputs.iter().enumerate() {
            let aligned = input.align.at(tick_nanos, &self.slots[input.slot]);
            let age = aligned.map_or(i64::MAX, |a| a.age_nanos);
            let is_stale = age > input.max_age_nanos;
            self.values[i] = match aligned {
                Some(aligned) if !is_stale => aligned.value,
                _ => f64::NAN,
            };
            // What an exchange measures shortly after its tick is not older than it.
            frame.values[input.age_column] = age.max(0) as f64 * 1e-9;
            if is_stale && stale.is_none() {
                stale = Some(RigFault::StaleInput {
                    input: i as u16,
                    age_us: (age / 1000).clamp(0, i64::from(u32::MAX)) as u32,
                    limit_us: (input.max_age_nanos / 1000) as u32,
                });
            }
        }
        if let Some(switch) = &self.dead_man {
            frame.values[switch.column] = f64::from(u8::from(switch.is_held(&self.values)));
        }
        for (index, interlock) in (0..).zip(&self.interlocks) {
            let value = self.values[interlock.input];
            let is_safe = interlock.config.is_safe(value);
            frame.values[interlock.column] = f64::from(u8::from(is_safe));
            if !is_safe && value.is_finite() {
                return Err(RigFault::Interlock { index });
            }
        }
        match bus_fault.or(stale) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn write(&self, frame: &mut Frame) {
        frame.values[self.position_column] = self.values[0];
        for &column in &self.strip_columns {
            frame.values[column] = 0.0;
        }
        let mut total = 0.0;
        for (i, cell) in self.cells.iter().enumerate() {
            let reading = self.values[cell.input];
            let newtons = self.lines.newtons(i, reading);
            frame.values[cell.column] = reading;
            total += newtons;
            if let Some(strip) = cell.strip {
                frame.values[self.strip_columns[strip]] += newtons;
            }
        }
        frame.values[self.force_column] = total;
        for channel in &self.auxiliary {
            frame.values[channel.column] =
                channel.offset + channel.scale * self.values[channel.input];
        }
        if let Some(brake) = &self.brake {
            frame.values[brake.column] = f64::from(u8::from(brake.follows()));
        }
    }
}

impl Rig for HardwareRig {
    fn spec(&self) -> &RigSpec {
        &self.spec
    }

    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError> {
        self.force_column = layout.column(FORCE.id)?;
        self.position_column = layout.column(POSITION.id)?;
        self.reference_column = layout.find(REFERENCE);
        // The order is that of `HardwareConfig::spec`.
        let mut columns = self.spec.channels[2..].iter().map(|c| layout.column(c.id));
        let mut next = |into: &mut usize| -> Result<(), LayoutError> {
            if let Some(column) = columns.next() {
                *into = column?;
            }
            Ok(())
        };
        for cell in &mut self.cells {
            next(&mut cell.column)?;
        }
        for column in &mut self.strip_columns {
            next(column)?;
        }
        for channel in &mut self.auxiliary {
            next(&mut channel.column)?;
        }
        for interlock in &mut self.interlocks {
            next(&mut interlock.column)?;
        }
        if let Some(brake) = &mut self.brake {
            next(&mut brake.column)?;
        }
        if let Some(switch) = &mut self.dead_man {
            next(&mut switch.column)?;
        }
        for input in &mut self.inputs {
            next(&mut input.age_column)?;
        }
        Ok(())
    }

    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault> {
        let now = self.clock.now();
        let tick = self.ticks.of(frame.t_nanos, now);
        let reference = self.reference_column.map(|column| frame.values[column]);
        let homes = self.home && frame.drive == Drive::Off;
        let wanted_m = reference.unwrap_or(f64::NAN);
        let (is_on, position_m) = match &mut self.brake {
            // Without a number there is nowhere to go.
            None => (frame.drive == Drive::On && wanted_m.is_finite(), wanted_m),
            Some(brake) => {
                let follows = self
                    .buses
                    .get(self.drive)
                    .is_some_and(|m| m.bus.is_following());
                let told = brake.tell(frame, wanted_m, &self.values, follows, homes, now);
                if let Some((bus, number)) = brake.output
                    && let Some(mounted) = self.buses.get_mut(bus)
                {
                    mounted.bus.put_output(number, brake.releases);
                }
                (told.is_on, told.position_m)
            }
        };
        let told = DriveCommand {
            is_on,
            position_m,
            may_reset: frame.state == State::Idle && self.resets_until.is_some_and(|end| now < end),
            home: homes,
            cuts: frame.drive == Drive::Off && frame.power_off == PowerOff::NoVoltage,
        };
        let mut fault = None;
        for (i, mounted) in self.buses.iter_mut().enumerate() {
            let told = if i == self.drive {
                told
            } else {
                DriveCommand {
                    may_reset: told.may_reset,
                    ..DriveCommand::OFF
                }
            };
            let slots = &mut self.slots[mounted.slots.clone()];
            // Every bus is served whatever the others say: the drive is told in any case.
            let done = mounted.bus.exchange(&told, now, slots);
            if i == self.drive {
                self.home &= done == Err(RigFault::Homing);
                let is_lost = matches!(
                    done,
                    Err(RigFault::NotHomed | RigFault::Homing | RigFault::HomingFailed { .. })
                );
                // No line leads from where the motor seemed to be to where it is.
                if is_lost && let Some(position) = self.inputs.first() {
                    self.slots[position.slot].clear();
                }
            }
            if let Err(e) = done {
                fault = fault.or(Some(e));
            }
        }
        if fault.is_none() {
            self.resets_until = None;
        }
        let fault = fault.or_else(|| self.brake.as_ref()?.fault(now));
        let read = self.read(tick, fault, frame);
        self.home &= self.may_home();
        read?;
        self.write(frame);
        Ok(())
    }

    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        match command {
            RigCommand::Calibrate { cell, line, .. } => self.lines.calibrate(cell, line),
            // The motor moves in the very next exchange, before anything else is read.
            RigCommand::Home if !self.may_home() => Err(RigRefusal::NotSafe),
            RigCommand::Home => {
                self.home = true;
                Ok(())
            }
            RigCommand::StopHoming => {
                self.home = false;
                Ok(())
            }
            RigCommand::Reset => {
                self.resets_until = Some(self.clock.now() + RESET_NANOS);
                Ok(())
            }
            RigCommand::HangLoad { .. } | RigCommand::RemoveLoads => Err(RigRefusal::NotSupported),
        }
    }

    fn is_settled(&self) -> bool {
        self.brake.as_ref().is_none_or(Brake::is_settled)
    }

    fn devices(&self) -> Vec<Arc<Device>> {
        self.buses.iter().flat_map(|m| m.bus.devices()).collect()
    }
}

/// The channel of a real dead man's switch, 1 while it is held, and what it is called.
const DEAD_MAN: &str = "dead_man";
const DEAD_MAN_LABEL: &str = "Dead man's switch";

/// What holds for hardware where its file says nothing.
const ARMED_FOR_S: f64 = 300.0;
const MAX_GAP_S: f64 = 0.1;
const MAX_MISSES: u32 = 50;

/// For how long drives may take to be reset after someone has asked for it, in ns.
const RESET_NANOS: u64 = 2_000_000_000;

impl HardwareConfig {
    /// Whether every bus is emulated in this process, so that it can run in any time.
    pub fn is_in_process(&self) -> bool {
        let is =
            |bus: &BusConfig| matches!(bus, BusConfig::Ethercat(e) if e.port == Port::InProcess);
        self.buses.iter().all(is)
    }

    /// The load cells, without their calibrations.
    pub fn cells(&self) -> Vec<CellSpec> {
        let cells = (1..).zip(&self.signals.cells);
        cells
            .map(|(number, cell)| CellSpec {
                id: cell.id.clone(),
                name: cell.name.clone(),
                raw: ChannelSpec::measured(
                    intern(&format!("force_raw_{number}")),
                    intern(&format!("Raw reading of load cell {number}")),
                    intern(&cell.unit),
                ),
                force: FORCE.id,
                named: cell.calibration.clone(),
                calibration: None,
            })
            .collect()
    }

    /// The strips, each once, in the order of the cells.
    fn strips(&self) -> Vec<&str> {
        let mut strips = Vec::new();
        for strip in self.signals.cells.iter().filter_map(|c| c.strip.as_deref()) {
            if !strips.contains(&strip) {
                strips.push(strip);
            }
        }
        strips
    }

    /// What the rig declares, without opening anything.
    pub fn spec(&self, cells: Vec<CellSpec>) -> RigSpec {
        let signals = &self.signals;
        let mut channels = vec![FORCE, POSITION];
        channels.extend(cells.iter().map(|cell| cell.raw));
        let measured = |id: String, label: String, unit: &str| {
            ChannelSpec::measured(intern(&id), intern(&label), intern(unit))
        };
        channels.extend(self.strips().iter().map(|strip| {
            measured(
                format!("force_strip_{strip}"),
                format!("Force of strip {strip}"),
                "N",
            )
        }));
        channels.extend(
            signals
                .auxiliary
                .iter()
                .map(|c| measured(c.id.clone(), c.label.clone(), &c.unit)),
        );
        channels.extend(
            signals
                .interlocks
                .iter()
                .map(|i| measured(format!("{INTERLOCK_PREFIX}{}", i.id), i.label.clone(), "")),
        );
        channels.extend(self.brake().map(|_| BRAKE));
        channels.extend(
            signals
                .dead_man
                .iter()
                .map(|_| measured(DEAD_MAN.into(), DEAD_MAN_LABEL.into(), "")),
        );
        let age = |id: &str, label: &str| {
            measured(format!("{AGE_PREFIX}{id}"), format!("Age of: {label}"), "s")
        };
        channels.push(age(POSITION.id, POSITION.label));
        channels.extend(cells.iter().map(|c| age(c.raw.id, c.raw.label)));
        channels.extend(signals.auxiliary.iter().map(|c| age(&c.id, &c.label)));
        channels.extend(
            signals
                .interlocks
                .iter()
                .map(|i| age(&format!("{INTERLOCK_PREFIX}{}", i.id), &i.label)),
        );
        let switch = self.brake().and_then(|brake| brake.feedback.as_ref());
        channels.extend(switch.map(|_| age("brake_switch", "Switch of the brake")));
        channels.extend(
            signals
                .dead_man
                .iter()
                .map(|_| age(DEAD_MAN, DEAD_MAN_LABEL)),
        );
        RigSpec {
            name: self.name.clone(),
            channels,
            actuators: vec![self.actuator.spec()],
            frozen: self
                .force_frozen_after_cycles
                .map(|cycles| FrozenCheck {
                    channel: FORCE.id,
                    cycles,
                })
                .into_iter()
                .collect(),
            watch: cell_watch::of_hardware(self, &cells),
            limits: self.limits.clone(),
            hangs_loads: false,
            safety: SafetySpec {
                // Nothing can be hurt in a segment that is emulated in this process.
                needs_real_time: Some(self.safety.needs_real_time.unwrap_or(!self.is_in_process())),
                // A real motor does not stay armed for ever because someone went for lunch.
                armed_for_s: Some(self.safety.armed_for_s.unwrap_or(ARMED_FOR_S)),
                max_gap_s: Some(self.safety.max_gap_s.unwrap_or(MAX_GAP_S)),
                max_misses: Some(self.safety.max_misses.unwrap_or(MAX_MISSES)),
                ..self.safety
            },
            dead_man: signals.dead_man.as_ref().map(|_| DEAD_MAN),
            brake: self.brake().map(|_| BRAKE.id),
            is_hardware: !self.is_in_process(),
            cells,
        }
    }
}
