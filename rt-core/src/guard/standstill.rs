//! Whether an actuator stands still, by what is measured and not by what it is told.

use std::ops::Range;

/// Length of the window in which a feedback may not move, in s.
const WINDOW_S: f64 = 0.05;
/// Bounds of that window in cycles.
const CYCLES: Range<usize> = 4..65;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Standstill {
    within: f64,
    recent: Vec<f64>,
    next: usize,
}

impl Standstill {
    pub fn new(within: f64, dt: f64) -> Self {
        let cycles = (WINDOW_S / dt).round() as usize;
        Self {
            within,
            recent: vec![f64::NAN; cycles.clamp(CYCLES.start, CYCLES.end - 1)],
            next: 0,
        }
    }

    /// Takes a feedback. Whether it stands still is looked at only when that is asked for: most cycles are not about to
    /// come to rest.
    pub fn note(&mut self, feedback: f64) {
        self.recent[self.next] = feedback;
        self.next += 1;
        if self.next == self.recent.len() {
            self.next = 0;
        }
    }

    /// The newest feedback.
    pub fn last(&self) -> f64 {
        let before = self.next.checked_sub(1).unwrap_or(self.recent.len() - 1);
        self.recent[before]
    }

    /// Whether nothing has moved in the window. What is not known does not stand still.
    pub fn is_still(&self) -> bool {
        let low = self.recent.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self
            .recent
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        self.recent.iter().all(|x| x.is_finite()) && high - low <= self.within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Standstill {
        fn noted(&mut self, feedback: f64) -> bool {
            self.note(feedback);
            self.is_still()
        }
    }

    #[test]
    fn it_stands_still_once_the_whole_window_has_and_not_while_it_is_unknown() {
        let mut still = Standstill::new(0.5e-3, 0.002);
        for k in 0..25 {
            assert!(!still.noted(0.1), "{k}: seen for too short a time");
            if k == 23 {
                break;
            }
        }
        assert!(still.noted(0.1));
        assert!(!still.noted(f64::NAN));
        // 20 mm/s: a millimetre in the window.
        for k in 0..50 {
            assert!(!still.noted(0.1 + 40e-6 * f64::from(k)), "{k}");
        }
        assert!((0..24).all(|_| !still.noted(0.2)) && still.noted(0.2));
    }
}
