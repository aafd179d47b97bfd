//! The predictive controller, cycle by cycle. No allocation, no panic.

use super::design::{PredictiveDesign, PredictiveError};
use super::model::HEAD;
use super::observer::{Observer, Surprise};
use super::preview::{HORIZON, TARGETS};
use crate::model::catenary::wire::{ElasticContact, WireModel, WireState};
use nalgebra::DVector;

/// The jump that another interaction stiffness would make is taken up and let go over this time, in s.
pub const BLEED_S: f64 = 0.5;

/// Where a cycle finds the contact, and how it meets the wire there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayPoint {
    /// Place of the contact, in m.
    pub place: f64,
    /// Part of the contact force that reaches the wire.
    pub share: f64,
    /// What is added to the wire's height, in m.
    pub offset: f64,
}

/// The way from this cycle to the end of the horizon.
pub type Way = [WayPoint; HORIZON + 1];

/// A way at an even speed: `step` m each cycle, with the share of the force at each place.
pub fn even_way(place: f64, step: f64, share: impl Fn(f64) -> f64) -> Way {
    std::array::from_fn(|j| {
        let place = place + step * j as f64;
        WayPoint {
            place,
            share: share(place),
            offset: 0.0,
        }
    })
}

/// What a cycle begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Measured force, in N.
    pub force: f64,
    /// Measured motor position, in m.
    pub motor_position: f64,
    /// r(k): the reference that is really sent in this cycle, in m; after limits, crossfade or guard.
    pub reference: f64,
    /// Where the train is now and in the cycles to come.
    pub way: Way,
}

/// What a cycle found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TickResult {
    /// r(k+1), in m: to be sent in the next cycle.
    pub reference: f64,
    /// Whether the limits cut it.
    pub limited: bool,
    /// What the measurements came as a surprise.
    pub surprise: Surprise,
    /// F̂(k|k), in N.
    pub force: f64,
    /// F̂(k+1|k), in N.
    pub force_ahead: f64,
    /// Height of the wire at the contact, in m.
    pub wire_height: f64,
    /// u_i(k) = z + F̂/k_i: where the motor should be now, in m.
    pub target: f64,
    /// u*₂ … u*₅: where it should be, in m.
    pub targets: [f64; TARGETS],
    /// Measured motor position less `target`, in m.
    pub tracking_error: f64,
    /// Estimated uplift, in N.
    pub uplift: f64,
}

/// A design for other states: another number of masses, or another delay of the force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the new design has other states; stop and start again to change pantograph or force delay"
)]
pub struct OtherStates;

/// The controller with its memory.
#[derive(Clone, Debug)]
pub struct Predictive {
    design: PredictiveDesign,
    observer: Observer,
    /// The wire as it really is while trial steps are made.
    wire: WireState,
    pantograph: DVector<f64>,
    on_pad: DVector<f64>,
    in_flight: DVector<f64>,
    /// d₀ of u* = z + F/k_i + d₀, and how much of it goes in a cycle.
    rest_offset: f64,
    bleed: f64,
    force: f64,
    surprise: Surprise,
}

impl Predictive {
    /// At rest at height 0 without force. Steps must be given this wire model.
    pub fn new(design: PredictiveDesign, wire: &dyn WireModel) -> Result<Self, PredictiveError> {
        let (wire_s, period_s) = (wire.dt(), design.rig.period_s);
        if (wire_s - period_s).abs() > 1e-9 * period_s {
            return Err(PredictiveError::Period { wire_s, period_s });
        }
        let zero = DVector::zeros(design.places.pantograph());
        let mut new = Self {
            observer: Observer::new(design.places),
            wire: wire.new_state(),
            pantograph: zero.clone(),
            on_pad: zero.clone(),
            in_flight: zero,
            rest_offset: 0.0,
            bleed: 0.0,
            force: 0.0,
            surprise: Surprise::default(),
            design,
        };
        new.reset(0.0, 0.0);
        Ok(new)
    }

    /// Forgets the past: everything rests, the motor at a position in m under a force in N. The wire is
    /// the caller's to reset.
    pub fn reset(&mut self, position: f64, force: f64) {
        self.observer.rest(&self.design, position, force);
        self.rest_offset = 0.0;
        self.bleed = 0.0;
        self.force = force;
        self.surprise = Surprise::default();
    }

    /// Exchanges the design at the border of a cycle; the old one is left in `design`, to be freed
    /// elsewhere. The estimate remains; another k_i shifts nothing at once (see [`BLEED_S`]).
    pub fn swap_design(&mut self, design: &mut PredictiveDesign) -> Result<(), OtherStates> {
        if design.places != self.design.places || design.rig.period_s != self.design.rig.period_s {
            return Err(OtherStates);
        }
        let yielding = |d: &PredictiveDesign| 1.0 / d.tuning.interaction_stiffness_n_per_m;
        self.observer.adopt(&self.design, design);
        self.rest_offset += self.force * (yielding(&self.design) - yielding(design));
        self.bleed = self.rest_offset.abs() * self.design.rig.period_s / BLEED_S;
        std::mem::swap(&mut self.design, design);
        Ok(())
    }

    /// Goes on from another estimate: all states, and the reference of the cycle before.
    pub(super) fn set_estimate(&mut self, state: &DVector<f64>, previous_reference: f64) {
        self.observer.set(state, previous_reference);
    }

    /// The design in use.
    pub fn design(&self) -> &PredictiveDesign {
        &self.design
    }

