//! A tuning judged before it is applied: gains, stability of the whole loop, margins, verdict.

use super::closed_loop::{Channel, LoopParts, OpenLoop, pantograph_on_pad};
use super::kalman::{Kalman, KalmanTuning, NoiseReading, OBSERVED};
use super::lqg::LqgGains;
use super::lqr::{Lqr, LqrWeights};
use super::margins::{MarginError, margins_with_poles};
use super::newmark::LinearPart;
use super::predictive::{LinearRig, PredictiveRig};
use super::riccati::RiccatiError;
use super::spectrum::eigenvalues;
use super::state_space::{Plant, RigModel, STATES};
use crate::file::{FieldError, FileContent, require_positive, require_within};
use crate::model::interaction_mass::MassForm;
use crate::model::moving_string::MovingString;
use crate::model::pantograph::Pantograph;
use crate::signal::butterworth::{DesignError, low_pass};
use crate::signal::filter::Sos;
use nalgebra::{Complex, DMatrix, SMatrix};

/// Everything a technician may turn while the bench runs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// Q, weight of the tracking error: 1e-3 to 1e6.
    pub q: f64,
    /// R, weight of the action: 1e-3 to 1e3.
    pub r: f64,
    /// Q_kf, noise of the force on the pantograph: 1e-2 to 1e4.
    pub q_kf: f64,
    /// R_kf, noise of the measured positions: 1e-6 to 0.1.
    pub r_kf: f64,
    /// Stiffness of the interaction mass in N/m: 1e3 to 1e6.
    pub k_i_n_per_m: f64,
    /// Damping of the interaction mass in N s/m: 0 to 5000.
    pub c_i_ns_per_m: f64,
    /// The interaction mass in kg: 1e-3 to 10.
    pub m_i_kg: f64,
    /// How Q_kf and R_kf are read.
    pub reading: NoiseReading,
    /// Standard deviation of one step of the force bias in N, 1e-3 to 1000; `None` for no such
    /// state, which leaves a tracking error of some millimetres under the mean force.
    pub bias_step_n: Option<f64>,
}

impl Tuning {
    /// Tables 2 and 3 of Tur et al. 2024, with a force bias that keeps the loop stable with the
    /// wire held and on a string (`the_default_is_stable_on_both_wires` in the tests).
    pub const TUR_2024: Self = Self {
        q: 5.0,
        r: 1.0,
        q_kf: 10.0,
        r_kf: 1e-3,
        k_i_n_per_m: 50e3,
        c_i_ns_per_m: 50.0,
        m_i_kg: 0.05,
        reading: NoiseReading::StandardDeviation,
        bias_step_n: Some(10.0),
    };

    /// Refuses values outside the documented ranges.
    pub fn check(&self) -> Result<(), FieldError> {
        require_within("q", self.q, 1e-3, 1e6, "")?;
        require_within("r", self.r, 1e-3, 1e3, "")?;
        require_within("q_kf", self.q_kf, 1e-2, 1e4, "")?;
        require_within("r_kf", self.r_kf, 1e-6, 0.1, "")?;
        require_within("k_i_n_per_m", self.k_i_n_per_m, 1e3, 1e6, "N/m")?;
        require_within("c_i_ns_per_m", self.c_i_ns_per_m, 0.0, 5e3, "N s/m")?;
        require_within("m_i_kg", self.m_i_kg, 1e-3, 10.0, "kg")?;
        self.bias_step_n.map_or(Ok(()), |step| {
            require_within("bias_step_n", step, 1e-3, 1e3, "N")
        })
    }

    /// The rig with this tuning's interaction mass.
    pub fn applied_to(&self, rig: &RigModel) -> RigModel {
        let mut rig = *rig;
        rig.interaction.mass_kg = self.m_i_kg;
        rig.interaction.damping_ns_per_m = self.c_i_ns_per_m;
        rig.interaction.stiffness_n_per_m = self.k_i_n_per_m;
        rig
    }

    pub(super) fn regulator(&self, plant: &Plant) -> Result<Lqr, AssessmentError> {
        let weights = LqrWeights {
            error: self.q,
            action: self.r,
        };
        Lqr::design(plant, &weights).map_err(AssessmentError::Regulator)
    }

    pub(super) fn observer(&self, plant: &Plant) -> Result<Kalman, AssessmentError> {
        let tuning = KalmanTuning {
            process: self.q_kf,
            measurement: self.r_kf,
            reading: self.reading,
            bias_step_n: self.bias_step_n,
        };
        Kalman::design(plant, &tuning).map_err(AssessmentError::Observer)
    }

