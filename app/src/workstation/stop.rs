//! STOP from one place: whatever is shown and whatever has the focus, it reaches everyone who owns a motor, and the answer
//! of each is awaited. A press is a count in an atomic, so no full ring and no closed dialog can lose it.

use super::act::Prompt;
use super::{Slot, Workstation};
use crate::panels::status;
use crate::theme;
use eframe::egui::{self, Color32, Event, Key, Panel, RichText, Ui};
use rt_core::stop::{self, StopLine};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cycles within which a loop has to answer.
const CYCLES: u32 = 2;
/// What the window itself may take on top, from a press to a look at the answer: it draws every 33 ms while something
/// moves, and a busy desktop keeps it waiting for a few pictures.
const OWN_FRAME: Duration = Duration::from_millis(150);
/// The period of a loop whose own is not known to this window, as that of a script.
const OTHER_PERIOD: Duration = Duration::from_millis(10);

/// Escape, as it comes from the keyboard: before any field or dialog sees it, with any modifier, once a press however
/// long it is held.
#[derive(Default)]
struct StopKey {
    is_down: bool,
    /// Events at the beginning of the next that were looked at already.
    heard: usize,
}

impl StopKey {
    /// How often it was pressed. `come_again`: these events stand at the beginning of the next as well, because the
    /// window was not drawn with them.
    fn presses(&mut self, events: &[Event], come_again: bool) -> u32 {
        let mut presses = 0;
        for event in events.iter().skip(self.heard) {
            match event {
                Event::Key {
                    key,
                    physical_key,
                    pressed,
                    ..
                } if *key == Key::Escape || *physical_key == Some(Key::Escape) => {
                    presses += u32::from(*pressed && !self.is_down);
                    self.is_down = *pressed;
                }
                // Whether it is let go elsewhere is not seen.
                Event::WindowFocused(false) => self.is_down = false,
                _ => {}
            }
        }
        self.heard = if come_again { events.len() } else { 0 };
        presses
    }
}

/// A loop that was told to stop and has to say so.
struct Awaited {
    line: Arc<StopLine>,
    since: Instant,
    within: Duration,
}

/// What is known of presses and their answers.
pub(super) struct StopDesk {
    key: StopKey,
    awaited: Vec<Awaited>,
    /// Stays until someone has read it.
    alarm: Option<String>,
    /// Finds whoever owns a motor.
    owners: fn() -> Vec<Arc<StopLine>>,
}

impl Default for StopDesk {
    fn default() -> Self {
        Self {
            key: StopKey::default(),
            awaited: Vec::new(),
            alarm: None,
            owners: stop::owners,
        }
    }
}

impl StopDesk {
    /// Looks at the answers; `true` if one has just been missed.
    fn look(&mut self, now: Instant) -> bool {
        // Looked at late is not answered late: that is the window's own time.
        self.awaited.retain(|a| !a.line.is_answered());
        let is_late = |a: &&Awaited| now.saturating_duration_since(a.since) > a.within;
        let missed = self.awaited.iter().find(is_late).map(|a| a.within);
        match (missed, &self.alarm) {
            (Some(within), None) => {
                let text = format!(
                    "STOP was not answered within {} ms: use the emergency stop",
                    within.as_millis()
                );
                tell!("{text}");
                self.alarm = Some(text);
                true
            }
            _ => false,
        }
    }

    /// Until when nothing has to be looked at.
    fn next_look(&self, now: Instant) -> Option<Duration> {
        let left = |a: &Awaited| (a.since + a.within).saturating_duration_since(now);
        let left = self.awaited.iter().map(left).min()?;
        Some(left + Duration::from_millis(5))
    }

    /// What a person has to be told about STOP, and whether it is over.
    pub fn alarm(&self) -> Option<(&str, bool)> {
        let text = self.alarm.as_deref()?;
        Some((text, self.awaited.is_empty()))
    }

    /// Each workstation finds its own loop only: several stand in one process.
    #[cfg(test)]
    pub fn find_nobody_else(&mut self) {
        self.owners = Vec::new;
    }

    /// A loop that never answers.
    #[cfg(test)]
    pub fn add_deaf_owner(&mut self) {
        self.owners = || vec![Arc::default()];
    }
}

impl Workstation {
    /// Hears Escape in events as they come. `come_again`: they will be heard again.
    pub fn hear_stop(&mut self, events: &[Event], come_again: bool) -> bool {
        let presses = self.stop.key.presses(events, come_again);
        for _ in 0..presses {
            self.press_stop();
        }
        self.attend_stop();
        presses > 0
    }

    /// STOP, whoever asks for it: key, button, palette.
    pub fn press_stop(&mut self) {
        let own = match &self.slot {
            Slot::Active(active) => Some(Arc::clone(&active.run.stop)),
            _ => None,
        };
        let mut lines = (self.stop.owners)();
        // One that is known here is never missed, whatever the list of all says.
        if let Some(own) = own.filter(|own| !own.has_ended())
            && !lines.iter().any(|line| Arc::ptr_eq(line, &own))
        {
            lines.push(own);
        }
        for line in &lines {
            line.press();
        }
        self.script.stop();
        if let Slot::Working(working) = &self.slot {
            working.job.stop();
        }
        // Nothing that was asked for before goes on after it.
        self.first_step = None;
        self.homes_while_held = false;
        if matches!(self.prompt, Some(Prompt::Insist(_))) {
            self.prompt = None;
        }
        let within = CYCLES * self.slowest_period() + OWN_FRAME;
        let since = Instant::now();
        for line in lines {
            let is_known = |a: &Awaited| Arc::ptr_eq(&a.line, &line);
            if !self.stop.awaited.iter().any(is_known) {
                self.stop.awaited.push(Awaited {
                    line,
                    since,
                    within,
                });
            }
        }
        self.ctx.request_repaint();
    }

