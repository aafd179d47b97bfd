//! Reports as a user meets them: written by the command, read by eye, by browser and by PDF reader.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use rt_core::record::header::{SessionEnd, SessionHeader};
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::writer::SessionWriter;
use serde_json::Value;
use std::path::Path;

/// What a person may write without harm.
const EVIL: &str = "<script>alert('x')</script> & \"σ\"";

/// A recorded run of the sine, with more arguments.
fn sine(scratch: &Scratch, change: &str, more: &[&str]) -> String {
    let session = scratch.session("seconds: 3.0,", change);
    let directory = scratch.path("recordings");
    let mut arguments = vec!["run", &session, "--fast", "--json", "--record", &directory];
    arguments.extend(more);
    let run = pantobench(&arguments);
    json(&run)["recording"].as_str().unwrap().to_owned()
}

fn html(recordings: &[&str], scratch: &Scratch, more: &[&str]) -> (String, Value) {
    let out = scratch.path("report.html");
    let mut arguments = vec!["report"];
    arguments.extend(recordings);
    arguments.extend(["--out", &out, "--json"]);
    arguments.extend(more);
    let output = pantobench(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    (std::fs::read_to_string(&out).unwrap(), json(&output))
}

/// The text of a page without its tags.
fn words(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let mut text = String::new();
    let mut is_tag = false;
    for c in body.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => text.push(c),
            _ => {}
        }
    }
    text
}

