//! Recordings computed again: bit by bit from their own measurements, and otherwise with other parameters.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use rt_core::guard::State;
use rt_core::record::event::EventRecord;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::RecordedFrame;
use rt_core::record::writer::SessionWriter;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn record(session: &str, directory: &str, more: &[&str]) -> String {
    let mut arguments = vec!["run", session, "--json", "--record", directory];
    arguments.extend(more);
    let run = pantobench(&arguments);
    assert_ne!(run.status.code(), Some(2), "{}", stderr(&run));
    json(&run)["recording"].as_str().unwrap().to_owned()
}

fn recomputed(path: &str) -> Value {
    let output = pantobench(&["session", "replay", path, "--recompute", "--json"]);
    let found = json(&output);
    let expected = if found["identical"] == true { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
    found
}

fn assert_identical(path: &str) -> Value {
    let found = recomputed(path);
    assert_eq!(found["identical"], true, "{found}");
    assert_eq!(found["first_difference"], Value::Null);
    let frames = Session::open(Path::new(path)).unwrap().info().frames;
    assert_eq!(found["frames"], frames);
    assert_eq!(found["equal"], frames);
    assert_eq!(found["as_kept"], 0, "every frame is proven by its checksum");
    found
}

/// A recording written again, with what `change` does to it.
fn rewritten(
    scratch: &Scratch,
    path: &str,
    name: &str,
    change: impl FnOnce(&mut SessionHeader, &mut Vec<EventRecord>, &mut Vec<RecordedFrame>),
) -> String {
    let session = Session::open(Path::new(path)).unwrap();
    let mut header = session.header().clone();
    let mut events = session.events(TimeRange::ALL).unwrap();
    let frames = session.frames(TimeRange::ALL);
    let mut frames: Vec<RecordedFrame> = frames.map(Result::unwrap).collect();
    change(&mut header, &mut events, &mut frames);
    let out = scratch.path(name);
    let file = File::create(&out).unwrap();
    let mut writer = SessionWriter::create(file, Path::new(&out), &header).unwrap();
    for frame in &frames {
        writer.frame(frame).unwrap();
    }
    for event in &events {
        writer.event(event).unwrap();
    }
    writer.finish(session.end().unwrap()).unwrap();
    out
}

/// 60 s of a sine whose scale and rate change.
fn sine(scratch: &Scratch) -> String {
    let session = scratch.session("seconds: 3.0", "seconds: 60.0");
    let changes = [
        "--fast",
        "--change",
        "10:scale=0.75",
        "--change",
        "20.3:rate=2",
    ];
    record(&session, &scratch.path("sine"), &changes)
}

/// Two sections under a string, LQG → predictive → LQG, then another interaction stiffness.
fn tuned(scratch: &Scratch) -> String {
    let changes = r#"(after_s: 2.0, params: {"controller": 1.0}), (after_s: 5.0, params: {"controller": 0.0, "q": 6.0}),
        (after_s: 6.0, params: {"k_i": 45e3})"#;
    let session = on_string(scratch, "spans: (1, 4), sections: 2", changes);
    record(&session, &scratch.path("tuned"), &["--fast"])
}

/// A session under a string, with limits so wide that nothing ends it.
fn on_string(scratch: &Scratch, more_bench: &str, changes: &str) -> String {
    let asset = |file: &str| {
        let path = root().join("assets").join(file).canonicalize().unwrap();
        path.display().to_string()
    };
    let text = format!(
        r#"Session(title: "live",
            bench: PantographLqg(wire: String(), specimen: "{}", {more_bench},
                speed_kmh: 250.0, approach_s: 1.0),
            rig: "{}", uplift_n: 130.625, params: {{"bias_step": 10.0}},
            limits: [(channel: "tracking_error", low: -0.05, high: 0.05, for_cycles: 1, action: Retreat),
                (channel: "error_next", low: -0.05, high: 0.05, for_cycles: 1, action: Retreat),
                (channel: "error_ahead", low: -1.0, high: 1.0, for_cycles: 1, action: Retreat)],
            changes: [{changes}])"#,
        asset("pantographs/dsa-380.ron"),
        asset("rigs/simulated-dsa-380.ron")
    );
    scratch.file("string.ron", &text)
}

