//! From samples that were measured at their own times to one value at the tick, with its age.

use super::bus::Slot;
use serde::Deserialize;

/// How a value at the tick is made from the last samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Align {
    /// The newest sample as it is.
    Hold,
    /// The line through the last two samples, at the tick. Beyond the newest it goes on for at most one interval
    /// between them: what moves evenly is where it is, and nothing is carried far.
    Linear,
}

/// A value at a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aligned {
    /// The value.
    pub value: f64,
    /// How much older than the tick the newest sample is, in ns; negative if it was measured after it.
    pub age_nanos: i64,
}

impl Align {
    /// The value of an input at a tick, if anything was ever measured.
    pub fn at(self, tick_nanos: u64, slot: &Slot) -> Option<Aligned> {
        let last = slot.last()?;
        let age_nanos = tick_nanos as i64 - last.t_nanos as i64;
        let value = match (self, slot.before()) {
            (Align::Linear, Some(before)) => {
                // Slot keeps them in order and apart.
                let interval = (last.t_nanos - before.t_nanos) as f64;
                let beyond = (age_nanos as f64 / interval).clamp(-1.0, 1.0);
                last.value + beyond * (last.value - before.value)
            }
            _ => last.value,
        };
        Some(Aligned { value, age_nanos })
    }
}

/// When ticks are due on the rig's clock. The loop's grid has a fixed beginning that a rig is not told; no exchange
/// begins before its tick, so the earliest one seen is the best estimate.
#[derive(Clone, Copy, Debug, Default)]
pub struct TickTime {
    begin: Option<i64>,
}

impl TickTime {
    /// The tick's time on the rig's clock, from its time on the grid and when its exchange began.
    pub fn of(&mut self, t_nanos: u64, now_nanos: u64) -> u64 {
        let begin = now_nanos as i64 - t_nanos as i64;
        let begin = self.begin.map_or(begin, |b| b.min(begin));
        self.begin = Some(begin);
        (begin + t_nanos as i64).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(samples: &[(f64, u64)]) -> Slot {
        let mut slot = Slot::default();
        for &(value, t) in samples {
            slot.put(value, t);
        }
        slot
    }

    #[test]
    fn a_line_goes_through_both_samples_and_ends_one_interval_later() {
        let moving = slot(&[(1.0, 1000), (3.0, 2000)]);
        let at = |tick| Align::Linear.at(tick, &moving).unwrap();
        assert_eq!(
            at(2000),
            Aligned {
                value: 3.0,
                age_nanos: 0
            }
        );
        assert_eq!(
            at(1500),
            Aligned {
                value: 2.0,
                age_nanos: -500
            }
        );
        assert_eq!(
            at(2500),
            Aligned {
                value: 4.0,
                age_nanos: 500
            }
        );
        assert_eq!(
            at(9000),
            Aligned {
                value: 5.0,
                age_nanos: 7000
            }
        );
        assert_eq!(Align::Hold.at(2500, &moving).unwrap().value, 3.0);
        assert_eq!(
            Align::Linear.at(2500, &slot(&[(7.0, 2000)])).unwrap().value,
            7.0
        );
        assert_eq!(Align::Hold.at(1, &Slot::default()), None);
    }

    #[test]
    fn ticks_are_where_the_most_punctual_exchange_says() {
        let mut ticks = TickTime::default();
        assert_eq!(ticks.of(0, 10_500), 10_500);
        assert_eq!(ticks.of(2000, 12_100), 12_100);
        assert_eq!(ticks.of(4000, 14_900), 14_100);
        assert_eq!(ticks.of(6000, 16_050), 16_050);
    }
}