    /// Gains for a rig; what is swapped at a cycle border.
    pub fn gains(&self, rig: &RigModel) -> Result<LqgGains, AssessmentError> {
        self.check()?;
        let plant = self.applied_to(rig).plant()?;
        Ok(LqgGains {
            lqr: self.regulator(&plant)?,
            kalman: self.observer(&plant)?,
        })
    }
}

/// Why a tuning cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AssessmentError {
    /// A value without meaning.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The filter of the force cannot be made.
    #[error("force filter: {0}")]
    Filter(#[from] DesignError),
    /// No regulator.
    #[error("no regulator for these q, r and interaction mass: {0}")]
    Regulator(RiccatiError),
    /// No observer.
    #[error("no observer for these q_kf, r_kf and interaction mass: {0}")]
    Observer(RiccatiError),
    /// Margins could not be found though the loop is stable.
    #[error("margins: {0}")]
    Margins(MarginError),
    /// Eigenvalues of the rig or of the loop did not settle.
    #[error(
        "the eigenvalues of the rig model or of its loop could not be found; check the rig's \
         parameters"
    )]
    Eigenvalues,
}

/// The wire as the loop feels it.
#[derive(Clone, Debug, PartialEq)]
pub enum Wire {
    /// Does not give way.
    Held,
    /// A string passed at a train speed.
    String(MovingString),
    /// Any other: z⁺ = cᵀ(A x + b F) in steps of the rig's period.
    Part(LinearPart),
}

/// Filter of the measured force.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceFilter {
    /// None.
    None,
    /// Butterworth of first order.
    FirstOrder {
        /// Cut-off in Hz.
        cutoff_hz: f64,
    },
    /// Any other, designed for the rig's period.
    Sections(Sos),
}

/// What the rig meets, beside what its model assumes.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// The wire.
    pub wire: Wire,
    /// The real pantograph.
    pub pantograph: Pantograph,
    /// Stiffness of the real pad in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Filter of the measured force.
    pub force_filter: ForceFilter,
    /// Cycles by which the reference comes later than the rig model says.
    pub extra_delay_steps: usize,
    /// How the interaction mass meets the wire.
    pub mass: MassForm,
    /// The rig as it runs, in place of pad, force filter and the model's motor: held references, exact
    /// motion, delays of its own.
    pub exact_rig: Option<PredictiveRig>,
}

/// Surroundings turned into linear parts once, for many tunings of a rig.
#[derive(Clone, Debug)]
pub struct Prepared {
    rig: RigModel,
    wire: Option<LinearPart>,
    pantograph: LinearPart,
    pad_stiffness_n_per_m: f64,
    force_filter: Option<Sos>,
    extra_delay_steps: usize,
    mass: MassForm,
    exact_rig: Option<LinearRig>,
}

/// The longest extra delay, in cycles.
pub const MOST_DELAY_STEPS: usize = 50;

impl Prepared {
    /// Checks and prepares.
    pub fn new(rig: &RigModel, surroundings: &Surroundings) -> Result<Self, AssessmentError> {
        rig.check()?;
        let pad = surroundings.pad_stiffness_n_per_m;
        require_positive("pad_stiffness_n_per_m", pad, "N/m")?;
        let pantograph = &surroundings.pantograph;
        pantograph.check().map_err(|e| e.within("pantograph"))?;
        check_delay(surroundings.extra_delay_steps)?;
        let wire = match &surroundings.wire {
            Wire::Held => None,
            Wire::String(string) => {
                let part = string.linear_part(rig.period_s);
                Some(part.map_err(|e| e.within("wire"))?)
            }
            Wire::Part(part) => Some(part.clone()),
        };
        let force_filter = match &surroundings.force_filter {
            ForceFilter::None => None,
            ForceFilter::FirstOrder { cutoff_hz } => {
                Some(low_pass(1, *cutoff_hz, 1.0 / rig.period_s)?)
            }
            ForceFilter::Sections(sections) => Some(sections.clone()),
        };
        let exact_rig = surroundings.exact_rig.map(|real| {
            real.check()?;
            Ok::<_, FieldError>(LinearRig::new(&real, pantograph))
        });
        Ok(Self {
            rig: *rig,
            wire,
            pantograph: pantograph_on_pad(pantograph, pad, rig.period_s)?,
            pad_stiffness_n_per_m: pad,
            force_filter,
            extra_delay_steps: surroundings.extra_delay_steps,
            mass: surroundings.mass,
            exact_rig: exact_rig.transpose().map_err(|e| e.within("exact_rig"))?,
        })
    }

