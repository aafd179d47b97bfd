//! A run along a line as iterative validation sees it: force and motor position as they were read, from the approach to
//! the end of the first section.

use rt_core::channel::{Frame, Layout};
use rt_core::guard::State;

/// See the module's text.
pub struct Passage {
    columns: [usize; 3],
    /// Place, force and motor position in m, N and m; one a cycle.
    places: Vec<f64>,
    force: Vec<f64>,
    position: Vec<f64>,
    /// The last cycle in which the train stands.
    start: usize,
    last_seq: Option<u64>,
    skipped: u64,
    is_over: bool,
}

impl Passage {
    /// For a bench that runs along a line; `None` for every other.
    pub fn for_layout(layout: &Layout) -> Option<Self> {
        let column = |id| layout.find(id);
        Some(Self {
            columns: [
                column("line_position")?,
                column("force")?,
                column("motor_position")?,
            ],
            places: Vec::new(),
            force: Vec::new(),
            position: Vec::new(),
            start: 0,
            last_seq: None,
            skipped: 0,
            is_over: false,
        })
    }

    /// Takes a frame in while the train runs through its first section.
    pub fn add(&mut self, frame: &Frame) {
        let [place, force, position] = self.columns.map(|column| frame.values[column]);
        let has_begun = !self.places.is_empty();
        if self.is_over || (frame.state == State::Running && place.is_nan()) {
            return;
        }
        if frame.state != State::Running || self.places.last().is_some_and(|last| place < *last) {
            self.is_over = has_begun;
            return;
        }
        if self.places.first().is_none_or(|first| place == *first) {
            self.start = self.places.len();
        }
        if let Some(last) = self.last_seq {
            self.skipped += frame.seq.saturating_sub(last + 1);
        }
        self.last_seq = Some(frame.seq);
        self.places.push(place);
        self.force.push(force);
        self.position.push(position);
    }

    /// The force as it was read, in N, one a cycle; the train starts after [`Self::start`].
    pub fn force(&self) -> &[f64] {
        &self.force
    }

    /// The motor's position as it was read, in m.
    pub fn position(&self) -> &[f64] {
        &self.position
    }

    /// The last cycle in which the train stands.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Cycles that the loop left out.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Where it begins and ends, in m; `None` if there is nothing.
    pub fn extent(&self) -> Option<(f64, f64)> {
        Some((*self.places.first()?, *self.places.last()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::bench::pantograph_lqg;

    #[test]
    fn only_the_first_section_counts_and_the_start_is_found() {
        let mut layout = Layout::default();
        layout.append(pantograph_lqg::SPEC.channels).unwrap();
        let mut passage = Passage::for_layout(&layout).unwrap();
        let place = layout.find("line_position").unwrap();
        let mut frame = Frame::empty();
        for (seq, (state, x)) in [
            (State::Armed, f64::NAN),
            (State::Running, 130.0),
            (State::Running, 130.0),
            (State::Running, 130.2),
            (State::Running, 130.4),
            (State::Running, 130.0),
            (State::Running, 130.2),
            (State::Stopping, 130.4),
        ]
        .into_iter()
        .enumerate()
        {
            // A cycle is left out before the train starts.
            frame.seq = seq as u64 + u64::from(seq > 1);
            (frame.state, frame.values[place]) = (state, x);
            passage.add(&frame);
        }
        assert_eq!((passage.force().len(), passage.start()), (4, 1));
        assert_eq!(passage.extent(), Some((130.0, 130.4)));
        assert_eq!(passage.skipped(), 1);
    }
}
