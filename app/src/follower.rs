//! Follows a loop without a window: takes what it publishes, answers its events, makes changes when their
//! time has come.

use crate::changes::Changes;
use crate::conductor::Conductor;
use crate::event_text;
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
use std::sync::Arc;
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
    /// Set whenever a person shows that the dead man's switch is held; `None`: this program holds it.
    pub dead_man: Option<Arc<AtomicBool>>,
    params: &'static [ParamSpec],
    period_s: f64,
    last_t_s: f64,
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
            recording,
            on_frame: None,
            dead_man: None,
            say,
        }
    }

    /// Takes what the loop has published and answers it.
    pub fn follow(&mut self, user: &mut UserSide, stop: &AtomicBool) {
        let mut answers: [Option<Command>; 2] = [None, None];
        if let Some(record) = &mut user.record {
            while let Ok(frame) = record.pop() {
                self.last_t_s = frame.t_s();
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
            (self.say)(&event_text::describe(&event, &self.layout, self.params));
            if let Some(recording) = &mut self.recording {
                recording.event(&event);
            }
            self.changes.note(&event);
            answers[0] = self.conductor.answer(&event).or(answers[0]);
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
        let waited_too_long = !self.conductor.outcome.ran && self.last_t_s > patience;
        if stop.load(Ordering::Relaxed) || waited_too_long {
            answers[1] = self.conductor.interrupt();
        }
        // Without a person at the keys, the switch is held as long as this program lives and was not told to stop.
        let is_held = match &self.dead_man {
            Some(pressed) => pressed.swap(false, Ordering::Relaxed),
            None => !stop.load(Ordering::Relaxed),
        };
        if user.rig.spec.safety.dead_man_s.is_some() && is_held {
            let _ = user.commands.push(Command::Alive);
        }
        for command in answers.into_iter().flatten() {
            // A full ring means the loop is overloaded; the next event or interrupt asks again.
            let _ = user.commands.push(command);
        }
    }
}
