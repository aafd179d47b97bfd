//! The observer of motor, pantograph, force filter and uplift, cycle by cycle.
//!
//! The pad cannot pull. While the estimated head is not on it the rig is predicted without the pad and
//! only the motor is corrected: a force cell that nothing touches tells nothing about the pantograph.

use super::design::PredictiveDesign;
use super::model::{HEAD, MOTOR, Places};
use nalgebra::DVector;

/// A force this many times its noise above the expected one says that the pad touches again.
const TOUCH: f64 = 3.0;
/// Stands for the normalised innovation of a measurement that is not a number.
const USELESS: f64 = 1e6;

/// What a measurement came as a surprise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surprise {
    /// Of the motor position, in m.
    pub position: f64,
    /// Of the force, in N.
    pub force: f64,
    /// νᵀ (C P Cᵀ + V)⁻¹ ν: on average 2 if the rig were as noisy as it was designed for.
    pub normalised: f64,
}

/// The estimate. After it is built nothing allocates.
#[derive(Clone, Debug)]
pub struct Observer {
    x: DVector<f64>,
    next: DVector<f64>,
    previous_reference: f64,
}

impl Observer {
    /// All zero, for these states.
    pub fn new(places: Places) -> Self {
        Self {
            x: DVector::zeros(places.count()),
            next: DVector::zeros(places.count()),
            previous_reference: 0.0,
        }
    }

    /// Everything rests, the motor at a position in m under a force in N.
    pub fn rest(&mut self, design: &PredictiveDesign, position: f64, force: f64) {
        let places = design.places;
        self.x.fill(0.0);
        self.x[MOTOR] = position;
        let mut height = position + force / design.pad;
        let mut last = 0.0;
        for (i, k) in design.springs.iter().enumerate() {
            self.x[HEAD + 2 * i] = height;
            last = k * height;
            if *k > 0.0 {
                height += force / k;
            }
        }
        self.x[places.filtered_force()] = force;
        self.x[places.uplift()] = force + last;
        for i in places.uplift() + 1..places.count() {
            self.x[i] = force;
        }
        self.previous_reference = position;
    }

    /// Another estimate: all states, and the reference of the cycle before.
    pub(super) fn set(&mut self, state: &DVector<f64>, previous_reference: f64) {
        self.x.copy_from(state);
        self.previous_reference = previous_reference;
    }

    /// Takes in the measurements.
    pub fn correct(&mut self, design: &PredictiveDesign, position: f64, force: f64) -> Surprise {
        let mut surprise = Surprise {
            position: position - self.x[MOTOR],
            force: force - self.x[design.places.read_force()],
            normalised: USELESS,
        };
        if !(surprise.position.is_finite() && surprise.force.is_finite()) {
            return Surprise {
                normalised: USELESS,
                ..Surprise::default()
            };
        }
        let s = &design.innovation_inverse;
        let (p, f) = (surprise.position, surprise.force);
        surprise.normalised =
            (s[(0, 0)] * p * p + 2.0 * s[(0, 1)] * p * f + s[(1, 1)] * f * f).min(USELESS);
        let touching =
            self.pad_force(design) > 0.0 || surprise.force > TOUCH * design.tuning.force_noise_n;
        if touching {
            self.x.axpy(p, &design.gain.column(0), 1.0);
            self.x.axpy(f, &design.gain.column(1), 1.0);
        } else {
            self.x[MOTOR] += design.motor_gain[0] * p;
            self.x[MOTOR + 1] += design.motor_gain[1] * p;
        }
        surprise
    }

    /// One cycle on, under the reference that is held over it.
    pub fn predict(&mut self, design: &PredictiveDesign, reference: f64) {
        let cycle = if self.pad_force(design) > 0.0 {
            &design.touching
        } else {
            &design.apart
        };
        self.next.gemv(1.0, &cycle.a, &self.x, 0.0);
        self.next.axpy(reference, &cycle.b0, 1.0);
        self.next.axpy(self.previous_reference, &cycle.b1, 1.0);
        std::mem::swap(&mut self.x, &mut self.next);
        self.previous_reference = reference;
    }

    /// The same estimate for another design of the same states: F̂ and the springs' forces stay.
    pub fn adopt(&mut self, old: &PredictiveDesign, new: &PredictiveDesign) {
        let shift = self.pad_force(old) * (1.0 / new.pad - 1.0 / old.pad);
        for i in 0..new.places.masses {
            self.x[HEAD + 2 * i] += shift;
        }
        // The last spring goes to the ground.
        let last = new.springs.last().copied().unwrap_or(0.0);
        self.x[new.places.uplift()] += last * shift;
    }

    /// k̂_h (û₁ − û_m), in N: below zero where the pad does not touch.
    pub fn pad_force(&self, design: &PredictiveDesign) -> f64 {
        design.pad * (self.x[HEAD] - self.x[MOTOR])
    }

    /// û_m in m and v̂_m in m/s.
    pub fn motor(&self) -> (f64, f64) {
        (self.x[MOTOR], self.x[MOTOR + 1])
    }

    /// Estimated uplift, in N.
    pub fn uplift(&self, places: Places) -> f64 {
        self.x[places.uplift()]
    }

    /// The whole estimate.
    pub fn state(&self) -> &DVector<f64> {
        &self.x
    }
}
