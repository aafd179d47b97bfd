//! What goes into a recording comes out of it, also years later and in other programs.

use crate::recording::{Scratch, T0, frame, header, value};
use rt_core::guard::{Drive, State};
use rt_core::record::checksum::checksum;
use rt_core::record::error::RecordError;
use rt_core::record::event::{EventRecord, FieldValue};
use rt_core::record::export::{write_csv, write_slice};
use rt_core::record::header::{SessionEnd, SessionHeader, TextMap};
use rt_core::record::list::list;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::{Precision, RecordedFrame};
use rt_core::record::writer::SessionWriter;
use std::fs::File;
use std::path::{Path, PathBuf};

const PERIOD: u64 = 2_000_000;

fn event(seq: u64) -> EventRecord {
    EventRecord {
        seq,
        t_nanos: seq * PERIOD,
        kind: "parameter".into(),
        text: format!("Scale applied in tick {seq}"),
        fields: vec![
            ("value".into(), FieldValue::Number(0.1 * seq as f64)),
            ("id".into(), FieldValue::Text("scale".into())),
        ],
    }
}

fn end() -> SessionEnd {
    SessionEnd {
        reason: "asked to".into(),
        drops: 3,
        result: [("mean_n".into(), "157.3".into())].into(),
        ..SessionEnd::default()
    }
}

/// Frames of the ticks `first..last` without every 50th, an event every 100, a chunk every 40.
fn write(path: &Path, header: &SessionHeader, first: u64, last: u64) {
    let mut writer = SessionWriter::create(File::create(path).unwrap(), path, header).unwrap();
    for seq in (first..last).filter(|seq| seq % 50 != 49) {
        let frame = frame(seq, header.period_nanos, header.channels.len());
        writer
            .frame(&RecordedFrame::new(&frame, header.channels.len()))
            .unwrap();
        if seq.is_multiple_of(100) {
            writer.event(&event(seq)).unwrap();
        }
        if seq.is_multiple_of(40) {
            writer.flush().unwrap();
        }
    }
    writer.finish(&end()).unwrap();
}

fn recorded(scratch: &Scratch, channels: usize) -> PathBuf {
    let path = scratch.path().join("a.mcap");
    write(&path, &header(channels, PERIOD), 1000, 1500);
    path
}

#[test]
fn everything_comes_back_and_exact_columns_to_the_last_bit() {
    let scratch = Scratch::new("round-trip");
    let session = Session::open(&recorded(&scratch, 12)).unwrap();
    assert_eq!(session.header(), &header(12, PERIOD));
    assert_eq!(
        session.end(),
        Some(&SessionEnd {
            frames: 490,
            ..end()
        })
    );
    let mut expected = (1000..1500).filter(|seq| seq % 50 != 49);
    for found in session.frames(TimeRange::ALL) {
        let found = found.unwrap();
        let seq = expected.next().unwrap();
        let original = frame(seq, PERIOD, 12);
        assert_eq!((found.frame.seq, found.frame.t_nanos), (seq, seq * PERIOD));
        assert_eq!(found.frame.state, original.state);
        assert_eq!(found.frame.drive, original.drive);
        assert_eq!(found.checksum, checksum(&original.values[..12]));
        for column in 0..12 {
            let (was, is) = (original.values[column], found.frame.values[column]);
            let expected = match session.header().channels[column].precision {
                Precision::Exact => was,
                Precision::Single => f64::from(was as f32),
            };
            assert_eq!(
                is.to_bits(),
                expected.to_bits(),
                "tick {seq}, column {column}"
            );
        }
    }
    assert_eq!(expected.next(), None);
    let events = session.events(TimeRange::ALL).unwrap();
    assert_eq!(events, [1000, 1100, 1200, 1300, 1400].map(event));
}

#[test]
fn info_and_check_tell_what_is_there_and_what_is_missing() {
    let scratch = Scratch::new("info");
    let session = Session::open(&recorded(&scratch, 5)).unwrap();
    let info = session.info();
    assert!(info.ok && info.finished && !info.recovered);
    assert_eq!((info.version, info.bench.as_str()), (1, "pantograph-lqg"));
    assert_eq!(info.t0, "2026-11-18T22:15:03Z");
    assert_eq!((info.frames, info.events, info.drops), (490, 5, 3));
    assert!((info.seconds - 0.996).abs() < 1e-12);
    assert_eq!(info.channels.len(), 5);
    let report = session.check().unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.info, info);
    let gaps: Vec<_> = (0..9).map(|i| (1048 + 50 * i, 1)).collect();
    assert_eq!(report.gaps, gaps);
    assert_eq!((report.missing_ticks(), report.verified_checksums), (9, 0));
}

