//! Every n-th height on its way to the drive, and what the drive is told between them.

/// What the drive is told between two heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Between {
    /// Equal steps from one height to the next.
    Steps,
    /// The last height: the drive goes there in its own way.
    Held,
}

/// Thins out heights: one of `every` is taken.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    every: u32,
    between: Between,
    count: u32,
    from: f64,
    to: f64,
}

impl Sender {
    /// One height of `every` (at least 1) is taken.
    pub fn new(every: u32, between: Between) -> Self {
        Self {
            every: every.max(1),
            between,
            count: 0,
            from: 0.0,
            to: 0.0,
        }
    }

    /// Begins at a height.
    pub fn reset(&mut self, height: f64) {
        (self.count, self.from, self.to) = (0, height, height);
    }

    /// The reference of a cycle in which the wire asks for a height.
    #[inline]
    pub fn step(&mut self, height: f64) -> f64 {
        if self.count == 0 {
            (self.from, self.to) = (self.to, height);
        }
        self.count += 1;
        let part = match self.between {
            Between::Steps => f64::from(self.count) / f64::from(self.every),
            Between::Held => 1.0,
        };
        if self.count == self.every {
            self.count = 0;
        }
        self.from + part * (self.to - self.from)
    }

    /// By how many cycles a reference comes later than the height that was asked for, on average.
    pub fn lag_cycles(every: u32, between: Between) -> f64 {
        let waits = f64::from(every.max(1)) - 1.0;
        match between {
            Between::Steps => waits,
            Between::Held => 0.5 * waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ramp of heights comes out as the same ramp, later by what is said.
    #[test]
    fn a_ramp_comes_late_by_the_stated_lag() {
        for (every, between) in [(1, Between::Steps), (8, Between::Steps), (8, Between::Held)] {
            let mut sender = Sender::new(every, between);
            sender.reset(0.0);
            let sent: Vec<f64> = (0..160).map(|n| sender.step(f64::from(n))).collect();
            let lag = Sender::lag_cycles(every, between);
            let mean: f64 = (80..160).map(|n| n as f64 - sent[n]).sum::<f64>() / 80.0;
            assert!(
                (mean - lag).abs() < 1e-9,
                "{every} {between:?}: {mean} {lag}"
            );
            if between == Between::Steps {
                assert!(
                    sent[80..]
                        .windows(2)
                        .all(|w| (w[1] - w[0] - 1.0).abs() < 1e-12)
                );
            }
        }
    }
}
