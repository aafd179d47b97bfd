//! Stopping as it was foretold: whole loops on the exact clock that trip at the permitted speed, and random benches on
//! random rigs whose specimen breaks at the force that the file states.

use drivers::protection;
use drivers::rig_file::{RigFile, rig_pantograph};
use integration_tests::{ExactRun, project_root, session_from};
use pantobench::runtime;
use rt_core::file;
use rt_core::guard::{Drive, State};
use std::path::{Path, PathBuf};

/// A directory of its own.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stopping-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A shipped rig with other numbers, by the names of its fields.
    fn rig(&self, shipped: &str, numbers: &[(&str, f64)]) -> PathBuf {
        let assets = project_root().join("assets").canonicalize().unwrap();
        let text = std::fs::read_to_string(assets.join("rigs").join(shipped)).unwrap();
        let mut text = text.replace("\"../", &format!("\"{}/", assets.display()));
        for (field, value) in numbers {
            let begin = format!("{field}: ");
            let from = text.find(&begin).unwrap_or_else(|| panic!("no {field}")) + begin.len();
            let to = from + text[from..].find([',', ')']).unwrap();
            text.replace_range(from..to, &format!("{value:?}"));
        }
        let path = self.0.join("rig.ron");
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn foretold(rig: &Path) -> protection::Stopping {
    let config: RigFile = file::load(rig).unwrap();
    protection::stopping(&config.model(), &rig_pantograph(rig).unwrap(), 0.002)
}

#[test]
fn a_loop_that_trips_at_the_permitted_speed_stops_as_foretold() {
    let scratch = Scratch::new("trips");
    for (speed, braking) in [(0.3, 40.0), (0.7, 40.0), (0.7, 8.0), (0.86, 8.0)] {
        let numbers = [
            ("max_speed_m_per_s", speed),
            ("braking_m_per_s2", braking),
            ("bears_n", 9000.0),
            ("noise_n", 0.05),
        ];
        let rig = scratch.rig("simulated-dsa-380.ron", &numbers);
        let found = foretold(&rig);
        let text = format!(
            r#"Session(title: "trips", bench: Profile(source: Steps(height_m: -0.09, hold_s: 0.4)), rig: {rig:?})"#
        );
        let mut run = ExactRun::new(&session_from(&text));
        run.start();
        assert!(
            run.until(State::Tripped, 2000),
            "{speed} m/s: {:?}",
            run.events
        );
        run.cycles(3000);
        let (force, position) = (run.column("true_force"), run.column("motor_position"));
        let tripped = run
            .frames
            .iter()
            .position(|f| f.state == State::Tripped)
            .unwrap();
        // From where the force was at its limit: the cycle before it was first beyond.
        let beyond = (0..tripped).rev().take_while(|&k| force[k] > 500.0).last();
        let at = position[beyond.unwrap_or(tripped).saturating_sub(1)];
        let lowest = position[tripped..]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let went = at - lowest;
        let peak = force.iter().copied().fold(0.0, f64::max);
        println!(
            "{speed} m/s, {braking} m/s²: {:.1} mm, {peak:.0} N; {found:?}",
            went * 1e3
        );
        assert!(
            went <= found.distance_m + speed * 0.002 && went > 0.3 * found.distance_m,
            "{speed} m/s: {went} m against {found:?}"
        );
        assert!(
            peak <= found.peak_force_n && peak > 0.3 * found.peak_force_n,
            "{speed} m/s: {peak} N against {found:?}"
        );
        assert!(run.frames.last().unwrap().drive == Drive::Off);
    }
}

/// Numbers that are spread well and always the same.
struct Spread(u64);

impl Spread {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        low + (high - low) * share
    }

    /// Spread by orders of magnitude.
    fn decades(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }
}

#[test]
fn no_random_bench_breaks_the_specimen_of_a_random_rig_or_leaves_its_stroke() {
    let scratch = Scratch::new("random");
    let mut spread = Spread(0x2545_F491_4F6C_DD1D);
    let (mut ran, mut refused, mut worst) = (0, 0, 0.0_f64);
    for case in 0..80 {
        let bears = spread.decades(700.0, 8000.0);
        let travel = spread.between(0.05, 0.1);
        let numbers = [
            ("max_speed_m_per_s", spread.decades(travel, 2.0)),
            ("braking_m_per_s2", spread.between(3.0, 40.0)),
            ("travel_speed_m_per_s", travel),
            ("bears_n", bears),
            ("noise_n", 0.05),
            ("pad_stiffness_n_per_m", spread.decades(3e4, 1e6)),
            ("pad_damping_ns_per_m", spread.between(0.0, 300.0)),
            ("omega_rad_per_s", spread.decades(60.0, 500.0)),
            ("damping_ratio", spread.between(0.3, 1.0)),
            ("reference_s", spread.between(0.0, 0.004)),
            ("force_s", spread.between(0.0, 0.004)),
            ("filter_hz", spread.decades(30.0, 1000.0)),
            ("uplift_n", spread.between(60.0, 200.0)),
            ("park_m", spread.between(-0.05, 0.14)),
            ("max_tracking_error_m", 0.5),
        ];
        let rig = scratch.rig("simulated-dsa-380.ron", &numbers);
        let (amplitude, hz) = (spread.decades(0.002, 0.2), spread.decades(0.2, 30.0));
        let source = match case % 3 {
            0 => format!("Sine(amplitude_m: {amplitude:.4}, frequency_hz: {hz:.3})"),
            1 => format!("Steps(height_m: {amplitude:.4}, hold_s: {:.3})", 0.5 / hz),
            _ => format!(
                "Chirp(amplitude_m: {:.4}, from_hz: 0.3, to_hz: {:.2}, duration_s: 5.0, sweep: Exponential)",
                amplitude / 4.0,
                hz.max(0.5)
            ),
        };
        let text = format!(
            r#"Session(title: "random", bench: Profile(source: {source}), rig: {rig:?}, seconds: 5.0)"#
        );
        let session = session_from(&text);
        // Refused with words, or it runs and nothing breaks.
        if let Err(e) = runtime::prepare_exact(&session) {
            let words = e.to_string();
            assert!(
                words.contains("specimen.bears_n") || words.contains("max_speed"),
                "{words}"
            );
            refused += 1;
            continue;
        }
        ran += 1;
        let mut run = ExactRun::new(&session);
        run.start();
        run.cycles(2_500 + 5_000);
        let peak = run.column("true_force").into_iter().fold(0.0, f64::max);
        worst = worst.max(peak / bears);
        assert!(peak <= bears, "{numbers:?} {source}: {peak} N of {bears} N");
        let position = run.column("motor_position");
        assert!(
            position.iter().all(|x| (-0.2..=0.2).contains(x)),
            "{numbers:?} {source}"
        );
        assert!(
            run.frames.last().unwrap().drive == Drive::Off,
            "{numbers:?} {source}"
        );
    }
    println!(
        "{ran} ran, {refused} were refused; at most {:.0} % of what is borne",
        worst * 100.0
    );
    assert!(
        ran > 40 && refused > 20,
        "{ran} ran, {refused} were refused"
    );
}
