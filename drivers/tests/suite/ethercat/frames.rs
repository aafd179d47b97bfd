//! Mutated frames through every parser: the emulated devices, the cyclic answer and the way to the library.
//!
//! A deterministic equivalent of fuzzing: seeds are frames that were really on the wire. `ETHERCAT_FRAMES` sets how
//! many mutations are tried.

use super::rig::{PERIOD, shipped};
use drivers::emulate::ethercat::in_process::{InProcess, SegmentClock};
use drivers::emulate::ethercat::segment_of;
use drivers::ethercat::EthercatBus;
use drivers::ethercat::counters::Counters;
use drivers::ethercat::pdu_io::PduIo;
use drivers::ethercat::transport::{Down, Received, Transport};
use drivers::ethercat::wire::{Buffer, MAX_FRAME};
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use ethercrab::PduStorage;
use rt_core::pacing::{Clock, ExactClock};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Mutations in an ordinary test run.
const ORDINARY: u64 = 60_000;

/// Keeps a copy of everything that is sent, and spoils every answer once it is told to.
struct Spoiling {
    inner: InProcess,
    heard: mpsc::Sender<Vec<u8>>,
    random: Option<fastrand::Rng>,
    spoils: Arc<std::sync::atomic::AtomicBool>,
}

impl Transport for Spoiling {
    fn send(&mut self, frame: &[u8]) -> Result<(), Down> {
        if !self.spoils.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = self.heard.send(frame.to_vec());
        }
        self.inner.send(frame)
    }

    fn receive(&mut self, frame: &mut Buffer, deadline: u64) -> Received {
        let received = self.inner.receive(frame, deadline);
        if let Received::Frame(len) = received
            && self.spoils.load(std::sync::atomic::Ordering::Relaxed)
            && let Some(random) = &mut self.random
        {
            return Received::Frame(mutate(random, frame, len));
        }
        received
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}

/// Some of: bytes changed, bits turned, length changed, a part repeated elsewhere.
fn mutate(random: &mut fastrand::Rng, frame: &mut Buffer, len: usize) -> usize {
    let mut len = len;
    for _ in 0..random.usize(1..6) {
        match random.u8(0..6) {
            0 => frame[random.usize(0..MAX_FRAME)] = random.u8(..),
            1 => frame[random.usize(0..len.max(1))] ^= 1 << random.u8(0..8),
            2 => len = random.usize(0..=MAX_FRAME),
            3 => len = random.usize(0..=len),
            // Lengths and commands lie here.
            4 => {
                frame[14 + random.usize(0..20)] =
                    *random.choice([0, 1, 2, 0x7F, 0x80, 0xFF].iter()).unwrap()
            }
            _ => {
                let (from, to) = (
                    random.usize(0..MAX_FRAME - 32),
                    random.usize(0..MAX_FRAME - 32),
                );
                frame.copy_within(from..from + 32, to);
            }
        }
    }
    len
}

fn wanted() -> u64 {
    let asked = std::env::var("ETHERCAT_FRAMES")
        .ok()
        .and_then(|n| n.parse().ok());
    asked.unwrap_or(ORDINARY)
}

/// A set-up segment, its frames so far, and a switch that spoils all answers.
fn spoiled_bus(
    seed: u64,
) -> (
    EthercatBus,
    Vec<Vec<u8>>,
    Arc<std::sync::atomic::AtomicBool>,
    ExactClock,
) {
    let (rig, segment, pantograph) = shipped();
    let (emulated, _) = segment_of(&segment, &rig, &pantograph);
    let mut clock = ExactClock::default();
    clock.sleep_until(1_000_000_000);
    let (heard, hear) = mpsc::channel();
    let spoils = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let transport = Spoiling {
        inner: InProcess::new(emulated, SegmentClock::Exact(clock.clone())),
        heard,
        random: Some(fastrand::Rng::with_seed(seed)),
        spoils: Arc::clone(&spoils),
    };
    let bus = EthercatBus::start(&segment, 1, PERIOD, 0.2, Box::new(transport)).unwrap();
    bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
    let frames = hear.try_iter().collect();
    (bus, frames, spoils, clock)
}

#[test]
fn mutated_frames_through_the_emulated_devices() {
    let (_bus, seeds, ..) = spoiled_bus(1);
    assert!(seeds.len() > 100, "{}", seeds.len());
    let (rig, segment, pantograph) = shipped();
    let (mut emulated, _) = segment_of(&segment, &rig, &pantograph);
    let mut random = fastrand::Rng::with_seed(2);
    for k in 0..wanted() {
        let seed = &seeds[random.usize(0..seeds.len())];
        let mut frame = [0; MAX_FRAME];
        frame[..seed.len()].copy_from_slice(seed);
        let len = mutate(&mut random, &mut frame, seed.len());
        emulated.pass(&mut frame[..len], k * 1000);
    }
}

#[test]
fn mutated_frames_through_the_way_to_the_library() {
    let (_bus, seeds, ..) = spoiled_bus(3);
    let storage: &'static PduStorage<16, { PduStorage::element_size(1100) }> =
        Box::leak(Box::new(PduStorage::new()));
    let (tx, rx, _pdus) = storage.try_split().unwrap();
    let mut io = PduIo::new(tx, rx);
    let counters = Counters::default();
    let mut random = fastrand::Rng::with_seed(4);
    let all = wanted();
    for _ in 0..all {
        let seed = &seeds[random.usize(0..seeds.len())];
        let mut frame = [0; MAX_FRAME];
        frame[..seed.len()].copy_from_slice(seed);
        // As if it came back.
        frame[6] |= 0x02;
        let len = mutate(&mut random, &mut frame, seed.len());
        io.take(&frame[..len], &counters);
    }
    let counted = Counters::read(&counters.bad)
        + Counters::read(&counters.foreign)
        + Counters::read(&counters.late);
    assert_eq!(counted, all, "nobody asked for any of them");
}

/// Every answer of the cycle is spoiled. What is taken for an answer must still hold its places; the bus goes on.
#[test]
fn mutated_frames_through_the_cycle() {
    let (mut bus, _, spoils, mut clock) = spoiled_bus(5);
    let mut slots = [Slot::default(); 5];
    let told = DriveCommand {
        may_reset: true,
        ..DriveCommand::OFF
    };
    let mut is_good = false;
    for _ in 0..wanted() {
        let now = clock.now() + PERIOD;
        clock.sleep_until(now);
        // Frames that break the segment make it be set up again; that takes real time and is given some.
        if !bus.is_set_up() {
            spoils.store(false, std::sync::atomic::Ordering::Relaxed);
            bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
        }
        let is_running = is_good;
        spoils.store(is_running, std::sync::atomic::Ordering::Relaxed);
        is_good = bus.exchange(&told, now, &mut slots).is_ok();
    }
    spoils.store(false, std::sync::atomic::Ordering::Relaxed);
    bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
    let mut last = Err(rt_core::rig::RigFault::PowerLoss);
    for _ in 0..200 {
        let now = clock.now() + PERIOD;
        clock.sleep_until(now);
        last = bus.exchange(&told, now, &mut slots);
    }
    assert_eq!(last, Ok(()), "it works again");
}
