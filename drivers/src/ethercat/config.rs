//! The part of a rig file that describes an EtherCAT segment: expected devices, their set-up, and what its data means.

use super::reactions::{self, ReactionsConfig};
use crate::hardware::config::{NAME_RULE, is_name};
use rt_core::file::{FieldError, require_within};
use serde::Deserialize;

/// An EtherCAT segment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EthercatConfig {
    /// Name of the bus.
    pub name: String,
    /// Where the segment is.
    pub port: Port,
    /// How long the answer to a frame may take, in µs; then it is sent once more in the same cycle.
    pub reply_timeout_us: f64,
    /// How long each device may hear nothing before it switches its outputs off, in ms; the device's own time if none,
    /// which only a segment in this process may have if it drives a motor.
    #[serde(default)]
    pub watchdog_ms: Option<f64>,
    /// Distributed clocks; `None`: devices run freely.
    #[serde(default)]
    pub clocks: Option<ClockConfig>,
    /// Every device, in the order of the cabling.
    pub devices: Vec<DeviceConfig>,
    /// The drive.
    #[serde(default)]
    pub drive: Option<DriveConfig>,
    /// What else is measured.
    #[serde(default)]
    pub inputs: Vec<InputConfig>,
    /// Digital outputs, for what the rig file names them for (`mounting.brake.output`).
    #[serde(default)]
    pub outputs: Vec<OutputConfig>,
}

/// Where a segment is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum Port {
    /// Emulated in this process: no hardware, no rights.
    InProcess,
    /// On a network interface, for example `"eth1"` or one end of a veth pair.
    Interface(String),
}

/// Distributed clocks: the devices follow the loop's own time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// How long after a frame is sent SYNC0 comes, as a share of the period.
    pub sync0_after: f64,
    /// How often the clocks are set to each other before the start.
    pub static_iterations: u32,
}

/// A device that is expected.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Its name in this file.
    pub name: String,
    /// Vendor identity.
    pub vendor: u32,
    /// Product code.
    pub product: u32,
    /// Revision; `None`: any.
    #[serde(default)]
    pub revision: Option<u32>,
    /// Whether it works by SYNC0 of the distributed clocks.
    #[serde(default)]
    pub sync0: bool,
    /// Objects that are written in PRE-OP, in this order, before the mapping.
    #[serde(default)]
    pub sdo: Vec<SdoConfig>,
    /// Process data to the device; empty together with `inputs`: the mapping stays as the device has it.
    #[serde(default)]
    pub outputs: Vec<PdoConfig>,
    /// Process data from the device.
    #[serde(default)]
    pub inputs: Vec<PdoConfig>,
}

/// An object that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SdoConfig {
    /// Its index.
    pub index: u16,
    /// Its subindex.
    #[serde(default)]
    pub sub: u8,
    /// What is written.
    pub value: SdoValue,
}

/// A number with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the sizes say it")]
pub enum SdoValue {
    U8(u8),
    U16(u16),
    U32(u32),
    I8(i8),
    I16(i16),
    I32(i32),
}

/// One process data object and what is mapped into it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PdoConfig {
    /// Its index: 0x16.. for outputs, 0x1A.. for inputs.
    pub index: u16,
    /// Index, subindex and bits of each entry in order; index 0 is a gap.
    pub entries: Vec<(u16, u8, u8)>,
}

/// A drive that follows CiA 402 in cyclic synchronous position.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveConfig {
    /// Name of its device.
    pub device: String,
    /// Counts a metre; below zero where the drive counts the other way.
    pub counts_per_m: f64,
    /// Position at count 0, in m.
    #[serde(default)]
    pub zero_m: f64,
    /// Within which time the drive has to do what its enable sequence asks for, in ms.
    #[serde(default = "default_enable_ms")]
    pub enable_ms: f64,
    /// How it is homed; `None`: it always knows where it is (absolute encoder).
    #[serde(default)]
    pub homing: Option<DriveHoming>,
    /// What it does alone. `None`: as it is set, which only a drive in this process may be.
    #[serde(default)]
    pub reactions: Option<ReactionsConfig>,
}

