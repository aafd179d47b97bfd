//! What a loop is given in each tick when it is computed again: ticks, requests, parameters, gains,
//! measurements.

use super::recompute::Obstacle;
use super::script::{Script, Step, ToldFault};
use rt_core::bench::Update;
use rt_core::channel::{Frame, Layout, Role};
use rt_core::guard::{Request, State};
use rt_core::link::Command;
use rt_core::rig::{RigFault, RigSpec};
use std::collections::BTreeMap;

/// What one tick is given.
pub struct TickInputs {
    /// Ticks that were skipped before it.
    pub skipped: u64,
    /// What was asked of the loop.
    pub commands: Vec<Command>,
    /// Gains that were exchanged.
    pub updates: Vec<Update>,
    /// Why the exchange failed, if it did.
    pub fault: Option<RigFault>,
}

/// Reads what each tick was given off the recorded frames and the script.
pub struct Feed<'a> {
    script: &'a Script,
    updates: BTreeMap<u64, Update>,
    /// The script's steps before this one are done.
    step: usize,
    /// The bench's computed columns, and all measured ones.
    computed: Vec<usize>,
    measured: Vec<usize>,
    /// The column that counts skipped ticks.
    skipped: Option<usize>,
    /// What arms the rig: a request, or its confirmation.
    arms: Request,
    /// For how many ticks the dead man's switch may be let go, if there is one.
    dead_man_ticks: Option<u64>,
    last: Option<Frame>,
    failing: Option<RigFault>,
}

impl<'a> Feed<'a> {
    /// For a recording with these columns, whose bench has the first `of_bench` of them.
    pub fn new(
        script: &'a Script,
        updates: BTreeMap<u64, Update>,
        layout: &Layout,
        of_bench: usize,
        rig: &RigSpec,
        period_s: f64,
    ) -> Self {
        let own = layout.channels().iter().take(of_bench).enumerate();
        Self {
            script,
            updates,
            step: 0,
            computed: own
                .filter(|(_, c)| c.role == Role::Computed)
                .map(|(i, _)| i)
                .collect(),
            measured: rig
                .channels
                .iter()
                .filter_map(|c| layout.find(c.id))
                .collect(),
            skipped: layout.find("loop.skipped"),
            arms: match rig.safety.confirm_within_s {
                Some(_) => Request::Confirm,
                None => Request::Arm,
            },
            dead_man_ticks: rig
                .safety
                .dead_man_s
                .map(|seconds| (seconds / period_s).round().max(1.0) as u64),
            last: None,
            failing: None,
        }
    }

    /// Begins behind a frame with which the loop was at rest.
    pub fn begin_behind(&mut self, frame: &Frame) {
        self.last = Some(*frame);
    }

    /// What the tick of the next recorded frame was given.
    pub fn next(&mut self, frame: &Frame) -> Result<TickInputs, Obstacle> {
        if let Some(seq) = self.script.heap_used_at.filter(|at| frame.seq >= *at) {
            return Err(Obstacle::HeapUsed { seq });
        }
        let skipped = self.skipped_before(frame)?;
        let (mut commands, sets, ends, asks) = self.steps_of(frame.seq);
        commands.extend(self.alive_in(frame.seq).then_some(Command::Alive));
        commands.extend(asks.then_some(Command::Request(Request::Arm)));
        commands.extend(self.requests(frame, !ends.is_empty()));
        commands.extend(sets);
        commands.extend(ends);
        let fault = self.fault_of(frame);
        self.last = Some(*frame);
        Ok(TickInputs {
            skipped,
            commands,
            updates: self.updates_of(frame.seq),
            fault,
        })
    }

    /// Ticks without a frame were skipped by the loop, which counts them, or lost behind it.
    fn skipped_before(&self, frame: &Frame) -> Result<u64, Obstacle> {
        let Some(last) = &self.last else {
            return Ok(0);
        };
        let (after, next) = (last.seq, frame.seq);
        let absent = next.saturating_sub(after + 1);
        let count = |frame: &Frame| self.skipped.map_or(0.0, |column| frame.values[column]);
        let skipped = (count(frame) - count(last)).max(0.0) as u64;
        if absent > skipped || next <= after {
            return Err(Obstacle::LostFrames {
                after,
                next,
                missing: absent.saturating_sub(skipped),
            });
        }
        Ok(absent)
    }

