//! Scripts as a user meets them: the shipped ones, and everything that can be wrong with one.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A script of its own in a directory with copies of the shipped sessions.
struct Place {
    scratch: Scratch,
    out: String,
}

impl Place {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(&format!("script-{name}"));
        for session in ["profile-sine.ron", "dsa380-250.ron"] {
            let text = std::fs::read_to_string(root().join("sessions").join(session)).unwrap();
            let assets = root().join("assets").canonicalize().unwrap();
            let text = text.replace("../assets", &assets.display().to_string());
            scratch.file(session, &text);
        }
        let out = scratch.path("out");
        Self { scratch, out }
    }

    fn run(&self, source: &str, more: &[&str]) -> Output {
        let script = self.scratch.file("test.rhai", source);
        let own = ["script", &script, "--fast", "--json", "--out", &self.out];
        pantobench(&[&own, more].concat())
    }
}

fn shipped() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rhai"))
        .collect();
    names.sort();
    names
}

/// What makes a shipped script quick enough to be run everywhere.
fn quick(name: &str) -> Vec<&'static str> {
    match name {
        "en50318-validation.rhai" => vec!["-D", "speeds_kmh=250"],
        "known-mass.rhai" => vec![],
        _ => vec!["-D", "quick=true"],
    }
}

#[test]
fn every_shipped_script_holds_its_checks_on_the_exact_clock_and_twice_the_same() {
    let scratch = Scratch::new("script-shipped");
    let names = shipped();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let path = format!("sessions/{name}");
        let well_formed = pantobench(&["script", "--check", &path]);
        assert!(well_formed.status.success(), "{}", stderr(&well_formed));
        let run = |out: &str| {
            let out = scratch.path(&format!("{name}-{out}"));
            let own = ["script", &path, "--fast", "--json", "--out", &out];
            pantobench(&[&own, quick(&name).as_slice()].concat())
        };
        let first = run("a");
        assert_eq!(first.status.code(), Some(0), "{name}: {}", stderr(&first));
        let found = json(&first);
        assert_eq!(
            (&found["ok"], &found["error"]),
            (&true.into(), &Value::Null)
        );
        assert!(!found["checks"].as_array().unwrap().is_empty(), "{name}");
        assert!(!found["tables"].as_array().unwrap().is_empty(), "{name}");
        let files = found["files"].as_array().unwrap();
        assert!(!files.is_empty(), "{name}");
        for file in files {
            let length = std::fs::metadata(file.as_str().unwrap()).unwrap().len();
            assert!(length > 20, "{name}: {file}");
        }
        if name == "speed-sweep.rhai" {
            let again = json(&run("b"));
            for key in ["checks", "tables", "seconds"] {
                assert_eq!(again[key], found[key], "{name}: {key}");
            }
        }
    }
}

