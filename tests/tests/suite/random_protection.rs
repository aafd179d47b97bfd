//! Random sessions on random rigs with a specimen that breaks: whatever the files say, every field at and past its ends,
//! either they are refused, or the specimen bears it, the motor stays in its stroke, and nothing is powered ten seconds
//! after the last wish of a person.

use integration_tests::project_root;
use pantobench::runtime::{self, Prepared};
use pantobench::session::{LoadedSession, Session};
use rt_core::file;
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind};
use std::fmt::Write;
use std::path::Path;

const TRIES: u64 = 300;
const MANY_TRIES: u64 = 1000;

/// The longest that something may be powered after the last wish, in s.
const POWERED_S: f64 = 10.0;

/// What the files of one try say that is judged by.
struct Try {
    rig: String,
    session: String,
    bears_n: f64,
    stroke: (f64, f64),
    seconds: f64,
    period_s: f64,
    presses: usize,
}

/// A value near `usual`, at an end of what is sensible, or past it.
fn around(random: &mut fastrand::Rng, usual: f64, low: f64, high: f64) -> f64 {
    match random.u32(0..300) {
        0..285 => usual * (0.5 + random.f64()),
        285..288 => low,
        288..291 => high,
        291..293 => high * 1000.0,
        293 => -usual,
        294 => 0.0,
        295 => f64::NAN,
        296 => f64::INFINITY,
        _ => low + (high - low) * random.f64(),
    }
}

fn number(value: f64) -> String {
    match value {
        x if x.is_nan() => "NaN".into(),
        x if x.is_infinite() => "inf".into(),
        x => format!("{x:?}"),
    }
}

