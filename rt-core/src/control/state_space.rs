//! The rig as the regulator and the observer see it.

use super::newmark::{NewmarkBlock, SecondOrder};
use crate::file::{FieldError, require_not_negative, require_positive};
use nalgebra::{SMatrix, SVector};

/// Number of states of the rig model.
pub const STATES: usize = 10;
/// Place of the interaction mass's position; velocity and acceleration follow.
pub const INTERACTION: usize = 0;
/// Place of the motor's position; velocity and acceleration follow.
pub const MOTOR: usize = 3;
/// Place of the pantograph's position; velocity and acceleration follow.
pub const PANTOGRAPH: usize = 6;
/// Place of the control action on its way.
pub const ACTION: usize = 9;

/// Parameters of the rig model.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigModel {
    /// Virtual mass between wire and motor reference.
    pub interaction: SecondOrder,
    /// Motor with its drive, position by reference.
    pub motor: SecondOrder,
    /// Pantograph head on the pad, as the observer assumes it.
    pub pantograph: SecondOrder,
    /// Stiffness k_h of the pad between motor and pantograph in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Cycle of the loop in s.
    pub period_s: f64,
}

impl RigModel {
    /// The rig of Tur et al. 2024, Table 2.
    pub const TUR_2024: Self = Self {
        interaction: SecondOrder {
            mass_kg: 0.05,
            damping_ns_per_m: 50.0,
            stiffness_n_per_m: 50e3,
        },
        motor: SecondOrder {
            mass_kg: 10.0,
            damping_ns_per_m: 1800.0,
            stiffness_n_per_m: 450e3,
        },
        pantograph: SecondOrder {
            mass_kg: 5.3,
            damping_ns_per_m: 10.0,
            stiffness_n_per_m: 240e3,
        },
        pad_stiffness_n_per_m: 240e3,
        period_s: 2e-3,
    };

    /// Refuses parameters without meaning.
    pub fn check(&self) -> Result<(), FieldError> {
        for (name, part) in [
            ("interaction", &self.interaction),
            ("motor", &self.motor),
            ("pantograph", &self.pantograph),
        ] {
            let at = |e: FieldError| e.within(name);
            require_positive("mass_kg", part.mass_kg, "kg").map_err(at)?;
            require_not_negative("damping_ns_per_m", part.damping_ns_per_m, "N s/m").map_err(at)?;
            require_positive("stiffness_n_per_m", part.stiffness_n_per_m, "N/m").map_err(at)?;
        }
        require_positive("pad_stiffness_n_per_m", self.pad_stiffness_n_per_m, "N/m")?;
        require_positive("period_s", self.period_s, "s")
    }

