//! A pantograph whose head is moved exactly, in place of rig and motor: what the iteration meets on an ideal rig.

use nalgebra::{DMatrix, DVector};
use rt_core::bench::pantograph_steady::iteration::{Iteration, Mode};
use rt_core::bench::pantograph_steady::tables::Tables;
use rt_core::bench::pantograph_steady::{SteadyLine, SteadyWire};
use rt_core::model::moving_load::SpanResponse;
use rt_core::model::moving_load::direct::SpanForce;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use rt_core::model::string_wire::StringWireConfig;
use std::collections::VecDeque;
use std::path::Path;

pub const PERIOD_S: f64 = 1e-3;

fn lumped(name: &str, masses: &[(f64, f64, f64)], uplift: Uplift) -> Pantograph {
    let mass = |&(mass_kg, stiffness_n_per_m, damping_ns_per_m): &(f64, f64, f64)| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Pantograph {
        name: name.into(),
        masses: masses.iter().map(mass).collect(),
        uplift,
    }
}

pub fn dsa_380() -> Pantograph {
    let uplift = Uplift {
        static_n: 70.0,
        per_kmh2_n: 0.00097,
    };
    let masses = [(6.6, 7000.0, 0.0), (5.8, 14_100.0, 0.0), (5.8, 80.0, 70.0)];
    lumped("DSA-380", &masses, uplift)
}

pub fn block() -> Pantograph {
    let uplift = Uplift {
        static_n: -5.29 * 9.81,
        per_kmh2_n: 0.0,
    };
    lumped("mass", &[(5.29, 0.0, 0.0)], uplift)
}

pub fn string(speed_kmh: f64) -> SteadyLine {
    SteadyWire::String(StringWireConfig::default())
        .at_speed(Path::new("."), speed_kmh, None, PERIOD_S)
        .unwrap()
}

/// How the head's acceleration follows from the wire.
#[derive(Clone, Copy, PartialEq)]
pub enum Acceleration {
    /// That of the harmonics.
    OfHarmonics,
    /// Second differences of the heights that were sent.
    OfSamples,
}

/// Height, velocity and acceleration.
type Motion = [f64; 3];

/// The masses below the head, moved by it.
struct Below {
    phi: DMatrix<f64>,
    by_head: DMatrix<f64>,
    by_uplift: DVector<f64>,
    x: DVector<f64>,
}

impl Below {
    /// ẋ = A x + b z(t) with z a cubic over the step: exact by four more states z, ż, z̈, z⃛.
    fn new(p: &Pantograph, uplift: f64, start: f64) -> Self {
        let m = p.matrices();
        let n = p.masses.len() - 1;
        let size = 2 * n;
        let mut a = DMatrix::zeros(size + 5, size + 5);
        for i in 0..n {
            let mass = m.mass[(i + 1, i + 1)];
            a[(2 * i, 2 * i + 1)] = 1.0;
            for j in 0..n {
                a[(2 * i + 1, 2 * j)] = -m.stiffness[(i + 1, j + 1)] / mass;
                a[(2 * i + 1, 2 * j + 1)] = -m.damping[(i + 1, j + 1)] / mass;
            }
            a[(2 * i + 1, size)] = -m.stiffness[(i + 1, 0)] / mass;
            a[(2 * i + 1, size + 1)] = -m.damping[(i + 1, 0)] / mass;
        }
        for i in 0..3 {
            a[(size + i, size + i + 1)] = 1.0;
        }
        let mut x = DVector::zeros(size);
        if n > 0 {
            a[(size - 1, size + 4)] = uplift / m.mass[(n, n)];
            let k = m.stiffness.view((1, 1), (n, n)).into_owned();
            let mut load = DVector::from_fn(n, |i, _| -m.stiffness[(i + 1, 0)] * start);
            load[n - 1] += uplift;
            let rest = k.lu().solve(&load).unwrap();
            for i in 0..n {
                x[2 * i] = rest[i];
            }
        }
        let e = (a * PERIOD_S).exp();
        Self {
            phi: e.view((0, 0), (size, size)).into_owned(),
            by_head: e.view((0, size), (size, 4)).into_owned(),
            by_uplift: e.column(size + 4).rows(0, size).into_owned(),
            x,
        }
    }

