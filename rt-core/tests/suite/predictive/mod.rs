//! A simulated bench for the predictive controller, apart from the models that it is designed with:
//! the rig is integrated by Runge–Kutta's rule of fourth order with 0.1 ms.

use rt_core::control::predictive::{
    Monitor, MonitorLimits, Predictive, PredictiveDesign, PredictiveRig, PredictiveTuning, Tick,
    TickResult, even_way,
};
use rt_core::file::load;
use rt_core::model::catenary::simulate::RAMP_M;
use rt_core::model::catenary::{
    Coupling, FullWire, Line, LinearLine, Reference, Report, Run, Series, WireModel,
};
use rt_core::model::pantograph::Pantograph;
use rt_core::signal::contact_force::ForceFilter;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

pub const PERIOD_S: f64 = 2e-3;
const SUBSTEPS: usize = 20;
const SUBSTEP_S: f64 = PERIOD_S / SUBSTEPS as f64;
/// Spans of the line; four at either end are not evaluated.
const SPANS: usize = 12;

/// What the rig really is.
#[derive(Clone, Debug)]
pub struct Truth {
    pub omega: f64,
    pub zeta: f64,
    pub pad: f64,
    pub pad_damping: f64,
    /// Acceleration of the motor per newton of contact force, in 1/kg.
    pub load: f64,
    pub reference_delay_s: f64,
    pub force_delay_cycles: usize,
    pub pantograph: Pantograph,
}

impl Truth {
    pub fn new(pantograph: &Pantograph) -> Self {
        let rig = PredictiveRig::TUR_2024;
        Self {
            omega: rig.motor_omega_rad_per_s,
            zeta: rig.motor_damping_ratio,
            pad: rig.pad_stiffness_n_per_m,
            pad_damping: 0.0,
            load: 0.0,
            reference_delay_s: 0.0,
            force_delay_cycles: 0,
            pantograph: pantograph.clone(),
        }
    }
}

/// The rig in motion: [u_m v_m | u v … | f].
pub struct SimulatedRig {
    truth: Truth,
    uplift: f64,
    x: Vec<f64>,
    references: VecDeque<f64>,
    forces: VecDeque<f64>,
}

impl SimulatedRig {
    /// At rest where a wire held at `height` would hold it behind k_i.
    pub fn at_rest(truth: &Truth, uplift: f64, height: f64, k_i: f64) -> Self {
        let n = truth.pantograph.masses.len();
        let mut k = truth.pantograph.matrices().stiffness;
        let series = 1.0 / (1.0 / truth.pad + 1.0 / k_i);
        k[(0, 0)] += series;
        let mut load = nalgebra::DVector::zeros(n);
        load[0] = series * height;
        load[n - 1] += uplift;
        let u = k.lu().solve(&load).unwrap();
        let force = series * (u[0] - height);
        let mut x = vec![0.0; 3 + 2 * n];
        x[0] = height + force / k_i;
        for i in 0..n {
            x[2 + 2 * i] = u[i];
        }
        x[2 + 2 * n] = force;
        let late = (truth.reference_delay_s / SUBSTEP_S).round() as usize;
        Self {
            references: VecDeque::from(vec![x[0]; late]),
            forces: VecDeque::from(vec![force; truth.force_delay_cycles]),
            truth: truth.clone(),
            uplift,
            x,
        }
    }

    pub fn motor_position(&self) -> f64 {
        self.x[0]
    }

    pub fn contact_force(&self) -> f64 {
        pad_force(&self.truth, &self.x)
    }

    /// All states: motor, masses from the head down, filtered force.
    pub fn state(&self) -> &[f64] {
        &self.x
    }

    /// Changes the velocity of the head by `speed` m/s.
    pub fn kick(&mut self, speed: f64) {
        self.x[3] += speed;
    }

    /// The filtered force, read as late as the truth says; once a cycle.
    pub fn read_force(&mut self) -> f64 {
        self.forces.push_back(self.x[self.x.len() - 1]);
        self.forces.pop_front().unwrap()
    }

