//! Predictive control of the bench: an observer of motor, pantograph, force filter and uplift; the
//! wire and the pantograph predicted together a few cycles ahead; a preview law for the motor.
//!
//! In cycle k, with r(k) held over [t_k, t_k+1):
//!
//! 1. [`observer`]: x̂(k|k) from motor position and force, contact force F̂ = k̂_h (û₁ − û_m).
//! 2. The wire takes its step with F̂(k|k) and that is final.
//! 3. x̂(k+1|k); the wire takes a trial step with F̂(k+1|k).
//! 4. [`controller`]: for j = 2 … 5 wire and pantograph are solved together, the motor assumed where
//!    it should be: u* = z + F/k_i.
//! 5. [`preview`]: r(k+1) from û_m(k+1|k), r(k) and u*₂ … u*₅.
//!
//! The interaction spring k_i stands in series with the pad and is part of the answer: a reference
//! must have the same contact stiffness 1/(1/k_h + 1/k_i). There is no interaction mass.
//!
//! [`linear`] and [`assessment`] say how much the closed loop can bear.
//!
//! Everything but the methods of [`Predictive`] after it is built is design work for threads that may
//! allocate.

pub mod assessment;
pub mod controller;
pub mod design;
pub mod linear;
pub mod model;
pub mod monitor;
pub mod observer;
pub mod preview;

pub use assessment::{
    PredictiveAssessment, PredictiveMargins, PredictiveSurroundings, PreparedPredictive,
};
pub use controller::{Predictive, Tick, TickResult, Way, WayPoint, even_way};
pub use design::{PredictiveDesign, PredictiveError, PredictiveRig, PredictiveTuning};
pub use linear::{LinearRig, PredictiveChannel, PredictiveLoop};
pub use monitor::{FallBack, Monitor, MonitorLimits};
