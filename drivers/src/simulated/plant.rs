//! Motor, pad, lumped pantograph and force filter, integrated exactly between the moments at which
//! the pad touches or leaves the head.
//!
//! State x = [u_m v_m | u_1 v_1 … u_n v_n | f] with motor (m), masses from the head down, filtered
//! force f. ẋ = A x + b_r r + b_0 is linear while the contact does not change, so a substep of h is
//! x ← e^{Ah} x + ∫e^{As}ds (b_r r + b_0): the matrix exponential of the augmented system. Without power the motor has
//! other rows ([`Unpowered`]) and r is a force.

use super::config::{MotorConfig, SimulatedConfig};
use super::fault::MotorFault;
use super::unpowered::{Brake, BrakeFault, Unpowered};
use crate::mounting::{Axis, GRAVITY_M_PER_S2, MountingConfig};
use nalgebra::{DMatrix, DVector};
use rt_core::guard::Drive;
use rt_core::model::pantograph::Pantograph;

/// Longest substep, in s: contact changes and delays are resolved this finely.
pub(crate) const MAX_SUBSTEP_S: f64 = 50e-6;

/// x⁺ = Φ x + γ_r r + γ_0, with Φ row by row.
#[derive(Clone)]
pub struct Substep {
    phi: Vec<f64>,
    gamma_r: Vec<f64>,
    gamma_0: Vec<f64>,
}

/// Constant data of a plant.
#[derive(Clone)]
pub struct PlantModel {
    states: usize,
    contact: Substep,
    free: Substep,
    /// `None`: an ideal brake holds the motor as soon as it has no power.
    unpowered: Option<Unpowered>,
    substeps: u32,
    pad_stiffness: f64,
    pad_damping: f64,
    pad_pulls: bool,
    motor: MotorConfig,
    reference_delay: usize,
    force_delay: usize,
    filtered: bool,
    stiffness: DMatrix<f64>,
    uplift: f64,
}

impl PlantModel {
    /// Discretises the rig for a loop period, which is divided into equal substeps.
    pub fn build(config: &SimulatedConfig, pantograph: &Pantograph, period_s: f64) -> Self {
        let substeps = (period_s / MAX_SUBSTEP_S).ceil().max(1.0);
        let substep_s = period_s / substeps;
        let delay = |seconds: f64| (seconds / substep_s).round() as usize;
        Self {
            states: 3 + 2 * pantograph.masses.len(),
            contact: Substep::build(config, pantograph, true, substep_s),
            free: Substep::build(config, pantograph, false, substep_s),
            unpowered: config
                .mounting
                .as_ref()
                .map(|mounting| Unpowered::build(config, mounting, pantograph, substep_s)),
            substeps: substeps as u32,
            pad_stiffness: config.pad_stiffness_n_per_m,
            pad_damping: config.pad_damping_ns_per_m,
            pad_pulls: config.pad_pulls,
            motor: config.motor,
            reference_delay: delay(config.delays.reference_s + config.delays.extra_s),
            force_delay: delay(config.delays.force_s),
            filtered: config.force_sensor.filter_hz.is_some(),
            stiffness: pantograph.matrices().stiffness,
            uplift: config.uplift_n,
        }
    }
}

impl Substep {
    /// A motor that follows its reference.
    fn build(config: &SimulatedConfig, pantograph: &Pantograph, contact: bool, h: f64) -> Self {
        Self::of(config, None, pantograph, contact, h)
    }

    /// A motor without power; r is a force on it.
    pub fn unpowered(
        config: &SimulatedConfig,
        mounting: &MountingConfig,
        pantograph: &Pantograph,
        contact: bool,
        h: f64,
    ) -> Self {
        Self::of(config, Some(mounting), pantograph, contact, h)
    }