    fn slowest_period(&self) -> Duration {
        match &self.slot {
            Slot::Active(active) => Duration::from_nanos(active.run.period_nanos).max(OTHER_PERIOD),
            _ => OTHER_PERIOD,
        }
    }

    /// Looks whether STOP was answered.
    pub fn attend_stop(&mut self) {
        let now = Instant::now();
        self.stop.look(now);
        if let Some(left) = self.stop.next_look(now) {
            self.ctx.request_repaint_after(left);
        }
    }

    /// Red words above everything else, until someone has read them.
    pub(super) fn show_stop_alarm(&mut self, ui: &mut Ui) {
        let Some((text, is_over)) = self.stop.alarm() else {
            return;
        };
        let mut is_read = false;
        let frame = egui::Frame::new()
            .fill(theme::DANGER)
            .inner_margin(egui::Margin::symmetric(16, 10));
        Panel::top("stop alarm").frame(frame).show(ui, |ui| {
            ui.horizontal(|ui| {
                let words = RichText::new(format!("✖ {text}")).size(22.0).strong();
                ui.label(words.color(Color32::WHITE));
                if is_over {
                    let words = "It was answered later. Look at the rig.";
                    ui.label(RichText::new(words).size(16.0).color(Color32::WHITE));
                    is_read = ui.button("I have looked").clicked();
                }
            });
        });
        if is_read {
            self.stop.alarm = None;
        }
    }

    /// A bar with STOP for pages that show no bench, as long as something in this program owns a motor.
    pub(super) fn show_stop_bar(&mut self, ui: &mut Ui, words: &str) {
        let mut is_pressed = false;
        Panel::top("stop").show(ui, |ui| {
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                is_pressed = status::stop_button(ui);
                ui.label(words);
            });
            ui.add_space(6.0);
        });
        if is_pressed {
            self.press_stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::Modifiers;

    fn escape(pressed: bool, modifiers: Modifiers) -> Event {
        Event::Key {
            key: Key::Escape,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers,
        }
    }

    #[test]
    fn a_held_key_is_one_press_and_any_modifier_will_do() {
        let (down, up) = (
            escape(true, Modifiers::NONE),
            escape(false, Modifiers::NONE),
        );
        let mut key = StopKey::default();
        // A keyboard repeats by the press alone.
        assert_eq!(key.presses(&vec![down.clone(); 40], false), 1);
        assert_eq!(key.presses(&[down.clone(), up.clone()], false), 0);
        assert_eq!(
            key.presses(&[down.clone(), up.clone(), down.clone()], false),
            2
        );
        // Let go where this window does not see it.
        let away = [Event::WindowFocused(false), down.clone(), up];
        assert_eq!(key.presses(&away, false), 1);
        for modifiers in [
            Modifiers::CTRL,
            Modifiers::SHIFT,
            Modifiers::ALT,
            Modifiers::COMMAND,
        ] {
            let mut key = StopKey::default();
            assert_eq!(key.presses(&[escape(true, modifiers)], false), 1);
        }
        let other = Event::Key {
            key: Key::Enter,
            physical_key: Some(Key::Enter),
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        assert_eq!(StopKey::default().presses(&[other], false), 0);
    }

    #[test]
    fn what_a_minimised_window_heard_is_not_heard_again_when_it_is_drawn() {
        let mut events = vec![
            escape(true, Modifiers::NONE),
            escape(false, Modifiers::NONE),
        ];
        let mut key = StopKey::default();
        assert_eq!(key.presses(&events, true), 1);
        assert_eq!(key.presses(&events, true), 0);
        events.push(escape(true, Modifiers::NONE));
        assert_eq!(key.presses(&events, true), 1);
        assert_eq!(key.presses(&events, false), 0, "drawn at last");
        assert_eq!(key.presses(&[escape(false, Modifiers::NONE)], true), 0);
    }

    #[test]
    fn an_answer_that_does_not_come_is_told_and_stays_told() {
        let line = Arc::new(StopLine::default());
        line.press();
        let since = Instant::now();
        let mut desk = StopDesk::default();
        desk.awaited.push(Awaited {
            line,
            since,
            within: Duration::from_millis(170),
        });
        assert!(!desk.look(since + Duration::from_millis(160)));
        assert_eq!(desk.alarm(), None);
        assert!(desk.look(since + Duration::from_millis(180)));
        let (text, is_over) = desk.alarm().unwrap();
        assert!(
            text.contains("use the emergency stop") && !is_over,
            "{text}"
        );
        assert!(!desk.look(since + Duration::from_secs(60)), "told once");
        assert!(desk.alarm().is_some());
    }

    #[test]
    fn a_loop_that_has_answered_or_ended_is_waited_for_no_longer() {
        let line = Arc::new(StopLine::default());
        let since = Instant::now();
        let mut desk = StopDesk::default();
        desk.awaited.push(Awaited {
            line,
            since,
            within: Duration::ZERO,
        });
        assert!(!desk.look(since + Duration::from_secs(1)));
        assert!(desk.awaited.is_empty() && desk.alarm().is_none());
    }
}