/// A rig and a session; field after field is drawn anew.
fn draw(random: &mut fastrand::Rng) -> Try {
    let pantographs = ["dsa-380", "simple-55m", "en50318-2002"];
    let pantograph = pantographs[random.usize(0..pantographs.len())];
    let n = |random: &mut fastrand::Rng, usual, low, high| around(random, usual, low, high);
    let bears_n = n(random, 6000.0, 300.0, 20_000.0);
    let stroke = (-0.2 - 0.2 * random.f64(), 0.2 + 0.2 * random.f64());
    let mut rig = String::new();
    let mut put = |name: &str, value: f64| writeln!(rig, "{name}: {},", number(value)).unwrap();
    put("uplift_n", n(random, 110.0, 1.0, 300.0));
    put("pad_stiffness_n_per_m", n(random, 240e3, 1e3, 2e6));
    put("pad_damping_ns_per_m", n(random, 15.0, 0.0, 2000.0));
    let motor = format!(
        "motor: (omega_rad_per_s: {}, damping_ratio: {}, stroke_low_m: {}, stroke_high_m: {}, max_acceleration_m_per_s2: {}),",
        number(n(random, 250.0, 30.0, 900.0)),
        number(n(random, 0.5, 0.05, 2.0)),
        number(stroke.0),
        number(stroke.1),
        number(n(random, 60.0, 2.0, 300.0)),
    );
    let delays = format!(
        "delays: (reference_s: {}, force_s: {}, extra_s: {}),",
        number(if random.bool() {
            0.0
        } else {
            n(random, 0.001, 0.0, 0.02)
        }),
        number(n(random, 0.002, 0.0, 0.02)),
        number(0.0),
    );
    let sensor = format!(
        "force_sensor: (filter_hz: {}, noise_n: {}, resolution_n: 0.05, range_n: {}, frozen_after_cycles: None),",
        if random.bool() {
            "None".into()
        } else {
            number(n(random, 100.0, 5.0, 1000.0))
        },
        number(n(random, 0.5, 0.0, 20.0)),
        number(n(random, 4000.0, 200.0, 20_000.0)),
    );
    let actuator = format!(
        "actuator: (park_m: {}, low_m: {}, high_m: {}, max_speed_m_per_s: {}, travel_speed_m_per_s: {}, \
         travel_acceleration_m_per_s2: {}, braking_m_per_s2: {}, max_tracking_error_m: {}, tracking_cycles: {}, \
         unloads: {}, at_rest: {}),",
        number(n(random, 0.05, -0.15, 0.15)),
        number(-0.15 * (0.5 + 0.5 * random.f64())),
        number(0.15 * (0.5 + 0.5 * random.f64())),
        number(n(random, 0.4, 0.01, 5.0)),
        number(n(random, 0.1, 0.02, 1.0)),
        number(n(random, 1.0, 0.1, 20.0)),
        number(n(random, 25.0, 1.0, 300.0)),
        number(n(random, 0.02, 0.001, 0.1)),
        random.u32(1..10),
        if random.u32(0..8) == 0 { "Down" } else { "Up" },
        if random.bool() { "SwitchOff" } else { "Hold" },
    );
    let limits = format!(
        "limits: [(channel: \"force\", low: {}, high: {}, for_cycles: {}, action: {}), \
         (channel: \"motor_position\", low: -0.19, high: 0.19, for_cycles: 1, action: PowerOff)],",
        number(-n(random, 50.0, 10.0, 1000.0)),
        number(n(random, 500.0, 100.0, 3000.0)),
        random.u32(1..4),
        [
            "Warn", "Stop", "Hold", "Retreat", "Retreat", "Retreat", "PowerOff"
        ][random.usize(0..7)],
    );
    let safety = format!(
        "safety: (held_for_s: {}, dead_man_s: {}, max_misses: {}),",
        if random.bool() {
            "None".into()
        } else {
            number(n(random, 3.0, 0.1, 10.0))
        },
        if random.bool() {
            "None".into()
        } else {
            number(n(random, 0.5, 0.1, 2.0))
        },
        random.u32(9..200),
    );
    let assets = project_root().join("assets").canonicalize().unwrap();
    let rig = format!(
        "Simulated(name: \"random\", pantograph: \"{}/pantographs/{pantograph}.ron\", {rig} {motor} {delays} {sensor} \
         position_sensor: (noise_m: 2.0e-6, resolution_m: 1.0e-6), seed: {}, {actuator} specimen: (bears_n: {}), \
         {limits} {safety})",
        assets.display(),
        random.u32(..),
        number(bears_n),
    );
    let seconds = 0.3 + 1.2 * random.f64();
    let period_us = [1000.0, 2000.0, 2000.0, 4000.0][random.usize(0..4)];
    let source = match random.u32(0..3) {
        0 => format!(
            "Sine(amplitude_m: {}, frequency_hz: {})",
            number(n(random, 0.03, 0.001, 0.3)),
            number(n(random, 2.0, 0.1, 30.0))
        ),
        1 => format!(
            "Steps(height_m: {}, hold_s: {})",
            number(if random.bool() { -1.0 } else { 1.0 } * n(random, 0.03, 0.001, 0.3)),
            number(n(random, 0.2, 0.01, 1.0))
        ),
        _ => format!(
            "Chirp(amplitude_m: {}, from_hz: 0.2, to_hz: {}, duration_s: 1.0, sweep: Exponential)",
            number(n(random, 0.02, 0.001, 0.3)),
            number(n(random, 10.0, 0.3, 100.0))
        ),
    };
    let limits = if random.bool() {
        String::new()
    } else {
        format!(
            "limits: [(channel: \"{}\", low: {}, high: {}, for_cycles: {}, action: {})],",
            [
                "force",
                "force",
                "motor_position",
                "profile_height",
                "nowhere"
            ][random.usize(0..5)],
            number(-n(random, 50.0, 0.01, 1000.0)),
            number(n(random, 400.0, 0.1, 5000.0)),
            random.u32(1..5),
            ["Warn", "Stop", "Hold", "Retreat", "PowerOff"][random.usize(0..5)],
        )
    };
    let session = format!(
        "Session(title: \"random\", bench: Profile(source: {source}, entry_s: {}, base_m: {}), rig: \"RIG\", \
         seconds: {seconds:?}, period_us: {period_us:?}, {limits} max_misses: {})",
        number(n(random, 0.2, 0.01, 2.0)),
        number(n(random, 0.05, -0.15, 0.15)),
        [9, 9, 9, 1, 1_000_000][random.usize(0..5)],
    );
    Try {
        rig,
        session,
        bears_n,
        stroke,
        seconds,
        period_s: period_us * 1e-6,
        presses: random.usize(0..4),
    }
}