/// A drive that has to find its home position. It is told how by objects in the `sdo` list of its device: method 0x6098
/// (I8), speeds 0x6099:1 and :2 (U32), acceleration 0x609A (U32), home offset 0x607C (I32).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveHoming {
    /// How long it may take, in s; then the drive is switched off.
    pub timeout_s: f64,
    /// Bit of the statusword with which the drive shows that it knows where it is, one of those that CiA 402 leaves to
    /// the vendor: 8, 14 or 15. `None`: it is not homed after each set-up of the segment.
    #[serde(default)]
    pub homed_bit: Option<u8>,
}

/// Bits of the statusword that CiA 402 leaves to the vendor.
const VENDOR_BITS: [u8; 3] = [8, 14, 15];

fn default_enable_ms() -> f64 {
    500.0
}

/// A measured value: offset + scale · count.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputConfig {
    /// Its name.
    pub name: String,
    /// Name of its device.
    pub device: String,
    /// Index of the mapped object.
    pub index: u16,
    /// Its subindex.
    #[serde(default)]
    pub sub: u8,
    /// Whether the count may be below zero.
    #[serde(default)]
    pub signed: bool,
    /// Units a count.
    #[serde(default = "one")]
    pub scale: f64,
    /// Value at count 0.
    #[serde(default)]
    pub offset: f64,
}

/// A digital output: one bit of an entry of the process data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// Its name.
    pub name: String,
    /// Name of its device.
    pub device: String,
    /// Index of the mapped object.
    pub index: u16,
    /// Its subindex.
    #[serde(default)]
    pub sub: u8,
    /// The bit of the object, from 0.
    #[serde(default)]
    pub bit: u8,
}

fn one() -> f64 {
    1.0
}

/// Inputs that every drive has, before those of the file.
pub const DRIVE_INPUTS: [&str; 2] = ["position", "drive_status"];

/// Objects of CiA 402 that a drive's mapping has to hold: (index, bits, what it is).
const NEEDED_OUTPUTS: [(u16, u8, &str); 2] =
    [(0x6040, 16, "controlword"), (0x607A, 32, "target position")];
const NEEDED_INPUTS: [(u16, u8, &str); 3] = [
    (0x6041, 16, "statusword"),
    (0x6064, 32, "actual position"),
    (0x6061, 8, "mode display"),
];

/// For longer than this no drive on a network interface may go on alone, in ms.
const MOST_ALONE_MS: f64 = 1000.0;
/// Most devices of a segment: all states have to fit into one frame.
pub const MAX_DEVICES: usize = 16;
/// Most process data of a segment, in bytes.
pub const MAX_DATA: usize = 512;

impl SdoValue {
    /// Its bytes and how many of them count.
    pub fn bytes(self) -> ([u8; 4], usize) {
        let mut bytes = [0; 4];
        let n = match self {
            SdoValue::U8(v) => fill(&mut bytes, &v.to_le_bytes()),
            SdoValue::U16(v) => fill(&mut bytes, &v.to_le_bytes()),
            SdoValue::U32(v) => fill(&mut bytes, &v.to_le_bytes()),
            SdoValue::I8(v) => fill(&mut bytes, &v.to_le_bytes()),
            SdoValue::I16(v) => fill(&mut bytes, &v.to_le_bytes()),
            SdoValue::I32(v) => fill(&mut bytes, &v.to_le_bytes()),
        };
        (bytes, n)
    }
}

impl SdoValue {
    /// As a number.
    pub fn number(self) -> i64 {
        match self {
            SdoValue::U8(v) => v.into(),
            SdoValue::U16(v) => v.into(),
            SdoValue::U32(v) => v.into(),
            SdoValue::I8(v) => v.into(),
            SdoValue::I16(v) => v.into(),
            SdoValue::I32(v) => v.into(),
        }
    }
}

fn fill(bytes: &mut [u8; 4], value: &[u8]) -> usize {
    bytes[..value.len()].copy_from_slice(value);
    value.len()
}

/// Where an object lies in the process data of its direction: first bit and number of bits.
pub fn find_entry(pdos: &[PdoConfig], index: u16, sub: u8) -> Option<(usize, u8)> {
    let mut bit = 0;
    for &(i, s, bits) in pdos.iter().flat_map(|pdo| &pdo.entries) {
        if (i, s) == (index, sub) {
            return Some((bit, bits));
        }
        bit += usize::from(bits);
    }
    None
}

