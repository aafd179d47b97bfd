//! Force reports, bands, spans and comparisons against scipy and numpy
//! (`reference/spectrum_reference.py`) and against closed forms.

use crate::support::Reference;
use crate::support::numbers::{assert_close, noise};
use nalgebra::Complex;
use rt_core::signal::band::{Band, band_deviation};
use rt_core::signal::butterworth::band_pass;
use rt_core::signal::comparison::{ComparisonSettings, Series, compare, compare_each};
use rt_core::signal::contact_force::{ContactForceReport, ReportSettings};
use rt_core::signal::histogram::Histogram;
use rt_core::signal::lag::best_lag;
use rt_core::signal::spans::span_statistics;
use std::f64::consts::PI;

const RATE: f64 = 500.0;
const BANDS: [Band; 3] = [Band::SPANS, Band::DROPPERS, Band::STANDARD];

#[test]
fn band_passes_are_scipys() {
    let reference = Reference::load("spectrum.txt");
    for (order, low, high) in [
        (1, 5.0, 20.0),
        (2, 5.0, 20.0),
        (3, 0.5, 40.0),
        (4, 5.0, 20.0),
    ] {
        let row = |what: &str| reference.row(&format!("band_pass_{what}_{order}_{low}_{high}"));
        let sos = band_pass(order, low, high, RATE).unwrap();
        for (i, frequency) in reference.row("frequencies_band_pass").iter().enumerate() {
            let expected = Complex::new(row("real")[i], row("imag")[i]);
            let difference = (sos.response(*frequency) - expected).norm();
            assert!(
                difference < 1e-10,
                "{order} {low} at {frequency}: {difference:e}"
            );
        }
        // The lowest poles lie 0.003 from z = 1, where both sides lose digits.
        let found = sos.zero_phase(reference.row("x")).unwrap();
        assert_close("zero phase", &found, row("zero_phase"), 1e-9);
    }
}

#[test]
fn the_report_of_a_record_is_numpys() {
    let reference = Reference::load("spectrum.txt");
    let x = reference.row("x");
    let settings = ReportSettings {
        loss_threshold_n: 75.0,
        bands: BANDS.to_vec(),
        ..ReportSettings::default()
    };
    let report = ContactForceReport::of(x, RATE, &settings).unwrap();
    let f = report.filtered;
    let found = [
        f.mean,
        f.standard_deviation,
        f.statistical_max,
        f.statistical_min,
        f.max,
        f.min,
    ];
    assert_close("filtered", &found, reference.row("report_filtered"), 1e-12);
    let losses = report.losses;
    let found = [
        losses.count as f64,
        losses.longest_s,
        losses.total_s,
        losses.percent,
    ];
    assert_close(
        "losses",
        &found,
        reference.row("report_losses_at_75"),
        1e-12,
    );
    let by_filter: Vec<f64> = report.bands.iter().map(|b| b.by_filter).collect();
    let by_spectrum: Vec<f64> = report.bands.iter().map(|b| b.by_spectrum).collect();
    assert_close(
        "by filter",
        &by_filter,
        reference.row("band_by_filter"),
        1e-11,
    );
    assert_close(
        "by spectrum",
        &by_spectrum,
        reference.row("band_by_spectrum"),
        1e-11,
    );

    let histogram = Histogram::of(x, 70.0, 160.0, 13).unwrap();
    let counts: Vec<f64> = histogram.counts().iter().map(|c| *c as f64).collect();
    assert_eq!(counts, reference.row("histogram"));
    let edges: Vec<f64> = (0..=13).map(|i| histogram.edge(i)).collect();
    assert_close("edges", &edges, reference.row("histogram_edges"), 1e-15);
    let outside = [histogram.below() as f64, histogram.above() as f64];
    assert_eq!(outside, reference.row("histogram_outside"));

    let supports = reference.row("supports");
    let spans = span_statistics(reference.row("places"), x, supports).unwrap();
    for (span, expected) in spans.spans.iter().zip(reference.row("spans").chunks(5)) {
        let s = span.statistics.unwrap();
        let found = [s.samples as f64, s.mean, s.standard_deviation, s.max, s.min];
        assert_close("span", &found, expected, 1e-12);
    }
    let placed: u64 = spans
        .spans
        .iter()
        .filter_map(|s| s.statistics)
        .map(|s| s.samples)
        .sum();
    assert_eq!(placed + spans.outside, x.len() as u64);
}

