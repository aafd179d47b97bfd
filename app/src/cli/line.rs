//! `pantobench line`: check an overhead line, its rest position, its modes, its drawing.

use super::{Failure, parse_spans, text};
use rt_core::file;
use rt_core::model::catenary::{Line, LinearLine, draw};
use rt_core::numeric::eigen::lowest_modes;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `pantobench line`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench line static assets/lines/stitched-sw.ron")]
pub struct Arguments {
    #[command(subcommand)]
    command: LineCommand,
}

#[derive(clap::Subcommand)]
enum LineCommand {
    /// Check a line file and find its rest position.
    #[command(after_help = "Example: pantobench line check assets/lines/stitched-sw.ron")]
    Check(FileArguments),
    /// Rest position: droppers, sag, supports, heights, elasticity.
    #[command(after_help = "Example: pantobench line static assets/lines/simple-55m.ron --json")]
    Static(FileArguments),
    /// The lowest natural frequencies.
    #[command(after_help = "Example: pantobench line modes assets/lines/stitched-sw.ron -n 20")]
    Modes {
        #[command(flatten)]
        file: FileArguments,
        /// How many.
        #[arg(short, default_value_t = 20, value_name = "N")]
        n: usize,
    },
    /// Draw elevation and plan as SVG.
    #[command(
        after_help = "Example: pantobench line draw assets/lines/stitched-sw.ron --out line.svg --spans 5..7"
    )]
    Draw {
        #[command(flatten)]
        file: FileArguments,
        /// The picture's file.
        #[arg(long, value_name = "x.svg")]
        out: PathBuf,
        /// First and last span to draw, from 1; all if left out.
        #[arg(long, value_name = "A..B", value_parser = parse_spans)]
        spans: Option<(usize, usize)>,
    },
}

#[derive(clap::Args)]
struct FileArguments {
    /// The line file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Longest element, in m (0.01 to 20).
    #[arg(long, default_value_t = 1.0, value_name = "H")]
    mesh_m: f64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Reads a line file and prepares it; errors name the file.
pub fn load(path: &Path, mesh_m: f64) -> Result<(Line, LinearLine), Failure> {
    let line: Line = file::load(path).map_err(Failure::input)?;
    let linear = LinearLine::build(&line, mesh_m)
        .map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
    Ok((line, linear))
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        LineCommand::Check(a) => check(a),
        LineCommand::Static(a) => statics(a),
        LineCommand::Modes { file, n } => modes(file, *n),
        LineCommand::Draw { file, out, spans } => {
            let (line, linear) = load(&file.file, file.mesh_m)?;
            let (first, last) = spans.unwrap_or((1, linear.layout.spans()));
            std::fs::write(out, draw::svg(&linear, &line.name, first, last))
                .map_err(|e| Failure::Environment(format!("cannot write '{}': {e}", out.display())))
        }
    }
}

fn check(a: &FileArguments) -> Result<(), Failure> {
    let (line, linear) = load(&a.file, a.mesh_m)?;
    let (spans, length) = (linear.layout.spans(), linear.layout.length());
    let wave_kmh = linear.wave_speed * 3.6;
    if a.json {
        let droppers = linear.droppers.len();
        println!(
            "{}",
            json!({ "ok": true, "name": line.name, "spans": spans, "length_m": length, "droppers": droppers,
                    "dofs": linear.dofs(), "wave_speed_kmh": wave_kmh })
        );
    } else {
        println!(
            "{}: {spans} spans, {length:.1} m, {} droppers",
            line.name,
            linear.droppers.len()
        );
        println!(
            "rest position found in {} rounds, {} unknowns, wave speed {wave_kmh:.0} km/h",
            linear.statics.rounds,
            linear.dofs()
        );
    }
    Ok(())
}

/// Places at which heights and elasticity are given, in m: 40 a span.
fn places(line: &LinearLine) -> Vec<f64> {
    let supports = &line.layout.supports;
    let mut all: Vec<f64> = supports
        .windows(2)
        .flat_map(|w| (0..40).map(move |i| w[0].x + (w[1].x - w[0].x) * f64::from(i) / 40.0))
        .collect();
    all.extend(supports.last().map(|s| s.x));
    all
}

