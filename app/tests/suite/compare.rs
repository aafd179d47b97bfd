//! Recordings compared: differences, statistics and coherence are those that were put in.

use crate::common::{Scratch, json, pantobench, stderr, stdout};
use pantobench::comparison::{Axis, ComparisonError, Request, compare, picture, table};
use rt_core::channel::{Frame, Role};
use rt_core::guard::State;
use rt_core::record::header::{SessionEnd, SessionHeader};
use rt_core::record::reader::Session;
use rt_core::record::schema::{Precision, RecordedChannel, RecordedFrame};
use rt_core::record::writer::SessionWriter;
use std::f64::consts::TAU;
use std::path::Path;

const PERIOD: u64 = 2_000_000;
/// 300 km/h.
const SPEED: f64 = 300.0 / 3.6;

fn channel(id: &str, unit: &str, precision: Precision) -> RecordedChannel {
    RecordedChannel {
        id: id.into(),
        label: String::new(),
        unit: unit.into(),
        role: Role::Measured,
        precision,
    }
}

/// A force along the line: span passing, droppers, and a little that no other recording has.
fn force(place: f64, own_noise: u64) -> f64 {
    let mut random = own_noise.wrapping_mul(6_364_136_223_846_793_005) ^ 0x9E37_79B9;
    random ^= random >> 29;
    random = random.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    random ^= random >> 32;
    let noise = (random % 2001) as f64 / 1000.0 - 1.0;
    let t = place / SPEED;
    150.0 + 20.0 * (TAU * 1.3 * t).sin() + 6.0 * (TAU * 7.0 * t).sin() + 0.1 * noise
}

/// What a recording is to hold.
struct Made<'a> {
    name: &'a str,
    /// Where the train stands before it starts, in m.
    start: f64,
    seconds: f64,
    /// Force at a place in m and a tick.
    force: &'a dyn Fn(f64, u64) -> f64,
    /// Ticks without a frame.
    lost: std::ops::Range<u64>,
    has_place: bool,
}

/// Idle for 20 ticks, Running without moving for 50, then along the line, then Stopping.
fn make(scratch: &Scratch, made: &Made<'_>) -> String {
    let path = scratch.path(&format!("{}.mcap", made.name));
    let mut channels = vec![channel("force", "N", Precision::Exact)];
    if made.has_place {
        channels.push(channel("line_position", "", Precision::Exact));
    }
    let header = SessionHeader {
        title: made.name.into(),
        bench: "pantograph-lqg".into(),
        period_nanos: PERIOD,
        channels,
        speed_kmh: Some(300.0),
        ..SessionHeader::default()
    };
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SessionWriter::create(file, Path::new(&path), &header).unwrap();
    let moving = (made.seconds * 500.0) as u64;
    for seq in 0..70 + moving + 30 {
        let mut frame = Frame::empty();
        (frame.seq, frame.t_nanos) = (seq, seq * PERIOD);
        frame.state = match seq {
            0..20 => State::Idle,
            s if s < 70 + moving => State::Running,
            _ => State::Stopping,
        };
        let place = made.start + SPEED * seq.saturating_sub(69) as f64 * 0.002;
        frame.values[0] = (made.force)(place, seq);
        frame.values[1] = place;
        if !made.lost.contains(&seq) {
            let columns = header.channels.len();
            writer.frame(&RecordedFrame::new(&frame, columns)).unwrap();
        }
    }
    writer.finish(&SessionEnd::default()).unwrap();
    path
}

fn open(paths: &[&String]) -> Vec<Session> {
    let open = |p: &&String| Session::open(Path::new(p.as_str())).unwrap();
    paths.iter().map(open).collect()
}

fn pair(scratch: &Scratch) -> (String, String) {
    let first = Made {
        name: "first",
        start: 130.0,
        seconds: 12.0,
        force: &force,
        lost: 0..0,
        has_place: true,
    };
    // 5 N more, and 8 N at 12 Hz; starts elsewhere, so that no two samples share a place; loses frames.
    let changed = |place: f64, seq: u64| {
        force(place, seq + 7777) + 5.0 + 8.0 * (TAU * 12.0 * place / SPEED).sin()
    };
    let second = Made {
        name: "second",
        start: 130.07,
        force: &changed,
        lost: 3000..3012,
        ..first
    };
    (make(scratch, &first), make(scratch, &second))
}

