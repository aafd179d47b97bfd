//! An emulated EtherCAT segment: every device of a rig file, with motor, pantograph and load cells behind them.
//!
//! A frame goes through all devices in the order of the cabling and comes back, as on the wire. Time-keeping is the
//! caller's: whoever carries a frame says when it passes. Nothing is allocated while frames pass.

mod coe;
mod drive;
mod esc;
pub mod fault;
mod homing;
pub mod in_process;
mod mailbox;
mod reactions;
pub mod served;
mod sii;
mod world;

pub use drive::{DriveMisbehaviour, DriveState};
pub use esc::{Refusal, Source};

use super::plant::SharedPlant;
use crate::ethercat::config::EthercatConfig;
use crate::ethercat::transport::Transport;
use crate::ethercat::wire::{Datagram, Walk, command, write_u16};
use crate::hardware::HardwareConfig;
use crate::mounting::BrakeOutput;
use crate::simulated::SimTime;
use coe::Dictionary;
use drive::EmulatedDrive;
use esc::{EmulatedInput, Esc};
use fault::{FrameFault, SegmentFault};
use in_process::{InProcess, SegmentClock};
use rt_core::model::pantograph::Pantograph;
use rtrb::{Consumer, Producer, RingBuffer};
use sii::Identity;
use world::World;

pub(crate) use crate::ethercat::wire::write_u16 as wire_u16;

/// Faults that may wait for the next frame.
const WAITING: usize = 64;

/// See the module's text.
pub struct Segment {
    devices: Vec<Esc>,
    /// Product codes as the rig file says.
    products: Vec<u32>,
    /// Device and number among its sources of each input of the rig file.
    inputs: Vec<Option<(usize, usize)>>,
    world: World,
    /// The output that operates the brake: device, object, bit.
    brake: Option<(usize, usize, u8)>,
    /// How many devices are connected.
    connected: usize,
    is_cut: bool,
    has_power: bool,
    faults: Consumer<SegmentFault>,
    treatment: Option<(FrameFault, u32)>,
}

/// The emulated segment of a rig, and where faults are put.
pub fn segment_of(
    config: &EthercatConfig,
    rig: &HardwareConfig,
    pantograph: &Pantograph,
) -> (Segment, Producer<SegmentFault>) {
    segment_on(config, rig, SharedPlant::new(&rig.model(), pantograph))
}

/// The same on a plant that others share.
pub fn segment_on(
    config: &EthercatConfig,
    rig: &HardwareConfig,
    plant: SharedPlant,
) -> (Segment, Producer<SegmentFault>) {
    let sources: Vec<Source> = config
        .inputs
        .iter()
        .map(|input| {
            let name = format!("{}.{}", config.name, input.name);
            let cell = rig.signals.cells.iter().position(|c| c.input == name);
            match cell {
                Some(cell) => Source::Cell {
                    cell,
                    scale: input.scale,
                    offset: input.offset,
                },
                None => digital(rig, &name),
            }
        })
        .collect();
    let (mut segment, put) =
        Segment::new(config, &sources, World::new(plant, rig.signals.cells.len()));
    segment.brake = brake_output(config, rig, &segment.devices);
    (segment, put)
}

/// A digital input: safety circuits and perhaps the switch of the brake.
fn digital(rig: &HardwareConfig, input: &str) -> Source {
    let count = closed_circuits(rig, input);
    let brake = rig.mounting.as_ref().and_then(|m| m.brake.as_ref());
    let switch = brake.and_then(|b| b.feedback.as_ref());
    match switch.filter(|switch| switch.input.as_deref() == Some(input)) {
        Some(switch) => Source::Brake {
            count,
            bit: switch.bit.unwrap_or(0),
            set_means_engaged: switch.set_means_engaged,
        },
        None => Source::Count(count),
    }
}

/// The output of this segment that operates the brake, if one does.
fn brake_output(
    config: &EthercatConfig,
    rig: &HardwareConfig,
    devices: &[Esc],
) -> Option<(usize, usize, u8)> {
    let BrakeOutput::Output(name) = &rig.mounting.as_ref()?.brake.as_ref()?.output else {
        return None;
    };
    let name = name.strip_prefix(&config.name)?.strip_prefix('.')?;
    let output = config.outputs.iter().find(|o| o.name == name)?;
    let device = config.device(&output.device)?;
    let dictionary = &devices.get(device)?.dictionary;
    Some((
        device,
        dictionary.find(output.index, output.sub)?,
        output.bit,
    ))
}

/// The count of a digital input with every safety circuit closed.
fn closed_circuits(rig: &HardwareConfig, input: &str) -> i64 {
    let circuits = rig.signals.interlocks.iter().filter(|i| i.input == input);
    circuits
        .filter(|i| i.closed_means_safe)
        .fold(0, |count, i| count | 1 << i.bit.unwrap_or(0))
}