#[test]
fn a_comparison_by_place_is_numpys() {
    let reference = Reference::load("spectrum.txt");
    let (x, places) = (reference.row("x"), reference.row("places"));
    let record = Series {
        places_m: places,
        forces: x,
        sample_rate_hz: RATE,
    };
    let other = Series {
        places_m: reference.row("reference_places"),
        forces: reference.row("reference"),
        sample_rate_hz: 1000.0,
    };
    let mut settings = ComparisonSettings {
        bands: BANDS.to_vec(),
        ..ComparisonSettings::default()
    };
    let found = compare(&record, &other, &settings).unwrap();
    let known: Vec<f64> = found
        .reference
        .iter()
        .copied()
        .filter(|r| r.is_finite())
        .collect();
    assert_close("aligned", &known, reference.row("aligned"), 1e-13);
    let numbers = [
        found.compared as f64,
        found.reference_mean,
        found.error_percent,
    ];
    assert_close("numbers", &numbers, reference.row("comparison"), 1e-13);
    assert_eq!((found.outside, found.unknown), (700 - found.compared, 0));
    let by_filter: Vec<f64> = found.bands.iter().map(|b| b.by_filter_percent).collect();
    let by_spectrum: Vec<f64> = found.bands.iter().map(|b| b.by_spectrum_percent).collect();
    assert_close(
        "by filter",
        &by_filter,
        reference.row("comparison_by_filter"),
        1e-10,
    );
    assert_close(
        "by spectrum",
        &by_spectrum,
        reference.row("comparison_by_spectrum"),
        1e-10,
    );

    // Bands that touch share the error: 0–5, 5–20 and 20–250 Hz are all of it.
    settings.bands = vec![Band::SPANS, Band::DROPPERS, Band::new(20.0, 249.0)];
    let parts = compare(&record, &other, &settings).unwrap();
    let squares: f64 = parts
        .bands
        .iter()
        .map(|b| b.by_spectrum_percent.powi(2))
        .sum();
    assert!(squares < parts.error_percent.powi(2));
    assert!(squares > 0.98 * parts.error_percent.powi(2), "{squares}");

    // A gap and a range are left out, and counted.
    let mut gap = x.to_vec();
    gap[300] = f64::NAN;
    gap[301] = f64::INFINITY;
    settings.range_m = Some((places[100], places[499]));
    let series = Series {
        forces: &gap,
        ..record
    };
    let results = compare_each(&[series, record], &other, &settings);
    let counted: Vec<_> = results
        .iter()
        .map(|r| r.as_ref().unwrap())
        .map(|r| (r.compared, r.unknown, r.outside))
        .collect();
    assert_eq!(counted, [(398, 2, 300), (400, 0, 300)]);
    let gapped = results[0].as_ref().unwrap();
    assert!(gapped.difference[300].is_nan() && gapped.reference[301].is_nan());
    let expected = compare(&record, &other, &settings).unwrap().error_percent;
    assert!((gapped.error_percent - expected).abs() < 0.02 * expected);

    settings.range_m = Some((-5.0, -1.0));
    let text = compare(&record, &other, &settings).unwrap_err().to_string();
    assert!(text.contains("overlap"), "{text}");
}

#[test]
fn the_best_lag_is_numpys() {
    let reference = Reference::load("spectrum.txt");
    let smooth = reference.row("smooth");
    // The record is the reference nine samples later.
    let found = best_lag(&smooth[11..691], &smooth[20..], 25, RATE).unwrap();
    let expected = reference.row("lag");
    assert!(
        (found.samples - expected[0]).abs() < 1e-7,
        "{found:?} {expected:?}"
    );
    assert!((found.coefficient - expected[1]).abs() < 1e-12);
}

#[test]
fn the_deviation_in_a_band_agrees_by_filter_and_by_spectrum() {
    // Flat spectrum: the closed form of the filter's slopes, and the estimate with the same slopes.
    let flat = noise(100_000, 3);
    for order in [2, 4, 8] {
        let angle = PI / (2 * order) as f64;
        let slopes = ((1.0 - 0.5 / order as f64) * angle / angle.sin()).sqrt();
        for band in [Band::SPANS, Band::STANDARD] {
            let found = band_deviation(&flat, RATE, band, order).unwrap();
            // 0–5 Hz of 200 s are 1000 lines: the share at the slopes scatters by 1 %.
            let ratio = found.by_filter / found.by_spectrum;
            assert!(
                (ratio / slopes - 1.0).abs() < 0.01,
                "{order}: {ratio} {slopes}"
            );
        }
        for band in BANDS {
            let found = band_deviation(&flat, RATE, band, order).unwrap();
            let ratio = found.by_filter / found.spectrum_through_filter;
            // They differ by the ends: there the filter starts on one sample of noise, whose variance
            // is 50 times that in 0–5 Hz, and forgets it within 0.03 s: 2 · 50 · 0.03 s / 200 s of
            // the variance, half of it in σ.
            assert!((ratio - 1.0).abs() < 7.5e-3, "{order} {band:?}: {ratio}");
            let sharp = (band.high_hz - band.low_hz) / 250.0;
            assert!((found.by_spectrum.powi(2) / sharp - 1.0).abs() < 0.15);
        }
    }
    // Lines well inside the bands: A/√2 each, both ways within 0.5 %.
    let force = |i: usize| {
        let t = i as f64 / RATE;
        117.0 + 20.0 * (2.0 * PI * 1.4 * t).sin() + 6.0 * (2.0 * PI * 10.0 * t).sin()
    };
    let lines: Vec<f64> = (0..20_000).map(force).collect();
    for (band, expected) in [
        (Band::SPANS, 200.0_f64.sqrt()),
        (Band::DROPPERS, 18.0_f64.sqrt()),
        (Band::STANDARD, 218.0_f64.sqrt()),
    ] {
        let found = band_deviation(&lines, RATE, band, 4).unwrap();
        assert!(
            (found.by_spectrum / expected - 1.0).abs() < 1e-9,
            "{found:?}"
        );
        assert!((found.by_filter / expected - 1.0).abs() < 5e-3, "{found:?}");
    }
}
