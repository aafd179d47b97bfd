//! Two programs and one drive: the second is refused before it sends anything, and the first frees it however it ends.

use drivers::drive_lock::DriveLock;
use drivers::hardware::BusConfig;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::linudp::{LinUdp, LinUdpConfig};
use drivers::rig_file::RigFile;
use rt_core::file;
use rt_core::pacing::{Clock, RealClock};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tells the second process that it is one, and which drive it holds.
const DRIVE: &str = "DRIVE_LOCK_TEST";

/// The shipped drive at a port, with any port of this computer.
fn config(drive_port: u16) -> LinUdpConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/linmot-udp-serial.ron");
    let RigFile::Hardware(rig) = file::load(&path).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("no hardware")
    };
    let BusConfig::LinUdp(drive) = &rig.buses[0] else {
        panic!("no LinUDP")
    };
    LinUdpConfig {
        drive_port,
        local_port: 0,
        ..drive.clone()
    }
}

/// A socket in the place of a drive: it hears whatever is sent to it.
fn drive() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

fn heard(drive: &UdpSocket) -> usize {
    let mut buffer = [0; 256];
    std::iter::from_fn(|| drive.recv_from(&mut buffer).ok()).count()
}

#[test]
fn a_second_master_is_refused_before_it_sends_a_byte() {
    let (socket, port) = drive();
    let mut first = LinUdp::open(&config(port), 1, 0.1).unwrap();
    let mut slots = [Slot::default(); 9];
    let _ = first.exchange(&DriveCommand::OFF, RealClock.now(), &mut slots);
    assert_eq!(heard(&socket), 1);
    let refused = LinUdp::open(&config(port), 1, 0.1).err().unwrap();
    let own = format!(
        "the drive at 127.0.0.1:{port} is in use by the process {}",
        std::process::id()
    );
    assert!(refused.contains(&own), "{refused}");
    assert_eq!(heard(&socket), 0, "nothing was sent");
    // Another drive is another matter.
    let (_other, other_port) = drive();
    LinUdp::open(&config(other_port), 1, 0.1).unwrap();
    drop(first);
    LinUdp::open(&config(port), 1, 0.1).unwrap();
}

/// A process that is ended with this value.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_holder_that_is_killed_frees_its_drive() {
    let (_socket, port) = drive();
    let holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::the_holder", "--nocapture"])
        .env(DRIVE, port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut holder = Holder(holder.unwrap());
    let lines = BufReader::new(holder.0.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.contains("drive is held")));
    let refused = LinUdp::open(&config(port), 1, 0.1).err().unwrap();
    let named = format!("in use by the process {} since 20", holder.0.id());
    assert!(refused.contains(&named), "{refused}");
    // SIGKILL: nothing of it can clean up.
    holder.0.kill().unwrap();
    holder.0.wait().unwrap();
    let begin = Instant::now();
    while let Err(e) = LinUdp::open(&config(port), 1, 0.1) {
        assert!(begin.elapsed() < Duration::from_secs(5), "{e}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The second process; does nothing in an ordinary test run.
#[test]
fn the_holder() {
    let Ok(port) = std::env::var(DRIVE) else {
        return;
    };
    let _bus = LinUdp::open(&config(port.parse().unwrap()), 1, 0.1).unwrap();
    println!("drive is held");
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}

#[test]
fn an_interface_and_a_port_are_held_once_each() {
    let name = format!("none{}", std::process::id() % 100_000);
    let first = DriveLock::of_interface(&name).unwrap();
    let refused = DriveLock::of_interface(&name).unwrap_err();
    assert!(refused.contains(&name), "{refused}");
    drop(first);
    DriveLock::of_interface(&name).unwrap();
    let port = format!("/dev/{name}");
    let _first = DriveLock::of_port(&port).unwrap();
    let refused = DriveLock::of_port(&port).unwrap_err();
    assert!(refused.contains(&port), "{refused}");
}
