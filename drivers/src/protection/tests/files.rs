use super::*;

const HARDWARE: [&str; 2] = ["ethercat-dsa-380.ron", "linmot-udp-serial.ron"];

fn refusal(text: &str) -> String {
    let rig: RigFile = match file::parse(text, Path::new("rig.ron")) {
        Ok(rig) => rig,
        Err(e) => return e.to_string(),
    };
    let pantograph = pantograph_of(&rig);
    require(&rig, &pantograph, 0.002).map_or_else(|e| e.to_string(), |()| String::new())
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in the file");
    text.replace(from, to)
}

/// Without a block that begins so and ends with `end`.
fn without(text: &str, begin: &str, end: &str) -> String {
    let from = text.find(begin).unwrap_or_else(|| panic!("no {begin}"));
    let to = from + text[from..].find(end).unwrap() + end.len();
    format!("{}{}", &text[..from], &text[to..])
}

#[test]
fn shipped_rigs_stop_within_their_stroke_and_below_what_the_specimen_bears() {
    for entry in std::fs::read_dir(assets().join("rigs")).unwrap() {
        let path = entry.unwrap().path();
        let rig: RigFile = file::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let pantograph = pantograph_of(&rig);
        for period_s in [0.0005, 0.001, 0.002] {
            let refused = require(&rig, &pantograph, period_s);
            assert_eq!(refused, Ok(()), "{} every {period_s} s", path.display());
        }
        let model = rig.clone().model();
        let found = stopping(&model, &pantograph, 0.002);
        let bears = model.specimen.map(|s| s.bears_n);
        println!("{}: {found:?}, bears {bears:?}", path.display());
        assert!(bears.is_some(), "{}", path.display());
    }
}

#[test]
fn hardware_that_states_nothing_that_protects_is_refused_with_what_to_write() {
    for name in HARDWARE {
        let text = rig_text(name);
        assert_eq!(refusal(&text), "", "{name}");
        let no_limits = replaced(
            &without(&text, "limits: [", "\n    ],"),
            "drive: \"",
            "limits: [],\n    drive: \"",
        );
        let only_force = without(&text, "(channel: \"motor_position\"", "),");
        for (changed, words) in [
            (
                no_limits,
                vec!["limits: nothing limits the force", "(channel: \"force\""],
            ),
            (
                only_force,
                vec![
                    "limits: nothing limits the position",
                    "(channel: \"motor_position\"",
                ],
            ),
            (
                replaced(
                    &text,
                    "for_cycles: 1, action: Retreat",
                    "for_cycles: 1, action: Warn",
                ),
                vec!["limits of the force on the specimen only warn"],
            ),
            (
                replaced(
                    &text,
                    "for_cycles: 1, action: Retreat",
                    "for_cycles: 1000, action: Retreat",
                ),
                vec!["acts after 1000 cycles", "at most 25"],
            ),
            (
                replaced(&text, "high: 500.0", "high: inf"),
                vec!["only warn, or have no end"],
            ),
            (
                replaced(&text, "unloads: Up,", ""),
                vec![
                    "actuator.unloads: is not stated",
                    "Up (larger positions) or Down",
                ],
            ),
            (
                without(&text, "specimen: (", "),"),
                vec!["specimen: is not stated", "bears_n"],
            ),
        ] {
            let text = refusal(&changed);
            for word in words {
                assert!(text.contains(word), "{name}: {word}: {text}");
            }
        }
    }
}

/// Sets a number of a file by the name of its field, the first of that name.
fn with_number(text: &str, field: &str, value: &str) -> String {
    let begin = format!("{field}: ");
    let from = text.find(&begin).unwrap_or_else(|| panic!("no {field}")) + begin.len();
    let to = from + text[from..].find([',', ')']).unwrap();
    format!("{}{value}{}", &text[..from], &text[to..])
}

