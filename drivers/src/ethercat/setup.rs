//! Brings a segment from nothing to SAFE-OP: who is there is compared with the rig file, objects and mappings are
//! written, clocks are set, and what the cycle has to know is read back from the devices.

use super::config::{
    DeviceConfig, EthercatConfig, MAX_DATA, MAX_DEVICES, PdoConfig, SdoConfig, SdoValue,
};
use super::cyclic::{Plan, PlanDevice};
use super::settings::{self, Compared};
use super::wire::{al, read_u16};
use ethercrab::error::Error;
use ethercrab::subdevice_group::{DcConfiguration, SafeOp};
use ethercrab::{Command, DcSync, MainDevice, SubDeviceGroup, SubDeviceIdentity};
use rt_core::rig::{RigFault, al_code};
use std::fmt::Write;
use std::time::Duration;

/// Why a set-up failed: a fault for the loop and words for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The fault.
    pub fault: RigFault,
    /// What, where, expected, what to do.
    pub words: String,
}

/// A device that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name by its own account.
    pub name: String,
    /// Vendor identity.
    pub vendor: u32,
    /// Product code.
    pub product: u32,
    /// Revision.
    pub revision: u32,
    /// Serial number.
    pub serial: u32,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "'{}' (vendor 0x{:08X}, product 0x{:08X}, revision 0x{:08X}, serial {})",
            self.name, self.vendor, self.product, self.revision, self.serial
        )
    }
}

/// Compares what was found with what is expected: the first device that differs, and a line for each.
pub fn compare(expected: &[DeviceConfig], found: &[Found]) -> Result<(), (usize, String)> {
    let mut first = None;
    let mut lines = String::new();
    for i in 0..expected.len().max(found.len()) {
        let wanted = expected.get(i).map(|d| {
            let revision = d.revision.map_or("any".into(), |r| format!("0x{r:08X}"));
            format!(
                "'{}' (vendor 0x{:08X}, product 0x{:08X}, revision {revision})",
                d.name, d.vendor, d.product
            )
        });
        let there = found.get(i).map(Found::to_string);
        let is_same = match (expected.get(i), found.get(i)) {
            (Some(d), Some(f)) => {
                (d.vendor, d.product) == (f.vendor, f.product)
                    && d.revision.is_none_or(|r| r == f.revision)
            }
            _ => false,
        };
        if !is_same {
            first = first.or(Some(i));
        }
        let mark = if is_same { ' ' } else { '!' };
        let none = || "nothing".to_owned();
        let _ = write!(
            lines,
            "\n{mark} {}: expected {}, found {}",
            i + 1,
            wanted.unwrap_or_else(none),
            there.unwrap_or_else(none)
        );
    }
    first.map_or(Ok(()), |i| Err((i, lines)))
}

/// All SDO writes that make a device as its file describes it.
pub fn sdo_writes(device: &DeviceConfig) -> Vec<SdoConfig> {
    let mut all = device.sdo.clone();
    if device.outputs.is_empty() && device.inputs.is_empty() {
        return all;
    }
    let mut write = |index, sub, value| all.push(SdoConfig { index, sub, value });
    for (assignment, pdos) in [(0x1C12, &device.outputs), (0x1C13, &device.inputs)] {
        // Nothing may be assigned or mapped while it is changed.
        write(assignment, 0, SdoValue::U8(0));
        for PdoConfig { index, entries } in pdos {
            write(*index, 0, SdoValue::U8(0));
            for (n, &(object, sub, bits)) in (1..).zip(entries) {
                let entry = u32::from(object) << 16 | u32::from(sub) << 8 | u32::from(bits);
                write(*index, n, SdoValue::U32(entry));
            }
            write(*index, 0, SdoValue::U8(entries.len() as u8));
        }
        for (n, pdo) in (1..).zip(pdos) {
            write(assignment, n, SdoValue::U16(pdo.index));
        }
        write(assignment, 0, SdoValue::U8(pdos.len() as u8));
    }
    all
}

