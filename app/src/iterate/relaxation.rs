//! How far a round of the iteration goes, and when it is over.

/// Smallest part of a step.
const LEAST_PART: f64 = 0.125;
/// A residual has to shrink below this part of the one before, else smaller steps are taken.
const SHRINKS: f64 = 0.7;

/// What is to be done after a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// The force no longer changes.
    Converged,
    /// Another round, which goes this part of the way.
    GoOn(f64),
    /// It gets worse although steps are small.
    Diverges,
}

/// See the module's text. A residual is the change of the force that a whole step would have made.
#[derive(Clone, Debug)]
pub struct Relaxation {
    tolerance_pct: f64,
    part: f64,
    /// The residual of the round before, if its step was as large as those that are taken now.
    before: Option<f64>,
}

impl Relaxation {
    /// Begins with whole steps.
    pub fn new(tolerance_pct: f64) -> Self {
        Self {
            tolerance_pct,
            part: 1.0,
            before: None,
        }
    }

    /// The part of the step that the next round goes.
    pub fn part(&self) -> f64 {
        self.part
    }

    /// Judges a round by the change of the force that it brought, in %.
    pub fn judge(&mut self, change_pct: f64) -> Decision {
        let residual = change_pct / self.part;
        if residual <= self.tolerance_pct {
            return Decision::Converged;
        }
        if residual.is_nan() {
            return Decision::Diverges;
        }
        // How a residual compares with the one before is the doing of the step between them.
        let grew_by = self.before.map(|before| residual / before);
        let can_be_smaller = self.part > LEAST_PART;
        match grew_by {
            Some(ratio) if ratio > SHRINKS && can_be_smaller => {
                self.part = (0.5 * self.part).max(LEAST_PART);
                self.before = None;
            }
            Some(ratio) if ratio > 1.0 => return Decision::Diverges,
            _ => self.before = Some(residual),
        }
        Decision::GoOn(self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of e ← (1 − part · (1 + gain)) e, whose force changes by part · (1 + gain) · e.
    fn rounds(gain: f64, tolerance: f64) -> (Decision, usize) {
        let mut relaxation = Relaxation::new(tolerance);
        let mut error = 5.0_f64;
        for round in 1..100 {
            let step = relaxation.part() * (1.0 + gain) * error;
            error -= step;
            match relaxation.judge(step.abs()) {
                Decision::GoOn(_) => {}
                decision => return (decision, round),
            }
        }
        (Decision::GoOn(relaxation.part()), 100)
    }

    #[test]
    fn what_contracts_is_taken_in_whole_steps() {
        assert_eq!(rounds(0.0, 0.5), (Decision::Converged, 2));
        assert_eq!(rounds(-0.3, 0.5), (Decision::Converged, 3));
    }

    #[test]
    fn what_overshoots_converges_in_smaller_steps() {
        for gain in [1.5, 3.0, 8.0] {
            let (decision, round) = rounds(gain, 0.5);
            assert_eq!(decision, Decision::Converged, "{gain}");
            assert!(round < 15, "{gain}: {round}");
        }
    }

    #[test]
    fn what_smaller_steps_do_not_help_diverges() {
        for gain in [-3.0, 40.0] {
            assert_eq!(rounds(gain, 0.5).0, Decision::Diverges, "{gain}");
        }
        let mut relaxation = Relaxation::new(0.5);
        assert_eq!(relaxation.judge(f64::NAN), Decision::Diverges);
    }
}
