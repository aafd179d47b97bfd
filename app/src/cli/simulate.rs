//! `pantobench simulate`: a pantograph runs along a line, offline.

use super::progress::Progress;
use super::{Failure, line, parse_spans, series};
use crate::home;
use clap::ValueEnum;
use rt_core::file;
use rt_core::model::catenary::cache;
use rt_core::model::catenary::{
    Coupling, Filter, FullWire, ModalOptions, ModalWire, Report, Run, Series, WireModel,
};
use rt_core::model::interaction_mass::MassCoupling;
use rt_core::model::pantograph::Pantograph;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `pantobench simulate`.
#[derive(clap::Args)]
#[command(
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
    /// The model of the line.
    #[arg(long, value_enum, default_value = "implicit")]
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
enum Scheme {
    /// The reference: full order, head and wire solved together, small steps.
    Implicit,
    /// Real-time model with modes and attachment vectors.
    Modal,
    /// Real-time model of full order.
    Full,
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
        let default = if self.scheme == Scheme::Implicit {
            0.5
        } else {
            2.0
        };
        self.dt_ms.unwrap_or(default) * 1e-3
    }
}

/// Simulates and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let pantograph: Pantograph = file::load(&arguments.pantograph).map_err(Failure::input)?;
    let reference = arguments
        .reference
        .as_deref()
        .map(series::read)
        .transpose()?;
    let (_, linear) = line::load(&arguments.line, arguments.mesh_m)?;
    let linear = Arc::new(linear);
    let mut wire: Box<dyn WireModel> = match arguments.scheme {
        Scheme::Implicit | Scheme::Full => {
            Box::new(FullWire::new(linear.clone(), arguments.dt_s()).map_err(Failure::input)?)
        }
        Scheme::Modal => {
            let mut notice = |text: String| eprintln!("note: {text}");
            let mut progress = Progress::new("preparing the line");
            let mut show = |part| progress.set(part);
            let cache = home::cache_dir();
            let basis =
                cache::load_or_build(&cache, &linear, arguments.modes, &mut notice, &mut show)
                    .map_err(Failure::input)?;
            let options = ModalOptions::default();
            let wire = ModalWire::new(linear.clone(), Arc::new(basis), arguments.dt_s(), options);
            Box::new(wire.map_err(Failure::input)?)
        }
    };
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
        eprintln!("warning: {warning}");
    }
    let unknowns = wire.unknowns();
    let report = Report::of(
        &linear,
        &run,
        &simulated,
        unknowns,
        Filter::default(),
        reference.as_ref(),
    )
    .map_err(Failure::input)?;
    if let Some(out) = &arguments.out {
        series::write(out, &simulated)?;
    }
    if arguments.json {
        println!("{}", to_json(arguments.scheme, &report, wall_s)?);
    } else {
        print_text(arguments.scheme, &run, &report, wall_s);
    }
    Ok(())
}

fn name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Implicit => "implicit",
        Scheme::Modal => "modal",
        Scheme::Full => "full",
    }
}

fn to_json(scheme: Scheme, report: &Report, wall_s: f64) -> Result<Value, Failure> {
    let mut value =
        serde_json::to_value(report).map_err(|e| Failure::Environment(e.to_string()))?;
    value["scheme"] = json!(name(scheme));
    value["wall_s"] = json!(wall_s);
    Ok(value)
}

fn print_text(scheme: Scheme, run: &Run, r: &Report, wall_s: f64) {
    println!(
        "{} at {} km/h with {:.2} N uplift, spans {} to {}, {} unknowns, {} ms steps",
        name(scheme),
        run.speed_kmh,
        run.uplift_n,
        run.spans.0,
        run.spans.1,
        r.dofs,
        r.dt_s * 1e3
    );
    println!(
        "force, 20 Hz    mean {:.2} N   σ {:.2} N   max {:.1}   min {:.1} N",
        r.mean_n, r.std_n, r.max_n, r.min_n
    );
    println!(
        "  F_m ± 3σ      {:.1} to {:.1} N",
        r.stat_min_n, r.stat_max_n
    );
    println!(
        "force, raw      mean {:.2} N   σ {:.2} N   max {:.1}   min {:.1} N   loss of contact {:.2} %",
        r.raw.mean_n, r.raw.std_n, r.raw.max_n, r.raw.min_n, r.loss_pct
    );
    println!(
        "uplift          {:.1} mm at most at the supports; slack droppers: at most {}",
        r.uplift_max_mm, r.max_slack
    );
    if let (Some(filtered), Some(raw)) = (r.error_filtered_pct, r.error_raw_pct) {
        println!("error index     {filtered:.2} % filtered, {raw:.2} % raw");
    }
    println!("{:.2} s simulated in {wall_s:.2} s", r.simulated_s);
}
