//! Iterative validation as a user meets it: a short run along a coarse line, so that three ways to the same force meet in
//! a few seconds. `cargo bench -p integration-tests --bench iterate_table` does the whole line at all speeds.

use crate::common::{Scratch, json, pantobench, root, stderr};
use rt_core::record::reader::Session;
use serde_json::Value;
use std::path::Path;

/// Spans 3 to 11 at 250 km/h on elements of 2.5 m, with a specimen file of its own.
fn session(scratch: &Scratch, name: &str, rig: &str, specimen: &str) -> String {
    let asset = |path: &str| {
        let path = root().join("assets").join(path).canonicalize().unwrap();
        path.display().to_string()
    };
    scratch.file(
        name,
        &format!(
            "Session(title: \"short\", bench: PantographLqg(line: \"{}\", mesh_m: 2.5, speed_kmh: 250.0, \
             spans: (3, 11), specimen: \"{specimen}\", wire: Full, controller: Predictive), rig: \"{rig}\", \
             uplift_n: 130.625, params: {{\"k_i\": 100e3}})",
            asset("lines/stitched-sw.ron"),
        ),
    )
}

fn shipped(path: &str) -> String {
    let path = root().join("assets").join(path).canonicalize().unwrap();
    path.display().to_string()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn further(path: &str, key: &str) -> String {
    let session = Session::open(Path::new(path)).unwrap();
    session.header().further[key].clone()
}

/// The shipped rig and pantograph on a short way.
fn short_session(scratch: &Scratch) -> String {
    let (rig, pantograph) = (
        shipped("rigs/simulated-dsa-380.ron"),
        shipped("pantographs/dsa-380.ron"),
    );
    session(scratch, "short.ron", &rig, &pantograph)
}

#[test]
fn three_ways_lead_to_the_same_force_and_every_round_is_a_recording() {
    let scratch = Scratch::new("iterate");
    let file = short_session(&scratch);
    let out = scratch.path("recordings");
    let output = pantobench(&["iterate", &file, "--record", &out, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(found["converged"], true);
    let rounds = found["iterations"].as_array().unwrap();
    assert!((2..=6).contains(&rounds.len()), "{rounds:?}");
    assert!(number(&rounds[rounds.len() - 1]["change_pct"]) <= 0.5);
    // The paper's figure, and what closes the circle.
    assert!(number(&found["error_hil_pct"]) < 6.0, "{found}");
    assert!(number(&found["error_vs_implicit_pct"]) < 2.0, "{found}");
    // The spring is most of the difference, so it is smaller without it.
    let spring = number(&found["interaction_spring_pct"]);
    assert!(
        number(&found["error_hil_vs_implicit_pct"]) < spring,
        "{found}"
    );
    let bands = found["errors"]["hil"]["bands"].as_array().unwrap();
    assert_eq!(bands.len(), 4);
    assert!(bands.iter().all(|b| number(&b["frequency_pct"]) > 0.0));

    // Each round names the one before, the first the run; the result stands beside it.
    let run = found["recording"].as_str().unwrap();
    let path = |i: usize| rounds[i]["recording"].as_str().unwrap();
    assert_eq!(further(path(0), "parent"), run);
    assert_eq!(further(path(1), "parent"), path(0));
    assert_eq!(further(path(1), "iteration"), "2");
    assert!(Path::new(run).with_extension("validation.json").is_file());
    // A round carries all it was made with.
    let replayed = json(&pantobench(&["session", "replay", path(1), "--json"]));
    assert_eq!(replayed["identical"], true, "{replayed}");

    // The recording alone gives the same, wherever its files are.
    let again = json(&pantobench(&[
        "iterate",
        run,
        "--record",
        &scratch.path("again"),
        "--json",
    ]));
    for key in [
        "error_hil_pct",
        "error_vs_implicit_pct",
        "interaction_spring_pct",
    ] {
        let (a, b) = (number(&found[key]), number(&again[key]));
        assert!((a - b).abs() < 1e-6 * a.max(1.0), "{key}: {a} {b}");
    }
}

/// The specimen's file and the rig's delay are wrong; the reference is the same force all the same.
#[test]
fn what_is_expected_and_known_may_be_wrong() {
    let scratch = Scratch::new("iterate-wrong");
    let pantograph = shipped("pantographs/dsa-380.ron");
    let text = std::fs::read_to_string(&pantograph).unwrap();
    let heavier = scratch.file("heavier.ron", &text.replace("mass_kg: 6.6", "mass_kg: 7.3"));
    let rig = std::fs::read_to_string(shipped("rigs/simulated-dsa-380.ron")).unwrap();
    let rig = rig.replace("extra_s: 0.0", "extra_s: 0.001");
    let rig = scratch.file(
        "late.ron",
        &rig.replace("../pantographs/dsa-380.ron", &pantograph),
    );
    let file = session(&scratch, "wrong.ron", &rig, &heavier);
    let output = pantobench(&["iterate", &file, "--record", &scratch.path("r"), "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    let rounds = found["iterations"].as_array().unwrap();
    assert!((3..=6).contains(&rounds.len()), "{rounds:?}");
    assert!(number(&found["error_vs_implicit_pct"]) < 2.0, "{found}");
    // The motor's error is learned from round to round.
    let motor = |i: usize| number(&rounds[i]["motor_error_mm"]);
    assert!(motor(rounds.len() - 1) < motor(0), "{rounds:?}");
}

#[test]
fn what_does_not_converge_and_what_cannot_be_validated_is_said() {
    let scratch = Scratch::new("iterate-not");
    let file = short_session(&scratch);
    let out = scratch.path("r");
    let output = pantobench(&[
        "iterate", &file, "--record", &out, "--max", "1", "--tol", "0.01", "--json",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let found = json(&output);
    assert_eq!(found["converged"], false);
    assert!(
        stderr(&output).contains("not converged"),
        "{}",
        stderr(&output)
    );

    // The published step grows where the head is stiffer than the wire, until a limit of the rig ends it.
    let run = found["recording"].as_str().unwrap();
    let output = pantobench(&["iterate", run, "--record", &out, "--published", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));

    for (arguments, words) in [
        (vec!["iterate", &file, "--max", "0"], "expected 1 to 50"),
        (
            vec!["iterate", &file, "--tol", "0"],
            "expected 0.01 to 50 %",
        ),
        (
            vec!["iterate", &file, "--band", "400"],
            "half the loop's frequency",
        ),
        (
            vec!["iterate", "sessions/profile-sine.ron"],
            "does not run along a line",
        ),
        (vec!["iterate", "nowhere.ron"], "nowhere.ron"),
    ] {
        let output = pantobench(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