fn statics(a: &FileArguments) -> Result<(), Failure> {
    let (_, line) = load(&a.file, a.mesh_m)?;
    let places = places(&line);
    let elasticity = line
        .elasticity(&places)
        .map_err(|e| Failure::Input(format!("{}: {e}", a.file.display())))?;
    if a.json {
        println!("{}", statics_json(&line, &places, &elasticity));
        return Ok(());
    }
    println!(
        "{} unknowns; forces in N, lengths in m, sag in mm",
        line.dofs()
    );
    for span in 0..line.layout.spans() {
        let at_rest = line.layout.droppers.iter().zip(&line.statics.droppers);
        let mine = at_rest.filter(|(d, _)| d.span == span);
        let droppers: Vec<String> = mine
            .map(|(_, r)| format!("{:.1} ({:.3})", r.force, r.length))
            .collect();
        println!(
            "span {:2}  sag {:5.2}  droppers {}",
            span + 1,
            1e3 * line.sag(span),
            droppers.join("  ")
        );
    }
    let rows: Vec<Vec<String>> = line
        .layout
        .supports
        .iter()
        .map(|s| {
            let elasticity = places
                .iter()
                .position(|x| *x == s.x)
                .map_or(f64::NAN, |i| 1e3 * elasticity[i]);
            let height = 1e3 * line.rest_height(s.x);
            let cells = [s.x, height, s.kind.contact_stagger_m, elasticity];
            cells.iter().map(|v| format!("{v:.3}")).collect()
        })
        .collect();
    println!();
    text::table(
        &["support at m", "height mm", "stagger m", "elasticity mm/N"],
        &rows,
    );
    Ok(())
}

fn statics_json(line: &LinearLine, places: &[f64], elasticity: &[f64]) -> Value {
    let supports = &line.layout.supports;
    let spans: Vec<Value> = supports
        .windows(2)
        .enumerate()
        .map(|(i, w)| {
            let at_rest = line.layout.droppers.iter().zip(&line.statics.droppers);
            let droppers: Vec<Value> = at_rest
                .filter(|(d, _)| d.span == i)
                .map(|(d, r)| {
                    json!({ "x_m": d.x, "force_n": r.force, "length_m": r.length, "height_m": r.height })
                })
                .collect();
            json!({ "index": i + 1, "x0_m": w[0].x, "length_m": w[1].x - w[0].x, "droppers": droppers,
                    "sag_mm": 1e3 * line.sag(i) })
        })
        .collect();
    let lateral = |x: f64| line.mesh.contact_value(&line.statics.y, x);
    json!({
        "dofs": line.dofs(),
        "spans": spans,
        "supports": supports
            .iter()
            .map(|s| json!({ "x_m": s.x, "height_mm": 1e3 * line.rest_height(s.x),
                             "stagger_m": s.kind.contact_stagger_m }))
            .collect::<Vec<_>>(),
        "heights": places
            .iter()
            .map(|&x| json!({ "x_m": x, "height_mm": 1e3 * line.rest_height(x), "lateral_m": lateral(x) }))
            .collect::<Vec<_>>(),
        "elasticity": places
            .iter()
            .zip(elasticity)
            .map(|(x, e)| json!({ "x_m": x, "mm_per_n": 1e3 * e }))
            .collect::<Vec<_>>(),
    })
}

fn modes(a: &FileArguments, n: usize) -> Result<(), Failure> {
    let (_, line) = load(&a.file, a.mesh_m)?;
    if !(1..=line.dofs()).contains(&n) {
        return Err(Failure::Input(format!(
            "-n {n} is refused: the line has 1 to {} modes at this mesh",
            line.dofs()
        )));
    }
    let found = lowest_modes(&line.stiffness, &line.mass, n).map_err(Failure::input)?;
    let freq_hz: Vec<f64> = found
        .omega2
        .iter()
        .map(|w2| w2.sqrt() / std::f64::consts::TAU)
        .collect();
    if a.json {
        println!("{}", json!({ "dofs": line.dofs(), "freq_hz": freq_hz }));
    } else {
        for (i, f) in freq_hz.iter().enumerate() {
            println!("{:5}  {f:.4} Hz", i + 1);
        }
    }
    Ok(())
}
