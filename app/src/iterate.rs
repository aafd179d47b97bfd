//! Iterative validation: the force of a hardware-in-the-loop run is applied offline to the line, the wire's heights are
//! played on the rig without feedback, the force is read again, until it no longer changes. What it then is, is the
//! reference for the run: no interaction spring, no controller, no delay is left in it (Tur et al. 2024, section 5.1).
//!
//! Two things are done to it that a rig needs. What is played and read is aligned in place: the profile is known in
//! advance, so motor, cycle and delays are taken back, and so are filter and delay of the force
//! ([`rt_core::rig::PlayedBand`]). And the step from a round to the next expects how the force will change with the
//! heights ([`Method::Expecting`]): the published step grows above some 10 Hz, where a head is stiffer than a wire.

mod finding;
mod implicit;
mod loop_run;
mod passage;
mod play;
mod relaxation;
mod source;
mod way;

pub use finding::{Errors, Finding, Force, RoundResult, Verdict};

use crate::permit::Presence;
use crate::recording::Remarks;
use crate::replay::{ReplayError, in_own_thread};
use crate::runtime::StartError;
use finding::Gathered;
use loop_run::{Pace, Recorded};
use relaxation::{Decision, Relaxation};
use rt_core::file::FileError;
use rt_core::model::catenary::CatenaryError;
use rt_core::record::error::RecordError;
use rt_core::rig::PlayedBand;
use rt_core::signal::error::AnalysisError;
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use way::{Way, coarse};

/// How the next heights follow from a measured force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The wire under the measured force and its expected change with the heights, from the specimen's file. Where the
    /// heights no longer change, neither does the force, and the file has no influence.
    #[default]
    Expecting,
    /// The wire under the measured force, as published.
    Published,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most rounds, 1 to 50.
    pub max_rounds: usize,
    /// The change of the 20 Hz force below which it counts as converged, in % of its mean.
    pub tolerance_pct: f64,
    /// How the next heights follow.
    pub method: Method,
    /// Frequencies that are played.
    pub band: PlayedBand,
    /// Where recordings go; `None`: beside the given recording, or where recordings go by themselves.
    pub record: Option<PathBuf>,
    /// Real time on a simulated rig too. Hardware always runs in real time.
    pub real_time: bool,
    /// Who is beside the rig.
    pub presence: Presence,
    /// What a person says about the test.
    pub remarks: Remarks,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_rounds: 8,
            tolerance_pct: 0.5,
            method: Method::default(),
            band: PLAYED,
            record: None,
            real_time: false,
            presence: Presence::Nobody,
            remarks: Remarks::default(),
        }
    }
}

/// What is played unless someone says otherwise: what the standards evaluate, and room for its filter. Higher lies the
/// resonance of the head on the pad, which nothing damps while the motor is held to its profile; there a round amplifies
/// whatever the specimen's file has wrong.
const PLAYED: PlayedBand = PlayedBand {
    pass_hz: 20.0,
    stop_hz: 30.0,
};

