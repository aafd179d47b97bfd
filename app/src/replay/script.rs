//! What was asked of a recorded loop from outside, read back from the events: parameters, gains, stops.

use super::ReplayError;
use crate::session::Change;
use crate::tuning;
use rt_core::bench::{Designer, Update};
use rt_core::calibration::Line;
use rt_core::calibration::id::CalibrationId;
use rt_core::param::{Applies, ParamSet, ParamSpec, find};
use rt_core::record::event::EventRecord;
use rt_core::rig::{RigCommand, RigFault};
use std::collections::BTreeMap;

/// What happened to the parameters and states of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A parameter that needs no design got a new target.
    Set {
        /// Its index.
        index: usize,
        /// The target.
        value: f64,
    },
    /// Gains were exchanged.
    Gains {
        /// The parameters that changed with them.
        params: Vec<(usize, f64)>,
        /// Whether a person insisted on them.
        insisted: bool,
    },
    /// The bench took a safer value by itself.
    FellBack {
        /// Index of the parameter.
        index: usize,
        /// Its value since then.
        value: f64,
    },
    /// A controlled stop was asked for.
    Stop,
    /// The loop was told to end.
    Leave,
    /// Arming was asked for and waited to be confirmed.
    AskToArm,
    /// A load cell got another line.
    Calibrate(RigCommand),
}

/// A fault of the loop or the rig that a recomputation has to be told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToldFault {
    /// The exchange failed.
    Rig(RigFault),
    /// An input was no number.
    NotFinite,
}

/// What was asked of a loop, by tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Steps in their order, with the tick in which they took effect.
    pub steps: Vec<(u64, Step)>,
    /// Faults of the inputs, in the ticks in which they were told.
    pub faults: BTreeMap<u64, ToldFault>,
    /// After how many ticks of Running the time set for the run was over, if it ever was.
    pub run_ticks: Option<u64>,
    /// Ticks in which nobody held the dead man's switch any more.
    pub dead_man: Vec<u64>,
    /// The first tick with a fault that a recomputation does not repeat: use of the heap.
    pub heap_used_at: Option<u64>,
}

/// Where a `parameter` event belongs that follows another in the same tick.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Nothing,
    Gains,
    FallBack,
}

