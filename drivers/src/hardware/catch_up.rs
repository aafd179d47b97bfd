//! After a drive has switched on, the reference starts where the motor is and catches up with what is told: the loop
//! moves on while a drive takes its time to switch on, and a reference must not jump.

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub struct CatchUp {
    speed_m_per_s: f64,
    /// Where the reference is; `None` once it has caught up.
    position_m: Option<f64>,
}

impl CatchUp {
    /// Catches up at a speed, in addition to the speed of what is followed.
    pub fn new(speed_m_per_s: f64) -> Self {
        Self {
            speed_m_per_s,
            position_m: None,
        }
    }

    /// The drive is on, and the motor is here.
    pub fn start(&mut self, position_m: f64) {
        self.position_m = position_m.is_finite().then_some(position_m);
    }

    /// The next reference, a time after the one before.
    pub fn toward(&mut self, told_m: f64, dt_s: f64) -> f64 {
        let Some(position) = self.position_m else {
            return told_m;
        };
        let step = self.speed_m_per_s * dt_s.clamp(0.0, 0.1);
        let missing = told_m - position;
        if missing.abs() <= step {
            self.position_m = None;
            return told_m;
        }
        let next = position + missing.clamp(-step, step);
        self.position_m = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_starts_at_the_motor_and_then_is_what_is_told() {
        let mut catch_up = CatchUp::new(0.2);
        assert_eq!(catch_up.toward(0.5, 0.002), 0.5, "nothing to catch up with");
        catch_up.start(0.100);
        let mut sent = Vec::new();
        for k in 0..12 {
            sent.push(catch_up.toward(0.1030 + 0.0001 * f64::from(k), 0.002));
        }
        assert!((sent[0] - 0.1004).abs() < 1e-12, "{sent:?}");
        let steps = sent.windows(2).map(|w| w[1] - w[0]);
        assert!(steps.into_iter().all(|s| s <= 0.0004 + 1e-12), "{sent:?}");
        assert_eq!(sent[11], 0.1030 + 0.0011, "caught up");
        assert_eq!(catch_up.toward(0.9, 0.002), 0.9, "and then follows at once");
    }
}
