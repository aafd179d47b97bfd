//! Asks the desktop not to sleep, blank or suspend while a drive is powered. Outside of the loop: the loop only notes what
//! it tells its rig, a thread beside it holds `systemd-inhibit` for as long, by a pipe that closes when this program dies.

use rt_core::channel::{Frame, Layout, LayoutError};
use rt_core::guard::Drive;
use rt_core::rig::device::Device;
use rt_core::rig::{Rig, RigCommand, RigFault, RigRefusal, RigSpec};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is looked whether the drive is on.
const PAUSE: Duration = Duration::from_millis(200);
const TOOL: &str = "systemd-inhibit";

/// What the loop tells its rig.
#[derive(Default)]
struct Seen {
    is_powered: AtomicBool,
    has_ended: AtomicBool,
}

/// A rig whose power is watched.
struct Watched {
    rig: Box<dyn Rig>,
    seen: Arc<Seen>,
}

/// The same rig, and the desktop is kept awake while its drive is on.
pub fn around(rig: Box<dyn Rig>) -> Box<dyn Rig> {
    around_with(rig, inhibitor)
}

fn around_with(rig: Box<dyn Rig>, inhibitor: fn() -> Command) -> Box<dyn Rig> {
    let seen = Arc::<Seen>::default();
    let watching = Arc::clone(&seen);
    let name = rig.spec().name.clone();
    let work = move || watch(&watching, &name, inhibitor);
    let spawned = std::thread::Builder::new()
        .name("pantobench-awake".into())
        .spawn(work);
    match spawned {
        Ok(_) => Box::new(Watched { rig, seen }),
        Err(e) => {
            tell!("note: the desktop may suspend or blank while the drive is on: no thread ({e})");
            rig
        }
    }
}

fn inhibitor() -> Command {
    let mut command = Command::new(TOOL);
    command.args([
        "--what=idle:sleep:handle-lid-switch",
        "--who=Pantobench",
        "--why=A drive is powered",
        "--mode=block",
        // Ends when the pipe does.
        "cat",
    ]);
    command
}

fn watch(seen: &Seen, rig: &str, inhibitor: fn() -> Command) {
    let mut held: Option<Child> = None;
    let mut was_told = false;
    while !seen.has_ended.load(Ordering::Acquire) {
        let is_powered = seen.is_powered.load(Ordering::Relaxed);
        match &mut held {
            None if is_powered && !was_told => match begin(inhibitor) {
                Ok(child) => held = Some(child),
                Err(problem) => {
                    was_told = true;
                    note(rig, &problem);
                }
            },
            Some(child) => match child.try_wait() {
                Ok(None) if is_powered => {}
                Ok(None) => held.take().into_iter().for_each(let_go),
                ended => {
                    let how = ended.ok().flatten().map(|status| status.to_string());
                    held = None;
                    was_told = true;
                    note(rig, &how.unwrap_or_default());
                }
            },
            None => {}
        }
        std::thread::park_timeout(PAUSE);
    }
    held.into_iter().for_each(let_go);
}

fn note(rig: &str, problem: &str) {
    tell!(
        "note: '{TOOL}' does not keep the desktop awake while '{rig}' is powered ({problem}): switch suspending and blanking off by hand"
    );
}

fn begin(inhibitor: fn() -> Command) -> Result<Child, String> {
    use std::os::unix::process::CommandExt;
    inhibitor()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C at a terminal is for this program: the drive is on until it has braked.
        .process_group(0)
        .spawn()
        .map_err(|e| e.to_string())
}

/// Closes the pipe and takes the end of what hung on it.
fn let_go(mut child: Child) {
    drop(child.stdin.take());
    // One that has ended by itself needs nothing more.
    let _ = child.wait();
}

impl Rig for Watched {
    fn spec(&self) -> &RigSpec {
        self.rig.spec()
    }

    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError> {
        self.rig.bind(layout)
    }

    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault> {
        let is_powered = frame.drive == Drive::On;
        self.seen.is_powered.store(is_powered, Ordering::Relaxed);
        self.rig.exchange(frame)
    }

    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        self.rig.command(command)
    }

    fn devices(&self) -> Vec<Arc<Device>> {
        self.rig.devices()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.seen.has_ended.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn runs(command: &str) -> usize {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .contains(command)
        })
        .count()
    }

    fn wait_for(what: &str, is_so: impl Fn() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Stands in for the tool: lives as long as the pipe.
    fn stand_in() -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "cat; : stays-awake-in-a-test"]);
        command
    }

    fn missing() -> Command {
        Command::new("there-is-no-such-tool")
    }

    fn simulated() -> Box<dyn Rig> {
        use drivers::rig_file::{RigSetup, load_rig};
        use drivers::simulated::SimTime;
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../assets/rigs/simulated-dsa-380.ron");
        let setup = RigSetup {
            period_nanos: 2_000_000,
            time: SimTime::Real,
            injections: &[],
            uplift_n: None,
            own_calibrations: None,
        };
        load_rig(&path, setup).unwrap()
    }

    fn bound(inhibitor: fn() -> Command) -> (Box<dyn Rig>, Frame) {
        let mut rig = around_with(simulated(), inhibitor);
        let channels = rig.spec().channels.clone();
        let commands = rig
            .spec()
            .actuators
            .iter()
            .map(|a| rt_core::channel::ChannelSpec::command(a.command, "Reference", "m"));
        let mut layout = Layout::default();
        layout.append(&commands.collect::<Vec<_>>()).unwrap();
        layout.append(&channels).unwrap();
        rig.bind(&layout).unwrap();
        (rig, Frame::empty())
    }

    #[test]
    fn the_desktop_is_asked_while_the_drive_is_on_and_no_longer() {
        let name = "stays-awake-in-a-test";
        let (mut rig, mut frame) = bound(stand_in);
        let mut exchange = |rig: &mut Box<dyn Rig>, drive| {
            frame.drive = drive;
            frame.t_nanos += 2_000_000;
            rig.exchange(&mut frame).unwrap();
        };
        exchange(&mut rig, Drive::Off);
        std::thread::park_timeout(3 * PAUSE);
        assert_eq!(runs(name), 0, "nothing is powered yet");
        for _ in 0..2 {
            exchange(&mut rig, Drive::On);
            wait_for("asked", || runs(name) == 1);
            exchange(&mut rig, Drive::Off);
            wait_for("let go", || runs(name) == 0);
        }
        exchange(&mut rig, Drive::On);
        wait_for("asked", || runs(name) == 1);
        drop(rig);
        wait_for("let go with the rig", || runs(name) == 0);
    }

    #[test]
    fn a_missing_tool_changes_nothing() {
        let (mut rig, mut frame) = bound(missing);
        frame.drive = Drive::On;
        for _ in 0..5 {
            frame.t_nanos += 2_000_000;
            rig.exchange(&mut frame).unwrap();
            std::thread::park_timeout(PAUSE);
        }
    }
}
