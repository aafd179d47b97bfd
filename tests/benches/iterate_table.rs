//! Iterative validation of both controllers at 250, 275 and 300 km/h on the simulated rig and the whole stitched line.
//!
//! `cargo bench -p integration-tests --bench iterate_table` prints the table: rounds, error index of the run against the
//! converged reference, of the reference against the coupled solution of the same pantograph (pad only), and the shares
//! of controller and interaction spring; all below 20 Hz, in % of the mean force, spans 6 to 15.

#[path = "../../rt-core/benches/figures/mod.rs"]
mod figures;

use figures::{Figures, Outcome};
use integration_tests::project_root;
use pantobench::iterate::{self, Settings};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Controller, k_i in kN/m.
const CASES: [(&str, f64); 3] = [("Predictive", 100.0), ("Predictive", 50.0), ("Lqg", 50.0)];
const SPEEDS: [(f64, f64); 3] = [(250.0, 130.625), (275.0, 143.356_25), (300.0, 157.3)];

fn main() -> ExitCode {
    figures::run(|figures| {
        let folder =
            std::env::temp_dir().join(format!("pantobench-iterate-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let mut table = "\n| controller | k_i | km/h | rounds | run against reference | reference against coupled \
                         | controller | k_i |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for case in &CASES[..figures.choose(1, CASES.len())] {
            for speed in &SPEEDS[..figures.choose(1, SPEEDS.len())] {
                table += &validate(figures, &folder, *case, *speed)?;
            }
        }
        figures.say(&table);
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    })
}

/// Validates a case: its figures, and its line of the table.
fn validate(
    figures: &mut Figures,
    folder: &Path,
    (controller, k_i): (&str, f64),
    (speed, uplift): (f64, f64),
) -> Outcome<String> {
    let assets = project_root().join("assets").canonicalize()?;
    let assets = assets.display();
    let session = folder.join("session.ron");
    let wide = ["tracking_error", "error_next"].map(|channel| {
        format!(
            "(channel: \"{channel}\", low: -0.007, high: 0.007, for_cycles: 1, action: Retreat)"
        )
    });
    let way = figures.choose("mesh_m: 2.5, spans: (4, 8),", "");
    std::fs::write(
        &session,
        format!(
            "Session(title: \"table\", bench: PantographLqg(line: \"{assets}/lines/stitched-sw.ron\", wire: Full, {way} \
             specimen: \"{assets}/pantographs/dsa-380.ron\", speed_kmh: {speed:?}, controller: {controller}), \
             rig: \"{assets}/rigs/simulated-dsa-380.ron\", uplift_n: {uplift:?}, params: {{\"k_i\": {:?}}}, \
             limits: [{}])",
            1e3 * k_i,
            wide.join(", ")
        ),
    )?;
    let settings = Settings {
        record: Some(folder.join("recordings")),
        ..Settings::default()
    };
    let stop = AtomicBool::new(false);
    let found = iterate::run(&session, &settings, |_| (), &mut |_| (), &stop)?;
    let id = format!("{controller}, k_i {k_i} kN/m, {speed} km/h");
    let rounds = found.rounds.len();
    if !found.has_converged() {
        return Err(format!("{id} has not converged in {rounds} rounds").into());
    }
    figures.absolute(&format!("{id}: rounds"), "", &[rounds as f64])?;
    let mut line = format!("| {controller} | {k_i} kN/m | {speed} | {rounds} |");
    for (what, errors) in [
        ("run against reference", &found.error_hil),
        ("reference against coupled", &found.error_vs_implicit),
        ("controller's share", &found.error_hil_vs_implicit),
        ("k_i's share", &found.spring_share),
    ] {
        let pct = errors.as_ref().map_or(f64::NAN, |e| e.filtered_pct);
        figures.ratio(
            &format!("{id}: {what}"),
            "of the mean force",
            &[pct],
            &[100.0],
        )?;
        line += &format!(" {pct:.2} % |");
    }
    Ok(line + "\n")
}
