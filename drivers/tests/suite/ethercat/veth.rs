//! Two processes and a veth pair in a network namespace of their own: one is the rig, the other runs the loop.
//!
//! The namespace needs rights that not every machine gives; without them the test says so and ends.

use super::rig::{PERIOD, shipped};
use drivers::emulate::Emulator;
use drivers::ethercat::counters::Counters;
use drivers::ethercat::{EthercatBus, Port};
use drivers::hardware::BusConfig;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use rt_core::pacing::{Clock, Pacer, RealClock};
use rt_core::rig::RigFault;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Says which of the two processes this is.
const ROLE: &str = "ETHERCAT_VETH_ROLE";

fn ip(arguments: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(arguments).output();
    let done = done.map_err(|e| format!("the command 'ip' cannot be run: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(format!("'ip {}': {said}", arguments.join(" ")))
}

/// A namespace with both ends of a veth pair, gone with this value.
struct Namespace(String);

impl Namespace {
    fn new() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pantobench-{}-{number}", std::process::id());
        ip(&["netns", "add", &name])?;
        let own = Self(name);
        let inside = |arguments: &[&str]| ip(&[&["-n", &own.0], arguments].concat());
        inside(&[
            "link", "add", "ecat0", "type", "veth", "peer", "name", "ecat1",
        ])?;
        inside(&["link", "set", "ecat0", "up"])?;
        inside(&["link", "set", "ecat1", "up"])?;
        Ok(own)
    }

    /// This very program inside the namespace, as one of the two.
    fn start(&self, role: &str, test: &str) -> Child {
        let program = std::env::current_exe().unwrap();
        Command::new("ip")
            .args(["netns", "exec", &self.0])
            .arg(program)
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.0]);
    }
}

#[test]
fn two_processes_over_a_veth_pair() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => {
            eprintln!(
                "skipped: no network namespace can be made here (it needs CAP_NET_ADMIN and iproute2): {e}"
            );
            return;
        }
    };
    let mut rig = namespace.start("rig", "ethercat::veth::the_rig");
    let mut lines = BufReader::new(rig.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(
        lines.any(|line| line.contains("rig is there")),
        "the rig did not start"
    );
    let run = namespace
        .start("loop", "ethercat::veth::the_loop")
        .wait_with_output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    // The end of its input ends it.
    drop(rig.stdin.take());
    let rig_end = rig.wait().unwrap();
    println!("{said}");
    assert!(run.status.success() && rig_end.success(), "{said}");
    assert!(said.contains("all is well"), "{said}");
}

/// SIGKILL in motion: nothing of the program can stop the drive, so its own watchdog does; and the segment is free again.
#[test]
fn a_program_that_is_killed_leaves_the_drive_to_its_watchdog() {
    let Ok(namespace) = Namespace::new() else {
        eprintln!("skipped: no network namespace can be made here");
        return;
    };
    let mut rig = namespace.start("rig", "ethercat::veth::the_rig");
    let mut said = BufReader::new(rig.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(said.any(|line| line.contains("rig is there")));
    let mut ask = rig.stdin.take().unwrap();
    let mut has_power = || {
        writeln!(ask, "power?").unwrap();
        let answer = said.find(|line| line.starts_with("power "));
        answer.as_deref() == Some("power true")
    };
    let mut held = namespace.start("held", "ethercat::veth::the_loop");
    let lines = BufReader::new(held.stdout.take().unwrap()).lines();
    let moves = lines.map_while(Result::ok).any(|l| l.contains("moves"));
    assert!(moves && has_power(), "it does not move");
    held.kill().unwrap();
    held.wait().unwrap();
    // A watchdog of a second, and a ramp.
    let begin = Instant::now();
    while has_power() {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "it keeps its power"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
    println!("without power after {:.2} s", begin.elapsed().as_secs_f64());
    // Whoever comes next finds nobody in the way: the error that the watchdog has left waits for a person.
    let next = namespace
        .start("next", "ethercat::veth::the_loop")
        .wait_with_output()
        .unwrap();
    let next = String::from_utf8_lossy(&next.stdout).into_owned();
    assert!(next.contains("waits for a person"), "{next}");
    assert!(!has_power());
    drop(ask);
    rig.wait().unwrap();
}

/// The first process; does nothing in an ordinary test run.
#[test]
fn the_rig() {
    if std::env::var(ROLE).as_deref() != Ok("rig") {
        return;
    }
    let (mut rig, mut segment, pantograph) = shipped();
    segment.port = Port::Interface("ecat1".into());
    rig.buses[0] = BusConfig::Ethercat(segment);
    let emulator = Emulator::start(&rig, &pantograph, &[]).unwrap();
    println!("rig is there: {}", emulator.devices[0].served.address);
    // Whoever asks is told whether the motor has power; the end of the input ends it.
    for _ in std::io::stdin().lines().map_while(Result::ok) {
        println!("power {}", emulator.plant.is_powered(RealClock.now()));
    }
}

/// The second process: moves the motor for a second. Nothing depends on how punctual the machine is.
#[test]
fn the_loop() {
    let role = std::env::var(ROLE).unwrap_or_default();
    if !["loop", "held", "next"].contains(&role.as_str()) {
        return;
    }
    let (_, mut segment, _) = shipped();
    segment.port = Port::Interface("ecat0".into());
    // A busy machine answers late, and forgets its turn for longer than any watchdog should allow.
    segment.reply_timeout_us = 50_000.0;
    segment.watchdog_ms = Some(if role == "loop" { 5000.0 } else { 1000.0 });
    let mut bus = EthercatBus::open(&segment, 1, PERIOD, 0.2, || panic!("not in process")).unwrap();
    let counters = bus.counters();
    bus.wait_until_set_up(Duration::from_secs(30)).unwrap();
    let mut slots = [Slot::default(); 5];
    let mut told = DriveCommand::OFF;
    let (mut clock, mut pacer) = (RealClock, Pacer::new(PERIOD));
    let begin = Instant::now();
    let (mut good, mut faults) = (0, Vec::new());
    while good < 700 {
        pacer.wait(&mut clock);
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{good} good cycles; {faults:?}"
        );
        if role == "held" && good == 400 {
            println!("moves");
            good += 1;
        }
        match bus.exchange(&told, clock.now(), &mut slots) {
            // It goes on until it is killed.
            Ok(()) if role == "held" && good > 600 => {}
            Ok(()) => good += 1,
            Err(RigFault::DriveFault { code }) if role == "next" => {
                println!("error 0x{code:04X} waits for a person");
                return;
            }
            Err(fault) if faults.last() != Some(&fault) => faults.push(fault),
            Err(_) => {}
        }
        let start = slots[0].last().map_or(0.05, |s| s.value);
        if good == 100 {
            told = DriveCommand {
                is_on: true,
                position_m: start,
                ..DriveCommand::OFF
            };
        }
        if good > 200 {
            told.position_m = (0.05 + 0.0001 * f64::from(good - 200)).min(0.08);
        }
    }
    let position = slots[0].last().unwrap().value;
    assert!((position - 0.08).abs() < 0.001, "{position}");
    let p = |p| counters.round_trip.percentile(p) as f64 * 1e-3;
    println!(
        "all is well: round trip µs p50 {:.0}, p99 {:.0}, max {:.0}; sent {}, repeated {}, lost {}",
        p(0.5),
        p(0.99),
        counters.round_trip.max() as f64 * 1e-3,
        Counters::read(&counters.sent),
        Counters::read(&counters.repeated),
        Counters::read(&counters.lost)
    );
}
