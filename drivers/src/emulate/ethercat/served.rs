//! A segment that is served on a network interface, for another process.

use super::drive::DriveMisbehaviour;
use super::esc::Refusal;
use super::fault::{FrameFault, SegmentFault};
use super::in_process::treat;
use super::{Answer, Segment, SegmentFault as Fault, segment_on};
use crate::emulate::faults::{Board, LinkFault};
use crate::emulate::plant::SharedPlant;
use crate::emulate::{Emulated, Served};
use crate::ethercat::config::EthercatConfig;
use crate::ethercat::raw_socket::RawSocket;
use crate::ethercat::transport::{Received, Transport};
use crate::ethercat::wire::{Buffer, MAX_FRAME, al};
use crate::hardware::HardwareConfig;
use rt_core::pacing::{Clock, RealClock};
use rtrb::Producer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a frame is waited for before the devices look after themselves, in ns.
const LOOK_NANOS: u64 = 2_000_000;
/// By how much a late answer is late, in ns.
const LATE_NANOS: u64 = 5_000_000;
/// What an emulated drive calls its error: overcurrent.
const DRIVE_ERROR: u16 = 0x2310;
/// What an emulated device sends as an emergency: undervoltage.
const EMERGENCY: u16 = 0x3220;

/// See the module's text.
pub struct EmulatedSegment {
    interface: String,
    socket: RawSocket,
    segment: Segment,
    put: Producer<SegmentFault>,
    board: Arc<Board>,
    shown: [bool; LinkFault::ALL.len()],
    devices: usize,
    digital: Vec<usize>,
    late: Option<(u64, usize, Buffer)>,
}

impl EmulatedSegment {
    /// All devices of a segment on an interface.
    pub fn open(
        config: &EthercatConfig,
        interface: &str,
        rig: &HardwareConfig,
        plant: SharedPlant,
        board: Arc<Board>,
    ) -> Result<Self, String> {
        let (segment, put) = segment_on(config, rig, plant);
        let is_digital = |name: &str| {
            let name = format!("{}.{name}", config.name);
            rig.signals.interlocks.iter().any(|i| i.input == name)
        };
        let inputs = config.inputs.iter().enumerate();
        Ok(Self {
            interface: interface.to_owned(),
            socket: RawSocket::open(interface)?,
            segment,
            put,
            board,
            shown: [false; LinkFault::ALL.len()],
            devices: config.devices.len(),
            digital: inputs
                .filter(|(_, i)| is_digital(&i.name))
                .map(|(n, _)| n)
                .collect(),
            late: None,
        })
    }

    /// Turns what was switched since the last frame into faults of the segment.
    fn look_at_board(&mut self) {
        for (i, link) in LinkFault::ALL.into_iter().enumerate() {
            let is_on = self.board.has(link);
            if is_on == self.shown[i] {
                continue;
            }
            self.shown[i] = is_on;
            let last = self.devices.saturating_sub(1);
            let frames = |how| Fault::Frames {
                how,
                count: if is_on { u32::MAX } else { 0 },
            };
            let fault = match link {
                LinkFault::Lost => frames(FrameFault::Lost),
                LinkFault::Late => frames(FrameFault::Late(LATE_NANOS)),
                LinkFault::Duplicate => frames(FrameFault::Duplicate),
                LinkFault::Truncated => frames(FrameFault::Truncated(40)),
                LinkFault::Garbage => frames(FrameFault::Corrupt(0)),
                LinkFault::WrongChecksum => frames(FrameFault::Corrupt(16)),
                LinkFault::Foreign => frames(FrameFault::Foreign),
                LinkFault::Stuck => Fault::Drive(DriveMisbehaviour::Stuck(is_on)),
                LinkFault::DriveError if is_on => {
                    Fault::Drive(DriveMisbehaviour::Fault(DRIVE_ERROR))
                }
                LinkFault::IgnoreReferences => {
                    Fault::Drive(DriveMisbehaviour::IgnoresTarget(is_on))
                }
                LinkFault::Disabled if is_on => Fault::Drive(DriveMisbehaviour::QuickStop),
                LinkFault::NoHomeSwitch => Fault::Drive(DriveMisbehaviour::NoHomeSwitch(is_on)),
                LinkFault::PowerLoss => Fault::Power(!is_on),
                LinkFault::Unplugged => Fault::Cable(!is_on),
                LinkFault::Emergency if is_on => Fault::Emergency {
                    device: 0,
                    code: EMERGENCY,
                    between_sdo: false,
                },
                LinkFault::Watchdog if is_on => Fault::Watchdog { device: 0 },
                LinkFault::DropOut if is_on => Fault::DropOut { device: last },
                LinkFault::DropOut => Fault::Return,
                LinkFault::RefuseOp => Fault::Refuse {
                    device: 0,
                    refusal: is_on.then_some(Refusal {
                        to: al::OP,
                        code: 0x001A,
                    }),
                },
                LinkFault::WrongDevice => Fault::Product {
                    device: 0,
                    product: is_on.then_some(0xDEAD),
                },
                LinkFault::OpenCircuits => {
                    for &input in &self.digital {
                        // What does not fit is shown with the next change.
                        let _ = self.put.push(Fault::Input {
                            input,
                            count: is_on.then_some(0),
                        });
                    }
                    continue;
                }
                LinkFault::DriveError
                | LinkFault::Disabled
                | LinkFault::Emergency
                | LinkFault::Watchdog => continue,
            };
            let _ = self.put.push(fault);
        }
    }

    fn answer(&mut self, frame: &mut Buffer, len: usize) {
        let now = RealClock.now();
        let answer = self.segment.pass(&mut frame[..len], now);
        // An interface that is gone loses what is sent, as a wire does.
        match answer {
            Answer::None => {}
            Answer::Returns => {
                let _ = self.socket.send(&frame[..len]);
            }
            Answer::Treated(how) => {
                let len = treat(how, frame, len);
                match how {
                    FrameFault::Late(by) => self.late = Some((now + by, len, *frame)),
                    FrameFault::Duplicate => {
                        let _ = self.socket.send(&frame[..len]);
                        let _ = self.socket.send(&frame[..len]);
                    }
                    FrameFault::Foreign => {
                        let mut foreign = *frame;
                        foreign[6] = 0x00;
                        let _ = self.socket.send(&foreign[..len]);
                        let _ = self.socket.send(&frame[..len]);
                    }
                    _ => {
                        let _ = self.socket.send(&frame[..len]);
                    }
                }
            }
        }
    }
}

impl Emulated for EmulatedSegment {
    fn served(&self) -> Served {
        Served {
            kind: "EtherCAT segment",
            address: self.interface.clone(),
        }
    }

    fn serve(mut self: Box<Self>, stop: &AtomicBool) {
        let mut frame = [0; MAX_FRAME];
        while !stop.load(Ordering::Acquire) {
            let mut deadline = RealClock.now() + LOOK_NANOS;
            if let Some((due, _, _)) = &self.late {
                deadline = deadline.min(*due);
            }
            let received = self.socket.receive(&mut frame, deadline);
            if let Some((_, len, late)) = self.late.take_if(|(due, _, _)| *due <= RealClock.now()) {
                let _ = self.socket.send(&late[..len]);
            }
            self.look_at_board();
            match received {
                Received::Frame(len) => self.answer(&mut frame, len),
                // Watchdogs and ramps go on without frames.
                Received::Nothing => self.segment.live_until(RealClock.now()),
                // It may come back.
                Received::Down => std::thread::park_timeout(std::time::Duration::from_millis(20)),
            }
        }
    }
}
