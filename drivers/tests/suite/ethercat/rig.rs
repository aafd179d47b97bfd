//! A loop with the profile bench on the shipped EtherCAT rig, in exact time, with the faults of its segment at hand.

use drivers::emulate::ethercat::fault::SegmentFault;
use drivers::emulate::ethercat::in_process::{InProcess, SegmentClock};
use drivers::emulate::ethercat::segment_on;
use drivers::emulate::plant::SharedPlant;
use drivers::ethercat::counters::Counters;
use drivers::ethercat::{EthercatBus, EthercatConfig};
use drivers::hardware::bus::Bus;
use drivers::hardware::{BusConfig, HardwareConfig, HardwareRig};
use drivers::rig_file::{self, RigFile};
use rt_core::bench::profile::{self, ProfileBench, ProfileConfig, Source};
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, Event, EventKind, RingSizes, StopCause, UserSide};
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::{Clock, ExactClock};
use rt_core::param::ParamSet;
use rt_core::rt_loop::{LoopConfig, RtLoop};
use rtrb::Producer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Period of the loop.
pub const PERIOD: u64 = 2_000_000;

/// The rig file that ships with the project.
pub fn shipped_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/ethercat-dsa-380.ron")
}

/// Its content and its pantograph.
pub fn shipped() -> (HardwareConfig, EthercatConfig, Pantograph) {
    changed(&[])
}

/// The same with texts of the file exchanged for others.
pub fn changed(changes: &[(&str, &str)]) -> (HardwareConfig, EthercatConfig, Pantograph) {
    let path = shipped_path();
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let RigFile::Hardware(rig) = file::parse(&text, &path).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("not a hardware rig")
    };
    let BusConfig::Ethercat(segment) = &rig.buses[0] else {
        panic!("no EtherCAT")
    };
    (
        *rig.clone(),
        segment.clone(),
        rig_file::rig_pantograph(&path).unwrap(),
    )
}

/// See the module's text.
pub struct Bench {
    pub rt_loop: RtLoop<ExactClock>,
    pub user: UserSide,
    pub layout: Layout,
    pub frames: Vec<Frame>,
    pub events: Vec<Event>,
    pub clock: ExactClock,
    pub plant: SharedPlant,
    pub faults: Producer<SegmentFault>,
    pub counters: Arc<Counters>,
}

impl Bench {
    /// Set up and not yet cycled.
    pub fn new() -> Self {
        Self::on(shipped())
    }

    /// The same on another rig.
    pub fn on(rig: (HardwareConfig, EthercatConfig, Pantograph)) -> Self {
        Self::on_with(rig, &[])
    }

    /// The same with faults that are there before anything is set up.
    pub fn on_with(
        (rig, segment, pantograph): (HardwareConfig, EthercatConfig, Pantograph),
        before: &[SegmentFault],
    ) -> Self {
        let plant = SharedPlant::new(&rig.model(), &pantograph);
        let (emulated, mut faults) = segment_on(&segment, &rig, plant.clone());
        before.iter().for_each(|f| faults.push(*f).unwrap());
        let mut clock = ExactClock::default();
        clock.sleep_until(1_000_000_000);
        let transport = InProcess::new(emulated, SegmentClock::Exact(clock.clone()));
        let bus = EthercatBus::start(&segment, 1, PERIOD, 0.2, Box::new(transport)).unwrap();
        bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
        let counters = bus.counters();
        let cells = rig_file::find_cells(&shipped_path(), None).unwrap().cells;
        let buses = vec![Box::new(bus) as Box<dyn Bus>];
        let rig = HardwareRig::assemble(&rig, buses, cells, Box::new(clock.clone()));
        let sine = ProfileConfig {
            source: Source::Sine {
                amplitude_m: 0.02,
                frequency_hz: 1.0,
            },
            entry_s: 0.2,
            base_m: 0.0,
        };
        let bench = ProfileBench::build(&sine, Path::new("."), PERIOD as f64 * 1e-9).unwrap();
        let config = LoopConfig {
            period_nanos: PERIOD,
            max_misses: 20,
            run_ticks: None,
            limits: Vec::new(),
            rings: RingSizes {
                record: 64,
                display: 64,
            },
        };
        let params = ParamSet::new(profile::SPEC.params);
        let (rt_loop, mut user, layout) = RtLoop::build(
            Box::new(bench),
            Box::new(rig),
            params,
            config,
            clock.clone(),
        )
        .unwrap();
        user.display = None;
        Self {
            rt_loop,
            user,
            layout,
            frames: Vec::new(),
            events: Vec::new(),
            clock,
            plant,
            faults,
            counters,
        }
    }

