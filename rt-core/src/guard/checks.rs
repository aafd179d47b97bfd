//! What the guard looks at in every cycle: numbers that are none, frozen sensors, limits, cells, tracking.

use super::cells::Moment;
use super::{Action, ActiveLimit, Drive, Guard, State};
use crate::channel::Frame;
use crate::fault::Fault;

pub(super) struct BoundLimit {
    pub limit: ActiveLimit,
    pub broken_cycles: u32,
}

pub(super) struct BoundFrozen {
    pub column: usize,
    pub cycles: u32,
    pub last_bits: u64,
    pub repeats: u32,
}

impl Guard {
    /// Marks all inputs as unknown after a failed exchange, so that no stale value passes for a fresh one.
    pub fn forget_inputs(&self, frame: &mut Frame) {
        for &column in &self.measured {
            frame.values[column] = f64::NAN;
        }
    }

    /// The first fault in fresh inputs: values that are no number, sensors that are frozen.
    pub fn check_inputs(&mut self, frame: &Frame) -> Option<Fault> {
        if self
            .dead_man
            .is_some_and(|column| frame.values[column] > 0.5)
        {
            self.arming.note_alive(self.tick);
        }
        let not_finite = self
            .measured
            .iter()
            .find(|&&c| !frame.values[c].is_finite());
        if let Some(&column) = not_finite {
            return Some(Fault::NotFinite { column });
        }
        let mut fault = None;
        for f in &mut self.frozen {
            let bits = frame.values[f.column].to_bits();
            f.repeats = if bits == f.last_bits {
                f.repeats.saturating_add(1)
            } else {
                1
            };
            f.last_bits = bits;
            if f.repeats >= f.cycles && fault.is_none() {
                let value = frame.values[f.column];
                fault = Some(Fault::Frozen {
                    column: f.column,
                    value,
                    cycles: f.repeats,
                });
            }
        }
        fault
    }

    /// The most severe broken limit, tracking errors included. `warnings` hears of each limit that
    /// only warns in the cycle in which it is broken for the first time.
    pub fn check_limits(
        &mut self,
        frame: &Frame,
        mut warnings: impl FnMut(Fault),
    ) -> Option<Fault> {
        let mut worst: Option<(Action, Fault)> = None;
        for bound in &mut self.limits {
            let l = bound.limit;
            let measured = frame.values[l.column];
            // Computed columns hold no number while the bench does not run: nothing to limit then.
            let unknown = measured.is_nan() && self.state != State::Running;
            if unknown || (l.low..=l.high).contains(&measured) {
                bound.broken_cycles = 0;
                continue;
            }
            bound.broken_cycles = bound.broken_cycles.saturating_add(1);
            if bound.broken_cycles < l.for_cycles {
                continue;
            }
            let fault = Fault::Limit {
                column: l.column,
                measured,
                low: l.low,
                high: l.high,
                action: l.action,
            };
            if l.action == Action::Warn {
                if bound.broken_cycles == l.for_cycles {
                    warnings(fault);
                }
            } else if worst.is_none_or(|(action, _)| l.action > action) {
                worst = Some((l.action, fault));
            }
        }
        let powered = frame.drive == Drive::On;
        let moment = Moment {
            tick: self.tick,
            powered,
            parked: powered && self.state == State::Armed && self.at_rest,
        };
        // A cell at its end says that the force is larger than what a limit sees of it.
        let saturated = self.cells.find_saturated(frame, moment);
        if let Some(saturated) = saturated
            && worst.is_none_or(|(action, _)| action < Action::Retreat)
        {
            worst = Some((Action::Retreat, saturated));
        }
        let retreats = self.is_unloading();
        let stays = retreats && worst.is_some_and(|(action, _)| action == Action::Retreat);
        self.unrelieved = if stays {
            self.unrelieved.saturating_add(1)
        } else {
            0
        };
        if self.unrelieved > self.relief_cycles
            && let Some(fault) = worst.and_then(|(_, fault)| fault.unrelieved())
        {
            worst = Some((Action::PowerOff, fault));
        }
        let cell = self.cells.check(frame, moment, &mut warnings);
        if let Some(cell) = cell
            && worst.is_none_or(|(action, _)| action < Action::Retreat)
        {
            worst = Some((Action::Retreat, cell));
        }
        for a in &mut self.actuators {
            // What was sent, not what the bench proposes for the next exchange.
            let error = (a.travel.position - frame.values[a.feedback]).abs();
            let broken = frame.drive == Drive::On && error > a.spec.max_tracking_error;
            a.tracking_cycles = if broken {
                a.tracking_cycles.saturating_add(1)
            } else {
                0
            };
            if a.tracking_cycles >= a.spec.tracking_cycles.max(1) {
                let limit = a.spec.max_tracking_error;
                worst = Some((
                    Action::PowerOff,
                    Fault::Tracking {
                        column: a.command,
                        error,
                        limit,
                    },
                ));
            }
        }
        worst.map(|(_, fault)| fault)
    }
}
