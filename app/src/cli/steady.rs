//! `pantobench steady`: the line's answer to a moving force, the steady state solved directly, and σ against speed.

use super::progress::Progress;
use super::{Failure, text};
use crate::follower::Follower;
use crate::grip::Grip;
use crate::home;
use crate::runtime::{self, Prepared};
use crate::session::LoadedSession;
use rt_core::bench::BenchConfig;
use rt_core::bench::pantograph_steady::{SPEC, SteadyWire};
use rt_core::file;
use rt_core::model::catenary::{Line, LinearLine};
use rt_core::model::moving_load::MovingLoad;
use rt_core::model::moving_load::direct::SpanForce;
use rt_core::model::moving_load::periodic_line::PeriodicLine;
use rt_core::model::moving_load::string::SpanString;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use rt_core::model::string_wire::StringWireConfig;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Arguments of `pantobench steady`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench steady direct --speed 300")]
pub struct Arguments {
    #[command(subcommand)]
    command: SteadyCommand,
}

#[derive(clap::Subcommand)]
enum SteadyCommand {
    /// Rise of the contact point by a force that moves along, frequency by frequency.
    #[command(
        after_help = "Example: pantobench steady frf --speed 300 --freq 0,0.5,1,2,5,10,25 --json"
    )]
    Frf(Frf),
    /// The steady state of a linear pantograph under a line that repeats, solved at once.
    #[command(after_help = "Example: pantobench steady direct --speed 250 --json\n\
                      Example: pantobench steady direct --speed 300 --mass 5.29")]
    Direct(Direct),
    /// σ of the force against speed: direct solution beside converged runs of a session on its simulated rig.
    #[command(
        after_help = "Example: pantobench steady sweep sessions/steady-300.ron --speeds 200,225,250,275,300"
    )]
    Sweep(Sweep),
}

#[derive(clap::Args)]
struct LineChoice {
    /// Train speed, in km/h.
    #[arg(long, value_name = "KMH")]
    speed: f64,
    /// A line file whose middle span is repeated; the string of Gil et al. 2022 if left out.
    #[arg(long, value_name = "F")]
    line: Option<PathBuf>,
    /// Longest element of the line, in m.
    #[arg(long, default_value_t = 1.0, value_name = "M")]
    mesh: f64,
}

#[derive(clap::Args)]
struct Frf {
    #[command(flatten)]
    line: LineChoice,
    /// Frequencies of the force, in Hz.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        required = true,
        allow_hyphen_values = true
    )]
    freq: Vec<f64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Direct {
    #[command(flatten)]
    line: LineChoice,
    /// Harmonics of the span that are kept, the mean included; all up to 25 Hz if left out.
    #[arg(long, value_name = "N", alias = "ncut")]
    harmonics: Option<usize>,
    /// The pantograph file; the DSA-380 if left out.
    #[arg(long, value_name = "F", conflicts_with = "mass")]
    pantograph: Option<PathBuf>,
    /// A mass in kg in place of a pantograph, fixed to the wire.
    #[arg(long, value_name = "KG")]
    mass: Option<f64>,
    /// Lift on the lowest mass in N, in place of the pantograph's law.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    uplift: Option<f64>,
    /// Stiffness of the contact in N/m; rigid if left out.
    #[arg(long, value_name = "N/M")]
    contact: Option<f64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Sweep {
    /// The session that is run at each speed, with its pantograph's own lift.
    #[arg(value_name = "SESSION.ron")]
    session: PathBuf,
    /// Train speeds, in km/h.
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    speeds: Vec<f64>,
    /// Only the direct solutions.
    #[arg(long)]
    direct_only: bool,
    /// Write a table of comma-separated values to this file.
    #[arg(long, value_name = "F.csv")]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        SteadyCommand::Frf(a) => frf(a),
        SteadyCommand::Direct(a) => direct(a),
        SteadyCommand::Sweep(a) => sweep(a),
    }
}

impl LineChoice {
    fn wire(&self) -> SteadyWire {
        match &self.line {
            None => SteadyWire::String(StringWireConfig::default()),
            Some(path) => SteadyWire::Line {
                file: path.display().to_string(),
                mesh_m: self.mesh,
            },
        }
    }

    /// The line at exactly the speed that is asked for.
    fn moving_load(&self) -> Result<Box<dyn MovingLoad>, Failure> {
        let Some(path) = &self.line else {
            let config = StringWireConfig::default();
            let span_m = config.profile.as_ref().map_or(65.0, |p| p.span_m);
            let string = SpanString::new(config.string(self.speed), span_m);
            return Ok(Box::new(string.map_err(Failure::input)?));
        };
        let line: Line = file::load(path).map_err(Failure::input)?;
        let linear = LinearLine::build(&line, self.mesh).map_err(Failure::input)?;
        let line = PeriodicLine::new(&linear, self.speed).map_err(Failure::input)?;
        Ok(Box::new(line))
    }
}

