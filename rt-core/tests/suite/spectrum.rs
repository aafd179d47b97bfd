//! Spectra against scipy (`reference/spectrum_reference.py`) and against closed forms.

use crate::support::Reference;
use crate::support::numbers::{assert_close, noise};
use nalgebra::Complex;
use rt_core::signal::spectrum::cross::{LiveCrossSpectrum, cross_spectrum};
use rt_core::signal::spectrum::density::{LiveDensity, welch};
use rt_core::signal::spectrum::spectrogram::spectrogram;
use rt_core::signal::spectrum::{Detrend, SpectrumSettings, Window};
use std::f64::consts::PI;

const RATE: f64 = 500.0;

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
