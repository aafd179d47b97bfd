//! Peaks of a spectrum: where they are, how high, and how much of the signal is in them.

use rt_core::signal::spectrum::density::Density;

/// One peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Frequency in Hz, between the lines of the spectrum where a parabola through three of them is highest.
    pub frequency_hz: f64,
    /// Density of its highest line, in unit² / Hz.
    pub density: f64,
    /// Root mean square of what lies within two lines on each side, in the unit.
    pub rms: f64,
}

/// How much a peak stands above the lowest line between it and a higher one: four times (6 dB).
const PROMINENCE: f64 = 4.0;
/// Lines on each side that belong to a peak; a sine under a Hann window takes these.
const WIDTH: usize = 2;

/// The highest peaks up to a frequency, at most so many, the highest first.
pub fn peaks(density: &Density, up_to_hz: f64, most: usize) -> Vec<Peak> {
    let s = &density.density;
    let last = density.frequencies_hz.partition_point(|f| *f <= up_to_hz);
    let top = s.iter().take(last).copied().fold(0.0, f64::max);
    let mut found: Vec<usize> = (1..last.min(s.len().saturating_sub(1)))
        .filter(|k| s[*k] >= s[k - 1] && s[*k] > s[k + 1])
        // What is a millionth of a millionth is rounding.
        .filter(|k| s[*k] > 1e-12 * top && s[*k] >= PROMINENCE * base(s, *k))
        .collect();
    found.sort_by(|a, b| s[*b].total_cmp(&s[*a]));
    found.truncate(most);
    found.into_iter().map(|k| peak(density, k)).collect()
}

/// The higher of the lowest lines on both sides, each looked for up to a line that is higher than the peak.
fn base(s: &[f64], k: usize) -> f64 {
    let lowest = |lines: &mut dyn Iterator<Item = &f64>| {
        lines
            .take_while(|v| **v <= s[k])
            .copied()
            .fold(s[k], f64::min)
    };
    // Line 0 is what is left of the mean.
    let left = lowest(&mut s[1..k].iter().rev());
    let right = lowest(&mut s[k + 1..].iter());
    left.max(right)
}

fn peak(density: &Density, k: usize) -> Peak {
    let s = &density.density;
    // The lines of a window's main lobe lie on a parabola of their logarithms, nearly.
    let [a, b, c] = [s[k - 1], s[k], s[k + 1]].map(|v| v.max(f64::MIN_POSITIVE).ln());
    let curvature = a - 2.0 * b + c;
    let shift = if curvature < 0.0 {
        0.5 * (a - c) / curvature
    } else {
        0.0
    };
    let lines = &s[k.saturating_sub(WIDTH)..(k + WIDTH + 1).min(s.len())];
    Peak {
        frequency_hz: density.frequencies_hz[k] + shift * density.resolution_hz,
        density: s[k],
        rms: (lines.iter().sum::<f64>() * density.resolution_hz).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::signal::spectrum::SpectrumSettings;
    use rt_core::signal::spectrum::density::welch;
    use std::f64::consts::TAU;

    /// Two sines on noise: frequency and root mean square A/√2 are known.
    #[test]
    fn sines_are_found_where_they_are_with_their_power() {
        let mut random = 12345_u64;
        let mut noise = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let signal: Vec<f64> = (0..20_000)
            .map(|n| {
                let t = f64::from(n) * 0.002;
                100.0 + 8.0 * (TAU * 8.57 * t).sin() + 3.0 * (TAU * 31.0 * t).sin() + noise()
            })
            .collect();
        let density = welch(&signal, &SpectrumSettings::new(500.0, 2_000)).unwrap();
        let found = peaks(&density, 250.0, 2);
        for (peak, (frequency, amplitude)) in found.iter().zip([(8.57, 8.0), (31.0, 3.0)]) {
            // The parabola is right within a few hundredths of a line of 0.25 Hz.
            assert!((peak.frequency_hz - frequency).abs() < 0.01, "{peak:?}");
            let rms = amplitude / 2_f64.sqrt();
            assert!((peak.rms - rms).abs() < 0.01 * rms, "{peak:?} {rms}");
        }
        assert_eq!(found.len(), 2);
        assert_eq!(
            peaks(&density, 20.0, 5).len(),
            1,
            "only one below 20 Hz stands out"
        );
    }

    #[test]
    fn nothing_stands_out_of_a_slope_or_of_nothing() {
        let density = |s: Vec<f64>| Density {
            frequencies_hz: (0..s.len()).map(|k| k as f64).collect(),
            density: s,
            segments: 1,
            skipped: 0,
            effective_averages: 1.0,
            resolution_hz: 1.0,
            nyquist_hz: 100.0,
        };
        assert!(
            peaks(
                &density((1..100).map(|k| 1.0 / f64::from(k)).collect()),
                1e9,
                5
            )
            .is_empty()
        );
        assert!(peaks(&density(vec![0.0; 50]), 1e9, 5).is_empty());
        assert!(peaks(&density(vec![1.0]), 1e9, 5).is_empty());
    }
}
