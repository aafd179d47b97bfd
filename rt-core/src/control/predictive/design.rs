//! From the parameters of a rig to everything that the controller multiplies with.

use super::model::{self, Cycle, FirstOrderHold, MOTOR, Places};
use super::preview::PreviewLaw;
use crate::control::riccati::{self, RiccatiError};
use crate::file::{FieldError, FileContent, require_not_negative, require_positive};
use crate::model::pantograph::Pantograph;
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

/// Most cycles by which the force may be read late.
const MOST_FORCE_DELAY: usize = 5;

/// What is known of the rig.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictiveRig {
    /// Natural frequency ω of the motor with its drive, in rad/s.
    pub motor_omega_rad_per_s: f64,
    /// Damping ratio ζ of the motor with its drive.
    pub motor_damping_ratio: f64,
    /// How far a newton of contact force lifts the motor at rest, in m/N; 0 for a drive that does not
    /// yield.
    pub motor_load_m_per_n: f64,
    /// Stiffness k_h of the pad between motor and head, in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Corner of the first-order force filter, in Hz.
    pub force_filter_hz: f64,
    /// Delay δ of the reference on top of the loop's own cycle, below one cycle, in s.
    pub reference_delay_s: f64,
    /// Whole cycles by which the force is read late.
    pub force_delay_cycles: usize,
    /// Cycle of the loop, in s.
    pub period_s: f64,
}

impl PredictiveRig {
    /// The rig of Tur et al. 2024, Table 2 (m 10 kg, c 1800 N s/m, k 450 kN/m), 100 Hz force filter.
    pub const TUR_2024: Self = Self {
        motor_omega_rad_per_s: 212.132_034_355_964_27,
        motor_damping_ratio: 0.424_264_068_711_928_5,
        motor_load_m_per_n: 0.0,
        pad_stiffness_n_per_m: 240e3,
        force_filter_hz: 100.0,
        reference_delay_s: 0.0,
        force_delay_cycles: 0,
        period_s: 2e-3,
    };

    /// Where the states are with this pantograph.
    pub fn places(&self, pantograph: &Pantograph) -> Places {
        Places {
            masses: pantograph.masses.len(),
            force_delay: self.force_delay_cycles,
        }
    }

    pub(crate) fn check(&self) -> Result<(), FieldError> {
        require_positive("motor_omega_rad_per_s", self.motor_omega_rad_per_s, "rad/s")?;
        require_not_negative("motor_damping_ratio", self.motor_damping_ratio, "")?;
        require_not_negative("motor_load_m_per_n", self.motor_load_m_per_n, "m/N")?;
        require_positive("pad_stiffness_n_per_m", self.pad_stiffness_n_per_m, "N/m")?;
        require_positive("force_filter_hz", self.force_filter_hz, "Hz")?;
        require_positive("period_s", self.period_s, "s")?;
        if !(self.reference_delay_s >= 0.0 && self.reference_delay_s < self.period_s) {
            return Err(FieldError::new(
                "reference_delay_s",
                format!(
                    "is {} s; expected at least 0 and less than the period of {} s",
                    self.reference_delay_s, self.period_s
                ),
            ));
        }
        if self.force_delay_cycles > MOST_FORCE_DELAY {
            return Err(FieldError::new(
                "force_delay_cycles",
                format!(
                    "is {}; expected at most {MOST_FORCE_DELAY}",
                    self.force_delay_cycles
                ),
            ));
        }
        Ok(())
    }
}

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictiveTuning {
    /// Stiffness k_i between pad and wire, in N/m.
    pub interaction_stiffness_n_per_m: f64,
    /// k̂_h / k_h. Erring high is what makes the loop robust.
    pub pad_factor: f64,
    /// λ: weight of the distance between reference and target.
    pub distance_weight: f64,
    /// q_r: weight of the changes of that distance.
    pub change_weight: f64,
    /// Expected disturbance: force on the head, in N.
    pub head_force_n: f64,
    /// Expected disturbance: reference, in m.
    pub reference_m: f64,
    /// Expected disturbance: velocity of the motor, in m/s.
    pub motor_velocity_m_per_s: f64,
    /// Expected disturbance: step of the uplift within a cycle, in N.
    pub uplift_step_n: f64,
    /// Noise of the measured motor position, in m.
    pub position_noise_m: f64,
    /// Noise of the measured force, in N.
    pub force_noise_n: f64,
    /// Lowest reference that is sent, in m.
    pub reference_low_m: f64,
    /// Highest reference that is sent, in m.
    pub reference_high_m: f64,
}