/// The emulated segment of a rig in this process.
pub fn in_process(
    config: &EthercatConfig,
    rig: &HardwareConfig,
    pantograph: &Pantograph,
    time: &SimTime,
) -> Box<dyn Transport> {
    let (segment, _) = segment_of(config, rig, pantograph);
    let clock = match time {
        SimTime::Real => SegmentClock::Real,
        SimTime::Exact(clock) => SegmentClock::Exact(clock.clone()),
    };
    Box::new(InProcess::new(segment, clock))
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It goes back as it is.
    Returns,
    /// It goes back, treated badly.
    Treated(FrameFault),
    /// Nothing comes back.
    None,
}

impl Segment {
    /// All devices of a rig file, and where faults are put. `sources` says for each input of the file what it shows.
    fn new(
        config: &EthercatConfig,
        sources: &[Source],
        world: World,
    ) -> (Self, Producer<SegmentFault>) {
        let (put, faults) = RingBuffer::new(WAITING);
        let mut devices: Vec<Esc> = config
            .devices
            .iter()
            .enumerate()
            .map(|(i, device)| {
                let identity = Identity {
                    vendor: device.vendor,
                    product: device.product,
                    revision: device.revision.unwrap_or(1),
                };
                let mut dictionary = Dictionary::of(device, identity);
                let drive = config.drive.as_ref().filter(|d| d.device == device.name);
                let drive =
                    drive.map(|d| EmulatedDrive::new(d, &mut dictionary, world.home_switch()));
                let mut esc = Esc::new(i, identity, &device.name, dictionary);
                esc.drive = drive;
                esc
            })
            .collect();
        let inputs = config
            .inputs
            .iter()
            .zip(sources)
            .map(|(input, &source)| {
                let device = config.device(&input.device)?;
                let esc = devices.get_mut(device)?;
                let object = esc.dictionary.find(input.index, input.sub)?;
                esc.sources.push(EmulatedInput {
                    object,
                    source,
                    held: None,
                });
                Some((device, esc.sources.len() - 1))
            })
            .collect();
        let mut segment = Self {
            connected: devices.len(),
            devices,
            products: config.devices.iter().map(|d| d.product).collect(),
            inputs,
            world,
            brake: None,
            is_cut: false,
            has_power: true,
            faults,
            treatment: None,
        };
        segment.connect(segment.devices.len());
        (segment, put)
    }

    /// The state of the drive, if there is one.
    pub fn drive_state(&self) -> Option<DriveState> {
        let drive = self.devices.iter().find_map(|d| d.drive.as_ref());
        drive.map(EmulatedDrive::state)
    }

    fn connect(&mut self, count: usize) {
        self.connected = count;
        for (i, device) in self.devices.iter_mut().enumerate() {
            device.set_behind(count.saturating_sub(i + 1));
        }
    }

