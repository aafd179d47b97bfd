//! An EtherCAT segment with a CiA 402 drive, analog inputs and digital inputs, as a bus of a hardware rig.
//!
//! A thread of its own (`service`) sets the segment up to SAFE-OP with ethercrab; then the real-time thread owns the
//! transport and runs the cycle with a frame of our own (`cyclic`): it brings the devices to OP, acknowledges what has
//! left OP, reads emergencies, and gives the transport back when only a new set-up helps.

pub mod cia402;
pub mod config;
pub mod counters;
pub mod cyclic;
pub mod homing;
pub mod pdu_io;
pub mod power_off;
pub mod raw_socket;
pub mod reactions;
pub mod service;
pub mod settings;
pub mod setup;
pub mod transport;
pub mod wire;

pub use config::{EthercatConfig, Port};

use crate::drive_lock::DriveLock;
use crate::hardware::bus::{Bus, DriveCommand, Slot};
use cia402::{Cia402, DriveInputs, DriveOutputs};
use config::{DRIVE_INPUTS, find_entry};
use counters::Counters;
use cyclic::{Cycle, Cyclic};
use rt_core::rig::RigFault;
use rt_core::rig::device::{Device, DeviceState};
use service::ServiceLink;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use transport::Transport;

/// A number in the process data of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    device: usize,
    bit: usize,
    bits: u8,
}

impl Field {
    /// The bits as an unsigned number.
    fn read(self, data: &[u8]) -> u64 {
        let mut value = 0;
        for i in 0..usize::from(self.bits) {
            let bit = self.bit + i;
            let is_set = data
                .get(bit / 8)
                .is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
            value |= u64::from(is_set) << i;
        }
        value
    }

    /// The bits as a number with a sign.
    fn read_signed(self, data: &[u8]) -> i64 {
        let unused = 64 - u32::from(self.bits.clamp(1, 64));
        ((self.read(data) << unused) as i64) >> unused
    }

    fn write(self, data: &mut [u8], value: u64) {
        for i in 0..usize::from(self.bits) {
            let bit = self.bit + i;
            if let Some(byte) = data.get_mut(bit / 8) {
                let mask = 1 << (bit % 8);
                *byte = if value >> i & 1 == 1 {
                    *byte | mask
                } else {
                    *byte & !mask
                };
            }
        }
    }
}

/// The drive with its fields.
struct Driven {
    cia402: Cia402,
    device: usize,
    control: Field,
    target: Field,
    mode: Option<Field>,
    status: Field,
    actual: Field,
    mode_shown: Field,
    error: Option<Field>,
}

/// A digital output.
struct Output {
    field: Field,
    is_set: bool,
}

struct Input {
    field: Field,
    is_signed: bool,
    scale: f64,
    offset: f64,
}

/// See the module's text.
pub struct EthercatBus {
    bus: u16,
    service: ServiceLink,
    cyclic: Option<Box<Cyclic>>,
    driven: Option<Driven>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    devices: Vec<Arc<Device>>,
    counters: Arc<Counters>,
    /// What is said while nothing can be exchanged.
    waiting: RigFault,
    /// Freed when everything else has gone.
    lock: Option<DriveLock>,
}

impl EthercatBus {
    /// Begins to set up the segment of a configuration that has been checked; one in this process is asked for.
    pub fn open(
        config: &EthercatConfig,
        number: u16,
        period_nanos: u64,
        catch_up_m_per_s: f64,
        in_process: impl FnOnce() -> Box<dyn Transport>,
    ) -> Result<Self, String> {
        // Nothing is sent to a segment that another program speaks to.
        let (lock, transport) = match &config.port {
            Port::InProcess => (None, in_process()),
            Port::Interface(name) => {
                let lock = DriveLock::of_interface(name)?;
                let socket: Box<dyn Transport> = Box::new(raw_socket::RawSocket::open(name)?);
                (Some(lock), socket)
            }
        };
        let mut bus = Self::start(config, number, period_nanos, catch_up_m_per_s, transport)?;
        bus.lock = lock;
        Ok(bus)
    }

