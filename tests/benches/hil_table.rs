//! Both controllers against the implicit reference at 250, 275 and 300 km/h, with errors of the rig and the
//! specimen that neither knows of.
//!
//! `cargo bench -p integration-tests --bench hil_table` prints the table: error index below 20 and 40 Hz in %,
//! deviation and maximum of the tracking error in mm, spans 6 to 15 of the stitched line. The reference has
//! the real pantograph and pad. Figures are errors in parts of the mean force, tracking in parts of 5 mm.

#[path = "../../rt-core/benches/figures/mod.rs"]
mod figures;

use figures::{Figures, Outcome};
use integration_tests::{ExactRun, project_root};
use pantobench::hil_result::HilSamples;
use pantobench::session::{LoadedSession, Session};
use rt_core::file;
use rt_core::guard::State;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is different from what the controllers assume: a name, factors on masses, springs and pad, and an
/// extra delay of the reference in s.
const CASES: [(&str, f64, f64, f64, f64); 8] = [
    ("as assumed", 1.0, 1.0, 1.0, 0.0),
    ("2 ms more delay", 1.0, 1.0, 1.0, 0.002),
    ("pad × 0.7", 1.0, 1.0, 0.7, 0.0),
    ("pad × 1.3", 1.0, 1.0, 1.3, 0.0),
    ("masses × 0.85", 0.85, 1.0, 1.0, 0.0),
    ("masses × 1.15", 1.15, 1.0, 1.0, 0.0),
    ("springs × 0.7", 1.0, 0.7, 1.0, 0.0),
    ("springs × 1.3", 1.0, 1.3, 1.0, 0.0),
];

const SPEEDS: [(f64, f64); 3] = [(250.0, 130.625), (275.0, 143.356), (300.0, 157.3)];

fn main() -> ExitCode {
    figures::run(|figures| {
        let folder = std::env::temp_dir().join(format!("pantobench-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let controllers = figures.choose(&["Lqg"][..], &["Lqg", "Predictive"][..]);
        let mut tables = String::new();
        for controller in controllers {
            tables += &format!(
                "\n| {controller} | 250 km/h | 275 km/h | 300 km/h |\n|---|---|---|---|\n"
            );
            for case in &CASES[..figures.choose(1, CASES.len())] {
                let rig = varied_rig(&folder, *case)?;
                let mut cells = Vec::new();
                for (speed, uplift) in &SPEEDS[..figures.choose(1, SPEEDS.len())] {
                    let id = format!("{controller}, {}, {speed} km/h", case.0);
                    cells.push(cell(figures, &id, controller, &rig, (*speed, *uplift))?);
                }
                tables += &format!("| {} | {} |\n", case.0, cells.join(" | "));
            }
        }
        figures.say(&tables);
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    })
}

/// A rig file with another pantograph, pad and delay.
fn varied_rig(
    folder: &Path,
    (_, masses, springs, pad, delay_s): (&str, f64, f64, f64, f64),
) -> Result<PathBuf, Box<dyn Error>> {
    let masses_of_dsa = [(6.6, 7000.0, 0.0), (5.8, 14_100.0, 0.0), (5.8, 80.0, 70.0)];
    let lumped: Vec<String> = masses_of_dsa
        .iter()
        .map(|(m, k, c)| {
            format!(
                "(mass_kg: {:?}, stiffness_n_per_m: {:?}, damping_ns_per_m: {c:?})",
                m * masses,
                k * springs
            )
        })
        .collect();
    let pantograph = format!(
        "Pantograph(name: \"varied\", masses: [{}], uplift: (static_n: 70.0, per_kmh2_n: 0.00097))",
        lumped.join(", ")
    );
    std::fs::write(folder.join("pantograph.ron"), pantograph)?;
    let rig = std::fs::read_to_string(project_root().join("assets/rigs/simulated-dsa-380.ron"))?
        .replace("../pantographs/dsa-380.ron", "pantograph.ron")
        .replace(
            "pad_stiffness_n_per_m: 240000.0",
            &format!("pad_stiffness_n_per_m: {:?}", 240e3 * pad),
        )
        .replace("extra_s: 0.0", &format!("extra_s: {delay_s:?}"));
    let path = folder.join("rig.ron");
    std::fs::write(&path, rig)?;
    Ok(path)
}

/// Runs a case: its figures, and its cell of the table.
fn cell(
    figures: &mut Figures,
    id: &str,
    controller: &str,
    rig: &Path,
    (speed, uplift): (f64, f64),
) -> Outcome<String> {
    // Wide limits: the table shows what happens, not what is allowed.
    let wide = ["tracking_error", "error_next", "error_ahead"].map(|channel| {
        format!("(channel: \"{channel}\", low: -1.0, high: 1.0, for_cycles: 1, action: Warn)")
    });
    let way = figures.choose("mesh_m: 2.5, spans: (5, 8),", "");
    let text = format!(
        r#"Session(title: "table", bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: Full, {way}
            specimen: "../assets/pantographs/dsa-380.ron", speed_kmh: {speed:?}, controller: {controller}),
            rig: {rig:?}, uplift_n: {uplift:?}, limits: [{}])"#,
        wide.join(", ")
    );
    let path = project_root().join("sessions").join("inline.ron");
    let session: Session = file::parse(&text, &path)?;
    let loaded = LoadedSession { session, path };
    let mut run = ExactRun::new(&loaded);
    let mut samples =
        HilSamples::for_layout(&run.layout, 2e-3).ok_or("the bench does not run along a line")?;
    run.start();
    while run.state() == State::Running {
        run.cycle();
        if let Some(frame) = run.frames.last() {
            samples.add(frame);
        }
    }
    if run.state() == State::Tripped {
        figures.absolute(&format!("{id}: trips"), "", &[1.0])?;
        return Ok("trips".into());
    }
    let fell_back = run
        .events
        .iter()
        .any(|e| matches!(e.kind, rt_core::link::EventKind::FellBack(_)));
    let result = samples.evaluate(&loaded, true)?;
    let tracking = &result["tracking_mm"];
    let [below_20, below_40, deviation, largest] = [
        &result["error_filtered_pct"],
        &result["error_40hz_pct"],
        &tracking["std"],
        &tracking["max_abs"],
    ]
    .map(|value| value.as_f64().unwrap_or(f64::NAN));
    for (what, of, value, whole) in [
        ("error below 20 Hz", "of the mean force", below_20, 100.0),
        ("error below 40 Hz", "of the mean force", below_40, 100.0),
        ("tracking σ", "of 5 mm", deviation, 5.0),
        ("tracking max", "of 5 mm", largest, 5.0),
    ] {
        figures.ratio(&format!("{id}: {what}"), of, &[value], &[whole])?;
    }
    Ok(format!(
        "{below_20:.1} / {below_40:.1} %, {deviation:.2} / {largest:.2} mm{}",
        if fell_back { ", fell back" } else { "" }
    ))
}
