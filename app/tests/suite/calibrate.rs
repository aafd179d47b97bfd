//! `pantobench calibrate` as a user meets it: exit codes, words, machine-readable output, and what a run makes of it.

use crate::common::{Scratch, json, pantobench_with, root, stderr, stdout};
use rt_core::record::reader::Session;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const RIG: &str = "assets/rigs/simulated-load-cells.ron";
const WHO: [&str; 4] = ["--operator", "late shift", "--reference", "weights M1"];

/// The program with a configuration directory of its own.
fn calibrate(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut all = vec!["calibrate"];
    all.extend(arguments);
    pantobench_with(&all, &[("XDG_CONFIG_HOME", &scratch.path("config"))])
}

fn new(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut all = vec!["new"];
    all.extend(arguments);
    all.extend(WHO);
    calibrate(scratch, &all)
}

#[test]
fn noted_points_become_a_calibration_that_is_listed_and_shown() {
    let scratch = Scratch::new("calibrate-noted");
    let two = [
        "--cell",
        "LC 1",
        "--kind",
        "two-point",
        "--point",
        "0:0.05",
        "--point",
        "200:0.45",
        "--json",
    ];
    let made = new(&scratch, &two);
    assert!(made.status.success(), "{}", stderr(&made));
    let made = json(&made);
    assert!((made["slope_n_per_unit"].as_f64().unwrap() - 500.0).abs() < 1e-9);
    assert!((made["offset_n"].as_f64().unwrap() + 25.0).abs() < 1e-9);
    assert_eq!(
        (&made["linearity_pct"], &made["kind"]),
        (&Value::Null, &"two-point".into())
    );
    assert!(Path::new(made["path"].as_str().unwrap()).is_file());
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("LC-1-2"), "{id}");
    // Another one of the same day does not touch the first.
    let zero = json(&new(
        &scratch,
        &[
            "--cell", "LC 1", "--kind", "zero", "--point", "0:0.06", "--json",
        ],
    ));
    assert_eq!(
        (&zero["before"], zero["id"].as_str().unwrap()),
        (&made["id"], format!("{id}-2").as_str())
    );
    assert!((zero["offset_n"].as_f64().unwrap() + 30.0).abs() < 1e-9);
    let listed = json(&calibrate(&scratch, &["list", "--cell", "LC 1", "--json"]));
    assert_eq!(listed["calibrations"].as_array().unwrap().len(), 2);
    assert_eq!(listed["problems"], serde_json::json!([]));
    let shown = calibrate(&scratch, &["show", id]);
    for word in [
        "late shift",
        "weights M1",
        "500.000 N/(mV/V)",
        "valid, 365 days left",
        "residual N",
    ] {
        assert!(
            stdout(&shown).contains(word),
            "'{word}' is missing in: {}",
            stdout(&shown)
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_kept() {
    let scratch = Scratch::new("calibrate-refused");
    let two = |points: [&str; 2]| {
        new(
            &scratch,
            &[
                "--cell",
                "A",
                "--kind",
                "two-point",
                "--point",
                points[0],
                "--point",
                points[1],
            ],
        )
    };
    let cases = [
        (two(["0:0", "0:1"]), 1, "loads further apart"),
        (two(["0:1", "100:0"]), 1, "--falls-with-load"),
        (two(["0:1", "100"]), 2, "expected LOAD:READING"),
        (two(["0:1", "nan:2"]), 2, "expected LOAD:READING"),
        (
            new(
                &scratch,
                &["--cell", "A", "--kind", "zero", "--point", "0:1"],
            ),
            1,
            "this cell has none",
        ),
        (
            new(&scratch, &["--cell", "A", "--kind", "zero"]),
            2,
            "--point",
        ),
        (
            new(
                &scratch,
                &[
                    "--cell", "A", "--kind", "zero", "--rig", RIG, "--point", "0:1",
                ],
            ),
            2,
            "the rig has SIM-A, SIM-B",
        ),
        (
            new(
                &scratch,
                &[
                    "--cell",
                    "A",
                    "--kind",
                    "two-point",
                    "--id",
                    "../x",
                    "--point",
                    "0:0",
                    "--point",
                    "1:1",
                ],
            ),
            2,
            "cannot be the name",
        ),
        (
            calibrate(&scratch, &["show", "nothing"]),
            2,
            "SIM-A-example",
        ),
        (
            calibrate(&scratch, &["check", "--rig", "no.ron"]),
            2,
            "no.ron",
        ),
    ];
    for (output, code, word) in cases {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word), "'{word}' is missing in: {said}");
        assert!(output.stdout.is_empty());
    }
    assert!(!Path::new(&scratch.path("config/pantobench/calibrations")).exists());
    let falling = [
        "--cell",
        "A",
        "--kind",
        "two-point",
        "--falls-with-load",
        "--point",
        "0:1",
        "--point",
        "100:0",
        "--id",
        "one",
    ];
    let made = new(&scratch, &falling);
    assert!(made.status.success(), "{}", stderr(&made));
    let again = new(&scratch, &falling);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("never overwritten"),
        "{}",
        stderr(&again)
    );
}