fn who_is_there(md: &MainDevice<'static>, group: &PreOpGroup) -> Vec<Found> {
    let found = group.iter(md).map(|device| {
        let SubDeviceIdentity {
            vendor_id,
            product_id,
            revision,
            serial,
        } = device.identity();
        Found {
            name: device.name().to_owned(),
            vendor: vendor_id,
            product: product_id,
            revision,
            serial,
        }
    });
    found.collect()
}

/// What a set-up has found out.
pub struct SetUp {
    /// What the cycle has to know.
    pub plan: Plan,
    /// Who is there.
    pub found: Vec<Found>,
    /// What each device does alone.
    pub settings: Vec<Vec<Compared>>,
}

/// See the module's text.
pub async fn set_up(
    md: &MainDevice<'static>,
    config: &EthercatConfig,
    bus: u16,
    period_nanos: u64,
    now: u64,
) -> Result<SetUp, Problem> {
    let absent = |e: Error| Problem {
        fault: RigFault::Connecting { bus },
        words: format!(
            "EtherCAT '{}': no devices could be initialised: {e}; check power and cable",
            config.name
        ),
    };
    let init = md
        .init_single_group::<MAX_DEVICES, MAX_DATA>(move || now)
        .await;
    let mut group = match init {
        Ok(group) => group,
        Err(e) => {
            return Err(refused(md, config, al::PRE_OP)
                .await
                .unwrap_or_else(|| absent(e)));
        }
    };
    let found = who_is_there(md, &group);
    compare(&config.devices, &found).map_err(|(i, lines)| Problem {
        fault: RigFault::WrongDevice {
            device: 1 + i as u16,
        },
        words: format!(
            "EtherCAT '{}' has other devices than the rig file expects:{lines}",
            config.name
        ),
    })?;
    for (device, mut there) in config.devices.iter().zip(group.iter_mut(md)) {
        if device.sync0 {
            there.set_dc_sync(DcSync::Sync0);
        }
    }
    let mut settings = Vec::new();
    for i in 0..config.devices.len() {
        settings.push(configure(md, &group, config, i).await?);
    }
    let reference = config.clocks.map(|_| {
        group
            .iter(md)
            .find(|d| d.dc_support().any())
            .map(|d| d.configured_address())
    });
    let group = group.into_pre_op_pdi(md).await.map_err(|e| Problem {
        fault: RigFault::Connecting { bus },
        words: format!(
            "EtherCAT '{}': process data could not be mapped: {e}",
            config.name
        ),
    })?;
    let plan = if config.clocks.is_some() {
        let clocks = DcConfiguration {
            start_delay: Duration::from_millis(100),
            sync0_period: Duration::from_nanos(period_nanos),
            sync0_shift: Duration::ZERO,
        };
        let group = group.configure_dc_sync(md, clocks).await.map_err(|e| Problem {
            fault: RigFault::Connecting { bus },
            words: format!(
                "EtherCAT '{}': distributed clocks could not be set: {e}; without 'clocks' devices run freely",
                config.name
            ),
        })?;
        match group.into_safe_op(md).await {
            Ok(group) => read_plan(md, &group, config, &mut settings).await,
            Err(e) => Err(e),
        }
    } else {
        match group.into_safe_op(md).await {
            Ok(group) => read_plan(md, &group, config, &mut settings).await,
            Err(e) => Err(e),
        }
    };
    match plan {
        Ok(plan) => {
            let plan = Plan {
                reference: reference.flatten(),
                period_nanos,
                clocks: config.clocks,
                reply_nanos: (config.reply_timeout_us * 1e3) as u64,
                differs: settings::first_difference(&settings),
                ..plan
            };
            Ok(SetUp {
                plan,
                found,
                settings,
            })
        }
        Err(e) => Err(refused(md, config, al::SAFE_OP)
            .await
            .unwrap_or_else(|| absent(e))),
    }
}

