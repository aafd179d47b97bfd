//! What the system can do to a running program: signals, a held process, a killed one. The program is a process of its own,
//! the rig an emulated LinMot drive with an amplifier on a serial line in this one, which sees what the motor really does.

use crate::common::{Scratch, root};
use drivers::emulate::Emulator;
use drivers::rig_file::{RigFile, rig_pantograph};
use rt_core::file;
use rt_core::pacing::{Clock, RealClock};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What is done to the program.
struct Case {
    what: &'static str,
    /// Signals, with 20 ms between them.
    signals: &'static [&'static str],
    /// Within so many seconds the motor has no power any more. What a drive does by itself takes its time-out.
    off_within_s: f64,
    /// How the program ends: whether it says that it was stopped.
    ends_by_itself: bool,
}

/// The emulated drive switches itself off when it has heard nothing for so long.
const DRIVE_TIMEOUT_S: f64 = 0.5;

const CASES: [Case; 7] = [
    Case {
        what: "INT",
        signals: &["INT"],
        off_within_s: 0.5,
        ends_by_itself: true,
    },
    Case {
        what: "TERM",
        signals: &["TERM"],
        off_within_s: 0.5,
        ends_by_itself: true,
    },
    Case {
        what: "HUP",
        signals: &["HUP"],
        off_within_s: 0.5,
        ends_by_itself: true,
    },
    Case {
        what: "QUIT",
        signals: &["QUIT"],
        off_within_s: 0.5,
        ends_by_itself: true,
    },
    Case {
        what: "TERM twice",
        signals: &["TERM", "TERM"],
        off_within_s: 0.3,
        ends_by_itself: true,
    },
    Case {
        what: "KILL",
        signals: &["KILL"],
        off_within_s: DRIVE_TIMEOUT_S + 0.5,
        ends_by_itself: false,
    },
    Case {
        what: "STOP, CONT",
        signals: &["STOP"],
        off_within_s: DRIVE_TIMEOUT_S + 0.5,
        ends_by_itself: true,
    },
];

/// Farther than this no stop goes: 63 mm/s, braked or cut, and 0.5 s on the last reference of a drive that hears nothing.
const MOST_WAY_M: f64 = 5e-3;

fn free_port() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// The shipped rig with addresses of its own, allowed to run with nobody beside it.
fn own_rig(scratch: &Scratch) -> String {
    let assets = root().join("assets").canonicalize().unwrap();
    let text = std::fs::read_to_string(assets.join("rigs/linmot-udp-serial.ron")).unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("/tmp/pantobench-amplifier", &scratch.path("amplifier"))
        .replace(
            "local_address: \"127.0.0.1\",",
            &format!(
                "local_address: \"127.0.0.1\", local_port: 0, drive_port: {},",
                free_port()
            ),
        )
        .replace("max_age_s: 0.01", "max_age_s: 0.05")
        .replace(" timeout_s: 0.02", " timeout_s: 0.5")
        .replace(
            "drive_timeout_s: 0.1",
            &format!("drive_timeout_s: {DRIVE_TIMEOUT_S}"),
        )
        .replace(
            "    buses: [",
            "    safety: (unattended: [\"run\"]),\n    buses: [",
        );
    scratch.file("rig.ron", &text)
}

fn kill(signal: &str, child: &Child) {
    let done = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(done.unwrap().success());
}

/// What was seen of one try; `None` if the machine was too busy for the run to get that far.
fn try_case(case: &Case) -> Option<(f64, f64, f64)> {
    let scratch = Scratch::new("signal");
    let path = own_rig(&scratch);
    let RigFile::Hardware(config) = file::load(Path::new(&path)).unwrap() else {
        panic!("not a hardware rig")
    };
    let pantograph = rig_pantograph(Path::new(&path)).unwrap();
    let emulator = Emulator::start(&config, &pantograph, &[]).unwrap();
    let session = scratch.file(
        "session.ron",
        &format!(
            "Session(title: \"signal\", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)), rig: {path:?}, \
             seconds: 60.0)"
        ),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args([
            "run",
            &session,
            "--insist=real-time",
            "--insist=calibration",
        ])
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (tell, told) = mpsc::channel();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut all = String::new();
        for line in lines.lines().map_while(Result::ok) {
            if line.contains("→ Running") {
                let _ = tell.send(());
            }
            all.push_str(&line);
            all.push('\n');
        }
        all
    });
    let runs = told.recv_timeout(Duration::from_secs(20)).is_ok();
    std::thread::park_timeout(Duration::from_millis(700));
    let clock = RealClock;
    let is_tested = runs && emulator.plant.is_powered(clock.now());
    let from_m = emulator.plant.position(clock.now());
    for (i, signal) in case.signals.iter().enumerate() {
        if i > 0 {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        kill(signal, &child);
    }
    let begin = Instant::now();
    let (mut off_s, mut way_m, mut peak_n) = (None, 0.0_f64, 0.0_f64);
    while begin.elapsed() < Duration::from_secs_f64(case.off_within_s + 1.5) {
        let now = clock.now();
        if off_s.is_none() && !emulator.plant.is_powered(now) {
            off_s = Some(begin.elapsed().as_secs_f64());
        }
        way_m = way_m.max((emulator.plant.position(now) - from_m).abs());
        peak_n = peak_n.max(emulator.plant.true_force(now));
        std::thread::park_timeout(Duration::from_millis(1));
    }
    if case.signals == ["STOP"] {
        kill("CONT", &child);
        // It finds that it slept, says so, and never powers the drive again.
        for _ in 0..300 {
            std::thread::park_timeout(Duration::from_millis(5));
            assert!(
                !is_tested || !emulator.plant.is_powered(clock.now()),
                "powered again"
            );
        }
    }
    let status = child.wait().unwrap();
    let said = reader.join().unwrap();
    if !is_tested {
        eprintln!(
            "{}: not tested, the run did not get that far:\n{said}",
            case.what
        );
        return None;
    }
    let off_s = off_s.unwrap_or_else(|| panic!("{}: still powered\n{said}", case.what));
    if case.ends_by_itself {
        assert!(
            status.code().is_some(),
            "{}: ended by the signal\n{said}",
            case.what
        );
    }
    if case.signals == ["STOP"] {
        assert_ne!(status.code(), Some(0), "{said}");
        // Held in the middle of an exchange it meets the drive's error first.
        let is_named = said.contains("did nothing for") || said.contains("The drive reports error");
        assert!(is_named && said.contains("drive off at once"), "{said}");
    }
    Some((off_s, way_m, peak_n))
}

#[test]
fn no_signal_leaves_a_motor_to_itself() {
    for case in &CASES {
        let seen = (0..5).find_map(|_| try_case(case));
        let (off_s, way_m, peak_n) =
            seen.unwrap_or_else(|| panic!("{}: never got as far as Running", case.what));
        println!(
            "{:12} off after {:4.0} ms, {:.1} mm, {peak_n:.0} N",
            case.what,
            1e3 * off_s,
            1e3 * way_m
        );
        assert!(
            off_s <= case.off_within_s,
            "{}: off after {off_s} s",
            case.what
        );
        assert!(way_m <= MOST_WAY_M, "{}: {way_m} m", case.what);
    }
}
