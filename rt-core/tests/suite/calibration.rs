//! Calibrations against numpy and scipy (`reference/calibration_reference.py`), closed forms, and as files.

use crate::support::Reference;
use crate::support::numbers::{assert_close, noise};
use rt_core::calibration::accept::{Demands, Doubt, Refused, judge, preview};
use rt_core::calibration::date::{Date, Moment};
use rt_core::calibration::fit::{Direction, FitError, directions};
use rt_core::calibration::id::CalibrationId;
use rt_core::calibration::store::{Library, NotFound, SaveError, save};
use rt_core::calibration::{Calibration, FORMAT_VERSION, Kind, Line, Point, Validity};
use rt_core::file::{self, FileContent};
use std::path::{Path, PathBuf};

fn points(loads: &[f64], readings: &[f64]) -> Vec<Point> {
    let both = loads.iter().zip(readings);
    both.map(|(load, reading)| Point::noted(*load, *reading))
        .collect()
}

fn calibration(id: &str, made: &str, kind: Kind, points: Vec<Point>, line: Line) -> Calibration {
    Calibration {
        version: FORMAT_VERSION,
        id: CalibrationId::new(id).unwrap(),
        cell: "A1".into(),
        unit: "mV/V".into(),
        kind,
        made: Moment::parse(made).unwrap(),
        valid_until: Moment::parse(made).unwrap().date().plus_days(365),
        operator: "late shift".into(),
        reference: "weights M1".into(),
        notes: "say \"hello\" – äöü".into(),
        before: None,
        low_n: 0.0,
        high_n: 300.0,
        points,
        line,
    }
}

/// r = 0.05 + F / 500, exactly.
fn straight(id: &str, made: &str) -> Calibration {
    let loads = [0.0, 150.0, 300.0];
    let line = Line {
        slope_n_per_unit: 500.0,
        offset_n: -25.0,
    };
    calibration(
        id,
        made,
        Kind::MultiPoint,
        points(&loads, &[0.05, 0.35, 0.65]),
        line,
    )
}

#[test]
fn lines_and_their_statistics_are_numpys_and_scipys() {
    let reference = Reference::load("calibration.txt");
    for name in ["up", "up_and_down", "counts"] {
        let row = |what: &str| reference.row(&format!("{name}_{what}"));
        let taken = points(row("loads"), row("readings"));
        let fit = preview(Kind::MultiPoint, &taken, None).unwrap();
        let line = [fit.line.slope_n_per_unit, fit.line.offset_n];
        // polyfit solves by QR, linregress by sums as we do: both agree to their rounding.
        for i in 0..2 {
            assert_close(name, &line[i..=i], &row("polyfit")[i..=i], 1e-10);
            assert_close(name, &line[i..=i], &row("linregress")[i..=i], 1e-11);
        }
        // A residual is the small difference of large numbers: rounding of 10 000 N against 0.1 N.
        assert_close(name, &fit.residuals_n, row("residuals"), 1e-7);
        assert_close(
            name,
            &[fit.linearity_pct.unwrap()],
            row("linearity_pct"),
            1e-7,
        );
        assert_close(
            name,
            &[fit.standard_error_n.unwrap()],
            row("standard_error"),
            1e-7,
        );
        assert_close(
            name,
            &[fit.slope_error_pct.unwrap()],
            row("slope_error_pct"),
            1e-7,
        );
    }
}