/// Every tag is closed in its order, every attribute quoted, every ampersand the begin of a reference.
fn assert_well_formed(page: &str) {
    let rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    let (before, after) = rest.split_once("<style>").unwrap();
    let (_, after) = after.split_once("</style>").unwrap();
    for part in [before, after]
        .iter()
        .flat_map(|half| half.split('<').skip(1))
    {
        let (tag, text) = part
            .split_once('>')
            .unwrap_or_else(|| panic!("no end: {part}"));
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "in front of {text:.60}");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for reference in text.split('&').skip(1) {
            let name = reference.split(';').next().unwrap();
            assert!(
                ["lt", "gt", "amp", "quot", "#39"].contains(&name),
                "{reference:.40}"
            );
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Nothing is fetched from anywhere.
fn assert_self_contained(page: &str) {
    let names = page.replace("http://www.w3.org/2000/svg", "");
    for outside in [
        "http:",
        "https:",
        "//",
        "<script",
        "<link",
        "<iframe",
        "@import",
        " src=",
        "@font-face",
    ] {
        assert!(!names.contains(outside), "{outside}");
    }
    for target in names.split("url(").skip(1) {
        assert!(target.starts_with('#'), "{target:.40}");
    }
    for target in names.split("href=\"").skip(1) {
        assert!(target.starts_with("data:"), "{target:.40}");
    }
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .map(|i| i.split('"').next().unwrap())
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands twice");
}

#[test]
fn a_report_says_what_was_stated_what_is_missing_and_nothing_else() {
    let scratch = Scratch::new("report-sine");
    let stated = [
        "--operator",
        EVIL,
        "--notes",
        "two\nlines",
        "--temperature",
        "-21.5",
        "--wind",
        "3",
        "--rain",
        "none",
    ];
    let recording = sine(&scratch, "seconds: 6.0,", &stated);
    let (page, said) = html(&[&recording], &scratch, &[]);
    assert_well_formed(&page);
    assert_self_contained(&page);
    let text = words(&page);
    assert!(text.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;σ&quot;"));
    for (name, value) in [
        ("Temperature, °C", "-21.5"),
        ("Wind, m/s", "3"),
        ("Rain", "none"),
        ("Ice", "not stated"),
        ("Tunnel", "not stated"),
        ("Speed", "not stated"),
    ] {
        let row = format!(
            "<th scope=\"row\">{name}</th><td class=\"{}\">{value}</td>",
            if value == "not stated" {
                "missing"
            } else {
                "plain"
            }
        );
        assert!(page.contains(&row), "{row}");
    }
    for expected in [
        "dsa-380",
        "Simulated DSA-380",
        "exact clock",
        "session replay",
        "pantobench report",
        "No margins",
    ] {
        assert!(text.contains(expected), "{expected}");
    }
    // Without a speed nothing is judged by a standard.
    assert!(!text.contains("Limits of"));
    assert_eq!(said["recordings"][0]["force"]["held"], Value::Null);
    let info = json(&pantobench(&["session", "info", &recording, "--json"]));
    assert_eq!(info["environment"]["temperature_c"], "-21.5");
    // Its identity is in its text.
    for identity in [
        &said["recordings"][0]["id"],
        &said["recordings"][0]["name"],
        &info["hashes"]["rig.ron"],
    ] {
        assert!(text.contains(identity.as_str().unwrap()), "{identity}");
    }
    let conditions = pantobench(&["session", "info", &recording]);
    assert!(stdout(&conditions).contains("wind_m_per_s"));
    let refused = pantobench(&["run", "x.ron", "--record", "y", "--temperature", "900"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("-90 to 90 °C"),
        "{}",
        stderr(&refused)
    );
}

/// What a run as fast as possible prints, recorded beside the test's other files.
fn recorded_run(scratch: &Scratch, session: &str) -> Value {
    let directory = scratch.path("recordings");
    json(&pantobench(&[
        "run", session, "--fast", "--json", "--record", &directory,
    ]))
}

#[test]
fn figures_are_those_of_the_run_in_html_and_pdf() {
    let scratch = Scratch::new("report-run");
    let run = recorded_run(&scratch, "sessions/dsa380-300-predictive.ron");
    let recording = run["recording"].as_str().unwrap();
    let (page, said) = html(&[recording], &scratch, &[]);
    assert_well_formed(&page);
    assert_self_contained(&page);
    let found = &said["recordings"][0]["force"];
    let number = |v: &Value| v.as_f64().unwrap();
    for key in [
        "mean_n",
        "std_n",
        "max_n",
        "min_n",
        "stat_max_n",
        "stat_min_n",
    ] {
        // Places are recorded as floats: one of 3900 samples at a border may count or not, which is 0.02 N of 70 N.
        let apart = (number(&found[key]) - number(&run["result"][key])).abs();
        assert!(apart < 0.05, "{key}: {apart}");
    }
    let info = json(&pantobench(&["session", "info", recording, "--json"]));
    let stated: f64 = info["result"]["mean_n"].as_str().unwrap().parse().unwrap();
    assert!((stated - number(&found["mean_n"])).abs() < 0.05);
    let text = words(&page);
    assert!(text.contains("computed again from the frames they agree"));
    for figure in ["mean_n", "std_n", "stat_max_n", "stat_min_n"] {
        let shown = format!("{:.2}", number(&found[figure]));
        assert!(text.contains(&shown), "{figure} {shown}");
    }
    // By hand: 0.00097 · 300² + 70.
    assert!(text.contains("157.3 N"));
    assert_eq!(found["held"], true);
    assert_eq!(
        text.matches("held").count() - text.matches("NOT held").count(),
        text.matches("held").count()
    );
    // Ten spans, numbered as the line's.
    assert!(page.contains(">6</td>") && page.contains(">15</td>"));
    let budget = &found["uncertainty"];
    let squares: f64 = budget["shares"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|s| s["mean_n"].as_f64())
        .map(|u| u * u)
        .sum();
    assert!((squares.sqrt() - number(&budget["mean"]["standard_n"])).abs() < 1e-12);
    assert_eq!(
        budget["unknown"],
        serde_json::json!(["sensor: calibration", "repeatability"])
    );
    let rho = number(&said["recordings"][0]["rho"]);
    assert!(rho > 0.9 && rho < 1.0, "{rho}");
    assert!(text.contains(&format!("{rho:.6}")));

    let out = scratch.path("report.pdf");
    let written = json(&pantobench(&["report", recording, "--out", &out, "--json"]));
    assert_eq!(written["recordings"], said["recordings"]);
    assert_pdf(
        &std::fs::read(&out).unwrap(),
        number(&written["pages"]) as usize,
    );
}

/// The table of objects leads to every object, the trailer to the root, every page is there, fonts are inside.
fn assert_pdf(bytes: &[u8], pages: usize) {
    assert!(bytes.starts_with(b"%PDF-1.7"));
    // Latin 1 keeps the places of bytes.
    let text: String = bytes.iter().map(|b| char::from(*b)).collect();
    let at = |text: &str| -> Vec<usize> { text.char_indices().map(|(i, _)| i).collect() };
    let places = at(&text);
    let from = |offset: usize| &text[places[offset]..];
    let (before, end) = text.rsplit_once("startxref").unwrap();
    let start: usize = end.split_whitespace().next().unwrap().parse().unwrap();
    assert!(end.trim_end().ends_with("%%EOF"));
    let table = from(start).strip_prefix("xref\n").unwrap();
    let (head, rows) = table.split_once('\n').unwrap();
    let count: usize = head.split(' ').nth(1).unwrap().parse().unwrap();
    for (number, row) in rows.lines().take(count).enumerate().skip(1) {
        let mut fields = row.split_whitespace();
        let offset: usize = fields.next().unwrap().parse().unwrap();
        if fields.nth(1) == Some("n") {
            assert!(
                from(offset).starts_with(&format!("{number} 0 obj")),
                "{number}"
            );
        }
    }
    let trailer = before.rsplit_once("trailer").unwrap().1;
    assert!(trailer.contains("/Root") && trailer.contains("/Info") && trailer.contains("/Size"));
    assert_eq!(text.matches("/Type /Page\n").count(), pages);
    assert!(pages >= 5, "{pages}");
    assert!(text.contains(&format!("/Count {pages}")));
    for font in ["+Ubuntu-Light", "+Hack-Regular"] {
        assert!(text.contains(font), "{font}");
    }
    assert_eq!(text.matches("/FontFile2").count(), 2);
    assert_eq!(text.matches("/ToUnicode").count(), 2);
    // Two fonts of 670 kB are cut down to what is used.
    assert!(bytes.len() < 300_000, "{}", bytes.len());
}

#[test]
fn a_trip_and_a_cut_are_said_at_the_top() {
    let scratch = Scratch::new("report-trip");
    let inject =
        "seconds: 6.0, inject: [(fault: Offset(signal: Force, size: 700.0), after_s: 2.0)],";
    let recording = sine(&scratch, inject, &[]);
    let (page, said) = html(&[&recording], &scratch, &[]);
    let text = words(&page);
    let identity = text.find("Identity").unwrap();
    assert!(text.find("THE RUN TRIPPED").unwrap() < identity);
    assert!(
        said["recordings"][0]["trip"]
            .as_str()
            .unwrap()
            .contains("Contact force")
    );

    // As a power cut leaves it: up to what was last brought to the disk.
    let whole = sine(&scratch, "seconds: 6.0,", &[]);
    let cut = scratch.path("cut.mcap.part");
    let session = Session::open(Path::new(&whole)).unwrap();
    let file = std::fs::File::create(&cut).unwrap();
    let mut writer = SessionWriter::create(file, Path::new(&cut), session.header()).unwrap();
    for frame in session.frames(TimeRange::ALL).take(2500) {
        writer.frame(&frame.unwrap()).unwrap();
    }
    writer.flush().unwrap();
    let kept = std::fs::read(&cut).unwrap();
    writer.finish(session.end().unwrap()).unwrap();
    std::fs::write(&cut, kept).unwrap();
    let (page, said) = html(&[&cut], &scratch, &[]);
    let text = words(&page);
    assert!(text.find("THE RECORDING WAS CUT OFF").unwrap() < text.find("Identity").unwrap());
    assert_eq!(said["recordings"][0]["finished"], false);
    assert!(said["recordings"][0]["force"]["mean_n"].is_number());
}

/// A recording with another header and end.
fn rewritten(path: &str, to: &str, change: impl FnOnce(&mut SessionHeader, &mut SessionEnd)) {
    let session = Session::open(Path::new(path)).unwrap();
    let (mut header, mut end) = (session.header().clone(), session.end().unwrap().clone());
    change(&mut header, &mut end);
    let to = Path::new(to);
    let mut writer =
        SessionWriter::create(std::fs::File::create(to).unwrap(), to, &header).unwrap();
    for frame in session.frames(TimeRange::ALL) {
        writer.frame(&frame.unwrap()).unwrap();
    }
    writer.finish(&end).unwrap();
}

#[test]
fn several_recordings_are_summed_up_and_rounds_shown_to_converge() {
    let scratch = Scratch::new("report-several");
    let first = sine(&scratch, "seconds: 6.0,", &[]);
    let (page, said) = html(&[&first, &first], &scratch, &[]);
    let text = words(&page);
    assert!(text.find("Summary").unwrap() < text.find("Recording 1:").unwrap());
    assert!(text.contains("Recording 2:"));
    let shares = said["recordings"][0]["force"]["uncertainty"]["shares"]
        .as_array()
        .unwrap();
    let repeated = shares
        .iter()
        .find(|s| s["source"] == "repeatability")
        .unwrap();
    // The same run twice is no repetition.
    assert_eq!(repeated["mean_n"], Value::Null);
    assert!(repeated["how"].as_str().unwrap().contains("the same run"));

    // In real time the same set-up would be a repetition: its spread is that of the runs.
    let real = scratch.path("real.mcap");
    rewritten(&first, &real, |header, _| {
        header.real_time.insert("clock".into(), "real".into());
    });
    let (_, said) = html(&[&real, &real], &scratch, &[]);
    let shares = said["recordings"][0]["force"]["uncertainty"]["shares"]
        .as_array()
        .unwrap();
    let repeated = shares
        .iter()
        .find(|s| s["source"] == "repeatability")
        .unwrap();
    assert_eq!(
        (&repeated["mean_n"], &repeated["freedom"]),
        (&serde_json::json!(0.0), &serde_json::json!(1.0))
    );

    // Rounds name the recording before by its hash.
    let id = |path: &str| {
        html(&[path], &scratch, &[]).1["recordings"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (mut parent, mut paths) = (id(&first), vec![first.clone()]);
    for (round, change) in [(1, "4.03"), (2, "0.12")] {
        let path = scratch.path(&format!("round-{round}.mcap"));
        rewritten(&first, &path, |header, end| {
            let further = [
                ("iteration", round.to_string()),
                ("parent_hash", parent.clone()),
                ("tolerance_pct", "0.5".into()),
                ("relaxation", "1".into()),
            ];
            header
                .further
                .extend(further.map(|(k, v)| (k.to_owned(), v)));
            end.result.insert("change_pct".into(), change.into());
            end.result
                .insert("converged".into(), (round == 2).to_string());
        });
        parent = id(&path);
        paths.push(path);
    }
    let given = scratch.file(
        "iterate.json",
        r#"{"converged": true, "verdict": "converged", "title": "sine <b>", "iterations": [], "error_hil_pct": 4.02,
            "error_vs_implicit_pct": 0.11, "error_hil_vs_implicit_pct": null}"#,
    );
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let (page, _) = html(&paths, &scratch, &["--validation", &given]);
    assert_well_formed(&page);
    let text = words(&page);
    for expected in [
        "Iterative validation",
        "4.030",
        "0.120",
        ": converged: the force no longer changes",
        "4.02",
        "0.11",
        "sine &lt;b&gt;",
    ] {
        assert!(text.contains(expected), "{expected}");
    }
    // Without the last round nothing shows that it converged.
    let (page, _) = html(&paths[..2], &scratch, &[]);
    assert!(words(&page).contains("NOT shown to have converged"));
}

#[test]
fn the_steady_bench_reports_its_steady_state() {
    let scratch = Scratch::new("report-steady");
    let run = recorded_run(&scratch, "sessions/steady-300.ron");
    let recording = run["recording"].as_str().unwrap();
    let (page, said) = html(&[recording], &scratch, &[]);
    let text = words(&page);
    assert!(text.contains("two spans agree") && text.contains("Distance to the direct solution"));
    let mean = said["recordings"][0]["force"]["mean_n"].as_f64().unwrap();
    // The last whole span, unfiltered there and filtered here.
    assert!(
        (mean - run["result"]["mean_n"].as_f64().unwrap()).abs() < 0.2,
        "{mean}"
    );
}

#[test]
fn calibrations_go_into_the_budget() {
    let scratch = Scratch::new("report-cells");
    let directory = scratch.path("recordings");
    let run = [
        "run",
        "sessions/load-cells.ron",
        "--seconds",
        "6",
        "--fast",
        "--json",
        "--record",
        &directory,
    ];
    let run = json(&pantobench(&run));
    let (page, said) = html(&[run["recording"].as_str().unwrap()], &scratch, &[]);
    let text = words(&page);
    assert!(text.contains("SIM-A-example") && text.contains("SIM-B-example"));
    let shares = &said["recordings"][0]["force"]["uncertainty"]["shares"];
    assert_eq!(shares[0]["source"], "sensor: calibration");
    assert!(shares[0]["mean_n"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new("report-bad");
    let recording = sine(&scratch, "seconds: 6.0,", &[]);
    let text = scratch.file("notes.mcap", "not a recording");
    let out = scratch.path("r.html");
    let (docx, nowhere) = (scratch.path("r.docx"), scratch.path("no/such/r.pdf"));
    let broken = scratch.file("broken.json", "{");
    let other = scratch.file("other.json", "{}");
    let missing = scratch.path("none.mcap");
    for (arguments, code, said) in [
        (
            vec![recording.as_str(), "--out", &docx],
            2,
            "neither in .html nor in .pdf",
        ),
        (vec![&missing, "--out", &out], 2, "none.mcap"),
        (vec![&text, "--out", &out], 2, "notes.mcap"),
        (vec![&recording, "--out", &nowhere], 3, "cannot be written"),
        (vec!["--out", &out], 2, "SESSION.mcap"),
        (
            vec![&recording, "--out", &out, "--validation", &broken],
            2,
            "is not JSON",
        ),
        (
            vec![&recording, "--out", &out, "--validation", &other],
            2,
            "no 'iterations'",
        ),
    ] {
        let mut all = vec!["report"];
        all.extend(arguments);
        let output = pantobench(&all);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{all:?}: {}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert!(!Path::new(&out).exists() && !Path::new(&nowhere).exists());
    assert!(root().join("assets/standards/en50367-ac-25kv.ron").exists());
}

const WIDENED: &str = r#"Session(title: "Widened", bench: PantographLqg(wire: String(), speed_kmh: 250.0,
    specimen: "ROOT/assets/pantographs/dsa-380.ron"), rig: "ROOT/assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625,
    seconds: 1.0, limits: [(channel: "tracking_error", low: -0.019, high: 0.019, for_cycles: 5, action: Retreat)])"#;

/// What a session allows beyond its bench stands beside the verdict, with both values.
#[test]
fn a_run_with_widened_limits_says_so_in_info_and_report() {
    let scratch = Scratch::new("widened");
    let session = scratch.path("widened.ron");
    std::fs::write(
        &session,
        WIDENED.replace("ROOT", &root().display().to_string()),
    )
    .unwrap();
    let directory = scratch.path("recordings");
    let run = pantobench(&["run", &session, "--fast", "--json", "--record", &directory]);
    let recording = json(&run)["recording"].as_str().unwrap().to_owned();
    let both = "-0.019 to 0.019 m in place of -0.005 to 0.005 m";
    let info = stdout(&pantobench(&["session", "info", &recording]));
    let line = info.lines().find(|l| l.starts_with("with widened limits:"));
    assert!(line.is_some_and(|l| l.contains(both)), "{info}");
    let (page, _) = html(&[&recording], &scratch, &[]);
    let text = words(&page);
    assert!(
        text.contains("WITH WIDENED LIMITS:") && text.contains(both),
        "{text}"
    );
    assert!(
        text.contains("with a widened limit of the bench, see above"),
        "{text}"
    );
}