/// What the cells really do stands in the rig file; the program has to find it out from readings.
#[test]
fn a_rig_is_measured_and_the_next_run_uses_what_came_out() {
    let scratch = Scratch::new("calibrate-rig");
    let measure = |cell: &str, extra: &[&str]| {
        let mut all = vec![
            "--cell",
            cell,
            "--kind",
            "multi-point",
            "--rig",
            RIG,
            "--measure",
            "2",
            "--json",
        ];
        for load in ["0", "60", "120", "60", "0"] {
            all.extend(["--at", load]);
        }
        all.extend(extra);
        let output = new(&scratch, &all);
        assert!(output.status.success(), "{}", stderr(&output));
        json(&output)
    };
    let dry = measure("SIM-A", &["--dry-run"]);
    assert_eq!(dry["path"], Value::Null);
    let made = measure("SIM-A", &[]);
    // The same readings every time; the name and the moment are not.
    assert_eq!(made["points"], dry["points"]);
    // 0.002013 mV/V/N and a bow of 0.05 %: between 0 and 120 N its secant is steeper by 4·0.05 %·(1 − 0.12). Noise:
    // 0.35 N a reading, 1000 readings a point, 60 N from the middle: 0.02 % of the slope at two sigma.
    let expected = 1.0 / (0.002013 * (1.0 + 0.002 * 0.88));
    let slope = made["slope_n_per_unit"].as_f64().unwrap();
    assert!(
        (slope / expected - 1.0).abs() < 3e-4,
        "{slope} against {expected}"
    );
    assert!(made["hysteresis_pct"].as_f64().unwrap() < 0.05);
    let id = made["id"].as_str().unwrap();
    let checked = calibrate(&scratch, &["check", "--rig", RIG, "--json"]);
    assert!(checked.status.success());
    assert_eq!(json(&checked)["cells"][0]["id"], id);
    assert_eq!(json(&checked)["cells"][1]["id"], "SIM-B-example");
    let directory = scratch.path("recordings");
    let run = pantobench_with(
        &[
            "run",
            "sessions/load-cells.ron",
            "--fast",
            "--seconds",
            "4",
            "--json",
            "--record",
            &directory,
        ],
        &[("XDG_CONFIG_HOME", &scratch.path("config"))],
    );
    assert!(run.status.success(), "{}", stderr(&run));
    let run = json(&run);
    // Both calibrations together give the truth to what their linearity leaves.
    let mean = |channel: &str| run["channels"][channel]["mean"].as_f64().unwrap();
    assert!(
        (mean("force") - mean("true_force")).abs() < 0.2,
        "{} {}",
        mean("force"),
        mean("true_force")
    );
    let session = Session::open(Path::new(run["recording"].as_str().unwrap())).unwrap();
    let further = &session.header().further;
    assert_eq!(further["calibration_of_SIM-A"], id);
    assert_eq!(further["calibration_of_SIM-B"], "SIM-B-example");
}

#[test]
fn expired_and_missing_calibrations_are_told() {
    let scratch = Scratch::new("calibrate-expired");
    let assets = root().join("assets").canonicalize().unwrap();
    let rig = std::fs::read_to_string(assets.join("rigs/simulated-load-cells.ron")).unwrap();
    let rig = rig
        .replace(
            "\"../pantographs",
            &format!("\"{}/pantographs", assets.display()),
        )
        .replace("\"../calibrations\"", "\"kept\"");
    let example = std::fs::read_to_string(assets.join("calibrations/SIM-A-example.ron")).unwrap();
    let rig = scratch.file("rig.ron", &rig);
    std::fs::create_dir_all(scratch.path("kept")).unwrap();
    let until = |day: &str| scratch.file("kept/a.ron", &example.replace("2098-01-24", day));
    until("2020-01-01");
    let check = || calibrate(&scratch, &["check", "--rig", &rig]);
    let said = check();
    assert_eq!(said.status.code(), Some(1));
    assert!(
        stdout(&said).contains("expired") && stdout(&said).contains("never calibrated"),
        "{}",
        stdout(&said)
    );
    // An uncalibrated cell has no force: the bench never gets ready, and the run says why.
    let text = format!(
        "Session(title: \"t\", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)), rig: \"{rig}\", \
         seconds: 1.0)"
    );
    let session = scratch.file("session.ron", &text);
    let run = pantobench_with(
        &["run", &session, "--fast"],
        &[("XDG_CONFIG_HOME", &scratch.path("config"))],
    );
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(
        stderr(&run).contains("'SIM-B' (rear strip) was never calibrated"),
        "{}",
        stderr(&run)
    );
    assert!(
        stderr(&run).contains("SIM-A-example of load cell 'SIM-A' (front strip) expired"),
        "{}",
        stderr(&run)
    );
    // A broken file is named, and the check fails.
    scratch.file("kept/broken.ron", "Calibration(version: 1");
    let broken = check();
    assert!(
        stderr(&broken).contains("broken.ron"),
        "{}",
        stderr(&broken)
    );
    // A named one that is not there stops everything.
    let named = std::fs::read_to_string(&rig).unwrap().replacen(
        "share: 0.5",
        "calibration: \"X\", share: 0.5",
        1,
    );
    let named = scratch.file("named.ron", &named);
    let said = calibrate(&scratch, &["check", "--rig", &named]);
    assert_eq!(said.status.code(), Some(2));
    assert!(
        stderr(&said).contains("load_cells[0].calibration: there is no calibration 'X'"),
        "{}",
        stderr(&said)
    );
}
