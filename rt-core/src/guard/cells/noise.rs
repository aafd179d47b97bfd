//! The noise of a sensor, told from what it measures: slow changes leave second differences alone.
//!
//! ```text
//! σ² = ⟨(xₖ − 2 xₖ₋₁ + xₖ₋₂)²⟩ / 6      for white noise
//! ```

use super::{CellFault, Moment};
use crate::rig::cell_watch::CellsWatch;

/// See the module's text. Looked at once a window, by the loop's ticks.
#[derive(Debug)]
pub(super) struct Noise {
    low: f64,
    high: f64,
    window: u64,
    /// Which window is being filled.
    number: u64,
    /// The last two readings and the tick of the last.
    last: [f64; 2],
    last_tick: u64,
    known: u8,
    sum: f64,
    count: u64,
    /// Nothing has moved in this window.
    stood: bool,
    /// What the window before has shown.
    found: Option<(CellFault, f64, f64)>,
}

impl Noise {
    pub fn new(stated: f64, together: &CellsWatch, dt: f64) -> Self {
        let (low, high) = together.noise_band;
        Self {
            low: low * stated,
            high: high * stated,
            window: (together.noise_window_s / dt).round().max(1.0) as u64,
            number: 0,
            last: [f64::NAN; 2],
            last_tick: 0,
            known: 0,
            sum: 0.0,
            count: 0,
            stood: true,
            found: None,
        }
    }

    /// Takes a reading. What a window has shown holds through the next one.
    pub fn note(&mut self, reading: f64, moment: Moment) -> Option<(CellFault, f64, f64)> {
        let number = moment.tick / self.window;
        if number != self.number {
            self.found = self.verdict();
            (self.number, self.sum, self.count, self.stood) = (number, 0.0, 0, true);
        }
        if moment.tick != self.last_tick + 1 {
            self.known = 0;
        }
        if self.known >= 2 {
            let bend = reading - 2.0 * self.last[1] + self.last[0];
            self.sum += bend * bend;
            self.count += 1;
        }
        self.stood &= moment.stands();
        self.known = (self.known + 1).min(2);
        self.last = [self.last[1], reading];
        self.last_tick = moment.tick;
        self.found
    }

    /// A signal only adds to noise: too little is too little at any time, too much only where nothing moves.
    fn verdict(&self) -> Option<(CellFault, f64, f64)> {
        // Most of a window, or nothing is known of it.
        if 2 * self.count < self.window {
            return None;
        }
        let deviation = (self.sum / (6.0 * self.count as f64)).sqrt();
        if deviation < self.low {
            Some((CellFault::TooQuiet, deviation, self.low))
        } else if self.stood && deviation > self.high {
            Some((CellFault::TooNoisy, deviation, self.high))
        } else {
            None
        }
    }
}
