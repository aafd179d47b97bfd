//! Spectra, bands, spans and comparisons against scipy and numpy (`reference/spectrum_reference.py`)
//! and against closed forms.

mod support;

use nalgebra::Complex;
use rt_core::signal::band::{Band, band_deviation};
use rt_core::signal::butterworth::band_pass;
use rt_core::signal::comparison::{ComparisonSettings, Series, compare, compare_each};
use rt_core::signal::contact_force::{ContactForceReport, ReportSettings};
use rt_core::signal::histogram::Histogram;
use rt_core::signal::lag::best_lag;
use rt_core::signal::spans::span_statistics;
use rt_core::signal::spectrum::cross::{LiveCrossSpectrum, cross_spectrum};
use rt_core::signal::spectrum::density::{LiveDensity, welch};
use rt_core::signal::spectrum::spectrogram::spectrogram;
use rt_core::signal::spectrum::{Detrend, SpectrumSettings, Window};
use std::f64::consts::PI;
use support::Reference;

const RATE: f64 = 500.0;
const BANDS: [Band; 3] = [Band::SPANS, Band::DROPPERS, Band::STANDARD];

fn settings(segment: usize, overlap: usize, window: Window, detrend: Detrend) -> SpectrumSettings {
    SpectrumSettings {
        sample_rate_hz: RATE,
        segment,
        overlap,
        window,
        detrend,
    }
}

fn cases() -> [(&'static str, SpectrumSettings); 4] {
    let constant = Detrend::Constant;
    [
        ("default", SpectrumSettings::new(RATE, 128)),
        ("odd", settings(75, 30, Window::Hann, constant)),
        ("boxcar", settings(100, 0, Window::Boxcar, Detrend::Nothing)),
        ("hamming", settings(64, 48, Window::Hamming, constant)),
    ]
}

/// Largest difference as a share of the largest expected value; both sides round.
fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let difference = (f - e).abs() / scale;
        assert!(difference <= tolerance, "{what} {i}: {f} {e}");
    }
}

#[test]
fn densities_and_cross_spectra_are_scipys() {
    let reference = Reference::load("spectrum.txt");
    let (x, y) = (reference.row("x"), reference.row("y"));
    for (name, settings) in cases() {
        let row = |what: &str| reference.row(&format!("{what}_{name}"));
        let density = welch(x, &settings).unwrap();
        assert_close(name, &density.frequencies_hz, row("frequencies"), 1e-15);
        // Each on its own scale, from the mean's square down to the noise.
        for (found, expected) in density.density.iter().zip(row("welch")) {
            assert!(
                (found / expected - 1.0).abs() < 1e-10,
                "{name}: {found} {expected}"
            );
        }
        let cross = cross_spectrum(x, y, &settings).unwrap();
        assert_eq!(
            (&cross.xx, cross.segments),
            (&density.density, density.segments)
        );
        let parts = |part: fn(&Complex<f64>) -> f64| cross.xy.iter().map(part).collect::<Vec<_>>();
        assert_close(name, &parts(|c| c.re), row("csd_real"), 1e-12);
        assert_close(name, &parts(|c| c.im), row("csd_imag"), 1e-12);
        let coherence = cross.coherence().unwrap();
        assert_close(name, &coherence, row("coherence"), 1e-10);
        // γ² = |H₁| / |H₂|, and both have the phase of S_xy.
        let transfer = cross.transfer_function().unwrap();
        for (k, expected) in coherence.iter().enumerate() {
            let ratio = transfer.h1[k] / transfer.h2[k];
            assert!((ratio - expected).norm() < 1e-12, "{name} {k}");
            let h1 = Complex::new(row("csd_real")[k], row("csd_imag")[k]) / row("welch")[k];
            assert!((transfer.h1[k] - h1).norm() < 1e-9 * h1.norm().max(1e-3));
        }
    }
}

#[test]
fn a_spectrogram_is_scipys_and_its_mean_is_welchs() {
    let reference = Reference::load("spectrum.txt");
    let settings = cases()[1].1;
    let found = spectrogram(reference.row("x"), &settings).unwrap();
    assert_close(
        "times",
        &found.times_s,
        reference.row("spectrogram_times"),
        1e-15,
    );
    assert_close(
        "density",
        &found.density.concat(),
        reference.row("spectrogram"),
        1e-12,
    );
    let count = found.density.len() as f64;
    let mean: Vec<f64> = (0..found.frequencies_hz.len())
        .map(|k| found.density.iter().map(|column| column[k]).sum::<f64>() / count)
        .collect();
    assert_close(
        "mean",
        &mean,
        &welch(reference.row("x"), &settings).unwrap().density,
        1e-13,
    );
}

#[test]
fn live_estimates_are_the_offline_ones_after_every_sample() {
    let reference = Reference::load("spectrum.txt");
    let (x, y) = (reference.row("x"), reference.row("y"));
    for (_, settings) in cases() {
        let mut density = LiveDensity::new(&settings).unwrap();
        let mut cross = LiveCrossSpectrum::new(&settings).unwrap();
        for end in 1..=x.len() {
            let new = density.push(x[end - 1]).unwrap();
            assert_eq!(cross.push(x[end - 1], y[end - 1]).unwrap(), new);
            let complete =
                end >= settings.segment && (end - settings.segment) % settings.hop() == 0;
            assert_eq!(new, complete, "{end}");
            if new {
                assert_eq!(density.density(), welch(&x[..end], &settings));
                let offline = cross_spectrum(&x[..end], &y[..end], &settings);
                assert_eq!(cross.cross_spectrum(), offline);
            }
        }
    }
}

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