    /// Begins to set a segment up over a transport. The configuration has been checked.
    pub fn start(
        config: &EthercatConfig,
        number: u16,
        period_nanos: u64,
        catch_up_m_per_s: f64,
        transport: Box<dyn Transport>,
    ) -> Result<Self, String> {
        let counters = Arc::<Counters>::default();
        let driven = match &config.drive {
            Some(drive) => Some(
                Driven::new(config, drive, catch_up_m_per_s).ok_or("the drive is not mapped")?,
            ),
            None => None,
        };
        let inputs = config.inputs.iter().map(|input| {
            let device = config.device(&input.device)?;
            let (bit, bits) = find_entry(&config.devices[device].inputs, input.index, input.sub)?;
            Some(Input {
                field: Field { device, bit, bits },
                is_signed: input.signed,
                scale: input.scale,
                offset: input.offset,
            })
        });
        let inputs = inputs
            .collect::<Option<_>>()
            .ok_or("an input is not mapped")?;
        let outputs = config.outputs.iter().map(|output| {
            let device = config.device(&output.device)?;
            let (first, _) = find_entry(&config.devices[device].outputs, output.index, output.sub)?;
            let field = Field {
                device,
                bit: first + usize::from(output.bit),
                bits: 1,
            };
            Some(Output {
                field,
                is_set: false,
            })
        });
        let outputs = outputs
            .collect::<Option<_>>()
            .ok_or("an output is not mapped")?;
        let name = |device: &config::DeviceConfig| {
            Device::new(format!("{} '{}'", config.name, device.name))
        };
        let devices: Vec<Arc<Device>> = config.devices.iter().map(name).collect();
        if devices.is_empty() {
            return Err("there are no devices".into());
        }
        Ok(Self {
            bus: number,
            service: service::start(
                config,
                number,
                period_nanos,
                transport,
                Arc::clone(&counters),
                devices.clone(),
            )?,
            cyclic: None,
            driven,
            inputs,
            outputs,
            devices,
            counters,
            waiting: RigFault::Connecting { bus: number },
            lock: None,
        })
    }

    /// What happened on the wire.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Why it cannot be set up, in words; not for the real-time thread.
    pub fn problem(&self) -> Option<String> {
        self.devices.first()?.problem()
    }

