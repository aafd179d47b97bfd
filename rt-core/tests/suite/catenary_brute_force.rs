//! The reference solver step by step against assembling and solving everything anew.

use crate::catenary::{dense, heavy_run, linear, pantograph, small, within};
use nalgebra::{DMatrix, DVector};
use rt_core::model::catenary::simulate::{CONTACT_STIFFNESS, RAMP_M};
use rt_core::model::catenary::{FullWire, Line, LinearLine, Run};
use std::sync::Arc;

/// One implicit step of line and pantograph by trying sets: springs of slack droppers taken out, the
/// contact spring put in, everything assembled and solved anew until every sign is right.
struct BruteForce {
    line: Arc<LinearLine>,
    mass: DMatrix<f64>,
    damping: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    load: DVector<f64>,
    motion: [DVector<f64>; 3],
    slack: Vec<bool>,
    contact: bool,
    dt: f64,
}

impl BruteForce {
    fn new(
        line: Arc<LinearLine>,
        p: &rt_core::model::pantograph::Pantograph,
        uplift: f64,
        dt: f64,
    ) -> Self {
        let (n, chain) = (line.dofs(), p.matrices());
        let all = n + chain.mass.nrows();
        let join = |wire: DMatrix<f64>, lower: &DMatrix<f64>| {
            let mut m = DMatrix::zeros(all, all);
            m.view_mut((0, 0), (n, n)).copy_from(&wire);
            m.view_mut((n, n), (all - n, all - n)).copy_from(lower);
            m
        };
        let (k, m) = (dense(&line.stiffness), dense(&line.mass));
        let c = &m * line.damping.alpha_per_s + &k * line.damping.beta_s;
        let mut load = DVector::zeros(all);
        load[all - 1] = uplift;
        Self {
            mass: join(m, &chain.mass),
            damping: join(c, &chain.damping),
            stiffness: join(k, &chain.stiffness),
            load,
            motion: [
                DVector::zeros(all),
                DVector::zeros(all),
                DVector::zeros(all),
            ],
            slack: vec![false; line.droppers.len()],
            contact: true,
            dt,
            line,
        }
    }

    /// Contact force and number of slack droppers.
    fn step(&mut self, x: f64, share: f64) -> (f64, usize) {
        let n = self.line.dofs();
        let (dt, [u, v, a]) = (self.dt, &self.motion);
        let p = u * (4.0 / dt / dt) + v * (4.0 / dt) + a;
        let q = u * (2.0 / dt) + v;
        let base = &self.mass * (4.0 / dt / dt) + &self.damping * (2.0 / dt) + &self.stiffness;
        let rhs = &self.mass * p + &self.damping * q + &self.load;
        let point = self.line.contact_point(x);
        let rest = self.line.rest_height(x);
        let kc = CONTACT_STIFFNESS;
        for _ in 0..100 {
            let (mut k, mut f) = (base.clone(), rhs.clone());
            for (d, _) in self
                .line
                .droppers
                .iter()
                .zip(&self.slack)
                .filter(|(_, s)| **s)
            {
                // Its spring is gone; so is the static pull that the weights balanced.
                for (i, j, sign) in [
                    (d.top, d.top, 1.0),
                    (d.bottom, d.bottom, 1.0),
                    (d.top, d.bottom, -1.0),
                    (d.bottom, d.top, -1.0),
                ] {
                    k[(i, j)] -= sign * d.stiffness;
                }
                f[d.top] += d.rest;
                f[d.bottom] -= d.rest;
            }
            if self.contact {
                // F = k_c (u_p − z); the wire feels a share of it.
                k[(n, n)] += kc;
                f[n] += kc * rest;
                for (i, wi) in point.dofs.iter().zip(point.weights) {
                    k[(n, *i)] -= kc * wi;
                    k[(*i, n)] -= share * kc * wi;
                    f[*i] -= share * kc * rest * wi;
                    for (j, wj) in point.dofs.iter().zip(point.weights) {
                        k[(*i, *j)] += share * kc * wi * wj;
                    }
                }
            }
            let new = k.lu().solve(&f).unwrap();
            let gap = new[n] - rest - point.of(new.as_slice());
            let slack: Vec<bool> = self
                .line
                .droppers
                .iter()
                .map(|d| d.rest + d.stiffness * (new[d.top] - new[d.bottom]) < 0.0)
                .collect();
            let contact = gap > 0.0;
            if slack == self.slack && contact == self.contact {
                let du = &new - u;
                let v_new = &du * (2.0 / dt) - v;
                let a_new = &du * (4.0 / dt / dt) - v * (4.0 / dt) - a;
                self.motion = [new, v_new, a_new];
                let count = self.slack.iter().filter(|s| **s).count();
                return (if contact { kc * gap } else { 0.0 }, count);
            }
            (self.slack, self.contact) = (slack, contact);
        }
        panic!("no set of slack droppers was found by trying");
    }
}

/// Follows a run by brute force; returns most slack droppers and steps without contact.
fn follow_by_brute_force(design: &Line, uplift: f64) -> (usize, usize) {
    let model = linear(design, 4.0);
    let p = pantograph("en50318-2002");
    let dt = 1e-3;
    let run = Run {
        speed_kmh: 360.0,
        uplift_n: uplift,
        ..heavy_run(&model)
    };
    let mut wire = FullWire::new(model.clone(), dt).unwrap();
    let series = run.simulate(&model, &mut wire, &p, &mut |_| ()).unwrap();

    let mut brute = BruteForce::new(model.clone(), &p, uplift, dt);
    // At rest against the wire at its rest height.
    let mut k = p.matrices().stiffness;
    k[(0, 0)] += CONTACT_STIFFNESS;
    let f = DVector::from_vec(vec![CONTACT_STIFFNESS * model.rest_height(0.0), uplift]);
    brute.motion[0]
        .rows_mut(model.dofs(), 2)
        .copy_from(&k.lu().solve(&f).unwrap());
    let (mut most_slack, mut lost) = (0, 0);
    for (i, &x) in series.x.iter().enumerate() {
        let (force, slack) = brute.step(x, (x / RAMP_M).min(1.0));
        within(series.force[i], force, 1e-5, &format!("force at {x} m"));
        assert_eq!(
            usize::from(series.slack[i]),
            slack,
            "slack droppers at {x} m"
        );
        most_slack = most_slack.max(slack);
        lost += usize::from(force == 0.0);
    }
    let (u, _, _) = wire.motion();
    for (a, b) in u.iter().zip(brute.motion[0].iter()) {
        within(*a, *b, 1e-9, "displacement at the end");
    }
    (most_slack, lost)
}

#[test]
fn the_reference_solver_equals_reassembly_by_brute_force() {
    let (slack, _) = follow_by_brute_force(&small(), 450.0);
    assert!(slack >= 4, "several droppers slack at once: {slack}");
    // A soft uplift and a wire with hard corners make the head jump.
    let mut cornered = small();
    for d in cornered
        .spans
        .get_mut("s")
        .unwrap()
        .droppers
        .iter_mut()
        .step_by(2)
    {
        d.presag_m = 0.008;
    }
    let (_, lost) = follow_by_brute_force(&cornered, 30.0);
    assert!(lost > 10, "contact is lost and found again: {lost}");
}