/// Bytes of all entries.
pub fn data_len(pdos: &[PdoConfig]) -> usize {
    let bits: usize = pdos
        .iter()
        .flat_map(|pdo| &pdo.entries)
        .map(|e| usize::from(e.2))
        .sum();
    bits.div_ceil(8)
}

impl EthercatConfig {
    /// Number of a device by its name.
    pub fn device(&self, name: &str) -> Option<usize> {
        self.devices.iter().position(|d| d.name == name)
    }

    /// The names of its inputs in the order of their slots.
    pub fn inputs(&self) -> Vec<String> {
        let drive = self.drive.iter().flat_map(|_| DRIVE_INPUTS);
        let own = self.inputs.iter().map(|input| input.name.clone());
        drive.map(str::to_owned).chain(own).collect()
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        if let Port::Interface(name) = &self.port
            && (name.is_empty() || name.len() > 15)
        {
            let problem = format!("is '{name}'; expected the name of a network interface");
            return Err(FieldError::new("port", problem));
        }
        require_within(
            "reply_timeout_us",
            self.reply_timeout_us,
            10.0,
            100_000.0,
            "µs",
        )?;
        if let Some(ms) = self.watchdog_ms {
            require_within("watchdog_ms", ms, 1.0, 6000.0, "ms")?;
        }
        if let Some(clocks) = &self.clocks {
            require_within("clocks.sync0_after", clocks.sync0_after, 0.0, 1.0, "")?;
            let n = f64::from(clocks.static_iterations);
            require_within("clocks.static_iterations", n, 0.0, 100_000.0, "")?;
        }
        self.check_devices()?;
        self.check_drive().map_err(|e| e.within("drive"))?;
        for (i, input) in self.inputs.iter().enumerate() {
            self.check_input(i, input)
                .map_err(|e| e.within(&format!("inputs[{i}]")))?;
        }
        for (i, output) in self.outputs.iter().enumerate() {
            self.check_output(i, output)
                .map_err(|e| e.within(&format!("outputs[{i}]")))?;
        }
        Ok(())
    }

    fn check_output(&self, i: usize, output: &OutputConfig) -> Result<(), FieldError> {
        let name = &output.name;
        if !is_name(name) {
            return Err(FieldError::new("name", format!("is '{name}'; {NAME_RULE}")));
        }
        let place = |o: &OutputConfig| (o.device.clone(), o.index, o.sub, o.bit);
        let others = &self.outputs[..i];
        if let Some(other) = others
            .iter()
            .find(|o| o.name == *name || place(o) == place(output))
        {
            let problem = format!(
                "'{name}' has the name or the bit of '{}'; each has its own",
                other.name
            );
            return Err(FieldError::new("name", problem));
        }
        let device = self.known_device(&output.device)?;
        let is_drive = self.drive.as_ref().is_some_and(|d| d.device == device.name);
        let of_drive = NEEDED_OUTPUTS.iter().any(|o| o.0 == output.index) || output.index == 0x6060;
        if is_drive && of_drive {
            return Err(FieldError::new(
                "index",
                format!(
                    "0x{:04X} is what the drive itself is told by; expected another object",
                    output.index
                ),
            ));
        }
        let wrong = |field: &str, problem: String| Err(FieldError::new(field, problem));
        match find_entry(&device.outputs, output.index, output.sub) {
            Some((_, bits)) if output.bit < bits => Ok(()),
            Some((_, bits)) => wrong(
                "bit",
                format!(
                    "is {}; 0x{:04X}:{} has {bits} bits, counted from 0",
                    output.bit, output.index, output.sub
                ),
            ),
            None => wrong(
                "index",
                format!(
                    "0x{:04X}:{} is not mapped in the outputs of '{}'",
                    output.index, output.sub, device.name
                ),
            ),
        }
    }