    /// Waits until the cycle can run, for a loop whose time does not pass meanwhile; not for the real-time thread.
    pub fn wait_until_set_up(&self, longest: Duration) -> Result<(), String> {
        let end = Instant::now() + longest;
        while !self.is_set_up() {
            if Instant::now() > end {
                return Err(self
                    .problem()
                    .unwrap_or_else(|| "the segment does not answer".into()));
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Whether the cycle runs.
    pub fn is_set_up(&self) -> bool {
        self.cyclic.is_some() || !self.service.ready.is_empty()
    }

    /// Frames belong to the whole segment; the first device shows them.
    fn show_counters(&self) {
        let wire = &self.counters;
        if let Some(first) = self.devices.first() {
            let rejected = [&wire.bad, &wire.duplicate, &wire.foreign].map(Counters::read);
            first
                .rejected
                .store(rejected.iter().sum(), Ordering::Relaxed);
            first
                .late
                .store(Counters::read(&wire.late), Ordering::Relaxed);
        }
    }

    fn note(&self, state: DeviceState, is_late: bool) {
        for device in &self.devices {
            device.note(state, is_late);
        }
    }

    /// Every device answers, and the drive's motor may have power.
    fn note_drive(&self, has_power: bool) {
        let drive = self.driven.as_ref().map(|d| d.device);
        for (i, device) in self.devices.iter().enumerate() {
            let state = if has_power && drive == Some(i) {
                DeviceState::Powered
            } else {
                DeviceState::Operational
            };
            device.note(state, false);
        }
    }

    /// Sends outputs, takes inputs.
    fn cycle(&mut self, told: &DriveCommand, now: u64, slots: &mut [Slot]) -> Result<(), RigFault> {
        let Some(cyclic) = &mut self.cyclic else {
            return Err(self.waiting);
        };
        // A drive that would do something else alone is not switched on.
        let differs = cyclic.differs();
        let told = if differs.is_some() {
            &DriveCommand::OFF
        } else {
            told
        };
        if let Some(driven) = &mut self.driven {
            driven.put(cyclic, told, now);
        }
        for output in &self.outputs {
            output.put(cyclic);
        }
        match cyclic.exchange(now) {
            Cycle::Good => {}
            Cycle::Bad(fault) => {
                if let Some(driven) = &mut self.driven {
                    driven.cia402.miss();
                }
                return Err(fault);
            }
            Cycle::Broken(fault) => {
                self.waiting = fault;
                if let Some(driven) = &mut self.driven {
                    driven.cia402.forget();
                }
                slots.iter_mut().for_each(Slot::clear);
                if let Some(cyclic) = self.cyclic.take()
                    && let Err(rtrb::PushError::Full(back)) = self.service.broken.push(cyclic)
                {
                    self.cyclic = Some(back);
                }
                return Err(fault);
            }
        }
        let at = cyclic.sent_at();
        let (drive_slots, own_slots) = slots.split_at_mut(match self.driven {
            Some(_) => DRIVE_INPUTS.len().min(slots.len()),
            None => 0,
        });
        for (slot, input) in own_slots.iter_mut().zip(&self.inputs) {
            let data = cyclic.inputs(input.field.device);
            let count = match input.is_signed {
                true => input.field.read_signed(data) as f64,
                false => input.field.read(data) as f64,
            };
            slot.put(input.offset + input.scale * count, at);
        }
        let done = match &mut self.driven {
            Some(driven) => driven.take(cyclic, told, now, at, drive_slots),
            None => Ok(()),
        };
        match (done, differs) {
            // The worse of the two.
            (Err(RigFault::DriveKeepsPower { .. }), _) | (_, None) => done,
            (_, Some(fault)) => Err(fault),
        }
    }
}

impl Bus for EthercatBus {
    fn devices(&self) -> Vec<Arc<Device>> {
        self.devices.clone()
    }

    fn exchange(
        &mut self,
        told: &DriveCommand,
        now_nanos: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault> {
        if self.cyclic.is_none() {
            if let Ok(fault) = self.service.faults.pop() {
                self.waiting = fault;
            }
            if let Ok(cyclic) = self.service.ready.pop() {
                self.cyclic = Some(cyclic);
                self.waiting = RigFault::Connecting { bus: self.bus };
            }
        }
        let done = self.cycle(told, now_nanos, inputs);
        self.show_counters();
        match done {
            Ok(()) => self.note_drive(told.is_on),
            // All devices answer; only where the motor is has to be found out.
            Err(RigFault::Homing | RigFault::DriveKeepsPower { .. }) => self.note_drive(true),
            Err(
                RigFault::NotHomed | RigFault::HomingFailed { .. } | RigFault::DeviceSetting { .. },
            ) => self.note_drive(false),
            Err(RigFault::Connecting { .. }) => self.note(DeviceState::Starting, false),
            Err(
                RigFault::DriveFault { .. }
                | RigFault::DriveNotEnabled { .. }
                | RigFault::FollowingError { .. }
                | RigFault::Emergency { .. },
            ) => self.note(DeviceState::Operational, false),
            Err(_) => self.note(DeviceState::NotAnswering, false),
        }
        done
    }

    fn put_output(&mut self, number: usize, is_set: bool) {
        if let Some(output) = self.outputs.get_mut(number) {
            output.is_set = is_set;
        }
    }

    fn is_following(&self) -> bool {
        self.driven
            .as_ref()
            .is_some_and(|d| d.cia402.is_following())
    }
}

impl Output {
    fn put(&self, cyclic: &mut Cyclic) {
        let data = cyclic.outputs(self.field.device);
        self.field.write(data, self.is_set.into());
    }
}

impl Drop for EthercatBus {
    /// Leaves the drive without power: a quick stop, then no voltage, then no frames, which its watchdog answers.
    fn drop(&mut self) {
        let (Some(cyclic), Some(driven)) = (&mut self.cyclic, &mut self.driven) else {
            return;
        };
        for output in &mut self.outputs {
            output.is_set = false;
            output.put(cyclic);
        }
        let begin = Instant::now();
        let longest = Duration::from_nanos(driven.cia402.off_within_nanos());
        let mut before = None;
        loop {
            let now = cyclic.now();
            driven.put(cyclic, &DriveCommand::OFF, now);
            if !matches!(cyclic.exchange(now), Cycle::Good) {
                return;
            }
            let mut none = [Slot::default(); DRIVE_INPUTS.len()];
            let _ = driven.take(cyclic, &DriveCommand::OFF, now, now, &mut none);
            // Exact time has come to its end with the loop: nothing changes any more.
            let is_over = before == Some(now) || begin.elapsed() > longest;
            if is_over || !driven.cia402.has_power() {
                return;
            }
            before = Some(now);
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Driven {
    fn new(
        config: &EthercatConfig,
        drive: &config::DriveConfig,
        catch_up_m_per_s: f64,
    ) -> Option<Self> {
        let device = config.device(&drive.device)?;
        let there = &config.devices[device];
        let output = |index| {
            let (bit, bits) = find_entry(&there.outputs, index, 0)?;
            Some(Field { device, bit, bits })
        };
        let input = |index| {
            let (bit, bits) = find_entry(&there.inputs, index, 0)?;
            Some(Field { device, bit, bits })
        };
        Some(Self {
            cia402: Cia402::new(drive, catch_up_m_per_s),
            device,
            control: output(0x6040)?,
            target: output(0x607A)?,
            mode: output(0x6060),
            status: input(0x6041)?,
            actual: input(0x6064)?,
            mode_shown: input(0x6061)?,
            error: input(0x603F),
        })
    }

    fn put(&mut self, cyclic: &mut Cyclic, told: &DriveCommand, now: u64) {
        let DriveOutputs {
            control,
            target,
            mode,
        } = self.cia402.outputs(told, now);
        let data = cyclic.outputs(self.device);
        self.control.write(data, control.into());
        self.target.write(data, target as u32 as u64);
        if let Some(field) = self.mode {
            field.write(data, mode as u8 as u64);
        }
    }

    fn take(
        &mut self,
        cyclic: &Cyclic,
        told: &DriveCommand,
        now: u64,
        at: u64,
        slots: &mut [Slot],
    ) -> Result<(), RigFault> {
        let data = cyclic.inputs(self.device);
        let inputs = DriveInputs {
            status: self.status.read(data) as u16,
            actual: self.actual.read_signed(data) as i32,
            mode: self.mode_shown.read_signed(data) as i8,
            error: self.error.map(|field| field.read(data) as u16),
        };
        let values = [self.cia402.metres(inputs.actual), f64::from(inputs.status)];
        for (slot, value) in slots.iter_mut().zip(values) {
            slot.put(value, at);
        }
        self.cia402.take(inputs, told, now)
    }
}
