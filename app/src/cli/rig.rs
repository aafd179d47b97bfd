//! `pantobench rig`: puts a rig to work: scan, home, test its brake, check, jog, identify.

mod brake_test;
mod check;
mod identify;

use super::{Failure, text};
use crate::permit::Presence;
use crate::rig_work::home;
use crate::rig_work::jog::{self, Goal, Wanted};
use crate::rig_work::play::Stand;
use crate::rig_work::scan::{self, Scan};
use crate::rig_work::{ORDER, WorkError};
use rt_core::rig::setting::Setting;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `pantobench rig`.
#[derive(clap::Args)]
#[command(
    after_help = "The usual order: scan, home, brake-test, check, calibrate (pantobench calibrate), identify.\n\
                  Example: pantobench rig check assets/rigs/simulated-dsa-380.ron\n\n\
                  Simulated rigs are worked on as fast as the machine can, hardware in real time. What is hardware, or asks \
                  for two steps or a dead man's switch, is moved by a person at the terminal (A, then C, then the space \
                  bar held) unless its file says safety.unattended. Ctrl-C stops in a controlled way. Exit codes: 0 done, 1 something is not as it should be, 2 bad input, 3 hardware or \
                  environment."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: RigCommand,
}

#[derive(clap::Subcommand)]
enum RigCommand {
    /// What answers, against what the rig file expects; nothing moves.
    #[command(after_help = "Example: pantobench rig scan assets/rigs/simulated-load-cells.ron")]
    Scan(RigArguments),
    /// Home a drive that does not know where it is. The motor moves by itself.
    #[command(after_help = "Example: pantobench rig home assets/rigs/simulated-interlocks.ron")]
    Home(RigArguments),
    /// Whether the brake holds the motor without power; nothing is switched on.
    BrakeTest(brake_test::BrakeTestArguments),
    /// Wiring and signs with moves of a fraction of a millimetre; with --offline what protects, by the file alone.
    #[command(
        after_help = "Example: pantobench rig check assets/rigs/simulated-load-cells.ron --json\n\
                      Example: pantobench rig check assets/rigs/ethercat-dsa-380.ron --offline"
    )]
    Check(check::CheckArguments),
    /// Move the motor within its range, hold it, read position and force, park again.
    Jog(JogArguments),
    /// Identify motor, delays, pad and noise; show old against new.
    Identify(identify::IdentifyArguments),
}

/// Which rig.
#[derive(clap::Args)]
struct RigArguments {
    /// The rig file.
    #[arg(value_name = "RIG.ron")]
    rig: PathBuf,
    /// Accepted for what was written before: the second step of arming is taken with a key, beside the rig.
    #[arg(long)]
    confirm: bool,
    /// Reset what the drive has latched, once, before anything else. Nothing moves by it.
    #[arg(long)]
    acknowledge: bool,
    /// Let a drive that does not know where it is find its home position first.
    #[arg(long)]
    home: bool,
    /// Move hardware without real-time rights.
    #[arg(long)]
    insist: bool,
    /// Work as fast as the machine can on a rig that is emulated in this process; simulated rigs always are.
    #[arg(long)]
    fast: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench rig jog assets/rigs/simulated-dsa-380.ron --by -0.005\n\
                  Example: pantobench rig jog assets/rigs/simulated-dsa-380.ron --to 0.02 --speed 0.01 --hold 5\n\n\
                  The motor starts from its parked position and goes back there; a bench that ends leaves nothing \
                  powered. In the window, panel Commissioning, it moves as long as a button is held."
)]
struct JogArguments {
    #[command(flatten)]
    rig: RigArguments,
    /// Height to go to, in m.
    #[arg(
        long,
        value_name = "M",
        conflicts_with = "by",
        required_unless_present = "by"
    )]
    to: Option<f64>,
    /// Distance from the parked position, in m; upward if above 0.
    #[arg(long, value_name = "M")]
    by: Option<f64>,
    /// How fast, in m/s.
    #[arg(long, value_name = "M/S")]
    speed: Option<f64>,
    /// How long it is held there, in s.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    hold: f64,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        RigCommand::Scan(a) => run_scan(a),
        RigCommand::Home(a) => run_home(a),
        RigCommand::BrakeTest(a) => brake_test::run(a),
        RigCommand::Check(a) => check::run(a),
        RigCommand::Jog(a) => run_jog(a),
        RigCommand::Identify(a) => identify::run(a),
    }
}

impl From<WorkError> for Failure {
    fn from(e: WorkError) -> Self {
        match e {
            WorkError::Input(text) => Failure::Input(text),
            WorkError::Result(text) => Failure::Result(text),
            WorkError::Environment(text) => Failure::Environment(text),
            WorkError::Stopped => Failure::Result(e.to_string()),
        }
    }
}

impl RigArguments {
    fn stand(&self) -> Result<Stand, Failure> {
        let stop = super::run::stop_flag()?;
        let mut stand = Stand::load(&self.rig, stop)?;
        if self.confirm {
            tell!("note: --confirm before the start is no second step: it is taken beside the rig");
        }
        stand.presence = Presence::Terminal;
        (stand.acknowledges, stand.homes) = (self.acknowledge, self.home);
        (stand.insists, stand.fast) = (self.insist, self.fast);
        Ok(stand)
    }
}

fn say(text: &str) {
    tell!("{text}");
}