    /// One cycle under a reference.
    pub fn advance(&mut self, reference: f64) {
        for _ in 0..SUBSTEPS {
            self.references.push_back(reference);
            let r = self.references.pop_front().unwrap();
            let add = |x: &[f64], d: &[f64], s: f64| -> Vec<f64> {
                x.iter().zip(d).map(|(a, b)| a + s * b).collect()
            };
            let h = SUBSTEP_S;
            let k1 = self.derivative(&self.x, r);
            let k2 = self.derivative(&add(&self.x, &k1, h / 2.0), r);
            let k3 = self.derivative(&add(&self.x, &k2, h / 2.0), r);
            let k4 = self.derivative(&add(&self.x, &k3, h), r);
            for (i, x) in self.x.iter_mut().enumerate() {
                *x += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
        }
    }

    fn derivative(&self, x: &[f64], r: f64) -> Vec<f64> {
        let t = &self.truth;
        let force = pad_force(t, x);
        let mut d = vec![0.0; x.len()];
        d[0] = x[1];
        d[1] = t.omega * t.omega * (r - x[0]) - 2.0 * t.zeta * t.omega * x[1] + t.load * force;
        // From the head down: each spring and damper lifts the mass above and presses the one below.
        let masses = &t.pantograph.masses;
        for (i, m) in masses.iter().enumerate() {
            let (u, v) = (x[2 + 2 * i], x[3 + 2 * i]);
            let below = if i + 1 < masses.len() {
                (x[4 + 2 * i], x[5 + 2 * i])
            } else {
                (0.0, 0.0)
            };
            let lift = m.stiffness_n_per_m * (below.0 - u) + m.damping_ns_per_m * (below.1 - v);
            d[2 + 2 * i] = v;
            d[3 + 2 * i] += lift / m.mass_kg;
            if let Some(next) = masses.get(i + 1) {
                d[5 + 2 * i] -= lift / next.mass_kg;
            } else {
                d[3 + 2 * i] += self.uplift / m.mass_kg;
            }
        }
        d[3] -= force / masses[0].mass_kg;
        let f = x.len() - 1;
        d[f] = std::f64::consts::TAU * 100.0 * (force - x[f]);
        d
    }
}

fn pad_force(t: &Truth, x: &[f64]) -> f64 {
    let squeezed = x[2] - x[0];
    if squeezed > 0.0 {
        (t.pad * squeezed + t.pad_damping * (x[3] - x[1])).max(0.0)
    } else {
        0.0
    }
}

/// Line, pantograph and the models made of them.
pub struct Bench {
    pub line: Arc<LinearLine>,
    pub pantograph: Pantograph,
}

fn asset(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets")
        .join(path)
}

pub fn dsa_380() -> Pantograph {
    load(&asset("pantographs/dsa-380.ron")).unwrap()
}

impl Bench {
    /// Twelve spans of the stitched line and the DSA-380.
    pub fn new() -> Self {
        let mut line: Line = load(&asset("lines/stitched-sw.ron")).unwrap();
        line.section[1].repeat = SPANS - 1;
        Self {
            line: Arc::new(LinearLine::build(&line, 1.0).unwrap()),
            pantograph: dsa_380(),
        }
    }

    pub fn wire(&self) -> FullWire {
        FullWire::new(self.line.clone(), PERIOD_S).unwrap()
    }

    pub fn run(&self, kmh: f64, pantograph: &Pantograph, contact_stiffness: f64) -> Run {
        let mut run = Run::new(&self.line, pantograph, kmh).unwrap();
        // From the very beginning: four spans to settle in before the evaluated ones.
        run.start_span = 1;
        run.coupling = Coupling::Implicit {
            stiffness: contact_stiffness,
        };
        run
    }

    /// Head and wire solved together.
    pub fn implicit(&self, run: &Run, pantograph: &Pantograph, dt: f64) -> Series {
        let mut wire = FullWire::new(self.line.clone(), dt).unwrap();
        run.simulate(&self.line, &mut wire, pantograph, &mut |_| ())
            .unwrap()
    }

    /// Errors of the force up to 20 and up to 40 Hz, in %.
    pub fn errors(&self, run: &Run, series: &Series, reference: &Series) -> [f64; 2] {
        let reference = Reference::from(reference);
        [20.0, 40.0].map(|cutoff_hz| {
            let filter = ForceFilter {
                order: 4,
                cutoff_hz,
            };
            Report::of(&self.line, run, series, 0, filter, Some(&reference))
                .unwrap()
                .error_filtered_pct
                .unwrap()
        })
    }
}

/// What a run in the loop was like, on the evaluated spans unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub series: Series,
    /// Of motor position less target, in mm: standard deviation and largest.
    pub tracking_std: f64,
    pub tracking_max: f64,
    /// Largest mean of the normalised innovation over a window.
    pub innovation: f64,
    /// First reason to give way, and where.
    pub fall_back: Option<(f64, rt_core::control::predictive::FallBack)>,
    /// Where the run broke off because it diverged.
    pub diverged_at: Option<f64>,
    /// Cycles in which the limits cut the reference, in the whole run.
    pub limited: usize,
    /// Cycles without contact.
    pub lost: usize,
    /// Normalised innovation of every cycle.
    pub surprise: Vec<f64>,
    /// r(k+1) of every cycle, in m.
    pub reference: Vec<f64>,
}

