//! Runs a sine on an EtherCAT rig in real time for as long as asked and prints how punctual everything was:
//! `cargo run --release -p drivers --example ethercat_endurance -- RIG.ron SECONDS PERIOD_US`.
//! After a trip it acknowledges and goes on, so that an hour is an hour.

use drivers::emulate::ethercat;
use drivers::ethercat::EthercatBus;
use drivers::ethercat::counters::Counters;
use drivers::hardware::bus::Bus;
use drivers::hardware::{BusConfig, HardwareRig};
use drivers::rig_file::{self, RigFile};
use drivers::simulated::SimTime;
use rt_core::bench::profile::{self, ProfileBench, ProfileConfig, Source};
use rt_core::file;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, EventKind, RingSizes};
use rt_core::pacing::RealClock;
use rt_core::param::ParamSet;
use rt_core::rt_env::{self, RtRequest};
use rt_core::rt_loop::{LoopConfig, RtLoop};
use rt_core::timing::{Histogram, Timing};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "expected: RIG.ron SECONDS PERIOD_US";
    let path = PathBuf::from(arguments.next().ok_or(usage)?);
    let seconds: u64 = arguments.next().ok_or(usage)?.parse()?;
    let period_nanos = 1000 * arguments.next().ok_or(usage)?.parse::<u64>()?;

    let RigFile::Hardware(config) = file::load(&path)? else {
        return Err("this is no hardware rig".into());
    };
    let Some(BusConfig::Ethercat(segment)) = config.buses.first() else {
        return Err("the first bus is no EtherCAT segment".into());
    };
    let pantograph = rig_file::rig_pantograph(&path)?;
    let in_process = || ethercat::in_process(segment, &config, &pantograph, &SimTime::Real);
    let bus = EthercatBus::open(segment, 1, period_nanos, 0.2, in_process)?;
    let counters = bus.counters();
    let cells = rig_file::find_cells(&path, None)?.cells;
    let rig = HardwareRig::assemble(
        &config,
        vec![Box::new(bus) as Box<dyn Bus>],
        cells,
        Box::new(RealClock),
    );

    let period_s = period_nanos as f64 * 1e-9;
    let sine = ProfileConfig {
        source: Source::Sine {
            amplitude_m: 0.02,
            frequency_hz: 1.0,
        },
        entry_s: 1.0,
        base_m: 0.0,
    };
    let bench = ProfileBench::build(&sine, Path::new("."), period_s)?;
    let loop_config = LoopConfig {
        period_nanos,
        max_misses: 1000,
        run_ticks: None,
        limits: Vec::new(),
        rings: RingSizes {
            record: 64,
            display: 64,
        },
    };
    let params = ParamSet::new(profile::SPEC.params);
    let (mut rt_loop, mut user, layout) = RtLoop::build(
        Box::new(bench),
        Box::new(rig),
        params,
        loop_config,
        RealClock,
    )?;
    user.record = None;
    let mut display = user.display.take().ok_or("no display ring")?;
    let thread = std::thread::spawn(move || {
        rt_env::flush_denormals();
        let rights = rt_env::request(RtRequest::default());
        println!(
            "rights: {} {:?}",
            rights.status.scheduler, rights.status.missing
        );
        rt_loop.run();
    });

    let begin = Instant::now();
    let (mut trips, mut running, mut frames) = (0_u64, 0_u64, 0_u64);
    let mut state = State::Idle;
    let mut told = Instant::now();
    let mut asked = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        while let Ok(frame) = display.pop() {
            state = frame.state;
            frames += 1;
            running += u64::from(state == State::Running);
        }
        while let Ok(event) = user.events.pop() {
            match event.kind {
                EventKind::Tripped { fault, .. } => {
                    trips += 1;
                    println!(
                        "{:8.1} s: tripped: {}",
                        event.t_nanos as f64 * 1e-9,
                        fault.describe(&layout).what
                    );
                }
                EventKind::Warning(fault) => {
                    println!(
                        "{:8.1} s: {}",
                        event.t_nanos as f64 * 1e-9,
                        fault.describe(&layout).what
                    );
                }
                _ => {}
            }
        }
        let request = match state {
            State::Ready => Some(Request::Arm),
            State::Armed => Some(Request::Run),
            State::Tripped => Some(Request::Acknowledge),
            _ => None,
        };
        if let Some(request) = request.filter(|_| asked.elapsed() > Duration::from_millis(200)) {
            asked = Instant::now();
            user.commands.push(Command::Request(request))?;
        }
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            report(
                begin.elapsed(),
                &user.timing,
                &counters,
                trips,
                running,
                frames,
            );
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    user.commands.push(Command::Quit)?;
    thread.join().map_err(|_| "the loop has panicked")?;
    report(
        begin.elapsed(),
        &user.timing,
        &counters,
        trips,
        running,
        frames,
    );
    Ok(())
}

fn report(
    elapsed: Duration,
    timing: &Timing,
    wire: &Counters,
    trips: u64,
    running: u64,
    frames: u64,
) {
    let us = |h: &Histogram| {
        let p = |p| h.percentile(p) as f64 * 1e-3;
        format!(
            "{:.1}/{:.1}/{:.1}/{:.1}",
            p(0.5),
            p(0.99),
            p(0.999),
            h.max() as f64 * 1e-3
        )
    };
    println!(
        "{:.0} s: cycles {}, overruns {}, skipped {}, trips {trips}, running {running} of {frames} seen; \
         µs p50/p99/p99.9/max: wake {}, cycle {}, exchange {}, round trip {}; sent {}, repeated {}, lost {}, late {}, \
         duplicate {}, bad {}, set-ups {}",
        elapsed.as_secs_f64(),
        Timing::read(&timing.cycles),
        Timing::read(&timing.overruns),
        Timing::read(&timing.skipped),
        us(&timing.wake),
        us(&timing.exec),
        us(&timing.exchange),
        us(&wire.round_trip),
        Counters::read(&wire.sent),
        Counters::read(&wire.repeated),
        Counters::read(&wire.lost),
        Counters::read(&wire.late),
        Counters::read(&wire.duplicate),
        Counters::read(&wire.bad),
        Counters::read(&wire.setups),
    );
}