#[test]
fn a_fall_back_is_the_benchs_own_doing_and_a_later_change_does_not_undo_it() {
    let scratch = Scratch::new("replay-fall-back");
    // The force is read two cycles earlier than the predictive controller believes.
    let bench = "controller: Predictive, force_delay_cycles: 3, spans: (1, 8)";
    // With that belief the model does not trust the LQG either.
    let change = r#"(after_s: 5.0, params: {"q": 4.0}, insist: true)"#;
    let session = on_string(&scratch, bench, change);
    let path = record(&session, &scratch.path("out"), &["--fast"]);
    let session = Session::open(Path::new(&path)).unwrap();
    let events = session.events(TimeRange::ALL).unwrap();
    let of = |kind: &str| events.iter().find(|e| e.kind == kind).unwrap().seq;
    assert!(of("fallback") < of("gains"), "{events:?}");
    let running = session.frames(TimeRange::ALL).map(Result::unwrap);
    let column = session.column_index("controller").unwrap();
    let last = running.filter(|f| f.frame.state == State::Running).last();
    assert_eq!(last.unwrap().frame.values[column], 0.0);
    assert_identical(&path);
}

#[test]
fn a_minute_of_a_profile_with_live_changes_is_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-minute");
    let path = sine(&scratch);
    let found = assert_identical(&path);
    assert!(found["frames"].as_u64().unwrap() > 30_000);
    assert_eq!(found["proven"]["from_seq"], 0);
    let words = pantobench(&["session", "replay", &path]);
    assert!(words.status.success());
    assert!(
        stdout(&words).contains("are identical"),
        "{}",
        stdout(&words)
    );
}

#[test]
fn gains_hand_over_and_sections_are_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-tuned");
    let path = tuned(&scratch);
    let session = Session::open(Path::new(&path)).unwrap();
    let events = session.events(TimeRange::ALL).unwrap();
    let gains = events.iter().filter(|e| e.kind == "gains").count();
    assert_eq!(gains, 3, "{events:?}");
    let place = session.columns(&["line_position"], TimeRange::ALL).unwrap();
    let place = &place.values[0];
    let back = place.windows(2).filter(|w| w[1] < w[0]).count();
    assert_eq!(back, 1, "two sections");
    assert_identical(&path);
}

#[test]
fn a_shipped_session_on_the_stitched_line_is_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-stitched");
    let changes = ["--fast", "--change", "6:q=8"];
    let path = record("sessions/dsa380-250.ron", &scratch.path("out"), &changes);
    assert_identical(&path);
}

#[test]
fn runs_that_trip_or_skip_ticks_are_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-trips");
    for (fault, skips) in [
        ("Offset(signal: Force, size: 800.0)", false),
        ("NotANumber(Force)", false),
        ("NotANumber(Position)", false),
        ("StuckForce", false),
        ("Runaway(speed_m_per_s: 0.2)", false),
        ("LostExchange", false),
        ("PowerLoss", false),
        ("LateExchange(by_us: 5000.0)", true),
    ] {
        let inject = format!("seconds: 3.0, inject: [(fault: {fault}, after_s: 1.0)]");
        let session = scratch.session("seconds: 3.0", &inject);
        let path = record(&session, &scratch.path("trips"), &["--fast"]);
        let session = Session::open(Path::new(&path)).unwrap();
        let events = session.events(TimeRange::ALL).unwrap();
        let has_fault = |e: &EventRecord| e.word("fault").is_some();
        assert!(events.iter().any(has_fault), "{fault}: {events:?}");
        let found = assert_identical(&path);
        assert_eq!(found["skipped"].as_u64().unwrap() > 0, skips, "{fault}");
    }
}

/// What the guard makes of single cells follows from their recorded readings and lines; a recording of a version that
/// told no lines shows the same as it did.
#[test]
fn runs_on_load_cells_are_recomputed_bit_by_bit_with_and_without_their_lines() {
    let scratch = Scratch::new("replay-cells");
    let rig = root()
        .join("assets/rigs/simulated-load-cells.ron")
        .canonicalize()
        .unwrap();
    let on_cells = |name: &str, inject: &str| {
        let text = format!(
            "Session(title: \"cells\", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)), rig: \"{}\", \
             seconds: 3.0, inject: [{inject}])",
            rig.display()
        );
        let session = scratch.file(&format!("{name}.ron"), &text);
        record(&session, &scratch.path(name), &["--fast"])
    };
    for does in ["Dead", "Stuck", "Drifting(n_per_s: -300.0)"] {
        let inject = format!("(fault: Cell(number: 2, does: {does}), after_s: 1.0)");
        let path = on_cells("trouble", &inject);
        let events = Session::open(Path::new(&path)).unwrap();
        let events = events.events(TimeRange::ALL).unwrap();
        let of_a_cell = |e: &&EventRecord| {
            let name = e.word("fault").unwrap_or_default();
            e.kind == "trip" && name.starts_with("cell-") && name.ends_with("_2")
        };
        assert!(
            events.iter().find(of_a_cell).is_some(),
            "{does}: {events:?}"
        );
        assert_identical(&path);
    }
    let healthy = on_cells("healthy", "");
    assert_identical(&healthy);
    let older = rewritten(&scratch, &healthy, "older.mcap", |header, _, _| {
        let before = header.further.len();
        header
            .further
            .retain(|key, _| !key.starts_with("calibration_line_of_"));
        assert_eq!(header.further.len(), before - 2);
    });
    assert_identical(&older);
}

