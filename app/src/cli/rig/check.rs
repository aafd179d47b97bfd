//! `pantobench rig check`: wiring and signs with tiny moves, or what protects by the file alone.

use super::{RigArguments, say, tell_next};
use crate::cli::{Failure, text};
use crate::rig_work::check::{Checked, check};
use crate::rig_work::offline;
use drivers::protection::{Protected, Table};
use serde_json::{Value, json};

/// Arguments of `pantobench rig check`.
#[derive(clap::Args)]
pub struct CheckArguments {
    #[command(flatten)]
    rig: RigArguments,
    /// Contact nothing and move nothing: say what protects from each hazard, and what does not, by the file.
    #[arg(long, conflicts_with_all = ["confirm", "home", "insist", "fast"])]
    offline: bool,
}

/// Does what the arguments say.
pub fn run(a: &CheckArguments) -> Result<(), Failure> {
    if a.offline {
        run_offline(&a.rig)
    } else {
        run_check(&a.rig)
    }
}

fn run_offline(a: &RigArguments) -> Result<(), Failure> {
    let table = offline::read(&a.rig, offline::PERIOD_S)?;
    if a.json {
        say!("{}", table_json(&table));
    } else {
        print_table(&table);
    }
    if let Some(refused) = table.refused.as_ref().filter(|r| r.is_senseless) {
        return Err(Failure::Input(refused.text.clone()));
    }
    if table.is_ok() {
        return Ok(());
    }
    let missing: Vec<&str> = table.missing().map(|h| h.id).collect();
    Err(Failure::Result(format!("missing: {}", missing.join(", "))))
}

fn table_json(table: &Table) -> Value {
    let hazards = table.hazards.iter().map(|h| {
        json!({ "id": h.id, "what": h.what, "state": h.state.name(), "protected_by": h.protected_by, "note": h.note })
    });
    let stopping = table.stopping.map(|s| {
        json!({
            "speed_m_s": s.speed_m_s, "reaction_s": s.reaction_s, "distance_m": s.distance_m,
            "available_m": s.available_m, "peak_force_n": s.peak_force_n, "rigid_force_n": s.rigid_force_n,
        })
    });
    json!({
        "ok": table.is_ok(), "rig": table.rig, "hardware": table.is_hardware,
        "hazards": hazards.collect::<Vec<_>>(), "stopping": stopping,
        "refused": table.refused.as_ref().map(|r| &r.text),
    })
}

/// One block a hazard: sentences are too long for columns.
fn print_table(table: &Table) {
    say!("{}: {}", table.rig, offline::verdict(table));
    if let Some(stopping) = &table.stopping {
        say!("{}", offline::in_words(stopping));
    }
    for hazard in &table.hazards {
        let state = match hazard.state {
            Protected::Ok => "ok",
            Protected::Weak => "WEAK",
            Protected::Missing => "MISSING",
        };
        say!("\n{state:<8} {} ({})", hazard.what, hazard.id);
        for protection in &hazard.protected_by {
            say!("         + {protection}");
        }
        if !hazard.note.is_empty() {
            let sign = if hazard.state == Protected::Ok {
                ' '
            } else {
                '-'
            };
            say!("         {sign} {}", hazard.note);
        }
    }
}

fn run_check(a: &RigArguments) -> Result<(), Failure> {
    let checked = check(&a.stand()?, &mut say)?;
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