    /// The observer.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// One cycle: [`Self::observe`], the wire's step to the present with the force found,
    /// [`Self::plan`].
    pub fn step(&mut self, wire: &mut dyn WireModel, tick: &Tick) -> TickResult {
        let force = self.observe(tick.motor_position, tick.force);
        let here = tick.way[0];
        wire.predict(here.place);
        let wire_height = wire.respond(here.share * force) + here.offset;
        wire.commit();
        self.plan(wire, tick, wire_height)
    }

    /// Takes in the measurements of a cycle; F̂(k|k), in N.
    pub fn observe(&mut self, motor_position: f64, force: f64) -> f64 {
        // Not `clamp`, which panics where a limit is no number.
        self.rest_offset -= self.rest_offset.max(-self.bleed).min(self.bleed);
        self.surprise = self.observer.correct(&self.design, motor_position, force);
        self.force = self.observer.pad_force(&self.design).max(0.0);
        self.force
    }

    /// Ends a cycle in which another controller is in charge: only the estimate goes on.
    pub fn follow(&mut self, reference: f64) {
        self.observer.predict(&self.design, reference);
    }

    /// Ends a cycle: the next reference, from a wire that has taken its step to the present and is at
    /// `wire_height` m there. Trial steps into the future are undone.
    pub fn plan(&mut self, wire: &mut dyn WireModel, tick: &Tick, wire_height: f64) -> TickResult {
        wire.save(&mut self.wire);

        // 3: the next cycle, whose reference is already on its way.
        self.follow(tick.reference);
        let d = &self.design;
        let force_ahead = self.observer.pad_force(d).max(0.0);
        let next = tick.way[1];
        wire.predict(next.place);
        wire.respond(next.share * force_ahead);
        let (position, velocity) = self.observer.motor();
        let uplift = self.observer.uplift(d.places);
        self.pantograph
            .copy_from(&self.observer.state().rows(HEAD, d.places.pantograph()));

        // 4: further cycles, wire and pantograph together, the motor where it should be.
        let mut targets = [0.0; TARGETS];
        let (mut motor, mut last_force) = (position, force_ahead);
        let mut load = None;
        for (target, at) in targets.iter_mut().zip(&tick.way[2..]) {
            wire.commit();
            let before = Ahead {
                at: *at,
                motor,
                force: last_force,
                uplift,
            };
            (motor, last_force) = self.look_ahead(wire, &before);
            *target = motor;
            load.get_or_insert(last_force);
        }
        wire.restore(&self.wire);

        // 5: what the contact force adds to the reference is taken off again.
        let d = &self.design;
        let lift = d.rig.motor_load_m_per_n;
        let on_its_way = tick.reference + lift * force_ahead;
        let asked = d
            .preview
            .reference(position, velocity, on_its_way, &targets)
            - lift * load.unwrap_or(force_ahead);
        // What is no number is not sent; the monitor tells, because the tracking error is none either.
        let reference = if asked.is_finite() {
            asked
                .max(d.tuning.reference_low_m)
                .min(d.tuning.reference_high_m)
        } else {
            tick.reference
        };
        let spring = 1.0 / d.tuning.interaction_stiffness_n_per_m;
        let target = wire_height + self.rest_offset + self.force * spring;
        TickResult {
            reference,
            limited: reference != asked,
            surprise: self.surprise,
            force: self.force,
            force_ahead,
            wire_height,
            target,
            targets,
            tracking_error: tick.motor_position - target,
            uplift,
        }
    }

    /// One cycle further: u* in m and the contact force in N.
    ///
    /// With u* = z + d₀ + F/k_i, head u₁ = p_f + g u* and F = k̂_h (u₁ − u*):
    /// F = [p_f/(1−g) − d₀ − z] / [1/(k̂_h (1−g)) + 1/k_i], z the wire's answer to F with its slack
    /// droppers: a head behind a spring, which the wire model solves as a whole.
    fn look_ahead(&mut self, wire: &mut dyn WireModel, before: &Ahead) -> (f64, f64) {
        let d = &self.design;
        let k_i = d.tuning.interaction_stiffness_n_per_m;
        let rest = self.rest_offset + before.at.offset;
        wire.predict(before.at.place);
        let flight = &d.flight;
        self.in_flight.gemv(1.0, &flight.phi, &self.pantograph, 0.0);
        self.in_flight.axpy(before.uplift, &flight.gamma_b, 1.0);
        if before.force <= 0.0 {
            let height = wire.respond(0.0) + rest;
            if self.in_flight[0] <= height {
                self.pantograph.copy_from(&self.in_flight);
                return (height, 0.0);
            }
        }
        let hold = &d.hold;
        self.on_pad.gemv(1.0, &hold.phi, &self.pantograph, 0.0);
        self.on_pad.axpy(before.motor, &hold.gamma0, 1.0);
        self.on_pad.axpy(before.uplift, &hold.gamma_b, 1.0);
        let yields = 1.0 - hold.gamma1[0];
        let response = wire.respond_to(&ElasticContact {
            stiffness: k_i,
            head_free: self.on_pad[0] / yields - rest,
            head_compliance: 1.0 / (d.pad * yields),
            share: before.at.share,
        });
        let target = response.height + rest + response.force / k_i;
        if response.force > 0.0 {
            self.pantograph.copy_from(&self.on_pad);
            self.pantograph.axpy(target, &hold.gamma1, 1.0);
        } else {
            self.pantograph.copy_from(&self.in_flight);
        }
        (target, response.force)
    }
}

/// What one cycle of looking ahead begins with.
struct Ahead {
    at: WayPoint,
    motor: f64,
    force: f64,
    uplift: f64,
}