#[test]
fn a_real_time_run_with_overruns_is_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-real");
    // Each of 20 exchanges takes four and a half periods.
    let late = "seconds: 2.0, max_misses: 1000, \
                inject: [(fault: LateExchange(by_us: 9000.0), after_s: 0.5, lasting_s: 0.2)]";
    let session = scratch.patient_session("seconds: 3.0", late);
    let path = record(
        &session,
        &scratch.path("real"),
        &["--change", "1:scale=0.5"],
    );
    let session = Session::open(Path::new(&path)).unwrap();
    assert_eq!(session.header().real_time["clock"], "real");
    let wake = session.columns(&["loop.wake_us"], TimeRange::ALL).unwrap();
    assert!(wake.values[0].iter().any(|w| *w > 0.0));
    let found = assert_identical(&path);
    assert!(found["skipped"].as_u64().unwrap() >= 40, "{found}");
}

/// A program that ends holds nothing, other than a person's STOP.
#[test]
fn a_run_that_the_program_leaves_is_recomputed_bit_by_bit() {
    let scratch = Scratch::new("replay-leaves");
    let assets = root().join("assets").canonicalize().unwrap();
    let rig = std::fs::read_to_string(assets.join("rigs/simulated-dsa-380.ron")).unwrap();
    let rig = rig
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("tracking_cycles: 3,", "tracking_cycles: 3, at_rest: Hold,");
    let rig = scratch.file("rig.ron", &rig);
    let session = scratch.file(
        "session.ron",
        &format!(
            "Session(title: \"left\", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)), rig: {rig:?}, \
             seconds: 60.0, max_misses: 1000)"
        ),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args(["run", &session, "--record", &scratch.path("out")])
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("Armed → Running")));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    said.for_each(drop);
    child.wait().unwrap();
    let path = std::fs::read_dir(scratch.path("out"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let path = path.display().to_string();
    let events = Session::open(Path::new(&path))
        .unwrap()
        .events(TimeRange::ALL)
        .unwrap();
    let ends = |e: &EventRecord| e.kind == "stopping" && e.word("cause") == Some("ending");
    assert!(events.iter().any(ends), "{events:?}");
    assert_identical(&path);
}

#[test]
fn a_missing_parameter_event_is_located() {
    let scratch = Scratch::new("replay-event");
    let path = sine(&scratch);
    let mut seq = 0;
    let without = rewritten(&scratch, &path, "without.mcap", |_, events, _| {
        let is_rate = |e: &EventRecord| e.kind == "parameter" && e.word("id") == Some("rate");
        let at = events.iter().position(is_rate).unwrap();
        seq = events.remove(at).seq;
    });
    let found = recomputed(&without);
    assert_eq!(found["identical"], false);
    let difference = &found["first_difference"];
    assert_eq!(difference["seq"], seq, "{found}");
    assert_eq!(difference["channel"], "profile_height");
    assert_ne!(difference["recorded"], difference["recomputed"]);
    assert_eq!(found["proven"]["to_seq"], seq - 1);

    // Gains that were never exchanged: the reference differs one cycle after they act.
    let path = tuned(&scratch);
    let without = rewritten(&scratch, &path, "no-gains.mcap", |_, events, _| {
        let is_last = |e: &EventRecord| e.kind == "gains" && e.seq > 3000;
        let at = events.iter().position(is_last).unwrap();
        seq = events[at].seq;
        events.retain(|e| e.seq != seq);
    });
    let found = recomputed(&without);
    let at = found["first_difference"]["seq"].as_u64().unwrap();
    assert!((seq..=seq + 1).contains(&at), "{seq}: {found}");
}

#[test]
fn a_changed_sample_is_located() {
    let scratch = Scratch::new("replay-sample");
    let session = scratch.session("seconds: 3.0", "seconds: 3.0");
    let path = record(&session, &scratch.path("out"), &["--fast"]);
    for (column, id, channel) in [
        (1, "motor_position", "tracking_error"),
        // Nothing is computed from it: only the checksum knows.
        (0, "force", "checksum"),
    ] {
        let changed = rewritten(
            &scratch,
            &path,
            &format!("{id}.mcap"),
            |header, _, frames| {
                assert_eq!(header.channels[column].id, id);
                let value = &mut frames[777].frame.values[column];
                *value = f64::from_bits(value.to_bits() ^ (1 << 40));
            },
        );
        let found = recomputed(&changed);
        assert_eq!(found["identical"], false);
        assert_eq!(found["first_difference"]["seq"], 777, "{found}");
        assert_eq!(found["first_difference"]["channel"], channel);
    }
}

#[test]
fn the_files_in_the_recording_count_and_not_those_on_the_disk() {
    let scratch = Scratch::new("replay-files");
    let copy = |from: &str, to: &str| {
        let text = std::fs::read_to_string(root().join(from)).unwrap();
        scratch.file(to, &text.replace("../pantographs/dsa-380.ron", "panto.ron"));
    };
    copy("assets/rigs/simulated-dsa-380.ron", "rig.ron");
    copy("assets/pantographs/dsa-380.ron", "panto.ron");
    scratch.file("heights.csv", "0.0,0.0\n1.0,0.01\n2.0,-0.01\n3.0,0.0\n");
    let session = scratch.file(
        "session.ron",
        "Session(title: \"own files\", bench: Profile(source: File(path: \"heights.csv\")), rig: \"rig.ron\")",
    );
    let path = record(&session, &scratch.path("out"), &["--fast"]);
    for file in ["rig.ron", "panto.ron", "heights.csv"] {
        std::fs::remove_file(scratch.path(file)).unwrap();
    }
    scratch.file("session.ron", "something else");
    assert_identical(&path);
    let what_if = pantobench(&["session", "replay", &path, "--what-if", "--json"]);
    assert!(what_if.status.success(), "{}", stderr(&what_if));
    assert_eq!(json(&what_if)["comparison"]["error_pct"], 0.0);

    let forged = rewritten(&scratch, &path, "forged.mcap", |header, _, _| {
        let heights = header.files.get_mut("profile.csv").unwrap();
        *heights = heights.replace("0.01", "0.02");
    });
    let refused = pantobench(&["session", "replay", &forged]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("was changed afterwards"),
        "{}",
        stderr(&refused)
    );
    let lacking = rewritten(&scratch, &path, "lacking.mcap", |header, _, _| {
        header.files.remove("rig.ron");
    });
    let refused = pantobench(&["session", "replay", &lacking]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("does not carry 'rig.ron'"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn what_is_missing_is_named_and_the_rest_is_proven() {
    let scratch = Scratch::new("replay-missing");
    let session = scratch.session("seconds: 3.0", "seconds: 40.0");
    let path = record(&session, &scratch.path("out"), &["--fast"]);
    let whole = assert_identical(&path);

    let lost = rewritten(&scratch, &path, "lost.mcap", |_, _, frames| {
        frames.drain(1001..1004);
    });
    let found = recomputed(&lost);
    assert_eq!(found["identical"], false);
    assert_eq!(found["first_difference"], Value::Null);
    assert_eq!(found["proven"]["to_seq"], 1000);
    let obstacle = found["obstacle"].as_str().unwrap();
    assert!(
        obstacle.contains("3 frame(s) between tick 1000 and tick 1004"),
        "{obstacle}"
    );

    let stretch = scratch.path("stretch.mcap");
    let mut arguments = vec![
        "session", "export", &path, "--to", "mcap", "--out", &stretch,
    ];
    arguments.extend(["--from", "2", "--until", "4"]);
    assert!(pantobench(&arguments).status.success());
    let found = recomputed(&stretch);
    assert_eq!(
        (&found["identical"], &found["proven"]),
        (&Value::Bool(false), &Value::Null)
    );
    let obstacle = found["obstacle"].as_str().unwrap();
    assert!(
        obstacle.contains("begins with tick 1000 in state Running"),
        "{obstacle}"
    );

    // Begun by hand while the bench was at rest: all that follows is proven.
    let later = rewritten(&scratch, &path, "later.mcap", |_, events, frames| {
        let ready = |f: &RecordedFrame| f.frame.state == State::Ready;
        let first = frames.iter().position(ready).unwrap();
        frames.drain(..first);
        events.retain(|e| e.seq > first as u64);
    });
    let found = recomputed(&later);
    assert_eq!(
        (&found["identical"], &found["given"]),
        (&Value::Bool(true), &Value::from(1))
    );
    assert_eq!(found["proven"]["to_seq"], whole["proven"]["to_seq"]);

    // As a kill leaves it: what is there is proven.
    let bytes = std::fs::read(&path).unwrap();
    let cut = scratch.path("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() * 3 / 4]).unwrap();
    let found = recomputed(&cut);
    assert_eq!(found["identical"], true, "{found}");
    assert!(found["frames"].as_u64().unwrap() > 1000);
    assert!(
        found["notes"][0].as_str().unwrap().contains("cut off"),
        "{found}"
    );

    // A recording of the first version without files.
    let old = pantobench(&["session", "replay", "rt-core/tests/data/version-1.mcap"]);
    assert_eq!(old.status.code(), Some(2), "{}", stderr(&old));
}

#[test]
fn what_if_with_nothing_changed_is_the_recording_and_with_another_q_is_not() {
    let scratch = Scratch::new("replay-what-if");
    let path = tuned(&scratch);
    let children = scratch.path("children");
    let replay = |more: &[&str]| {
        let mut arguments = vec!["session", "replay", &path, "--what-if", "--json"];
        arguments.extend(more);
        pantobench(&arguments)
    };
    let same = json(&replay(&["--record", &children]));
    assert_eq!(same["comparison"]["aligned_by"], "place");
    assert_eq!(same["comparison"]["error_pct"], 0.0);
    assert_eq!(same["changes"].as_array().unwrap().len(), 3);
    let child = same["recording"].as_str().unwrap();
    let sums = |path: &str| -> Vec<u64> {
        let session = Session::open(Path::new(path)).unwrap();
        let frames = session.frames(TimeRange::ALL);
        frames.map(|f| f.unwrap().checksum).collect()
    };
    assert_eq!(sums(child), sums(&path));

    let other = replay(&[
        "--set", "q=2", "--set-at", "3:c_i=60", "--record", &children,
    ]);
    assert!(other.status.success(), "{}", stderr(&other));
    let other = json(&other);
    let error = other["comparison"]["error_pct"].as_f64().unwrap();
    assert!(error > 0.1, "{error} %");
    assert_eq!(other["parameters"]["q"], 2.0);
    // The recorded change of q is replaced, those of controller and k_i remain.
    let changes = other["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 4);
    assert!(
        changes.iter().all(|c| c["params"]["q"].is_null()),
        "{changes:?}"
    );
    for run in ["recorded", "what_if"] {
        assert!(other[run]["channels"]["force"]["mean"].as_f64().unwrap() > 50.0);
    }
    // The new recording knows its parent and can be computed again itself.
    let child = other["recording"].as_str().unwrap();
    let session = Session::open(Path::new(child)).unwrap();
    let further = &session.header().further;
    assert_eq!(further["parent"], path);
    let parent = ::pantobench::provenance::FileHashes::of(Path::new(&path)).unwrap();
    assert_eq!(further["parent_hash"], parent.sha256);
    assert_eq!(session.header().parameters["q"], 2.0);
    assert_identical(child);

    let ideal = root().join("assets/rigs/simulated-dsa-380-ideal.ron");
    let ideal = ideal.display().to_string();
    let on_ideal = json(&replay(&["--rig", &ideal, "--record", &children]));
    assert!(on_ideal["comparison"]["error_pct"].as_f64().unwrap() > 0.0);
    assert_identical(on_ideal["recording"].as_str().unwrap());
}

#[test]
fn bad_input_is_explained_with_exit_code_2() {
    let scratch = Scratch::new("replay-bad");
    let session = scratch.session("seconds: 3.0", "seconds: 3.0");
    let path = record(&session, &scratch.path("out"), &["--fast"]);
    for (more, word) in [
        (&["--what-if", "--set", "gian=2"][..], "gian"),
        (&["--what-if", "--set", "scale=9"][..], "0 to 2"),
        (&["--what-if", "--set", "scale"][..], "ID=VALUE"),
        (&["--what-if", "--set-at", "scale=1"][..], "SECONDS"),
        (&["--what-if", "--set-at", "1:gian=1"][..], "gian"),
        (&["--what-if", "--rig", "no/such.ron"][..], "no/such.ron"),
        (&["--what-if", "--recompute"][..], "--recompute"),
        (&["--set", "scale=1"][..], "--what-if"),
    ] {
        let mut arguments = vec!["session", "replay", &path];
        arguments.extend(more);
        let output = pantobench(&arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "'{word}' is missing in: {said}");
    }
    let missing = pantobench(&["session", "replay", "no/such.mcap"]);
    assert_eq!(missing.status.code(), Some(2));
}