    /// Whether the dead man's switch was held: always, but for the time before it stopped the bench.
    fn alive_in(&self, seq: u64) -> bool {
        let Some(most) = self.dead_man_ticks else {
            return false;
        };
        let stops = &self.script.dead_man;
        !stops
            .iter()
            .any(|&stop| (stop.saturating_sub(most)..=stop).contains(&seq))
    }

    /// Load cells calibrated, parameters set and stops asked for up to this tick, and whether arming was.
    fn steps_of(&mut self, seq: u64) -> (Vec<Command>, Vec<Command>, Vec<Command>, bool) {
        let (mut calibrations, mut sets, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut asks = false;
        while let Some((at, step)) = self.script.steps.get(self.step)
            && *at <= seq
        {
            match *step {
                Step::Set { index, value } => sets.push(Command::SetParam { index, value }),
                Step::Calibrate(command) => calibrations.push(Command::Rig(command)),
                Step::Stop => ends.push(Command::Request(Request::Stop)),
                Step::Leave => ends.push(Command::Quit),
                Step::AskToArm => asks = true,
                // Gains come as updates; a fall-back is the bench's own doing.
                Step::Gains { .. } | Step::FellBack { .. } => {}
            }
            self.step += 1;
        }
        (calibrations, sets, ends, asks)
    }

    /// Gains exchanged up to this tick.
    fn updates_of(&mut self, seq: u64) -> Vec<Update> {
        let later = self.updates.split_off(&(seq + 1));
        let due = std::mem::replace(&mut self.updates, later);
        due.into_values().collect()
    }

    /// Requests leave no trace but the states that they lead to. A run that trips in its first tick is never
    /// seen as Running, but its bench has computed.
    fn requests(&self, frame: &Frame, stops: bool) -> Vec<Command> {
        let before = self.last.map_or(State::Idle, |last| last.state);
        let has_computed = || self.computed.iter().any(|&c| !frame.values[c].is_nan());
        let request = match (before, frame.state) {
            (State::Tripped, State::Tripped) => None,
            (State::Tripped, _) => Some(Request::Acknowledge),
            (State::Ready, State::Armed | State::Stopping | State::Tripped) => Some(self.arms),
            (State::Ready, State::Idle) if stops => Some(self.arms),
            (State::Armed, State::Running) => Some(Request::Run),
            (State::Armed, after) if after != State::Armed && has_computed() => Some(Request::Run),
            _ => None,
        };
        request.map(Command::Request).into_iter().collect()
    }

    /// After a failed exchange no input is known. The first such tick says in an event why; without one it is
    /// a lost exchange. The loop reacts to both in the same way.
    fn fault_of(&mut self, frame: &Frame) -> Option<RigFault> {
        let is_unknown = |&column: &usize| frame.values[column].is_nan();
        let told = self.script.faults.get(&frame.seq);
        let has_failed = !self.measured.is_empty() && self.measured.iter().all(is_unknown);
        let lasts = |fault: &RigFault| !matches!(fault, RigFault::LostExchange { .. });
        self.failing = match (has_failed, told, self.failing) {
            (false, _, _) | (true, Some(ToldFault::NotFinite), _) => None,
            (true, Some(ToldFault::Rig(fault)), _) if lasts(fault) => Some(*fault),
            (true, None, Some(fault)) if lasts(&fault) => Some(fault),
            (true, _, before) => {
                let lost = match before {
                    Some(RigFault::LostExchange { in_a_row }) => in_a_row,
                    _ => 0,
                };
                Some(RigFault::LostExchange {
                    in_a_row: lost.saturating_add(1),
                })
            }
        };
        self.failing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivers::simulated;
    use rt_core::bench::profile;
    use rt_core::rt_loop::LOOP_CHANNELS;

    fn layout() -> Layout {
        let mut layout = Layout::default();
        layout.append(profile::SPEC.channels).unwrap();
        layout.append(&[simulated::TRUE_FORCE]).unwrap();
        layout.append(&LOOP_CHANNELS).unwrap();
        layout
    }

    fn rig() -> RigSpec {
        RigSpec {
            name: "rig".into(),
            channels: vec![simulated::FORCE, simulated::POSITION, simulated::TRUE_FORCE],
            actuators: Vec::new(),
            frozen: Vec::new(),
            watch: Default::default(),
            limits: Vec::new(),
            cells: Vec::new(),
            hangs_loads: false,
            safety: Default::default(),
            dead_man: None,
            brake: None,
            is_hardware: false,
        }
    }

    fn frame(seq: u64, state: State, skipped: f64) -> Frame {
        let layout = layout();
        let mut frame = Frame::empty();
        (frame.seq, frame.state) = (seq, state);
        for id in ["force", "motor_position", "true_force"] {
            frame.values[layout.find(id).unwrap()] = 1.0;
        }
        frame.values[layout.find("loop.skipped").unwrap()] = skipped;
        frame
    }

    #[test]
    fn a_gap_is_skipped_or_lost() {
        let script = Script::default();
        let feed = || Feed::new(&script, BTreeMap::new(), &layout(), 5, &rig(), 0.002);
        let mut skipping = feed();
        assert_eq!(
            skipping
                .next(&frame(0, State::Idle, 0.0))
                .ok()
                .unwrap()
                .skipped,
            0
        );
        assert_eq!(
            skipping
                .next(&frame(4, State::Idle, 3.0))
                .ok()
                .unwrap()
                .skipped,
            3
        );
        let mut losing = feed();
        losing.next(&frame(0, State::Idle, 0.0)).ok().unwrap();
        let lost = losing.next(&frame(4, State::Idle, 1.0)).err().unwrap();
        assert_eq!(
            lost,
            Obstacle::LostFrames {
                after: 0,
                next: 4,
                missing: 2
            }
        );
    }

    #[test]
    fn requests_follow_from_states() {
        let script = Script::default();
        let mut feed = Feed::new(&script, BTreeMap::new(), &layout(), 5, &rig(), 0.002);
        let mut asked =
            |seq: u64, state: State| feed.next(&frame(seq, state, 0.0)).ok().unwrap().commands;
        assert!(asked(0, State::Ready).is_empty());
        assert_eq!(asked(1, State::Armed), [Command::Request(Request::Arm)]);
        assert!(asked(2, State::Armed).is_empty());
        assert_eq!(asked(3, State::Running), [Command::Request(Request::Run)]);
        assert!(asked(4, State::Tripped).is_empty());
        assert_eq!(
            asked(5, State::Idle),
            [Command::Request(Request::Acknowledge)]
        );
    }

    #[test]
    fn a_run_that_trips_in_its_first_tick_has_run() {
        let script = Script::default();
        let mut feed = Feed::new(&script, BTreeMap::new(), &layout(), 5, &rig(), 0.002);
        feed.next(&frame(0, State::Armed, 0.0)).ok().unwrap();
        let mut tripped = frame(1, State::Tripped, 0.0);
        tripped.values[2] = 0.01;
        let commands = feed.next(&tripped).ok().unwrap().commands;
        assert_eq!(commands, [Command::Request(Request::Run)]);
    }

    #[test]
    fn unknown_inputs_are_a_failed_exchange_unless_told_otherwise() {
        let mut script = Script::default();
        script.faults.insert(3, ToldFault::Rig(RigFault::PowerLoss));
        script.faults.insert(6, ToldFault::NotFinite);
        let mut feed = Feed::new(&script, BTreeMap::new(), &layout(), 5, &rig(), 0.002);
        let mut fault = |seq: u64, is_good: bool| {
            let mut given = frame(seq, State::Idle, 0.0);
            if !is_good {
                given.values.fill(f64::NAN);
                given.values[layout().find("loop.skipped").unwrap()] = 0.0;
            }
            feed.next(&given).ok().unwrap().fault
        };
        assert_eq!(fault(0, true), None);
        assert_eq!(
            fault(1, false),
            Some(RigFault::LostExchange { in_a_row: 1 })
        );
        assert_eq!(
            fault(2, false),
            Some(RigFault::LostExchange { in_a_row: 2 })
        );
        assert_eq!(fault(3, false), Some(RigFault::PowerLoss));
        assert_eq!(fault(4, false), Some(RigFault::PowerLoss));
        assert_eq!(fault(5, true), None);
        assert_eq!(fault(6, false), None);
    }
}
