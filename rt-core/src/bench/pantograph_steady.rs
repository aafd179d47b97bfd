//! Bench `pantograph-steady`: an endless line that repeats its span, and a force that is brought to repeat with
//! it (Gil et al. 2022). The height of the current span follows from the force measured so far; the rig's delay
//! is compensated by asking for heights that lie ahead.
//!
//! A run: *entry* (the motor glides into the motion of the unloaded wire, which ends at a support), then span
//! after span until two of them agree, or until the most spans allowed.

mod config;
mod design;
mod force_filter;
pub mod iteration;
mod prediction;
mod rig_model;
mod sender;
pub mod tables;

pub use config::{PantographSteadyConfig, SteadyLine, SteadyWire, UP_TO_HZ};
pub use design::{SteadyDesign, SteadyDesigner};
pub use force_filter::ForceFilter;
pub use iteration::Mode;
pub use prediction::{rate_per_span, spans_to_one_percent};
pub use rig_model::RigModel;
pub use sender::{Between, Sender};

use super::{Adoption, Bench, BenchSpec, BuildContext, BuildError, Content, Progress, StepFault};
use crate::channel::{ChannelSpec, Frame};
use crate::fault::Action;
use crate::guard::LimitSpec;
use crate::param::{ParamSet, ParamSpec};
use crate::signal::ease::{Parting, smooth_step};
use config::Prepared;
use iteration::{Iteration, SpanSummary};

const FORCE: usize = 0;
const POSITION: usize = 1;
const PLACE: usize = 2;
const WIRE_HEIGHT: usize = 3;
const WIRE_RISE: usize = 4;
const TRACKING: usize = 5;
const STORED_FORCE: usize = 6;
const DIRECT_FORCE: usize = 7;
const SPAN: usize = 8;
const SPAN_MEAN: usize = 9;
const SPAN_STD: usize = 10;
const SPAN_CHANGE: usize = 11;
const RESIDUAL: usize = 12;
const DIRECT_ERROR: usize = 13;
const GROWTH: usize = 14;
const REFERENCE: usize = 15;

/// Places of the parameters.
mod param {
    pub const ALPHA: usize = 0;
    pub const N_DELTA: usize = 1;
}

static PARAMS: [ParamSpec; 2] = [
    ParamSpec::designed(
        "alpha",
        "α, relaxation",
        "",
        0.1,
        (0.005, 1.0),
        "Part of a newly measured force that replaces the stored one. More converges faster until it diverges.",
    ),
    ParamSpec::designed(
        "n_delta",
        "N_δ, compensated delay",
        "cycles",
        19.0,
        (0.0, 500.0),
        "From a force to the motor's answer to it. Unless a session says so, what is known of the rig. Too little \
         converges to a wrong answer, too much diverges.",
    ),
];

/// The declaration of the bench.
pub static SPEC: BenchSpec = BenchSpec {
    id: "pantograph-steady",
    title: "Pantograph under an endless line, brought to its steady state",
    period_s: 0.001,
    channels: &[
        ChannelSpec::measured("force", "Contact force", "N"),
        ChannelSpec::measured("motor_position", "Motor position", "m"),
        ChannelSpec::computed("line_position", "Place along the line (m)", ""),
        ChannelSpec::computed("wire_height", "Height of the contact wire", "m"),
        ChannelSpec::computed("wire_rise", "Rise of the wire at the contact", "m"),
        ChannelSpec::computed("tracking_error", "Motor tracking error", "m"),
        ChannelSpec::computed("stored_force", "Force that the wire is computed from", "N"),
        ChannelSpec::computed("direct_force", "Force of the direct solution", "N"),
        ChannelSpec::computed("span", "Spans since the entry", ""),
        ChannelSpec::computed("span_mean", "Mean force of the last span", "N"),
        ChannelSpec::computed("span_std", "Deviation of the force in the last span", "N"),
        ChannelSpec::computed("span_change", "Change from span to span (% of σ)", ""),
        ChannelSpec::computed("residual", "Measured against stored force (% of σ)", ""),
        ChannelSpec::computed(
            "direct_error",
            "Distance to the direct solution (% of σ)",
            "",
        ),
        ChannelSpec::computed("span_growth", "Growth of the residual per span", ""),
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ],
    params: &PARAMS,
    limits: &[
        LimitSpec {
            channel: "tracking_error",
            low: -15e-3,
            high: 15e-3,
            for_cycles: 5,
            action: Action::Retreat,
        },
        // A residual that grows like this for several spans does not come back.
        LimitSpec {
            channel: "span_growth",
            low: 0.0,
            high: 1.1,
            for_cycles: 1,
            action: Action::Stop,
        },
    ],
};

