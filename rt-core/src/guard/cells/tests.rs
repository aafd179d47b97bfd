//! Each check of a force sensor by itself, at both sides of its bound.

use super::*;
use crate::channel::ChannelSpec;
use crate::rig::cell_watch::{ForceWatch, RestForce};

const DT: f64 = 0.002;
const FORCE: usize = 0;
/// Newtons a unit of a raw reading.
const SLOPE: f64 = 500.0;

/// Two cells with half of the force each, and nothing watched but what a test asks for.
struct Bench {
    cells: Cells,
    frame: Frame,
    tick: u64,
    random: u64,
    warned: Vec<Fault>,
}

fn sensor(cell: usize) -> SensorWatch {
    SensorWatch {
        channel: ["force_raw_1", "force_raw_2"][cell],
        cell: Some(cell),
        frozen: None,
        range: None,
        range_n: None,
        noise: None,
        share: None,
    }
}

fn both(change: impl Fn(&mut SensorWatch)) -> ForceWatch {
    let mut sensors = vec![sensor(0), sensor(1)];
    sensors.iter_mut().for_each(change);
    ForceWatch {
        sensors,
        ..ForceWatch::default()
    }
}

const OFF: Moment = Moment {
    tick: 0,
    powered: false,
    parked: false,
};
const RUNNING: Moment = Moment {
    powered: true,
    ..OFF
};
const PARKED: Moment = Moment {
    parked: true,
    ..RUNNING
};

impl Bench {
    fn new(watch: ForceWatch) -> Self {
        let channels = [
            ChannelSpec::measured("force", "Force", "N"),
            ChannelSpec::measured("force_raw_1", "Cell 1", "mV/V"),
            ChannelSpec::measured("force_raw_2", "Cell 2", "mV/V"),
        ];
        let mut layout = Layout::default();
        layout.append(&channels).unwrap();
        let rig = RigSpec {
            name: "rig".into(),
            channels: channels.to_vec(),
            actuators: Vec::new(),
            frozen: Vec::new(),
            watch,
            limits: Vec::new(),
            cells: Vec::new(),
            hangs_loads: false,
            safety: Default::default(),
            dead_man: None,
            brake: None,
            is_hardware: false,
        };
        let mut cells = Cells::build(&layout, &rig, DT).unwrap();
        for cell in 0..2 {
            cells.calibrate(
                cell,
                Line {
                    slope_n_per_unit: SLOPE,
                    offset_n: 0.0,
                },
            );
        }
        Self {
            cells,
            frame: Frame::empty(),
            tick: 0,
            random: 1,
            warned: Vec::new(),
        }
    }

