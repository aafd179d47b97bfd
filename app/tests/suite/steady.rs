//! The commands of the steady-state bench as a user meets them.

use crate::common::{Scratch, json, pantobench, stderr, stdout};

#[test]
fn frf_prints_the_static_limit_and_refuses_what_makes_no_sense() {
    let found = json(&pantobench(&[
        "steady",
        "frf",
        "--speed",
        "300",
        "--freq",
        "0,1.28,25",
        "--json",
    ]));
    assert_eq!(found["speed_kmh"], 300.0);
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    // 1/(2 √(κ (T − μV²))); damping moves it by 6e-4, as a quadrature in wavenumber says too.
    let v = 300.0_f64 / 3.6;
    let expected = 0.5 / (51.15 * (31_500.0 - 1.4735 * v * v)).sqrt();
    let rest = points[0]["re"].as_f64().unwrap();
    assert!((rest / expected - 1.0).abs() < 1e-3, "{rest} {expected}");
    assert!((rest / 4.791_005e-4 - 1.0).abs() < 1e-5, "{rest}");
    assert_eq!(points[2]["freq_hz"], 25.0);
    assert!(
        points[2]["im"].as_f64().unwrap() < 0.0,
        "a wire takes work up"
    );

    for (arguments, words) in [
        (["--speed", "600", "--freq", "1"], "speed_kmh: is 600 km/h"),
        (
            ["--speed", "300", "--freq=-1", "--json"],
            "must lie within 0 to 1000 Hz",
        ),
    ] {
        let output = pantobench(&[&["steady", "frf"], arguments.as_slice()].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

/// Mean and σ that an independent program found.
#[test]
fn direct_solutions_are_the_known_ones() {
    for (arguments, mean, std) in [
        (vec!["--speed", "300"], 150.367_169, 22.925_150),
        (
            vec!["--speed", "300", "--mass", "5.29"],
            -51.8949,
            20.832_155,
        ),
    ] {
        let found = json(&pantobench(
            &[&["steady", "direct", "--json"], &arguments[..]].concat(),
        ));
        let number = |key: &str| found[key].as_f64().unwrap();
        assert!((number("mean_n") / mean - 1.0).abs() < 1e-7, "{found}");
        assert!((number("std_n") / std - 1.0).abs() < 1e-7, "{found}");
        let harmonics = found["harmonics"].as_array().unwrap();
        assert_eq!(harmonics.len(), 20);
        assert_eq!(
            (&harmonics[3]["k"], harmonics[0]["re"].as_f64()),
            (&3.into(), found["mean_n"].as_f64())
        );
    }
    let text = stdout(&pantobench(&["steady", "direct", "--speed", "250"]));
    assert!(
        text.contains("DSA-380, 250.000 km/h, 24 harmonics"),
        "{text}"
    );
}

#[test]
fn a_run_prints_its_steady_state_and_a_sweep_sets_it_beside_the_direct_one() {
    let found = json(&pantobench(&[
        "run",
        "sessions/steady-300.ron",
        "--fast",
        "--json",
    ]));
    assert_eq!(
        (&found["state"], &found["trip"]),
        (&"Idle".into(), &serde_json::Value::Null)
    );
    let result = &found["result"];
    assert_eq!(result["converged"], true, "{result}");
    assert!(
        result["error_direct_pct"].as_f64().unwrap() < 3.0,
        "{result}"
    );
    assert!(
        (result["direct"]["std_n"].as_f64().unwrap() - 22.925).abs() < 1e-3,
        "{result}"
    );
    assert!(
        result["tracking_mm"]["std"].as_f64().unwrap() < 2.0,
        "{result}"
    );

    let scratch = Scratch::new("steady");
    let out = scratch.path("sweep.csv");
    let output = pantobench(&[
        "steady",
        "sweep",
        "sessions/steady-300.ron",
        "--speeds",
        "250,300",
        "--out",
        &out,
        "--json",
    ]);
    let points = json(&output)["points"].clone();
    for (i, speed) in [250.0, 300.0].into_iter().enumerate() {
        assert_eq!(points[i]["speed_kmh"], speed);
        let (run, direct) = (&points[i]["run"]["std_n"], &points[i]["direct"]["std_n"]);
        let ratio = run.as_f64().unwrap() / direct.as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.03, "{speed}: {ratio}");
    }
    let table = std::fs::read_to_string(&out).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("speed_kmh,direct_mean_n"), "{table}");

    let output = pantobench(&[
        "steady",
        "sweep",
        "sessions/profile-sine.ron",
        "--speeds",
        "250",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("its bench is not 'pantograph-steady'"));
}

#[test]
fn a_recording_with_live_changes_is_recomputed_bit_by_bit() {
    let scratch = Scratch::new("steady-recording");
    let recordings = scratch.path("recordings");
    let output = pantobench(&[
        "run",
        "sessions/steady-mass-300.ron",
        "--fast",
        "--seconds",
        "16",
        "--record",
        &recordings,
        "--change",
        "6:alpha=0.08",
        "--change",
        "8:n_delta=18.5",
        "--json",
    ]);
    let run = json(&output);
    assert_eq!(run["changes"][1]["applied"], true, "{run}");
    let path = run["recording"].as_str().unwrap();
    let output = pantobench(&["session", "replay", path, "--recompute", "--json"]);
    let replayed = json(&output);
    assert_eq!(replayed["identical"], true, "{replayed}");
}