/// Spans over which the growth of the residual is taken.
const GROWTH_SPANS: usize = 6;
/// A residual below this part of σ is the bench's everyday: noise, whose growth means nothing.
const NOISE: f64 = 0.03;
/// A change of design is let go over this time, in s.
const PARTING_S: f64 = 0.2;
/// What was asked of the motor is kept for this many cycles; longer delays are compared with the oldest.
const KEPT: usize = 1024;

/// What was asked of the motor in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    reference: f64,
    height: f64,
    rise: f64,
}

/// The bench.
pub struct PantographSteadyBench {
    design: Box<SteadyDesign>,
    iteration: Iteration,
    sender: Sender,
    filter: ForceFilter,
    parting: Parting,
    /// The direct solution at each step, in N.
    direct: Vec<f64>,
    span_m: f64,
    force_lag_cycles: f64,
    entry_ticks: u64,
    agree: Option<f64>,
    most_spans: u64,
    start: f64,
    /// Cycles since the entry began, of which the last belongs to `last_seq`.
    ticks: u64,
    last_seq: u64,
    spans: u64,
    summary: SpanSummary,
    residuals: [f64; GROWTH_SPANS],
    asked: Vec<Asked>,
    /// Height of the latest step, without what is being let go, in m.
    height: f64,
}

const NOTHING_YET: SpanSummary = SpanSummary {
    mean: f64::NAN,
    std: f64::NAN,
    change: f64::NAN,
    residual: f64::NAN,
    error: f64::NAN,
};

impl PantographSteadyBench {
    /// Prepares the line, solves it directly, designs and judges the iteration.
    pub fn build(
        config: &PantographSteadyConfig,
        context: &mut BuildContext<'_>,
    ) -> Result<(Self, SteadyDesigner), BuildError> {
        let Prepared {
            line,
            direct,
            designer,
            design,
            filter,
            gains,
            force_lag_cycles,
        } = config.prepare(context)?;
        let steps = line.steps;
        let bench = Self {
            iteration: Iteration::new(config.iteration, steps, &direct.harmonics, &gains),
            filter,
            sender: designer.sender,
            parting: Parting::new(context.period_s),
            direct: (0..steps)
                .map(|n| direct.at(n as f64 / steps as f64))
                .collect(),
            span_m: line.span_m,
            force_lag_cycles,
            entry_ticks: (config.entry_s / context.period_s).round().max(1.0) as u64,
            agree: config.agree_pct.map(|pct| pct / 100.0),
            most_spans: u64::from(config.most_spans),
            design: Box::new(design),
            start: 0.0,
            ticks: 0,
            last_seq: 0,
            spans: 0,
            summary: NOTHING_YET,
            residuals: [0.0; GROWTH_SPANS],
            asked: vec![Asked::default(); KEPT],
            height: 0.0,
        };
        Ok((bench, designer))
    }

    /// The step of the span that a cycle belongs to; the entry ends where a span begins.
    fn step_of(&self, ticks: u64) -> usize {
        let steps = self.iteration.steps() as u64;
        let shift = steps - self.entry_ticks % steps;
        ((ticks + shift) % steps) as usize
    }

    /// What was asked some cycles ago; the oldest that is kept, if that is longer ago.
    fn asked(&self, cycles_ago: f64) -> Asked {
        let ago = (cycles_ago.round().max(0.0) as u64)
            .min(KEPT as u64 - 1)
            .min(self.ticks);
        self.asked[((self.ticks - ago) % KEPT as u64) as usize]
    }

    /// Takes in the force of this cycle, and the cycles that were skipped before it. Whether a span has ended.
    fn take_force(&mut self, skipped: u64, force: f64) -> bool {
        let delay = self.filter.delay() as u64;
        let begin = self.entry_ticks + delay;
        let mut ended = false;
        for late in (0..=skipped).rev() {
            // After an overrun the filter takes the force that was read last for those that were not.
            let filtered = self.filter.step(force);
            let ticks = self.ticks - late;
            if ticks < begin {
                continue;
            }
            let step = self.step_of(ticks - delay);
            if step == 0 && ticks > begin {
                self.end_span();
                ended = true;
            }
            if late > 0 {
                self.iteration.pass(step);
            } else {
                self.iteration.take(step, filtered, self.design.alpha);
            }
        }
        ended
    }

    fn end_span(&mut self) {
        self.summary = self.iteration.end_span();
        self.residuals[(self.spans % GROWTH_SPANS as u64) as usize] = self.summary.residual;
        self.spans += 1;
    }