#[test]
fn the_stated_errors_are_those_of_many_repetitions() {
    let loads = [0.0, 100.0, 200.0, 300.0, 200.0, 100.0, 0.0];
    let trials = 2000;
    let scatter = noise(trials * loads.len(), 5);
    let (mut slopes, mut errors, mut residuals) = (Vec::new(), 0.0, 0.0);
    for trial in scatter.chunks(loads.len()) {
        // 0.25 N of scatter at 500 N a unit.
        let readings: Vec<f64> = loads
            .iter()
            .zip(trial)
            .map(|(f, e)| 0.05 + f / 500.0 + 5e-4 * e)
            .collect();
        let fit = preview(Kind::MultiPoint, &points(&loads, &readings), None).unwrap();
        slopes.push(fit.line.slope_n_per_unit);
        errors += (fit.slope_error_pct.unwrap() / 100.0 * 500.0).powi(2);
        residuals += fit.standard_error_n.unwrap().powi(2);
    }
    let n = trials as f64;
    let mean = slopes.iter().sum::<f64>() / n;
    let spread = (slopes.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    // Four standard errors: of the mean spread/√n, of a deviation σ/√(2n).
    assert!((mean - 500.0).abs() < 4.0 * spread / n.sqrt(), "{mean}");
    assert!((spread / (errors / n).sqrt() - 1.0).abs() < 4.0 / (2.0 * n).sqrt());
    assert!(((residuals / n).sqrt() / 0.25 - 1.0).abs() < 4.0 / (2.0 * n).sqrt());
}

#[test]
fn one_and_two_points_follow_their_closed_forms() {
    let two = points(&[10.0, 210.0], &[0.1, 0.5]);
    let fit = preview(Kind::TwoPoint, &two, None).unwrap();
    assert!(
        (fit.line.slope_n_per_unit - 500.0).abs() < 1e-12
            && (fit.line.offset_n + 40.0).abs() < 1e-12
    );
    assert_eq!((fit.linearity_pct, fit.standard_error_n), (None, None));
    let before = straight("before", "2026-01-01T00:00:00Z");
    // The zero has moved from 0.05 to 0.06 mV/V: 5 N.
    let zero = preview(Kind::Zero, &points(&[0.0], &[0.06]), Some(&before)).unwrap();
    assert_eq!(
        (zero.line.slope_n_per_unit, zero.line.offset_n),
        (500.0, -30.0)
    );
    // 200 N read 0.40 mV/V above the zero of before, which is kept: 500 N/(mV/V) become 500 · 0.4/0.4.
    let span = preview(Kind::Span, &points(&[202.0], &[0.45]), Some(&before)).unwrap();
    assert!(
        (span.line.slope_n_per_unit - 505.0).abs() < 1e-9,
        "{:?}",
        span.line
    );
    assert!((span.line.zero_reading() - 0.05).abs() < 1e-15);
    for kind in [Kind::Zero, Kind::Span] {
        let alone = preview(kind, &points(&[1.0], &[0.1]), None);
        assert_eq!(alone, Err(FitError::NothingBefore { kind }));
    }
}

#[test]
fn hysteresis_and_repeatability_are_told_apart() {
    // Straight but for 0.004 mV/V (2 N) more on the way down at 100 N, and 1 N between two visits of 200 N.
    let loads = [0.0, 100.0, 200.0, 200.0, 300.0, 100.0, 0.0];
    let mut readings: Vec<f64> = loads.iter().map(|f| f / 500.0).collect();
    readings[5] += 0.004;
    readings[3] += 0.002;
    let taken = points(&loads, &readings);
    use Direction::{Falling, Rising};
    assert_eq!(
        directions(&taken),
        [Rising, Rising, Rising, Rising, Rising, Falling, Falling]
    );
    let fit = preview(Kind::MultiPoint, &taken, None).unwrap();
    let slope = fit.line.slope_n_per_unit;
    assert!((fit.hysteresis_pct.unwrap() - 100.0 * 0.004 * slope / 300.0).abs() < 1e-9);
    assert!((fit.repeatability_n.unwrap() - 0.002 * slope).abs() < 1e-9);
    let up = preview(Kind::MultiPoint, &taken[..3], None).unwrap();
    assert_eq!((up.hysteresis_pct, up.repeatability_n), (None, None));
    let down = points(&[300.0, 300.0, 200.0], &[0.6, 0.6, 0.4]);
    assert_eq!(directions(&down), [Falling, Falling, Falling]);
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_do() {
    let usual = Demands::default();
    let case =
        |kind, loads: &[f64], readings: &[f64]| judge(kind, &points(loads, readings), None, &usual);
    let refused = [
        (
            case(Kind::TwoPoint, &[0.0], &[0.0]),
            "needs 2 points, but there is 1",
        ),
        (
            case(Kind::MultiPoint, &[0.0, 1.0], &[0.0, 1.0]),
            "at least 3 points, but there are 2",
        ),
        (
            case(Kind::MultiPoint, &[0.0, 100.0, 100.0], &[0.0, 1.0, 1.0]),
            "2 different load(s) where 3",
        ),
        (
            case(Kind::TwoPoint, &[5.0, 5.0], &[0.0, 1.0]),
            "loads further apart",
        ),
        (
            case(Kind::TwoPoint, &[0.0, 5.0], &[1.0, 1.0]),
            "does not change with the load",
        ),
        (
            case(Kind::TwoPoint, &[0.0, 5.0], &[1.0, f64::NAN]),
            "point 2 is 5 N",
        ),
        (
            case(Kind::TwoPoint, &[0.0, 5.0], &[1.0, 0.0]),
            "falls as the load grows, but it should rise",
        ),
        (
            case(
                Kind::MultiPoint,
                &[0.0, 10.0, 20.0, 30.0],
                &[0.0, 1.0, 0.9, 3.0],
            ),
            "from 10 N to 20 N",
        ),
        (
            case(Kind::MultiPoint, &[0.0, 100.0, 200.0], &[0.0, 0.21, 0.4]),
            "point 2 (100 N) lies +3.3",
        ),
    ];
    for (judged, words) in refused {
        let said = judged.unwrap_err().to_string();
        assert!(said.contains(words), "'{words}' is missing in: {said}");
    }
    let mut noisy = points(&[0.0, 100.0], &[0.0, 0.2]);
    noisy[1].deviation = 0.003;
    let said = judge(Kind::TwoPoint, &noisy, None, &usual)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("at 100 N scatter by 1.500 N (1.50 % of the span"),
        "{said}"
    );
    let turned = Demands {
        falls_with_load: true,
        ..usual
    };
    let falling = points(&[0.0, 100.0], &[0.0, -0.2]);
    assert!(judge(Kind::TwoPoint, &falling, None, &turned).is_ok());
    let rising = judge(
        Kind::TwoPoint,
        &points(&[0.0, 100.0], &[0.0, 0.2]),
        None,
        &turned,
    );
    assert!(matches!(rising, Err(Refused::Sign { found: "rises", .. })));
    let before = straight("before", "2026-01-01T00:00:00Z");
    let spanless = judge(Kind::Span, &points(&[0.0], &[0.05]), Some(&before), &usual);
    assert_eq!(spanless, Err(Refused::Fit(FitError::SpanWithoutLoad)));
}

#[test]
fn doubts_are_told_but_do_not_forbid() {
    let before = straight("before", "2026-01-01T00:00:00Z");
    let usual = Demands::after(Some(&before));
    let two = judge(
        Kind::TwoPoint,
        &points(&[0.0, 300.0], &[0.05, 0.63]),
        Some(&before),
        &usual,
    )
    .unwrap();
    assert!(
        matches!(&two.doubts[0], Doubt::SlopeMoved { before, change_pct } if before == "before" && *change_pct > 3.0)
    );
    assert_eq!(two.doubts[1], Doubt::Untested);
    let up = judge(Kind::MultiPoint, &before.points, Some(&before), &usual).unwrap();
    assert_eq!(up.doubts, [Doubt::OneWay]);
    assert_eq!((up.low_n, up.high_n), (0.0, 300.0));
    // A zero point holds for the range of the calibration that its slope is from.
    let zero = judge(Kind::Zero, &points(&[0.0], &[0.06]), Some(&before), &usual).unwrap();
    assert_eq!(
        (zero.low_n, zero.high_n, zero.doubts.len()),
        (0.0, 300.0, 0)
    );
}

#[test]
fn validity_is_counted_in_days() {
    let c = straight("x", "2026-01-01T12:00:00Z");
    let on = |day: &str| c.validity(Date::parse(day).unwrap(), 30);
    assert_eq!(on("2026-01-01"), Validity::Valid { days_left: 365 });
    assert_eq!(on("2026-12-01"), Validity::Valid { days_left: 31 });
    assert_eq!(on("2026-12-02"), Validity::EndsSoon { days_left: 30 });
    assert_eq!(on("2027-01-01"), Validity::EndsSoon { days_left: 0 });
    assert_eq!(on("2027-01-02"), Validity::Expired { days_ago: 1 });
    assert_eq!(on("2027-01-02").to_string(), "expired 1 day ago");
    assert_eq!(on("2027-01-01").to_string(), "ends today");
}

fn scratch(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("calibration-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

#[test]
fn files_come_back_to_the_last_bit_and_are_never_overwritten() {
    let directory = scratch("files");
    let reference = Reference::load("calibration.txt");
    let mut taken = points(
        reference.row("up_and_down_loads"),
        reference.row("up_and_down_readings"),
    );
    taken[2].deviation = 1.0 / 3.0;
    let line = preview(Kind::MultiPoint, &taken, None).unwrap().line;
    let mut kept = calibration(
        "A1-1",
        "2026-11-18T10:15:03Z",
        Kind::MultiPoint,
        taken,
        line,
    );
    kept.before = Some(CalibrationId::new("A1-0").unwrap());
    let path = save(&directory, &kept).unwrap();
    assert_eq!(path.file_name().unwrap(), "A1-1.ron");
    assert_eq!(file::load::<Calibration>(&path).unwrap(), kept);
    let text = std::fs::read_to_string(&path).unwrap();
    let other = Calibration {
        operator: "someone else".into(),
        ..kept
    };
    let again = save(&directory, &other);
    assert!(matches!(&again, Err(SaveError::Taken { .. })), "{again:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_line_that_its_points_do_not_give_is_refused() {
    let good = straight("x", "2026-01-01T00:00:00Z");
    assert_eq!(good.check(), Ok(()));
    let mut edited = good.clone();
    edited.line.offset_n = -25.001;
    let said = edited.check().unwrap_err().to_string();
    assert!(
        said.contains("the points give 500") && said.contains("not edited"),
        "{said}"
    );
    let mut edited = good.clone();
    edited.points[1].reading = 0.36;
    assert!(edited.check().is_err());
    let newer = Calibration {
        version: 2,
        ..good.clone()
    };
    assert!(newer.check().unwrap_err().to_string().contains("newer"));
    let zero = Calibration {
        kind: Kind::Zero,
        points: points(&[0.0], &[0.05]),
        ..good
    };
    assert_eq!(zero.check(), Ok(()));
    let mut zero = zero;
    zero.points[0].load_n = 1.0;
    assert!(zero.check().is_err());
}

#[test]
fn the_newest_valid_one_is_used_unless_another_is_named() {
    let directory = scratch("active");
    let mut short = straight("A1-3", "2026-03-01T00:00:00Z");
    short.valid_until = Date::parse("2026-03-10").unwrap();
    let mut other = straight("B1-1", "2026-04-01T00:00:00Z");
    other.cell = "B1".into();
    for c in [
        straight("A1-2", "2026-02-01T00:00:00Z"),
        straight("A1-1", "2026-01-01T00:00:00Z"),
        short,
        other,
    ] {
        save(&directory, &c).unwrap();
    }
    std::fs::write(directory.join("broken.ron"), "Calibration(").unwrap();
    std::fs::write(directory.join("note.txt"), "not ours").unwrap();
    let twice = scratch("active-twice");
    save(&twice, &straight("A1-1", "2026-06-01T00:00:00Z")).unwrap();
    let missing = PathBuf::from("/no/such/directory");
    let library = Library::read(&[directory.clone(), missing, twice.clone()]);
    assert_eq!(library.problems.len(), 2, "{:?}", library.problems);
    assert!(library.problems[0].contains("broken.ron") && library.problems[1].contains("A1-1"));
    let ids: Vec<&str> = library.of_cell("A1").map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["A1-3", "A1-2", "A1-1"]);
    let day = |text: &str| Date::parse(text).unwrap();
    let active = |named, on: &str| {
        library
            .active("A1", named, day(on))
            .map(|c| c.map(|c| c.id.to_string()))
    };
    let id = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(active(None, "2026-03-05"), id("A1-3"));
    assert_eq!(active(None, "2026-05-01"), id("A1-2"));
    // All are expired: the newest is used, and its validity says so.
    assert_eq!(active(None, "2036-01-01"), id("A1-3"));
    assert_eq!(active(Some("A1-1"), "2026-05-01"), id("A1-1"));
    assert!(matches!(
        active(Some("B1-1"), "2026-05-01"),
        Err(NotFound::OtherCell { .. })
    ));
    let unknown = active(Some("A9"), "2026-05-01").unwrap_err().to_string();
    assert!(unknown.contains("A1-2"), "{unknown}");
    assert_eq!(library.active("C1", None, day("2026-05-01")), Ok(None));
    let made = Moment::parse("2026-05-01T00:00:00Z").unwrap();
    assert_eq!(
        library.suggest_id("A/1 ü", made).unwrap().as_str(),
        "A-1-2026-05-01"
    );
    save(
        &directory,
        &straight("A1-2026-05-01", "2026-05-01T00:00:00Z"),
    )
    .unwrap();
    let library = Library::read(std::slice::from_ref(&directory));
    assert_eq!(
        library.suggest_id("A1", made).unwrap().as_str(),
        "A1-2026-05-01-2"
    );
    let long = library.suggest_id(&"x".repeat(90), made).unwrap();
    assert!(long.as_str().ends_with("-2026-05-01") && long.as_str().len() == 40);
    for directory in [directory, twice] {
        std::fs::remove_dir_all(directory).unwrap();
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_told() {
    let in_the_way = scratch("in-the-way");
    std::fs::write(&in_the_way, "").unwrap();
    let said = save(&in_the_way, &straight("x", "2026-01-01T00:00:00Z"))
        .unwrap_err()
        .to_string();
    assert!(said.contains("choose another directory"), "{said}");
    let library = Library::read(std::slice::from_ref(&in_the_way));
    assert_eq!(library.problems.len(), 1);
    assert!(Path::new(&in_the_way).is_file());
    std::fs::remove_file(in_the_way).unwrap();
}
