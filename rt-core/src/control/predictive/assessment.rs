//! A design of the predictive controller judged before it is applied: stability of the whole loop in its
//! real surroundings, margins, verdict.

use super::design::{PredictiveDesign, PredictiveRig};
use super::linear::{LinearRig, PredictiveChannel, PredictiveLoop};
use crate::control::assessment::{
    AssessmentError, ChannelMargins, MOST_DELAY_STEPS, Verdict, Wire, smallest_disk,
};
use crate::control::newmark::LinearPart;
use crate::control::spectrum::eigenvalues;
use crate::file::{FieldError, FileContent, require_within};
use crate::model::pantograph::Pantograph;
use nalgebra::{Complex, DMatrix, DVector};

/// What the controller really meets, beside what its design assumes.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictiveSurroundings {
    /// The wire that it steps.
    pub wire: Wire,
    /// The real rig: motor, pad, force filter, delays.
    pub rig: PredictiveRig,
    /// The real pantograph.
    pub pantograph: Pantograph,
    /// Whole cycles by which the motor gets the reference later than `rig` says.
    pub extra_delay_cycles: usize,
}

/// Surroundings turned into linear parts once, for many designs.
#[derive(Clone, Debug)]
pub struct PreparedPredictive {
    wire: LinearPart,
    rig: LinearRig,
    extra_delay_cycles: usize,
    period_s: f64,
}

impl PreparedPredictive {
    /// Checks and prepares.
    pub fn new(surroundings: &PredictiveSurroundings) -> Result<Self, AssessmentError> {
        let rig = &surroundings.rig;
        rig.check().map_err(|e| e.within("rig"))?;
        let pantograph = &surroundings.pantograph;
        pantograph.check().map_err(|e| e.within("pantograph"))?;
        let delay = surroundings.extra_delay_cycles;
        check_delay(delay)?;
        let wire = match &surroundings.wire {
            Wire::Held => LinearPart {
                a: DMatrix::zeros(0, 0),
                b: DVector::zeros(0),
                c: DVector::zeros(0),
            },
            Wire::String(string) => string
                .linear_part(rig.period_s)
                .map_err(|e| e.within("wire"))?,
            Wire::Part(part) => part.clone(),
        };
        Ok(Self {
            wire,
            rig: LinearRig::new(rig, pantograph),
            extra_delay_cycles: delay,
            period_s: rig.period_s,
        })
    }

    /// The same on another real rig, whose reference comes by so many cycles later than that rig says.
    pub fn on_rig(
        &self,
        rig: &PredictiveRig,
        pantograph: &Pantograph,
        extra_delay_cycles: usize,
    ) -> Result<Self, AssessmentError> {
        check_delay(extra_delay_cycles)?;
        rig.check().map_err(|e| e.within("rig"))?;
        Ok(Self {
            wire: self.wire.clone(),
            rig: LinearRig::new(rig, pantograph),
            extra_delay_cycles,
            period_s: rig.period_s,
        })
    }

    /// The whole loop of a design.
    pub fn closed(&self, design: &PredictiveDesign) -> Result<PredictiveLoop, AssessmentError> {
        if (design.rig.period_s - self.period_s).abs() > 1e-9 * self.period_s {
            return Err(FieldError::new(
                "period_s",
                format!(
                    "is {} s in the design; expected that of the rig, {} s",
                    design.rig.period_s, self.period_s
                ),
            )
            .into());
        }
        PredictiveLoop::new(
            self.rig.clone(),
            design,
            &self.wire,
            self.extra_delay_cycles,
        )
    }

    /// Judges a design.
    pub fn assess(
        &self,
        design: &PredictiveDesign,
    ) -> Result<PredictiveAssessment, AssessmentError> {
        let whole = self.closed(design)?;
        let closed = whole.open(PredictiveChannel::Reference).closed(1.0);
        let poles = eigenvalues(&closed).ok_or(AssessmentError::Eigenvalues)?;
        let rho_loop = poles.first().map_or(0.0, |z| z.norm());
        let margins = if rho_loop < 1.0 {
            Some(PredictiveMargins::of(&whole, &poles)?)
        } else {
            None
        };
        Ok(PredictiveAssessment {
            rho_loop,
            margins,
            observer_radius: design.observer_radius,
        })
    }
}

fn check_delay(cycles: usize) -> Result<(), FieldError> {
    let (given, most) = (cycles as f64, MOST_DELAY_STEPS as f64);
    require_within("extra_delay_cycles", given, 0.0, most, "cycles")
}

/// Margins at the three channels.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PredictiveMargins {
    /// Motor reference.
    pub reference: ChannelMargins,
    /// Measured force.
    pub force: ChannelMargins,
    /// Measured motor position.
    pub position: ChannelMargins,
}

impl PredictiveMargins {
    fn of(whole: &PredictiveLoop, poles: &[Complex<f64>]) -> Result<Self, AssessmentError> {
        let at = |channel| ChannelMargins::of(&whole.open(channel), poles);
        Ok(Self {
            reference: at(PredictiveChannel::Reference)?,
            force: at(PredictiveChannel::Force)?,
            position: at(PredictiveChannel::Position)?,
        })
    }

    /// The channel with the smallest disk margin.
    pub fn smallest_disk(&self) -> (PredictiveChannel, f64) {
        smallest_disk([
            (PredictiveChannel::Reference, self.reference),
            (PredictiveChannel::Force, self.force),
            (PredictiveChannel::Position, self.position),
        ])
    }
}

/// What a design would do.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PredictiveAssessment {
    /// Spectral radius of the whole loop in its surroundings.
    pub rho_loop: f64,
    /// Margins of the whole loop; `None` if it is unstable.
    pub margins: Option<PredictiveMargins>,
    /// Spectral radius of the observer's estimation error on the rig that it was designed for.
    pub observer_radius: f64,
}

impl PredictiveAssessment {
    /// Judges against the smallest disk margin that is accepted.
    pub fn verdict(&self, needed: f64) -> Verdict<PredictiveChannel> {
        let least = self.margins.as_ref().map(PredictiveMargins::smallest_disk);
        Verdict::of(self.rho_loop, least, needed)
    }
}
