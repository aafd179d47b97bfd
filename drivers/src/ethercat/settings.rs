//! Writes what a device is to do alone, reads it back, and compares: registers of its watchdog and objects of its drive.
//!
//! A device that does not take a value, or does not have it, is no failure of the set-up: it is told, and not armed.

use super::config::{DriveConfig, EthercatConfig, SdoValue};
use super::reactions::Demand;
use ethercrab::SubDeviceRef;
use ethercrab::error::Error;
use rt_core::rig::RigFault;
use rt_core::rig::setting::{Setting, object_name, setting_name};
use std::ops::Deref;

/// A register's or object's value as it was demanded and as it was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Object, or register below 0x1000.
    pub object: u16,
    /// What the rig file demands.
    pub demanded: i64,
    /// What was read back.
    pub found: Option<i64>,
    /// Unit of both.
    pub unit: &'static str,
    /// The rig file says that the device does not have it.
    pub may_be_absent: bool,
    /// What the device said when it was written or read.
    pub note: Option<String>,
}

impl Compared {
    fn register(object: u16, demanded: i64, found: i64, unit: &'static str) -> Self {
        Self {
            object,
            demanded,
            found: Some(found),
            unit,
            may_be_absent: false,
            note: None,
        }
    }

    fn agrees(&self) -> bool {
        self.found
            .map_or(self.may_be_absent, |found| found == self.demanded)
    }

    /// The fault by which a device (counted from 0) is not armed.
    pub fn fault(&self, device: usize) -> Option<RigFault> {
        (!self.agrees()).then_some(RigFault::DeviceSetting {
            device: 1 + device as u16,
            object: self.object,
            demanded: self.demanded,
            found: self.found,
        })
    }

    /// For people.
    pub fn setting(self) -> Setting {
        let agrees = Some(self.agrees());
        let is_absent = self.found.is_none() && self.may_be_absent;
        let note = if is_absent {
            Some("not there, as the rig file says".to_owned())
        } else {
            self.note
        };
        Setting {
            object: object_name(self.object),
            name: setting_name(self.object),
            demanded: (!is_absent).then_some(self.demanded),
            read_back: self.found,
            unit: self.unit,
            agrees,
            note,
        }
    }
}

/// Its unit is 40 ns: with this divider a step of the watchdog is 100 µs.
const DIVIDER: u16 = 2498;
const WATCHDOG_DIVIDER: u16 = 0x0400;
const WATCHDOG_OUTPUTS: u16 = 0x0420;
/// Control byte of the sync manager of the outputs, and its bit by which the watchdog watches it.
const OUTPUTS_CONTROL: u16 = 0x0814;
const IS_WATCHED: u8 = 0x40;

