//! The estimate of a transfer function from a stretch of samples, and the delay in its phase.

use super::super::pickers::Segments;
use crate::analysis::stretch::Grid;
use rt_core::signal::spectrum::cross::{TransferFunction, cross_spectrum};
use std::f64::consts::TAU;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) channels: [String; 2],
    pub(super) segments: Segments,
    pub(super) least_coherence: f64,
    pub(super) up_to_hz: Option<f64>,
}

pub(super) struct Estimated {
    pub(super) transfer: TransferFunction,
    pub(super) segments: u64,
    pub(super) skipped: u64,
    /// Delay of the coherent points in s, if there are enough.
    pub(super) delay_s: Option<f64>,
}

/// In a thread of its own.
pub(super) fn compute(settings: &Settings, grid: &Grid) -> Result<Estimated, String> {
    let [input, output] = grid.channels.as_slice() else {
        return Err("Choose an input and an output above.".into());
    };
    let welch = settings.segments.settings(grid.rate_hz());
    let cross = cross_spectrum(input, output, &welch).map_err(|e| e.to_string())?;
    let transfer = cross.transfer_function().map_err(|e| e.to_string())?;
    let up_to_hz = settings.up_to_hz.unwrap_or(f64::INFINITY);
    Ok(Estimated {
        delay_s: delay_s(&transfer, settings.least_coherence, up_to_hz),
        transfer,
        segments: cross.segments,
        skipped: cross.skipped,
    })
}

/// τ of the straight line φ = φ₀ − 2π f τ through the coherent points up to a frequency, as long as |H| is not
/// below 1/√2 of the first of them (least squares, phases unwrapped from point to point); `None` of fewer than
/// three points. Above its bandwidth the phase of a system says little about its delay.
fn delay_s(transfer: &TransferFunction, least_coherence: f64, up_to_hz: f64) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut first_size = None;
    let all = transfer
        .frequencies_hz
        .iter()
        .zip(&transfer.h1)
        .zip(&transfer.coherence);
    for ((f, h), coherence) in all.skip(1) {
        let phase = h.arg();
        if *coherence < least_coherence || !phase.is_finite() || *f > up_to_hz {
            continue;
        }
        if h.norm() < *first_size.get_or_insert(h.norm()) / 2_f64.sqrt() {
            break;
        }
        let before = points.last().map_or(phase, |p| p.1);
        points.push((*f, phase - TAU * ((phase - before) / TAU).round()));
    }
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_f = points.iter().map(|p| p.0).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(f, phase)| (f - mean_f) * phase).sum();
    let variance: f64 = points.iter().map(|(f, _)| (f - mean_f).powi(2)).sum();
    Some(-covariance / variance / TAU)
}