#[test]
fn millimetres_taken_for_metres_are_refused_as_an_engineer_would_say_it() {
    let simulated = rig_text("simulated-dsa-380.ron");
    let hardware = rig_text("ethercat-dsa-380.ron");
    for (text, field, value, words) in [
        (
            &simulated,
            "max_speed_m_per_s",
            "2000.0",
            vec![
                "2 m/s is as fast as",
                "2000 looks like millimetres, which would be 2 m/s",
            ],
        ),
        (
            &simulated,
            "travel_speed_m_per_s",
            "100.0",
            vec!["100 looks like millimetres, which would be 0.1 m/s"],
        ),
        (
            &simulated,
            "max_tracking_error_m",
            "20.0",
            vec!["20 looks like millimetres, which would be 0.02 m"],
        ),
        (
            &simulated,
            "pad_stiffness_n_per_m",
            "1e12",
            vec!["a rubber pad has"],
        ),
        (
            &simulated,
            "bears_n",
            "1e9",
            vec!["a pantograph presses with 100 to 500 N"],
        ),
        (
            &simulated,
            "braking_m_per_s2",
            "40000.0",
            vec!["10 to 200 m/s²"],
        ),
        (
            &hardware,
            "max_speed_m_per_s",
            "6.0",
            vec!["within 0.000001 to 5 m/s"],
        ),
        (&hardware, "travel_speed_m_per_s", "1.5", vec!["to 1 m/s"]),
        (
            &hardware,
            "travel_speed_m_per_s",
            "0.9",
            vec!["faster than max_speed_m_per_s permits"],
        ),
        (&hardware, "max_tracking_error_m", "0.06", vec!["to 0.05 m"]),
        (
            &hardware,
            "max_tracking_error_m",
            "0.001",
            vec!["behind its reference when all is well"],
        ),
        (&hardware, "tracking_cycles", "100", vec!["1 to 25 cycles"]),
        (
            &hardware,
            "travel_speed_m_per_s",
            "0.02",
            vec!["takes 15", "held_for_s takes the power away after 8 s"],
        ),
        (
            &hardware,
            "stroke_high_m",
            "0.1701",
            vec![
                "max_tracking_error_m",
                "from the end of the range to the mechanical stop there are 0.0201 m",
            ],
        ),
        (
            &hardware,
            "max_acceleration_m_per_s2",
            "10.0",
            vec!["braking_m_per_s2", "at most 10 m/s²"],
        ),
    ] {
        // The one with too small a stroke needs a tracking error that does not fit into it.
        let text = if field == "stroke_high_m" {
            with_number(text, "max_tracking_error_m", "0.03")
        } else {
            text.clone()
        };
        let refused = refusal(&with_number(&text, field, value));
        for word in words {
            assert!(refused.contains(word), "{field} {value}: {word}: {refused}");
        }
    }
    // What moves something real is not controlled by old values; a drive on this computer may be slow.
    let real = replaced(&hardware, "port: InProcess", "port: Interface(\"eth1\")");
    for (from, to, word) in [
        (
            "input: \"ecat.position\", max_age_s: 0.0025",
            "input: \"ecat.position\", max_age_s: 0.06",
            "signals.motor_position.max_age_s",
        ),
        (
            "input: \"ecat.rear\", unit: \"mV/V\", max_age_s: 0.0025",
            "input: \"ecat.rear\", unit: \"mV/V\", max_age_s: 0.06",
            "signals.cells[1].max_age_s",
        ),
        (
            "bit: 1, closed_means_safe: true, max_age_s: 0.0025",
            "bit: 1, closed_means_safe: true, max_age_s: 10.0",
            "signals.interlocks[1].max_age_s",
        ),
    ] {
        let refused = refusal(&replaced(&real, from, to));
        assert!(
            refused.contains(word) && refused.contains("protects nobody"),
            "{refused}"
        );
        let emulated = replaced(&hardware, from, &to.replace("10.0", "0.9"));
        assert_eq!(refusal(&emulated), "");
    }
}

#[test]
fn an_old_simulated_rig_works_as_it_did() {
    let mut text = rig_text("simulated-dsa-380.ron");
    text = without(&text, "specimen: (", "),");
    text = with_number(&text, "max_speed_m_per_s", "2.0");
    text = with_number(&text, "braking_m_per_s2", "8.0");
    for (from, end) in [("unloads: ", ","), ("max_acceleration_m_per_s2: ", ",")] {
        if text.contains(from) {
            text = without(&text, from, end);
        }
    }
    assert_eq!(refusal(&text), "");
}