impl PredictiveTuning {
    /// Holds several milliseconds of delay that it does not know.
    pub const ROBUST: Self = Self {
        interaction_stiffness_n_per_m: 50e3,
        pad_factor: 1.15,
        distance_weight: 0.03,
        change_weight: 0.03,
        head_force_n: 30.0,
        reference_m: 0.3e-3,
        motor_velocity_m_per_s: 1e-4,
        uplift_step_n: 0.5,
        position_noise_m: 20e-6,
        force_noise_n: 3.0,
        reference_low_m: -0.15,
        reference_high_m: 0.15,
    };

    /// Follows more closely, bears less.
    pub const FAST: Self = Self {
        pad_factor: 1.0,
        change_weight: 0.0,
        ..Self::ROBUST
    };

    fn check(&self) -> Result<(), FieldError> {
        require_positive(
            "interaction_stiffness_n_per_m",
            self.interaction_stiffness_n_per_m,
            "N/m",
        )?;
        require_positive("pad_factor", self.pad_factor, "")?;
        require_positive("distance_weight", self.distance_weight, "")?;
        require_not_negative("change_weight", self.change_weight, "")?;
        require_positive("head_force_n", self.head_force_n, "N")?;
        require_not_negative("reference_m", self.reference_m, "m")?;
        require_not_negative("motor_velocity_m_per_s", self.motor_velocity_m_per_s, "m/s")?;
        require_positive("uplift_step_n", self.uplift_step_n, "N")?;
        require_positive("position_noise_m", self.position_noise_m, "m")?;
        require_positive("force_noise_n", self.force_noise_n, "N")?;
        if !(self.reference_low_m.is_finite()
            && self.reference_high_m.is_finite()
            && self.reference_low_m < self.reference_high_m)
        {
            return Err(FieldError::new(
                "reference_low_m",
                format!(
                    "is {} m and reference_high_m {} m; expected finite values, the low one below \
                     the high one",
                    self.reference_low_m, self.reference_high_m
                ),
            ));
        }
        Ok(())
    }
}

/// Why there is no controller.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictiveError {
    /// A parameter makes no sense.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// No observer.
    #[error("the observer of the rig cannot be designed: {0}")]
    Observer(#[from] RiccatiError),
    /// No preview law.
    #[error(
        "the preview law of the motor cannot be designed; check the motor's frequency against the \
         period and raise distance_weight"
    )]
    NoPreviewLaw,
    /// The wire is stepped with another period.
    #[error(
        "the wire model steps by {wire_s} s and the controller by {period_s} s; build the wire model \
         for the controller's period"
    )]
    Period {
        /// Of the wire model.
        wire_s: f64,
        /// Of the design.
        period_s: f64,
    },
}

/// Everything that the controller multiplies with; made off the real-time thread, swapped as one.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictiveDesign {
    /// What it was made for.
    pub rig: PredictiveRig,
    /// What was chosen.
    pub tuning: PredictiveTuning,
    /// Where the states are.
    pub places: Places,
    /// k̂_h, in N/m.
    pub pad: f64,
    /// Stiffnesses of the pantograph's springs from the head down, in N/m.
    pub springs: Vec<f64>,
    /// The rig while the pad touches the head.
    pub touching: Cycle,
    /// The rig while it does not.
    pub apart: Cycle,
    /// Observer gain L on the innovations of [u_m, force], newest measurement.
    pub gain: DMatrix<f64>,
    /// Gain on the motor's position and velocity while the pad does not touch.
    pub motor_gain: Vector2<f64>,
    /// (C P Cᵀ + V)⁻¹: how much innovation is to be expected.
    pub innovation_inverse: Matrix2<f64>,
    /// Largest |eigenvalue| of the estimation error.
    pub observer_radius: f64,
    /// The pantograph on the pad, motor moving evenly.
    pub hold: FirstOrderHold,
    /// The pantograph away from the pad.
    pub flight: FirstOrderHold,
    /// r(k+1).
    pub preview: PreviewLaw,
}