impl Settings {
    fn check(&self) -> Result<(), IterateError> {
        if !(1..=50).contains(&self.max_rounds) {
            return Err(IterateError::Unfit(format!(
                "{} rounds are asked for; expected 1 to 50",
                self.max_rounds
            )));
        }
        if !(self.tolerance_pct >= 0.01 && self.tolerance_pct <= 50.0) {
            return Err(IterateError::Unfit(format!(
                "the tolerance is {} %; expected 0.01 to 50 %",
                self.tolerance_pct
            )));
        }
        Ok(())
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum IterateError {
    /// The session or recording is not one for this.
    #[error("{0}")]
    Unfit(String),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What the recording carries cannot be used.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A session cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The line cannot be computed.
    #[error("the line: {0}")]
    Line(#[from] CatenaryError),
    /// A force cannot be evaluated.
    #[error("the force: {0}")]
    Analysis(#[from] AnalysisError),
    /// A run cannot be recorded.
    #[error("a run cannot be recorded: {0}")]
    Recording(String),
    /// A file cannot be written.
    #[error("cannot write '{}': {source}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A fault ended a run.
    #[error("{what} was ended by a fault at {t_s:.3} s: {why}. {advice}")]
    Tripped {
        /// Which run.
        what: String,
        /// When, in s since its loop started.
        t_s: f64,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The rig did not become ready.
    #[error("the bench did not run: {0}")]
    NeverRan(String),
    /// A person stopped it.
    #[error("stopped; what was recorded is kept")]
    Stopped,
}

/// What is under way.
#[derive(Clone, Debug)]
pub enum News {
    /// A stage has begun, in words.
    Stage(String),
    /// The finished part of the stage, 0 to 1.
    Part(f64),
    /// A round is over.
    Round(RoundResult),
    /// Something that a person should know.
    Note(String),
}

/// Validates a session or a recording. `tell` hears what is under way; `say` the events of the runs; `stop` ends it in a
/// controlled way and keeps what was recorded.
pub fn run(
    path: &Path,
    settings: &Settings,
    say: fn(&str),
    tell: &mut (dyn FnMut(News) + Send),
    stop: &AtomicBool,
) -> Result<Finding, IterateError> {
    settings.check()?;
    in_own_thread(|| iterate(path, settings, say, tell, stop))
}

/// Whether the rig of a session or recording is a simulated one, which anyone may run at any time.
pub fn is_simulated(path: &Path) -> Result<bool, IterateError> {
    let source = Source::open(path)?;
    Ok(source.pace(&Settings::default())? == Pace::Exact)
}

fn iterate(
    path: &Path,
    settings: &Settings,
    say: fn(&str),
    tell: &mut (dyn FnMut(News) + Send),
    stop: &AtomicBool,
) -> Result<Finding, IterateError> {
    let source = Source::open(path)?;
    let loaded = source.loaded();
    let pace = source.pace(settings)?;
    tell(News::Stage("preparing the line".into()));
    let mut way = Way::of(loaded, settings.band)?;
    let directory = source.directory(settings);
    let hil = source.passage(&way, pace, &directory, settings, say, tell, stop)?;
    for note in source.notes() {
        tell(News::Note(note.clone()));
    }
    if let Some(note) = way.note_on(settings.band) {
        tell(News::Note(note));
    }
    if hil.passage.skipped() > 0 {
        tell(News::Note(format!(
            "{} cycles were left out in the run; its force is disturbed there",
            hil.passage.skipped()
        )));
    }
    // The way begins and ends at rest, so what filters reach beyond its ends is of no account.
    let finer = way.finer;
    let at_pad = |way: &Way, read: &[f64]| {
        way.rig
            .force_at_pad(read, finer, way.period_s, settings.band)
    };
    let of_motor = |way: &Way, read: &[f64]| {
        let part = |f: f64| settings.band.part(f).into();
        rt_core::signal::response::with_response(read, 1.0 / way.period_s, finer, part)
    };
    let start = hil.passage.start();
    let force = at_pad(&way, hil.passage.force())?;
    let mut force = way.stretch(&force, start)?.to_vec();
    let position = of_motor(&way, hil.passage.position())?;
    let mut position = way.stretch(&position, start)?.to_vec();

    let scratch = source::Scratch::new()?;
    let mut gathered = Gathered::new(settings, &source, &way, &hil, coarse(&force, finer));
    let mut relaxation = Relaxation::new(settings.tolerance_pct);
    let mut played: Option<Vec<f64>> = None;
    // What the motor was away from its heights although its dynamics are taken back, to be added the next time.
    let mut learned = vec![0.0; position.len()];
    let mut parent = hil.recording.clone();
    for index in 1..=settings.max_rounds {
        tell(News::Stage(format!(
            "round {index}: the line under the force"
        )));
        let mut go_on = |part: f64| {
            tell(News::Part(part));
            !stop.load(Ordering::Relaxed)
        };
        let wire = match way.wire_under(settings.method, &force, &position, &mut go_on) {
            Ok(wire) => wire,
            Err(IterateError::Stopped) => return gathered.end(&way, Verdict::Stopped),
            Err(e) => return Err(e),
        };
        let part = relaxation.part();
        let heights = match &played {
            None => wire.heights,
            Some(before) => {
                let blend = |(new, old): (&f64, &f64)| old + part * (new - old);
                wire.heights.iter().zip(before).map(blend).collect()
            }
        };
        tell(News::Stage(format!(
            "round {index}: the profile on the rig"
        )));
        let corrected: Vec<f64> = heights.iter().zip(&learned).map(|(z, e)| z + e).collect();
        let profile = play::with_entry_and_exit(&way, &corrected);
        let references = way
            .rig
            .references_for(&profile, finer, way.period_s, settings.band)?;
        let name = format!("{}-iteration-{index}", source.name());
        let title = format!("{}, iteration {index}", source.title());
        let session = play::session(loaded, &way, &references, (scratch.path(), &name, &title))?;
        let mut round = None;
        let described = |header: &mut _| {
            Some(source.describe_round(header, &name, index, part, &parent, settings))
        };
        let recorded = Recorded {
            directory: &directory,
            presence: &settings.presence,
            remarks: &settings.remarks,
            describe: &described,
        };
        let finished = loop_run::run(
            &session,
            pace,
            &recorded,
            say,
            |layout| {
                let collected = round.insert(play::Round::for_layout(layout, &references)?);
                Ok(|frame: &_| collected.add(frame))
            },
            stop,
        )?;
        let judged = finished.judge(&format!("round {index}"), stop);
        let Some(round) = round.filter(|_| judged.is_ok()) else {
            gathered.keep(finished, None);
            return match judged {
                Err(IterateError::Stopped) | Ok(()) => gathered.end(&way, Verdict::Stopped),
                Err(e @ IterateError::Tripped { .. }) if index > 1 => {
                    gathered.end(&way, Verdict::Diverged(e.to_string()))
                }
                Err(e) => Err(e),
            };
        };
        round.check()?;
        if round.skipped > 0 {
            tell(News::Note(format!(
                "{} cycles were left out in round {index}; its force is disturbed there",
                round.skipped
            )));
        }
        let read = at_pad(&way, &round.force)?;
        force = way.stretch(&read, round.start())?.to_vec();
        let moved = of_motor(&way, &round.position)?;
        position = way.stretch(&moved, round.start())?.to_vec();
        for (k, (error, (z, u))) in learned
            .iter_mut()
            .zip(heights.iter().zip(&position))
            .enumerate()
        {
            *error += way.share(k) * (z - u);
        }
        let result = gathered.add(
            &way,
            index,
            part,
            coarse(&force, finer),
            &heights,
            &position,
        )?;
        let decision = relaxation.judge(result.change_pct);
        let result = gathered.keep_round(finished, result, decision == Decision::Converged);
        parent = result.recording.clone();
        tell(News::Round(result));
        played = Some(heights);
        match decision {
            Decision::Converged => {
                tell(News::Stage("comparing with the coupled solution".into()));
                return gathered.end(&way, Verdict::Converged);
            }
            Decision::GoOn(next) => {
                if next < part {
                    tell(News::Note(format!(
                        "the change does not shrink fast enough; the next round goes {:.0} % of the way",
                        100.0 * next
                    )));
                }
            }
            Decision::Diverges => {
                let why =
                    "the force changes more from round to round although steps are small".into();
                return gathered.end(&way, Verdict::Diverged(why));
            }
        }
    }
    gathered.end(&way, Verdict::NotYet)
}