/// What usually comes after a step.
fn tell_next(step: &str) {
    let at = ORDER.iter().position(|(name, _)| *name == step);
    if let Some((name, what)) = at.and_then(|at| ORDER.get(at + 1)) {
        tell!("next: {name} ({what})");
    }
}

fn run_scan(a: &RigArguments) -> Result<(), Failure> {
    let found = scan::scan(&a.stand()?)?;
    if a.json {
        say!("{}", scan_json(&found));
    } else {
        print_scan(&found);
    }
    if found.is_held() {
        tell_next("scan");
        return Ok(());
    }
    Err(Failure::Result(format!(
        "the rig is not as its file says: {}",
        found.differences.join("; ")
    )))
}

fn scan_json(found: &Scan) -> Value {
    let devices = found.devices.iter().map(|d| {
        json!({
            "name": d.name, "identity": d.identity, "state": d.state.name(), "answers": d.answers,
            "exchanges": d.exchanges, "lost": d.lost, "late": d.late,
            "settings": d.settings.iter().map(setting_json).collect::<Vec<_>>(),
        })
    });
    let inputs = found.inputs.iter().map(|i| {
        json!({
            "id": i.channel.id, "label": i.channel.label, "unit": i.channel.unit,
            "mean": i.mean, "std": i.deviation,
        })
    });
    json!({
        "rig": found.rig, "held": found.is_held(), "exchanges": found.tried, "answered": found.good,
        "fault": found.fault.as_ref().map(|f| &f.id), "differences": found.differences,
        "devices": devices.collect::<Vec<_>>(), "inputs": inputs.collect::<Vec<_>>(),
    })
}

/// `agrees` is null where nobody can tell.
fn setting_json(s: &Setting) -> Value {
    json!({
        "object": s.object, "name": s.name, "demanded": s.demanded, "read_back": s.read_back, "unit": s.unit,
        "agrees": s.agrees, "note": s.note,
    })
}

fn print_scan(found: &Scan) {
    say!(
        "{}: {} of {} exchanges answered\n",
        found.rig,
        found.good,
        found.tried
    );
    let rows: Vec<Vec<String>> = found
        .devices
        .iter()
        .map(|d| {
            let count = [d.exchanges, d.lost, d.late].map(|n| n.to_string());
            [
                vec![d.name.clone(), d.state.name().to_owned()],
                count.to_vec(),
            ]
            .concat()
        })
        .collect();
    text::table(&["device", "state", "exchanges", "lost", "late"], &rows);
    for (device, identity) in found
        .devices
        .iter()
        .filter_map(|d| Some((d, d.identity.as_ref()?)))
    {
        say!("{} is {identity}", device.name);
    }
    for device in found.devices.iter().filter(|d| !d.settings.is_empty()) {
        say!("\nWhat {} does alone:", device.name);
        let rows: Vec<Vec<String>> = device.settings.iter().map(setting_row).collect();
        text::table(
            &["object", "decides", "demanded", "read back", "", "note"],
            &rows,
        );
    }
    say!();
    let rows: Vec<Vec<String>> = found
        .inputs
        .iter()
        .map(|i| {
            let shown = |x: Option<f64>| text::number(x.unwrap_or(f64::NAN));
            vec![
                i.channel.id.into(),
                i.channel.unit.into(),
                shown(i.mean),
                shown(i.deviation),
            ]
        })
        .collect();
    text::table(&["input", "unit", "mean", "σ"], &rows);
}

fn setting_row(s: &Setting) -> Vec<String> {
    vec![
        s.object.clone(),
        s.name.into(),
        s.shown(s.demanded),
        s.shown(s.read_back),
        s.verdict().into(),
        s.note.clone().unwrap_or_default(),
    ]
}

fn run_home(a: &RigArguments) -> Result<(), Failure> {
    let homed = home::home(&a.stand()?)?;
    if a.json {
        say!(
            "{}",
            json!({ "homed": true, "was_needed": homed.was_needed, "seconds": homed.seconds, "position_m": homed.position_m })
        );
    } else if homed.was_needed {
        say!(
            "homed in {:.1} s; the motor is at {} m",
            homed.seconds,
            text::number(homed.position_m.unwrap_or(f64::NAN))
        );
    } else {
        say!("nothing to do: the drive knows where it is");
    }
    tell_next("home");
    Ok(())
}

fn run_jog(a: &JogArguments) -> Result<(), Failure> {
    let goal = match (a.to, a.by) {
        (Some(height), _) => Goal::To(height),
        (None, Some(distance)) => Goal::By(distance),
        (None, None) => return Err(Failure::Input("expected --to or --by".into())),
    };
    let wanted = Wanted {
        goal,
        speed_m_per_s: a.speed,
        hold_s: a.hold,
    };
    let jogged = jog::jog(&a.rig.stand()?, &wanted)?;
    if a.rig.json {
        say!(
            "{}",
            json!({
                "target_m": jogged.target_m, "position_m": jogged.position_m, "force_n": jogged.force_n,
                "error_m": jogged.position_m - jogged.target_m, "moved_s": jogged.moved_s,
            })
        );
    } else {
        say!(
            "sent to {:.6} m: position {:.6} m, force {:.2} N; parked again",
            jogged.target_m,
            jogged.position_m,
            jogged.force_n
        );
    }
    Ok(())
}
