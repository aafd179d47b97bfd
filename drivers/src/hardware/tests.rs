//! What a rig file may say, and what it is told if it does not.

use super::*;
use crate::rig_file::RigFile;
use rt_core::file::{self, FileContent};
use std::path::Path;

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/linmot-udp-serial.ron");
    std::fs::read_to_string(path).unwrap()
}

fn error_of(from: &str, to: &str) -> String {
    let text = text();
    assert!(text.contains(from), "{from}");
    let parsed: Result<RigFile, _> = file::parse(&text.replacen(from, to, 1), Path::new("rig.ron"));
    parsed.unwrap_err().to_string()
}

#[test]
fn the_shipped_rig_declares_what_it_measures() {
    let rig: RigFile = file::parse(&text(), Path::new("rig.ron")).unwrap();
    rig.check().unwrap();
    let ids: Vec<&str> = rig.spec().channels.iter().map(|c| c.id).collect();
    assert_eq!(
        ids,
        [
            "force",
            "motor_position",
            "force_raw_1",
            "force_raw_2",
            "force_strip_front",
            "force_strip_rear",
            "drive_current",
            "brake_released",
            "age_motor_position",
            "age_force_raw_1",
            "age_force_raw_2",
            "age_drive_current",
        ]
    );
    let known = rig.model().known();
    assert_eq!(known.pad_stiffness_n_per_m, 240_000.0);
    assert_eq!(known.force_filter_hz, Some(100.0));
}

#[test]
fn mistakes_are_named_with_what_is_expected() {
    for (from, to, words) in [
        (
            "drive: \"drive\"",
            "drive: \"motor\"",
            vec!["drive", "'motor' is no bus", "expected one of: drive"],
        ),
        (
            "drive: \"drive\"",
            "drive: \"amplifier\"",
            vec!["'amplifier' drives no motor"],
        ),
        (
            "input: \"drive.position\"",
            "input: \"drive.place\"",
            vec!["signals.motor_position.input", "drive.position"],
        ),
        (
            "input: \"amplifier.rear\"",
            "input: \"amplifier\"",
            vec!["signals.cells[1].input", "amplifier.rear"],
        ),
        (
            "name: \"amplifier\"",
            "name: \"drive\"",
            vec!["buses[1].name", "stands twice"],
        ),
        (
            "name: \"amplifier\"",
            "name: \"Amp 1\"",
            vec!["buses[1].name", "Amp 1"],
        ),
        (
            "max_age_s: 0.01)",
            "max_age_s: 0.0)",
            vec!["max_age_s", "0.0001 to 10"],
        ),
        (
            "baud: 921600",
            "baud: 921601",
            vec!["buses[1].baud", "115200"],
        ),
        (
            "length: 12",
            "length: 9",
            vec!["buses[1].protocol", "fields[1].offset"],
        ),
        (
            "header: [0xAA, 0x55]",
            "header: []",
            vec!["header", "1 to 8 bytes"],
        ),
        (
            "timeout_s: 0.02",
            "timeout_s: 60.0",
            vec!["buses[0].timeout_s", "0.001 to 1"],
        ),
        (
            "wait_us: 500",
            "wait_us: 500000",
            vec!["wait_us", "0 to 5000"],
        ),
        (
            "drive_address: \"127.0.0.1\"",
            "drive_address: \"::1\"",
            vec!["local_address", "IPv4"],
        ),
        (
            "drive_address: \"127.0.0.1\"",
            "drive_address: \"here\"",
            vec!["rig.ron:", "IP address"],
        ),
        (
            "id: \"drive_current\"",
            "id: \"force_current\"",
            vec!["auxiliary[0].id", "every rig has"],
        ),
        ("wait_us: 500", "wait_ms: 5", vec!["wait_ms", "wait_us"]),
        (
            "force_frozen_after_cycles: 25",
            "force_frozen_after_cycles: 2",
            vec!["at least 5"],
        ),
        ("low_m: -0.15", "low_m: -0.3", vec!["actuator.low_m"]),
    ] {
        let error = error_of(from, to);
        for word in words {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}

#[test]
fn cells_of_the_emulation_are_those_of_the_signals() {
    let error = error_of("id: \"SIM-B\", name", "id: \"SIM-C\", name");
    assert!(
        error.contains("emulated.load_cells") && error.contains("SIM-A, SIM-C"),
        "{error}"
    );
}

#[test]
fn an_interlock_is_safe_only_if_it_says_so() {
    let interlock = |bit, closed_means_safe| InterlockConfig {
        id: "door".into(),
        label: "Door".into(),
        input: "io.door".into(),
        bit,
        closed_means_safe,
        max_age_s: 0.1,
    };
    assert!(interlock(None, true).is_safe(1.0) && !interlock(None, true).is_safe(0.0));
    assert!(interlock(None, false).is_safe(0.0) && !interlock(None, false).is_safe(1.0));
    assert!(interlock(Some(3), true).is_safe(8.0) && !interlock(Some(3), true).is_safe(7.0));
    for either in [true, false] {
        assert!(!interlock(None, either).is_safe(f64::NAN));
        assert!(!interlock(Some(1), either).is_safe(f64::NAN));
    }
}

#[test]
fn a_dead_mans_switch_is_a_channel_of_its_own_and_needs_a_time() {
    let with = text().replacen(
        "    signals: (",
        "    safety: (dead_man_s: 0.5),\n    signals: (\n        dead_man: (input: \"amplifier.rear\", bit: 2, max_age_s: 0.01),",
        1,
    );
    let rig: RigFile = file::parse(&with, Path::new("rig.ron")).unwrap();
    rig.check().unwrap();
    let spec = rig.spec();
    assert_eq!(spec.dead_man, Some("dead_man"));
    assert!(spec.is_hardware);
    let ids: Vec<&str> = spec.channels.iter().map(|c| c.id).collect();
    assert!(
        ids.contains(&"dead_man") && ids.last() == Some(&"age_dead_man"),
        "{ids:?}"
    );
    let without = with.replacen("dead_man_s: 0.5", "", 1);
    let parsed: Result<RigFile, _> = file::parse(&without, Path::new("rig.ron"));
    let problem = parsed.unwrap_err().to_string();
    assert!(
        problem.contains("signals.dead_man") && problem.contains("dead_man_s: 0.5"),
        "{problem}"
    );
    let unknown = with.replacen("\"amplifier.rear\", bit", "\"amplifier.button\", bit", 1);
    let parsed: Result<RigFile, _> = file::parse(&unknown, Path::new("rig.ron"));
    assert!(parsed.unwrap_err().to_string().contains("amplifier.rear"));
}

#[test]
fn a_switch_is_held_only_if_it_says_so() {
    let switch = |set_means_held, bit| signals::DeadManConfig {
        input: String::new(),
        bit,
        set_means_held,
        max_age_s: 0.01,
    };
    for (set, bit, value, held) in [
        (true, None, 1.0, true),
        (true, None, 0.0, false),
        (true, Some(2), 4.0, true),
        (true, Some(2), 3.0, false),
        (false, Some(2), 3.0, true),
        (true, None, f64::NAN, false),
        (false, None, f64::NAN, false),
    ] {
        assert_eq!(
            switch(set, bit).is_held(value),
            held,
            "{set} {bit:?} {value}"
        );
    }
}
