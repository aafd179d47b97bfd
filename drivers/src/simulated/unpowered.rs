//! A motor without power: what acts on it then, and the brake that may hold it.
//!
//! m v̇ = F − m g − c v ∓ F_f with the contact force F upwards and dry friction F_f, in which a brake that grips is
//! included. F_f is constant while the direction of motion is, so the substeps stay exact; where it reverses, the motor
//! stands for the rest of the substep.

use super::config::SimulatedConfig;
use super::plant::Substep;
use crate::mounting::MountingConfig;
use rt_core::model::pantograph::Pantograph;

/// Constant data of an unpowered motor; the input of its substeps is a force on the motor, in N.
#[derive(Clone)]
pub struct Unpowered {
    pub contact: Substep,
    pub free: Substep,
    weight_n: f64,
    coulomb_n: f64,
    /// Force that the brake holds against, in N; `None`: there is no brake.
    brake_n: Option<f64>,
    release_substeps: u64,
    engage_substeps: u64,
}

impl Unpowered {
    pub fn build(
        config: &SimulatedConfig,
        mounting: &MountingConfig,
        pantograph: &Pantograph,
        h: f64,
    ) -> Self {
        let brake = mounting.brake.as_ref();
        let substeps = |seconds: f64| (seconds / h).round() as u64;
        Self {
            contact: Substep::unpowered(config, mounting, pantograph, true, h),
            free: Substep::unpowered(config, mounting, pantograph, false, h),
            weight_n: mounting.weight_n(),
            coulomb_n: mounting.coulomb_n,
            brake_n: brake.map(|b| b.holds_n.unwrap_or(f64::INFINITY)),
            release_substeps: substeps(brake.map_or(0.0, |b| b.release_s)),
            engage_substeps: substeps(brake.map_or(0.0, |b| b.engage_s)),
        }
    }

    /// The dry friction that acts at a speed, with a contact force, in N; `None`: it holds the motor.
    pub fn friction(&self, speed: f64, contact_n: f64, brake: &Brake) -> Option<f64> {
        let most = self.coulomb_n + brake.force_n(self);
        let drives = contact_n + self.weight_n;
        // No friction of its own stops at once what moves: only a brake without a limit does.
        if most == f64::INFINITY {
            None
        } else if speed != 0.0 {
            Some(-most * speed.signum())
        } else if drives.abs() <= most {
            None
        } else {
            Some(-most * drives.signum())
        }
    }
}

/// What a brake does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BrakeFault {
    /// It holds against this force only, in N.
    Slips(f64),
    /// It holds whatever it is told.
    StaysEngaged,
    /// It is released whatever it is told.
    StaysReleased,
}

/// The brake as it is now.
#[derive(Clone, Debug)]
pub struct Brake {
    is_released: bool,
    /// Substeps since it was told the other.
    since: u64,
    fault: Option<BrakeFault>,
}

impl Brake {
    /// Engaged for as long as anyone remembers.
    pub fn engaged() -> Self {
        Self {
            is_released: false,
            since: u64::MAX,
            fault: None,
        }
    }

    pub fn tell(&mut self, released: bool) {
        if released != self.is_released {
            (self.is_released, self.since) = (released, 0);
        }
    }

    pub fn suffer(&mut self, fault: Option<BrakeFault>) {
        self.fault = fault;
    }

    pub fn advance(&mut self) {
        self.since = self.since.saturating_add(1);
    }

    /// Whether it grips.
    pub fn grips(&self, unpowered: &Unpowered) -> bool {
        let obeys = if self.is_released {
            self.since < unpowered.release_substeps
        } else {
            self.since >= unpowered.engage_substeps
        };
        unpowered.brake_n.is_some()
            && match self.fault {
                Some(BrakeFault::StaysEngaged) => true,
                Some(BrakeFault::StaysReleased) => false,
                Some(BrakeFault::Slips(_)) | None => obeys,
            }
    }

