//! What the cyclic frame is made of: what the set-up has found out, the place of every datagram, and how an answer is
//! told from anything else.

use crate::ethercat::config::ClockConfig;
use crate::ethercat::wire::{Builder, Datagram, Walk, command, register};
use rt_core::rig::RigFault;
use std::ops::Range;

/// A device as it was found and set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDevice {
    /// Station address.
    pub station: u16,
    /// Its inputs in the process data.
    pub inputs: Range<usize>,
    /// Its outputs in the process data.
    pub outputs: Range<usize>,
    /// Address and length of the mailbox from it.
    pub mailbox: Option<(u16, u16)>,
}

/// What the set-up has found out for the cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// First logical address.
    pub logical: u32,
    /// Bytes of process data.
    pub data_len: usize,
    /// Devices in order.
    pub devices: Vec<PlanDevice>,
    /// Station of the reference clock.
    pub reference: Option<u16>,
    /// The loop's period, in ns.
    pub period_nanos: u64,
    /// How clocks are kept.
    pub clocks: Option<ClockConfig>,
    /// How long an answer may take, in ns.
    pub reply_nanos: u64,
    /// A setting of a device that is not as the rig file demands: nothing is switched on then.
    pub differs: Option<RigFault>,
}

impl Plan {
    /// The working counter of a cycle in which everyone takes part: one for inputs, two for outputs.
    pub fn expected_counter(&self) -> u16 {
        let one =
            |d: &PlanDevice| u16::from(!d.inputs.is_empty()) + 2 * u16::from(!d.outputs.is_empty());
        self.devices.iter().map(one).sum()
    }
}

/// Places of one device in the frame.
pub(super) struct Places {
    pub status: Datagram,
    pub mailbox_full: Option<Datagram>,
    pub control: Datagram,
}

/// What an answer is to what was asked.
pub(super) enum Match {
    Same,
    OtherIndex(u8),
    Bad,
}

/// Compares an answer with what was asked: the same datagrams at the same places.
pub(super) fn matches(reply: &[u8], asked: &[u8]) -> Match {
    let (Ok(mut theirs), Ok(mut ours)) = (Walk::begin(reply), Walk::begin(asked)) else {
        return Match::Bad;
    };
    let mut other = None;
    loop {
        match (theirs.next(reply), ours.next(asked)) {
            (Ok(None), Ok(None)) => break,
            (Ok(Some(one)), Ok(Some(two))) => {
                let is_same_index = one.index == two.index;
                if one.at != two.at || one.data != two.data {
                    return Match::Bad;
                }
                if !is_same_index {
                    other = Some(one.index);
                } else if one.command != two.command {
                    return Match::Bad;
                }
            }
            _ => return Match::Bad,
        }
    }
    other.map_or(Match::Same, Match::OtherIndex)
}

/// All places in the frame.
pub(super) struct Layout {
    pub clock_write: Option<Datagram>,
    pub clock_read: Option<Datagram>,
    pub data: Datagram,
    pub places: Vec<Places>,
    pub mailboxes: Vec<Datagram>,
}

impl Layout {
    pub fn push(builder: &mut Builder, plan: &Plan) -> Option<Self> {
        let reference = plan.reference.filter(|_| plan.clocks.is_some());
        let time = register::DC_SYSTEM_TIME;
        let clock_write = reference.map(|r| builder.push(command::NOP, r, time, 4));
        let clock_read = reference.map(|r| builder.push(command::FRMW, r, time, 8));
        let (low, high) = (plan.logical as u16, (plan.logical >> 16) as u16);
        let data = builder.push(command::LRW, low, high, plan.data_len)?;
        let mut places = Vec::new();
        for device in &plan.devices {
            let at = device.station;
            let mailbox = device.mailbox.is_some();
            places.push(Places {
                // AL status, two bytes of nothing, AL status code.
                status: builder.push(command::FPRD, at, register::AL_STATUS, 6)?,
                mailbox_full: match mailbox {
                    true => Some(builder.push(command::FPRD, at, register::SM1_STATUS, 1)?),
                    false => None,
                },
                control: builder.push(command::NOP, at, register::AL_CONTROL, 2)?,
            });
        }
        let mut lengths: Vec<u16> = plan
            .devices
            .iter()
            .filter_map(|d| Some(d.mailbox?.1))
            .collect();
        lengths.sort_unstable();
        lengths.dedup();
        let mut mailboxes = Vec::new();
        for len in lengths {
            mailboxes.push(builder.push(command::NOP, 0, 0, usize::from(len))?);
        }
        Some(Self {
            clock_write: clock_write.map_or(Some(None), |place| place.map(Some))?,
            clock_read: clock_read.map_or(Some(None), |place| place.map(Some))?,
            data,
            places,
            mailboxes,
        })
    }
}