    fn of(
        config: &SimulatedConfig,
        unpowered: Option<&MountingConfig>,
        pantograph: &Pantograph,
        contact: bool,
        h: f64,
    ) -> Self {
        let n = pantograph.masses.len();
        let size = 3 + 2 * n;
        let (u_m, v_m, f) = (0, 1, size - 1);
        let (u, v) = (|i: usize| 2 + 2 * i, |i: usize| 3 + 2 * i);
        // Two more columns: the reference and the constant 1 that carries the uplift.
        let mut a = DMatrix::<f64>::zeros(size + 2, size + 2);
        let (w, z) = (config.motor.omega_rad_per_s, config.motor.damping_ratio);
        a[(u_m, v_m)] = 1.0;
        match unpowered {
            None => {
                a[(v_m, u_m)] = -w * w;
                a[(v_m, v_m)] = -2.0 * z * w;
                a[(v_m, size)] = w * w;
            }
            Some(mounting) => {
                a[(v_m, v_m)] = -mounting.friction_ns_per_m / mounting.moving_mass_kg;
                a[(v_m, size)] = 1.0 / mounting.moving_mass_kg;
                if mounting.axis == Axis::Vertical {
                    a[(v_m, size + 1)] = -GRAVITY_M_PER_S2;
                }
            }
        }
        let chain = pantograph.matrices();
        for i in 0..n {
            let mass = chain.mass[(i, i)];
            a[(u(i), v(i))] = 1.0;
            for j in 0..n {
                a[(v(i), u(j))] -= chain.stiffness[(i, j)] / mass;
                a[(v(i), v(j))] -= chain.damping[(i, j)] / mass;
            }
        }
        a[(v(n - 1), size + 1)] = config.uplift_n / chain.mass[(n - 1, n - 1)];
        let corner = config
            .force_sensor
            .filter_hz
            .map(|hz| std::f64::consts::TAU * hz);
        if contact {
            // F = k (u_1 − u_m) + c (v_1 − v_m) presses the head down and is what the filter follows.
            let (k, c) = (config.pad_stiffness_n_per_m, config.pad_damping_ns_per_m);
            for (column, value) in [(u(0), k), (u_m, -k), (v(0), c), (v_m, -c)] {
                a[(v(0), column)] -= value / chain.mass[(0, 0)];
                a[(f, column)] = corner.map_or(0.0, |corner| corner * value);
                if let Some(mounting) = unpowered {
                    a[(v_m, column)] += value / mounting.moving_mass_kg;
                }
            }
        }
        if let Some(corner) = corner {
            a[(f, f)] = -corner;
        }
        let e = (a * h).exp();
        let row_major =
            |e: &DMatrix<f64>| (0..size * size).map(|i| e[(i / size, i % size)]).collect();
        Self {
            phi: row_major(&e),
            gamma_r: (0..size).map(|i| e[(i, size)]).collect(),
            gamma_0: (0..size).map(|i| e[(i, size + 1)]).collect(),
        }
    }
}

/// A value that appears again after a fixed number of pushes.
struct DelayLine {
    values: Vec<f64>,
    next: usize,
}

impl DelayLine {
    fn filled(delay: usize, value: f64) -> Self {
        Self {
            values: vec![value; delay + 1],
            next: 0,
        }
    }

    /// Stores a value and returns the one that is due.
    fn push(&mut self, value: f64) -> f64 {
        self.values[self.next] = value;
        self.next = (self.next + 1) % self.values.len();
        self.values[self.next]
    }
}

/// A plant in motion.
pub struct Plant {
    model: PlantModel,
    x: Vec<f64>,
    scratch: Vec<f64>,
    reference: f64,
    reference_line: DelayLine,
    force_line: DelayLine,
    delayed_force: f64,
    brake: Brake,
}

impl Plant {
    /// The static equilibrium with the motor at a position.
    pub fn at_rest(model: PlantModel, motor_position: f64) -> Self {
        let mut x = vec![0.0; model.states];
        x[0] = motor_position;
        let heights = equilibrium(&model, motor_position);
        for (i, u) in heights.iter().enumerate() {
            x[2 + 2 * i] = *u;
        }
        let pressed = model.pad_stiffness * (x[2] - x[0]);
        let force = if model.pad_pulls {
            pressed
        } else {
            pressed.max(0.0)
        };
        x[model.states - 1] = force;
        Self {
            scratch: x.clone(),
            x,
            reference: motor_position,
            reference_line: DelayLine::filled(model.reference_delay, motor_position),
            force_line: DelayLine::filled(model.force_delay, force),
            delayed_force: force,
            brake: Brake::engaged(),
            model,
        }
    }