    /// Growth per span of the residual over the last spans; 0 as long as it is not known.
    fn growth(&self) -> f64 {
        if self.spans <= GROWTH_SPANS as u64 {
            return 0.0;
        }
        let at = |span: u64| self.residuals[(span % GROWTH_SPANS as u64) as usize].max(NOISE);
        let (last, first) = (at(self.spans - 1), at(self.spans));
        (last / first).powf(1.0 / (GROWTH_SPANS - 1) as f64)
    }

    fn has_agreed(&self) -> bool {
        let far = self.summary.change.max(self.summary.residual);
        self.agree
            .is_some_and(|agree| self.summary.change.is_finite() && far <= agree)
    }

    fn show(&self, step: usize, stored: f64, frame: &mut Frame) {
        let values = &mut frame.values;
        let spans = (self.ticks as f64 - self.entry_ticks as f64) / self.iteration.steps() as f64;
        values[PLACE] = spans * self.span_m;
        let here = self.asked(self.design.n_delta);
        values[WIRE_HEIGHT] = here.height;
        values[WIRE_RISE] = here.rise;
        let followed = self.asked(self.design.n_delta - self.force_lag_cycles);
        values[TRACKING] = followed.reference - values[POSITION];
        values[STORED_FORCE] = stored;
        values[DIRECT_FORCE] = self.direct[step];
        values[SPAN] = self.spans as f64;
        values[SPAN_MEAN] = self.summary.mean;
        values[SPAN_STD] = self.summary.std;
        values[SPAN_CHANGE] = 100.0 * self.summary.change;
        values[RESIDUAL] = 100.0 * self.summary.residual;
        values[DIRECT_ERROR] = 100.0 * self.summary.error;
        values[GROWTH] = self.growth();
    }
}

impl Bench for PantographSteadyBench {
    fn spec(&self) -> &'static BenchSpec {
        &SPEC
    }

    fn reset(&mut self, _params: &ParamSet, start: &Frame) {
        self.start = start.values[REFERENCE];
        self.ticks = 0;
        self.last_seq = start.seq;
        self.spans = 0;
        self.summary = NOTHING_YET;
        self.residuals.fill(0.0);
        self.iteration.reset();
        self.parting.end();
        self.sender.reset(self.start);
        self.filter.settle(start.values[FORCE]);
        self.asked.fill(Asked {
            reference: self.start,
            height: self.start,
            rise: 0.0,
        });
    }

    fn step(&mut self, _params: &ParamSet, frame: &mut Frame) -> Result<Progress, StepFault> {
        let steps = self.iteration.steps() as u64;
        let elapsed = frame.seq.saturating_sub(self.last_seq).max(1);
        self.last_seq = frame.seq;
        self.ticks += elapsed;
        // After more than a span without a measurement there is nothing left to be filled in.
        let skipped = (elapsed - 1).min(steps);
        let step = self.step_of(self.ticks);
        let stored = self.iteration.stored(step);
        let ended = self.take_force(skipped, frame.values[FORCE]);
        // While the loop was late, the motor had what it was sent before.
        let before = self.ticks - elapsed;
        for late in 1..=(elapsed - 1).min(KEPT as u64 - 1) {
            let at = (before + late) % KEPT as u64;
            self.asked[at as usize] = self.asked[(before % KEPT as u64) as usize];
        }

        let tables = &self.design.tables;
        let rise = self.iteration.rise(tables, step);
        self.height = tables.rest(step) + rise;
        let blend = smooth_step(self.ticks as f64 / self.entry_ticks as f64);
        let height = self.height + self.parting.step();
        let reference = self.sender.step(self.start + blend * (height - self.start));
        self.asked[(self.ticks % KEPT as u64) as usize] = Asked {
            reference,
            height: self.height,
            rise,
        };
        self.show(step, stored, frame);
        frame.values[REFERENCE] = reference;
        let is_over = ended && (self.has_agreed() || self.spans >= self.most_spans);
        Ok(if is_over {
            Progress::Finished
        } else {
            Progress::Running
        })
    }

    fn adopt(&mut self, content: &mut Content) -> Adoption {
        let Content::PantographSteady(design) = content else {
            return Adoption::Refused;
        };
        if design.tables.steps() != self.iteration.steps()
            || design.tables.count() != self.design.tables.count()
        {
            return Adoption::Refused;
        }
        if self.parting.goes_on() {
            return Adoption::Later;
        }
        // What the new tables ask for in the latest step, against what was asked for.
        let step = self.step_of(self.ticks);
        let new = design.tables.rest(step) + self.iteration.rise(&design.tables, step);
        self.parting.begin(self.height - new, PARTING_S);
        std::mem::swap(&mut self.design, design);
        Adoption::Adopted
    }
}
