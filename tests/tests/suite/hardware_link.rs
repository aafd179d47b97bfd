//! The bench on hardware rigs whose devices are emulated: the same results as on the simulated rig, in real time over
//! sockets and pseudo-terminals, and ports that are unplugged and come back.

use drivers::emulate::Emulator;
use drivers::emulate::faults::LinkFault;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::hardware::{BusConfig, BusContext, HardwareConfig};
use drivers::rig_file::{RigFile, rig_pantograph};
use drivers::serial::{SerialBus, SerialConfig};
use integration_tests::link::{LINRS, LinkBench, Setup, from_ron, rig_config, rig_path};
use integration_tests::{ExactRun, project_root, session_from};
use pantobench::rig_work::home::{Homed, home};
use pantobench::rig_work::play::Stand;
use pantobench::runtime;
use pantobench::session::LoadedSession;
use rt_core::file;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, EventKind, StopCause};
use rt_core::pacing::{Clock, RealClock};
use rt_core::rig::RigFault;
use rt_core::timing::Timing;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LQG: &str = r#"PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: Full, mesh_m: 1.0, speed_kmh: 250.0,
    spans: (4, 10), specimen: "../assets/pantographs/dsa-380.ron")"#;

/// Mean and standard deviation while the train is on its way.
fn statistics(run: &ExactRun, channel: &str) -> (f64, f64) {
    let (place, values) = (run.column("line_position"), run.column(channel));
    let on_the_way = place
        .iter()
        .zip(&values)
        .filter(|(x, _)| (300.0..550.0).contains(*x));
    let values: Vec<f64> = on_the_way.map(|(_, v)| *v).collect();
    assert!(values.len() > 1000, "{}", values.len());
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, square.sqrt())
}

fn to_the_end(run: &mut ExactRun) {
    for _ in 0..20_000 {
        if run.state() != State::Running {
            break;
        }
        run.cycle();
    }
    let finished = |e: &rt_core::link::Event| e.kind == EventKind::Stopping(StopCause::Finished);
    assert!(run.events.iter().any(finished), "{:?}", run.events.last());
}

