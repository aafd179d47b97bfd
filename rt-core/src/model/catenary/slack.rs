//! Droppers that cannot push, and the contact that cannot pull: one small complementarity problem a
//! step.
//!
//! The matrices hold every dropper as a spring that pulls and pushes. With e_j the tension of dropper
//! j so predicted and s_j ≥ 0 a traction added to it, the true tension y_j = e_j + s_j + (effect of all
//! s) fulfils y ≥ 0, s ≥ 0, y·s = 0. With H = Bᵀ K_itc⁻¹ B the stretch of the droppers by unit
//! tractions and g the stretch by a unit contact force:
//!
//!   y_j/k_j = e_j/k_j + g_j F + Σ_l (δ_jl/k_j − H_jl) s_l
//!   z_c     = z_f + c F − Σ_j g_j s_j
//!
//! D⁻¹ − H is symmetric positive definite because the line without its droppers is still stiff and
//! heavy; so the solution exists and is the only one. A contact spring adds (r/a) g gᵀ, which keeps
//! that. The set of slack droppers is iterated, since one may go slack only after another was corrected.

/// A pantograph head that meets the wire through a spring which cannot pull.
#[derive(Clone, Copy, Debug)]
pub struct ElasticContact {
    /// Contact stiffness k_c, in N/m.
    pub stiffness: f64,
    /// Height of the head at the end of the step if nothing touched it, in m.
    pub head_free: f64,
    /// How far a unit contact force presses the head down within the step, in m/N.
    pub head_compliance: f64,
    /// Part r of the contact force that reaches the wire: below 1 while it is introduced gradually.
    pub share: f64,
}

/// What a step found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Contact force, in N; on the wire acts the introduced share of it.
    pub force: f64,
    /// Height of the wire at the contact point, in m above nominal.
    pub height: f64,
}

/// Tensions below minus this are corrected, in N.
const TOLERANCE_N: f64 = 1e-9;
/// After so many rounds with whole sets, indices change one at a time, which must end.
const BLOCK_ROUNDS: usize = 12;

/// The droppers' constants, this step's predictions and the corrections found.
#[derive(Clone, Debug)]
pub struct Slackening {
    stiffness: Vec<f64>,
    rest: Vec<f64>,
    /// H, row by row.
    coupling: Vec<f64>,
    /// e: predicted tension at zero contact force, in N; only watched ones are read.
    pub predicted: Vec<f64>,
    /// g: stretch by a unit contact force, in m/N; only watched ones are read.
    pub per_force: Vec<f64>,
    /// The droppers that are checked in this step.
    pub watched: Vec<usize>,
    /// Wire height at zero force without corrections, in m.
    height_free: f64,
    /// c: rise of the wire by a unit force within the step, in m/N.
    compliance: f64,
    traction: Vec<f64>,
    with_contact: Vec<f64>,
    slack: Vec<bool>,
    set: Vec<usize>,
    factor: Vec<f64>,
    force_on_wire: f64,
    unsettled: u64,
}

impl Slackening {
    /// For droppers of stiffness k (N/m) and rest tension (N, below zero if slack at rest), with H row
    /// by row.
    pub fn new(stiffness: Vec<f64>, rest: Vec<f64>, coupling: Vec<f64>) -> Self {
        let n = stiffness.len();
        assert!(
            rest.len() == n && coupling.len() == n * n,
            "one row a dropper"
        );
        let mut new = Self {
            rest,
            coupling,
            predicted: vec![0.0; n],
            per_force: vec![0.0; n],
            watched: Vec::with_capacity(n),
            height_free: 0.0,
            compliance: 0.0,
            traction: vec![0.0; n],
            with_contact: vec![0.0; n],
            slack: vec![false; n],
            set: Vec::with_capacity(n),
            factor: vec![0.0; n * n],
            force_on_wire: 0.0,
            unsettled: 0,
            stiffness,
        };
        new.watched.extend(0..n);
        new.reset();
        new
    }

    /// Back to rest.
    pub fn reset(&mut self) {
        for ((slack, s), rest) in self
            .slack
            .iter_mut()
            .zip(&mut self.traction)
            .zip(&self.rest)
        {
            *slack = *rest < 0.0;
            *s = (-rest).max(0.0);
        }
        self.force_on_wire = 0.0;
        self.unsettled = 0;
    }

