//! `pantobench emulate`: the devices of a hardware rig file, emulated on this computer for another process.

use super::Failure;
use drivers::emulate::faults::{LinkFault, Planned};
use drivers::emulate::{EmulateError, Emulator};
use drivers::rig_file::{RigFile, rig_pantograph};
use rt_core::file;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Arguments of `pantobench emulate`.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench emulate assets/rigs/linmot-udp-serial.ron\n\
                  Example: pantobench emulate assets/rigs/linmot-udp-serial.ron --inject drive:lost@10+0.05\n\
                  Example: pantobench emulate assets/rigs/linmot-udp-serial.ron --uplift 130.625\n\n\
                  While it runs, `pantobench run` with a session on the same rig file finds the rig. Ctrl-C ends it. \
                  Faults: lost, late, duplicate, truncated, garbage, wrong-checksum, foreign, stuck, drive-error, \
                  ignore-references, disabled, power-loss, unplugged; on EtherCAT also emergency, watchdog, drop-out, \
                  refuse-op, wrong-device, open-circuits."
)]
pub struct Arguments {
    /// The rig file; the kind that names buses.
    #[arg(value_name = "RIG.ron")]
    rig: PathBuf,
    /// A fault that a bus shows from a time on, for a time, in s; may be repeated.
    #[arg(long, value_name = "BUS:FAULT@FROM+S")]
    inject: Vec<String>,
    /// Lift of the emulated pantograph, in N, in place of the rig file's; a session's `uplift_n` does not reach this
    /// process.
    #[arg(long, value_name = "N")]
    uplift: Option<f64>,
    /// End by itself after this long, in s.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Print one JSON object when all devices are there.
    #[arg(long)]
    json: bool,
}

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rig: RigFile = file::load(&arguments.rig).map_err(Failure::input)?;
    let RigFile::Hardware(mut config) = rig else {
        return Err(Failure::Input(format!(
            "{}: this rig is simulated and has no devices to emulate; expected a rig file with Hardware(…)",
            arguments.rig.display()
        )));
    };
    let seconds = match arguments.seconds {
        None => None,
        Some(s) if (0.0..=1e6).contains(&s) => Some(Duration::from_secs_f64(s)),
        Some(s) => {
            return Err(Failure::Input(format!(
                "--seconds {s} is refused: it must lie within 0 to 1000000 s"
            )));
        }
    };
    if let Some(uplift) = arguments.uplift {
        if !(0.0..=2000.0).contains(&uplift) {
            return Err(Failure::Input(format!(
                "--uplift {uplift} is refused: it must lie within 0 to 2000 N"
            )));
        }
        config.uplift_n = uplift;
    }
    let planned: Vec<Planned> = arguments
        .inject
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()
        .map_err(|e| Failure::Input(format!("--inject {e}")))?;
    let pantograph = rig_pantograph(&arguments.rig).map_err(Failure::input)?;
    let stop = super::run::stop_flag()?;
    let emulator = Emulator::start(&config, &pantograph, &planned).map_err(|e| match e {
        EmulateError::NoSuchBus { .. } => Failure::Input(format!("--inject: {e}")),
        EmulateError::Device { .. } => Failure::Environment(e.to_string()),
    })?;
    print(&emulator, arguments.json)?;
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && seconds.is_none_or(|s| begin.elapsed() < s) {
        if emulator.has_ended() {
            return Err(Failure::Environment(
                "an emulated device has ended by itself; this is a defect: please report it".into(),
            ));
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// Where the devices are. Whoever starts this program waits for it, so it is not kept back.
fn print(emulator: &Emulator, as_json: bool) -> Result<(), Failure> {
    let text = if as_json {
        let devices = emulator.devices.iter();
        let devices: Vec<_> = devices
            .map(|d| json!({ "bus": d.bus, "kind": d.served.kind, "address": d.served.address }))
            .collect();
        let faults = LinkFault::ALL.map(LinkFault::name);
        format!("{}\n", json!({ "devices": devices, "faults": faults }))
    } else {
        let lines = emulator.devices.iter();
        let lines: Vec<String> = lines
            .map(|d| format!("{}: {} at {}\n", d.bus, d.served.kind, d.served.address))
            .collect();
        format!("{}Ctrl-C ends it.\n", lines.concat())
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Failure::Environment(format!("cannot be printed: {e}")))
}
