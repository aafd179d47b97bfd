//! Changes of parameters while a run goes on: asked for in the session or on the command line.

use crate::session::{Change, Session};
use crate::tuning::{self, Outlet, Refused};
use rt_core::bench::{Designer, Prospect};
use rt_core::control::assessment::Verdict;
use rt_core::link::{Event, EventKind};
use rt_core::param::ParamSet;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

fn number(text: &str) -> Result<f64, String> {
    let parsed = text.trim().parse::<f64>();
    parsed.map_err(|_| format!("'{text}' is no number; {FORM}"))
}

const FORM: &str = "expected ID=VALUE, with more after commas, like q=500,r=2";

/// Parameters from the command line.
pub fn pairs(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let one = |pair: &str| {
        let (id, value) = pair.split_once('=').ok_or(FORM)?;
        Ok((id.trim().to_owned(), number(value)?))
    };
    text.split(',').map(one).collect()
}

/// A change from the command line: seconds, then parameters.
pub fn parse(text: &str, insist: bool) -> Result<Change, String> {
    let (after, params) = text
        .split_once(':')
        .ok_or("expected SECONDS:ID=VALUE, with more after commas, like 8:q=500,r=2")?;
    Ok(Change {
        after_s: number(after)?,
        params: pairs(params)?,
        insist,
    })
}

/// A change that was asked for, and what became of it.
pub struct Made {
    /// When, in s of running.
    pub after_s: f64,
    params: BTreeMap<String, f64>,
    /// What the model said, or why it was refused.
    pub outcome: Result<Option<Prospect>, Refused>,
}

impl Made {
    /// For machines.
    pub fn to_json(&self) -> Value {
        let (prospect, refused) = match &self.outcome {
            Ok(prospect) => (prospect.as_ref(), None),
            Err(refused) => (None, Some(refused)),
        };
        let rho = match refused {
            Some(Refused::Verdict(Verdict::Unstable { rho })) => Some(*rho),
            _ => prospect.map(|p| p.rho_loop),
        };
        json!({
            "after_s": self.after_s, "params": self.params, "applied": self.outcome.is_ok(), "rho": rho,
            "disk": prospect.and_then(Prospect::least_disk).map(|(_, disk)| disk),
            "remarks": prospect.map(|p| &p.remarks),
            "refusal": refused.map(ToString::to_string),
        })
    }
}

/// Makes the changes of a session when their time has come.
pub struct Changes {
    waiting: VecDeque<Change>,
    /// Those whose time has come.
    pub made: Vec<Made>,
    designer: Option<Box<dyn Designer>>,
    applied: ParamSet,
    /// The bench took a safer controller by itself; the parameter that says so follows.
    fell_back: bool,
}

impl Changes {
    /// All of a session, in the order of their times.
    pub fn new(session: &Session, designer: Option<Box<dyn Designer>>, applied: ParamSet) -> Self {
        let mut waiting = session.changes.clone();
        waiting.sort_by(|a, b| a.after_s.total_cmp(&b.after_s));
        Self {
            waiting: waiting.into(),
            made: Vec::new(),
            designer,
            applied,
            fell_back: false,
        }
    }

    /// Follows what the bench did by itself: a later change must not undo a fall-back unasked.
    pub fn note(&mut self, event: &Event) {
        match event.kind {
            EventKind::FellBack(_) => self.fell_back = true,
            EventKind::ParamApplied { index, value } if self.fell_back => {
                self.applied.take_designed(index, value);
                self.fell_back = false;
            }
            _ => {}
        }
    }

    /// Makes a change at once.
    pub fn make(
        &mut self,
        outlet: &mut dyn Outlet,
        params: &BTreeMap<String, f64>,
        insist: bool,
    ) -> Result<Option<Prospect>, Refused> {
        let values: Vec<(&str, f64)> = params.iter().map(|(id, v)| (id.as_str(), *v)).collect();
        let designer = self.designer.as_deref();
        tuning::change(outlet, designer, &mut self.applied, &values, insist)
    }

    /// The parameters as they were sent last.
    pub fn applied(&self) -> &ParamSet {
        &self.applied
    }

    /// Makes those that are due after so many seconds of running.
    pub fn serve(&mut self, outlet: &mut dyn Outlet, running_s: f64) {
        let is_due = |change: &Change| change.after_s <= running_s;
        while self.waiting.front().is_some_and(is_due) {
            let Some(change) = self.waiting.pop_front() else {
                return;
            };
            let outcome = self.make(outlet, &change.params, change.insist);
            self.made.push(Made {
                after_s: change.after_s,
                params: change.params,
                outcome,
            });
        }
    }
}