    fn force_n(&self, unpowered: &Unpowered) -> f64 {
        if !self.grips(unpowered) {
            return 0.0;
        }
        let own = unpowered.brake_n.unwrap_or(0.0);
        match self.fault {
            Some(BrakeFault::Slips(newtons)) => newtons.min(own),
            _ => own,
        }
    }

    /// Whether it holds whatever acts, the drive included.
    pub fn clamps(&self, unpowered: &Unpowered) -> bool {
        self.force_n(unpowered) == f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::MotorFault;
    use super::super::plant::{Plant, PlantModel};
    use super::*;
    use crate::mounting::GRAVITY_M_PER_S2;
    use crate::rig_file::{rig_model, rig_pantograph};
    use rt_core::guard::Drive;
    use std::path::Path;

    const PERIOD_S: f64 = 0.001;
    const MASS_KG: f64 = 10.0;

    /// The ideal rig on a mounting, without a lift of its specimen unless it is asked for.
    fn plant(mounting: &str, uplift_n: f64, at_m: f64) -> (Plant, SimulatedConfig) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../assets/rigs/simulated-dsa-380-ideal.ron");
        let mut config = rig_model(&path).unwrap();
        config.mounting = Some(rt_core::file::parse(mounting, Path::new("mounting.ron")).unwrap());
        config.uplift_n = uplift_n;
        config.check().unwrap();
        let model = PlantModel::build(&config, &rig_pantograph(&path).unwrap(), PERIOD_S);
        (Plant::at_rest(model, at_m), config)
    }

    fn off(plant: &mut Plant, seconds: f64) {
        for _ in 0..(seconds / PERIOD_S).round() as usize {
            plant.advance_period(Drive::Off, MotorFault::None);
        }
    }

