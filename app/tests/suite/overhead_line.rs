//! The commands for overhead lines as a user meets them.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};

const STITCHED: &str = "assets/lines/stitched-sw.ron";
const DSA_380: &str = "assets/pantographs/dsa-380.ron";

#[test]
fn every_shipped_line_is_sound() {
    for entry in std::fs::read_dir(root().join("assets/lines")).unwrap() {
        let path = entry.unwrap().path();
        let checked = json(&pantobench(&[
            "line",
            "check",
            path.to_str().unwrap(),
            "--json",
        ]));
        assert_eq!(checked["ok"], true, "{}", path.display());
    }
}

#[test]
fn statics_have_the_figures_of_an_independent_solution() {
    let found = json(&pantobench(&["line", "static", STITCHED, "--json"]));
    assert_eq!(found["dofs"], 6105);
    let span = &found["spans"][9];
    assert_eq!(
        (&span["index"], &span["x0_m"], &span["length_m"]),
        (&10.into(), &585.0.into(), &65.0.into())
    );
    for (dropper, force) in span["droppers"]
        .as_array()
        .unwrap()
        .iter()
        .zip([150.2, 124.7, 117.0, 114.3])
    {
        let found = dropper["force_n"].as_f64().unwrap();
        assert!(
            (found / force - 1.0).abs() < 0.01,
            "{found} against {force} N"
        );
        assert!(
            dropper["x_m"].is_number()
                && dropper["length_m"].is_number()
                && dropper["height_m"].is_number()
        );
    }
    assert!((span["sag_mm"].as_f64().unwrap() / 3.46 - 1.0).abs() < 0.04);
    assert_eq!(found["supports"].as_array().unwrap().len(), 21);
    assert!(
        found["supports"][3]["height_mm"].is_number()
            && found["supports"][3]["stagger_m"].is_number()
    );
    let elasticity = found["elasticity"].as_array().unwrap();
    let at = |x: f64| {
        let near = elasticity
            .iter()
            .find(|e| (e["x_m"].as_f64().unwrap() - x).abs() < 1e-6);
        near.unwrap()["mm_per_n"].as_f64().unwrap()
    };
    assert!(
        (at(650.0) / 0.457 - 1.0).abs() < 0.015,
        "support: {}",
        at(650.0)
    );
    assert!(
        (at(682.5) / 0.487 - 1.0).abs() < 0.015,
        "mid-span: {}",
        at(682.5)
    );
    assert!(stdout(&pantobench(&["line", "static", STITCHED])).contains("span 10"));
}

