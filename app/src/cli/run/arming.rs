//! Who lets a run move: a person at the terminal, or what the rig file allows unattended; and what speaks against it.

use crate::cli::Failure;
use crate::permit::{self, Asked, Permit, Presence};
use rt_core::calibration::date::Date;
use rt_core::link::{Command, Objection, UserSide};
use rt_core::rig::Purpose;
use rt_core::rt_env::RtStatus;

/// Who holds the dead man's switch.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DeadMan {
    /// This program, which the rig file has to allow (safety.unattended).
    Program,
    /// Whoever keeps the space bar pressed, or the rig's own switch.
    Keys,
}

/// What can be insisted on.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Insist {
    /// Gains that are unstable by the model, or too close to it.
    Tuning,
    /// Load cells without valid calibrations.
    Calibration,
    /// A loop without real-time rights.
    RealTime,
}

impl From<Insist> for Objection {
    fn from(insist: Insist) -> Self {
        match insist {
            Insist::Tuning => Objection::Tuning,
            Insist::Calibration => Objection::Calibration,
            Insist::RealTime => Objection::RealTime,
        }
    }
}

/// What was said on the command line.
pub struct Said<'a> {
    /// Who holds the dead man's switch, if that was said.
    pub dead_man: Option<DeadMan>,
    /// Whether arming was confirmed, before anything was to be seen.
    pub is_confirmed: bool,
    /// What is insisted on.
    pub insisted: &'a [Insist],
    /// Whether time passes in cycles only.
    pub is_exact: bool,
}

/// Refuses to move the rig, or notes why it is moved all the same.
pub fn ask_permit(
    user: &mut UserSide,
    rt: Option<&RtStatus>,
    said: &Said<'_>,
) -> Result<Permit, Failure> {
    let rig = &user.rig.spec;
    let insisted: Vec<Objection> = said.insisted.iter().map(|i| (*i).into()).collect();
    let found = permit::hindrances(rig, rt, None, Date::today());
    let (noted, refused): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|h| insisted.contains(&h.objection));
    if let Some(first) = refused.first() {
        return Err(Failure::Environment(format!(
            "arming is refused: {}. Insist on it with --insist={}",
            permit::sentence(&refused),
            first.objection.name()
        )));
    }
    let is_allowed = rig.safety.unattended.contains(Purpose::Run);
    if said.dead_man == Some(DeadMan::Program) && rig.safety.dead_man_s.is_some() && !is_allowed {
        return Err(Failure::Input(format!(
            "--dead-man program is refused: this program does not hold the dead man's switch of '{}' (safety.dead_man_s) \
             unless its file says safety.unattended: [\"run\"]",
            rig.name
        )));
    }
    let permit = permit::permit(&Asked {
        rig,
        purpose: Purpose::Run,
        presence: &Presence::Terminal,
        is_exact: said.is_exact,
        by_hand: said.dead_man == Some(DeadMan::Keys),
    })
    .map_err(Failure::Input)?;
    if permit.is_by_person() && said.is_confirmed {
        tell!("note: --confirm before the start is no second step: it is taken beside the rig");
    }
    let mut kinds: Vec<Objection> = noted.iter().map(|h| h.objection).collect();
    kinds.dedup();
    for objection in kinds.into_iter().chain(permit.note()) {
        // The ring is empty before the first cycle.
        let _ = user.commands.push(Command::NoteInsisted(objection));
    }
    Ok(permit)
}