#[test]
fn a_known_difference_is_found_by_place_and_by_band() {
    let scratch = Scratch::new("compare-known");
    let (first, second) = pair(&scratch);
    let compared = compare(&open(&[&first, &second]), &Request::default()).unwrap();
    assert_eq!(compared.axis, Axis::Place);
    assert_eq!(compared.stretch.chosen, "all that the recordings share");
    let against = &compared.others[0];
    let found = &against.difference;
    // The mean of whole and half periods of the sines differs a little from 150 N.
    let mean = found.reference_mean;
    assert!((mean - 150.0).abs() < 0.5, "{mean}");
    // √(5² + 8²/2); noise adds √(2/3)/10 N, straight lines (π/n)²/2 of 6 N at n = 71: 0.006 N.
    let rms = (25.0 + 32.0_f64).sqrt();
    assert!((found.rms - rms).abs() < 0.02, "{} {rms}", found.rms);
    let error = against.error_percent.unwrap();
    assert!((error - 100.0 * rms / mean).abs() < 0.02, "{error}");
    // 0–5, 5–20, 0–20 Hz: the filter of the first has let 5 N pass, the second the sine at 12 Hz, whose
    // gain in both directions is within 2 % of one.
    let bands: Vec<f64> = found.bands.iter().map(|b| b.by_filter).collect();
    assert!((bands[0] - 5.0).abs() < 0.05, "{bands:?}");
    assert!((bands[1] / 32.0_f64.sqrt() - 1.0).abs() < 0.02, "{bands:?}");
    assert!((bands[2] / rms - 1.0).abs() < 0.02, "{bands:?}");
    // Twelve frames and the half intervals beside them.
    assert!((12..=14).contains(&found.unknown), "{}", found.unknown);
    assert_eq!(against.curve.report.gaps.missing, 12);
    // Statistics are those of the sines.
    let s = compared.reference.report.filtered;
    let sigma = (200.0 + 18.0_f64).sqrt();
    assert!((s.standard_deviation - sigma).abs() < 0.2, "{s:?}");
    // Where both have power they are coherent, where only one has they are not.
    let c = against.coherence.as_ref().unwrap();
    let at = |hz: f64| {
        let i = c.frequencies_hz.iter().position(|f| *f >= hz).unwrap();
        c.coherence[i]
    };
    assert!(
        at(1.3) > 0.999 && at(7.0) > 0.999,
        "{} {}",
        at(1.3),
        at(7.0)
    );
    assert!(at(12.0) < 0.7, "{}", at(12.0));
    // The 8 N at 12 Hz are in the second spectrum alone.
    let power = |i: usize| {
        let curve = compared.curves().nth(i).unwrap();
        let band = rt_core::signal::band::Band::new(11.0, 13.0);
        curve.spectrum.band_power(band).unwrap()
    };
    assert!(
        power(0) < 0.01 && (power(1) - 32.0).abs() < 1.0,
        "{}",
        power(1)
    );
}

#[test]
fn a_range_is_kept_and_a_recording_equals_itself() {
    let scratch = Scratch::new("compare-range");
    let (first, second) = pair(&scratch);
    let request = Request {
        from: Some(400.0),
        to: Some(700.0),
        ..Request::default()
    };
    let compared = compare(&open(&[&first, &first, &second]), &request).unwrap();
    let itself = &compared.others[0];
    assert_eq!(itself.difference.rms, 0.0);
    assert_eq!(itself.error_percent, Some(0.0));
    // 300 m at 83.3 m/s and 500 Hz, with one or both ends.
    let samples = itself.difference.compared;
    assert!((1800..=1801).contains(&samples), "{samples}");
    let (at, values) = (&itself.curve.positions, &itself.difference.difference);
    for (x, d) in at.iter().zip(values) {
        assert_eq!((400.0..=700.0).contains(x), d.is_finite(), "{x}");
    }
    let c = &itself.coherence.as_ref().unwrap().coherence;
    assert!(c[1..].iter().all(|c| (c - 1.0).abs() < 1e-9));
    let rows = table::rows(&compared);
    assert_eq!(rows.len(), 3);
    assert!(rows[0].errors_percent.is_empty() && rows[2].errors_percent.len() == 4);
    let csv = table::statistics_csv(&compared);
    let cells: Vec<usize> = csv.lines().map(|l| l.split(',').count()).collect();
    assert_eq!(cells, vec![cells[0]; 4], "{csv}");
    let drawn = picture::svg(&compared);
    assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
    assert!(
        !drawn.contains("NaN") && !drawn.contains("inf"),
        "a place that is none"
    );
}