    /// How many answers since the last reset were given up before every sign was right. The theory
    /// says none; a number above zero means that results are not to be trusted.
    pub fn unsettled(&self) -> u64 {
        self.unsettled
    }

    /// Begins a step: nothing is answered yet. Takes the wire's height at zero force without
    /// corrections, in m, and its rise c by a unit force, in m/N.
    pub fn begin(&mut self, height_free: f64, compliance: f64) {
        self.height_free = height_free;
        self.compliance = compliance;
        self.set.clear();
        self.force_on_wire = 0.0;
    }

    /// Predicts the tension of a dropper from its stretch beyond rest.
    #[inline]
    pub fn predict(&mut self, dropper: usize, stretch: f64, per_force: f64) {
        self.predicted[dropper] = self.rest[dropper] + self.stiffness[dropper] * stretch;
        self.per_force[dropper] = per_force;
    }

    /// s: traction that takes the place of what the spring of a slack dropper would push, in N.
    pub fn traction(&self) -> &[f64] {
        &self.traction
    }

    /// Which droppers are slack.
    pub fn slack(&self) -> &[bool] {
        &self.slack
    }

    /// Restores which droppers are slack.
    pub fn set_slack(&mut self, slack: &[bool]) {
        self.slack.copy_from_slice(slack);
    }

    /// How many droppers are slack.
    pub fn count(&self) -> usize {
        self.slack.iter().filter(|s| **s).count()
    }

    /// The force on the wire that the latest answer assumes, in N.
    pub fn force_on_wire(&self) -> f64 {
        self.force_on_wire
    }

    /// True tension of a watched dropper in the latest answer, in N.
    pub fn tension(&self, dropper: usize) -> f64 {
        let row = dropper * self.stiffness.len();
        let stretch = self.per_force[dropper] * self.force_on_wire
            - self
                .set
                .iter()
                .map(|&l| self.coupling[row + l] * self.traction[l])
                .sum::<f64>();
        self.predicted[dropper] + self.stiffness[dropper] * stretch + self.traction[dropper]
    }

    /// Answers to a given force on the wire: its height at the contact point.
    pub fn respond(&mut self, force_on_wire: f64) -> f64 {
        self.force_on_wire = force_on_wire;
        self.solve(force_on_wire, 0.0);
        self.height()
    }

    /// Answers to a head behind a spring: force and height together.
    pub fn respond_to(&mut self, contact: &ElasticContact) -> Response {
        let r = contact.share;
        let a = 1.0 / contact.stiffness + contact.head_compliance + r * self.compliance;
        let gap = contact.head_free - self.height_free;
        self.solve(r * gap / a, r / a);
        let closed = (gap + self.lowering()) / a;
        if closed >= 0.0 {
            self.force_on_wire = r * closed;
            return Response {
                force: closed,
                height: self.height(),
            };
        }
        Response {
            force: 0.0,
            height: self.respond(0.0),
        }
    }

    /// Σ g_j s_j.
    fn lowering(&self) -> f64 {
        self.set
            .iter()
            .map(|&j| self.per_force[j] * self.traction[j])
            .sum()
    }

    fn height(&self) -> f64 {
        self.height_free + self.compliance * self.force_on_wire - self.lowering()
    }

    /// y for a force that answers to s with ∂F/∂s_l = ρ g_l; `force` is that at s = 0.
    fn solve(&mut self, force: f64, rho: f64) {
        let n = self.stiffness.len();
        for &j in &self.watched {
            self.with_contact[j] =
                self.predicted[j] + self.stiffness[j] * self.per_force[j] * force;
        }
        for round in 0..BLOCK_ROUNDS + 4 * n {
            self.set.clear();
            for &j in &self.watched {
                self.traction[j] = 0.0;
                if self.slack[j] {
                    self.set.push(j);
                }
            }
            self.solve_set(rho);
            let one_at_a_time = round >= BLOCK_ROUNDS;
            let mut wrong = false;
            // From the last: changing only the last wrong index of a P-matrix problem ends (Murty).
            for &j in self.watched.iter().rev() {
                let is_wrong = if self.slack[j] {
                    self.traction[j] < 0.0
                } else {
                    let row = j * n;
                    let g = self.per_force[j];
                    let stretch: f64 = self
                        .set
                        .iter()
                        .map(|&l| {
                            (rho * g * self.per_force[l] - self.coupling[row + l])
                                * self.traction[l]
                        })
                        .sum();
                    self.with_contact[j] + self.stiffness[j] * stretch < -TOLERANCE_N
                };
                if is_wrong {
                    self.slack[j] = !self.slack[j];
                    wrong = true;
                    if one_at_a_time {
                        break;
                    }
                }
            }
            if !wrong {
                return;
            }
        }
        self.unsettled += 1;
    }

