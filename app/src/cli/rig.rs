//! `pantobench rig`: puts a rig to work: scan, home, test its brake, check, jog, identify.

mod brake_test;
mod identify;

use super::{Failure, text};
use crate::rig_work::check::{self, Checked};
use crate::rig_work::home;
use crate::rig_work::jog::{self, Goal, Wanted};
use crate::rig_work::play::Stand;
use crate::rig_work::scan::{self, Scan};
use crate::rig_work::{ORDER, WorkError};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `pantobench rig`.
#[derive(clap::Args)]
#[command(
    after_help = "The usual order: scan, home, brake-test, check, calibrate (pantobench calibrate), identify.\n\
                  Example: pantobench rig check assets/rigs/simulated-dsa-380.ron\n\n\
                  Simulated rigs are worked on as fast as the machine can, hardware in real time. Ctrl-C stops in a \
                  controlled way. Exit codes: 0 done, 1 something is not as it should be, 2 bad input, 3 hardware or \
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
    /// Wiring and signs with moves of a fraction of a millimetre.
    #[command(
        after_help = "Example: pantobench rig check assets/rigs/simulated-load-cells.ron --json"
    )]
    Check(RigArguments),
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
    /// Confirm that a rig which takes two steps to be armed may be moved.
    #[arg(long)]
    confirm: bool,
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
        RigCommand::Check(a) => run_check(a),
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
        (stand.confirmed, stand.homes) = (self.confirm, self.home);
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

fn run_check(a: &RigArguments) -> Result<(), Failure> {
    let checked = check::check(&a.stand()?, &mut say)?;
    if a.json {
        say!("{}", check_json(&checked));
    } else {
        print_check(&checked);
    }
    let failed: Vec<&str> = checked
        .items
        .iter()
        .filter(|item| !item.held)
        .map(|item| item.id.as_str())
        .collect();
    if failed.is_empty() {
        tell_next("check");
        return Ok(());
    }
    Err(Failure::Result(format!("not held: {}", failed.join(", "))))
}

fn check_json(checked: &Checked) -> Value {
    let items = checked.items.iter().map(|i| {
        json!({ "id": i.id, "question": i.question, "held": i.held, "found": i.found, "advice": i.advice })
    });
    json!({
        "held": checked.is_held(), "step_m": checked.step_m, "force_noise_n": checked.force_noise_n,
        "position_noise_m": checked.position_noise_m, "items": items.collect::<Vec<_>>(),
    })
}

fn print_check(checked: &Checked) {
    let rows: Vec<Vec<String>> = checked
        .items
        .iter()
        .map(|i| {
            let held = if i.held { "held" } else { "NOT HELD" };
            vec![i.question.clone(), held.into(), i.found.clone()]
        })
        .collect();
    text::table(&["question", "", "found"], &rows);
    for item in checked.items.iter().filter(|i| !i.held) {
        say!("\n{}: {}", item.question, item.advice);
    }
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
