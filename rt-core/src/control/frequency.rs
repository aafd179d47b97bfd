//! Frequency responses: of a loop cut at a channel, and of the motor by its reference.
//!
//! A cut loop closes with s = L s. Responses are those of −L, so that they read as usual: the point that
//! destabilises is −1, at 0 dB and −180°.

use super::assessment::{AssessmentError, ChannelMargins, Prepared, Tuning};
use super::closed_loop::{Channel, OpenLoop};
use super::margins::{MarginError, Sensitivity};
use super::predictive::{LinearRig, PredictiveChannel, PredictiveDesign, PreparedPredictive};
use super::spectrum::eigenvalues;
use nalgebra::{Complex, DMatrix, DVector};
use std::f64::consts::TAU;

/// z = exp(iωT).
fn on_circle(frequency_hz: f64, period_s: f64) -> Complex<f64> {
    Complex::from_polar(1.0, TAU * frequency_hz * period_s)
}

/// A loop cut at one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct CutResponse {
    /// −L at each frequency.
    pub ratio: Vec<Complex<f64>>,
    /// Margins there; `None` if the closed loop is unstable.
    pub margins: Option<ChannelMargins>,
}

/// A loop cut at each of its channels in turn, C their names.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopResponses<C> {
    /// Spectral radius of the closed loop.
    pub rho_loop: f64,
    /// By channel.
    pub cuts: [(C, CutResponse); 3],
}

/// −L = 1/S − 1 at frequencies in Hz, from the eigenvalues of the closed loop; see
/// [`super::margins`] for S.
pub fn return_ratio(
    open: &OpenLoop,
    poles: &[Complex<f64>],
    frequencies_hz: &[f64],
) -> Result<Vec<Complex<f64>>, MarginError> {
    let states = open.a.nrows();
    let zeros = eigenvalues(&open.a).ok_or(MarginError::Eigenvalues { states })?;
    let sensitivity = Sensitivity {
        zeros: &zeros,
        poles,
        gain: 1.0 / (1.0 - open.d),
    };
    let at = |f: &f64| sensitivity.at(TAU * f * open.period_s).s.inv() - 1.0;
    Ok(frequencies_hz.iter().map(at).collect())
}

fn responses<C: Copy>(
    channels: [C; 3],
    cut: impl Fn(C) -> OpenLoop,
    frequencies_hz: &[f64],
) -> Result<LoopResponses<C>, AssessmentError> {
    let opened = channels.map(|channel| (channel, cut(channel)));
    let poles = eigenvalues(&opened[0].1.closed(1.0)).ok_or(AssessmentError::Eigenvalues)?;
    let rho_loop = poles.first().map_or(0.0, |z| z.norm());
    let at = |(channel, open): &(C, OpenLoop)| {
        let ratio = return_ratio(open, &poles, frequencies_hz).map_err(AssessmentError::Margins)?;
        let margins = (rho_loop < 1.0).then(|| ChannelMargins::of(open, &poles));
        let margins = margins.transpose()?;
        Ok::<_, AssessmentError>((*channel, CutResponse { ratio, margins }))
    };
    let [first, second, third] = &opened;
    Ok(LoopResponses {
        rho_loop,
        cuts: [at(first)?, at(second)?, at(third)?],
    })
}

impl Prepared {
    /// The loop of a tuning, cut at each of its channels.
    pub fn responses(
        &self,
        tuning: &Tuning,
        frequencies_hz: &[f64],
    ) -> Result<LoopResponses<Channel>, AssessmentError> {
        let parts = self.loop_parts(tuning, Some(tuning.gains(self.rig())?));
        let channels = [Channel::Reference, Channel::Control, Channel::Force];
        responses(channels, |channel| parts.open(channel), frequencies_hz)
    }
}

impl PreparedPredictive {
    /// The loop of a design, cut at each of its channels.
    pub fn responses(
        &self,
        design: &PredictiveDesign,
        frequencies_hz: &[f64],
    ) -> Result<LoopResponses<PredictiveChannel>, AssessmentError> {
        let whole = self.closed(design)?;
        let channels = [
            PredictiveChannel::Reference,
            PredictiveChannel::Position,
            PredictiveChannel::Force,
        ];
        responses(channels, |channel| whole.open(channel), frequencies_hz)
    }
}