    fn check_devices(&self) -> Result<(), FieldError> {
        let wrong = |problem: String| Err(FieldError::new("devices", problem));
        if self.devices.is_empty() || self.devices.len() > MAX_DEVICES {
            return wrong(format!(
                "are {}; expected 1 to {MAX_DEVICES}",
                self.devices.len()
            ));
        }
        let mut bytes = 0;
        for (i, device) in self.devices.iter().enumerate() {
            if self.devices[..i].iter().any(|d| d.name == device.name) {
                return wrong(format!("'{}' stands twice", device.name));
            }
            if device.sync0 && self.clocks.is_none() {
                let field = format!("devices[{i}].sync0");
                return Err(FieldError::new(field, "needs 'clocks'"));
            }
            for pdo in device.outputs.iter().chain(&device.inputs) {
                if pdo.entries.iter().any(|e| e.2 == 0 || e.2 > 64) {
                    return wrong(format!(
                        "'{}': entries of 0x{:04X} have 1 to 64 bits",
                        device.name, pdo.index
                    ));
                }
            }
            bytes += data_len(&device.outputs) + data_len(&device.inputs);
        }
        if bytes > MAX_DATA {
            return wrong(format!(
                "have {bytes} bytes of process data; at most {MAX_DATA}"
            ));
        }
        Ok(())
    }