#[test]
fn checksums_are_verified_where_all_columns_are_exact() {
    let scratch = Scratch::new("exact");
    let path = scratch.path().join("exact.mcap");
    let mut header = header(4, PERIOD);
    header
        .channels
        .iter_mut()
        .for_each(|c| c.precision = Precision::Exact);
    let mut writer = SessionWriter::create(File::create(&path).unwrap(), &path, &header).unwrap();
    for seq in 0..10 {
        let mut recorded = RecordedFrame::new(&frame(seq, PERIOD, 4), 4);
        if seq == 7 {
            recorded.frame.values[1] += 1e-9;
        }
        writer.frame(&recorded).unwrap();
    }
    writer.finish(&end()).unwrap();
    let report = Session::open(&path).unwrap().check().unwrap();
    assert_eq!(report.verified_checksums, 9);
    assert_eq!(
        report.problems,
        ["the checksum of the frame of tick 7 is wrong"]
    );
    assert!(!report.info.ok);
}

#[test]
fn time_is_sought_and_columns_are_read() {
    let scratch = Scratch::new("seek");
    let session = Session::open(&recorded(&scratch, 6)).unwrap();
    let at = |t: f64| {
        session
            .frame_at((t * 1e9) as u64)
            .unwrap()
            .map(|r| r.frame.seq)
    };
    assert_eq!(at(0.0), Some(1000));
    assert_eq!(at(2.5), Some(1250));
    assert_eq!(at(2.497), Some(1250), "1249 is missing");
    assert_eq!(at(5.0), None);
    let ids = ["group.channel_4", "group.channel_0"];
    let columns = session.columns(&ids, TimeRange::seconds(2.2, 2.6)).unwrap();
    let ticks: Vec<u64> = (1100..1300).filter(|s| s % 50 != 49).collect();
    assert_eq!(columns.seq, ticks);
    assert_eq!(columns.t_nanos[7], 1107 * PERIOD);
    assert_eq!(columns.values.len(), 2);
    for (row, seq) in ticks.iter().enumerate() {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        assert!(same(
            columns.values[0][row],
            f64::from(value(*seq, 4) as f32)
        ));
        assert!(same(columns.values[1][row], value(*seq, 0)));
    }
    assert_eq!(
        session.columns(&[], TimeRange::ALL).unwrap().values.len(),
        6
    );
    let text = session
        .columns(&["farce"], TimeRange::ALL)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("farce") && text.contains("group.channel_5"),
        "{text}"
    );
}

#[test]
fn a_table_holds_every_digit() {
    let scratch = Scratch::new("csv");
    let mut header = header(3, PERIOD);
    header.channels[2].unit = "m, \"up\"".into();
    let path = scratch.path().join("a.mcap");
    write(&path, &header, 0, 200);
    let session = Session::open(&path).unwrap();
    let mut out = Vec::new();
    let rows = write_csv(
        &session,
        &[],
        TimeRange::seconds(0.1, 0.2),
        &mut out,
        Path::new("x"),
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "t [s],seq,state,drive,group.channel_0 [N],group.channel_1 [N],\"group.channel_2 [m, \"\"up\"\"]\""
    );
    let ticks: Vec<u64> = (50..100).filter(|s| s % 50 != 49).collect();
    assert_eq!((rows, text.lines().count()), (49, 50));
    for (line, seq) in lines.zip(ticks) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], format!("0.{:09}", seq * PERIOD));
        assert_eq!(cells[1], seq.to_string());
        assert_eq!(
            cells[2],
            if seq.is_multiple_of(2) {
                "Running"
            } else {
                "Stopping"
            }
        );
        assert_eq!(cells[3], if seq.is_multiple_of(3) { "on" } else { "off" });
        let bits = |cell: &str| cell.parse::<f64>().unwrap().to_bits();
        assert_eq!(bits(cells[4]), value(seq, 0).to_bits());
        assert_eq!(
            cells[5].parse::<f32>().unwrap().to_bits(),
            (value(seq, 1) as f32).to_bits()
        );
    }
}

#[test]
fn a_stretch_is_a_recording_of_its_own_and_replaces_nothing() {
    let scratch = Scratch::new("slice");
    let session = Session::open(&recorded(&scratch, 6)).unwrap();
    let range = TimeRange::seconds(2.2, 2.6);
    let slice = || write_slice(&session, range, scratch.path(), "a").unwrap();
    let (path, frames) = slice();
    assert_eq!(path, scratch.path().join("a-2.mcap"));
    assert_eq!(slice().0, scratch.path().join("a-3.mcap"));
    let slice = Session::open(&path).unwrap();
    let report = slice.check().unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(
        (frames, report.info.frames, report.info.events),
        (196, 196, 2)
    );
    assert_eq!(slice.header().further["slice_of"], "a.mcap");
    let all = |s: &Session| s.columns(&[], range).unwrap();
    let bits = |s: &Session| format!("{:?}", all(s));
    assert_eq!(bits(&slice), bits(&session));
    let checksums = |s: &Session| {
        s.frames(range)
            .map(|f| f.unwrap().checksum)
            .collect::<Vec<_>>()
    };
    assert_eq!(checksums(&slice), checksums(&session));
}