#[test]
fn without_a_place_the_time_of_running_aligns_and_a_gap_too_large_is_refused() {
    let scratch = Scratch::new("compare-time");
    let made = Made {
        name: "a",
        start: 0.0,
        seconds: 6.0,
        force: &|_, seq| 100.0 + seq as f64,
        lost: 0..0,
        has_place: false,
    };
    let first = make(&scratch, &made);
    let later = |_: f64, seq: u64| 110.0 + seq as f64;
    let second = make(
        &scratch,
        &Made {
            name: "b",
            force: &later,
            has_place: true,
            ..made
        },
    );
    let compared = compare(&open(&[&first, &second]), &Request::default()).unwrap();
    assert_eq!(compared.axis, Axis::Time);
    assert_eq!((compared.stretch.from, compared.stretch.to), (0.0, 6.098));
    assert!((compared.others[0].difference.rms - 10.0).abs() < 1e-6);
    let by_place = Request {
        axis: Some(Axis::Place),
        ..Request::default()
    };
    let refused = compare(&open(&[&second, &first]), &by_place).unwrap_err();
    assert!(
        matches!(refused, ComparisonError::NoPlace { .. }),
        "{refused}"
    );
    let hollow = make(
        &scratch,
        &Made {
            name: "c",
            seconds: 60.0,
            lost: 100..29_000,
            ..made
        },
    );
    let refused = compare(&open(&[&first, &hollow]), &Request::default()).unwrap_err();
    assert!(matches!(refused, ComparisonError::Gaps { .. }), "{refused}");
}

#[test]
fn the_command_writes_tables_and_pictures_and_explains_bad_input() {
    let scratch = Scratch::new("compare-command");
    let (first, second) = pair(&scratch);
    let (svg, csv, series) = (
        scratch.path("c.svg"),
        scratch.path("c.csv"),
        scratch.path("s.csv"),
    );
    let arguments = [
        "session", "compare", &first, &second, "--from-m", "300", "--to-m", "900", "--out", &svg,
        "--out", &csv, "--series", &series, "--json",
    ];
    let output = pantobench(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(found["by"], "place");
    assert_eq!(found["unit"], "N");
    assert_eq!(found["sessions"].as_array().unwrap().len(), 2);
    let against = &found["against_first"][0];
    // √57 N of 150 N.
    assert!(
        (against["error_pct"].as_f64().unwrap() - 5.03).abs() < 0.05,
        "{against}"
    );
    assert_eq!(against["bands"].as_array().unwrap().len(), 3);
    assert!(against["coherence"]["coherence"].is_array());
    assert!(found["sessions"][1]["spectrum"]["density"].is_array());
    assert_eq!(found["sessions"][1]["losses"]["count"], 0);
    assert!(std::fs::read_to_string(&svg).unwrap().contains("</svg>"));
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 3);
    // 600 m of the second recording.
    let samples = std::fs::read_to_string(&series).unwrap().lines().count() - 1;
    assert!((3599..=3601).contains(&samples), "{samples}");
    let again = pantobench(&arguments);
    assert_eq!(again.status.code(), Some(2));

    let text = stdout(&pantobench(&["session", "compare", &first, &second]));
    for word in ["first", "second", "σ 5–20 Hz", "coherent", "error %"] {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
    let compare = |more: &[&str]| {
        let mut all = vec!["session", "compare", &first, &second];
        all.extend(more);
        pantobench(&all)
    };
    let cases = [
        (pantobench(&["session", "compare", &first]), "FILE"),
        (compare(&["--channel", "farce"]), "farce"),
        (
            compare(&["--from-m", "700", "--to-m", "400"]),
            "begin first",
        ),
        (
            compare(&["--from-m", "5000", "--to-m", "6000"]),
            "choose another stretch",
        ),
        (compare(&["--by", "time", "--from-m", "400"]), "--from-s"),
        (compare(&["--by", "place", "--to-s", "4"]), "--to-m"),
        (compare(&["--from-m", "nan"]), "begin first"),
        (compare(&["--out", "picture.bmp"]), ".svg"),
    ];
    for (i, (output, word)) in cases.into_iter().enumerate() {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "case {i}: {said}");
        assert!(said.contains(word), "'{word}' is missing in: {said}");
        assert!(output.stdout.is_empty());
    }
}