    /// The same on a rig as it runs, whose reference comes by so many cycles later than that rig says.
    pub fn on_rig(
        &self,
        exact_rig: &PredictiveRig,
        pantograph: &Pantograph,
        extra_delay_steps: usize,
    ) -> Result<Self, AssessmentError> {
        check_delay(extra_delay_steps)?;
        exact_rig.check().map_err(|e| e.within("exact_rig"))?;
        Ok(Self {
            exact_rig: Some(LinearRig::new(exact_rig, pantograph)),
            extra_delay_steps,
            ..self.clone()
        })
    }

    /// The rig as given.
    pub fn rig(&self) -> &RigModel {
        &self.rig
    }

    /// The whole loop of a tuning; without gains, the rig by itself.
    pub fn loop_parts(&self, tuning: &Tuning, gains: Option<LqgGains>) -> LoopParts {
        LoopParts {
            rig: tuning.applied_to(&self.rig),
            gains,
            wire: self.wire.clone(),
            pantograph: self.pantograph.clone(),
            pad_stiffness_n_per_m: self.pad_stiffness_n_per_m,
            force_filter: self.force_filter.clone(),
            extra_delay_steps: self.extra_delay_steps,
            mass: self.mass,
            exact_rig: self.exact_rig.clone(),
        }
    }

    /// Judges a tuning.
    pub fn assess(&self, tuning: &Tuning) -> Result<Assessment, AssessmentError> {
        let gains = tuning.gains(&self.rig)?;
        let plant = tuning.applied_to(&self.rig).plant()?;
        let open = DMatrix::from_fn(STATES, STATES, |i, j| plant.a[(i, j)]);
        let parts = self.loop_parts(tuning, Some(gains));
        let poles = eigenvalues(&parts.matrix()).ok_or(AssessmentError::Eigenvalues)?;
        let rho_loop = poles.first().map_or(0.0, |z| z.norm());
        let margins = if rho_loop < 1.0 {
            Some(LoopMargins::of(&parts, &poles)?)
        } else {
            None
        };
        let eig_open = eigenvalues(&open).ok_or(AssessmentError::Eigenvalues)?;
        Ok(Assessment {
            gains,
            plant,
            l_predictor: gains.kalman.a * gains.kalman.gain,
            rho_open: eig_open.first().map_or(0.0, |z| z.norm()),
            rho_lqr: gains.lqr.spectral_radius,
            rho_estimator: gains.kalman.spectral_radius,
            rho_loop,
            eig_open,
            margins,
        })
    }
}

pub(super) fn check_delay(steps: usize) -> Result<(), FieldError> {
    let (given, most) = (steps as f64, MOST_DELAY_STEPS as f64);
    require_within("extra_delay_steps", given, 0.0, most, "cycles")
}

/// Judges a tuning of a rig in its surroundings. For many tunings, keep a [`Prepared`].
pub fn assess(
    rig: &RigModel,
    tuning: &Tuning,
    surroundings: &Surroundings,
) -> Result<Assessment, AssessmentError> {
    Prepared::new(rig, surroundings)?.assess(tuning)
}

/// Lowest frequency at which a disk margin is looked for, in Hz. Below, waves along the hardly damped wire
/// make it small whatever the controller does, and the small string does not follow the endless one.
pub const DISK_FROM_HZ: f64 = 2.0;

/// Margins at one cut channel; `None` where nothing on that side destabilises.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ChannelMargins {
    /// Disk margin α = 2 / max|S − T| from [`DISK_FROM_HZ`] on.
    pub disk: f64,
    /// Where that is, in Hz.
    pub disk_hz: f64,
    /// Gain that may be added, in dB.
    pub gain_up_db: Option<f64>,
    /// Where that is, in Hz.
    pub gain_up_hz: Option<f64>,
    /// Gain that may be lost, in dB, negative.
    pub gain_down_db: Option<f64>,
    /// Where that is, in Hz.
    pub gain_down_hz: Option<f64>,
    /// Delay that may be added, in ms.
    pub delay_ms: Option<f64>,
    /// Phase that may be lost or gained, in degrees.
    pub phase_deg: Option<f64>,
    /// Where that is, in Hz.
    pub phase_hz: Option<f64>,
}

/// Margins at the three channels.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LoopMargins {
    /// Motor reference.
    pub reference: ChannelMargins,
    /// Action of the regulator.
    pub control: ChannelMargins,
    /// Measured force.
    pub force: ChannelMargins,
}