    /// The same with a motor that arrives at that position with a speed, in m/s, behind a reference that has moved so for
    /// long; the specimen still rests. `substep_s` is that of the model.
    pub(crate) fn in_motion(model: PlantModel, position: f64, speed: f64, substep_s: f64) -> Self {
        let motor = model.motor;
        let lag_s = 2.0 * motor.damping_ratio / motor.omega_rad_per_s;
        let mut plant = Self::at_rest(model, position);
        plant.x[1] = speed;
        let delay = plant.model.reference_delay;
        let line = &mut plant.reference_line;
        // `next` is the slot that is written first; the one behind it is due first.
        for (k, value) in line.values.iter_mut().enumerate() {
            *value = position + speed * (lag_s + k.saturating_sub(1) as f64 * substep_s);
        }
        plant.reference = position + speed * (lag_s + delay as f64 * substep_s);
        plant
    }

    /// The newest reference that it was sent.
    pub(crate) fn reference(&self) -> f64 {
        self.reference
    }

    /// The reference that the motor is sent from now on.
    pub fn set_reference(&mut self, reference: f64) {
        self.reference = reference;
    }

    /// Tells the brake to let go or to hold; it takes its time.
    pub fn tell_brake(&mut self, released: bool) {
        self.brake.tell(released);
    }

    /// Lets the brake do something wrong from now on.
    pub fn break_brake(&mut self, fault: Option<BrakeFault>) {
        self.brake.suffer(fault);
    }

    /// Whether the brake grips; without one of which anything is known it does whenever it is needed.
    pub fn brake_grips(&self) -> bool {
        self.model
            .unpowered
            .as_ref()
            .is_some_and(|unpowered| self.brake.grips(unpowered))
    }

    /// How fast the motor moves, in m/s.
    pub fn motor_speed(&self) -> f64 {
        self.x[1]
    }

    /// Where the motor is, in m.
    pub fn motor_position(&self) -> f64 {
        self.x[0]
    }

    /// The true force between pad and head, in N: the pad only pushes, and only where it touches, unless the
    /// specimen is fixed to it.
    pub fn contact_force(&self) -> f64 {
        let squeezed = self.x[2] - self.x[0];
        let force =
            self.model.pad_stiffness * squeezed + self.model.pad_damping * (self.x[3] - self.x[1]);
        if self.model.pad_pulls {
            force
        } else if squeezed > 0.0 {
            force.max(0.0)
        } else {
            0.0
        }
    }

    /// The force after filter and delay, in N.
    pub fn measured_force(&self) -> f64 {
        self.delayed_force
    }

    /// One period of the loop.
    pub fn advance_period(&mut self, drive: Drive, fault: MotorFault) {
        for _ in 0..self.model.substeps {
            self.substep(drive, fault);
        }
    }

    fn substep(&mut self, drive: Drive, fault: MotorFault) {
        let friction = self.friction(drive, fault);
        let held = self.is_held(drive, fault, friction).then_some(self.x[0]);
        if friction.is_some() {
            self.reference = self.x[0];
        }
        if let Some(position) = held {
            // The brake holds the motor where it is, and it starts from there again.
            self.x[1] = 0.0;
            self.reference = position;
        }
        let asked = self.reference.clamp(
            self.model.motor.stroke_low_m,
            self.model.motor.stroke_high_m,
        );
        let mut reference = self.reference_line.push(asked);
        if let Some(position) = held {
            reference = position;
        } else if let Some(force) = friction {
            reference = force;
        } else if let MotorFault::Runaway(speed) = fault {
            // The reference that keeps the motor at that speed: u + (2ζ/ω) v.
            let motor = &self.model.motor;
            reference = self.x[0] + 2.0 * motor.damping_ratio / motor.omega_rad_per_s * speed;
            self.x[1] = speed;
        }
        let in_contact = self.model.pad_pulls || self.contact_force() > 0.0;
        let (contact, free) = match &self.model.unpowered {
            Some(unpowered) if friction.is_some() && held.is_none() => {
                (&unpowered.contact, &unpowered.free)
            }
            _ => (&self.model.contact, &self.model.free),
        };
        let step = if in_contact { contact } else { free };
        let speed_before = self.x[1];
        let n = self.model.states;
        for (i, out) in self.scratch.iter_mut().enumerate() {
            let row = &step.phi[i * n..(i + 1) * n];
            let linear: f64 = row.iter().zip(&self.x).map(|(a, x)| a * x).sum();
            *out = linear + step.gamma_r[i] * reference + step.gamma_0[i];
        }
        std::mem::swap(&mut self.x, &mut self.scratch);
        if let Some(position) = held {
            (self.x[0], self.x[1]) = (position, 0.0);
        } else if let Some(force) = friction {
            self.end_unpowered(force, speed_before);
        }
        let force = if self.model.filtered {
            self.x[n - 1]
        } else {
            self.contact_force()
        };
        self.delayed_force = self.force_line.push(force);
        self.brake.advance();
    }
}