impl PredictiveDesign {
    /// For a rig with a pantograph on it.
    pub fn new(
        rig: &PredictiveRig,
        pantograph: &Pantograph,
        tuning: &PredictiveTuning,
    ) -> Result<Self, PredictiveError> {
        rig.check()?;
        tuning.check()?;
        pantograph.check().map_err(|e| e.within("pantograph"))?;
        let pad = tuning.pad_factor * rig.pad_stiffness_n_per_m;
        let places = rig.places(pantograph);
        let touching = model::cycle(rig, pantograph, pad);
        let apart = model::cycle(rig, pantograph, 0.0);
        let hold = model::first_order_hold(pantograph, pad, rig.period_s);
        // 1 − g must stay positive: a head that follows the motor fully within a cycle has no force.
        if !(0.0..1.0).contains(&hold.gamma1[0]) {
            return Err(FieldError::new(
                "period_s",
                format!(
                    "of {} s is too long for this head on this pad: it must be well below the period \
                     of their oscillation",
                    rig.period_s
                ),
            )
            .into());
        }
        let (gain, innovation_inverse, observer_radius) = observer(&touching, places, tuning)?;
        Ok(Self {
            rig: *rig,
            tuning: *tuning,
            places,
            pad,
            springs: pantograph
                .masses
                .iter()
                .map(|m| m.stiffness_n_per_m)
                .collect(),

            gain,
            motor_gain: motor_observer(&apart, tuning)?,
            innovation_inverse,
            observer_radius,
            hold,
            flight: model::first_order_hold(pantograph, 0.0, rig.period_s),
            preview: PreviewLaw::design(&apart, tuning.distance_weight, tuning.change_weight)?,
            apart,
            touching,
        })
    }

    /// Stiffness of pad and interaction spring in series, that of a reference, in N/m.
    pub fn contact_stiffness(&self) -> f64 {
        1.0 / (1.0 / self.rig.pad_stiffness_n_per_m
            + 1.0 / self.tuning.interaction_stiffness_n_per_m)
    }
}

/// W of the expected disturbances.
fn disturbance(cycle: &Cycle, places: Places, tuning: &PredictiveTuning) -> DMatrix<f64> {
    let rank_one = |column: &DVector<f64>, std: f64| column * column.transpose() * (std * std);
    let mut w = rank_one(&cycle.head_force, tuning.head_force_n)
        + rank_one(&(&cycle.b0 + &cycle.b1), tuning.reference_m);
    w[(MOTOR + 1, MOTOR + 1)] += tuning.motor_velocity_m_per_s.powi(2);
    let b = places.uplift();
    w[(b, b)] += tuning.uplift_step_n.powi(2);
    w
}

/// P = APAᵀ − APCᵀ(CPCᵀ + V)⁻¹CPAᵀ + W; L = PCᵀ(CPCᵀ + V)⁻¹, (CPCᵀ + V)⁻¹ and the error's radius.
fn observer(
    cycle: &Cycle,
    places: Places,
    tuning: &PredictiveTuning,
) -> Result<(DMatrix<f64>, Matrix2<f64>, f64), PredictiveError> {
    let mut c = DMatrix::zeros(2, places.count());
    c[(0, MOTOR)] = 1.0;
    c[(1, places.read_force())] = 1.0;
    let v = DMatrix::from_diagonal(&DVector::from_vec(vec![
        tuning.position_noise_m.powi(2),
        tuning.force_noise_n.powi(2),
    ]));
    let dual = riccati::solve(
        &cycle.a.transpose(),
        &c.transpose(),
        &disturbance(cycle, places, tuning),
        &v,
    )?;
    let expected = &c * &dual.x * c.transpose() + v;
    let s = Matrix2::from_fn(|i, j| expected[(i, j)]);
    let inverse = s.try_inverse().ok_or(RiccatiError::Weight)?;
    let by_measurement = &dual.x * c.transpose();
    let gain = by_measurement * DMatrix::from_fn(2, 2, |i, j| inverse[(i, j)]);
    Ok((gain, inverse, dual.spectral_radius))
}

/// The same for the motor alone, seen by its position.
fn motor_observer(cycle: &Cycle, tuning: &PredictiveTuning) -> Result<Vector2<f64>, RiccatiError> {
    let a = DMatrix::from_fn(2, 2, |i, j| cycle.a[(MOTOR + j, MOTOR + i)]);
    let b = (&cycle.b0 + &cycle.b1).rows(MOTOR, 2) * tuning.reference_m;
    let mut w = &b * b.transpose();
    w[(1, 1)] += tuning.motor_velocity_m_per_s.powi(2);
    let noise = tuning.position_noise_m.powi(2);
    let c = DMatrix::from_column_slice(2, 1, &[1.0, 0.0]);
    let p = riccati::solve(&a, &c, &w, &DMatrix::from_element(1, 1, noise))?.x;
    let expected = p[(0, 0)] + noise;
    Ok(Vector2::new(p[(0, 0)] / expected, p[(1, 0)] / expected))
}
