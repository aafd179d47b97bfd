//! `pantobench benches`: what can be run, with which channels and parameters.

use super::{Failure, text};
use rt_core::bench::{BenchSpec, specs};
use serde_json::{Value, json};

/// Arguments of `pantobench benches`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench benches --json")]
pub struct Arguments {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Lists all benches.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        say!(
            "{}",
            json!({ "benches": specs().iter().map(|s| to_json(s)).collect::<Vec<_>>() })
        );
        return Ok(());
    }
    for spec in specs() {
        say!(
            "{}  {} (every {} ms)\n",
            spec.id,
            spec.title,
            spec.period_s * 1e3
        );
        let rows: Vec<_> = spec
            .channels
            .iter()
            .map(|c| {
                vec![
                    c.id.into(),
                    c.label.into(),
                    c.unit.into(),
                    c.role.name().into(),
                ]
            })
            .collect();
        text::table(&["channel", "what", "unit", "role"], &rows);
        say!();
        let rows: Vec<_> = spec
            .params
            .iter()
            .map(|p| {
                let [default, min, max] = [p.default, p.min, p.max].map(|v| v.to_string());
                vec![p.id.into(), p.help.into(), p.unit.into(), default, min, max]
            })
            .collect();
        text::table(
            &["parameter", "what", "unit", "default", "min", "max"],
            &rows,
        );
        say!();
    }
    Ok(())
}

fn to_json(spec: &BenchSpec) -> Value {
    let channels = spec.channels.iter();
    let params = spec.params.iter();
    json!({
        "id": spec.id,
        "title": spec.title,
        "period_s": spec.period_s,
        "channels": channels
            .map(|c| json!({ "id": c.id, "label": c.label, "unit": c.unit, "role": c.role.name() }))
            .collect::<Vec<_>>(),
        "params": params
            .map(|p| json!({
                "id": p.id, "label": p.label, "unit": p.unit,
                "default": p.default, "min": p.min, "max": p.max, "help": p.help,
            }))
            .collect::<Vec<_>>(),
    })
}