/// Sets the watchdog of a device.
pub async fn watchdog<S>(there: &SubDeviceRef<'_, S>, ms: f64) -> Result<[Compared; 2], Error>
where
    S: Deref<Target = ethercrab::SubDevice>,
{
    let steps = (ms * 10.0).round() as u16;
    there.register_write(WATCHDOG_DIVIDER, DIVIDER).await?;
    there.register_write(WATCHDOG_OUTPUTS, steps).await?;
    let divider: u16 = there.register_read(WATCHDOG_DIVIDER).await?;
    let found: u16 = there.register_read(WATCHDOG_OUTPUTS).await?;
    Ok([
        Compared::register(WATCHDOG_DIVIDER, DIVIDER.into(), divider.into(), ""),
        Compared::register(WATCHDOG_OUTPUTS, steps.into(), found.into(), "× 100 µs"),
    ])
}

/// Whether the watchdog watches the outputs of a device at all, which only its sync manager says.
pub async fn is_watched<S>(there: &SubDeviceRef<'_, S>) -> Result<Compared, Error>
where
    S: Deref<Target = ethercrab::SubDevice>,
{
    let control: u8 = there.register_read(OUTPUTS_CONTROL).await?;
    let found = i64::from(control & IS_WATCHED != 0);
    Ok(Compared::register(OUTPUTS_CONTROL, 1, found, ""))
}

/// Writes all reactions of a drive, then reads them all back: some may depend on others.
pub async fn reactions<S>(
    there: &SubDeviceRef<'_, S>,
    drive: &DriveConfig,
) -> Result<Vec<Compared>, Error>
where
    S: Deref<Target = ethercrab::SubDevice>,
{
    let Some(stated) = &drive.reactions else {
        return Ok(Vec::new());
    };
    let demands = stated.demands(drive.counts_per_m);
    let mut said = Vec::new();
    for Demand { index, value, .. } in demands {
        said.push(answer_of(write(there, index, 0, value).await)?.err());
    }
    let mut all = Vec::new();
    for (demand, refused) in demands.into_iter().zip(said) {
        let read = match demand.value {
            SdoValue::I16(_) => there.sdo_read::<i16>(demand.index, 0).await.map(i64::from),
            SdoValue::U16(_) => there.sdo_read::<u16>(demand.index, 0).await.map(i64::from),
            _ => there.sdo_read::<u32>(demand.index, 0).await.map(i64::from),
        };
        let read = answer_of(read)?;
        let note = refused.or_else(|| read.as_ref().err().cloned());
        all.push(Compared {
            object: demand.index,
            demanded: demand.value.number(),
            found: read.ok(),
            unit: demand.unit,
            may_be_absent: demand.may_be_absent,
            note,
        });
    }
    Ok(all)
}

/// What the device itself refused, in words; any other error is one of the segment.
fn answer_of<T>(done: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match done {
        Ok(value) => Ok(Ok(value)),
        Err(e @ (Error::Mailbox(_) | Error::Wire(_))) => Ok(Err(e.to_string())),
        Err(e) => Err(e),
    }
}

/// Writes an object.
pub async fn write<S>(
    there: &SubDeviceRef<'_, S>,
    index: u16,
    sub: u8,
    value: SdoValue,
) -> Result<(), Error>
where
    S: Deref<Target = ethercrab::SubDevice>,
{
    match value {
        SdoValue::U8(v) => there.sdo_write(index, sub, v).await,
        SdoValue::U16(v) => there.sdo_write(index, sub, v).await,
        SdoValue::U32(v) => there.sdo_write(index, sub, v).await,
        SdoValue::I8(v) => there.sdo_write(index, sub, v).await,
        SdoValue::I16(v) => there.sdo_write(index, sub, v).await,
        SdoValue::I32(v) => there.sdo_write(index, sub, v).await,
    }
}

/// The first difference of all devices: by it nothing is armed.
pub fn first_difference(all: &[Vec<Compared>]) -> Option<RigFault> {
    let faults = all.iter().enumerate();
    faults
        .flat_map(|(device, settings)| settings.iter().map(move |s| (device, s)))
        .find_map(|(device, setting)| setting.fault(device))
}

/// Whether the watchdog of a device has anything to watch, and was asked for.
pub fn has_watchdog(config: &EthercatConfig, device: usize) -> bool {
    let outputs = config.devices.get(device).map(|d| &d.outputs);
    config.watchdog_ms.is_some() && outputs.is_some_and(|o| !o.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(found: Option<i64>, may_be_absent: bool) -> Compared {
        Compared {
            object: 0x605B,
            demanded: 0,
            found,
            unit: "",
            may_be_absent,
            note: None,
        }
    }

    #[test]
    fn only_what_agrees_or_is_absent_as_stated_is_armed() {
        for (found, may_be_absent, agrees) in [
            (Some(0), false, true),
            (Some(1), false, false),
            (None, false, false),
            (None, true, true),
            // It is there after all, and has another value.
            (Some(1), true, false),
        ] {
            let own = compared(found, may_be_absent);
            let what = format!("{own:?}");
            assert_eq!(own.fault(2).is_none(), agrees, "{what}");
            assert_eq!(own.setting().agrees, Some(agrees), "{what}");
        }
        let all = [
            vec![compared(Some(0), false)],
            vec![compared(Some(3), false)],
        ];
        let fault = RigFault::DeviceSetting {
            device: 2,
            object: 0x605B,
            demanded: 0,
            found: Some(3),
        };
        assert_eq!(first_difference(&all), Some(fault));
    }
}
