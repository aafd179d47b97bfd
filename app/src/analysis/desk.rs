//! What a panel keeps of its computations: when a new one is due, the thread that does it, the last answer.

use super::stretch::{Copied, Found, Grid};
use super::worker::Worker;
use crate::data::Data;
use eframe::egui::Context;
use std::time::Duration;

/// How one panel evaluates a copied stretch.
pub type Work<S, A> = fn(&S, &Grid) -> Result<A, String>;

/// A question: channels by their places, the stretch, and whatever else the answer depends on.
#[derive(Clone, Debug, PartialEq)]
struct Question<S> {
    channels: Vec<usize>,
    settings: S,
}

struct Job<S> {
    question: Question<S>,
    found: Found,
    copied: Copied,
}

/// An answer and what it is the answer to.
pub struct Answer<S, A> {
    /// What was asked for.
    pub settings: S,
    /// The stretch that was evaluated.
    pub found: Found,
    /// What came out, or why nothing did.
    pub result: Result<A, String>,
}

/// See the module's text.
pub struct Desk<S, A> {
    worker: Option<Worker<Job<S>, Answer<S, A>>>,
    trouble: Option<String>,
    asked: Option<(Question<S>, Found)>,
    asked_at_s: f64,
    is_waiting: bool,
    answer: Option<Answer<S, A>>,
    answers: u64,
}

impl<S, A> Default for Desk<S, A> {
    fn default() -> Self {
        Self {
            worker: None,
            trouble: None,
            asked: None,
            asked_at_s: f64::NEG_INFINITY,
            is_waiting: false,
            answer: None,
            answers: 0,
        }
    }
}

/// How long after one computation the next may begin, at least: long stretches take long to copy.
fn pause_s(least_s: f64, samples: usize) -> f64 {
    least_s + 4e-6 * samples as f64
}

impl<S, A> Desk<S, A>
where
    S: Clone + PartialEq + Send + 'static,
    A: Send + 'static,
{
    /// Takes answers in and asks anew if something has changed: at once if a person has changed something,
    /// else not more often than every `least_s` seconds and not before the last answer is there.
    pub fn update(
        &mut self,
        ctx: &Context,
        data: &Data,
        (found, channels, settings): (Found, Vec<usize>, S),
        least_s: f64,
        work: Work<S, A>,
    ) {
        self.take_answers();
        let question = Question { channels, settings };
        let (is_other, is_new) = match &self.asked {
            None => (true, true),
            Some((asked, stretch)) => (*asked != question, *stretch != found),
        };
        if !(is_other || is_new) {
            return;
        }
        let now_s = ctx.input(|i| i.time);
        let samples_before = self.asked.as_ref().map_or(0, |(_, found)| found.len());
        let wait_s = self.asked_at_s + pause_s(least_s, samples_before) - now_s;
        if !is_other && (self.is_waiting || wait_s > 0.0) {
            // An answer wakes the window; a pause has to be waited for.
            if !self.is_waiting {
                ctx.request_repaint_after(Duration::from_secs_f64(wait_s.clamp(0.001, 10.0)));
            }
            return;
        }
        self.send(ctx, data, question, found, work);
        self.asked_at_s = now_s;
    }

    fn send(
        &mut self,
        ctx: &Context,
        data: &Data,
        question: Question<S>,
        found: Found,
        work: Work<S, A>,
    ) {
        if self.worker.is_none() {
            let wake = ctx.clone();
            let run = move |job: Job<S>| {
                let grid = job.copied.on_grid();
                Answer {
                    result: work(&job.question.settings, &grid),
                    settings: job.question.settings,
                    found: job.found,
                }
            };
            match Worker::start(run, move || wake.request_repaint()) {
                Ok(worker) => self.worker = Some(worker),
                Err(e) => {
                    self.trouble = Some(format!(
                        "The thread for computations could not be started: {e}."
                    ));
                    return;
                }
            }
        }
        let job = Job {
            copied: Copied::of(data, &found, &question.channels),
            question: question.clone(),
            found,
        };
        self.is_waiting = self.worker.as_ref().is_some_and(|w| w.ask(job));
        self.asked = Some((question, found));
        if !self.is_waiting {
            self.trouble =
                Some("The thread for computations has ended. Close and open this panel.".into());
        }
    }

    fn take_answers(&mut self) {
        if let Some(newest) = self.worker.as_ref().and_then(Worker::newest) {
            self.answer = Some(newest);
            self.is_waiting = false;
            self.answers += 1;
        }
    }

    /// The last answer, if it is one to these settings or only the time has gone on.
    pub fn answer(&self) -> Option<&Answer<S, A>> {
        self.answer.as_ref()
    }

    /// How many answers there were; changes with every new one.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Why nothing can be computed at all.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}

#[cfg(test)]
pub mod test_help {
    //! Waiting for answers in tests of panels.

    use std::time::{Duration, Instant};

    /// Calls `step` until it returns `true`; panics after 20 s.
    pub fn until(what: &str, mut step: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !step() {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "{what} did not happen"
            );
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_help::until;
    use super::*;
    use crate::data::sample;

    fn mean(factor: &f64, grid: &Grid) -> Result<f64, String> {
        let samples = &grid.channels[0];
        Ok(factor * samples.iter().sum::<f64>() / samples.len() as f64)
    }

    #[test]
    fn a_change_by_a_person_is_answered_at_once_and_new_samples_after_a_pause() {
        let mut data = sample::run(1.0);
        let ctx = Context::default();
        let mut desk: Desk<f64, f64> = Desk::default();
        let ask = |desk: &mut Desk<f64, f64>, data: &Data, time: f64, factor: f64| {
            let input = eframe::egui::RawInput {
                time: Some(time),
                ..Default::default()
            };
            ctx.begin_pass(input);
            let found = Found::within(data, 0.0, 10.0).unwrap();
            desk.update(&ctx, data, (found, vec![2], factor), 0.25, mean);
            ctx.end_pass().drop_without_applying_deltas();
        };
        let value = |desk: &Desk<f64, f64>| {
            desk.answer()
                .and_then(|a| a.result.clone().ok())
                .unwrap_or(f64::NAN)
        };
        until("the first answer", || {
            ask(&mut desk, &data, 0.0, 1.0);
            desk.answers() == 1
        });
        // Places from 0 on at 250 km/h, 500 of them every 2 ms.
        let expected = 250.0 / 3.6 * 0.002 * 249.5;
        assert!((value(&desk) - expected).abs() < 1e-4, "{}", value(&desk));
        // Nothing new: nothing is asked.
        (1..20).for_each(|n| ask(&mut desk, &data, f64::from(n) * 10.0, 1.0));
        assert!(!desk.is_waiting);
        until("the answer to another factor", || {
            ask(&mut desk, &data, 200.0, 2.0);
            desk.answers() == 2
        });
        assert!((value(&desk) - 2.0 * expected).abs() < 2e-4);
        // A new sample within the pause waits, behind it is taken.
        data.history.push(1.0, &[0.0; 6]);
        ask(&mut desk, &data, 200.2, 2.0);
        assert!(!desk.is_waiting);
        ask(&mut desk, &data, 200.3, 2.0);
        assert!(desk.is_waiting);
    }
}
