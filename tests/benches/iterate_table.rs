//! Iterative validation of both controllers at 250, 275 and 300 km/h on the simulated rig and the whole stitched line.
//!
//! `cargo bench -p integration-tests --bench iterate_table` prints the table: rounds, error index of the run against the
//! converged reference, of the reference against the coupled solution of the same pantograph (pad only), and the shares
//! of controller and interaction spring; all below 20 Hz, in % of the mean force, spans 6 to 15.

use integration_tests::project_root;
use pantobench::iterate::{self, Errors, Settings};
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// Controller, k_i in kN/m.
const CASES: [(&str, f64); 3] = [("Predictive", 100.0), ("Predictive", 50.0), ("Lqg", 50.0)];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("pantobench-iterate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let assets = project_root().join("assets").canonicalize()?;
    let assets = assets.display();
    println!(
        "| controller | k_i | km/h | rounds | run against reference | reference against coupled | controller | k_i |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (controller, k_i) in CASES {
        for (speed, uplift) in [(250.0, 130.625), (275.0, 143.356_25), (300.0, 157.3)] {
            let session = folder.join("session.ron");
            let wide = ["tracking_error", "error_next"].map(|channel| {
                format!("(channel: \"{channel}\", low: -0.007, high: 0.007, for_cycles: 1, action: Retreat)")
            });
            std::fs::write(
                &session,
                format!(
                    "Session(title: \"table\", bench: PantographLqg(line: \"{assets}/lines/stitched-sw.ron\", wire: Full, \
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
            let pct = |e: &Option<Errors>| {
                e.as_ref()
                    .map_or("–".to_owned(), |e| format!("{:.2} %", e.filtered_pct))
            };
            println!(
                "| {controller} | {k_i} kN/m | {speed} | {}{} | {} | {} | {} | {} |",
                found.rounds.len(),
                if found.has_converged() {
                    ""
                } else {
                    ", not converged"
                },
                pct(&found.error_hil),
                pct(&found.error_vs_implicit),
                pct(&found.error_hil_vs_implicit),
                pct(&found.spring_share)
            );
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
