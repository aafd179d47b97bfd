//! `pantobench line`: check an overhead line, its rest position, its modes, its drawing.

use super::{Failure, parse_spans, text};
use rt_core::file;
use rt_core::model::catenary::static_report::StaticReport;
use rt_core::model::catenary::{Line, LinearLine, draw};
use serde_json::json;
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
        say!(
            "{}",
            json!({ "ok": true, "name": line.name, "spans": spans, "length_m": length, "droppers": droppers,
                    "dofs": linear.dofs(), "wave_speed_kmh": wave_kmh })
        );
    } else {
        say!(
            "{}: {spans} spans, {length:.1} m, {} droppers",
            line.name,
            linear.droppers.len()
        );
        say!(
            "rest position found in {} rounds, {} unknowns, wave speed {wave_kmh:.0} km/h",
            linear.statics.rounds,
            linear.dofs()
        );
    }
    Ok(())
}

/// Distance of the places at which heights and elasticity are given, in m.
const PLACES_EVERY_M: f64 = 2.0;

fn statics(a: &FileArguments) -> Result<(), Failure> {
    let (_, line) = load(&a.file, a.mesh_m)?;
    let report = StaticReport::of(&line, PLACES_EVERY_M)
        .map_err(|e| Failure::Input(format!("{}: {e}", a.file.display())))?;
    if a.json {
        say!(
            "{}",
            serde_json::to_string(&report).map_err(|e| Failure::Environment(e.to_string()))?
        );
        return Ok(());
    }
    say!(
        "{} unknowns; forces in N, lengths in m, sag in mm",
        report.dofs
    );
    for span in &report.spans {
        let droppers: Vec<String> = span
            .droppers
            .iter()
            .map(|d| format!("{:.1} ({:.3})", d.force_n, d.length_m))
            .collect();
        say!(
            "span {:2}  sag {:5.2}  droppers {}",
            span.index,
            span.sag_mm,
            droppers.join("  ")
        );
    }
    let elasticity = |x: f64| {
        let near = report.elasticity.iter().find(|e| (e.x_m - x).abs() < 1e-6);
        near.map_or(f64::NAN, |e| e.mm_per_n)
    };
    let rows: Vec<Vec<String>> = report
        .supports
        .iter()
        .map(|s| {
            let cells = [s.x_m, s.height_mm, s.stagger_m, elasticity(s.x_m)];
            cells.iter().map(|v| format!("{v:.3}")).collect()
        })
        .collect();
    say!();
    text::table(
        &["support at m", "height mm", "stagger m", "elasticity mm/N"],
        &rows,
    );
    Ok(())
}

fn modes(a: &FileArguments, n: usize) -> Result<(), Failure> {
    let (_, line) = load(&a.file, a.mesh_m)?;
    if !(1..=line.dofs()).contains(&n) {
        return Err(Failure::Input(format!(
            "-n {n} is refused: the line has 1 to {} modes at this mesh",
            line.dofs()
        )));
    }
    let freq_hz = line.frequencies(n).map_err(Failure::input)?;
    if a.json {
        say!("{}", json!({ "dofs": line.dofs(), "freq_hz": freq_hz }));
    } else {
        for (i, f) in freq_hz.iter().enumerate() {
            say!("{:5}  {f:.4} Hz", i + 1);
        }
    }
    Ok(())
}