#[test]
fn a_directory_is_listed_with_unreadable_files_by_name() {
    let scratch = Scratch::new("list");
    recorded(&scratch, 3);
    std::fs::write(scratch.path().join("b.mcap"), "not a recording").unwrap();
    std::fs::write(scratch.path().join("c.mcap.part"), "").unwrap();
    std::fs::write(scratch.path().join("notes.txt"), "").unwrap();
    std::fs::create_dir(scratch.path().join("d.mcap")).unwrap();
    let listed = list(scratch.path()).unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|l| l.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["a.mcap", "b.mcap", "c.mcap.part", "d.mcap"]);
    let a = listed[0].session.as_ref().unwrap();
    assert_eq!(
        (a.specimen.as_str(), a.line.as_str()),
        ("DSA-380 № 7", "stitched-sw")
    );
    assert_eq!(
        (a.speed_kmh, a.result["mean_n"].as_str()),
        (Some(300.0), "157.3")
    );
    assert_eq!(a.info.frames, 490);
    for entry in &listed[1..] {
        let text = entry.session.as_ref().unwrap_err().to_string();
        assert!(text.contains(entry.path.to_str().unwrap()), "{text}");
    }
    assert!(list(Path::new("no/such")).is_err());
}

#[test]
fn a_newer_version_is_refused_with_both_versions() {
    let scratch = Scratch::new("version");
    let path = recorded(&scratch, 3);
    let mut bytes = std::fs::read(&path).unwrap();
    let key = b"format_version\x01\0\0\x001";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap();
    bytes[at + key.len() - 1] = b'2';
    std::fs::write(&path, bytes).unwrap();
    let error = Session::open(&path).unwrap_err();
    assert!(
        matches!(
            error,
            RecordError::TooNew {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("version 2") && text.contains("up to 1") && text.contains("newer"),
        "{text}"
    );
}

/// Written once by version 1 and never again: `PANTOBENCH_WRITE_EXAMPLE=1` made it.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version-1.mcap")
}

#[test]
fn a_recording_of_version_1_opens_for_ever() {
    if std::env::var_os("PANTOBENCH_WRITE_EXAMPLE").is_some() {
        write(&example(), &header(9, PERIOD), 1000, 1500);
    }
    let session = Session::open(&example()).unwrap();
    assert_eq!(session.version(), 1);
    // Conditions were not stated then.
    let expected = SessionHeader {
        environment: TextMap::new(),
        ..header(9, PERIOD)
    };
    assert_eq!(session.header(), &expected);
    let report = session.check().unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(
        (report.info.frames, report.info.events, report.info.drops),
        (490, 5, 3)
    );
    let first = session.frame_at(0).unwrap().unwrap();
    assert_eq!(
        (first.frame.seq, first.frame.state, first.frame.drive),
        (1000, State::Running, Drive::Off)
    );
    // Sines differ in their last bit between machines, so here values are compared within rounding.
    for recorded in session.frames(TimeRange::ALL) {
        let frame = recorded.unwrap().frame;
        for column in 0..9 {
            let (is, was) = (frame.values[column], value(frame.seq, column));
            let tolerance = if column % 3 == 1 { 1e-7 } else { 1e-15 };
            let is_near = (is - was).abs() <= tolerance * was.abs().max(1e-3);
            assert!(is_near || (is.is_nan() && was.is_nan()));
        }
    }
    assert_eq!(
        session.events(TimeRange::seconds(2.0, 2.1)).unwrap(),
        [event(1000)]
    );
}

/// Reads with the published packages `mcap` and `mcap-protobuf-support`; `PANTOBENCH_PYTHON` names an
/// interpreter that has them. Without it there is nothing to ask, which is said.
#[test]
fn python_reads_the_same_values() {
    let Some(python) = std::env::var_os("PANTOBENCH_PYTHON") else {
        eprintln!("not run: PANTOBENCH_PYTHON is not set");
        return;
    };
    let scratch = Scratch::new("python");
    let path = recorded(&scratch, 7);
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/recording/read_with_python.py");
    let out = std::process::Command::new(python)
        .arg(script)
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        out.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let session = Session::open(&path).unwrap();
    let mut expected = String::new();
    for recorded in session.frames(TimeRange::ALL) {
        let recorded = recorded.unwrap();
        let f = &recorded.frame;
        let drive = u8::from(f.drive == Drive::On);
        expected += &format!(
            "{} {} {} STATE_{} {drive} {}",
            T0 + f.t_nanos,
            f.seq,
            f.t_nanos,
            f.state.name().to_uppercase(),
            recorded.checksum
        );
        for column in 0..7 {
            let v = f.values[column];
            expected += &if v.is_nan() {
                " nan".into()
            } else {
                format!(" {:016x}", v.to_bits())
            };
        }
        expected += "\n";
    }
    for e in session.events(TimeRange::ALL).unwrap() {
        let value = e.number("value").unwrap();
        expected += &format!(
            "{} {} {} {:016x} scale\n",
            e.seq,
            e.kind,
            e.text,
            value.to_bits()
        );
    }
    expected += "group.channel_6 group_channel_6 N measured\nsession.ron Session(|)\n1\n";
    assert_eq!(text, expected);
}
