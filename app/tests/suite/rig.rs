//! `pantobench rig` and arming as a person meets them: answers, refusals, exit codes, and recordings that prove themselves.

use crate::common::{Scratch, json, pantobench, root, stderr};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn asset(file: &str) -> String {
    root().join("assets/rigs").join(file).display().to_string()
}

/// The rig with everything that protects people, in a copy that says what may be done unattended.
fn unattended(scratch: &Scratch, what: &str) -> String {
    let assets = root().join("assets").canonicalize().unwrap();
    let text = std::fs::read_to_string(asset("simulated-interlocks.ron")).unwrap();
    let text = text
        .replace("safety: (", &format!("safety: (unattended: {what},"))
        .replace("\"../", &format!("\"{}/", assets.display()));
    scratch.file("guarded.ron", &text)
}

/// A session on a rig.
fn session_on(rig: &str, scratch: &Scratch, name: &str, inject: &str) -> String {
    let text = format!(
        r#"Session(title: "guarded", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "{rig}", seconds: 3.0, inject: [{inject}])"#
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

    let scratch = Scratch::new("rig-home");
    let rig = unattended(&scratch, r#"["home"]"#);
    let home = pantobench(&["rig", "home", &rig, "--json"]);
    assert_eq!(json(&home)["was_needed"], true, "{}", stderr(&home));
    let missing = pantobench(&["rig", "scan", "no-such-rig.ron"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_guarded_rig_is_moved_by_nobody_but_a_person_whatever_is_piped_in() {
    let scratch = Scratch::new("rig-guarded");
    let rig = asset("simulated-interlocks.ron");
    let session = session_on(&rig, &scratch, "plain.ron", "");
    for arguments in [
        &["run", &session][..],
        &["run", &session, "--fast", "--confirm", "--home"],
        &["run", &session, "--confirm", "--home", "--dead-man", "keys"],
        &[
            "run",
            &session,
            "--confirm",
            "--home",
            "--dead-man",
            "program",
        ],
        &["rig", "home", &rig],
        &["rig", "check", &rig, "--confirm", "--home"],
        &["rig", "jog", &rig, "--by", "-0.002", "--confirm", "--home"],
        &["rig", "identify", &rig, "--confirm", "--home"],
    ] {
        let refused = piped(arguments, b"a\nc\n \ny\n");
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        let text = stderr(&refused);
        assert!(text.contains("safety.unattended"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_script_moves_a_guarded_rig_only_where_its_file_allows_scripts() {
    let scratch = Scratch::new("rig-script");
    for (allowed, ends) in [(r#"["run"]"#, Some(3)), (r#"["script"]"#, Some(0))] {
        let text = std::fs::read_to_string(unattended(&scratch, allowed)).unwrap();
        let (known, _) = text.split_once("    homing:").unwrap();
        let rig = scratch.file("known.ron", &format!("{known})"));
        session_on(&rig, &scratch, "plain.ron", "");
        let script = scratch.file(
            "moves.rhai",
            r#"let bench = load("plain.ron"); bench.arm(); bench.run_for(1.0); bench.stop();"#,
        );
        let out = scratch.path("out");
        let done = pantobench(&["script", &script, "--fast", "--out", &out]);
        let text = stderr(&done);
        assert_eq!(done.status.code(), ends, "{allowed}: {text}");
        let refused = text.contains(r#"safety.unattended: ["script"]"#);
        assert_eq!(refused, ends == Some(3), "{text}");
    }
}

/// Runs with a pipe that types for as long as anyone reads, as `yes` does.
fn piped(arguments: &[&str], typed: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let typed = typed.to_vec();
    let typing = std::thread::spawn(move || {
        while pipe.write_all(&typed).is_ok() {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    });
    let output = child.wait_with_output().unwrap();
    typing.join().unwrap();
    output
}

#[test]
fn what_the_file_allows_unattended_is_done_and_recorded_and_no_door_or_error_starts_it() {
    let scratch = Scratch::new("rig-unattended");
    let rig = unattended(&scratch, r#"["run"]"#);
    let session = session_on(&rig, &scratch, "plain.ron", "");
    let lost = pantobench(&["run", &session, "--fast"]);
    assert_eq!(lost.status.code(), Some(3), "not homed");
    assert!(stderr(&lost).contains("home"), "{}", stderr(&lost));
    let done = pantobench(&["run", &session, "--fast", "--home", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stderr(&done).contains("unattended"), "{}", stderr(&done));
    let door = "(fault: OpenInterlock(number: 2), in_state: Idle, after_s: 0.0, lasting_s: 3.5)";
    let session = session_on(&rig, &scratch, "door.ron", door);
    for pace in [&["--fast"][..], &[]] {
        let arguments = [&["run", &session, "--home"][..], pace].concat();
        let open = pantobench(&arguments);
        assert_eq!(open.status.code(), Some(3), "{}", stderr(&open));
        let text = stderr(&open);
        assert!(
            text.contains("Door of the test cell is open") && text.contains("start it again"),
            "{text}"
        );
        assert!(!text.contains("find its home position"), "{text}");
    }
    let refused = pantobench(&["rig", "jog", &rig, "--by", "-0.002"]);
    assert_eq!(refused.status.code(), Some(2), "run is allowed, jog is not");
}

/// A terminal with someone at its keys.
struct Person {
    keys: std::fs::File,
    child: Child,
    said: std::sync::mpsc::Receiver<String>,
    heard: String,
}

impl Person {
    fn start(arguments: &[&str]) -> Self {
        let (keys, terminal) = pseudo_terminal();
        let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
            .args(arguments)
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        Self {
            keys,
            child,
            said,
            heard: String::new(),
        }
    }

    fn hear(&mut self, words: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            let Ok(line) = self.said.recv_timeout(Duration::from_secs(60)) else {
                break;
            };
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.contains(words) {
                return;
            }
        }
        panic!("not heard: {words}\n{}", self.heard);
    }

    fn press(&mut self, key: u8) {
        self.keys.write_all(&[key]).unwrap();
    }

    /// A key that is held repeats after a while.
    fn hold(&mut self, key: u8, seconds: f64) {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        while Instant::now() < until && self.child.try_wait().unwrap().is_none() {
            self.press(key);
            std::thread::park_timeout(Duration::from_millis(33));
        }
    }

    fn pause(&self) {
        std::thread::park_timeout(Duration::from_millis(400));
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        while let Ok(line) = self.said.recv() {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        (code, self.heard)
    }
}

/// Both ends of a pseudo-terminal.
fn pseudo_terminal() -> (std::fs::File, std::fs::File) {
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: two valid places; name, settings and size are left to the system.
    let done = unsafe {
        libc::openpty(
            &mut master,
            &mut slave,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: two new descriptors that nobody else owns. The program gets the other end only.
    unsafe {
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
        (
            std::fs::File::from_raw_fd(master),
            std::fs::File::from_raw_fd(slave),
        )
    }
}

#[test]
fn a_person_at_the_terminal_homes_and_runs_with_two_keys_and_the_space_bar() {
    let scratch = Scratch::new("rig-person");
    let rig = asset("simulated-interlocks.ron");
    let session = session_on(&rig, &scratch, "plain.ron", "");
    let mut person = Person::start(&["run", &session, "--home"]);
    person.hear("to find its home position: to let it, press A");
    // One key held does not do both steps, however long.
    person.hold(b'a', 1.5);
    person.press(b'c');
    person.pause();
    person.hold(b' ', 4.0);
    person.hear("The drive is switched on");
    person.press(b'a');
    person.pause();
    person.press(b'c');
    person.hold(b' ', 12.0);
    let (code, heard) = person.end();
    assert_eq!(code, Some(0), "{heard}");
    assert!(heard.contains("Armed → Running"), "{heard}");
}

#[test]
fn a_person_who_lets_go_stops_what_moves() {
    let rig = asset("simulated-interlocks.ron");
    let mut person = Person::start(&["rig", "home", &rig]);
    person.hear("to let it, press A");
    person.press(b'a');
    person.pause();
    person.press(b'c');
    person.hold(b' ', 0.6);
    let (code, heard) = person.end();
    assert_eq!(code, Some(1), "{heard}");
    assert!(heard.contains("let go"), "{heard}");
}

/// Runs that end by a safety circuit, computed again to the last bit.
#[test]
fn what_the_guard_did_is_reproduced_from_the_recording() {
    let scratch = Scratch::new("rig-replay");
    let rig = unattended(&scratch, r#"["run"]"#);
    let opened = "(fault: OpenInterlock(number: 2), after_s: 1.0)";
    for (name, inject, ends) in [("whole", "", Some(0)), ("door", opened, Some(1))] {
        let session = session_on(&rig, &scratch, &format!("{name}.ron"), inject);
        let directory = scratch.path(name);
        let arguments = [
            "run", &session, "--fast", "--home", "--json", "--record", &directory,
        ];
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
        "Stopping from 2 m/s",
        "MISSING",
        "overload_of_specimen",
        "+ limit of the force",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
