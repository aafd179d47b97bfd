//! `pantobench simulate`: a pantograph runs along a line, offline.

use super::progress::Progress;
use super::{Failure, line, parse_spans};
use crate::home;
use clap::ValueEnum;
use rt_core::file;
use rt_core::model::catenary::scheme::Scheme;
use rt_core::model::catenary::{Coupling, Reference, Report, Run, Series};
use rt_core::model::interaction_mass::MassCoupling;
use rt_core::model::pantograph::Pantograph;
use rt_core::signal::contact_force::ForceFilter;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `pantobench simulate`.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench simulate --line assets/lines/stitched-sw.ron \
                        --pantograph assets/pantographs/dsa-380.ron --speed 300"
)]
pub struct Arguments {
    /// The line file.
    #[arg(long, value_name = "F")]
    line: PathBuf,
    /// The pantograph file.
    #[arg(long, value_name = "F")]
    pantograph: PathBuf,
    /// Train speed, in km/h (1 to 1000).
    #[arg(long, value_name = "KMH")]
    speed: f64,
    /// Uplift force, in N, instead of the pantograph's own at that speed.
    #[arg(long, value_name = "N")]
    force: Option<f64>,
    /// Step, in ms; 0.5 for the implicit scheme and 2 for the others, if left out.
    #[arg(long, value_name = "D")]
    dt_ms: Option<f64>,
    /// The model of the line: implicit (the reference), modal or full (real-time models).
    #[arg(long, default_value = "implicit", value_parser = parse_scheme, value_name = "implicit|modal|full")]
    scheme: Scheme,
    /// How pantograph and wire are coupled; 'contact' for the implicit scheme and 'mass' for the others,
    /// if left out.
    #[arg(long, value_enum)]
    coupling: Option<CouplingKind>,
    /// Contact stiffness of the coupling 'contact', in N/m.
    #[arg(long, default_value_t = rt_core::model::catenary::simulate::CONTACT_STIFFNESS, value_name = "K")]
    contact_stiffness: f64,
    /// Modes of the modal scheme; attachment vectors of the droppers are added.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    modes: usize,
    /// Longest element, in m (0.01 to 20).
    #[arg(long, default_value_t = 1.0, value_name = "H")]
    mesh_m: f64,
    /// First and last evaluated span, from 1; the middle ones if left out.
    #[arg(long, value_name = "A..B", value_parser = parse_spans)]
    spans: Option<(usize, usize)>,
    /// A series written with --out, to compare with.
    #[arg(long, value_name = "SERIES.csv")]
    reference: Option<PathBuf>,
    /// Write every step to this file.
    #[arg(long, value_name = "SERIES.csv")]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CouplingKind {
    /// A contact stiffness between head and wire.
    Contact,
    /// As on the bench: pad and virtual interaction mass.
    Mass,
}

impl Arguments {
    fn coupling(&self) -> Coupling {
        let kind = self.coupling.unwrap_or(match self.scheme {
            Scheme::Implicit => CouplingKind::Contact,
            Scheme::Modal | Scheme::Full => CouplingKind::Mass,
        });
        match kind {
            CouplingKind::Contact => Coupling::Implicit {
                stiffness: self.contact_stiffness,
            },
            CouplingKind::Mass => Coupling::InteractionMass(MassCoupling::table_2()),
        }
    }

    fn dt_s(&self) -> f64 {
        self.dt_ms.map_or(self.scheme.default_dt(), |ms| ms * 1e-3)
    }
}

fn parse_scheme(name: &str) -> Result<Scheme, String> {
    Scheme::named(name).ok_or_else(|| "expected implicit, modal or full".into())
}

fn read_reference(path: &Path) -> Result<Reference, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::Input(format!("{}: {e}", path.display()));
    Reference::from_csv(&std::fs::read_to_string(path).map_err(|e| bad(&e))?).map_err(|e| bad(&e))
}

