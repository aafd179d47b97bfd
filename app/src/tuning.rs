//! Parameters that need a design: asked for, designed and judged outside the loop, then sent or refused.

use rt_core::bench::{Content, Designer, NamedVerdict, Prospect, Update};
use rt_core::control::assessment::Verdict;
use rt_core::link::{Command, UserSide};
use rt_core::param::{Applies, ParamError, ParamSet, find};

/// What a set of parameters would do.
pub struct Proposal {
    /// The parameters.
    pub params: ParamSet,
    /// What was designed for them and how it would behave, or why there is no design.
    pub designed: Result<(Content, Prospect), String>,
}

/// Why parameters were not sent to the loop.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// No such parameter, or a value outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// There is no design for these values.
    #[error("there are no gains for these values: {0}")]
    NoDesign(String),
    /// The model says that the loop would be unstable, or too close to it.
    #[error("{0}")]
    Verdict(NamedVerdict),
    /// The loop has not yet taken the changes before.
    #[error("the loop has not yet taken the changes before; try again")]
    Busy,
}

impl Proposal {
    /// Designs and judges.
    pub fn new(designer: &dyn Designer, params: ParamSet) -> Self {
        Self {
            designed: designer.design(&params),
            params,
        }
    }

    /// What it would do, if there is a design.
    pub fn prospect(&self) -> Option<&Prospect> {
        self.designed.as_ref().ok().map(|(_, prospect)| prospect)
    }

    /// An update for the loop. A verdict against it stands unless a person insists.
    pub fn decide(&self, insist: bool) -> Result<Box<Update>, Refused> {
        let (content, prospect) = self
            .designed
            .as_ref()
            .map_err(|problem| Refused::NoDesign(problem.clone()))?;
        let is_sound = prospect.verdict() == Verdict::Stable;
        if !is_sound && !insist {
            return Err(Refused::Verdict(prospect.verdict()));
        }
        Ok(Box::new(Update {
            params: designed(&self.params),
            approval: prospect.approval(!is_sound),
            content: content.clone(),
        }))
    }
}

/// Parameters that need a design, by index.
pub fn designed(params: &ParamSet) -> Vec<(usize, f64)> {
    let specs = params.specs().iter().enumerate();
    specs
        .filter(|(_, spec)| spec.applies == Applies::ByDesign)
        .map(|(i, _)| (i, params.get(i)))
        .collect()
}

/// Designed parameters that differ, by index.
pub fn changed(from: &ParamSet, to: &ParamSet) -> Vec<(usize, f64)> {
    let mut all = designed(to);
    all.retain(|&(i, value)| from.get(i) != value);
    all
}

/// Where commands and designs go: the rings of a loop, or whoever passes them on.
pub trait Outlet {
    /// Sends a command; `false` if the loop has not yet taken those before.
    fn command(&mut self, command: Command) -> bool;
    /// Sends a design; `false` if the loop has not yet taken those before.
    fn design(&mut self, update: Box<Update>) -> bool;
}

impl Outlet for UserSide {
    fn command(&mut self, command: Command) -> bool {
        self.commands.push(command).is_ok()
    }

    fn design(&mut self, update: Box<Update>) -> bool {
        self.updates.send(update).is_ok()
    }
}

fn taken(sent: bool) -> Result<(), Refused> {
    sent.then_some(()).ok_or(Refused::Busy)
}

/// Changes parameters by name, from a session or a script: those that need no design directly.
/// `applied` follows what was sent. Returns what the model says of it, if a design was needed.
pub fn change(
    outlet: &mut dyn Outlet,
    designer: Option<&dyn Designer>,
    applied: &mut ParamSet,
    values: &[(&str, f64)],
    insist: bool,
) -> Result<Option<Prospect>, Refused> {
    let mut wanted = *applied;
    for (id, value) in values {
        wanted.preset(id, *value)?;
    }
    let mut prospect = None;
    if let (Some(designer), false) = (designer, changed(applied, &wanted).is_empty()) {
        let proposal = Proposal::new(designer, wanted);
        match proposal.decide(insist) {
            Ok(update) => taken(outlet.design(update))?,
            Err(refused) => {
                if let Refused::Verdict(verdict) = refused {
                    // A full ring only loses the entry in the record, not the refusal.
                    outlet.command(Command::NoteRefusal(verdict));
                }
                return Err(refused);
            }
        }
        prospect = proposal.prospect().cloned();
    }
    for (id, value) in values {
        let index = find(applied.specs(), id)?;
        if applied.specs()[index].applies == Applies::Directly {
            let command = Command::SetParam {
                index,
                value: *value,
            };
            taken(outlet.command(command))?;
        }
    }
    *applied = wanted;
    Ok(prospect)
}