#[test]
fn the_table_names_each_hazard_and_what_is_missing() {
    let table = |text: &str| {
        let rig: RigFile = file::parse_unchecked(text, Path::new("rig.ron")).unwrap();
        Table::of(&rig, Ok(&pantograph_of(&rig)), 0.002)
    };
    let state = |table: &Table, id: &str| {
        let hazard = table.hazards.iter().find(|h| h.id == id);
        hazard.unwrap_or_else(|| panic!("no {id}")).state
    };
    let ethercat = rig_text("ethercat-dsa-380.ron");
    let found = table(&ethercat);
    for (id, expected) in [
        ("overload_of_specimen", Protected::Ok),
        ("motor_beyond_range", Protected::Ok),
        ("motor_does_not_follow", Protected::Ok),
        ("position_unknown", Protected::Ok),
        ("sensor_dead", Protected::Ok),
        ("wrong_newtons", Protected::Ok),
        ("computer_too_slow", Protected::Ok),
        ("reaching_in", Protected::Ok),
        ("two_masters", Protected::Ok),
        ("operator_gone", Protected::Weak),
        ("armed_by_mistake", Protected::Weak),
        ("unattended_motion", Protected::Ok),
    ] {
        assert_eq!(state(&found, id), expected, "{id}: {found:#?}");
    }
    assert!(found.is_hardware && found.refused.is_none());
    // The circuits, the calibrations, the watchdog.
    let no_circuits = without(&ethercat, "interlocks: [", "],");
    assert_eq!(
        state(&table(&no_circuits), "reaching_in"),
        Protected::Missing
    );
    assert_eq!(
        state(&table(&no_circuits), "operator_gone"),
        Protected::Missing
    );
    assert!(!table(&no_circuits).is_ok());
    let no_door = replaced(
        &ethercat,
        "\"door\", label: \"Door\"",
        "\"oil\", label: \"Oil\"",
    );
    assert_eq!(state(&table(&no_door), "reaching_in"), Protected::Weak);
    let uncalibrated = replaced(
        &ethercat,
        "drive: \"ecat\"",
        "safety: (needs_calibration: false, unattended: [\"run\"], dead_man_s: 0.5, confirm_within_s: 5.0),\n    drive: \"ecat\"",
    );
    let found = table(&uncalibrated);
    assert_eq!(state(&found, "wrong_newtons"), Protected::Weak);
    assert_eq!(state(&found, "unattended_motion"), Protected::Weak);
    assert_eq!(state(&found, "armed_by_mistake"), Protected::Ok);
    assert_eq!(state(&found, "operator_gone"), Protected::Weak);
    let alone = with_number(&ethercat, "watchdog_ms", "1000.0");
    assert_eq!(state(&table(&alone), "bus_lost"), Protected::Weak);
    // A file that leaves protection out is refused, and has its table all the same.
    let bare = without(&ethercat, "(channel: \"force\"", "),");
    let found = table(&bare);
    assert_eq!(state(&found, "overload_of_specimen"), Protected::Missing);
    assert!(!found.is_ok() && !found.refused.unwrap().is_senseless);
    let senseless = with_number(&ethercat, "max_speed_m_per_s", "2000.0");
    let found = table(&senseless);
    assert!(found.stopping.is_none() && found.refused.clone().unwrap().is_senseless);
    assert!(found.hazards.last().unwrap().note.contains("millimetres"));
    // A simulation hurts nobody.
    let simulated = table(&rig_text("simulated-dsa-380.ron"));
    assert!(simulated.is_ok() && !simulated.is_hardware && simulated.missing().count() > 0);
}

/// Every number of a file at and past its ends, one or several at a time: never a panic, and what is accepted can say how
/// it stops.
#[test]
fn files_at_the_ends_of_every_field_are_refused_or_stop() {
    let values = [
        "0.0",
        "-0.0",
        "-1.0",
        "1.0",
        "1e-300",
        "-1e-300",
        "1e300",
        "-1e300",
        "1e-3",
        "0.05",
        "0.5",
        "20.0",
        "1000.0",
        "1e6",
        "1e9",
        "inf",
        "-inf",
        "NaN",
        "3",
        "0",
        "4294967295",
        "None",
    ];
    let (mut accepted, mut refused) = (0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for name in [
        "simulated-interlocks.ron",
        "simulated-load-cells.ron",
        "ethercat-dsa-380.ron",
        "linmot-udp-serial.ron",
    ] {
        let text = rig_text(name);
        let numbers = numbers_of(&text);
        let mut changes: Vec<Vec<(usize, &str)>> = Vec::new();
        // Each field with some of them, each of them at many fields.
        for number in 0..numbers.len() {
            let some = (0..values.len()).filter(|k| (k + number) % 4 == 0);
            changes.extend(some.map(|k| vec![(number, values[k])]));
        }
        for _ in 0..80 {
            let count = 1 + next(4);
            let mut one = || (next(numbers.len()), values[next(values.len())]);
            changes.push((0..count).map(|_| one()).collect());
        }
        for mut change in changes {
            change.sort_unstable();
            change.dedup_by_key(|(number, _)| *number);
            let mut changed = text.clone();
            for (number, value) in change.iter().rev() {
                changed.replace_range(numbers[*number].clone(), value);
            }
            let Ok(rig) = file::parse_unchecked::<RigFile>(&changed, Path::new("rig.ron")) else {
                refused += 1;
                continue;
            };
            let table = Table::of(&rig, Ok(&pantograph_of(&rig)), 0.002);
            if table.refused.is_some() {
                refused += 1;
                assert!(!table.is_ok());
                continue;
            }
            accepted += 1;
            let s = table
                .stopping
                .unwrap_or_else(|| panic!("{name} {change:?}: no stopping"));
            for figure in [
                s.speed_m_s,
                s.reaction_s,
                s.distance_m,
                s.available_m,
                s.peak_force_n,
                s.rigid_force_n,
            ] {
                assert!(figure.is_finite(), "{name} {change:?}: {s:?}");
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 50 && refused > 300);
}

/// Where the numbers of a file are, its comments left out.
fn numbers_of(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        let mut from = 0;
        while let Some(colon) = code[from..].find(": ") {
            let begin = from + colon + 2;
            let end = code[begin..]
                .find([',', ')', '\n'])
                .map_or(code.len(), |e| begin + e);
            if code[begin..end].parse::<f64>().is_ok() {
                found.push(at + begin..at + end);
            }
            from = begin;
        }
        at += line.len();
    }
    found
}