#[test]
fn modes_have_the_figures_of_an_independent_solution() {
    let found = json(&pantobench(&[
        "line", "modes", STITCHED, "-n", "5", "--json",
    ]));
    assert_eq!(found["freq_hz"].as_array().unwrap().len(), 5);
    let first = found["freq_hz"][0].as_f64().unwrap();
    assert!((first / 0.6016 - 1.0).abs() < 0.003, "{first}");
    let refused = pantobench(&["line", "modes", STITCHED, "-n", "99999"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("6105"));
}

#[test]
fn a_drawing_is_a_picture() {
    let scratch = Scratch::new("draw");
    let out = scratch.file("line.svg", "");
    let output = pantobench(&["line", "draw", STITCHED, "--out", &out, "--spans", "2..4"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let picture = std::fs::read_to_string(&out).unwrap();
    assert!(
        picture.starts_with("<svg") || picture.starts_with("<?xml"),
        "{}",
        &picture[..60]
    );
    assert!(picture.trim_end().ends_with("</svg>") && picture.contains("spans 2 to 4"));
    let nowhere = pantobench(&["line", "draw", STITCHED, "--out", "/no/such/folder/x.svg"]);
    assert_eq!(nowhere.status.code(), Some(3));
}

#[test]
fn a_run_is_compared_with_its_own_series_and_prepared_lines_are_kept() {
    let scratch = Scratch::new("simulate");
    let (series, cache) = (scratch.file("series.csv", ""), scratch.file("cache", ""));
    std::fs::remove_file(&cache).unwrap();
    let simulate = |more: &[&str]| {
        let mut arguments = vec!["simulate", "--line", "assets/lines/en50318-2002.ron"];
        arguments.extend([
            "--pantograph",
            "assets/pantographs/en50318-2002.ron",
            "--speed",
            "250",
        ]);
        arguments.extend(["--spans", "5..6", "--mesh-m", "2", "--json"]);
        arguments.extend(more);
        crate::common::pantobench_with(&arguments, &[("XDG_CACHE_HOME", &cache)])
    };
    let first = json(&simulate(&["--out", &series, "--dt-ms", "1"]));
    assert_eq!(first["scheme"], "implicit");
    assert!(first["error_filtered_pct"].is_null() && first["error_raw_pct"].is_null());
    let keys = [
        "dofs",
        "dt_s",
        "mean_n",
        "std_n",
        "stat_max_n",
        "stat_min_n",
        "max_n",
        "min_n",
        "loss_pct",
        "raw",
        "uplift_mm",
        "uplift_max_mm",
        "max_slack",
        "wall_s",
        "simulated_s",
    ];
    for key in keys {
        assert!(!first[key].is_null(), "{key}");
    }
    let again = json(&simulate(&["--reference", &series, "--dt-ms", "1"]));
    assert_eq!(again["error_raw_pct"], 0.0);
    let modal = json(&simulate(&[
        "--reference",
        &series,
        "--scheme",
        "modal",
        "--modes",
        "800",
    ]));
    assert!(
        modal["error_filtered_pct"].as_f64().unwrap() < 8.0,
        "{modal}"
    );
    let kept = std::fs::read_dir(std::path::Path::new(&cache).join("pantobench"))
        .unwrap()
        .count();
    assert_eq!(kept, 1, "one prepared line is kept");
}

#[test]
fn the_bands_of_en_50318_are_held() {
    let output = pantobench(&["validate", "en50318", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(found["held"], true);
    assert_eq!(found["cases"][1]["speed_kmh"], 300.0);
    assert_eq!(found["cases"][0]["bands"].as_array().unwrap().len(), 8);
}

#[test]
fn bad_lines_are_explained_with_exit_code_2() {
    let scratch = Scratch::new("lines");
    let text = std::fs::read_to_string(root().join(STITCHED)).unwrap();
    let cases: [(&str, &str, &[&str]); 6] = [
        ("x_m: 59.0", "x_m: 69.0", &["standard", "69"]),
        ("x_m: 15.48", "x_m: 6.0", &["standard"]),
        (
            "tension_n: 31.5e3",
            "tension_n: 0.0",
            &["contact_wire", "tension_n"],
        ),
        (
            "mass_kg_per_m: 1.374",
            "mass_kg_per_m: NaN",
            &["contact_wire", "NaN"],
        ),
        ("clamps:", "clamsp:", &["clamsp", "clamps"]),
        (
            "encumbrance_m: 1.3,",
            "encumbrance_m: 0.5,",
            &["dropper", "span"],
        ),
    ];
    for (from, to, words) in cases {
        assert!(text.contains(from), "{from}");
        let path = scratch.file("bad.ron", &text.replacen(from, to, 1));
        let output = pantobench(&["line", "check", &path]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{to}: {said}");
        for word in words {
            assert!(said.contains(word), "'{word}' is missing in: {said}");
        }
    }
    let too_short = pantobench(&[
        "simulate",
        "--line",
        STITCHED,
        "--pantograph",
        DSA_380,
        "--speed",
        "300",
        "--spans",
        "18..25",
    ]);
    assert_eq!(too_short.status.code(), Some(2));
    assert!(
        stderr(&too_short).contains("too short"),
        "{}",
        stderr(&too_short)
    );
    let backwards = pantobench(&[
        "simulate",
        "--line",
        STITCHED,
        "--pantograph",
        DSA_380,
        "--speed",
        "300",
        "--spans",
        "8..6",
    ]);
    assert_eq!(backwards.status.code(), Some(2));
    let speed = pantobench(&[
        "simulate",
        "--line",
        STITCHED,
        "--pantograph",
        DSA_380,
        "--speed",
        "-5",
    ]);
    assert_eq!(speed.status.code(), Some(2));
}

#[test]
fn a_speed_near_the_wave_speed_is_warned_about() {
    let output = pantobench(&[
        "simulate",
        "--line",
        "assets/lines/en50318-2002.ron",
        "--pantograph",
        "assets/pantographs/en50318-2002.ron",
        "--speed",
        "420",
        "--spans",
        "5..6",
        "--mesh-m",
        "4",
        "--dt-ms",
        "2",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("wave speed"),
        "{}",
        stderr(&output)
    );
}