type PreOpGroup = SubDeviceGroup<MAX_DEVICES, MAX_DATA>;

/// Writes watchdog, objects and mapping of a device, and what it does alone; what became of the latter.
async fn configure(
    md: &MainDevice<'static>,
    group: &PreOpGroup,
    config: &EthercatConfig,
    number: usize,
) -> Result<Vec<Compared>, Problem> {
    let device = &config.devices[number];
    let failed = |what: String, e: Error| Problem {
        fault: RigFault::DeviceState {
            device: 1 + number as u16,
            al_status: al::PRE_OP,
            al_code: 0,
        },
        words: format!(
            "EtherCAT '{}': device {} '{}': {what}: {e}",
            config.name,
            number + 1,
            device.name
        ),
    };
    let there = group
        .subdevice(md, number)
        .map_err(|e| failed("is gone".into(), e))?;
    let mut compared = Vec::new();
    if let Some(ms) = config.watchdog_ms {
        let set = settings::watchdog(&there, ms).await;
        let set = set.map_err(|e| failed("its watchdog cannot be set".into(), e))?;
        if settings::has_watchdog(config, number) {
            compared.extend(set);
        }
    }
    for SdoConfig { index, sub, value } in sdo_writes(device) {
        settings::write(&there, index, sub, value)
            .await
            .map_err(|e| failed(format!("does not take {value:?} in 0x{index:04X}:{sub}"), e))?;
    }
    if let Some(drive) = config.drive.as_ref().filter(|d| d.device == device.name) {
        let set = settings::reactions(&there, drive).await;
        compared.extend(set.map_err(|e| failed("its reactions cannot be set".into(), e))?);
    }
    Ok(compared)
}

/// Which device does not go to a state, and why by its own account.
async fn refused(md: &MainDevice<'static>, config: &EthercatConfig, to: u16) -> Option<Problem> {
    for (i, device) in config.devices.iter().enumerate() {
        let station = 0x1000 + i as u16;
        let read = |register| Command::fprd(station, register).receive::<u16>(md);
        let (Ok(al_status), Ok(al_code)) = (read(0x0130).await, read(0x0134).await) else {
            continue;
        };
        if al_status & al::ERROR == 0 && al_status & al::STATE >= to {
            continue;
        }
        if al_status & al::ERROR == 0 && al_code == 0 {
            continue;
        }
        return Some(Problem {
            fault: RigFault::DeviceState {
                device: 1 + i as u16,
                al_status,
                al_code,
            },
            words: format!(
                "EtherCAT '{}': device {} '{}' stays in {} and refuses {}: {} (AL status code 0x{al_code:04X})",
                config.name,
                i + 1,
                device.name,
                al_code::state(al_status),
                al_code::state(to),
                al_code::words(al_code)
            ),
        });
    }
    None
}