    pub fn cycle(&mut self) {
        self.rt_loop.cycle();
        if let Some(record) = &mut self.user.record {
            while let Ok(frame) = record.pop() {
                self.frames.push(frame);
            }
        }
        while let Ok(event) = self.user.events.pop() {
            self.events.push(event);
        }
    }

    pub fn cycles(&mut self, n: usize) {
        (0..n).for_each(|_| self.cycle());
    }

    pub fn last(&self) -> &Frame {
        self.frames.last().unwrap()
    }

    pub fn state(&self) -> State {
        self.last().state
    }

    pub fn ask(&mut self, request: Request) {
        self.user.commands.push(Command::Request(request)).unwrap();
    }

    pub fn inject(&mut self, fault: SegmentFault) {
        self.faults.push(fault).unwrap();
    }

    pub fn until(&mut self, state: State, cycles: usize) {
        for _ in 0..cycles {
            self.cycle();
            if self.state() == state {
                return;
            }
        }
        panic!(
            "not {} after {cycles} cycles but {:?}; {:?}",
            state.name(),
            self.state(),
            self.said()
        );
    }

    /// Cycles with some real time between them, in which the segment may be set up again.
    pub fn until_slowly(&mut self, state: State) {
        let begin = Instant::now();
        loop {
            self.cycle();
            if self.state() == state {
                return;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(30),
                "not {}; {:?}",
                state.name(),
                self.said()
            );
            std::thread::park_timeout(Duration::from_micros(200));
        }
    }

    /// The same for one that may have latched an error of its drive: somebody acknowledges until it is Ready.
    pub fn until_ready_by_a_person(&mut self) {
        let begin = Instant::now();
        for cycle in 0_u64.. {
            // Every two seconds, as long as a reset lasts.
            if cycle % 1000 == 0 {
                self.ask(Request::Acknowledge);
            }
            self.cycle();
            if self.state() == State::Ready {
                return;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(30),
                "not Ready; {:?}",
                self.said()
            );
            std::thread::park_timeout(Duration::from_micros(200));
        }
    }

    /// Brings it to a state, from the beginning.
    pub fn bring_to(&mut self, state: State) {
        self.cycle();
        if state == State::Idle {
            return;
        }
        self.until(State::Ready, 200);
        if state == State::Ready {
            return;
        }
        self.ask(Request::Arm);
        self.until(State::Armed, 5);
        // The drive takes some cycles to be enabled.
        self.cycles(40);
        if state == State::Armed {
            return;
        }
        self.ask(Request::Run);
        self.until(State::Running, 2000);
        self.cycles(150);
        match state {
            State::Stopping => {
                self.ask(Request::Stop);
                self.until(State::Stopping, 5);
            }
            State::Tripped => {
                // An emergency trips; it leaves nothing behind.
                self.inject(SegmentFault::Emergency {
                    device: 1,
                    code: 0x1000,
                    between_sdo: false,
                });
                self.until(State::Tripped, 5);
            }
            _ => {}
        }
    }

    /// What was said of a fault, in words.
    pub fn words_of(&self, id: &str) -> String {
        let fault = |e: &Event| match e.kind {
            EventKind::Tripped { fault, .. } | EventKind::Warning(fault) => {
                Some(fault.describe(&self.layout))
            }
            _ => None,
        };
        let mut words = self.events.iter().filter_map(fault);
        words.find(|w| w.id == id).map_or(String::new(), |w| w.what)
    }

    /// What was said of faults, by their names.
    pub fn said(&self) -> Vec<String> {
        let name = |e: &Event| match e.kind {
            EventKind::Tripped { fault, .. }
            | EventKind::Warning(fault)
            | EventKind::Stopping(StopCause::Fault(fault)) => Some(fault.describe(&self.layout).id),
            _ => None,
        };
        self.events.iter().filter_map(name).collect()
    }
}