/// Runs it as a hasty technician; the refusal if there is one at load, `Err` with what was broken.
fn play(this: &Try, number: u64, random: &mut fastrand::Rng) -> Result<Option<String>, String> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{number}.ron"));
    std::fs::write(&path, &this.rig).unwrap();
    let text = this.session.replace("RIG", &path.display().to_string());
    let done =
        file::parse::<Session>(&text, Path::new("random.ron")).map(|session| LoadedSession {
            session,
            path: path.with_extension("session"),
        });
    let prepared = done.map_err(|e| e.to_string());
    let prepared = prepared.and_then(|l| runtime::prepare_exact(&l).map_err(|e| e.to_string()));
    let _ = std::fs::remove_file(&path);
    match prepared {
        Err(refusal) => Ok(Some(refusal)),
        Ok(prepared) => judge(this, prepared, random).map(|()| None),
    }
}

fn judge(
    this: &Try,
    prepared: Prepared<rt_core::pacing::ExactClock>,
    random: &mut fastrand::Rng,
) -> Result<(), String> {
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        ..
    } = prepared;
    user.display = None;
    let column = |id: &str| layout.column(id).unwrap();
    let (force, position) = (column("true_force"), column("motor_position"));
    let cycles = ((this.seconds + 20.0) / this.period_s) as u64;
    let press_at: Vec<u64> = (0..this.presses)
        .map(|_| random.u64(0..((this.seconds + 1.0) / this.period_s) as u64))
        .collect();
    let lets_go_at = random.u64(0..cycles);
    let mut events = Vec::new();
    let mut last_wish_s = 0.0;
    for cycle in 0..cycles {
        if !rt_loop.cycle() {
            break;
        }
        if press_at.contains(&cycle) {
            user.stop.press();
        }
        if cycle < lets_go_at {
            let _ = user.commands.push(Command::Alive);
        }
        while let Ok(event) = user.events.pop() {
            let t_s = event.t_nanos as f64 * 1e-9;
            if let EventKind::State { to, .. } = event.kind {
                let answer = match to {
                    State::Ready if last_wish_s == 0.0 => Some(Request::Arm),
                    State::Armed => Some(Request::Run),
                    _ => None,
                };
                if let Some(request) = answer {
                    last_wish_s = t_s;
                    let _ = user.commands.push(Command::Request(request));
                }
                if to == State::Running {
                    // Who lets it run wants that until its time is over.
                    last_wish_s = t_s + this.seconds;
                }
            }
            events.push(event.kind);
        }
        while let Ok(frame) = user.record.as_mut().unwrap().pop() {
            let broken = |what: String| Err(format!("{what} at {:.3} s: {events:?}", frame.t_s()));
            let n = frame.values[force];
            if n > this.bears_n {
                return broken(format!("{n} N of {} N", this.bears_n));
            }
            let at = frame.values[position];
            // The encoder's noise.
            if at < this.stroke.0 - 1e-4 || at > this.stroke.1 + 1e-4 {
                return broken(format!("at {at} m, stroke {:?}", this.stroke));
            }
            if frame.drive == Drive::On && frame.t_s() > last_wish_s + POWERED_S {
                return broken(format!("powered since the last wish at {last_wish_s} s"));
            }
        }
    }
    Ok(())
}

fn many(tries: u64) {
    let (mut played, mut refusals, mut broken) = (0, Vec::new(), Vec::new());
    for number in 0..tries {
        let mut random = fastrand::Rng::with_seed(number);
        let this = draw(&mut random);
        match play(&this, number, &mut random) {
            Ok(None) => played += 1,
            Ok(Some(refusal)) => refusals.push(refusal),
            Err(what) => broken.push(format!(
                "try {number}: {what}\n{}\n{}",
                this.rig, this.session
            )),
        }
    }
    for refusal in &refusals {
        println!("refused: {refusal}");
    }
    println!(
        "{tries} tries: {played} played, the rest refused, {} broken",
        broken.len()
    );
    assert!(
        broken.is_empty(),
        "{} broken, the first: {}",
        broken.len(),
        broken[0]
    );
    assert!(
        played * 10 > tries,
        "only {played} of {tries} were played: this proves little"
    );
}

#[test]
fn no_files_break_the_specimen() {
    many(TRIES);
}

/// The same a thousand times.
#[test]
#[ignore = "takes minutes: ./check --long"]
fn no_files_of_a_thousand_break_the_specimen() {
    many(MANY_TRIES);
}