/// Noise that is the same in every run: sums of twelve uniform numbers (PCG), variance 1.
fn noise(samples: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..samples)
        .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        .collect()
}

#[test]
fn white_noise_has_its_level_and_the_scatter_of_its_averages() {
    // Variance 9 spread over 0–250 Hz: 0.036 per Hz.
    let signal: Vec<f64> = noise(100_000, 7).iter().map(|x| 3.0 * x).collect();
    let density = welch(&signal, &SpectrumSettings::new(RATE, 500)).unwrap();
    let level = 9.0 / 250.0;
    let inner = &density.density[2..249];
    let mean = inner.iter().sum::<f64>() / inner.len() as f64;
    // Neighbouring lines of a Hann window are correlated: 1 % is four standard deviations here.
    assert!((mean / level - 1.0).abs() < 0.01, "{}", mean / level);
    let scatter = inner.iter().map(|d| (d / level - 1.0).powi(2)).sum::<f64>() / inner.len() as f64;
    let ratio = scatter.sqrt() / density.relative_error();
    assert!((ratio - 1.0).abs() < 0.2, "{ratio}");
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

#[test]
fn a_first_order_system_is_found_within_its_stated_error() {
    // y_k = a y_{k−1} + (1 − a) x_k, and noise on y: H = (1 − a) / (1 − a e^{−jωT}).
    let (a, n) = (0.9, 200_000);
    let (x, disturbance) = (noise(n, 11), noise(n, 12));
    let mut state = 0.0;
    let clean: Vec<f64> = x
        .iter()
        .map(|x| {
            state = a * state + (1.0 - a) * x;
            state
        })
        .collect();
    let y: Vec<f64> = clean
        .iter()
        .zip(&disturbance)
        .map(|(y, e)| y + 0.1 * e)
        .collect();
    let cross = cross_spectrum(&x, &y, &SpectrumSettings::new(RATE, 1000)).unwrap();
    let found = cross.transfer_function().unwrap();
    let (mut beyond_two, mut inner) = (0, 0);
    for k in 2..499 {
        let delay = Complex::from_polar(1.0, -2.0 * PI * found.frequencies_hz[k] / RATE);
        let exact = Complex::from(1.0 - a) / (Complex::from(1.0) - delay * a);
        // |H|² of the system against 0.1² of the disturbance.
        let coherence = exact.norm_sqr() / (exact.norm_sqr() + 0.01);
        // Its bias 1/n and its standard deviation √2 γ (1 − γ²) / √n (Bendat and Piersol).
        let n = cross.effective_averages;
        let scatter = (2.0 * coherence / n).sqrt() * (1.0 - coherence);
        let error = (found.coherence[k] - coherence).abs();
        assert!(error < 1.0 / n + 4.5 * scatter, "{k}: {error} {scatter}");
        let error = (found.h1[k].norm() / exact.norm() - 1.0).abs() / found.relative_error[k];
        let phase = (found.h1[k] / exact).arg().abs() / found.relative_error[k];
        assert!(error < 4.5 && phase < 4.5, "{k}: {error} {phase}");
        inner += 2;
        beyond_two += usize::from(error > 2.0) + usize::from(phase > 2.0);
        // H₂ takes the noise on y for gain.
        let excess = found.h2[k].norm() * found.coherence[k] / found.h1[k].norm();
        assert!((excess - 1.0).abs() < 1e-12);
    }
    // 4.6 % of a normal distribution lie beyond two standard deviations: the error is neither too
    // small nor too large.
    let share = f64::from(u32::try_from(beyond_two).unwrap()) / f64::from(inner);
    assert!(share > 0.02 && share < 0.08, "{share}");
}

#[test]
fn signals_without_coherence_are_refused_and_gaps_are_counted() {
    let x = noise(1000, 5);
    let settings = SpectrumSettings::new(RATE, 200);
    let still = vec![117.3; 1000];
    for (input, output, what) in [(&still, &x, "the input"), (&x, &still, "the output")] {
        let cross = cross_spectrum(input, output, &settings).unwrap();
        let text = cross.transfer_function().unwrap_err().to_string();
        assert!(text.contains(&format!("{what} stays at 117.3")), "{text}");
    }
    // One segment alone would be coherent with anything.
    let one = cross_spectrum(&x[..250], &x[250..500], &settings).unwrap();
    assert!(
        one.coherence()
            .unwrap_err()
            .to_string()
            .contains("at least 2")
    );
    assert!(cross_spectrum(&x, &x[1..], &settings).is_err());
    let mut gap = x.clone();
    gap[450] = f64::NAN;
    let cross = cross_spectrum(&x, &gap, &settings).unwrap();
    // Segments begin every 100 samples; those from 300 and 400 hold sample 450.
    assert_eq!((cross.segments, cross.skipped), (7, 2));
    let all = cross.coherence().unwrap();
    assert!(all.iter().all(|c| (c - 1.0).abs() < 1e-12));
}