impl Plant {
    /// The dry friction that acts on a motor without power, in N; `None`: it has power, or is held.
    fn friction(&self, drive: Drive, fault: MotorFault) -> Option<f64> {
        let unpowered = self.model.unpowered.as_ref()?;
        if drive == Drive::On || fault == MotorFault::Stuck {
            return None;
        }
        unpowered.friction(self.x[1], self.contact_force(), &self.brake)
    }

    /// Whether the motor stands whatever acts on it.
    fn is_held(&self, drive: Drive, fault: MotorFault, friction: Option<f64>) -> bool {
        let clamps = |unpowered| self.brake.clamps(unpowered);
        match drive {
            _ if fault == MotorFault::Stuck => true,
            Drive::Off => friction.is_none(),
            Drive::On => self.model.unpowered.as_ref().is_some_and(clamps),
        }
    }

    /// Stands where dry friction has stopped it, and at the ends of the stroke.
    fn end_unpowered(&mut self, friction: f64, speed_before: f64) {
        if friction != 0.0 && speed_before * self.x[1] < 0.0 {
            self.x[1] = 0.0;
        }
        let (low, high) = (
            self.model.motor.stroke_low_m,
            self.model.motor.stroke_high_m,
        );
        if self.x[0] < low {
            (self.x[0], self.x[1]) = (low, self.x[1].max(0.0));
        } else if self.x[0] > high {
            (self.x[0], self.x[1]) = (high, self.x[1].min(0.0));
        }
    }
}

