//! The rig as the predictive controller sees it, exact at the sampling instants.
//!
//! State x = [u_m v_m | u₁ v₁ … u_n v_n | f | b | f₋₁ …]: motor; pantograph, head first; filtered
//! force; uplift; the filtered force of earlier cycles if it is read late. Measured are u_m and the
//! last of the forces.

use super::design::PredictiveRig;
use crate::model::pantograph::Pantograph;
use nalgebra::{DMatrix, DVector};

/// Place of the motor's position; its velocity follows.
pub const MOTOR: usize = 0;
/// Place of the head's height; velocity and the other masses follow.
pub const HEAD: usize = 2;

/// Where the states are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Number of the pantograph's masses.
    pub masses: usize,
    /// Cycles by which the force is read late.
    pub force_delay: usize,
}

impl Places {
    /// Number of the pantograph's states.
    pub fn pantograph(&self) -> usize {
        2 * self.masses
    }

    /// The filtered force now.
    pub fn filtered_force(&self) -> usize {
        HEAD + self.pantograph()
    }

    /// The uplift.
    pub fn uplift(&self) -> usize {
        self.filtered_force() + 1
    }

    /// The force that is read.
    pub fn read_force(&self) -> usize {
        if self.force_delay == 0 {
            self.filtered_force()
        } else {
            self.uplift() + self.force_delay
        }
    }

    /// Number of all states.
    pub fn count(&self) -> usize {
        self.uplift() + 1 + self.force_delay
    }
}

/// x⁺ = A x + B₀ r(k) + B₁ r(k−1), exact for a reference held over a cycle that acts δ late.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// A.
    pub a: DMatrix<f64>,
    /// B₀, of the reference of this cycle.
    pub b0: DVector<f64>,
    /// B₁, of the reference of the cycle before.
    pub b1: DVector<f64>,
    /// Input column of a force on the head in N, held over the cycle.
    pub head_force: DVector<f64>,
}

/// p⁺ = Φ p + Γ₀ u_m + Γ₁ u_m⁺ + Γ_b b, exact for a motor that moves evenly within the cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstOrderHold {
    /// Φ.
    pub phi: DMatrix<f64>,
    /// Γ₀, of the motor's position at the beginning.
    pub gamma0: DVector<f64>,
    /// Γ₁, of the motor's position at the end.
    pub gamma1: DVector<f64>,
    /// Γ_b, of the uplift.
    pub gamma_b: DVector<f64>,
}

/// ṗ = A_p p + b_m u_m + b_b b of the pantograph on a pad; without one for stiffness 0.
fn pantograph_part(
    pantograph: &Pantograph,
    pad: f64,
) -> (DMatrix<f64>, DVector<f64>, DVector<f64>) {
    let chain = pantograph.matrices();
    let n = pantograph.masses.len();
    let mut a = DMatrix::zeros(2 * n, 2 * n);
    let mut b_m = DVector::zeros(2 * n);
    let mut b_b = DVector::zeros(2 * n);
    for i in 0..n {
        let mass = chain.mass[(i, i)];
        a[(2 * i, 2 * i + 1)] = 1.0;
        for j in 0..n {
            a[(2 * i + 1, 2 * j)] = -chain.stiffness[(i, j)] / mass;
            a[(2 * i + 1, 2 * j + 1)] = -chain.damping[(i, j)] / mass;
        }
        if i == 0 {
            a[(1, 0)] -= pad / mass;
            b_m[1] = pad / mass;
        }
        if i + 1 == n {
            b_b[2 * i + 1] = 1.0 / mass;
        }
    }
    (a, b_m, b_b)
}

/// The rig over one cycle with a pad of stiffness `pad` in N/m; 0 while it does not touch.
///
/// Motor ü_m = ω² (r + c_l F − u_m) − 2ζω u̇_m with the load c_l; force filter ḟ = ω_f (F − f), F = pad (u₁ − u_m).
pub fn cycle(rig: &PredictiveRig, pantograph: &Pantograph, pad: f64) -> Cycle {
    let places = rig.places(pantograph);
    let (m, f, b) = (
        places.pantograph(),
        places.filtered_force(),
        places.uplift(),
    );
    let moving = b + 1;
    // Two more columns: the reference and a force on the head.
    let (r, head_force) = (moving, moving + 1);
    let mut a = DMatrix::zeros(moving + 2, moving + 2);
    let (w, zeta) = (rig.motor_omega_rad_per_s, rig.motor_damping_ratio);
    a[(MOTOR, MOTOR + 1)] = 1.0;
    let loaded = w * w * rig.motor_load_m_per_n * pad;
    a[(MOTOR + 1, MOTOR)] = -w * w - loaded;
    a[(MOTOR + 1, HEAD)] = loaded;
    a[(MOTOR + 1, MOTOR + 1)] = -2.0 * zeta * w;
    a[(MOTOR + 1, r)] = w * w;
    let (chain, by_motor, by_uplift) = pantograph_part(pantograph, pad);
    a.view_mut((HEAD, HEAD), (m, m)).copy_from(&chain);
    a.view_mut((HEAD, MOTOR), (m, 1)).copy_from(&by_motor);
    a.view_mut((HEAD, b), (m, 1)).copy_from(&by_uplift);
    a[(HEAD + 1, head_force)] = pantograph.masses.first().map_or(0.0, |h| 1.0 / h.mass_kg);
    let corner = std::f64::consts::TAU * rig.force_filter_hz;
    a[(f, f)] = -corner;
    a[(f, HEAD)] = corner * pad;
    a[(f, MOTOR)] = -corner * pad;

    let count = places.count();
    let whole = (&a * rig.period_s).exp();
    let late = (&a * (rig.period_s - rig.reference_delay_s)).exp();
    let column = |e: &DMatrix<f64>, j: usize| {
        DVector::from_fn(count, |i, _| if i < moving { e[(i, j)] } else { 0.0 })
    };
    let b0 = column(&late, r);
    let mut discrete = DMatrix::zeros(count, count);
    discrete
        .view_mut((0, 0), (moving, moving))
        .copy_from(&whole.view((0, 0), (moving, moving)));
    for k in 0..places.force_delay {
        // What was the newest becomes the next older one.
        let from = if k == 0 { f } else { b + k };
        discrete[(b + 1 + k, from)] = 1.0;
    }
    Cycle {
        a: discrete,
        b1: column(&whole, r) - &b0,
        b0,
        head_force: column(&whole, head_force),
    }
}

/// The pantograph over one cycle with a pad of stiffness `pad` in N/m; 0 while it does not touch.
pub fn first_order_hold(pantograph: &Pantograph, pad: f64, period_s: f64) -> FirstOrderHold {
    let (chain, by_motor, by_uplift) = pantograph_part(pantograph, pad);
    let m = chain.nrows();
    // Three more: motor position, its change over the cycle, uplift.
    let mut a = DMatrix::zeros(m + 3, m + 3);
    a.view_mut((0, 0), (m, m)).copy_from(&chain);
    a.view_mut((0, m), (m, 1)).copy_from(&by_motor);
    a.view_mut((0, m + 2), (m, 1)).copy_from(&by_uplift);
    a[(m, m + 1)] = 1.0 / period_s;
    let e = (a * period_s).exp();
    let column = |j: usize| DVector::from_fn(m, |i, _| e[(i, j)]);
    FirstOrderHold {
        phi: e.view((0, 0), (m, m)).into_owned(),
        gamma0: column(m) - column(m + 1),
        gamma1: column(m + 1),
        gamma_b: column(m + 2),
    }
}