/// Simulates and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let pantograph: Pantograph = file::load(&arguments.pantograph).map_err(Failure::input)?;
    let reference = arguments
        .reference
        .as_deref()
        .map(read_reference)
        .transpose()?;
    let (_, linear) = line::load(&arguments.line, arguments.mesh_m)?;
    let linear = Arc::new(linear);
    let mut preparing = Progress::new("preparing the line");
    let mut wire = arguments
        .scheme
        .build(
            &linear,
            arguments.dt_s(),
            arguments.modes,
            Some(&home::cache_dir()),
            &mut |notice| tell!("note: {notice}"),
            &mut |part| preparing.set(part),
        )
        .map_err(Failure::input)?;
    drop(preparing);
    let mut run = match arguments.spans {
        Some(spans) => Run::with_spans(&pantograph, arguments.speed, spans),
        None => Run::new(&linear, &pantograph, arguments.speed).map_err(Failure::input)?,
    };
    run.coupling = arguments.coupling();
    if let Some(force) = arguments.force {
        run.uplift_n = force;
    }
    let begin = Instant::now();
    let mut progress = Progress::new("simulating");
    let simulated = run.simulate(&linear, wire.as_mut(), &pantograph, &mut |part| {
        progress.set(part)
    });
    drop(progress);
    let simulated: Series = simulated.map_err(Failure::input)?;
    let wall_s = begin.elapsed().as_secs_f64();
    for warning in &simulated.warnings {
        tell!("warning: {warning}");
    }
    let unknowns = wire.unknowns();
    let report = Report::of(
        &linear,
        &run,
        &simulated,
        unknowns,
        ForceFilter::default(),
        reference.as_ref(),
    )
    .map_err(Failure::input)?;
    if let Some(out) = &arguments.out {
        let text = simulated
            .to_csv(ForceFilter::default())
            .map_err(Failure::input)?;
        std::fs::write(out, text)
            .map_err(|e| Failure::Environment(format!("cannot write '{}': {e}", out.display())))?;
    }
    if arguments.json {
        say!("{}", to_json(arguments.scheme, &report, wall_s)?);
    } else {
        print_text(arguments.scheme, &run, &report, wall_s);
    }
    Ok(())
}

fn to_json(scheme: Scheme, report: &Report, wall_s: f64) -> Result<Value, Failure> {
    let mut value =
        serde_json::to_value(report).map_err(|e| Failure::Environment(e.to_string()))?;
    value["scheme"] = json!(scheme.name());
    value["wall_s"] = json!(wall_s);
    Ok(value)
}

fn print_text(scheme: Scheme, run: &Run, r: &Report, wall_s: f64) {
    say!(
        "{} at {} km/h with {:.2} N uplift, spans {} to {}, {} unknowns, {} ms steps",
        scheme.name(),
        run.speed_kmh,
        run.uplift_n,
        run.spans.0,
        run.spans.1,
        r.dofs,
        r.dt_s * 1e3
    );
    say!(
        "force, 20 Hz    mean {:.2} N   σ {:.2} N   max {:.1}   min {:.1} N",
        r.mean_n,
        r.std_n,
        r.max_n,
        r.min_n
    );
    say!(
        "  F_m ± 3σ      {:.1} to {:.1} N",
        r.stat_min_n,
        r.stat_max_n
    );
    say!(
        "force, raw      mean {:.2} N   σ {:.2} N   max {:.1}   min {:.1} N   loss of contact {:.2} %",
        r.raw.mean_n,
        r.raw.std_n,
        r.raw.max_n,
        r.raw.min_n,
        r.loss_pct
    );
    say!(
        "uplift          {:.1} mm at most at the supports; slack droppers: at most {}",
        r.uplift_max_mm,
        r.max_slack
    );
    if let (Some(filtered), Some(raw)) = (r.error_filtered_pct, r.error_raw_pct) {
        say!("error index     {filtered:.2} % filtered, {raw:.2} % raw");
    }
    say!("{:.2} s simulated in {wall_s:.2} s", r.simulated_s);
}