    fn advance(&mut self, from: Motion, to: Motion) {
        let h = PERIOD_S;
        let (rise, v0, v1) = ((to[0] - from[0]) / h, from[1], to[1]);
        let cubic = DVector::from_vec(vec![
            from[0],
            v0,
            2.0 * (3.0 * rise - 2.0 * v0 - v1) / h,
            6.0 * (v0 + v1 - 2.0 * rise) / (h * h),
        ]);
        self.x = &self.phi * &self.x + &self.by_head * cubic + &self.by_uplift;
    }
}

pub struct Case<'a> {
    pub line: &'a SteadyLine,
    pub pantograph: &'a Pantograph,
    pub speed_kmh: f64,
    pub alpha: f64,
    pub mode: Mode,
    /// Cycles by which heights come late, and cycles that are compensated.
    pub delay: usize,
    pub ahead: f64,
    pub acceleration: Acceleration,
    pub spans: usize,
    /// Compliance between head and wire, in m/N.
    pub contact: f64,
}

impl<'a> Case<'a> {
    pub fn new(line: &'a SteadyLine, pantograph: &'a Pantograph, speed_kmh: f64) -> Self {
        Self {
            line,
            pantograph,
            speed_kmh,
            alpha: 0.1,
            mode: Mode::SingleStep,
            delay: 1,
            ahead: 1.0,
            acceleration: Acceleration::OfHarmonics,
            spans: 60,
            contact: 0.0,
        }
    }

    pub fn response(&self) -> SpanResponse {
        self.line.response.clone().through(self.contact)
    }

    pub fn direct(&self) -> SpanForce {
        let uplift = self.pantograph.uplift.at_kmh(self.speed_kmh);
        SpanForce::solve(&self.response(), &self.line.rest, self.pantograph, uplift).unwrap()
    }

    /// Root mean square distance of each span's force to the direct solution, in parts of its σ, sample by sample.
    pub fn run(&self) -> Vec<f64> {
        let direct = self.direct();
        let steps = self.line.steps;
        let expected: Vec<f64> = (0..steps)
            .map(|n| direct.at(n as f64 / steps as f64))
            .collect();
        let response = self.response();
        let tables: Vec<Tables> = (0..3)
            .map(|order| Tables::derivative(&response, &self.line.rest, steps, self.ahead, order))
            .collect();
        let mut iteration = Iteration::new(
            self.mode,
            steps,
            &direct.harmonics,
            &vec![1.0; direct.harmonics.len()],
        );
        let motion = |iteration: &Iteration, n: usize| -> Motion {
            [0, 1, 2].map(|d| tables[d].rest(n) + iteration.rise(&tables[d], n))
        };
        let uplift = self.pantograph.uplift.at_kmh(self.speed_kmh);
        // At rest at the height of the first step.
        let start = motion(&iteration, steps - self.delay);
        let mut below = Below::new(self.pantograph, uplift, start[0]);
        let mut sent: VecDeque<Motion> = (steps - self.delay..steps)
            .map(|n| motion(&iteration, n))
            .collect();
        let m = self.pantograph.matrices();
        let (mut last, mut before) = (start, start);
        let mut errors = Vec::new();
        for span in 0..self.spans {
            let mut square = 0.0;
            for (n, wanted) in expected.iter().enumerate().take(steps) {
                let mut now = sent.pop_front().unwrap();
                if self.acceleration == Acceleration::OfSamples {
                    now[1] = (now[0] - last[0]) / PERIOD_S;
                    now[2] = (now[0] - 2.0 * last[0] + before[0]) / (PERIOD_S * PERIOD_S);
                    last[1] = now[1];
                }
                if span + n > 0 {
                    below.advance(last, now);
                }
                (before, last) = (last, now);
                let mut force = -m.mass[(0, 0)] * now[2]
                    - m.stiffness[(0, 0)] * now[0]
                    - m.damping[(0, 0)] * now[1];
                for i in 1..self.pantograph.masses.len() {
                    force -= m.stiffness[(0, i)] * below.x[2 * i - 2]
                        + m.damping[(0, i)] * below.x[2 * i - 1];
                }
                if self.pantograph.masses.len() == 1 {
                    force += uplift;
                }
                square += (force - wanted).powi(2);
                iteration.take(n, force, self.alpha);
                sent.push_back(motion(&iteration, n));
            }
            iteration.end_span();
            errors.push((square / steps as f64).sqrt() / direct.std());
            if errors[span] > 1e3 {
                break;
            }
        }
        errors
    }
}

/// Number of the first span within one part in a hundred, from 1.
pub fn spans_to_one_percent(errors: &[f64]) -> Option<usize> {
    errors.iter().position(|e| *e < 0.01).map(|n| n + 1)
}
