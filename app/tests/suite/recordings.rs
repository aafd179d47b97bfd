//! Recordings as a user meets them: made by a run, listed, checked, recovered, exported.

use crate::common::{Scratch, json, pantobench, stderr, stdout};
use rt_core::record::reader::{Session, TimeRange};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A run on the exact clock with a changed parameter, recorded to a directory of the scratch.
fn record(scratch: &Scratch, directory: &str) -> (Output, String) {
    record_for(scratch, directory, "3.0")
}

fn record_for(scratch: &Scratch, directory: &str, seconds: &str) -> (Output, String) {
    let session = scratch.session("seconds: 3.0", &format!("seconds: {seconds}"));
    let directory = scratch.path(directory);
    let output = pantobench(&[
        "run",
        &session,
        "--fast",
        "--json",
        "--record",
        &directory,
        "--change",
        "1:scale=0.75",
        "--operator",
        "late shift",
        "--notes",
        "head no. 7, new strips",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let path = json(&output)["recording"].as_str().unwrap().to_owned();
    assert!(stderr(&output).contains(&path), "{}", stderr(&output));
    (output, path)
}

fn checksums(path: &str) -> Vec<(u64, u64)> {
    let session = Session::open(Path::new(path)).unwrap();
    let frames = session.frames(TimeRange::ALL);
    frames
        .map(|f| f.map(|f| (f.frame.seq, f.checksum)).unwrap())
        .collect()
}

#[test]
fn a_recorded_run_says_what_it_is_and_is_sound() {
    let scratch = Scratch::new("record-info");
    // Two levels that do not exist yet.
    let (run, path) = record(&scratch, "deep/recordings");
    let run = json(&run);
    assert_eq!(run["recording_problem"], Value::Null);

    let info = json(&pantobench(&["session", "info", &path, "--json"]));
    assert_eq!(info["ok"], true);
    assert_eq!(info["version"], 1);
    assert_eq!(info["bench"], "profile");
    assert_eq!(info["frames"], run["cycles"]);
    assert_eq!(info["drops"], 0);
    assert_eq!(info["recovered"], false);
    let channels = info["channels"].as_array().unwrap();
    assert_eq!(channels.len(), run["channels"].as_object().unwrap().len());
    for channel in channels {
        assert!(run["channels"][channel.as_str().unwrap()].is_object());
    }
    assert_eq!(info["title"], "test");
    assert_eq!(info["specimen"], "dsa-380");
    assert_eq!(info["operator"], "late shift");
    assert_eq!(info["notes"], "head no. 7, new strips");
    assert_eq!(info["parameters"]["scale"], 1.0);
    assert_eq!(info["period_s"], 0.002);
    assert_eq!(info["result"]["state"], "Idle");
    assert_eq!(info["real_time"]["clock"], "exact");
    for file in ["session.ron", "rig.ron", "pantograph.ron"] {
        assert!(!info["files"][file].as_str().unwrap().is_empty(), "{file}");
        let text = info["files"][file].as_str().unwrap();
        let hash = ::pantobench::provenance::sha256(text.as_bytes());
        assert_eq!(info["hashes"][file], hash, "{file}");
    }
    let arguments = info["further"]["arguments"].as_str().unwrap();
    assert!(arguments.contains("1:scale=0.75"), "{arguments}");

    let events = info["event_list"].as_array().unwrap();
    assert_eq!(info["events"], events.len());
    let of = |kind: &str| {
        let found = events.iter().find(|e| e["kind"] == kind);
        found.unwrap_or_else(|| panic!("no event '{kind}' in {events:?}"))
    };
    let applied = of("parameter");
    assert_eq!(applied["fields"]["id"], "scale");
    assert_eq!(applied["fields"]["value"], 0.75);
    assert!(applied["text"].as_str().unwrap().contains("0.75"));
    assert_eq!(of("stopping")["fields"]["cause"], "duration");
    let states: Vec<_> = events
        .iter()
        .filter(|e| e["kind"] == "state")
        .map(|e| e["fields"]["to"].as_str().unwrap())
        .collect();
    // It goes on until the motor has been seen to rest.
    assert_eq!(
        states,
        ["Ready", "Armed", "Running", "Stopping", "Idle", "Ready"]
    );
    assert_eq!(of("at-rest")["fields"]["still"], 1.0);

    let check = pantobench(&["session", "check", &path, "--json"]);
    assert_eq!(check.status.code(), Some(0));
    let check = json(&check);
    assert_eq!(check["ok"], true);
    assert_eq!(check["frames"], info["frames"]);
    assert_eq!(check["missing_ticks"], 0);

    let text = stdout(&pantobench(&["session", "info", &path]));
    for word in ["late shift", "dsa-380", "motor_reference", "Scale = 0.75"] {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
}

#[test]
fn the_same_fast_run_twice_records_the_same_bits() {
    let scratch = Scratch::new("record-twice");
    let (first, second) = (record(&scratch, "a").1, record(&scratch, "b").1);
    let first = checksums(&first);
    assert!(first.len() > 1500);
    assert_eq!(first, checksums(&second));
}

#[test]
fn a_directory_is_listed_with_results_and_with_what_cannot_be_read() {
    let scratch = Scratch::new("record-list");
    let (_, path) = record(&scratch, "list");
    scratch.file("list/holiday.mcap", "not a recording");
    let directory = scratch.path("list");
    let listed = json(&pantobench(&["session", "list", &directory, "--json"]));
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let good = sessions.iter().find(|s| s["path"] == path).unwrap();
    assert_eq!(good["ok"], true);
    assert_eq!(good["title"], "test");
    assert_eq!(good["result"]["state"], "Idle");
    let bad = sessions.iter().find(|s| s["path"] != path).unwrap();
    assert_eq!(bad["ok"], false);
    assert!(bad["error"].as_str().unwrap().contains("holiday.mcap"));
    let text = stdout(&pantobench(&["session", "list", &directory]));
    assert!(
        text.contains("dsa-380") && text.contains("cannot be read"),
        "{text}"
    );
}

#[test]
fn a_trip_stands_in_the_recording() {
    let scratch = Scratch::new("record-trip");
    let session = scratch.session(
        "seconds: 3.0",
        "seconds: 3.0, inject: [(fault: Offset(signal: Force, size: 800.0), after_s: 1.0)]",
    );
    let directory = scratch.path("trips");
    let run = pantobench(&["run", &session, "--fast", "--json", "--record", &directory]);
    assert_eq!(run.status.code(), Some(1));
    let run = json(&run);
    let path = run["recording"].as_str().unwrap();
    let info = json(&pantobench(&["session", "info", path, "--json"]));
    assert_eq!(info["ok"], true);
    assert_eq!(info["result"]["state"], "Tripped");
    assert_eq!(info["result"]["trip"], "limit.force");
    let events = info["event_list"].as_array().unwrap();
    let trip = events.iter().find(|e| e["kind"] == "trip").unwrap();
    assert_eq!(trip["fields"]["measured"], run["trip"]["measured"]);
    assert_eq!(trip["fields"]["limit"], 500.0);
}

#[test]
fn tables_have_a_row_a_frame_and_units() {
    let scratch = Scratch::new("record-csv");
    let (run, path) = record(&scratch, "csv");
    let out = scratch.path("all.csv");
    let export = ["session", "export", &path, "--to", "csv", "--out", &out];
    assert!(pantobench(&export).status.success());
    let table = std::fs::read_to_string(&out).unwrap();
    let heading = table.lines().next().unwrap();
    assert!(heading.starts_with("t [s],seq,state,drive,"), "{heading}");
    assert!(heading.contains(",force [N],"), "{heading}");
    let rows = table.lines().count() as u64 - 1;
    assert_eq!(json(&run)["cycles"], rows);

    let again = pantobench(&export);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), table);

    let stretch = scratch.path("stretch.csv");
    let mut arguments = vec!["session", "export", &path, "--to", "csv", "--out", &stretch];
    arguments.extend([
        "--from",
        "1",
        "--until",
        "1.5",
        "--channels",
        "force",
        "--json",
    ]);
    let exported = json(&pantobench(&arguments));
    // 500 Hz for half a second.
    assert_eq!(exported["frames"], 250);
    let table = std::fs::read_to_string(&stretch).unwrap();
    assert_eq!(
        table.lines().next(),
        Some("t [s],seq,state,drive,force [N]")
    );
    assert_eq!(table.lines().count(), 251);
    let second = table.lines().nth(1).unwrap();
    assert!(second.starts_with("1.000000000,500,"), "{second}");
}

#[test]
fn a_stretch_is_a_recording_of_its_own() {
    let scratch = Scratch::new("record-slice");
    let (_, path) = record(&scratch, "slice");
    let out = scratch.path("stretch.mcap");
    let mut arguments = vec!["session", "export", &path, "--to", "mcap", "--out", &out];
    arguments.extend(["--from", "1", "--until", "2"]);
    let exported = pantobench(&arguments);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let check = json(&pantobench(&["session", "check", &out, "--json"]));
    assert_eq!(check["ok"], true);
    assert_eq!(check["frames"], 500);
    assert_eq!(checksums(&out), checksums(&path)[500..1000]);
    assert_eq!(pantobench(&arguments).status.code(), Some(2));
}

#[test]
fn parquet_is_written_whole_or_not_at_all() {
    let scratch = Scratch::new("record-parquet");
    let (run, path) = record(&scratch, "parquet");
    let out = scratch.path("run.parquet");
    let export = ["session", "export", &path, "--to", "parquet", "--out", &out];
    let exported = pantobench(&[&export[..], &["--json"]].concat());
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert_eq!(json(&exported)["frames"], json(&run)["cycles"]);
    let bytes = std::fs::read(&out).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(!Path::new(&format!("{out}.part")).exists());
    let again = pantobench(&export);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    assert_eq!(std::fs::read(&out).unwrap(), bytes);

    let stretch = scratch.path("stretch.parquet");
    let mut arguments = vec![
        "session", "export", &path, "--to", "parquet", "--out", &stretch,
    ];
    arguments.extend(["--from", "1", "--until", "1.5", "--channels", "force"]);
    let exported = pantobench(&[&arguments[..], &["--json"]].concat());
    assert_eq!(json(&exported)["frames"], 250);
    arguments[6] = "no/such/directory.parquet";
    assert_eq!(pantobench(&arguments).status.code(), Some(2));
}

#[test]
fn what_an_earlier_run_left_behind_is_recovered_by_the_next() {
    let scratch = Scratch::new("record-leftover");
    let (_, path) = record_for(&scratch, "left", "40.0");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(format!("{path}.part"), &bytes[..bytes.len() / 2]).unwrap();
    scratch.file("left/hopeless.mcap.part", "");
    let (run, new) = record(&scratch, "left");
    let said = stderr(&run);
    assert!(said.contains("cut off") && said.contains(&path), "{said}");
    assert!(said.contains("hopeless.mcap.part"), "{said}");
    assert_ne!(path, new);
    let check = json(&pantobench(&["session", "check", &path, "--json"]));
    assert_eq!(
        (&check["ok"], &check["recovered"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn triggers_of_a_session_record_what_happens_around_them() {
    let scratch = Scratch::new("record-triggers");
    let with = |record: &str| {
        scratch.session("seconds: 3.0", &format!("seconds: 3.0, record: ({record})"))
    };
    let run = |session: &str, directory: &str| {
        let directory = scratch.path(directory);
        let mut arguments = vec!["run", session, "--fast", "--json", "--record", &directory];
        arguments.extend(["--change", "2:scale=0.75"]);
        let output = pantobench(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        output
    };
    // The parameter changes after 2 s of running: 0.3 s before it, 0.2 s after it.
    let session = with("triggers: [Event(kind: \"parameter\")], before_s: 0.3, after_s: 0.2");
    let output = run(&session, "event");
    let said = stderr(&output);
    assert!(said.contains("waiting for a trigger"), "{said}");
    assert!(said.contains("event 'parameter'"), "{said}");
    let recordings = json(&output)["recordings"].as_array().unwrap().clone();
    assert_eq!(recordings.len(), 1);
    let info = json(&pantobench(&[
        "session",
        "info",
        recordings[0].as_str().unwrap(),
        "--json",
    ]));
    assert_eq!(info["ok"], true);
    let events = info["event_list"].as_array().unwrap();
    let changed = events.iter().find(|e| e["kind"] == "parameter").unwrap();
    let at = changed["seq"].as_u64().unwrap();
    let ticks = checksums(recordings[0].as_str().unwrap());
    // 150 ticks before and 100 after.
    assert_eq!(ticks[0].0, at - 150, "{info}");
    assert_eq!(ticks[ticks.len() - 1].0, at + 100, "{info}");
    // They are the frames of the run.
    let whole = scratch.session("seconds: 3.0", "seconds: 3.0");
    let whole = run(&whole, "whole");
    let whole = checksums(json(&whole)["recording"].as_str().unwrap());
    let first = whole.iter().position(|t| t.0 == ticks[0].0).unwrap();
    assert_eq!(whole[first..first + ticks.len()], ticks);

    // The motor passes 3 mm upward once a second.
    let session = with(
        "triggers: [Channel(id: \"motor_reference\", crossing: Rising(0.003))], before_s: 0.1, after_s: 0.1, repeat: true",
    );
    let output = run(&session, "edges");
    let edges = json(&output)["recordings"].as_array().unwrap().len();
    assert!((2..=4).contains(&edges), "{edges}");

    let session = with("triggers: [Event(kind: \"trip\")], before_s: 1.0");
    let output = run(&session, "quiet");
    assert!(stderr(&output).contains("no trigger of the session fired"));
    let quiet = json(&output);
    assert_eq!(quiet["recording"], Value::Null);
    assert_eq!(quiet["recordings"], Value::Array(Vec::new()));
}

#[test]
fn triggers_that_make_no_sense_are_located() {
    let scratch = Scratch::new("record-bad-triggers");
    let cases = [
        ("before_s: 1.0", "record.triggers"),
        (
            "triggers: [Event(kind: \"party\")]",
            "record.triggers[0].kind",
        ),
        (
            "triggers: [Event(kind: \"trip\"), Channel(id: \"force\", crossing: Outside(low: 2.0, high: 1.0))]",
            "record.triggers[1].crossing",
        ),
        (
            "triggers: [Event(kind: \"trip\")], before_s: -1.0",
            "record.before_s",
        ),
        ("triggers: [Event(kind: \"trip\")], befor_s: 1.0", "befor_s"),
        (
            "triggers: [Event(kind: \"trip\")], before_s: 1e9",
            "before_s",
        ),
        (
            "triggers: [Channel(id: \"farce\", crossing: Rising(1.0))]",
            "triggers[0].id",
        ),
    ];
    for (record, place) in cases {
        let session = scratch.session("seconds: 3.0", &format!("seconds: 3.0, record: ({record})"));
        let directory = scratch.path("bad");
        let output = pantobench(&["run", &session, "--fast", "--record", &directory]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{record}: {said}");
        assert!(said.contains(place), "'{place}' is missing in: {said}");
    }
}

#[test]
fn a_file_that_was_cut_off_is_noticed_and_recovered() {
    let scratch = Scratch::new("record-cut");
    // Long enough for several chunks.
    let (_, path) = record_for(&scratch, "cut", "40.0");
    let whole = checksums(&path);
    let bytes = std::fs::read(&path).unwrap();
    // Once as a copy that broke off, once as a kill leaves it.
    for name in [path.clone(), format!("{path}.part")] {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&name, &bytes[..bytes.len() * 3 / 4]).unwrap();
        let check = pantobench(&["session", "check", &name, "--json"]);
        assert_eq!(check.status.code(), Some(1), "{}", stderr(&check));
        assert_eq!(json(&check)["ok"], false);
        assert!(
            stderr(&check).contains("session recover"),
            "{}",
            stderr(&check)
        );

        let recovered = pantobench(&["session", "recover", &name, "--json"]);
        assert!(recovered.status.success(), "{}", stderr(&recovered));
        assert_eq!(json(&recovered)["files"][0]["path"], path);
        let check = pantobench(&["session", "check", &path, "--json"]);
        assert_eq!(check.status.code(), Some(0), "{}", stderr(&check));
        assert_eq!(json(&check)["recovered"], true);
        let saved = checksums(&path);
        assert!(whole.starts_with(&saved) && !saved.is_empty() && saved.len() < whole.len());
    }
    let nothing = pantobench(&["session", "recover", &scratch.path("cut")]);
    assert!(nothing.status.success());
    assert!(stdout(&nothing).contains("nothing to recover"));
}

#[test]
fn damage_in_the_middle_is_found() {
    let scratch = Scratch::new("record-damage");
    let (_, path) = record(&scratch, "damage");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let check = pantobench(&["session", "check", &path]);
    assert_eq!(check.status.code(), Some(1));
    assert!(
        stdout(&check).contains("damaged at byte"),
        "{}",
        stdout(&check)
    );
}

#[test]
fn bad_input_is_explained_with_exit_code_2() {
    let scratch = Scratch::new("record-bad");
    let (_, path) = record(&scratch, "bad");
    let out = scratch.path("x.csv");
    let text = scratch.file("text.mcap", "not a recording");
    let directory = scratch.path("bad");
    let export = |more: &[&'static str]| {
        let mut all = vec!["session", "export", &path, "--out", &out];
        all.extend(more);
        pantobench(&all)
    };
    let cases = [
        (
            pantobench(&["session", "info", "no/such.mcap"]),
            "no/such.mcap",
        ),
        (
            pantobench(&["session", "check", "no/such.mcap"]),
            "no/such.mcap",
        ),
        (
            pantobench(&["session", "recover", "no/such.mcap"]),
            "no/such.mcap",
        ),
        (pantobench(&["session", "list", "no/such"]), "no/such"),
        (
            pantobench(&["session", "check", &text]),
            "not a Pantobench recording",
        ),
        (pantobench(&["session", "info", &directory]), "session list"),
        (export(&["--to", "csv", "--channels", "farce"]), "farce"),
        (export(&["--to", "csv", "--from", "900"]), "no frame"),
        (
            export(&["--to", "csv", "--from", "2", "--until", "1"]),
            "no frame",
        ),
        (export(&["--to", "csv", "--from", "nan"]), "--from"),
        (export(&["--to", "mcap"]), ".mcap"),
        (
            export(&["--to", "mcap", "--channels", "force"]),
            "--channels",
        ),
        (export(&["--to", "xls"]), "csv"),
        (export(&["--to", "parquet", "--channels", "farce"]), "farce"),
        (export(&["--to", "parquet", "--from", "900"]), "no frame"),
    ];
    for (output, word) in cases {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "'{word}' is missing in: {said}");
        assert!(output.stdout.is_empty());
    }
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_run_that_cannot_be_recorded_does_not_start() {
    let scratch = Scratch::new("record-refused");
    let session = scratch.session("seconds: 3.0", "seconds: 3.0");
    let in_the_way = scratch.file("file", "");
    for clock in [&["--fast"][..], &[]] {
        let mut arguments = vec!["run", &session, "--record", &in_the_way];
        arguments.extend(clock);
        let refused = pantobench(&arguments);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&in_the_way) && said.contains("choose another name"),
            "{said}"
        );
        assert!(!said.contains("Armed"), "{said}");
    }
    let lonely = pantobench(&["run", &session, "--fast", "--operator", "late shift"]);
    assert_eq!(lonely.status.code(), Some(2));
    assert!(stderr(&lonely).contains("--record"));
}

#[test]
fn a_real_time_run_is_recorded_without_loss() {
    let scratch = Scratch::new("record-real");
    let session = scratch.patient_session("seconds: 3.0", "seconds: 1.0, max_misses: 1000");
    let directory = scratch.path("real");
    let run = pantobench(&["run", &session, "--json", "--record", &directory]);
    assert!(run.status.success(), "{}", stderr(&run));
    let run = json(&run);
    let path = run["recording"].as_str().unwrap();
    let info = json(&pantobench(&["session", "check", path, "--json"]));
    assert_eq!(info["ok"], true);
    assert_eq!(info["drops"], 0);
    assert_eq!(info["frames"], run["cycles"]);
    let session = Session::open(Path::new(path)).unwrap();
    let real_time = &session.header().real_time;
    assert_eq!(real_time["clock"], "real");
    assert!(["fifo", "other"].contains(&real_time["scheduler"].as_str()));
}