#[test]
fn mistakes_are_named_with_line_and_column_and_do_not_end_in_a_trip() {
    let place = Place::new("mistakes");
    let bench = "let bench = load(\"dsa380-250.ron\", #{ wire: \"String()\" });\n";
    type Case<'a> = (&'a str, &'a str, (u64, u64), &'a str, i32);
    let cases: [Case<'_>; 17] = [
        (
            "let a = 1;\nprint(a + b);",
            "input",
            (2, 11),
            "Undefined variable: b",
            2,
        ),
        ("let a = ;", "input", (1, 9), "", 2),
        (
            "print(\"a\");\nlet b = load(\"profile-sine.ron\");\nb.amr();",
            "input",
            (3, 3),
            "no function amr",
            2,
        ),
        (
            "let a = 1;\nloop { a += 1; }",
            "limit",
            (2, 0),
            "does a loop never end",
            2,
        ),
        (
            "fn f(n) { f(n + 1) }\nf(0);",
            "limit",
            (2, 1),
            "deeper than",
            2,
        ),
        ("let a = \"x\";\nloop { a += a; }", "limit", (2, 0), "", 2),
        (
            "let a = [];\nloop { a += [1, 2, 3, 4, 5, 6, 7, 8]; a += a; }",
            "limit",
            (2, 0),
            "",
            2,
        ),
        ("eval(\"1\");", "input", (1, 1), "eval", 2),
        ("import \"other\" as o;", "input", (1, 1), "import", 2),
        (
            "load(\"../assets/rigs/simulated-dsa-380.ron\");",
            "input",
            (1, 1),
            "leads upwards",
            2,
        ),
        (
            "let t = table(\"t\", [\"a\"]);\nt.save(\"/tmp/t\");",
            "input",
            (2, 3),
            "absolute",
            2,
        ),
        (
            "open_table(\"../t\", [\"a\"]);",
            "input",
            (1, 1),
            "leads upwards",
            2,
        ),
        (
            "load(\"dsa380-250.ron\", #{ specimen: \"x.ron\" });",
            "input",
            (1, 1),
            "cannot be changed by a script",
            2,
        ),
        (
            "let b = load(\"profile-sine.ron\");\nb.run_for(1);",
            "input",
            (2, 3),
            "arm() comes first",
            2,
        ),
        (
            "let b = load(\"profile-sine.ron\");\nb.arm();\nb.value(\"fource\");",
            "input",
            (3, 3),
            "force",
            2,
        ),
        (
            "assert(1 > 2, \"one is more than two\");",
            "failed",
            (1, 1),
            "one is more than two",
            1,
        ),
        (
            "let b = load(\"profile-sine.ron\");\nb.arm();\nb.run_for(-1);",
            "input",
            (3, 3),
            "within 0 to",
            2,
        ),
    ];
    for (source, kind, (line, column), words, code) in cases {
        let output = place.run(source, &["--max-operations", "300000"]);
        let error = &json(&output)["error"];
        let context = format!("{source}: {error} {}", stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{context}");
        assert_eq!(error["kind"], kind, "{context}");
        assert_eq!(error["line"], line, "{context}");
        if column > 0 {
            assert_eq!(error["column"], column, "{context}");
        } else {
            assert!(error["column"].as_u64().is_some(), "{context}");
        }
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{context}"
        );
        assert!(error["file"].as_str().unwrap().ends_with("test.rhai"));
        assert!(
            stderr(&output).contains(&format!("test.rhai:{line}:")),
            "{context}"
        );
    }
    // The range is named, before a run and during one; the script may go on after a mistake that it catches.
    for source in [
        format!("{bench}bench.set(\"q\", -1);"),
        format!("{bench}bench.arm();bench.run_for(1);\nbench.set(\"q\", 1e12);"),
    ] {
        let output = place.run(&source, &[]);
        let error = json(&output)["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            error.contains("'q'") && error.contains("it must lie within"),
            "{error}"
        );
        assert_eq!(output.status.code(), Some(2));
        let caught = format!(
            "try {{ {source} }} catch (e) {{ check(\"caught\", e.contains(\"within\")); }}"
        );
        let output = place.run(&caught, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_trip_ends_the_script_and_cannot_be_caught_unless_it_is_allowed() {
    let place = Place::new("trip");
    let faulty = "let b = load(\"profile-sine.ron\", #{ inject: \"[(fault: Offset(signal: Force, size: 700.0), \
                  after_s: 4.0)]\" });\n";
    let output = place.run(&format!("{faulty}b.record();\nb.arm();\ntry {{\n  b.run_to_end();\n}} catch {{ }}\nprint(\"on\");"), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let found = json(&output);
    let error = &found["error"];
    assert_eq!(
        (&error["kind"], &error["line"]),
        (&"tripped".into(), &5.into())
    );
    assert!(
        error["message"].as_str().unwrap().contains("limit.force"),
        "{error}"
    );
    let run = &found["runs"][0];
    assert_eq!(
        (&run["state"], &run["trip"]["fault"]),
        (&"Tripped".into(), &"limit.force".into())
    );
    assert!(!stderr(&output).contains("\non\n"));
    // The recording has its end.
    let recording = run["recordings"][0].as_str().unwrap();
    let info = json(&pantobench(&["session", "check", recording, "--json"]));
    assert_eq!(info["ok"], true, "{info}");

    let allowed = format!(
        "{faulty}b.allow_trip();\nb.arm();\nb.run_to_end();\ncheck(\"trip\", b.trip() != ());\n\
         check(\"state\", b.state() == \"Tripped\");\ncheck(\"samples\", b.signal(\"force\").seconds(), 0.5, 5);"
    );
    let output = place.run(&allowed, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn time_is_limited_and_unknown_settings_are_refused() {
    let place = Place::new("limits");
    let endless =
        "let b = load(\"profile-sine.ron\", #{ seconds: 5000 });\nb.arm();\nb.run_to_end();";
    let output = place.run(endless, &["--time-limit", "6"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        (&found["error"]["kind"], &found["error"]["line"]),
        (&"limit".into(), &3.into())
    );
    assert!(
        found["error"]["message"]
            .as_str()
            .unwrap()
            .contains("--time-limit")
    );
    let seconds = found["seconds"].as_f64().unwrap();
    assert!(
        (6.0..10.0).contains(&seconds),
        "it comes to rest: {seconds}"
    );

    let output = place.run("setting(\"speed\", 250.0);", &["-D", "sped=200"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("no setting 'sped'; its settings: speed"),
        "{}",
        stderr(&output)
    );
    let output = place.run("setting(\"speed\", 250.0);", &["-D", "speed=fast"]);
    assert!(
        stderr(&output).contains("expected a number"),
        "{}",
        stderr(&output)
    );
    let output = place.run("", &["-D", "speed"]);
    assert!(
        stderr(&output).contains("expected NAME=VALUE"),
        "{}",
        stderr(&output)
    );
    let missing = pantobench(&["script", "no-such.rhai", "--fast"]);
    assert_eq!(missing.status.code(), Some(2));
}

/// Everything that a run can be told, in one script; its recording proves itself.
#[test]
fn a_run_is_set_ramped_waited_for_marked_recorded_and_computed_again() {
    let place = Place::new("run");
    let source = r#"
        let b = load("dsa380-250.ron", #{ wire: "String()", spans: [1, 6], params: #{ q: 20 } });
        b.record(#{ operator: "late shift" });
        check("loaded", b.state() == "Loaded");
        b.arm();
        check("armed", b.state() == "Armed");
        check("runs on", b.run_for(1.5));
        check("time", b.time(), 1.499, 1.501);
        check("q to begin with", b.param("q"), 20, 20);
        let prospect = b.set("q", 40);
        check("ρ of the design", prospect.rho, 0.5, 1.0);
        b.ramp("q", 60, 0.5);
        check("q in the end", b.param("q"), 60, 60);
        b.mark("the ramp is over");
        check("moves", b.run_until("line_position", ">", 20, 10));
        check("place", b.value("line_position"), 20, 20.2);
        check("waits", b.wait_for(|x| x.value("line_position") > 40, 10));
        check("never", !b.run_until("force", ">", 1e6, 0.1));
        check("and not either", !b.wait_for(|x| false, 0.1));
        b.run_to_end();
        check("idle", b.state() == "Idle");
        let force = b.signal("force");
        check("whole of the run", force.seconds(), b.time() - 0.003, b.time() + 0.003);
        check("σ adds up", force.sigma(0, 5) <= force.sigma(0, 20));
        check("itself", force.error_index(force), 0, 1e-9);
        check("spectrum", force.spectrum(2).density.len() > 100);
        check("result", b.result().std_n, 1, 60);
        let p = plot("force", "Place (m)", "Force (N)");
        p.line_along("force", force);
        p.level(0, "loss of contact");
        p.save("force");
        check("one recording", b.recordings().len() == 1);
    "#;
    let output = place.run(source, &[]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}\n{}",
        stderr(&output),
        stdout(&output)
    );
    let found = json(&output);
    let recording = found["runs"][0]["recordings"][0].as_str().unwrap();
    let inside = Path::new(recording).canonicalize().unwrap();
    assert!(inside.starts_with(Path::new(&place.out).canonicalize().unwrap()));
    let info = stdout(&pantobench(&["session", "info", recording]));
    assert!(
        info.contains("the ramp is over") && info.contains("late shift"),
        "{info}"
    );
    // What the script changed is in the recording: it is computed again without the script.
    let replay = json(&pantobench(&["session", "replay", recording, "--json"]));
    assert_eq!(replay["identical"], true, "{replay}");
    let svg = std::fs::read_to_string(Path::new(&place.out).join("force.svg")).unwrap();
    assert!(svg.contains("loss of contact"));
}

#[test]
fn evidence_needs_a_recorded_run_and_a_report_says_what_it_holds() {
    let place = Place::new("evidence");
    let start = "let b = load(\"profile-sine.ron\", #{ seconds: 3 });\n";
    for (call, words) in [
        ("b.iterate();", "iterate() needs a recording"),
        ("b.report(\"x.html\");", "report() needs a recording"),
        ("b.record(); b.arm(); b.run_to_end(); b.iterate();", "line"),
        (
            "b.record(); b.arm(); b.run_to_end(); b.iterate(#{ maximum: 3 });",
            "max or tolerance_pct",
        ),
        (
            "b.record(); b.arm(); b.run_to_end(); b.report(\"../x.html\");",
            "leads upwards",
        ),
        (
            "b.record(); b.arm(); b.run_to_end(); b.report(\"x.doc\");",
            ".html",
        ),
    ] {
        let output = place.run(&format!("{start}{call}"), &[]);
        assert_eq!(output.status.code(), Some(2), "{call}");
        assert!(
            stderr(&output).contains(words),
            "{call}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("test.rhai:2:"),
            "{}",
            stderr(&output)
        );
    }
    let output = place.run(
        &format!("{start}b.record(); b.arm(); b.run_to_end(); b.report(\"x.html\");"),
        &[],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(Path::new(&place.out).join("x.html")).unwrap();
    assert!(text.contains("Sine 1 Hz, 10 mm"), "the session is named");
}

#[test]
fn the_daily_check_sees_a_drift() {
    let scratch = Scratch::new("script-daily");
    let out = scratch.path("out");
    let run = || {
        let more = ["-D", "quick=true", "-D", "least_days=3"];
        let own = [
            "script",
            "sessions/daily-check.rhai",
            "--fast",
            "--json",
            "--out",
            &out,
        ];
        pantobench(&[&own[..], &more].concat())
    };
    let checks = |output: &Output| json(output)["checks"].as_array().unwrap().len();
    for day in 1..=3 {
        let output = run();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(checks(&output), 2, "no trend on day {day}");
    }
    let output = run();
    assert_eq!(
        (checks(&output), output.status.code()),
        (6, Some(0)),
        "{}",
        stderr(&output)
    );
    // The days before had 3 N less: today is not as they were.
    let history = Path::new(&out).join("daily-check.csv");
    let text = std::fs::read_to_string(&history).unwrap();
    assert_eq!(text.lines().count(), 5);
    let moved: Vec<String> = text
        .lines()
        .map(|line| {
            let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            if let Ok(mean) = cells[1].parse::<f64>() {
                cells[1] = (mean - 3.0).to_string();
            }
            cells.join(",")
        })
        .collect();
    std::fs::write(&history, moved.join("\n")).unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(1));
    let tables = json(&output)["tables"].to_string();
    assert!(
        stderr(&output).contains("mean N against 4 days before"),
        "{}",
        stderr(&output)
    );
    assert_eq!(tables.matches("DRIFTS").count(), 1, "{tables}");
    // A damaged history is named, not overwritten.
    std::fs::write(&history, "date,other\n1,2\n").unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("Move it away"),
        "{}",
        stderr(&output)
    );
}

/// In real time: Ctrl-C brings the bench to rest, with its recording whole.
#[test]
fn ctrl_c_ends_a_script_in_real_time_with_the_bench_at_rest() {
    let place = Place::new("stop");
    let source = "let b = load(\"profile-sine.ron\");\nb.record();\nb.arm();\nb.run_for(0.2);\nprint(\"it runs\");\n\
                  try {\n  b.run_for(1000);\n} catch { }\nprint(\"it went on\");";
    let script = place.scratch.file("test.rhai", source);
    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args(["script", &script, "--json", "--out", &place.out])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("it runs") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended too early");
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let found = json(&output);
    assert_eq!(
        (&found["error"]["kind"], &found["error"]["line"]),
        (&"stopped".into(), &7.into())
    );
    let run = &found["runs"][0];
    assert_eq!(
        (&run["state"], &run["clock"]),
        (&"Idle".into(), &"real".into())
    );
    let recording = run["recordings"][0].as_str().unwrap();
    let info = json(&pantobench(&["session", "check", recording, "--json"]));
    assert_eq!(info["ok"], true, "{info}");
}

#[test]
fn check_says_where_a_script_is_wrong_and_runs_nothing() {
    let place = Place::new("check");
    let good = place
        .scratch
        .file("good.rhai", "let b = load(\"x.ron\");\nb.arm();");
    let output = pantobench(&["script", "--check", &good]);
    assert!(
        stdout(&output).contains("well-formed"),
        "{}",
        stdout(&output)
    );
    let bad = place.scratch.file("bad.rhai", "let a = 1;\nif a > ) {\n}");
    let output = pantobench(&["script", "--check", &bad, "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let error = &json(&output)["error"];
    assert_eq!(
        (&error["line"], &error["kind"]),
        (&2.into(), &"input".into())
    );
    assert!(error["column"].as_u64().is_some_and(|c| c > 1));
}