/// What the devices themselves say about where their process data lies.
async fn read_plan<DC>(
    md: &MainDevice<'static>,
    group: &SubDeviceGroup<MAX_DEVICES, MAX_DATA, ethercrab::DefaultLock, SafeOp, DC>,
    config: &EthercatConfig,
    settings: &mut [Vec<Compared>],
) -> Result<Plan, Error> {
    let mut ranges = Vec::new();
    for i in 0..config.devices.len() {
        let there = group.subdevice(md, i)?;
        let (mut inputs, mut outputs) = (None, None);
        for n in 0..4_u16 {
            let fmmu = there.register_read::<[u8; 16]>(0x0600 + 16 * n).await?;
            let start = u32::from_le_bytes([fmmu[0], fmmu[1], fmmu[2], fmmu[3]]);
            let range = start..start + u32::from(read_u16(&fmmu, 4));
            match (fmmu[12] & 1, fmmu[11] & 3) {
                (1, 1) => inputs = Some(range),
                (1, 2) => outputs = Some(range),
                _ => {}
            }
        }
        if settings::has_watchdog(config, i)
            && let Some(own) = settings.get_mut(i)
        {
            own.push(settings::is_watched(&there).await?);
        }
        let manager = there.register_read::<[u8; 8]>(0x0808_u16).await?;
        // A mailbox that the device sends from: mode 2, direction read, enabled.
        let is_mailbox = manager[4] & 0x0F == 0x02 && manager[6] & 1 == 1;
        let mailbox = is_mailbox.then(|| (read_u16(&manager, 0), read_u16(&manager, 2)));
        ranges.push((there.configured_address(), inputs, outputs, mailbox));
    }
    let all = ranges
        .iter()
        .flat_map(|r| [r.1.clone(), r.2.clone()])
        .flatten();
    let logical = all.clone().map(|r| r.start).min().unwrap_or(0);
    let end = all.map(|r| r.end).max().unwrap_or(0);
    let here = |range: Option<std::ops::Range<u32>>| {
        range.map_or(0..0, |r| {
            (r.start - logical) as usize..(r.end - logical) as usize
        })
    };
    let devices = ranges
        .into_iter()
        .map(|(station, inputs, outputs, mailbox)| PlanDevice {
            station,
            inputs: here(inputs),
            outputs: here(outputs),
            mailbox,
        });
    Ok(Plan {
        logical,
        data_len: (end - logical) as usize,
        devices: devices.collect(),
        reference: None,
        period_nanos: 0,
        clocks: None,
        reply_nanos: 0,
        differs: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(name: &str, product: u32, revision: Option<u32>) -> DeviceConfig {
        DeviceConfig {
            name: name.into(),
            vendor: 2,
            product,
            revision,
            sync0: false,
            sdo: vec![SdoConfig {
                index: 0x6060,
                sub: 0,
                value: SdoValue::I8(8),
            }],
            outputs: vec![PdoConfig {
                index: 0x1600,
                entries: vec![(0x6040, 0, 16)],
            }],
            inputs: Vec::new(),
        }
    }

    fn found(product: u32, revision: u32) -> Found {
        Found {
            name: "X1".into(),
            vendor: 2,
            product,
            revision,
            serial: 1,
        }
    }

    #[test]
    fn differences_are_named_line_by_line() {
        let wanted = [
            expected("drive", 7, Some(3)),
            expected("amplifier", 8, None),
        ];
        assert_eq!(compare(&wanted, &[found(7, 3), found(8, 99)]), Ok(()));
        let (first, lines) =
            compare(&wanted, &[found(7, 4), found(8, 1), found(9, 1)]).unwrap_err();
        assert_eq!(first, 0);
        assert!(lines.contains("! 1: expected 'drive' (vendor 0x00000002, product 0x00000007, revision 0x00000003), found 'X1'"), "{lines}");
        assert!(lines.contains("\n  2: expected 'amplifier'"), "{lines}");
        assert!(
            lines.contains("! 3: expected nothing, found 'X1'"),
            "{lines}"
        );
        let (first, lines) = compare(&wanted, &[found(7, 3)]).unwrap_err();
        assert_eq!(first, 1);
        assert!(lines.ends_with("found nothing"), "{lines}");
    }

    #[test]
    fn a_mapping_is_cleared_written_and_counted() {
        let all: Vec<(u16, u8, SdoValue)> = sdo_writes(&expected("drive", 1, None))
            .iter()
            .map(|s| (s.index, s.sub, s.value))
            .collect();
        assert_eq!(
            all,
            [
                (0x6060, 0, SdoValue::I8(8)),
                (0x1C12, 0, SdoValue::U8(0)),
                (0x1600, 0, SdoValue::U8(0)),
                (0x1600, 1, SdoValue::U32(0x6040_0010)),
                (0x1600, 0, SdoValue::U8(1)),
                (0x1C12, 1, SdoValue::U16(0x1600)),
                (0x1C12, 0, SdoValue::U8(1)),
                (0x1C13, 0, SdoValue::U8(0)),
                (0x1C13, 0, SdoValue::U8(0)),
            ]
        );
    }
}
