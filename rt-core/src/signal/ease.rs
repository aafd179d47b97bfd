//! Smooth transitions.

/// Smooth step from 0 to 1 with zero speed and acceleration at both ends: 6s⁵ − 15s⁴ + 10s³.
pub fn smooth_step(s: f64) -> f64 {
    let s = s.clamp(0.0, 1.0);
    s * s * s * (s * (6.0 * s - 15.0) + 10.0)
}

/// A difference that is let go smoothly: whole at first, gone after a time.
#[derive(Clone, Copy, Debug)]
pub struct Parting {
    difference: f64,
    done: f64,
    step: f64,
    dt: f64,
}

impl Parting {
    /// Nothing yet, in cycles of `dt` seconds.
    pub fn new(dt: f64) -> Self {
        Self {
            difference: 0.0,
            done: 1.0,
            step: 0.0,
            dt,
        }
    }

    /// Begins with a difference in place of what is left of the one before; it takes `seconds`.
    pub fn begin(&mut self, difference: f64, seconds: f64) {
        (self.difference, self.done) = (difference, 0.0);
        self.step = self.dt / seconds;
    }

    /// Ends at once.
    pub fn end(&mut self) {
        self.done = 1.0;
    }

    /// Whether something is left.
    pub fn goes_on(&self) -> bool {
        self.done < 1.0
    }

    /// What is left in this cycle.
    pub fn step(&mut self) -> f64 {
        let left = self.difference * (1.0 - smooth_step(self.done));
        self.done += self.step;
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_whole_at_first_and_gone_at_last() {
        let mut parting = Parting::new(2e-3);
        assert_eq!((parting.step(), parting.goes_on()), (0.0, false));
        parting.begin(-3.0, 0.1);
        let left: Vec<f64> = (0..60).map(|_| parting.step()).collect();
        assert_eq!(left[0], -3.0);
        assert!(left.windows(2).all(|w| w[1] >= w[0] && w[1] - w[0] < 0.15));
        assert!((left[25] + 1.5).abs() < 1e-12, "half after half the time");
        assert!(left[51..].iter().all(|l| *l == 0.0) && !parting.goes_on());
    }
}