    fn check_drive(&self) -> Result<(), FieldError> {
        let Some(drive) = &self.drive else {
            return Ok(());
        };
        let device = self.known_device(&drive.device)?;
        if let Some(homing) = &drive.homing {
            homing.check().map_err(|e| e.within("homing"))?;
            if find_entry(&device.outputs, 0x6060, 0).is_none_or(|(_, bits)| bits != 8) {
                let problem = format!(
                    "cannot be started: the outputs of '{}' lack (0x6060, 0, 8), the mode of operation",
                    device.name
                );
                return Err(FieldError::new("homing", problem));
            }
        }
        if !(drive.counts_per_m.is_finite() && drive.counts_per_m.abs() >= 1.0) {
            return Err(FieldError::new(
                "counts_per_m",
                format!(
                    "is {}; expected at least 1, of either sign",
                    drive.counts_per_m
                ),
            ));
        }
        self.check_reactions(drive, device)?;
        require_within("zero_m", drive.zero_m, -10.0, 10.0, "m")?;
        require_within("enable_ms", drive.enable_ms, 10.0, 10_000.0, "ms")?;
        for (pdos, needed, list) in [
            (&device.outputs, &NEEDED_OUTPUTS[..], "outputs"),
            (&device.inputs, &NEEDED_INPUTS[..], "inputs"),
        ] {
            for &(index, bits, what) in needed {
                if find_entry(pdos, index, 0).is_none_or(|(_, b)| b != bits) {
                    return Err(FieldError::new(
                        "device",
                        format!(
                            "'{}': its {list} lack (0x{index:04X}, 0, {bits}), the {what}",
                            device.name
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    /// What the drive does alone is stated where a motor can move.
    fn check_reactions(
        &self,
        drive: &DriveConfig,
        device: &DeviceConfig,
    ) -> Result<(), FieldError> {
        let is_hardware = matches!(self.port, Port::Interface(_));
        let Some(stated) = &drive.reactions else {
            return if is_hardware {
                Err(FieldError::new(
                    "reactions",
                    format!(
                        "are missing: on a network interface it has to be stated what the drive does alone (quick stop, \
                         errors, lost connection, following error); write for example {}",
                        reactions::EXAMPLE
                    ),
                ))
            } else {
                Ok(())
            };
        };
        stated
            .check(drive.counts_per_m)
            .map_err(|e| e.within("reactions"))?;
        if let Some(ms) = self
            .watchdog_ms
            .filter(|ms| is_hardware && *ms > MOST_ALONE_MS)
        {
            return Err(FieldError::new(
                "watchdog_ms",
                format!(
                    "is {ms} ms: for so long a drive would go on by itself after the program died; expected at most \
                     {MOST_ALONE_MS} ms on a network interface, usual are 20 to 100 ms"
                ),
            ));
        }
        if is_hardware && self.watchdog_ms.is_none() {
            return Err(FieldError::new(
                "reactions",
                "need the watchdog by which the drive notices that nobody speaks to it: write watchdog_ms in this bus, for \
                 example watchdog_ms: 50.0",
            ));
        }
        let demanded = stated.demands(drive.counts_per_m);
        let twice = |sdo: &&SdoConfig| {
            demanded
                .iter()
                .any(|d| (d.index, 0) == (sdo.index, sdo.sub))
        };
        if let Some(sdo) = device.sdo.iter().find(twice) {
            return Err(FieldError::new(
                "reactions",
                format!(
                    "state 0x{:04X}, and so does the sdo list of '{}' with {}: leave it out there",
                    sdo.index,
                    device.name,
                    sdo.value.number()
                ),
            ));
        }
        Ok(())
    }

    /// Refuses a drive that cannot brake from a speed in the time that it has for it.
    pub fn check_stop(&self, speed_m_per_s: f64) -> Result<(), FieldError> {
        let reactions = self.drive.as_ref().and_then(|d| d.reactions.as_ref());
        reactions
            .map_or(Ok(()), |r| r.check_stop(speed_m_per_s))
            .map_err(|e| e.within("drive.reactions"))
    }

    fn check_input(&self, i: usize, input: &InputConfig) -> Result<(), FieldError> {
        let is_taken = self.inputs[..i].iter().any(|o| o.name == input.name)
            || (self.drive.is_some() && DRIVE_INPUTS.contains(&input.name.as_str()));
        if !is_name(&input.name) {
            return Err(FieldError::new(
                "name",
                format!("is '{}'; {NAME_RULE}", input.name),
            ));
        }
        if is_taken {
            return Err(FieldError::new(
                "name",
                format!("'{}' stands twice", input.name),
            ));
        }
        let device = self.known_device(&input.device)?;
        match find_entry(&device.inputs, input.index, input.sub) {
            Some((_, bits)) if bits <= 32 => {}
            found => {
                let what = found.map_or("is not mapped", |_| "has more than 32 bits");
                return Err(FieldError::new(
                    "index",
                    format!(
                        "0x{:04X}:{} {what} in the inputs of '{}'",
                        input.index, input.sub, device.name
                    ),
                ));
            }
        }
        if !(input.scale.is_finite() && input.scale != 0.0 && input.offset.is_finite()) {
            return Err(FieldError::new(
                "scale",
                "and offset: expected finite numbers and a scale that is not 0",
            ));
        }
        Ok(())
    }

    fn known_device(&self, name: &str) -> Result<&DeviceConfig, FieldError> {
        let found = self.device(name).and_then(|i| self.devices.get(i));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.devices.iter().map(|d| d.name.as_str()).collect();
            FieldError::new(
                "device",
                format!("'{name}' is none of the devices: {}", known.join(", ")),
            )
        })
    }
}

impl DriveHoming {
    fn check(&self) -> Result<(), FieldError> {
        require_within("timeout_s", self.timeout_s, 0.1, 60.0, "s")?;
        if let Some(bit) = self.homed_bit.filter(|bit| !VENDOR_BITS.contains(bit)) {
            return Err(FieldError::new(
                "homed_bit",
                format!("is {bit}; expected 8, 14 or 15: CiA 402 defines all others"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::rig_file::RigFile;
    use rt_core::file;
    use std::path::Path;

    /// The shipped rig file with one thing changed, and what it is told.
    #[test]
    fn mistakes_are_named_where_they_are() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/ethercat-dsa-380.ron");
        let text = std::fs::read_to_string(&path).unwrap();
        file::parse::<RigFile>(&text, &path).unwrap_or_else(|e| panic!("{e}"));
        for (from, to, expected) in [
            (
                "port: InProcess",
                "port: Interface(\"\")",
                "name of a network interface",
            ),
            (
                "reply_timeout_us: 400.0",
                "reply_timeout_us: 1.0",
                "reply_timeout_us",
            ),
            ("watchdog_ms: 50.0", "watchdog_ms: 0.1", "watchdog_ms"),
            ("sync0_after: 0.5", "sync0_after: 2.0", "clocks.sync0_after"),
            (
                "clocks: (sync0_after: 0.5, static_iterations: 500),",
                "",
                "needs 'clocks'",
            ),
            (
                "name: \"rear amplifier\"",
                "name: \"front amplifier\"",
                "'front amplifier' stands twice",
            ),
            (
                "(0x607A, 0, 32), ",
                "",
                "lack (0x607A, 0, 32), the target position",
            ),
            (
                "(0x6061, 0, 8), (0, 0, 8)",
                "(0, 0, 16)",
                "lack (0x6061, 0, 8), the mode display",
            ),
            ("(0, 0, 8),\n", "(0, 0, 0),\n", "have 1 to 64 bits"),
            ("counts_per_m: 1.0e7", "counts_per_m: 0.0", "counts_per_m"),
            (
                "device: \"drive\",",
                "device: \"motor\",",
                "'motor' is none of the devices: drive,",
            ),
            (
                "name: \"rear\", device",
                "name: \"position\", device",
                "'position' stands twice",
            ),
            (
                "name: \"rear\", device",
                "name: \"Rear\", device",
                "beginning with a letter",
            ),
            (
                "index: 0x6000, sub: 1)",
                "index: 0x6000, sub: 2)",
                "0x6000:2 is not mapped in the inputs of",
            ),
            (
                "signed: true, scale: 1.0e-6",
                "signed: true, scale: 0.0",
                "a scale that is not 0",
            ),
            (
                "input: \"ecat.front\"",
                "input: \"ecat.middle\"",
                "ecat.position",
            ),
            (
                "counts_per_m: 1.0e7,",
                "counts_per_m: 1.0e7, homing: (timeout_s: 0.0),",
                "drive.homing.timeout_s",
            ),
            (
                "counts_per_m: 1.0e7,",
                "counts_per_m: 1.0e7, homing: (timeout_s: 30.0, homed_bit: 10),",
                "drive.homing.homed_bit: is 10; expected 8, 14 or 15",
            ),
            ("revision: 0x00010000", "revison: 0x00010000", "revison"),
            (
                "connection_loss: 1",
                "connection_loss: 0",
                "drive.reactions.connection_loss: is 0: the motor would go on",
            ),
            (
                "index: 0x6060, value: I8(8)",
                "index: 0x6065, value: U32(300000)",
                "state 0x6065, and so does the sdo list of 'drive' with 300000",
            ),
            (
                "off_within_ms: 250.0",
                "off_within_ms: 60.0",
                "off_within_ms: is 60 ms; braking from actuator.max_speed_m_per_s",
            ),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = file::parse::<RigFile>(&changed, &path)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn homing_needs_the_mode_among_the_outputs() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/ethercat-dsa-380.ron");
        let text = std::fs::read_to_string(&path).unwrap();
        let homing = "counts_per_m: 1.0e7, homing: (timeout_s: 30.0, homed_bit: 14),";
        let homes = text.replacen("counts_per_m: 1.0e7,", homing, 1);
        file::parse::<RigFile>(&homes, &path).unwrap_or_else(|e| panic!("{e}"));
        let unmapped = homes.replacen("(0x6060, 0, 8), (0, 0, 8)", "(0, 0, 16)", 1);
        let error = file::parse::<RigFile>(&unmapped, &path).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("the outputs of 'drive' lack (0x6060, 0, 8)"),
            "{text}"
        );
    }

    /// Emulated in the process, a drive may be as it is; on an interface it is stated what it does alone.
    #[test]
    fn hardware_states_what_its_drive_does_alone() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/ethercat-dsa-380.ron");
        let text = std::fs::read_to_string(&path).unwrap();
        let interface = |text: &str| text.replacen("InProcess,", "Interface(\"eth1\"),", 1);
        let problem = |text: &str| match file::parse::<RigFile>(text, &path) {
            Ok(_) => String::new(),
            Err(e) => e.to_string(),
        };
        assert_eq!(problem(&interface(&text)), "");
        let begin = text.find("reactions: (").unwrap();
        let end = begin + text[begin..].find("),").unwrap() + 2;
        let unstated = format!("{}{}", &text[..begin], &text[end..]);
        assert_eq!(problem(&unstated), "");
        let refused = problem(&interface(&unstated));
        assert!(
            refused.contains("drive.reactions: are missing"),
            "{refused}"
        );
        // What it says to write is accepted.
        let example = format!(
            "{}{},{}",
            &text[..begin],
            super::reactions::EXAMPLE,
            &text[end..]
        );
        assert_eq!(problem(&interface(&example)), "");
        let long = interface(&text).replacen("watchdog_ms: 50.0,", "watchdog_ms: 1001.0,", 1);
        let refused = problem(&long);
        assert!(
            refused.contains("1001 ms") && refused.contains("at most 1000 ms"),
            "{refused}"
        );
        let unwatched = interface(&text).replacen("watchdog_ms: 50.0,", "", 1);
        let refused = problem(&unwatched);
        assert!(refused.contains("write watchdog_ms"), "{refused}");
    }
}
