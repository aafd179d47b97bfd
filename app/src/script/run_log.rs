//! The samples of a run that a script can analyse: every channel of every cycle while the bench runs.

use super::signal::Signal;
use rt_core::channel::{Frame, Layout};
use rt_core::guard::State;

/// Values that are kept at most: 400 MB.
const MOST_VALUES: usize = 50_000_000;
/// A gap of more ticks than this is no gap but another clock.
const LONGEST_GAP: u64 = 100_000;

/// See the module's text.
#[derive(Default)]
pub struct RunLog {
    columns: usize,
    values: Vec<f64>,
    last_seq: Option<u64>,
    is_full: bool,
}

impl RunLog {
    /// For so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// Forgets everything: a new run begins.
    pub fn clear(&mut self) {
        *self = Self::new(self.columns);
    }

    /// Takes a frame of a running bench; ticks that were skipped become gaps.
    pub fn add(&mut self, frame: &Frame) {
        if frame.state != State::Running {
            return;
        }
        let missing = self
            .last_seq
            .map_or(0, |last| frame.seq.saturating_sub(last + 1));
        self.last_seq = Some(frame.seq);
        let rows = missing.min(LONGEST_GAP) as usize + 1;
        if self.values.len() + rows * self.columns > MOST_VALUES {
            self.is_full = true;
            return;
        }
        let gap = (rows - 1) * self.columns;
        self.values.extend(std::iter::repeat_n(f64::NAN, gap));
        self.values.extend_from_slice(&frame.values[..self.columns]);
    }

    /// How many samples of each channel there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    fn column(&self, column: usize) -> Vec<f64> {
        self.values
            .iter()
            .skip(column)
            .step_by(self.columns.max(1))
            .copied()
            .collect()
    }

    /// A channel with its places, if the bench knows them.
    pub fn signal(&self, layout: &Layout, id: &str, rate_hz: f64) -> Result<Signal, String> {
        let column = layout.find(id).ok_or_else(|| no_channel(layout, id))?;
        if self.is_full {
            return Err(format!(
                "the run is longer than a script keeps samples for ({:.0} s of this bench); stop earlier, or record \
                 it and analyse the recording",
                self.len() as f64 / rate_hz
            ));
        }
        if self.len() == 0 {
            return Err("the bench has not run yet, so there are no samples".into());
        }
        let spec = &layout.channels()[column];
        let places = layout.find("line_position").map(|c| self.column(c));
        Ok(Signal::new(
            id,
            spec.unit,
            rate_hz,
            self.column(column),
            places,
        ))
    }
}

/// What to say of a channel that is not there.
pub fn no_channel(layout: &Layout, id: &str) -> String {
    let known: Vec<&str> = layout.channels().iter().map(|c| c.id).collect();
    format!("there is no channel '{id}'; channels: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::channel::ChannelSpec;

    #[test]
    fn only_running_counts_and_a_skipped_tick_is_a_gap() {
        let mut layout = Layout::default();
        layout
            .append(&[
                ChannelSpec::measured("force", "Force", "N"),
                ChannelSpec::computed("height", "Height", "m"),
            ])
            .unwrap();
        let mut log = RunLog::new(2);
        assert!(log.signal(&layout, "force", 500.0).is_err());
        for seq in [1, 2, 3, 5, 6] {
            let mut frame = Frame::empty();
            frame.seq = seq;
            frame.state = if seq == 1 {
                State::Armed
            } else {
                State::Running
            };
            frame.values[0] = seq as f64;
            frame.values[1] = -(seq as f64);
            log.add(&frame);
        }
        let force = log.signal(&layout, "force", 500.0).unwrap();
        let shown: Vec<String> = force.samples().iter().map(|v| v.to_string()).collect();
        assert_eq!(shown, ["2", "3", "NaN", "5", "6"]);
        let height = log.signal(&layout, "height", 500.0).unwrap();
        assert_eq!(height.samples()[4], -6.0);
        let problem = log.signal(&layout, "fource", 500.0).unwrap_err();
        assert!(
            problem.contains("fource") && problem.contains("force, height"),
            "{problem}"
        );
        log.clear();
        assert_eq!(log.len(), 0);
    }
}