    /// Between −1 and 1, never twice the same.
    fn random(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// A cycle with these forces on the cells.
    fn cycle(&mut self, newtons: [f64; 2], moment: Moment) -> Option<Fault> {
        self.tick += 1;
        self.frame.values[FORCE] = newtons[0] + newtons[1];
        for (value, n) in self.frame.values[1..].iter_mut().zip(newtons) {
            *value = n / SLOPE;
        }
        let moment = Moment {
            tick: self.tick,
            ..moment
        };
        let saturated = self.cells.find_saturated(&self.frame, moment);
        let warned = &mut self.warned;
        saturated.or(self
            .cells
            .check(&self.frame, moment, |fault| warned.push(fault)))
    }

    /// The first fault of so many cycles, and in which.
    fn first(
        &mut self,
        cycles: usize,
        moment: Moment,
        mut forces: impl FnMut(&mut Self, usize) -> [f64; 2],
    ) -> Option<(usize, CellFault, usize)> {
        (1..=cycles).find_map(|k| {
            let newtons = forces(self, k);
            match self.cycle(newtons, moment)? {
                Fault::Cell { column, what, .. } => Some((column, what, k)),
                other => panic!("{other:?}"),
            }
        })
    }
}

#[test]
fn a_cell_that_repeats_itself_is_named_although_the_sum_changes() {
    let frozen = |after| both(move |s| s.frozen = Some(after));
    for (after, cycles) in [
        (FrozenAfter::Cycles(50), 50),
        (FrozenAfter::Seconds(0.2), 100),
    ] {
        let mut bench = Bench::new(frozen(after));
        let noisy = |b: &mut Bench, _: usize| [60.0 + b.random(), 60.0 + b.random()];
        assert_eq!(bench.first(1000, OFF, noisy), None);
        let stuck = |b: &mut Bench, _: usize| [60.0 + b.random(), 57.0];
        assert_eq!(
            bench.first(200, RUNNING, stuck),
            Some((2, CellFault::Frozen, cycles))
        );
    }
}

#[test]
fn a_reading_that_cannot_be_is_none_and_one_at_the_end_is_saturated_while_powered() {
    let range = |low, high| both(move |s| s.range = Some((low, high)));
    let one = |n: f64| move |_: &mut Bench, _: usize| [10.0, n];
    let mut bench = Bench::new(range(-2.0, 2.0));
    assert_eq!(bench.first(5, RUNNING, one(989.0)), None);
    assert_eq!(
        bench.first(1, RUNNING, one(990.0)),
        Some((2, CellFault::Saturated, 1))
    );
    assert_eq!(
        bench.first(1, RUNNING, one(-990.0)),
        Some((2, CellFault::Saturated, 1))
    );
    // A known load as large as the cell may hang while the drive is off.
    assert_eq!(bench.first(5, OFF, one(1040.0)), None);
    assert_eq!(
        bench.first(1, OFF, one(1060.0)),
        Some((2, CellFault::OutOfRange, 1))
    );
    assert_eq!(
        bench.first(1, OFF, one(-1060.0)),
        Some((2, CellFault::OutOfRange, 1))
    );
    // A cell that is only pressed has no end at no load.
    let mut pressed = Bench::new(range(0.0, 2.0));
    assert_eq!(pressed.first(5, RUNNING, one(-5.0)), None);
    // In newtons, by a line that may change.
    let mut bench = Bench::new(both(|s| s.range_n = Some(1000.0)));
    assert_eq!(
        bench.first(1, RUNNING, one(995.0)),
        Some((2, CellFault::Saturated, 1))
    );
    bench.cells.calibrate(
        1,
        Line {
            slope_n_per_unit: -0.5 * SLOPE,
            offset_n: 10.0,
        },
    );
    assert_eq!(bench.first(1, RUNNING, one(995.0)), None);
    bench.cells.calibrate(1, Line::UNKNOWN);
    assert_eq!(
        bench.first(1, RUNNING, one(9e9)),
        None,
        "nothing is known of it"
    );
}

#[test]
fn a_dead_cell_of_two_is_found_the_sooner_the_more_presses() {
    let mut found = Vec::new();
    for shown in [40.0, 60.0, 250.0, 500.0] {
        let mut bench = Bench::new(both(|s| s.share = Some(0.5)));
        let dead = |b: &mut Bench, _: usize| [shown + b.random(), b.random()];
        let (_, what, cycle) = bench.first(2000, RUNNING, dead).unwrap();
        assert_eq!(what, CellFault::Share);
        found.push(cycle);
    }
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
    // 0.15 of 60 N are missing, 4 N of it may be the zero: 1.5 N s after 0.3 s. At 250 N after 45 ms.
    assert!((130..170).contains(&found[1]), "{found:?}");
    assert!(found[2] < 25 && found[3] < 12, "{found:?}");
}

#[test]
fn shares_may_differ_swing_and_be_off_by_a_zero_and_are_looked_at_under_power_only() {
    let mut bench = Bench::new(both(|s| s.share = Some(0.5)));
    let uneven = |b: &mut Bench, _: usize| [150.0 * 0.8 + b.random(), 150.0 * 0.2 + b.random()];
    assert_eq!(bench.first(5000, RUNNING, uneven), None);
    // The head tilts at 10 Hz, to and fro.
    let tilts = |_: &mut Bench, k: usize| {
        let part = 0.5 + 0.45 * (std::f64::consts::TAU * 10.0 * k as f64 * DT).sin();
        [200.0 * part, 200.0 * (1.0 - part)]
    };
    assert_eq!(bench.first(5000, RUNNING, tilts), None);
    let hung = |_: &mut Bench, _: usize| [800.0, 0.0];
    assert_eq!(bench.first(5000, OFF, hung), None);
    let light = |_: &mut Bench, _: usize| [25.0, 0.0];
    assert_eq!(bench.first(5000, RUNNING, light), None);
    // A specimen that hangs pulls at both.
    let hangs = |_: &mut Bench, _: usize| [-60.0, -50.0];
    assert_eq!(bench.first(5000, RUNNING, hangs), None);
    let dead = |_: &mut Bench, _: usize| [-110.0, 0.0];
    assert!(bench.first(500, RUNNING, dead).is_some());
    // Nothing is known before calibration, and what was summed up is gone with the power.
    bench.cells.calibrate(0, Line::UNKNOWN);
    assert_eq!(bench.first(500, RUNNING, dead), None);
    // A cell with nearly nothing is not missed.
    let mut uneven = both(|s| s.share = Some(0.03));
    uneven.sensors[0].share = Some(0.97);
    let mut bench = Bench::new(uneven);
    assert_eq!(bench.first(5000, RUNNING, |_, _| [120.0, -5.0]), None);
}

#[test]
fn noise_far_from_what_is_stated_is_told_whatever_the_signal() {
    // Uniform between ±a: a/√3.
    let noisy = |amplitude: f64| {
        move |b: &mut Bench, k: usize| {
            let swing = 50.0 * (std::f64::consts::TAU * k as f64 * DT).sin();
            let (one, other) = (b.random(), b.random());
            [60.0 + swing + one, 60.0 + swing + amplitude * other]
        }
    };
    let stated = 3_f64.sqrt().recip() / SLOPE;
    let bench = || Bench::new(both(move |s| s.noise = Some(stated)));
    assert_eq!(bench().first(5000, RUNNING, noisy(1.0)), None);
    assert_eq!(bench().first(5000, OFF, noisy(4.0)), None);
    let quiet = bench().first(5000, RUNNING, noisy(0.1));
    assert!(
        matches!(quiet, Some((2, CellFault::TooQuiet, _))),
        "{quiet:?}"
    );
    let loud = bench().first(5000, PARKED, noisy(6.0));
    assert!(
        matches!(loud, Some((2, CellFault::TooNoisy, _))),
        "{loud:?}"
    );
    assert!(
        loud.unwrap().2 <= 1001,
        "within two windows of a second: {loud:?}"
    );
    assert_eq!(
        bench().first(5000, RUNNING, noisy(6.0)),
        None,
        "a contact that chatters is no noise"
    );
    // Ticks that were skipped belong to no second difference.
    let mut gaps = bench();
    for _ in 0..3000 {
        gaps.tick += 2;
        let force = 60.0 + 400.0 * gaps.random();
        assert_eq!(gaps.cycle([force, force], OFF), None);
    }
}

#[test]
fn the_force_at_rest_has_to_be_that_of_the_specimen_and_a_run_waits_for_it() {
    let watch = || ForceWatch {
        at_rest: Some(("force", RestForce::FromUplift.band(120.0).unwrap())),
        ..both(|_| {})
    };
    let mut bench = Bench::new(watch());
    assert!(!bench.cells.let_run());
    assert_eq!(bench.first(499, PARKED, |_, _| [58.0, 58.0]), None);
    assert!(!bench.cells.let_run());
    assert_eq!(bench.first(1, PARKED, |_, _| [58.0, 58.0]), None);
    assert!(bench.cells.let_run());
    // A run may do what it does; the next rest is looked at anew.
    assert_eq!(bench.first(2000, RUNNING, |_, _| [0.0, 0.0]), None);
    assert!(!bench.cells.let_run());
    let nothing = bench.first(1000, PARKED, |_, _| [0.0, 0.0]);
    assert_eq!(nothing, Some((FORCE, CellFault::RestForce, 500)));
    for (force, is_good) in [(71.0, false), (73.0, true), (167.0, true), (169.0, false)] {
        let mut bench = Bench::new(watch());
        let found = bench.first(600, PARKED, |_, _| [0.5 * force, 0.5 * force]);
        assert_eq!(found.is_none(), is_good, "{force}: {found:?}");
    }
    assert!(
        Bench::new(both(|_| {})).cells.let_run(),
        "nothing to wait for"
    );
}

#[test]
fn a_cell_that_has_changed_since_the_last_rest_is_told_of_or_is_a_fault() {
    let watch = || ForceWatch {
        together: CellsWatch {
            drift_warn_n: Some(15.0),
            drift_max_n: Some(50.0),
            ..CellsWatch::default()
        },
        ..both(|_| {})
    };
    let mut bench = Bench::new(watch());
    let mut rest = |newtons: [f64; 2]| {
        let found = bench.first(600, PARKED, |_, _| newtons);
        let told = bench.warned.len();
        bench.cycle(newtons, RUNNING);
        (found.map(|(column, what, _)| (column, what)), told)
    };
    assert_eq!(rest([60.0, 60.0]), (None, 0));
    assert_eq!(rest([74.0, 60.0]), (None, 0));
    assert_eq!(rest([74.0, 44.0]), (None, 1));
    assert_eq!(rest([74.0, 95.0]), (Some((2, CellFault::Drift)), 1));
    assert_eq!(
        rest([74.0, 95.0]),
        (None, 1),
        "acknowledged, it is what is compared with"
    );
    bench.cells.calibrate(
        1,
        Line {
            slope_n_per_unit: 2.0 * SLOPE,
            offset_n: 0.0,
        },
    );
    let after = bench.first(600, PARKED, |_, _| [74.0, 95.0]);
    assert_eq!(after, None, "another line, another mean");
}