/// Heights at rest under the motor: K u = f with the pad in K if it presses, without it otherwise.
fn equilibrium(model: &PlantModel, motor_position: f64) -> DVector<f64> {
    let n = model.stiffness.nrows();
    let mut load = DVector::zeros(n);
    load[n - 1] = model.uplift;
    let mut pressed = model.stiffness.clone();
    pressed[(0, 0)] += model.pad_stiffness;
    let mut with_pad = load.clone();
    with_pad[0] += model.pad_stiffness * motor_position;
    let touching = pressed
        .lu()
        .solve(&with_pad)
        .filter(|u| model.pad_pulls || u[0] > motor_position);
    // A chain without any stiffness to ground has no rest of its own: it then starts at the pad.
    let start_at_pad = || DVector::from_element(n, motor_position);
    touching
        .or_else(|| model.stiffness.clone().lu().solve(&load))
        .unwrap_or_else(start_at_pad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig_file::RigFile;
    use rt_core::file;
    use std::path::Path;

    fn shipped(rig: &str) -> (SimulatedConfig, Pantograph) {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
        let config = file::load::<RigFile>(&assets.join("rigs").join(rig))
            .unwrap()
            .model();
        let pantograph = file::load(&assets.join("pantographs/dsa-380.ron")).unwrap();
        (config, pantograph)
    }

    fn plant(config: &SimulatedConfig, pantograph: &Pantograph, period_s: f64, at: f64) -> Plant {
        Plant::at_rest(PlantModel::build(config, pantograph, period_s), at)
    }

    #[test]
    fn at_rest_nothing_moves_and_the_uplift_reaches_the_pad() {
        let (config, pantograph) = shipped("simulated-dsa-380.ron");
        let mut p = plant(&config, &pantograph, 0.002, 0.05);
        let force = p.contact_force();
        // The last spring (80 N/m) takes its share: about 120 N − 80 N/m · 0.05 m.
        assert!((force - 116.0).abs() < 2.0, "{force}");
        for _ in 0..1000 {
            p.advance_period(Drive::On, MotorFault::None);
        }
        assert!(
            (p.contact_force() - force).abs() < 1e-6 && (p.measured_force() - force).abs() < 1e-6
        );
        assert!((p.motor_position() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn the_motors_have_the_step_responses_of_their_sources() {
        // Peak of a second-order step: 1 + e^(−πζ/√(1−ζ²)) at π/(ω√(1−ζ²)).
        for (rig, peak, at_ms) in [
            ("simulated-dsa-380.ron", 1.23, 16.4),
            ("simulated-dsa-380-step-response.ron", 1.30, 12.0),
        ] {
            let (config, pantograph) = shipped(rig);
            let mut p = plant(&config, &pantograph, 0.0001, 0.0);
            p.set_reference(0.001);
            let mut best = (0.0, 0.0);
            for k in 1..500 {
                p.advance_period(Drive::On, MotorFault::None);
                if p.motor_position() > best.1 {
                    best = (f64::from(k) * 0.1, p.motor_position());
                }
            }
            assert!(
                (best.1 * 1e3 - peak).abs() < 0.005,
                "{rig}: peak {}",
                best.1 * 1e3
            );
            assert!((best.0 - at_ms).abs() < 0.15, "{rig}: at {} ms", best.0);
        }
    }

    #[test]
    fn the_result_does_not_depend_on_the_period_of_the_loop() {
        let (config, pantograph) = shipped("simulated-dsa-380.ron");
        let mut slow = plant(&config, &pantograph, 0.002, 0.0);
        let mut fast = plant(&config, &pantograph, 0.0005, 0.0);
        for k in 0..500 {
            let reference = 0.004 * (f64::from(k) * 0.02).sin();
            slow.set_reference(reference);
            fast.set_reference(reference);
            slow.advance_period(Drive::On, MotorFault::None);
            for _ in 0..4 {
                fast.advance_period(Drive::On, MotorFault::None);
            }
            // Same substeps, same arithmetic.
            assert_eq!(slow.measured_force(), fast.measured_force(), "cycle {k}");
        }
    }

    /// The same rig by brute force: Runge–Kutta of fourth order with 1 µs, contact decided in each stage.
    fn brute_force(
        config: &SimulatedConfig,
        pantograph: &Pantograph,
        start: &Plant,
        references: &[f64],
    ) -> Vec<f64> {
        let chain = pantograph.matrices();
        let n = pantograph.masses.len();
        let (w, z) = (config.motor.omega_rad_per_s, config.motor.damping_ratio);
        let (k, c) = (config.pad_stiffness_n_per_m, config.pad_damping_ns_per_m);
        let pad = |x: &[f64]| {
            let squeezed = x[2] - x[0];
            if squeezed > 0.0 {
                (k * squeezed + c * (x[3] - x[1])).max(0.0)
            } else {
                0.0
            }
        };
        let derivative = |x: &[f64], r: f64| {
            let mut d = vec![0.0; x.len()];
            d[0] = x[1];
            d[1] = w * w * (r - x[0]) - 2.0 * z * w * x[1];
            let force = pad(x);
            for i in 0..n {
                d[2 + 2 * i] = x[3 + 2 * i];
                let mut f = if i == 0 { -force } else { 0.0 };
                f += if i == n - 1 { config.uplift_n } else { 0.0 };
                for j in 0..n {
                    f -= chain.stiffness[(i, j)] * x[2 + 2 * j]
                        + chain.damping[(i, j)] * x[3 + 2 * j];
                }
                d[3 + 2 * i] = f / chain.mass[(i, i)];
            }
            d
        };
        let h = 1e-6;
        let mut x = start.x[..2 + 2 * n].to_vec();
        let mut forces = Vec::new();
        for &r in references {
            for _ in 0..2000 {
                let add = |x: &[f64], d: &[f64], s: f64| {
                    x.iter().zip(d).map(|(a, b)| a + s * b).collect::<Vec<_>>()
                };
                let k1 = derivative(&x, r);
                let k2 = derivative(&add(&x, &k1, h / 2.0), r);
                let k3 = derivative(&add(&x, &k2, h / 2.0), r);
                let k4 = derivative(&add(&x, &k3, h), r);
                for i in 0..x.len() {
                    x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
                }
            }
            forces.push(pad(&x));
        }
        forces
    }

    #[test]
    fn separation_and_return_agree_with_brute_force() {
        let (config, pantograph) = shipped("simulated-dsa-380-ideal.ron");
        let mut p = plant(&config, &pantograph, 0.002, 0.0);
        // A step of 3 mm upward tears the pad off the head; it comes back and bounces.
        let references = [0.003; 60];
        let expected = brute_force(&config, &pantograph, &p, &references);
        assert!(
            expected.iter().filter(|&&f| f == 0.0).count() > 3,
            "the case must contain a separation"
        );
        for (k, (&r, &exact)) in references.iter().zip(&expected).enumerate() {
            p.set_reference(r);
            p.advance_period(Drive::On, MotorFault::None);
            // A contact change is seen at most one substep (50 µs) late; at the impact speeds here
            // that shifts the stiff contact by some newtons out of several hundred.
            assert!(
                (p.contact_force() - exact).abs() < 12.0,
                "cycle {k}: {} against {exact}",
                p.contact_force()
            );
        }
    }

    /// A mass fixed to the motor: F = −m (g + z̈), which for a slow sine is below zero all the time.
    #[test]
    fn a_mass_that_is_fixed_to_the_pad_pulls_with_its_weight_and_inertia() {
        let (mut config, mut pantograph) = shipped("simulated-dsa-380-ideal.ron");
        pantograph.masses.truncate(1);
        pantograph.masses[0].mass_kg = 5.29;
        pantograph.masses[0].stiffness_n_per_m = 0.0;
        config.pad_pulls = true;
        config.pad_stiffness_n_per_m = 5e6;
        config.pad_damping_ns_per_m = 800.0;
        config.uplift_n = -5.29 * 9.81;
        config.check().unwrap();
        let mut p = plant(&config, &pantograph, 0.001, 0.02);
        assert!(
            (p.contact_force() + 51.8949).abs() < 1e-6,
            "{}",
            p.contact_force()
        );
        let (omega, mut heights) = (std::f64::consts::TAU * 2.0, Vec::new());
        for k in 0..4000 {
            let t = f64::from(k) * 1e-3;
            p.set_reference(0.02 + 0.005 * (omega * t).sin());
            p.advance_period(Drive::On, MotorFault::None);
            heights.push((p.motor_position(), p.contact_force()));
        }
        for w in heights[2000..].windows(3) {
            let acceleration = (w[2].0 - 2.0 * w[1].0 + w[0].0) / 1e-6;
            let expected = -5.29 * (9.81 + acceleration);
            // The steps of the reference ring on the pad, some tenths of a newton.
            assert!((w[1].1 - expected).abs() < 1.0, "{} {expected}", w[1].1);
        }
        config.pad_pulls = false;
        let text = config.check().unwrap_err().to_string();
        assert!(text.starts_with("uplift_n"), "{text}");
    }

    #[test]
    fn delays_are_those_of_the_file() {
        let (mut config, pantograph) = shipped("simulated-dsa-380-ideal.ron");
        let response = |config: &SimulatedConfig| {
            let mut p = plant(config, &pantograph, 0.0005, 0.0);
            p.set_reference(0.001);
            (0..200)
                .map(|_| {
                    p.advance_period(Drive::On, MotorFault::None);
                    (p.motor_position(), p.measured_force())
                })
                .collect::<Vec<_>>()
        };
        let prompt = response(&config);
        config.delays.reference_s = 0.002;
        config.delays.extra_s = 0.001;
        config.delays.force_s = 0.0015;
        let late = response(&config);
        for k in 20..200 {
            assert!(
                (late[k].0 - prompt[k - 6].0).abs() < 1e-12,
                "reference delay at {k}"
            );
            assert!(
                (late[k].1 - prompt[k - 9].1).abs() < 1e-6,
                "force delay at {k}"
            );
        }
    }
}
