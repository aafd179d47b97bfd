//! From the measured force to the wire's height, span after span, until both repeat.
//!
//! The force of one span is kept in a block f̃ with one place for each step. A measured value relaxes its place,
//! f̃ ← f̃ + α (f − f̃), and the block's spectrum F̂ follows by the same increment (Gil et al. 2022, equations
//! 12 to 15, with the block that is relaxed in place of the force measured before: the printed form
//! converges to the solution of α times the line). *Single step* uses the new spectrum at once, *full span*
//! in the next span, into which it is eased so that the wire does not jump where spans meet.

use super::tables::Tables;
use crate::signal::ease::smooth_step;
use nalgebra::Complex;
use std::f64::consts::TAU;

/// A full span's force is eased in over this part of the next span.
const EASED_PART: usize = 4;

/// When a measured force reaches the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Mode {
    /// In the next step.
    SingleStep,
    /// In the next span.
    FullSpan,
}

/// What a whole span showed, in the harmonics that the bench keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanSummary {
    /// Mean of the measured force, in N.
    pub mean: f64,
    /// Its standard deviation, in N.
    pub std: f64,
    /// Root mean square of its difference to the span before, in parts of the deviation; no number for the first.
    pub change: f64,
    /// Root mean square of its difference to the block that the wire was computed from, in parts of the deviation.
    pub residual: f64,
    /// Root mean square of its difference to the reference, in parts of the reference's deviation.
    pub error: f64,
}

/// See the module's text. Nothing allocates after it is built.
#[derive(Clone, Debug)]
pub struct Iteration {
    mode: Mode,
    /// e^{−2πi n/N}.
    turns: Vec<Complex<f64>>,
    block: Vec<f64>,
    /// F̂ that the wire is computed from.
    spectrum: Vec<Complex<f64>>,
    /// Increments that wait for the end of the span, and those that are eased in.
    waiting: Vec<Complex<f64>>,
    entering: Vec<Complex<f64>>,
    /// Steps of easing that are done.
    eased: usize,
    /// Spectra of the measured force and of its difference to the block in the span so far.
    measured: Vec<Complex<f64>>,
    missed: Vec<Complex<f64>>,
    /// Spectrum of the span before.
    before: Vec<Complex<f64>>,
    has_before: bool,
    /// Harmonics that the measured ones are compared with, in N.
    reference: Vec<Complex<f64>>,
    /// What the force's filter leaves of each harmonic.
    gains: Vec<f64>,
}

impl Iteration {
    /// For spans of `steps` cycles; `reference` holds the K harmonics that the solution should have, in N, and
    /// `gains` what a filter has left of each in the force that is taken.
    pub fn new(mode: Mode, steps: usize, reference: &[Complex<f64>], gains: &[f64]) -> Self {
        let zero = vec![Complex::from(0.0); reference.len()];
        Self {
            mode,
            turns: (0..steps)
                .map(|n| Complex::from_polar(1.0, -TAU * n as f64 / steps as f64))
                .collect(),
            block: vec![0.0; steps],
            spectrum: zero.clone(),
            waiting: zero.clone(),
            entering: zero.clone(),
            eased: usize::MAX,
            measured: zero.clone(),
            missed: zero.clone(),
            before: zero,
            has_before: false,
            reference: reference.to_vec(),
            gains: gains.to_vec(),
        }
    }

    /// Cycles of a span.
    pub fn steps(&self) -> usize {
        self.block.len()
    }

    /// Forgets every force.
    pub fn reset(&mut self) {
        self.block.fill(0.0);
        let zero = Complex::from(0.0);
        for spectrum in [
            &mut self.spectrum,
            &mut self.waiting,
            &mut self.entering,
            &mut self.measured,
            &mut self.missed,
            &mut self.before,
        ] {
            spectrum.fill(zero);
        }
        self.has_before = false;
        self.eased = usize::MAX;
    }

    /// Sets the block: for looking at how a disturbance dies away.
    pub fn set_block(&mut self, force: impl Fn(usize) -> f64) {
        self.reset();
        for n in 0..self.steps() {
            self.block[n] = force(n);
            add(&self.turns, n, self.block[n], &mut self.spectrum);
        }
    }

    /// The stored force at a step, in N.
    pub fn stored(&self, step: usize) -> f64 {
        self.block[step]
    }

    /// F̂ that the wire is computed from.
    pub fn spectrum(&self) -> &[Complex<f64>] {
        &self.spectrum
    }

