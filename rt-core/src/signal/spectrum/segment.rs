//! Cutting a stream into overlapping segments, and the weighted transform of one segment.

use super::{Detrend, SpectrumSettings};
use crate::signal::error::AnalysisError;
use nalgebra::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// The last N samples, and when the next segment is complete.
#[derive(Clone, Debug)]
pub(super) struct SegmentBuffer {
    ring: Vec<f64>,
    next: usize,
    until_complete: usize,
    hop: usize,
    known_in_a_row: usize,
}

/// What a sample completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    Nothing,
    Segment,
    /// A segment with an unknown sample in it.
    SegmentWithGap,
}

impl SegmentBuffer {
    pub(super) fn new(settings: &SpectrumSettings) -> Self {
        Self {
            ring: vec![0.0; settings.segment],
            next: 0,
            until_complete: settings.segment,
            hop: settings.hop(),
            known_in_a_row: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.next = 0;
        self.until_complete = self.ring.len();
        self.known_in_a_row = 0;
    }

    pub(super) fn push(&mut self, sample: f64) -> Completed {
        self.ring[self.next] = sample;
        self.next = (self.next + 1) % self.ring.len();
        self.known_in_a_row = if sample.is_finite() {
            self.known_in_a_row.saturating_add(1)
        } else {
            0
        };
        self.until_complete -= 1;
        if self.until_complete > 0 {
            return Completed::Nothing;
        }
        self.until_complete = self.hop;
        if self.known_in_a_row >= self.ring.len() {
            Completed::Segment
        } else {
            Completed::SegmentWithGap
        }
    }

    /// The samples, oldest first.
    pub(super) fn samples(&self) -> impl Iterator<Item = f64> + '_ {
        let (newer, older) = self.ring.split_at(self.next);
        older.iter().chain(newer).copied()
    }
}

/// Detrends, weights and transforms segments with memory of its own.
#[derive(Clone)]
pub(super) struct SegmentTransform {
    plan: Arc<dyn RealToComplex<f64>>,
    weights: Vec<f64>,
    detrend: Detrend,
    input: Vec<f64>,
    scratch: Vec<Complex<f64>>,
}

impl SegmentTransform {
    pub(super) fn new(settings: &SpectrumSettings) -> Result<Self, AnalysisError> {
        settings.check()?;
        let plan = RealFftPlanner::new().plan_fft_forward(settings.segment);
        Ok(Self {
            weights: settings.window.weights(settings.segment),
            detrend: settings.detrend,
            input: plan.make_input_vec(),
            scratch: plan.make_scratch_vec(),
            plan,
        })
    }

    /// X_k = Σ_n w_n (x_n − mean) e^{−2πjkn/N} into `output`, N/2 + 1 values. Without allocation.
    pub(super) fn run(
        &mut self,
        samples: impl Iterator<Item = f64>,
        output: &mut [Complex<f64>],
    ) -> Result<(), AnalysisError> {
        let mut sum = 0.0;
        for (place, sample) in self.input.iter_mut().zip(samples) {
            *place = sample;
            sum += sample;
        }
        let offset = match self.detrend {
            Detrend::Constant => sum / self.input.len() as f64,
            Detrend::Nothing => 0.0,
        };
        for (sample, weight) in self.input.iter_mut().zip(&self.weights) {
            *sample = (*sample - offset) * weight;
        }
        let found = output.len();
        // Lengths are all that the transform can complain of.
        self.plan
            .process_with_scratch(&mut self.input, output, &mut self.scratch)
            .map_err(|_| AnalysisError::Length {
                what: "the spectrum",
                found,
                other: "the transform",
                expected: self.weights.len() / 2 + 1,
            })
    }
}
