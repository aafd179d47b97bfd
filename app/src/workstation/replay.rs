//! A recording in the window: the play head and how it moves.

use super::{MOVING, Workstation};
use crate::panels::transport::{self, Title};
use crate::playback::{Playhead, Stretch};
use crate::recorded::Recorded;
use crate::view::Ask;
use eframe::egui::Ui;

/// An opened recording and the moment of it that is shown.
pub(super) struct Replay {
    pub recorded: Recorded,
    pub head: Playhead,
}

impl Replay {
    /// At its end, held: that is where the plots are full, and playing begins at the beginning from there.
    pub fn new(recorded: Recorded) -> Self {
        let history = &recorded.data.history;
        let whole = Stretch {
            from_s: history.oldest_s().unwrap_or_default(),
            to_s: history.newest_s().unwrap_or_default(),
        };
        let mut head = Playhead::new(whole, recorded.data.period_s);
        head.seek(whole.to_s);
        Self { recorded, head }
    }

    /// Draws the transport.
    pub fn show(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        let header = &self.recorded.header;
        let file = self.recorded.path.display().to_string();
        let mut about = vec![header.specimen.clone(), header.line.clone()];
        about.extend(header.speed_kmh.map(|v| format!("{v:.0} km/h")));
        about.push(header.operator.clone());
        about.push(header.notes.clone());
        about.retain(|part| !part.is_empty());
        let about = about.join(", ");
        let title = Title {
            title: &header.title,
            file: &file,
            about: &about,
            damage: self.recorded.damage.as_deref(),
        };
        transport::show(ui, &mut self.head, &title, &self.recorded.data, asks);
    }
}

impl Workstation {
    /// Moves the play head by the time that has passed.
    pub(super) fn advance_replay(&mut self, elapsed_s: f64) {
        if let Some(replay) = &mut self.replay
            && replay.head.is_playing()
        {
            replay.head.advance(elapsed_s);
            self.ctx.request_repaint_after(MOVING);
        }
    }

    pub(super) fn play_pause(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.head.toggle();
        }
    }

    pub(super) fn step_replay(&mut self, ticks: i64) {
        if let Some(replay) = &mut self.replay {
            replay.head.step(ticks);
        }
    }
}
