//! A retreat begins where the command was going, not where its last step pointed.

use rt_core::channel::{ChannelSpec, Frame, Layout};
use rt_core::fault::{Action, Fault};
use rt_core::guard::{Guard, Request, State};
use rt_core::rig::{ActuatorSpec, AtRest, RigSpec, Unloads};
use rt_core::travel::TravelLimits;

const POSITION: usize = 0;
const REFERENCE: usize = 1;
const DT: f64 = 0.002;
const PARK: f64 = 0.05;

/// A guard that runs, its motor following exactly.
fn running() -> (Guard, Frame) {
    let channels = [
        ChannelSpec::measured("motor_position", "Motor position", "m"),
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ];
    let mut layout = Layout::default();
    layout.append(&channels).unwrap();
    let rig = RigSpec {
        name: "rig".into(),
        channels: vec![channels[0]],
        actuators: vec![ActuatorSpec {
            command: "motor_reference",
            feedback: "motor_position",
            park: PARK,
            low: -0.15,
            high: 0.15,
            max_speed: 2.0,
            travel: TravelLimits {
                max_speed: 0.1,
                acceleration: 1.0,
                braking: 8.0,
            },
            max_tracking_error: 0.02,
            tracking_cycles: 3,
            at_rest: AtRest::SwitchOff,
            unloads: Unloads::Up,
            still_within: 0.5e-3,
        }],
        frozen: Vec::new(),
        watch: Default::default(),
        limits: Vec::new(),
        cells: Vec::new(),
        hangs_loads: false,
        safety: Default::default(),
        dead_man: None,
        brake: None,
        is_hardware: false,
    };
    let mut guard = Guard::build(&layout, &[], &rig, &[], DT).unwrap();
    let mut frame = Frame::empty();
    frame.values[POSITION] = PARK;
    while guard.state() != State::Ready {
        guard.note_good_cycle();
        guard.write_commands(&mut frame);
    }
    guard.request(Request::Arm).unwrap();
    guard.request(Request::Run).unwrap();
    while !guard.start_if_settled() {
        guard.write_commands(&mut frame);
    }
    (guard, frame)
}

/// Lowest command of a retreat that begins after these commands.
fn lowest_after(commands: impl Iterator<Item = f64>) -> f64 {
    let (mut guard, mut frame) = running();
    for command in commands {
        frame.values[REFERENCE] = command;
        guard.write_commands(&mut frame);
        frame.values[POSITION] = frame.values[REFERENCE];
    }
    let fault = Fault::Limit {
        column: POSITION,
        measured: 1.0,
        low: 0.0,
        high: 0.5,
        action: Action::Retreat,
    };
    assert_eq!(guard.apply(&fault), Some(Action::Retreat));
    let mut lowest = f64::INFINITY;
    for _ in 0..2000 {
        guard.write_commands(&mut frame);
        lowest = lowest.min(frame.values[REFERENCE]);
    }
    assert_eq!(frame.values[REFERENCE], PARK);
    lowest
}

/// Commands 3 mm up and 3 mm down in turn, the last one down: 3 m/s for an instant, nowhere on average.
#[test]
fn a_command_that_swings_from_cycle_to_cycle_retreats_from_where_it_is() {
    let swing = (0..101).map(|k| if k % 2 == 0 { 0.047 } else { 0.05 });
    let lowest = lowest_after(swing);
    // Over eight cycles at most one step of 3 mm is left: v²/(2a) = (3 mm/16 ms)²/16 m/s² = 2.2 mm more.
    assert!(lowest > 0.047 - 0.003, "{lowest} m");
}

/// A steady way down at 0.5 m/s needs v²/(2a) = 16 mm to brake: the retreat does not jump.
#[test]
fn a_command_that_moves_steadily_is_braked_first() {
    let lowest = lowest_after((0..50).map(|k| 0.05 - 0.5 * DT * f64::from(k)));
    let last = 0.05 - 0.5 * DT * 49.0;
    let braking = last - lowest;
    assert!((0.012..0.018).contains(&braking), "{braking} m");
}