impl Script {
    /// Reads the events of a recording of a bench with these parameters.
    pub fn read(events: &[EventRecord], specs: &'static [ParamSpec]) -> Result<Self, ReplayError> {
        let mut order: Vec<&EventRecord> = events.iter().collect();
        // Stable: those of a tick stay in their order.
        order.sort_by_key(|event| event.seq);
        let mut script = Self::default();
        let (mut after, mut seq, mut running_since) = (After::Nothing, 0, None);
        for event in order {
            if event.seq != seq {
                (seq, after) = (event.seq, After::Nothing);
            }
            script.note_fault(event);
            match event.kind.as_str() {
                "parameter" => script.parameter(event, specs, after)?,
                "gains" => {
                    after = After::Gains;
                    let insisted = event.number("insisted") == Some(1.0);
                    let params = Vec::new();
                    script.steps.push((seq, Step::Gains { params, insisted }));
                }
                "fallback" => after = After::FallBack,
                "calibration" => script
                    .steps
                    .extend(calibration(event).map(|step| (seq, step))),
                "arming" => script.steps.push((seq, Step::AskToArm)),
                "state" if event.word("to") == Some("Running") => running_since = Some(seq),
                "power-cut" => match event.word("cause") {
                    Some("second-stop") => script.steps.push((seq, Step::Stop)),
                    Some("ending") => script.steps.push((seq, Step::Leave)),
                    Some("dead-man") => script.dead_man.push(seq),
                    _ => {}
                },
                "stopping" => match event.word("cause") {
                    Some("requested") => script.steps.push((seq, Step::Stop)),
                    Some("ending" | "abandoned") => script.steps.push((seq, Step::Leave)),
                    Some("dead-man") => script.dead_man.push(seq),
                    Some("duration") => {
                        let ticks = running_since.map(|since: u64| seq - since);
                        // A run that skipped its last tick was stopped later than it should have been.
                        script.run_ticks = script.run_ticks.into_iter().chain(ticks).min();
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(script)
    }

    /// Puts what the load cells used at the start before everything else.
    pub fn begin_with(&mut self, calibrations: &[RigCommand]) {
        let first = calibrations.iter().map(|&c| (0, Step::Calibrate(c)));
        self.steps.splice(0..0, first);
    }

    fn parameter(
        &mut self,
        event: &EventRecord,
        specs: &'static [ParamSpec],
        after: After,
    ) -> Result<(), ReplayError> {
        let index = find(specs, event.word("id").unwrap_or_default())?;
        let value = event.number("value").unwrap_or(f64::NAN);
        let is_designed = specs[index].applies == Applies::ByDesign;
        match (after, self.steps.last_mut()) {
            (After::Gains, Some((_, Step::Gains { params, .. }))) if is_designed => {
                params.push((index, value));
            }
            (After::FallBack, _) if is_designed => {
                let step = Step::FellBack { index, value };
                self.steps.push((event.seq, step));
            }
            _ => self.steps.push((event.seq, Step::Set { index, value })),
        }
        Ok(())
    }

    fn note_fault(&mut self, event: &EventRecord) {
        let told = match event.word("fault") {
            Some("rig.power-loss") => ToldFault::Rig(RigFault::PowerLoss),
            Some("rig.interlock") => ToldFault::Rig(RigFault::Interlock { index: 0 }),
            Some("rig.not-homed") => ToldFault::Rig(RigFault::NotHomed),
            Some("rig.homing") => ToldFault::Rig(RigFault::Homing),
            // The loop does the same about all of them.
            Some(id) if id.starts_with("rig.") => {
                ToldFault::Rig(RigFault::LostExchange { in_a_row: 1 })
            }
            Some(id) if id.starts_with("not-finite.") => ToldFault::NotFinite,
            Some("loop.allocation") => {
                self.heap_used_at.get_or_insert(event.seq);
                return;
            }
            _ => return,
        };
        self.faults.insert(event.seq, told);
    }

    /// Designs all gains again, from the parameters at the start and their changes.
    pub fn design(
        &self,
        start: &ParamSet,
        designer: Option<&dyn Designer>,
    ) -> Result<BTreeMap<u64, Update>, ReplayError> {
        let mut params = *start;
        let mut updates = BTreeMap::new();
        for (seq, step) in &self.steps {
            match step {
                Step::FellBack { index, value } => {
                    params.take_designed(*index, *value);
                }
                Step::Gains {
                    params: changed,
                    insisted,
                } => {
                    for (index, value) in changed {
                        params.take_designed(*index, *value);
                    }
                    let Some(designer) = designer else { continue };
                    let (content, prospect) = designer
                        .design(&params)
                        .map_err(|problem| ReplayError::NoDesign { seq: *seq, problem })?;
                    let update = Update {
                        params: tuning::designed(&params),
                        approval: prospect.approval(*insisted),
                        content,
                    };
                    updates.insert(*seq, update);
                }
                Step::Set { .. }
                | Step::Stop
                | Step::Leave
                | Step::AskToArm
                | Step::Calibrate(_) => {}
            }
        }
        Ok(updates)
    }

    /// Parameters at the start of a run and their changes in it, for a run from one tick to just before
    /// another: `start` gets what was changed before.
    pub fn changes(&self, start: &mut ParamSet, run: (u64, u64), period_s: f64) -> Vec<Change> {
        let specs = start.specs();
        let mut by_tick: BTreeMap<u64, Change> = BTreeMap::new();
        for (seq, step) in self.steps.iter().filter(|(seq, _)| *seq < run.1) {
            let (values, insisted) = match step {
                Step::Set { index, value } => (vec![(*index, *value)], false),
                Step::Gains { params, insisted } => (params.clone(), *insisted),
                Step::FellBack { .. }
                | Step::Stop
                | Step::Leave
                | Step::AskToArm
                | Step::Calibrate(_) => continue,
            };
            for (index, value) in values {
                if *seq <= run.0 {
                    // Out of range it was refused then too.
                    let _ = start.preset(specs[index].id, value);
                    continue;
                }
                let change = by_tick.entry(*seq).or_insert_with(|| Change {
                    after_s: (seq - run.0) as f64 * period_s,
                    params: BTreeMap::new(),
                    insist: false,
                });
                change.params.insert(specs[index].id.to_owned(), value);
                change.insist |= insisted;
            }
        }
        by_tick.into_values().collect()
    }
}

/// A cell's new line, as its event tells of it.
fn calibration(event: &EventRecord) -> Option<Step> {
    // Counted from 1 for people.
    let cell = event.number("cell").filter(|number| *number >= 1.0)? as usize - 1;
    let command = RigCommand::Calibrate {
        cell,
        id: CalibrationId::new(event.word("id")?).ok()?,
        line: Line {
            slope_n_per_unit: event.number("slope")?,
            offset_n: event.number("offset")?,
        },
    };
    Some(Step::Calibrate(command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::bench::{pantograph_lqg, profile};
    use rt_core::record::event::FieldValue;

    fn event(seq: u64, kind: &str, words: &[(&str, &str)], numbers: &[(&str, f64)]) -> EventRecord {
        let words = words
            .iter()
            .map(|(k, w)| ((*k).to_owned(), FieldValue::Text((*w).to_owned())));
        let numbers = numbers
            .iter()
            .map(|(k, x)| ((*k).to_owned(), FieldValue::Number(*x)));
        EventRecord {
            seq,
            kind: kind.to_owned(),
            fields: words.chain(numbers).collect(),
            ..EventRecord::default()
        }
    }

    fn parameter(seq: u64, id: &str, value: f64) -> EventRecord {
        event(seq, "parameter", &[("id", id)], &[("value", value)])
    }

    #[test]
    fn parameters_are_told_apart_by_what_made_them_change() {
        let events = [
            event(9, "gains", &[], &[("insisted", 1.0)]),
            parameter(9, "q", 20.0),
            parameter(9, "controller", 1.0),
            event(12, "fallback", &[], &[("innovation", 9.0)]),
            parameter(12, "controller", 0.0),
            event(12, "stopping", &[("cause", "requested")], &[]),
            event(13, "trip", &[("fault", "rig.power-loss")], &[]),
        ];
        let script = Script::read(&events, pantograph_lqg::SPEC.params).unwrap();
        let params = vec![(0, 20.0), (8, 1.0)];
        let gains = Step::Gains {
            params,
            insisted: true,
        };
        let fell_back = Step::FellBack {
            index: 8,
            value: 0.0,
        };
        assert_eq!(
            script.steps,
            [(9, gains), (12, fell_back), (12, Step::Stop)]
        );
        assert_eq!(script.faults[&13], ToldFault::Rig(RigFault::PowerLoss));
        let unknown = [parameter(1, "no_such", 1.0)];
        let refused = Script::read(&unknown, pantograph_lqg::SPEC.params).unwrap_err();
        assert!(refused.to_string().contains("no_such"));
    }

    #[test]
    fn the_time_of_a_run_is_that_of_its_shortest() {
        let running = |seq: u64| event(seq, "state", &[("to", "Running")], &[]);
        let over = |seq: u64| event(seq, "stopping", &[("cause", "duration")], &[]);
        // The first run skipped two ticks at its end.
        let events = [running(10), over(112), running(300), over(400)];
        let script = Script::read(&events, profile::SPEC.params).unwrap();
        assert_eq!(script.run_ticks, Some(100));
    }

    #[test]
    fn changes_before_a_run_are_its_start_and_those_in_it_keep_their_time() {
        let events = [
            parameter(4, "scale", 0.5),
            parameter(60, "scale", 0.75),
            parameter(60, "offset", 0.01),
            parameter(900, "rate", 2.0),
        ];
        let script = Script::read(&events, profile::SPEC.params).unwrap();
        let mut start = ParamSet::new(profile::SPEC.params);
        let changes = script.changes(&mut start, (10, 500), 0.002);
        assert_eq!(start.get(0), 0.5);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].after_s, 0.1);
        assert_eq!(changes[0].params.len(), 2);
        assert_eq!(changes[0].params["scale"], 0.75);
    }
}