    /// Takes the force in N that was measured at a step.
    #[inline]
    pub fn take(&mut self, step: usize, force: f64, alpha: f64) {
        let difference = force - self.block[step];
        let change = alpha * difference;
        self.block[step] += change;
        self.ease_in();
        let increments = match self.mode {
            Mode::SingleStep => &mut self.spectrum,
            Mode::FullSpan => &mut self.waiting,
        };
        let steps = self.turns.len();
        let mut at = 0;
        let spectra = increments
            .iter_mut()
            .zip(&mut self.measured)
            .zip(&mut self.missed);
        for ((spectrum, measured), missed) in spectra {
            let turn = self.turns[at];
            *spectrum += turn * change;
            *measured += turn * force;
            *missed += turn * difference;
            at += step;
            if at >= steps {
                at -= steps;
            }
        }
    }

    /// Lets a step's part of what the span before has shown reach the wire.
    #[inline]
    fn ease_in(&mut self) {
        let whole = self.steps() / EASED_PART;
        if self.eased >= whole {
            return;
        }
        let part = |done: usize| smooth_step(done as f64 / whole as f64);
        let weight = part(self.eased + 1) - part(self.eased);
        self.eased += 1;
        for (spectrum, entering) in self.spectrum.iter_mut().zip(&self.entering) {
            *spectrum += entering * weight;
        }
    }

    /// A step whose force was not measured, because the loop was late: the stored one stands for it.
    pub fn pass(&mut self, step: usize) {
        self.ease_in();
        add(&self.turns, step, self.block[step], &mut self.measured);
    }

    /// Rise of the wire at a step of tables, in m.
    #[inline]
    pub fn rise(&self, tables: &Tables, step: usize) -> f64 {
        tables.rise(step, &self.spectrum)
    }

    /// Ends a span and begins the next.
    pub fn end_span(&mut self) -> SpanSummary {
        if self.mode == Mode::FullSpan {
            std::mem::swap(&mut self.entering, &mut self.waiting);
            self.waiting.fill(Complex::from(0.0));
            self.eased = 0;
        }
        // From here on spectra are harmonics of the true force, in N.
        let scale = 1.0 / self.steps() as f64;
        for spectrum in [&mut self.measured, &mut self.missed] {
            for (value, gain) in spectrum.iter_mut().zip(&self.gains) {
                *value *= scale / gain;
            }
        }
        let size = |values: &mut dyn Iterator<Item = Complex<f64>>| {
            let weighted = values
                .enumerate()
                .map(|(k, v)| if k == 0 { 1.0 } else { 2.0 } * v.norm_sqr());
            weighted.sum::<f64>().sqrt()
        };
        let without_mean = |values: &[Complex<f64>]| {
            (2.0 * values.iter().skip(1).map(|v| v.norm_sqr()).sum::<f64>()).sqrt()
        };
        let mean = self.measured.first().map_or(0.0, |m| m.re);
        let std = without_mean(&self.measured);
        // A force that does not vary is compared with its mean, and nothing at all with itself.
        let unit = |std: f64, mean: f64| std.max(1e-6 * mean.abs()).max(f64::MIN_POSITIVE);
        let own = unit(std, mean);
        let far_from = |other: &[Complex<f64>]| {
            let pairs = self.measured.iter().zip(other);
            size(&mut pairs.map(|(m, o)| m - o))
        };
        let change = if self.has_before {
            far_from(&self.before) / own
        } else {
            f64::NAN
        };
        let reference_mean = self.reference.first().map_or(0.0, |r| r.re);
        let expected = unit(without_mean(&self.reference), reference_mean);
        let summary = SpanSummary {
            mean,
            std,
            change,
            residual: size(&mut self.missed.iter().copied()) / own,
            error: far_from(&self.reference) / expected,
        };
        self.before.copy_from_slice(&self.measured);
        self.has_before = true;
        self.measured.fill(Complex::from(0.0));
        self.missed.fill(Complex::from(0.0));
        summary
    }
}

/// Adds a force at a step to a spectrum.
fn add(turns: &[Complex<f64>], step: usize, force: f64, spectrum: &mut [Complex<f64>]) {
    let mut at = 0;
    for value in spectrum {
        *value += turns[at] * force;
        at += step;
        if at >= turns.len() {
            at -= turns.len();
        }
    }
}
