//! `pantobench rig` and arming as a person meets them: answers, refusals, exit codes, and recordings that prove themselves.

use crate::common::{Scratch, json, pantobench, root, stderr};
use serde_json::Value;

fn asset(file: &str) -> String {
    root().join("assets/rigs").join(file).display().to_string()
}

/// A session on the rig with everything that protects people.
fn guarded_session(scratch: &Scratch, name: &str, inject: &str) -> String {
    let text = format!(
        r#"Session(title: "guarded", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "{}", seconds: 3.0, inject: [{inject}])"#,
        asset("simulated-interlocks.ron")
    );
    let path = scratch.path(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn scan_check_jog_and_home_answer_in_json() {
    let scan = pantobench(&["rig", "scan", &asset("simulated-load-cells.ron"), "--json"]);
    assert_eq!(scan.status.code(), Some(0), "{}", stderr(&scan));
    let scan = json(&scan);
    assert_eq!(
        (&scan["held"], &scan["devices"][0]["answers"]),
        (&Value::Bool(true), &Value::Bool(true))
    );

    let check = pantobench(&["rig", "check", &asset("simulated-load-cells.ron"), "--json"]);
    assert_eq!(check.status.code(), Some(0), "{}", stderr(&check));
    assert_eq!(json(&check)["held"], true);

    let jog = pantobench(&[
        "rig",
        "jog",
        &asset("simulated-dsa-380.ron"),
        "--by",
        "-0.004",
        "--json",
    ]);
    assert_eq!(jog.status.code(), Some(0), "{}", stderr(&jog));
    assert!((json(&jog)["position_m"].as_f64().unwrap() - 0.046).abs() < 1e-5);
    let far = pantobench(&["rig", "jog", &asset("simulated-dsa-380.ron"), "--to", "0.5"]);
    assert_eq!(far.status.code(), Some(2));
    assert!(stderr(&far).contains("-0.15 to 0.15 m"), "{}", stderr(&far));

    let home = pantobench(&["rig", "home", &asset("simulated-interlocks.ron"), "--json"]);
    assert_eq!(json(&home)["was_needed"], true, "{}", stderr(&home));
    let missing = pantobench(&["rig", "scan", "no-such-rig.ron"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_guarded_rig_is_armed_in_two_steps_and_homed_first() {
    let scratch = Scratch::new("rig-guarded");
    let session = guarded_session(&scratch, "plain.ron", "");
    let refused = pantobench(&["run", &session, "--fast"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("--confirm"),
        "{}",
        stderr(&refused)
    );
    let lost = pantobench(&["run", &session, "--fast", "--confirm"]);
    assert_eq!(lost.status.code(), Some(3), "not homed");
    assert!(stderr(&lost).contains("home"), "{}", stderr(&lost));
    let done = pantobench(&["run", &session, "--fast", "--confirm", "--home", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
}

/// Runs that end by a safety circuit and by a switch that is let go, computed again to the last bit.
#[test]
fn what_the_guard_did_is_reproduced_from_the_recording() {
    let scratch = Scratch::new("rig-replay");
    let opened = "(fault: OpenInterlock(number: 2), after_s: 1.0)";
    for (name, inject, more, ends) in [
        ("whole", "", &[][..], Some(0)),
        ("door", opened, &[], Some(1)),
        // Standard input is at its end: nobody presses a key.
        ("gone", "", &["--dead-man", "keys"], Some(1)),
    ] {
        let session = guarded_session(&scratch, &format!("{name}.ron"), inject);
        let directory = scratch.path(name);
        let mut arguments = vec![
            "run",
            &session,
            "--fast",
            "--confirm",
            "--home",
            "--json",
            "--record",
            &directory,
        ];
        arguments.extend(more);
        let run = pantobench(&arguments);
        assert_eq!(run.status.code(), ends, "{name}: {}", stderr(&run));
        let recording = json(&run)["recording"].as_str().unwrap().to_owned();
        let again = pantobench(&["session", "replay", &recording, "--recompute", "--json"]);
        assert_eq!(json(&again)["identical"], true, "{name}: {}", json(&again));
    }
}

#[test]
fn an_expired_calibration_is_refused_unless_insisted_on_which_is_recorded() {
    let scratch = Scratch::new("rig-expired");
    for part in ["rigs", "calibrations", "pantographs"] {
        let to = scratch.path(part);
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(root().join("assets").join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let old = with_end(&text, "2020-01-01");
            std::fs::write(format!("{to}/{}", path.file_name().unwrap().display()), old).unwrap();
        }
    }
    let session = scratch.path("expired.ron");
    let text = r#"Session(title: "expired", bench: Profile(source: Sine(amplitude_m: 0.002, frequency_hz: 1.0)),
        rig: "rigs/simulated-load-cells.ron", seconds: 1.0)"#;
    std::fs::write(&session, text).unwrap();
    let refused = pantobench(&["run", &session, "--fast"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("--insist=calibration"),
        "{}",
        stderr(&refused)
    );
    let insisted = pantobench(&["run", &session, "--fast", "--insist=calibration"]);
    assert_eq!(insisted.status.code(), Some(0), "{}", stderr(&insisted));
    assert!(
        stderr(&insisted).contains("armed all the same"),
        "{}",
        stderr(&insisted)
    );
}

/// The text of a calibration that ended on another day.
fn with_end(text: &str, day: &str) -> String {
    let Some(at) = text.find("valid_until:") else {
        return text.to_owned();
    };
    let line_end = at + text[at..].find('\n').unwrap();
    let quoted = text[at..line_end].contains('"');
    let value = if quoted {
        format!("\"{day}\"")
    } else {
        day.to_owned()
    };
    format!("{}valid_until: {value},{}", &text[..at], &text[line_end..])
}

/// The keys that are fixed, the exit codes, and that nothing is contacted.
#[test]
fn check_offline_says_what_protects_and_what_does_not_by_the_file_alone() {
    let scratch = Scratch::new("rig-offline");
    let offline = |rig: &str| pantobench(&["rig", "check", rig, "--offline", "--json"]);
    let simulated = offline(&asset("simulated-interlocks.ron"));
    assert_eq!(simulated.status.code(), Some(0), "{}", stderr(&simulated));
    let found = json(&simulated);
    assert_eq!(found["ok"], true);
    for key in [
        "speed_m_s",
        "reaction_s",
        "distance_m",
        "available_m",
        "peak_force_n",
    ] {
        assert!(found["stopping"][key].as_f64().unwrap() > 0.0, "{key}");
    }
    let hazards = found["hazards"].as_array().unwrap();
    assert!(hazards.len() >= 14);
    for hazard in hazards {
        assert!(hazard["id"].is_string() && hazard["note"].is_string());
        assert!(["ok", "weak", "missing"].contains(&hazard["state"].as_str().unwrap()));
        let is_protected = !hazard["protected_by"].as_array().unwrap().is_empty();
        assert!(is_protected || hazard["state"] != "ok", "{hazard}");
    }

    // Hardware on an interface that does not exist: nothing is contacted, and what is missing is exit code 1.
    let text = std::fs::read_to_string(asset("ethercat-dsa-380.ron")).unwrap();
    let assets = root().join("assets").canonicalize().unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("port: InProcess", "port: Interface(\"no-such-card\")");
    let begin = text.find("interlocks: [").unwrap();
    let end = begin + text[begin..].find("],").unwrap() + 2;
    let no_circuits = format!("{}{}", &text[..begin], &text[end..]);
    let missing = offline(&scratch.file("no-circuits.ron", &no_circuits));
    assert_eq!(missing.status.code(), Some(1), "{}", stderr(&missing));
    let found = json(&missing);
    assert_eq!(found["ok"], false);
    let state = |id: &str| {
        let hazards = found["hazards"].as_array().unwrap();
        let hazard = hazards.iter().find(|h| h["id"] == id).unwrap();
        hazard["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("reaching_in"), "missing");
    assert_eq!(state("overload_of_specimen"), "ok");
    assert!(
        stderr(&missing).contains("reaching_in"),
        "{}",
        stderr(&missing)
    );

    // A file that is refused at load has its table, and the refusal in it.
    let senseless = text.replace("max_speed_m_per_s: 0.7", "max_speed_m_per_s: 700.0");
    let refused = offline(&scratch.file("millimetres.ron", &senseless));
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let found = json(&refused);
    assert_eq!(
        (&found["ok"], &found["stopping"]),
        (&Value::Bool(false), &Value::Null)
    );
    let notes = found["hazards"].as_array().unwrap().iter();
    let notes: Vec<&str> = notes.filter_map(|h| h["note"].as_str()).collect();
    assert!(
        notes
            .iter()
            .any(|n| n.contains("700 looks like millimetres")),
        "{notes:?}"
    );

    // No rig file at all, and words for a person.
    let nothing = offline(&scratch.file("nothing.ron", "Simulated("));
    assert_eq!(nothing.status.code(), Some(2));
    let shown = pantobench(&["rig", "check", &asset("simulated-dsa-380.ron"), "--offline"]);
    let text = String::from_utf8(shown.stdout).unwrap();
    for words in [
        "Stopping from 0.7 m/s",
        "MISSING",
        "overload_of_specimen",
        "+ limit of the force",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
