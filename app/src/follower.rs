//! Follows a loop without a window: takes what it publishes, answers its events, makes changes when their
//! time has come.

#[cfg(test)]
mod tests;

use crate::changes::Changes;
use crate::conductor::Conductor;
use crate::crash;
use crate::event_text;
use crate::grip::Grip;
use crate::hil_result::HilSamples;
use crate::recording::Recording;
use crate::session::LoadedSession;
use crate::statistics::RunStatistics;
use crate::steady_result::SteadySamples;
use rt_core::bench::Designer;
use rt_core::channel::{Frame, Layout};
use rt_core::link::{Command, UserSide};
use rt_core::param::{ParamSet, ParamSpec};
use rt_core::timing::Timing;
use std::sync::atomic::{AtomicBool, Ordering};

/// A loop that is not ready by then will not be, in s of its own time.
const READY_TIMEOUT_S: f64 = 5.0;
/// The same where its drive may home first.
const HOMING_TIMEOUT_S: f64 = 60.0;

/// Sees frames as they come.
pub type OnFrame<'a> = Box<dyn FnMut(&Frame) + 'a>;

/// The part of a run that is the same on every clock: serve events, gather frames.
pub struct Follower<'a> {
    /// Takes the bench through its states.
    pub conductor: Conductor,
    /// Of every channel while the bench runs.
    pub statistics: RunStatistics,
    /// The first section, for a bench that runs along a line.
    pub samples: Option<HilSamples>,
    /// The last span, for a bench that goes from span to span.
    pub steady: Option<SteadySamples>,
    /// Which column holds which channel.
    pub layout: Layout,
    /// Changes of parameters.
    pub changes: Changes,
    /// The recording, if there is one.
    pub recording: Option<Recording>,
    /// Sees every frame.
    pub on_frame: Option<OnFrame<'a>>,
    /// Who arms it and holds the dead man's switch.
    pub grip: Grip,
    params: &'static [ParamSpec],
    period_s: f64,
    last_t_s: f64,
    /// Until when it is waited for, in s of the loop's time.
    ready_by_s: f64,
    say: fn(&str),
}

impl Follower<'_> {
    /// For a loop that has not cycled yet. `say` hears what a person should know.
    pub fn new(
        loaded: &LoadedSession,
        layout: &Layout,
        designer: Option<Box<dyn Designer>>,
        params: ParamSet,
        recording: Option<Recording>,
        say: fn(&str),
    ) -> Self {
        let period_s = loaded.period_nanos() as f64 * 1e-9;
        Self {
            conductor: Conductor::default(),
            statistics: RunStatistics::new(layout.len(), loaded.session.statistics_from_s),
            samples: HilSamples::for_layout(layout, period_s),
            steady: SteadySamples::for_layout(layout),
            layout: layout.clone(),
            params: params.specs(),
            changes: Changes::new(&loaded.session, designer, params),
            period_s,
            last_t_s: 0.0,
            ready_by_s: 0.0,
            recording,
            on_frame: None,
            grip: Grip::Free,
            say,
        }
    }

    /// Takes what the loop has published and answers it.
    pub fn follow(&mut self, user: &mut UserSide, stop: &AtomicBool) {
        let mut answers: [Option<Command>; 3] = [None; 3];
        if let Some(record) = &mut user.record {
            while let Ok(frame) = record.pop() {
                self.last_t_s = frame.t_s();
                self.grip.note_frame(&frame);
                self.statistics.add(&frame);
                if let Some(samples) = &mut self.samples {
                    samples.add(&frame);
                }
                if let Some(steady) = &mut self.steady {
                    steady.add(&frame);
                }
                if let Some(recording) = &mut self.recording {
                    recording.frame(&frame);
                }
                if let Some(on_frame) = &mut self.on_frame {
                    on_frame(&frame);
                }
            }
        }
        while let Ok(event) = user.events.pop() {
            let words = event_text::describe(&event, &self.layout, self.params);
            crash::note_event(&words);
            (self.say)(&words);
            if let Some(recording) = &mut self.recording {
                recording.event(&event);
            }
            self.changes.note(&event);
            self.grip.note_event(&event);
            let answer = self.conductor.answer(&event);
            let passed = answer.and_then(|command| self.grip.pass(command));
            // What ends it is not outdone by what came later.
            if answers[0] != Some(Command::Quit) {
                answers[0] = passed.or(answers[0]);
            }
        }
        if let Some(recording) = &mut self.recording {
            for warning in recording.service(Timing::read(&user.timing.record_drops)) {
                (self.say)(&format!("warning: {warning}"));
            }
        }
        let running_s = self.statistics.running_cycles() as f64 * self.period_s;
        if running_s > 0.0 {
            let before = self.changes.made.len();
            self.changes.serve(user, running_s);
            let prospects = self.changes.made[before..]
                .iter()
                .filter_map(|made| made.outcome.as_ref().ok()?.as_ref());
            for remark in prospects.flat_map(|prospect| &prospect.remarks) {
                (self.say)(&format!("note: {remark}"));
            }
        }
        let patience = if self.conductor.homes {
            HOMING_TIMEOUT_S
        } else {
            READY_TIMEOUT_S
        };
        let stops = stop.load(Ordering::Relaxed);
        answers[2] = self.grip.serve(user, stops);
        self.conductor.outcome.absent = self.grip.absent();
        if self.ready_by_s == 0.0 || self.grip.is_asking() || answers[2].is_some() {
            // A person takes the time that it takes; what comes then begins anew.
            self.ready_by_s = self.last_t_s + patience;
        }
        let waited_too_long = !self.conductor.outcome.ran && self.last_t_s > self.ready_by_s;
        if stops || waited_too_long {
            answers[1] = self.conductor.interrupt();
        }
        for command in answers.into_iter().flatten() {
            // A full ring means the loop is overloaded; the next event or interrupt asks again.
            let _ = user.commands.push(command);
        }
    }
}