impl ChannelMargins {
    /// Of a stable loop whose eigenvalues are known, the largest first.
    pub(super) fn of(open: &OpenLoop, poles: &[Complex<f64>]) -> Result<Self, AssessmentError> {
        let found =
            margins_with_poles(open, poles, DISK_FROM_HZ).map_err(AssessmentError::Margins)?;
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let gain_up_db = finite(20.0 * found.gain_up.log10());
        let gain_down_db = finite(20.0 * found.gain_down.log10());
        let phase_deg = finite(found.phase_rad.to_degrees());
        Ok(Self {
            disk: found.disk,
            disk_hz: found.disk_frequency_hz,
            gain_up_db,
            gain_up_hz: gain_up_db.map(|_| found.gain_up_hz),
            gain_down_db,
            gain_down_hz: gain_down_db.map(|_| found.gain_down_hz),
            delay_ms: finite(1e3 * found.delay_s),
            phase_deg,
            phase_hz: phase_deg.map(|_| found.phase_hz),
        })
    }
}

impl LoopMargins {
    /// Of a stable loop whose eigenvalues are known, the largest first.
    fn of(parts: &LoopParts, poles: &[Complex<f64>]) -> Result<Self, AssessmentError> {
        let at = |channel| ChannelMargins::of(&parts.open(channel), poles);
        Ok(Self {
            reference: at(Channel::Reference)?,
            control: at(Channel::Control)?,
            force: at(Channel::Force)?,
        })
    }

    /// The channel with the smallest disk margin.
    pub fn smallest_disk(&self) -> (Channel, f64) {
        smallest_disk([
            (Channel::Reference, self.reference),
            (Channel::Control, self.control),
            (Channel::Force, self.force),
        ])
    }
}

/// The first of the channels with the smallest disk margin.
pub(super) fn smallest_disk<C: Copy>(channels: [(C, ChannelMargins); 3]) -> (C, f64) {
    let [first, others @ ..] = channels.map(|(channel, margins)| (channel, margins.disk));
    others.into_iter().fold(
        first,
        |least, other| {
            if other.1 < least.1 { other } else { least }
        },
    )
}

/// What a tuning would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Regulator (K) and observer (L with the newest measurement).
    pub gains: LqgGains,
    /// A, B_z, B_u and B_f of the rig.
    pub plant: Plant,
    /// A L, the observer's gain in predictor form.
    pub l_predictor: SMatrix<f64, OBSERVED, 2>,
    /// Spectral radius of A.
    pub rho_open: f64,
    /// Of A − B K.
    pub rho_lqr: f64,
    /// Of the estimation error.
    pub rho_estimator: f64,
    /// Of the whole loop in its surroundings.
    pub rho_loop: f64,
    /// Eigenvalues of A, the largest first.
    pub eig_open: Vec<Complex<f64>>,
    /// Margins of the whole loop; `None` if it is unstable.
    pub margins: Option<LoopMargins>,
}

/// Whether a tuning may be applied; C names the channels of its loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<C = Channel> {
    /// Stable with enough margin.
    Stable,
    /// Stable, but too close to the limit.
    TooLittleMargin {
        /// Where.
        channel: C,
        /// Disk margin there.
        disk: f64,
        /// Smallest disk margin asked for.
        needed: f64,
    },
    /// The loop would diverge.
    Unstable {
        /// Spectral radius of the loop.
        rho: f64,
    },
}

impl std::fmt::Display for Verdict<&str> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Stable => write!(f, "stable with enough margin"),
            Verdict::TooLittleMargin {
                channel,
                disk,
                needed,
            } => write!(
                f,
                "too little margin: the disk margin at the {} is {disk:.3}, expected {needed} or more",
                channel
            ),
            Verdict::Unstable { rho } => write!(
                f,
                "unstable: the model of the loop has the spectral radius {rho:.4}, expected below 1"
            ),
        }
    }
}

impl<C> Verdict<C> {
    /// From the spectral radius and the channel with the smallest disk margin, `None` if unstable. What
    /// is not a number is not enough.
    pub(crate) fn of(rho: f64, smallest_disk: Option<(C, f64)>, needed: f64) -> Self {
        match smallest_disk {
            None => Self::Unstable { rho },
            Some((_, disk)) if disk >= needed => Self::Stable,
            Some((channel, disk)) => Self::TooLittleMargin {
                channel,
                disk,
                needed,
            },
        }
    }
}

impl Assessment {
    /// Judges against the smallest disk margin that is accepted.
    pub fn verdict(&self, needed: f64) -> Verdict {
        let least = self.margins.as_ref().map(LoopMargins::smallest_disk);
        Verdict::of(self.rho_loop, least, needed)
    }
}