    /// Cholesky of D⁻¹ − H + ρ g gᵀ over the set, then the tractions.
    fn solve_set(&mut self, rho: f64) {
        let (n, m) = (self.stiffness.len(), self.set.len());
        let l = &mut self.factor;
        for a in 0..m {
            let j = self.set[a];
            for b in 0..=a {
                let i = self.set[b];
                let own = if a == b { 1.0 / self.stiffness[j] } else { 0.0 };
                let mut sum =
                    own - self.coupling[j * n + i] + rho * self.per_force[j] * self.per_force[i];
                for k in 0..b {
                    sum -= l[a * n + k] * l[b * n + k];
                }
                l[a * n + b] = if a == b {
                    sum.max(f64::MIN_POSITIVE).sqrt()
                } else {
                    sum / l[b * n + b]
                };
            }
        }
        for a in 0..m {
            let j = self.set[a];
            let mut sum = -self.with_contact[j] / self.stiffness[j];
            for k in 0..a {
                sum -= l[a * n + k] * self.traction[self.set[k]];
            }
            self.traction[j] = sum / l[a * n + a];
        }
        for a in (0..m).rev() {
            let mut sum = self.traction[self.set[a]];
            for k in a + 1..m {
                sum -= l[k * n + a] * self.traction[self.set[k]];
            }
            self.traction[self.set[a]] = sum / l[a * n + a];
        }
    }

    /// The slack droppers and their tractions in the latest answer.
    pub fn corrections(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.set.iter().map(|&j| (j, self.traction[j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2ⁿ sets tried: the one whose tensions and tractions are not negative.
    fn by_trying_all(s: &Slackening, force: f64) -> Vec<bool> {
        let n = s.stiffness.len();
        for bits in 0..1u32 << n {
            let set: Vec<usize> = (0..n).filter(|j| bits >> j & 1 == 1).collect();
            let m = set.len();
            let e = |j: usize| s.predicted[j] / s.stiffness[j] + s.per_force[j] * force;
            let a = nalgebra::DMatrix::from_fn(m, m, |a, b| {
                let own = if a == b {
                    1.0 / s.stiffness[set[a]]
                } else {
                    0.0
                };
                own - s.coupling[set[a] * n + set[b]]
            });
            let rhs = nalgebra::DVector::from_fn(m, |a, _| -e(set[a]));
            let solved = if m == 0 {
                Some(rhs)
            } else {
                a.lu().solve(&rhs)
            };
            let Some(t) = solved else { continue };
            let tight = (0..n).filter(|j| !set.contains(j)).all(|j| {
                let h: f64 = (0..m).map(|b| s.coupling[j * n + set[b]] * t[b]).sum();
                e(j) - h >= 0.0
            });
            if tight && t.iter().all(|t| *t >= 0.0) {
                return (0..n).map(|j| bits >> j & 1 == 1).collect();
            }
        }
        panic!("no solution");
    }

    #[test]
    fn the_slack_set_is_that_found_by_trying_all() {
        let n = 8;
        let mut seed = 7u64;
        let mut random = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut many = 0;
        for _ in 0..200 {
            // H below D⁻¹ in the sense of positive definite matrices.
            let r = nalgebra::DMatrix::from_fn(n, n, |_, _| random());
            let h = &r * r.transpose();
            let h = h
                * (0.9e-5
                    / nalgebra::SymmetricEigen::new(&r * r.transpose())
                        .eigenvalues
                        .max());
            let mut s = Slackening::new(vec![1e5; n], vec![50.0; n], h.as_slice().to_vec());
            for j in 0..n {
                s.predict(j, random() * 3e-3, random() * 1e-6);
            }
            s.respond(100.0);
            assert_eq!(s.slack(), by_trying_all(&s, 100.0));
            many += usize::from(s.count() > 2);
        }
        assert!(
            many > 50,
            "the cases exercise several slack droppers at once"
        );
    }
}
