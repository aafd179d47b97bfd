//! A session run to its end for iterative validation: on the exact clock or in real time, recorded, with every frame
//! seen.

use super::IterateError;
use crate::conductor::Outcome;
use crate::follower::Follower;
use crate::permit::{self, Asked, Permit, Presence};
use crate::recording::{self, Recording, Remarks, Subject};
use crate::runtime::{self, Prepared};
use crate::session::LoadedSession;
use rt_core::calibration::date::Date;
use rt_core::channel::{Frame, Layout};
use rt_core::link::{Command, StopCause, UserSide};
use rt_core::record::header::SessionHeader;
use rt_core::record::setup::RecorderSetup;
use rt_core::rig::Purpose;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Whose time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as the machine can.
    Exact,
    /// Real time.
    Real,
}

/// A run that is over; its recording is still open for the result.
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The recording.
    pub recording: Option<Recording>,
}

/// How a run is recorded.
pub struct Recorded<'a> {
    /// Where.
    pub directory: &'a Path,
    /// Who is beside the rig.
    pub presence: &'a Presence,
    /// What a person says about it.
    pub remarks: &'a Remarks,
    /// What else its header says, and words for its name in place of the session's.
    pub describe: &'a dyn Fn(&mut SessionHeader) -> Option<Vec<String>>,
}

impl Recorded<'_> {
    fn begin(&self, subject: &Subject<'_>) -> Result<Recording, String> {
        let mut header = recording::header(subject, self.remarks)?;
        let words = (self.describe)(&mut header);
        let setup = recording::setup(self.directory, subject.loaded, header);
        let setup = RecorderSetup {
            name_words: words.unwrap_or(setup.name_words.clone()),
            // The whole run is what is needed, whatever triggers the session has.
            trigger: Default::default(),
            ..setup
        };
        Recording::begin(setup, subject.layout, subject.params.specs())
    }
}

/// Runs a session. `on_frame` is made for its columns and sees every frame; `stop` ends it in a controlled way.
pub fn run<S: FnMut(&Frame)>(
    loaded: &LoadedSession,
    pace: Pace,
    recorded: &Recorded<'_>,
    say: fn(&str),
    on_layout: impl FnOnce(&Layout) -> Result<S, IterateError>,
    stop: &AtomicBool,
) -> Result<Finished, IterateError> {
    match pace {
        Pace::Exact => {
            rt_core::rt_env::flush_denormals();
            let Prepared {
                mut rt_loop,
                mut user,
                layout,
                designer,
                params,
                ..
            } = runtime::prepare_exact(loaded)?;
            user.display = None;
            let permit = ask(&user, recorded.presence, true).map_err(IterateError::Unfit)?;
            note(&permit, &mut user);
            let mut on_frame = on_layout(&layout)?;
            let subject = Subject {
                loaded,
                layout: &layout,
                params: &params,
                rt: None,
                t0: SystemTime::now(),
            };
            let recording = recorded.begin(&subject).map_err(IterateError::Recording)?;
            let mut follower =
                Follower::new(loaded, &layout, designer, params, Some(recording), say);
            follower.grip = permit.grip(&layout);
            follower.on_frame = Some(Box::new(|frame| on_frame(frame)));
            while rt_loop.cycle() {
                follower.follow(&mut user, stop);
            }
            follower.follow(&mut user, stop);
            Ok(finished(follower, &layout))
        }
        Pace::Real => {
            let mut run = runtime::start_real_time(loaded)?;
            let hindered = permit::refuse_hindered(&run.user.rig.spec, &run.rt, Date::today());
            let permit = hindered
                .and_then(|()| ask(&run.user, recorded.presence, false))
                .map_err(IterateError::Unfit);
            let opened = permit
                .and_then(|permit| Ok((permit, on_layout(&run.layout)?)))
                .and_then(|(permit, on_frame)| {
                    let subject = Subject {
                        loaded,
                        layout: &run.layout,
                        params: &run.params,
                        rt: Some(&run.rt),
                        t0: SystemTime::now(),
                    };
                    let recording = recorded.begin(&subject).map_err(IterateError::Recording)?;
                    Ok((permit, on_frame, recording))
                });
            let (permit, mut on_frame, recording) = match opened {
                Ok(opened) => opened,
                Err(e) => {
                    // Nothing has moved: the loop is Idle until the follower answers it.
                    let _ = run.quit();
                    return Err(e);
                }
            };
            run.user.display = None;
            note(&permit, &mut run.user);
            let (designer, layout) = (run.designer.take(), run.layout.clone());
            let mut follower =
                Follower::new(loaded, &layout, designer, run.params, Some(recording), say);
            follower.grip = permit.grip(&layout);
            follower.on_frame = Some(Box::new(|frame| on_frame(frame)));
            while !run.thread.is_finished() {
                follower.follow(&mut run.user, stop);
                std::thread::park_timeout(Duration::from_millis(5));
            }
            follower.follow(&mut run.user, stop);
            let done = finished(follower, &layout);
            run.quit().map_err(IterateError::Unfit)?;
            Ok(done)
        }
    }
}

/// Rounds are minutes apart: each of them is let by a person anew, or all of them by the rig file.
fn ask(user: &UserSide, presence: &Presence, is_exact: bool) -> Result<Permit, String> {
    permit::permit(&Asked {
        rig: &user.rig.spec,
        purpose: Purpose::Iterate,
        presence,
        is_exact,
        by_hand: false,
    })
}

fn note(permit: &Permit, user: &mut UserSide) {
    if let Some(objection) = permit.note() {
        // The ring is empty before the first cycle.
        let _ = user.commands.push(Command::NoteInsisted(objection));
    }
}

fn finished(follower: Follower<'_>, layout: &Layout) -> Finished {
    Finished {
        outcome: follower.conductor.outcome,
        layout: layout.clone(),
        recording: follower.recording,
    }
}

impl Finished {
    /// Refuses a run that a fault or a person ended.
    pub fn judge(&self, what: &str, stop: &AtomicBool) -> Result<(), IterateError> {
        if let Some((fault, _, t_s)) = self.outcome.fault.as_ref().filter(|_| self.outcome.ran) {
            let words = fault.describe(&self.layout);
            return Err(IterateError::Tripped {
                what: what.to_owned(),
                t_s: *t_s,
                why: words.what,
                advice: words.advice,
            });
        }
        if stop.load(Ordering::Relaxed) || self.outcome.stop == Some(StopCause::DeadMan) {
            return Err(IterateError::Stopped);
        }
        if !self.outcome.ran {
            let why = self.outcome.why_it_never_ran(&self.layout);
            return Err(IterateError::NeverRan(why));
        }
        Ok(())
    }
}