    #[test]
    fn a_free_vertical_motor_falls_as_bodies_fall() {
        let (mut p, _) = plant(
            "(axis: Vertical, moving_mass_kg: 10.0, brake: None)",
            0.0,
            0.19,
        );
        for k in 1..=150 {
            off(&mut p, PERIOD_S);
            let t = f64::from(k) * PERIOD_S;
            let expected = 0.19 - 0.5 * GRAVITY_M_PER_S2 * t * t;
            assert!((p.motor_position() - expected).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn viscous_friction_bounds_the_speed_of_the_fall() {
        let (mut p, _) = plant(
            "(axis: Vertical, moving_mass_kg: 10.0, friction_ns_per_m: 80.0, brake: None)",
            0.0,
            0.19,
        );
        let (m, c, g) = (MASS_KG, 80.0, GRAVITY_M_PER_S2);
        for k in 1..=150 {
            off(&mut p, PERIOD_S);
            let t = f64::from(k) * PERIOD_S;
            // v = −(m g / c)(1 − e^(−c t / m)), once more integrated.
            let fallen = m * g / c * (t - m / c * (1.0 - (-c * t / m).exp()));
            assert!((p.motor_position() - (0.19 - fallen)).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn dry_friction_takes_its_share_or_holds() {
        let text = |n: f64| {
            format!("(axis: Vertical, moving_mass_kg: 10.0, coulomb_n: {n:?}, brake: None)")
        };
        let (mut p, _) = plant(&text(30.0), 0.0, 0.19);
        off(&mut p, 0.15);
        let expected = 0.19 - 0.5 * (GRAVITY_M_PER_S2 - 3.0) * 0.15 * 0.15;
        assert!((p.motor_position() - expected).abs() < 1e-12);
        let (mut p, _) = plant(&text(98.2), 0.0, 0.19);
        off(&mut p, 1.0);
        assert_eq!(p.motor_position(), 0.19);
    }

    #[test]
    fn the_specimen_pushes_a_horizontal_motor_away_and_to_the_stop() {
        // At first the pad presses with what it does at rest: ẍ = F / m.
        let (mut p, config) = plant(
            "(axis: Horizontal, moving_mass_kg: 10.0, brake: None)",
            120.0,
            0.05,
        );
        let force = p.contact_force();
        p.advance_period(Drive::Off, MotorFault::None);
        let expected = 0.05 + 0.5 * force / MASS_KG * PERIOD_S * PERIOD_S;
        // The pad of 240 kN/m gives way by a little in a millisecond.
        assert!((p.motor_position() - expected).abs() < 0.05 * (expected - 0.05));
        off(&mut p, 3.0);
        assert_eq!(p.motor_position(), config.motor.stroke_high_m);
    }

    #[test]
    fn uplift_and_weight_settle_where_they_are_equal() {
        let (mut p, config) = plant(
            "(axis: Vertical, moving_mass_kg: 11.0, friction_ns_per_m: 60.0, brake: None)",
            120.0,
            0.05,
        );
        off(&mut p, 60.0);
        let weight = 11.0 * GRAVITY_M_PER_S2;
        assert!(
            (p.contact_force() - weight).abs() < 0.01,
            "{}",
            p.contact_force()
        );
        // K u = uplift on the lowest mass − weight on the head; the pad is squeezed by weight / k.
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/pantographs/dsa-380.ron");
        let pantograph: Pantograph = rt_core::file::load(&path).unwrap();
        let stiffness = pantograph.matrices().stiffness;
        let mut load = nalgebra::DVector::zeros(stiffness.nrows());
        load[0] -= weight;
        load[stiffness.nrows() - 1] += 120.0;
        let heights = stiffness.lu().solve(&load).unwrap();
        let expected = heights[0] - weight / config.pad_stiffness_n_per_m;
        assert!(
            (p.motor_position() - expected).abs() < 2e-4,
            "{} {expected}",
            p.motor_position()
        );
    }

    const BRAKED: &str = "(axis: Vertical, moving_mass_kg: 10.0, brake: (release_s: 0.02, engage_s: 0.05, output: Drive))";

    #[test]
    fn a_brake_holds_from_its_time_on_and_not_before() {
        let (mut p, _) = plant(BRAKED, 0.0, 0.19);
        off(&mut p, 1.0);
        assert_eq!(p.motor_position(), 0.19, "engaged from the start");
        p.tell_brake(true);
        off(&mut p, 0.02);
        assert_eq!(p.motor_position(), 0.19, "it takes its time to let go");
        p.tell_brake(false);
        off(&mut p, 0.05);
        let fallen = 0.5 * GRAVITY_M_PER_S2 * 0.05 * 0.05;
        assert!((p.motor_position() - (0.19 - fallen)).abs() < 1e-12);
        off(&mut p, 1.0);
        assert!((p.motor_position() - (0.19 - fallen)).abs() < 1e-12);
    }

    #[test]
    fn a_brake_that_slips_creeps_as_its_force_says() {
        let (mut p, _) = plant(BRAKED, 0.0, 0.19);
        p.break_brake(Some(BrakeFault::Slips(98.0)));
        off(&mut p, 0.5);
        let expected = 0.19 - 0.5 * (GRAVITY_M_PER_S2 - 9.8) * 0.25;
        assert!((p.motor_position() - expected).abs() < 1e-12);
        p.break_brake(None);
        let held = p.motor_position();
        off(&mut p, 0.5);
        assert_eq!(p.motor_position(), held);
    }

    #[test]
    fn with_power_a_mounting_changes_nothing() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../assets/rigs/simulated-dsa-380-ideal.ron");
        let config = rig_model(&path).unwrap();
        let model = PlantModel::build(&config, &rig_pantograph(&path).unwrap(), PERIOD_S);
        let mut before = Plant::at_rest(model, 0.05);
        let (mut now, _) = plant(BRAKED, 120.0, 0.05);
        now.tell_brake(true);
        off(&mut now, 0.02);
        off(&mut before, 0.02);
        for k in 0..1000 {
            let reference = 0.05 + 0.003 * (f64::from(k) * 0.05).sin();
            for p in [&mut before, &mut now] {
                p.set_reference(reference);
                p.advance_period(Drive::On, MotorFault::None);
            }
            assert_eq!(
                before.motor_position().to_bits(),
                now.motor_position().to_bits()
            );
            assert_eq!(
                before.measured_force().to_bits(),
                now.measured_force().to_bits()
            );
        }
    }
}