impl LinearRig {
    /// Position of the motor by the reference as a bench commands it: sent a cycle later, held over a
    /// cycle. `None` where there is no answer because the rig is undamped there.
    pub fn motor_response(&self, period_s: f64, frequency_hz: f64) -> Option<Complex<f64>> {
        let z = on_circle(frequency_hz, period_s);
        let n = self.states();
        let matrix = DMatrix::from_fn(n, n, |i, j| {
            let own = if i == j { z } else { Complex::from(0.0) };
            own - self.a[(i, j)]
        });
        // x z = A x + (B₀ + B₁/z) s, s = r/z.
        let input = DVector::from_fn(n, |i, _| (self.b0[i] + self.b1[i] / z) / z);
        let x = matrix.lu().solve(&input)?;
        Some(x[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::assessment::{ForceFilter, Surroundings, Wire};
    use crate::control::predictive::{PredictiveRig, PredictiveSurroundings, PredictiveTuning};
    use crate::control::state_space::RigModel;
    use crate::model::interaction_mass::MassForm;
    use crate::model::moving_string::MovingString;
    use crate::model::pantograph::{LumpedMass, Pantograph, Uplift};

    const PERIOD_S: f64 = 2e-3;

    fn pantograph() -> Pantograph {
        let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
            mass_kg,
            stiffness_n_per_m,
            damping_ns_per_m,
        };
        Pantograph {
            name: "two masses".into(),
            masses: vec![mass(6.6, 7e3, 20.0), mass(11.0, 80.0, 70.0)],
            uplift: Uplift {
                static_n: 70.0,
                per_kmh2_n: 0.0,
            },
        }
    }

    fn prepared() -> Prepared {
        let surroundings = Surroundings {
            wire: Wire::String(MovingString::HIGH_SPEED_300),
            pantograph: pantograph(),
            pad_stiffness_n_per_m: 240e3,
            force_filter: ForceFilter::FirstOrder { cutoff_hz: 100.0 },
            extra_delay_steps: 1,
            mass: MassForm::IMPLICIT,
            exact_rig: Some(PredictiveRig::TUR_2024),
        };
        Prepared::new(&RigModel::TUR_2024, &surroundings).unwrap()
    }

    /// cᵀ(z − A)⁻¹b + d, with nothing but a solver.
    fn solved(open: &OpenLoop, f: f64) -> Complex<f64> {
        let z = on_circle(f, open.period_s);
        let n = open.a.nrows();
        let complex = |m: &DMatrix<f64>| m.map(Complex::from);
        let matrix = DMatrix::identity(n, n) * z - complex(&open.a);
        let b = open.b.map(Complex::from);
        let x = matrix.lu().solve(&b).unwrap();
        open.c.map(Complex::from).dot(&x) + open.d
    }

    #[test]
    fn the_ratio_of_every_channel_is_that_of_its_matrices() {
        let frequencies = [0.5, 2.0, 7.3, 20.0, 33.8, 60.0, 120.0, 249.0];
        let close = |name: &str, ratio: &[Complex<f64>], open: &OpenLoop| {
            for (found, f) in ratio.iter().zip(frequencies) {
                let expected = -solved(open, f);
                // 1/S − 1 loses what L is smaller than 1.
                let scale = expected.norm().max(1.0);
                assert!(
                    (found - expected).norm() < 1e-7 * scale,
                    "{name} at {f} Hz: {found}, expected {expected}"
                );
            }
        };
        let prepared = prepared();
        let tuning = Tuning::TUR_2024;
        let found = prepared.responses(&tuning, &frequencies).unwrap();
        let gains = tuning.gains(prepared.rig()).unwrap();
        let parts = prepared.loop_parts(&tuning, Some(gains));
        for (channel, cut) in &found.cuts {
            close(&format!("{channel:?}"), &cut.ratio, &parts.open(*channel));
        }
        let assessed = prepared.assess(&tuning).unwrap();
        assert!((assessed.rho_loop - found.rho_loop).abs() < 1e-9);
        // With an extra cycle of delay this one is unstable: ratios, but no margins.
        assert_eq!(
            found.cuts.iter().all(|(_, cut)| cut.margins.is_some()),
            assessed.margins.is_some()
        );

        let rig = PredictiveRig::TUR_2024;
        let surroundings = PredictiveSurroundings {
            wire: Wire::String(MovingString::HIGH_SPEED_300),
            rig,
            pantograph: pantograph(),
            extra_delay_cycles: 0,
        };
        let prepared = PreparedPredictive::new(&surroundings).unwrap();
        let design = PredictiveDesign::new(&rig, &pantograph(), &PredictiveTuning::ROBUST).unwrap();
        let found = prepared.responses(&design, &frequencies).unwrap();
        let whole = prepared.closed(&design).unwrap();
        for (channel, cut) in &found.cuts {
            close(&format!("{channel:?}"), &cut.ratio, &whole.open(*channel));
            assert!(cut.margins.is_some());
        }
    }

    /// A sine fed in after the cut, cycle by cycle, until all else has died away; what arrives before the
    /// cut is then the sine times L. The cut loop of this channel is stable by itself.
    #[test]
    fn a_sine_through_the_loop_comes_out_as_the_ratio_says() {
        let rig = PredictiveRig::TUR_2024;
        let surroundings = PredictiveSurroundings {
            wire: Wire::String(MovingString::HIGH_SPEED_300),
            rig,
            pantograph: pantograph(),
            extra_delay_cycles: 0,
        };
        let prepared = PreparedPredictive::new(&surroundings).unwrap();
        let design = PredictiveDesign::new(&rig, &pantograph(), &PredictiveTuning::ROBUST).unwrap();
        let open = prepared
            .closed(&design)
            .unwrap()
            .open(PredictiveChannel::Reference);
        let own = eigenvalues(&open.a).unwrap()[0].norm();
        assert!(own < 1.0, "the cut loop has the radius {own}");
        let settle = (-14.0 / own.log10()).ceil().max(1000.0) as usize;
        let found = prepared.responses(&design, &[5.0, 20.0, 50.0]).unwrap();
        for (k, f) in [5.0, 20.0, 50.0].into_iter().enumerate() {
            let mut x = DVector::zeros(open.a.nrows());
            // Whole periods of all three frequencies.
            let count = 500;
            let mut sum = Complex::from(0.0);
            for n in 0..settle + count {
                let turn = on_circle(f, open.period_s).powu(n as u32);
                let fed_in = turn.re;
                let arrived = open.c.dot(&x) + open.d * fed_in;
                x = &open.a * x + &open.b * fed_in;
                if n >= settle {
                    sum += turn.conj() * (2.0 * arrived / count as f64);
                }
            }
            let ratio = found.cuts[0].1.ratio[k];
            assert!(
                (-sum - ratio).norm() < 1e-6 * ratio.norm().max(1.0),
                "{f} Hz: {ratio}, the sine says {}",
                -sum
            );
        }
    }

    /// The step response of ω²/(s² + 2ζωs + ω²) is 1 + 2 Re(c eᵖᵗ) with its pole p and c = p̄/(p − p̄); a
    /// reference held over cycles is a sum of steps, whose samples add up to geometric series.
    #[test]
    fn the_motor_answers_as_its_closed_form() {
        for (zeta, delay_s, load) in [(0.424, 0.0, 1), (0.2, 7e-4, 1), (0.8, 1.3e-3, 2)] {
            let rig = PredictiveRig {
                motor_damping_ratio: zeta,
                reference_delay_s: delay_s,
                force_delay_cycles: load,
                ..PredictiveRig::TUR_2024
            };
            let w = rig.motor_omega_rad_per_s;
            let pole = Complex::new(-zeta * w, w * (1.0 - zeta * zeta).sqrt());
            let c = pole.conj() / (pole - pole.conj());
            let linear = LinearRig::new(&rig, &pantograph());
            for f in [0.5, 10.0, 33.8, 100.0, 250.0] {
                let z = on_circle(f, PERIOD_S);
                // Σ_{n≥1} y(nT − δ) z⁻ⁿ of the step: y = 1 + 2 Re(c e^{p(nT − δ)}).
                let sum_of = |amount: Complex<f64>, pole: Complex<f64>| {
                    let per_step = (pole * PERIOD_S).exp() / z;
                    amount * (-pole * delay_s).exp() * per_step / (1.0 - per_step)
                };
                let held = 1.0 - 1.0 / z;
                let steps = sum_of(c, pole) + sum_of(c.conj(), pole.conj());
                let constant = 1.0 / z;
                // One more cycle until it is sent.
                let expected = (constant + held * steps) / z;
                let found = linear.motor_response(PERIOD_S, f).unwrap();
                assert!(
                    (found - expected).norm() < 1e-10,
                    "ζ {zeta}, δ {delay_s}, {f} Hz: {found}, expected {expected}"
                );
            }
        }
    }
}