fn frf(a: &Frf) -> Result<(), Failure> {
    if let Some(bad) = a.freq.iter().find(|f| !(0.0..=1000.0).contains(*f)) {
        return Err(Failure::Input(format!(
            "--freq {bad} is refused: it must lie within 0 to 1000 Hz"
        )));
    }
    let line = a.line.moving_load()?;
    let points = a
        .freq
        .iter()
        .map(|hz| Ok((*hz, line.response(std::f64::consts::TAU * hz)?)))
        .collect::<Result<Vec<_>, rt_core::model::moving_load::MovingLoadError>>()
        .map_err(Failure::input)?;
    if a.json {
        let points: Vec<Value> = points
            .iter()
            .map(|(hz, h)| json!({ "freq_hz": hz, "re": h.re, "im": h.im }))
            .collect();
        say!("{}", json!({ "speed_kmh": a.line.speed, "points": points }));
        return Ok(());
    }
    let rows: Vec<Vec<String>> = points
        .iter()
        .map(|(hz, h)| {
            vec![
                text::number(*hz),
                format!("{:.6}", 1e3 * h.norm()),
                format!("{:.2}", h.arg().to_degrees()),
            ]
        })
        .collect();
    text::table(&["Hz", "mm/N", "phase °"], &rows);
    Ok(())
}

impl Direct {
    fn specimen(&self) -> Result<Pantograph, Failure> {
        if let Some(mass_kg) = self.mass {
            let mass = Pantograph {
                name: "mass".into(),
                masses: vec![LumpedMass {
                    mass_kg,
                    stiffness_n_per_m: 0.0,
                    damping_ns_per_m: 0.0,
                }],
                uplift: Uplift {
                    static_n: -9.81 * mass_kg,
                    per_kmh2_n: 0.0,
                },
            };
            return rt_core::file::FileContent::check(&mass)
                .map(|()| mass)
                .map_err(|e| Failure::Input(format!("--mass is refused: {}", e.problem)));
        }
        let path = match &self.pantograph {
            Some(path) => path.clone(),
            None => home::find("assets/pantographs/dsa-380.ron").map_err(Failure::Input)?,
        };
        file::load(&path).map_err(Failure::input)
    }
}

fn direct(a: &Direct) -> Result<(), Failure> {
    let specimen = a.specimen()?;
    if let Some(bad) = a.contact.filter(|k| !(*k > 0.0 && k.is_finite())) {
        return Err(Failure::Input(format!(
            "--contact {bad} is refused: it must be above 0 N/m"
        )));
    }
    let line = a
        .line
        .wire()
        .at_speed(Path::new(""), a.line.speed, a.harmonics, SPEC.period_s)
        .map_err(Failure::input)?;
    let uplift = a.uplift.unwrap_or(specimen.uplift.at_kmh(a.line.speed));
    let response = line.response.through(a.contact.map_or(0.0, f64::recip));
    let force =
        SpanForce::solve(&response, &line.rest, &specimen, uplift).map_err(Failure::input)?;
    if a.json {
        let harmonics: Vec<Value> = force
            .harmonics
            .iter()
            .enumerate()
            .map(|(k, f)| json!({ "k": k, "re": f.re, "im": f.im }))
            .collect();
        say!(
            "{}",
            json!({ "speed_kmh": line.speed_kmh, "mean_n": force.mean(), "std_n": force.std(),
                    "harmonics": harmonics })
        );
        return Ok(());
    }
    say!(
        "{}, {:.3} km/h, {} harmonics: mean {:.3} N   σ {:.3} N\n",
        specimen.name,
        line.speed_kmh,
        force.harmonics.len(),
        force.mean(),
        force.std()
    );
    let rows: Vec<Vec<String>> = force
        .harmonics
        .iter()
        .enumerate()
        .map(|(k, f)| {
            let hz = k as f64 * response.omega() / std::f64::consts::TAU;
            vec![
                k.to_string(),
                format!("{hz:.3}"),
                format!("{:.4}", if k == 0 { f.re } else { 2.0 * f.norm() }),
                format!("{:.2}", f.arg().to_degrees()),
            ]
        })
        .collect();
    text::table(&["k", "Hz", "amplitude N", "phase °"], &rows);
    Ok(())
}