/// Where answers come within the exchange and the force is as old as in the simulation, nothing is left but the noise.
#[test]
fn statistics_over_udp_and_a_serial_line_are_those_of_the_simulated_rig() {
    let mut direct = ExactRun::new(&session_from(&format!(
        r#"Session(title: "direct", bench: {LQG}, rig: "../assets/rigs/simulated-load-cells.ron", uplift_n: 130.625)"#
    )));
    direct.start();
    to_the_end(&mut direct);
    let mut link = LinkBench::with(Setup::UdpAndAmplifier, LQG, |config| {
        config.uplift_n = 130.625;
        config.delays.force_s = 0.002;
    });
    link.run.start();
    to_the_end(&mut link.run);
    for (channel, mean_tolerance, std_tolerance) in
        [("force", 0.002, 0.01), ("motor_position", 0.002, 0.01)]
    {
        let (a, b) = (statistics(&direct, channel), statistics(&link.run, channel));
        println!("{channel}: direct {a:?}, linked {b:?}");
        assert!(
            (b.0 / a.0 - 1.0).abs() < mean_tolerance,
            "{channel}: mean {} and {}",
            a.0,
            b.0
        );
        assert!(
            (b.1 / a.1 - 1.0).abs() < std_tolerance,
            "{channel}: deviation {} and {}",
            a.1,
            b.1
        );
    }
    let strips = [
        statistics(&link.run, "force_strip_front").0,
        statistics(&link.run, "force_strip_rear").0,
    ];
    let total = statistics(&link.run, "force").0;
    assert!(
        (strips[0] + strips[1] - total).abs() < 1e-9 * total,
        "{strips:?} {total}"
    );
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pantobench-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A free UDP port, as far as one can know.
fn free_port() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// A computer that is busy for a while is no fault in a test: longer gaps than the file of a rig should allow.
fn patient(text: String) -> String {
    let gap = r#"max_gap_s: 0.5, unattended: ["run", "home"]"#;
    match (text.contains("max_gap_s"), text.contains("safety: (")) {
        (true, _) => text,
        (false, true) => text.replacen("safety: (", &format!("safety: ({gap}, "), 1),
        (false, false) => text.replacen(
            "    buses: [",
            &format!("    safety: ({gap}),\n    buses: ["),
            1,
        ),
    }
}

/// The shipped rig with ports of its own, and as much patience as a busy computer needs.
fn own_rig(scratch: &Scratch) -> (PathBuf, HardwareConfig) {
    let text = std::fs::read_to_string(rig_path()).unwrap();
    let assets = project_root().join("assets").canonicalize().unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("/tmp/pantobench-amplifier", &scratch.path("amplifier"))
        .replace(
            "local_address: \"127.0.0.1\",",
            &format!(
                "local_address: \"127.0.0.1\", local_port: 0, drive_port: {},",
                free_port()
            ),
        )
        .replace("max_age_s: 0.01", "max_age_s: 0.05")
        .replace(" timeout_s: 0.02", " timeout_s: 0.5")
        .replace("drive_timeout_s: 0.1", "drive_timeout_s: 1.0");
    let path = scratch.0.join("rig.ron");
    std::fs::write(&path, patient(text)).unwrap();
    let RigFile::Hardware(config) = file::load(&path).unwrap() else {
        panic!("not a hardware rig")
    };
    (path, *config)
}

/// A run that did not get to its end.
struct Ended {
    /// What ended it.
    by: String,
    /// Whether the computer let the loop miss ticks before.
    is_late: bool,
}

/// What became of a run: whether it ran to its end, and what ended it otherwise.
fn real_time_run(seconds: f64) -> Result<(), Ended> {
    let scratch = Scratch::new("lqg");
    let (rig, config) = own_rig(&scratch);
    let emulator = Emulator::start(&config, &rig_pantograph(&rig).unwrap(), &[]).unwrap();
    let text = format!(
        r#"Session(title: "real time", bench: PantographLqg(wire: String(), speed_kmh: 250.0, approach_s: 1.0,
            specimen: "../assets/pantographs/dsa-380.ron"),
        rig: {:?}, seconds: {seconds:.1}, max_misses: 50)"#,
        rig.display().to_string()
    );
    let loaded: LoadedSession = session_from(&text);
    let mut run = runtime::start_real_time(&loaded).unwrap();
    run.user.display = None;
    run.user.record = None;
    let (mut has_run, mut trip, mut last) = (false, None, None);
    let begin = Instant::now();
    while !run.thread.is_finished() {
        while let Ok(event) = run.user.events.pop() {
            let answer = match event.kind {
                EventKind::State {
                    to: State::Ready, ..
                } if !has_run => Command::Request(Request::Arm),
                EventKind::State {
                    to: State::Armed, ..
                } => Command::Request(Request::Run),
                EventKind::State {
                    to: State::Idle | State::Tripped,
                    ..
                } if has_run => Command::Quit,
                EventKind::Tripped { fault, .. } => {
                    trip = Some(fault.describe(&run.layout).what);
                    continue;
                }
                EventKind::State {
                    to: State::Running, ..
                } => {
                    has_run = true;
                    continue;
                }
                other => {
                    last = Some(other);
                    continue;
                }
            };
            let _ = run.user.commands.push(answer);
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "stuck: {last:?}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let is_late = Timing::read(&run.user.timing.skipped) > 0;
    run.quit().unwrap();
    drop(emulator);
    match trip {
        None if has_run => Ok(()),
        None => Err(Ended {
            by: "did not run".into(),
            is_late,
        }),
        Some(by) => Err(Ended { by, is_late }),
    }
}

/// A computer that is too busy is no fault of the rig: it may take a few attempts, and one that misses ticks in all of them
/// is no judge. The same runs on the exact clock above and in `link_faults`.
#[test]
fn the_lqg_bench_runs_in_real_time_over_udp_and_a_serial_line() {
    let mut ended = Vec::new();
    for _ in 0..4 {
        match real_time_run(3.0) {
            Ok(()) => return,
            Err(by) => ended.push(by),
        }
    }
    let by: Vec<&str> = ended.iter().map(|e| e.by.as_str()).collect();
    assert!(ended.iter().all(|e| e.is_late), "{by:?}");
    eprintln!("not judged, the computer is too busy: {by:?}");
}

fn exchange_until(
    bus: &mut SerialBus,
    inputs: &mut [Slot],
    wanted: impl Fn(&Result<(), RigFault>) -> bool,
) {
    let begin = Instant::now();
    loop {
        let done = bus.exchange(&DriveCommand::OFF, RealClock.now(), inputs);
        if wanted(&done) {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "still {done:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

#[test]
fn a_port_that_is_unplugged_comes_back() {
    let scratch = Scratch::new("plug");
    let mut config = rig_config();
    let mut drive: SerialConfig = from_ron(LINRS);
    drive.port = scratch.path("drive");
    drive.timeout_s = 5.0;
    config.buses[0] = BusConfig::Serial(drive.clone());
    let BusConfig::Serial(amplifier) = &mut config.buses[1] else {
        panic!("no serial line")
    };
    amplifier.port = scratch.path("amplifier");
    amplifier.timeout_s = 5.0;
    let amplifier = amplifier.clone();
    let context = BusContext {
        period_nanos: 2_000_000,
        catch_up_m_per_s: 0.2,
    };
    // The buses come first: nothing is there yet.
    let mut buses = [
        SerialBus::open(&drive, 1, &context).unwrap(),
        SerialBus::open(&amplifier, 2, &context).unwrap(),
    ];
    let mut inputs = [Slot::default(); 4];
    for bus in &mut buses {
        exchange_until(bus, &mut inputs, |d| {
            matches!(d, Err(RigFault::Unplugged { .. }))
        });
    }
    let emulator = Emulator::start(&config, &rig_pantograph(&rig_path()).unwrap(), &[]).unwrap();
    for (bus, name) in buses.iter_mut().zip(["drive", "amplifier"]) {
        for _ in 0..3 {
            let mut inputs = [Slot::default(); 4];
            exchange_until(bus, &mut inputs, Result::is_ok);
            assert!(inputs[0].last().is_some());
            emulator
                .faults(name)
                .unwrap()
                .set(LinkFault::Unplugged, true);
            exchange_until(bus, &mut inputs, |d| {
                matches!(d, Err(RigFault::Unplugged { .. }))
            });
            emulator
                .faults(name)
                .unwrap()
                .set(LinkFault::Unplugged, false);
        }
        exchange_until(bus, &mut inputs, Result::is_ok);
        assert!(
            bus.counters()
                .opened
                .load(std::sync::atomic::Ordering::Relaxed)
                >= 4
        );
    }
    assert!(!emulator.has_ended());
    drop(emulator);
    assert!(
        !std::path::Path::new(&drive.port).exists(),
        "the link is removed"
    );
}

/// Homes a rig in a file of its own, as the command does.
fn home_rig(path: &std::path::Path) -> Result<Homed, String> {
    let stand = Stand::load(path, Arc::default()).unwrap();
    home(&stand).map_err(|e| e.to_string())
}

/// From 20 mm to 60 mm at 80 mm/s: 0.5 s. A busy computer makes it longer, or is late in seeing that it has begun.
fn assert_homed(homed: &Homed, what: &str) {
    println!("{what}: {homed:?}");
    assert!(homed.was_needed, "{what}");
    assert!((0.4..2.0).contains(&homed.seconds), "{what}: {homed:?}");
    let position = homed.position_m.unwrap();
    assert!((position - 0.06).abs() < 2e-4, "{what}: {homed:?}");
}

const EMULATED_HOMING: &str =
    "homing: (stands_at_m: 0.02, speed_m_per_s: 0.08, switch_at_m: 0.06),";

#[test]
fn rig_home_homes_a_drive_over_udp_and_over_a_serial_line() {
    for is_serial in [false, true] {
        let scratch = Scratch::new(if is_serial { "home-serial" } else { "home-udp" });
        let (path, _) = own_rig(&scratch);
        let mut text = std::fs::read_to_string(&path).unwrap();
        if is_serial {
            let begin = text.find("LinUdp(").unwrap();
            let end = text.find("Serial(").unwrap();
            let drive = LINRS
                .replace("/tmp/pantobench-drive", &scratch.path("drive"))
                .replace("checksum: Sum16", "checksum: Sum16, home_bit: 11")
                .replace("timeout_s: 0.02", "timeout_s: 0.5");
            text.replace_range(begin..end, &format!("Serial{drive},\n"));
            text = text.replace("drive.current", "drive.status_word");
        } else {
            text = text.replace("local_port: 0,", "local_port: 0, home_bit: 11,");
        }
        let text = text.replace("seed: 1,", &format!("seed: 1, {EMULATED_HOMING}"));
        std::fs::write(&path, text).unwrap();
        let RigFile::Hardware(config) = file::load(&path).unwrap_or_else(|e| panic!("{e}")) else {
            panic!("not a hardware rig")
        };
        let pantograph = rig_pantograph(&path).unwrap();
        let emulator = Emulator::start(&config, &pantograph, &[]).unwrap();
        assert_homed(&home_rig(&path).unwrap(), &format!("serial {is_serial}"));
        let now = RealClock.now();
        assert!(!emulator.plant.is_powered(now), "the drive is left off");
        // The drive remembers.
        let again = home_rig(&path).unwrap();
        assert!(!again.was_needed, "{again:?}");
        // Without power it forgets; and then there is no switch, which is an error of the drive.
        let faults = emulator.faults("drive").unwrap();
        faults.set(LinkFault::PowerLoss, true);
        RealClock.sleep_until(RealClock.now() + 50_000_000);
        faults.set(LinkFault::PowerLoss, false);
        faults.set(LinkFault::NoHomeSwitch, true);
        let why = home_rig(&path).unwrap_err();
        assert!(why.contains("error 32 (0x0020)"), "{why}");
    }
}

#[test]
fn rig_home_homes_a_drive_on_ethercat_or_says_why_not() {
    let scratch = Scratch::new("home-ethercat");
    let path = project_root().join("assets/rigs/ethercat-dsa-380.ron");
    let assets = project_root().join("assets").canonicalize().unwrap();
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in [
        ("\"../", format!("\"{}/", assets.display())),
        ("max_age_s: 0.0025", "max_age_s: 0.2".into()),
        ("watchdog_ms: 50.0", "watchdog_ms: 1000.0".into()),
        (
            "counts_per_m: 1.0e7,",
            "counts_per_m: 1.0e7, homing: (timeout_s: 10.0),".into(),
        ),
        (
            "(index: 0x6060, value: I8(8)),",
            "(index: 0x6060, value: I8(8)), (index: 0x6099, sub: 1, value: U32(800000)), (index: 0x607C, value: I32(-600000)),"
                .into(),
        ),
        ("seed: 1,", format!("seed: 1, {EMULATED_HOMING}")),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, &to);
    }
    let path = scratch.0.join("rig.ron");
    std::fs::write(&path, &text).unwrap();
    assert_homed(&home_rig(&path).unwrap(), "EtherCAT");
    // In 0.1 s it does not get there.
    std::fs::write(&path, text.replace("timeout_s: 10.0", "timeout_s: 0.1")).unwrap();
    let why = home_rig(&path).unwrap_err();
    assert!(
        why.contains("The drive did not find its home position in time"),
        "{why}"
    );
}