    /// A frame passes all devices at a time in ns; what becomes of the answer.
    pub fn pass(&mut self, frame: &mut [u8], now: u64) -> Answer {
        while let Ok(fault) = self.faults.pop() {
            self.take_fault(fault, now);
        }
        self.operate_brake();
        self.live_until(now);
        if self.is_cut || !self.has_power || self.connected == 0 {
            return Answer::None;
        }
        // A device that cannot read a frame passes it on as it is.
        let Ok(mut walk) = Walk::begin(frame) else {
            return Answer::None;
        };
        while let Ok(Some(datagram)) = walk.next(frame) {
            self.pass_datagram(frame, &datagram, now);
        }
        // The first device marks the frame as one that comes back.
        frame[6] |= 0x02;
        match &mut self.treatment {
            Some((how, left)) => {
                let how = *how;
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.treatment = None;
                }
                match how {
                    FrameFault::Lost => Answer::None,
                    other => Answer::Treated(other),
                }
            }
            None => Answer::Returns,
        }
    }

    /// Lets time pass, watchdogs included, in the order in which things happen; also when no frame comes.
    pub fn live_until(&mut self, now: u64) {
        for i in 0..self.devices.len() {
            let device = &mut self.devices[i];
            if let Some(at) = device.watchdog_at().filter(|at| *at <= now) {
                if let Some(drive) = &mut device.drive {
                    drive.live(&mut self.world, at);
                }
                self.world.advance_to(at);
                self.devices[i].bite(at);
                self.operate_brake();
            }
            if let Some(drive) = &mut self.devices[i].drive {
                drive.live(&mut self.world, now);
            }
        }
        self.world.advance_to(now);
    }

    /// The brake is released as long as its output is set, and its device in OP.
    fn operate_brake(&mut self) {
        let Some((device, object, bit)) = self.brake else {
            return;
        };
        let is_set = self
            .devices
            .get(device)
            .is_some_and(|esc| esc.is_op() && esc.dictionary.get(Some(object)) >> bit & 1 == 1);
        self.world.tell_brake(is_set && self.has_power);
    }

    fn pass_datagram(&mut self, frame: &mut [u8], datagram: &Datagram, now: u64) {
        let (mut adp, ado) = (datagram.adp(frame), datagram.ado(frame));
        let mut counter = datagram.counter(frame);
        let connected = self.connected.min(self.devices.len());
        let data = &mut frame[datagram.data.clone()];
        let logical = u32::from(adp) | u32::from(ado) << 16;
        match datagram.command {
            command::LRD | command::LWR | command::LRW => {
                let reads = datagram.command != command::LWR;
                let writes = datagram.command != command::LRD;
                for device in &mut self.devices[..connected] {
                    device.put_inputs(&mut self.world);
                    let grown = device.logical(logical, data, reads, writes);
                    if writes && grown >= 2 - u16::from(!reads) {
                        device.take_outputs(&mut self.world, now);
                    }
                    counter = counter.wrapping_add(grown);
                }
                self.operate_brake();
            }
            _ => {
                for device in &mut self.devices[..connected] {
                    let grown = pass_physical(device, datagram.command, &mut adp, ado, data, now);
                    counter = counter.wrapping_add(grown);
                }
                write_u16(frame, datagram.at + 2, adp);
            }
        }
        write_u16(frame, datagram.data.end, counter);
    }

    fn take_fault(&mut self, fault: SegmentFault, now: u64) {
        match fault {
            SegmentFault::Drive(how) => {
                for esc in &mut self.devices {
                    if let Some(drive) = &mut esc.drive {
                        drive.misbehave(how, &mut esc.dictionary, now);
                        if let Some(code) = drive.take_emergency() {
                            esc.mailboxes.push_emergency(code, 0x01);
                        }
                    }
                }
            }
            SegmentFault::Emergency {
                device,
                code,
                between_sdo,
            } => {
                if let Some(esc) = self.devices.get_mut(device) {
                    if between_sdo {
                        esc.mailboxes.ambush(code, 0x01);
                    } else {
                        esc.mailboxes.push_emergency(code, 0x01);
                    }
                }
            }
            SegmentFault::Power(is_on) => {
                self.has_power = is_on;
                self.devices.iter_mut().for_each(Esc::power_on);
                self.world.tell_motor(None);
            }
            SegmentFault::Cable(is_in) => self.is_cut = !is_in,
            SegmentFault::DropOut { device } => {
                self.connect(device);
                for esc in self.devices.iter_mut().skip(device) {
                    esc.power_on();
                    if esc.drive.is_some() {
                        self.world.tell_motor(None);
                    }
                }
            }
            SegmentFault::Return => self.connect(self.devices.len()),
            SegmentFault::Refuse { device, refusal } => {
                if let Some(esc) = self.devices.get_mut(device) {
                    esc.refusal = refusal;
                }
            }
            SegmentFault::LeaveOp { device, code } => {
                if let Some(esc) = self.devices.get_mut(device) {
                    esc.fall(code, now);
                }
            }
            SegmentFault::Watchdog { device } => {
                if let Some(esc) = self.devices.get_mut(device) {
                    esc.bite(now);
                }
            }
            SegmentFault::Product { device, product } => {
                if let (Some(esc), Some(own)) =
                    (self.devices.get_mut(device), self.products.get(device))
                {
                    esc.set_product(product.unwrap_or(*own));
                }
            }
            SegmentFault::Input { input, count } => {
                if let Some(&Some((device, source))) = self.inputs.get(input) {
                    self.devices[device].sources[source].held = count;
                }
            }
            SegmentFault::Frames { how, count } => {
                self.treatment = (count > 0).then_some((how, count));
            }
        }
    }
}

/// A command to a position, a station or everyone passes one device; by how much the working counter grows.
fn pass_physical(
    device: &mut Esc,
    number: u8,
    adp: &mut u16,
    ado: u16,
    data: &mut [u8],
    now: u64,
) -> u16 {
    let by_position = matches!(
        number,
        command::APRD | command::APWR | command::APRW | command::ARMW
    );
    let is_broadcast = matches!(number, command::BRD | command::BWR | command::BRW);
    let is_addressed = if by_position {
        *adp == 0
    } else {
        is_broadcast || *adp == device.station()
    };
    if by_position || is_broadcast {
        *adp = adp.wrapping_add(1);
    }
    let (reads, writes) = match number {
        command::APRD | command::FPRD | command::BRD => (true, false),
        command::APWR | command::FPWR | command::BWR => (false, true),
        command::APRW | command::FPRW | command::BRW => (true, true),
        // The one that is addressed is read; all others are written.
        command::ARMW | command::FRMW => {
            return if is_addressed {
                u16::from(device.read(ado, data, false, now))
            } else {
                u16::from(device.write(ado, data, now))
            };
        }
        _ => return 0,
    };
    if !is_addressed {
        return 0;
    }
    match (reads, writes) {
        (true, false) => u16::from(device.read(ado, data, is_broadcast, now)),
        (false, true) => u16::from(device.write(ado, data, now)),
        _ => {
            // What is written is what the frame brought; what it takes along is what was there.
            let mut brought = [0; 8];
            let n = data.len().min(brought.len());
            brought[..n].copy_from_slice(&data[..n]);
            let read = device.read(ado, data, is_broadcast, now);
            let written = device.write(ado, &brought[..n], now);
            u16::from(read) + 2 * u16::from(written)
        }
    }
}