    /// The state space of the rig.
    ///
    /// * x_i⁺ = A_i x_i + B_i z_c⁺ + B_i F_c / k_i with F_c = k_h (u_p − u_m): the force is one
    ///   step old;
    /// * x_m⁺ = A_m x_m + B_m (u_i + z_m): so is the reference;
    /// * x_p⁺ = A_p x_p + B_p u_m⁺ + B_p f_p⁺ / k_h;
    /// * z_m⁺ = u⁺.
    pub fn plant(&self) -> Result<Plant, FieldError> {
        self.check()?;
        let interaction = NewmarkBlock::new(&self.interaction, self.period_s);
        let motor = NewmarkBlock::new(&self.motor, self.period_s);
        let pantograph = NewmarkBlock::new(&self.pantograph, self.period_s);
        let mut plant = Plant {
            a: SMatrix::zeros(),
            b_z: SVector::zeros(),
            b_u: SVector::zeros(),
            b_f: SVector::zeros(),
            rest_under_force: SVector::zeros(),
        };
        let by_force =
            interaction.b * (self.pad_stiffness_n_per_m / self.interaction.stiffness_n_per_m);
        let a = &mut plant.a;
        a.fixed_view_mut::<3, 3>(INTERACTION, INTERACTION)
            .copy_from(&interaction.a);
        a.fixed_view_mut::<3, 1>(INTERACTION, MOTOR)
            .copy_from(&-by_force);
        a.fixed_view_mut::<3, 1>(INTERACTION, PANTOGRAPH)
            .copy_from(&by_force);
        a.fixed_view_mut::<3, 3>(MOTOR, MOTOR).copy_from(&motor.a);
        a.fixed_view_mut::<3, 1>(MOTOR, INTERACTION)
            .copy_from(&motor.b);
        a.fixed_view_mut::<3, 1>(MOTOR, ACTION).copy_from(&motor.b);
        let motor_position = a.fixed_view::<1, STATES>(MOTOR, 0).into_owned();
        a.fixed_view_mut::<3, STATES>(PANTOGRAPH, 0)
            .copy_from(&(pantograph.b * motor_position));
        let mut own = a.fixed_view_mut::<3, 3>(PANTOGRAPH, PANTOGRAPH);
        own += pantograph.a;
        plant
            .b_z
            .fixed_rows_mut::<3>(INTERACTION)
            .copy_from(&interaction.b);
        plant.b_u[ACTION] = 1.0;
        plant
            .b_f
            .fixed_rows_mut::<3>(PANTOGRAPH)
            .copy_from(&(pantograph.b / self.pad_stiffness_n_per_m));
        // All of the force goes through the pad into the interaction spring.
        let spring = 1.0 / self.interaction.stiffness_n_per_m;
        plant.rest_under_force[INTERACTION] = spring;
        plant.rest_under_force[MOTOR] = spring;
        plant.rest_under_force[PANTOGRAPH] = spring + 1.0 / self.pad_stiffness_n_per_m;
        Ok(plant)
    }
}

/// x⁺ = A x + B_z z_c⁺ + B_u u⁺ + B_f f_p⁺, y = [u_i; u_m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plant {
    /// State matrix.
    pub a: SMatrix<f64, STATES, STATES>,
    /// Input column of the wire height in m.
    pub b_z: SVector<f64, STATES>,
    /// Input column of the control action in m.
    pub b_u: SVector<f64, STATES>,
    /// Input column of a force on the pantograph in N.
    pub b_f: SVector<f64, STATES>,
    /// Where the rig rests under a force of 1 N on the pantograph, the wire held at 0, no action:
    /// interaction mass and motor 1/k_i up, the pantograph 1/k_h further.
    pub rest_under_force: SVector<f64, STATES>,
}

impl Plant {
    /// Where the rig rests when the wire rests at 1: everything follows, no action.
    pub fn rest() -> SVector<f64, STATES> {
        let mut x = SVector::zeros();
        x[INTERACTION] = 1.0;
        x[MOTOR] = 1.0;
        x[PANTOGRAPH] = 1.0;
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_state_stays_at_rest() {
        let plant = RigModel::TUR_2024.plant().unwrap();
        let rest = Plant::rest();
        let next = plant.a * rest + plant.b_z;
        for i in 0..STATES {
            let scale = [1.0, 1e3, 1e6][i % 3];
            assert!(
                (next[i] - rest[i]).abs() < 1e-10 * scale,
                "{i}: {}",
                next[i]
            );
        }
    }

    #[test]
    fn a_constant_force_lifts_the_interaction_mass_by_its_spring() {
        let plant = RigModel::TUR_2024.plant().unwrap();
        // At rest: F_c = f_p (the pad carries it), k_i u_i = F_c, u_m = u_i.
        let i = SMatrix::<f64, STATES, STATES>::identity();
        let x = (i - plant.a).lu().solve(&(plant.b_f * 100.0)).unwrap();
        assert!((x - plant.rest_under_force * 100.0).amax() < 1e-9, "{x}");
    }

    #[test]
    fn senseless_parameters_are_named() {
        let mut rig = RigModel::TUR_2024;
        rig.motor.mass_kg = -1.0;
        let text = rig.plant().unwrap_err().to_string();
        assert!(text.starts_with("motor.mass_kg: is -1 kg"), "{text}");
    }
}
