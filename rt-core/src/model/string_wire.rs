//! A wire without a mesh for the loop: what the string in the moving frame answers at the contact, on
//! top of a rest height that repeats span after span.
//!
//!   x⁺ = A x + b F,  z⁺ = z⁰(place) + cᵀ x⁺
//!
//! It has no droppers, so nothing goes slack. The states are those of the contact point, which moves
//! along: a place only says where on z⁰ it is. The speed is that which the states were made for.

use super::catenary::wire::{ElasticContact, Prediction, Response, WireModel, WireState};
use super::moving_string::MovingString;
use super::span_profile::SpanProfile;
use crate::control::newmark::LinearPart;
use crate::file::{FieldError, require_positive};
use nalgebra::DVector;

/// A string as the wire of a session; the speed is that of the train.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StringWireConfig {
    /// Tension T in N.
    pub tension_n: f64,
    /// Mass per length μ in kg/m.
    pub mass_kg_per_m: f64,
    /// Stiffness of the layer per length κ in N/m².
    pub layer_n_per_m2: f64,
    /// Damping by mass α in 1/s.
    pub mass_damping_per_s: f64,
    /// Damping by stiffness β in s.
    pub stiffness_damping_s: f64,
    /// Rest height; level at 0 if `None`.
    pub profile: Option<SpanProfile>,
}

impl Default for StringWireConfig {
    /// [`MovingString::HIGH_SPEED_300`] under the spans of the same line.
    fn default() -> Self {
        let string = MovingString::HIGH_SPEED_300;
        Self {
            tension_n: string.tension_n,
            mass_kg_per_m: string.mass_kg_per_m,
            layer_n_per_m2: string.layer_n_per_m2,
            mass_damping_per_s: string.mass_damping_per_s,
            stiffness_damping_s: string.stiffness_damping_s,
            profile: Some(SpanProfile::default()),
        }
    }
}

impl StringWireConfig {
    /// The string passed at a speed in km/h, as a loop is judged with.
    pub fn string(&self, speed_kmh: f64) -> MovingString {
        MovingString {
            tension_n: self.tension_n,
            mass_kg_per_m: self.mass_kg_per_m,
            layer_n_per_m2: self.layer_n_per_m2,
            mass_damping_per_s: self.mass_damping_per_s,
            stiffness_damping_s: self.stiffness_damping_s,
            speed_kmh,
        }
    }

    /// z⁰ in m at a place in m.
    pub fn rest_height(&self, place_m: f64) -> f64 {
        self.profile.as_ref().map_or(0.0, |p| p.height(place_m))
    }

    /// The wire for a train speed in km/h, in steps of `period_s`.
    pub fn build(&self, speed_kmh: f64, period_s: f64) -> Result<StringWire, FieldError> {
        let string = self.string(speed_kmh);
        if let Some(profile) = &self.profile {
            profile.check().map_err(|e| e.within("profile"))?;
        }
        let mut wire = StringWire::new(string.linear_part(period_s)?, period_s)?;
        let v = speed_kmh / 3.6;
        wire.fading_per_m =
            (self.layer_n_per_m2 / (self.tension_n - self.mass_kg_per_m * v * v)).sqrt();
        wire.profile = self.profile.clone();
        Ok(wire)
    }
}

/// The wire in motion.
#[derive(Clone, Debug)]
pub struct StringWire {
    part: LinearPart,
    period_s: f64,
    /// cᵀ b, in m/N.
    compliance: f64,
    profile: Option<SpanProfile>,
    /// γ of e^{−γ|ξ|}, in 1/m.
    fading_per_m: f64,
    x: DVector<f64>,
    /// Where the contact was at the end of the latest committed step, in m.
    contact: f64,
    /// A x of the step that is prepared, its place, its height at zero force, and the latest answer.
    free: DVector<f64>,
    place: f64,
    height_free: f64,
    force: f64,
}

impl StringWire {
    /// Any wire that answers as a linear part z⁺ = cᵀ(A x + b F) in steps of `period_s`, level at rest.
    /// Its rise is the same at every place.
    pub fn new(part: LinearPart, period_s: f64) -> Result<Self, FieldError> {
        require_positive("period_s", period_s, "s")?;
        let n = part.states();
        if part.a.shape() != (n, n) || part.c.len() != n {
            return Err(FieldError::new(
                "part",
                format!(
                    "has A of {:?}, b of {n} and c of {} rows; expected the same number of states",
                    part.a.shape(),
                    part.c.len()
                ),
            ));
        }
        Ok(Self {
            period_s,
            compliance: part.c.dot(&part.b),
            profile: None,
            fading_per_m: 0.0,
            x: DVector::zeros(n),
            contact: 0.0,
            free: DVector::zeros(n),
            place: 0.0,
            height_free: 0.0,
            force: 0.0,
            part,
        })
    }

    /// z⁰ in m at a place in m.
    pub fn rest_height(&self, place_m: f64) -> f64 {
        self.profile.as_ref().map_or(0.0, |p| p.height(place_m))
    }
}

impl WireModel for StringWire {
    fn dt(&self) -> f64 {
        self.period_s
    }

    fn unknowns(&self) -> usize {
        self.x.len()
    }

    fn reset(&mut self) {
        self.x.fill(0.0);
        self.contact = 0.0;
    }

    fn predict(&mut self, x: f64) -> Prediction {
        self.free.gemv(1.0, &self.part.a, &self.x, 0.0);
        self.place = x;
        self.height_free = self.rest_height(x) + self.part.c.dot(&self.free);
        self.force = 0.0;
        Prediction {
            height_free: self.height_free,
            compliance: self.compliance,
        }
    }

    fn respond(&mut self, force_on_wire: f64) -> f64 {
        self.force = force_on_wire;
        self.height_free + self.compliance * force_on_wire
    }

    /// F = k_c (u − z), u = head_free − c_head F, z = z_f + c r F; not below 0.
    fn respond_to(&mut self, contact: &ElasticContact) -> Response {
        let yields =
            1.0 / contact.stiffness + contact.head_compliance + contact.share * self.compliance;
        let closed = (contact.head_free - self.height_free) / yields;
        // Not `max`, which would make a force of what is not a number.
        let force = if closed < 0.0 { 0.0 } else { closed };
        Response {
            force,
            height: self.respond(contact.share * force),
        }
    }

    fn commit(&mut self) {
        self.x.copy_from(&self.free);
        self.x.axpy(self.force, &self.part.b, 1.0);
        self.contact = self.place;
    }

    /// Exact at the contact. Elsewhere as in slow motion, u e^{−γ|ξ|} with γ = √(κ/(T − μV²)): the waves
    /// that run along the string are not among the states.
    fn rise(&self, x: f64) -> f64 {
        self.part.c.dot(&self.x) * (-self.fading_per_m * (x - self.contact).abs()).exp()
    }

    fn slack_droppers(&self) -> usize {
        0
    }

    fn unsettled(&self) -> u64 {
        0
    }

    /// All states, then the place of the contact.
    fn new_state(&self) -> WireState {
        WireState {
            motion: vec![0.0; self.x.len() + 1],
            slack: Vec::new(),
            light: Vec::new(),
            turn: 0,
        }
    }

    fn save(&self, state: &mut WireState) {
        let n = self.x.len();
        state.motion[..n].copy_from_slice(self.x.as_slice());
        state.motion[n] = self.contact;
    }

    fn restore(&mut self, state: &WireState) {
        let n = self.x.len();
        self.x.as_mut_slice().copy_from_slice(&state.motion[..n]);
        self.contact = state.motion[n];
    }
}
