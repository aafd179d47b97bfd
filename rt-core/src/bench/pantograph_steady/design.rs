//! From relaxation and delay to the tables of the loop, judged before they are used.

use super::force_filter::ForceFilter;
use super::iteration::Mode;
use super::prediction::{rate_per_span, spans_to_one_percent};
use super::rig_model::RigModel;
use super::sender::Sender;
use super::tables::Tables;
use super::{PARAMS, param};
use crate::bench::map::MapPlane;
use crate::bench::{Content, Designer, Prospect, Responses};
use crate::model::moving_load::SpanResponse;
use crate::model::pantograph::Pantograph;
use crate::param::ParamSet;
use crate::rig::KnownRig;
use nalgebra::Complex;

/// What is exchanged with the running bench.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyDesign {
    /// α.
    pub alpha: f64,
    /// N_δ, in cycles.
    pub n_delta: f64,
    /// The wire's heights for N_δ.
    pub(super) tables: Tables,
}

/// Designs for the line, rig and specimen of a session.
#[derive(Clone, Debug)]
pub struct SteadyDesigner {
    /// Answer to the filtered force.
    pub(super) response: SpanResponse,
    /// Z⁰_k, in m.
    pub(super) rest: Vec<Complex<f64>>,
    pub(super) steps: usize,
    pub(super) mode: Mode,
    pub(super) rig: KnownRig,
    pub(super) specimen: Pantograph,
    pub(super) period_s: f64,
    pub(super) sender: Sender,
    pub(super) filter: ForceFilter,
    /// The delay of the whole loop as the rig is known, in cycles.
    pub(super) known_delay: f64,
}

/// N_δ may be more than the known delay by this many cycles before it is said.
const OVER_CYCLES: f64 = 0.5;

impl SteadyDesigner {
    /// The tables of a set of parameters.
    pub fn tables(&self, params: &ParamSet) -> Result<SteadyDesign, String> {
        for (index, spec) in PARAMS.iter().enumerate() {
            spec.check(params.get(index)).map_err(|e| e.to_string())?;
        }
        let n_delta = params.get(param::N_DELTA);
        if n_delta >= self.steps as f64 {
            return Err(format!(
                "N_δ of {n_delta} cycles is longer than a span of {} cycles",
                self.steps
            ));
        }
        Ok(SteadyDesign {
            alpha: params.get(param::ALPHA),
            n_delta,
            tables: Tables::new(&self.response, &self.rest, self.steps, n_delta),
        })
    }

    /// How the iteration goes with a design, on a rig whose reference comes by so many seconds later than is known.
    pub fn prospect(&self, design: &SteadyDesign, extra_delay_s: f64) -> Result<Prospect, String> {
        let rig = KnownRig {
            reference_delay_s: self.rig.reference_delay_s + extra_delay_s,
            ..self.rig
        };
        let rate = rate_per_span(
            &design.tables,
            self.mode,
            design.alpha,
            RigModel::new(&rig, &self.specimen, self.period_s).map_err(|e| e.to_string())?,
            self.sender,
            self.filter.clone(),
        );
        let mut remarks = vec![match spans_to_one_percent(rate) {
            Some(spans) => format!(
                "{:.1} % of the distance to the steady state is left after each span, 1 % after about {:.0} spans",
                100.0 * rate,
                spans.max(1.0)
            ),
            None => format!(
                "the distance from the steady state grows by a factor of {rate:.3} with each span"
            ),
        }];
        let over = design.n_delta - self.known_delay;
        if over > OVER_CYCLES {
            remarks.push(format!(
                "over-compensation: N_δ is {over:.1} cycles more than the delay of {:.1} cycles that is known of \
                 the rig, which drives the iteration towards instability",
                self.known_delay
            ));
        } else if over < -OVER_CYCLES {
            remarks.push(format!(
                "N_δ is {:.1} cycles less than the delay of {:.1} cycles that is known of the rig: the force \
                 converges to a wrong answer",
                -over, self.known_delay
            ));
        }
        Ok(Prospect {
            rho_loop: rate,
            margins: Vec::new(),
            needed_disk: 0.0,
            remarks,
        })
    }
}

impl Designer for SteadyDesigner {
    fn design(&self, params: &ParamSet) -> Result<(Content, Prospect), String> {
        let design = self.tables(params)?;
        let prospect = self.prospect(&design, 0.0)?;
        Ok((Content::PantographSteady(Box::new(design)), prospect))
    }

    fn judge(&self, params: &ParamSet, extra_delay_s: f64) -> Result<Prospect, String> {
        self.prospect(&self.tables(params)?, extra_delay_s)
    }

    fn planes(&self, _params: &ParamSet) -> &'static [MapPlane] {
        &[]
    }

    fn responses(&self, _params: &ParamSet, _frequencies_hz: &[f64]) -> Result<Responses, String> {
        Err("this bench iterates from span to span: it has no loop that could be cut at one channel".into())
    }
}
