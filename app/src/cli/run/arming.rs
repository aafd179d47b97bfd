//! Who holds the dead man's switch of a run, and whether it may be armed against what speaks against it.

use crate::cli::Failure;
use crate::permit;
use rt_core::calibration::date::Date;
use rt_core::link::{Command, Objection, UserSide};
use rt_core::rt_env::RtStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Who holds the dead man's switch.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DeadMan {
    /// This program, as long as it runs.
    Program,
    /// Whoever keeps a key pressed: every line or byte on standard input counts.
    Keys,
}

impl DeadMan {
    /// Set whenever a key was pressed; `None` if this program holds the switch.
    pub fn watch(self) -> Result<Option<Arc<AtomicBool>>, Failure> {
        use std::io::Read;
        if self == DeadMan::Program {
            return Ok(None);
        }
        let pressed = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&pressed);
        let listen = move || {
            let mut bytes = [0; 64];
            // At its end nobody presses anything any more.
            while std::io::stdin().read(&mut bytes).is_ok_and(|n| n > 0) {
                seen.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        };
        let thread = std::thread::Builder::new().name("pantobench-keys".into());
        let listening = thread.spawn(listen);
        listening.map_err(|e| Failure::Environment(format!("no thread for the keys: {e}")))?;
        Ok(Some(pressed))
    }
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

/// Refuses to arm, or notes what was insisted on.
pub fn ask_permit(
    user: &mut UserSide,
    rt: Option<&RtStatus>,
    is_confirmed: bool,
    insisted: &[Insist],
) -> Result<(), Failure> {
    let rig = &user.rig.spec;
    if let Some(within_s) = rig.safety.confirm_within_s.filter(|_| !is_confirmed) {
        return Err(Failure::Input(format!(
            "'{}' is armed in two steps (safety.confirm_within_s: {within_s}): look at the rig, then run with --confirm",
            rig.name
        )));
    }
    let insisted: Vec<Objection> = insisted.iter().map(|i| (*i).into()).collect();
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
    let mut kinds: Vec<Objection> = noted.iter().map(|h| h.objection).collect();
    kinds.dedup();
    for objection in kinds {
        // The ring is empty before the first cycle.
        let _ = user.commands.push(Command::NoteInsisted(objection));
    }
    Ok(())
}