/// One speed of a sweep.
struct Point {
    speed_kmh: f64,
    mean_n: f64,
    std_n: f64,
    run: Option<Value>,
}

fn sweep(a: &Sweep) -> Result<(), Failure> {
    let mut loaded = LoadedSession::load(&a.session).map_err(Failure::input)?;
    let mut points = Vec::new();
    let mut progress = Progress::new("sweep");
    for (i, &speed) in a.speeds.iter().enumerate() {
        let base = loaded.base().to_owned();
        let period_s = loaded.period_nanos() as f64 * 1e-9;
        let BenchConfig::PantographSteady(config) = &mut loaded.session.bench else {
            return Err(Failure::Input(format!(
                "{} is refused: its bench is not '{}'",
                a.session.display(),
                SPEC.id
            )));
        };
        config.speed_kmh = speed;
        let specimen: Pantograph =
            file::load(&base.join(&config.specimen)).map_err(Failure::input)?;
        let line = config.line(&base, period_s).map_err(Failure::input)?;
        let direct = config.direct(&line, &specimen).map_err(Failure::input)?;
        loaded.session.uplift_n = Some(specimen.uplift.at_kmh(speed));
        let run = if a.direct_only {
            None
        } else {
            Some(converge(&loaded)?)
        };
        points.push(Point {
            speed_kmh: speed,
            mean_n: direct.mean(),
            std_n: direct.std(),
            run,
        });
        progress.set((i + 1) as f64 / a.speeds.len() as f64);
    }
    drop(progress);
    if let Some(path) = &a.out {
        std::fs::write(path, csv(&points))
            .map_err(|e| Failure::Environment(format!("cannot write '{}': {e}", path.display())))?;
    }
    print_sweep(&points, a.json);
    Ok(())
}

fn print_sweep(points: &[Point], as_json: bool) {
    if as_json {
        let points: Vec<Value> = points
            .iter()
            .map(|p| {
                json!({ "speed_kmh": p.speed_kmh, "direct": { "mean_n": p.mean_n, "std_n": p.std_n },
                        "run": p.run })
            })
            .collect();
        say!("{}", json!({ "points": points }));
        return;
    }
    let of_run = |p: &Point, key: &str| {
        let number = p.run.as_ref().and_then(|run| run[key].as_f64());
        number.map_or("–".into(), |v| format!("{v:.3}"))
    };
    let rows: Vec<Vec<String>> = points
        .iter()
        .map(|p| {
            vec![
                text::number(p.speed_kmh),
                format!("{:.3}", p.mean_n),
                format!("{:.3}", p.std_n),
                of_run(p, "mean_n"),
                of_run(p, "std_n"),
                of_run(p, "error_direct_pct"),
                of_run(p, "spans"),
            ]
        })
        .collect();
    text::table(
        &[
            "km/h", "mean N", "σ N", "mean run", "σ run", "error %", "spans",
        ],
        &rows,
    );
}

fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "speed_kmh,direct_mean_n,direct_std_n,run_mean_n,run_std_n,error_direct_pct,spans\n",
    );
    for p in points {
        let of_run = |key: &str| {
            let number = p.run.as_ref().and_then(|run| run[key].as_f64());
            number.map_or_else(String::new, |v| v.to_string())
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            p.speed_kmh,
            p.mean_n,
            p.std_n,
            of_run("mean_n"),
            of_run("std_n"),
            of_run("error_direct_pct"),
            of_run("spans")
        );
    }
    text
}

/// Runs a session on an exact clock to its end.
fn converge(loaded: &LoadedSession) -> Result<Value, Failure> {
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        params,
        ..
    } = runtime::prepare_exact(loaded).map_err(Failure::input)?;
    user.display = None;
    let nothing = AtomicBool::new(false);
    let mut follower = Follower::new(loaded, &layout, None, params, None, |_| ());
    // A computation: nobody is beside it, and nothing moves.
    follower.grip = Grip::Program;
    while rt_loop.cycle() {
        follower.follow(&mut user, &nothing);
    }
    follower.follow(&mut user, &nothing);
    if let Some((fault, _, t_s)) = follower.conductor.outcome.fault {
        return Err(Failure::Result(format!(
            "at {t_s:.3} s: {}",
            fault.describe(&layout).what
        )));
    }
    let steady = follower.steady.as_ref();
    let result = steady.map(|samples| samples.evaluate(loaded).map_err(Failure::Result));
    result.unwrap_or_else(|| {
        Err(Failure::Input(
            "the bench does not go from span to span".into(),
        ))
    })
}
