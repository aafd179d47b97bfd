//! A load cell of an EtherCAT rig that is stuck or dead: named, in time, and not run with.

use super::rig::{Bench, changed};
use drivers::simulated::CellTrouble;
use rt_core::fault::{Action, Fault};
use rt_core::guard::{Drive, State};
use rt_core::link::EventKind;
use rt_core::pacing::Clock;

/// The identifier and action of the trip, and after how many cycles.
fn trip(bench: &mut Bench, within: usize) -> (String, Action, u64) {
    let from = bench.last().seq;
    bench.until(State::Tripped, within);
    let told = bench.events.iter().find_map(|e| match e.kind {
        EventKind::Tripped { fault, action } => Some((fault, action, e.seq)),
        _ => None,
    });
    let (fault, action, seq) = told.unwrap();
    assert!(matches!(fault, Fault::Cell { .. }), "{fault:?}");
    (fault.describe(&bench.layout).id, action, seq - from)
}

fn trouble(bench: &mut Bench, cell: usize, does: CellTrouble) {
    let now = bench.clock.now();
    bench.plant.trouble_cell(cell, Some(does), now);
}

#[test]
fn one_of_two_cells_that_is_stuck_or_dead_ends_a_run_by_its_name() {
    for (cell, does, id, within) in [
        (0, CellTrouble::Stuck, "cell-frozen.force_raw_1", 55),
        (1, CellTrouble::Stuck, "cell-frozen.force_raw_2", 55),
        (0, CellTrouble::Dead, "cell-share.force_raw_1", 200),
        (1, CellTrouble::Dead, "cell-share.force_raw_2", 200),
    ] {
        for state in [State::Armed, State::Running] {
            let mut bench = Bench::new();
            bench.bring_to(state);
            trouble(&mut bench, cell, does);
            let (found, action, after) = trip(&mut bench, 400);
            println!("{does:?} in {}: {found} after {after} cycles", state.name());
            assert_eq!((found.as_str(), action), (id, Action::Retreat));
            assert!(after <= within, "{does:?}: {after} cycles");
            bench.cycles(800);
            assert_eq!(bench.last().drive, Drive::Off);
        }
    }
}

/// As on real hardware: a run waits until the force at rest is that of the specimen.
#[test]
fn nothing_runs_where_the_force_at_rest_is_not_that_of_the_specimen() {
    let watched = || {
        let watch = "    drive: \"ecat\",\n";
        let block =
            "    drive: \"ecat\",\n    cell_watch: (rest_force: FromUplift, drift_max_n: 50.0),\n";
        Bench::on(changed(&[(watch, block)]))
    };
    let mut good = watched();
    good.bring_to(State::Running);
    let mut gone = watched();
    for cell in 0..2 {
        trouble(&mut gone, cell, CellTrouble::Dead);
    }
    gone.bring_to(State::Armed);
    gone.ask(rt_core::guard::Request::Run);
    let (id, action, _) = trip(&mut gone, 600);
    assert_eq!((id.as_str(), action), ("rest-force.force", Action::Retreat));
    assert!(gone.frames.iter().all(|f| f.state != State::Running));
}