/// Noise of the sensors: deterministic, evenly distributed.
struct Noise(u64);

impl Noise {
    fn next(&mut self, std: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Even over ±½ has the standard deviation 1/√12.
        std * 12f64.sqrt() * ((self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    }
}

/// What happens in a run besides.
pub struct Scene<'a> {
    pub kmh: f64,
    pub truth: Truth,
    /// Lift on the lowest mass, in N.
    pub uplift: f64,
    pub design: PredictiveDesign,
    /// Standard deviations of the noise of position (m) and force (N).
    pub noise: (f64, f64),
    /// What is sent in place of r(k+1), by place.
    pub send: Option<fn(f64, f64) -> f64>,
    /// Called at the begin of each cycle with its place.
    #[allow(
        clippy::type_complexity,
        reason = "a closure that may change the controller or the rig"
    )]
    pub meddle: Option<Box<dyn FnMut(f64, &mut Predictive, &mut SimulatedRig) + 'a>>,
}

impl<'a> Scene<'a> {
    pub fn new(bench: &Bench, kmh: f64, tuning: &PredictiveTuning) -> Self {
        Self {
            kmh,
            uplift: bench.pantograph.uplift.at_kmh(kmh),
            truth: Truth::new(&bench.pantograph),
            design: PredictiveDesign::new(&PredictiveRig::TUR_2024, &bench.pantograph, tuning)
                .unwrap(),
            noise: (0.0, 0.0),
            send: None,
            meddle: None,
        }
    }

    pub fn play(mut self, bench: &Bench, wire: &mut dyn WireModel) -> Outcome {
        let run = bench.run(self.kmh, &bench.pantograph, self.design.contact_stiffness());
        let (from, _) = run.extent(&bench.line);
        let (first, last) = run.evaluated(&bench.line);
        // A little further than is evaluated, so that the zero-phase filter has settled.
        let to = last + 30.0;
        let speed = self.kmh / 3.6;
        let steps = ((to - from) / (speed * PERIOD_S)).floor() as usize;
        let share = |place: f64| ((place - from) / RAMP_M).clamp(0.0, 1.0);
        let k_i = self.design.tuning.interaction_stiffness_n_per_m;
        let mut rig =
            SimulatedRig::at_rest(&self.truth, self.uplift, bench.line.rest_height(from), k_i);
        let mut control = Predictive::new(self.design, wire).unwrap();
        control.reset(rig.motor_position(), rig.contact_force());
        let mut monitor = Monitor::new(MonitorLimits::default()).unwrap();
        let mut noise = Noise(1);
        wire.reset();
        let mut out = Outcome {
            series: Series {
                dt: PERIOD_S,
                support_rise: vec![0.0; bench.line.layout.supports.len()],
                ..Series::default()
            },
            ..Outcome::default()
        };
        let (mut held, mut next) = (rig.motor_position(), rig.motor_position());
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for k in 1..=steps {
            rig.advance(held);
            // Computed in the cycle before, sent now.
            held = next;
            let place = from + speed * PERIOD_S * k as f64;
            if let Some(meddle) = &mut self.meddle {
                meddle(place, &mut control, &mut rig);
            }
            let force = rig.contact_force();
            let result: TickResult = control.step(
                wire,
                &Tick {
                    force: rig.read_force() + noise.next(self.noise.1),
                    motor_position: rig.motor_position() + noise.next(self.noise.0),
                    reference: held,
                    way: even_way(place, speed * PERIOD_S, share),
                },
            );
            out.reference.push(result.reference);
            out.surprise.push(result.surprise.normalised);
            next = self
                .send
                .map_or(result.reference, |send| send(place, result.reference));
            out.limited += usize::from(result.limited);
            if let Some(why) = monitor.watch(&result) {
                out.fall_back.get_or_insert((place, why));
            }
            out.series.x.push(place);
            out.series.force.push(force);
            out.series.height.push(result.wire_height);
            out.series
                .rise
                .push(result.wire_height - bench.line.rest_height(place));
            out.series.slack.push(wire.slack_droppers() as u16);
            let far = 1e3 * (rig.motor_position() - result.target);
            if !(force < 3000.0 && far.abs() < 50.0) {
                out.diverged_at = Some(place);
                break;
            }
            if (first..=last).contains(&place) {
                (count, sum, squares) = (count + 1.0, sum + far, squares + far * far);
                out.lost += usize::from(force <= 0.0);
                out.tracking_max = out.tracking_max.max(far.abs());
                out.innovation = out.innovation.max(monitor.mean_innovation());
            }
        }
        let mean: f64 = sum / count;
        out.tracking_std = (squares / count - mean * mean).sqrt();
        out
    }
}
