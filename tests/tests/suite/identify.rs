//! Identification on simulated rigs and on an emulated EtherCAT segment whose truth is known, noise on: none of them is
//! the shipped one.

use drivers::rig_file::RigFile;
use integration_tests::project_root;
use pantobench::rig_work::edit::{self, Place};
use pantobench::rig_work::identify::{Choice, Identified, identify};
use pantobench::rig_work::play::Stand;
use pantobench::ron_text::set_field;
use rt_core::identify::Estimate;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a rig really is.
#[derive(Clone, Copy)]
struct Truth {
    omega: f64,
    zeta: f64,
    reference_s: f64,
    extra_s: f64,
    force_s: f64,
    filter_hz: f64,
    stiffness: f64,
    damping: f64,
}

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pantobench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("rigs")).unwrap();
        std::fs::create_dir_all(path.join("pantographs")).unwrap();
        let shipped = project_root().join("assets/pantographs/dsa-380.ron");
        std::fs::copy(shipped, path.join("pantographs/dsa-380.ron")).unwrap();
        Self(path)
    }

    fn rig(&self, name: &str, truth: &Truth) -> PathBuf {
        let filter = &["force_sensor", "filter_hz"];
        self.rig_like("simulated-dsa-380.ron", filter, name, truth)
    }

    /// The same on an EtherCAT segment that is emulated in this process.
    fn segment(&self, name: &str, truth: &Truth) -> PathBuf {
        let calibrations = self.0.join("calibrations");
        std::fs::create_dir_all(&calibrations).unwrap();
        let shipped = project_root().join("assets/calibrations");
        for entry in std::fs::read_dir(shipped).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), calibrations.join(entry.file_name())).unwrap();
        }
        self.rig_like("ethercat-dsa-380.ron", &["force_filter_hz"], name, truth)
    }

    fn rig_like(&self, shipped: &str, filter: &[&str], name: &str, truth: &Truth) -> PathBuf {
        let shipped = project_root().join("assets/rigs").join(shipped);
        let mut text = std::fs::read_to_string(shipped).unwrap();
        for (path, value) in [
            (&["motor", "omega_rad_per_s"][..], truth.omega),
            (&["motor", "damping_ratio"], truth.zeta),
            (&["delays", "reference_s"], truth.reference_s),
            (&["delays", "extra_s"], truth.extra_s),
            (&["delays", "force_s"], truth.force_s),
            (filter, truth.filter_hz),
            (&["pad_stiffness_n_per_m"], truth.stiffness),
            (&["pad_damping_ns_per_m"], truth.damping),
            // A stiffer pad makes harder blows, which is not what is measured here.
            (&["specimen", "bears_n"], 20_000.0),
        ] {
            text = set_field(&text, path, &format!("{value:?}")).unwrap();
        }
        let path = self.0.join("rigs").join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn identified(rig: &Path) -> Identified {
    let mut stand = Stand::load(rig, Arc::new(AtomicBool::new(false))).unwrap();
    stand.fast = true;
    identify(&stand, &Choice::default(), &mut |_| {}).unwrap_or_else(|e| panic!("{e}"))
}

fn assert_within_5_pct(what: &str, found: Estimate, truth: f64) {
    let off = 100.0 * (found.value / truth - 1.0);
    println!(
        "{what:16} {truth:12.6} found {:12.6} ± {:.2e}  {off:+.2} %",
        found.value, found.std_error
    );
    assert!(off.abs() < 5.0, "{what}: {} against {truth}", found.value);
}

#[rustfmt::skip]
const RIGS: [Truth; 4] = [
    // Slow and well damped, delays of fractions of the 2 ms cycle, a soft pad.
    Truth { omega: 150.0, zeta: 0.7, reference_s: 0.0013, extra_s: 0.0, force_s: 0.0007, filter_hz: 60.0, stiffness: 90e3, damping: 60.0 },
    // Lively, a delay that its file does not know of, no delay of the force.
    Truth { omega: 280.0, zeta: 0.36, reference_s: 0.0, extra_s: 0.00335, force_s: 0.0, filter_hz: 120.0, stiffness: 240e3, damping: 10.0 },
    // Prompt, far away, stiff.
    Truth { omega: 420.0, zeta: 0.55, reference_s: 0.0119, extra_s: 0.0, force_s: 0.00245, filter_hz: 150.0, stiffness: 700e3, damping: 150.0 },
    // Overdamped.
    Truth { omega: 200.0, zeta: 1.1, reference_s: 0.004, extra_s: 0.0, force_s: 0.0031, filter_hz: 80.0, stiffness: 150e3, damping: 30.0 },
];

#[test]
fn omega_zeta_delays_and_stiffness_are_found_within_five_per_cent_with_noise() {
    let scratch = Scratch::new("identify");
    for (i, truth) in RIGS.iter().enumerate() {
        let found = identified(&scratch.rig(&format!("rig-{i}.ron"), truth));
        require_truth(&format!("rig {i}"), &found, truth);
        // Noise of the shipped rig: 0.5 N and 2 µm, with their resolutions.
        assert!(
            (found.force_noise_n - 0.5).abs() < 0.1,
            "{}",
            found.force_noise_n
        );
        assert_eq!(found.doubts(), Vec::<String>::new());
    }
}

/// The emulated load cells are not straight (0.05 % of 1 kN), which a straight calibration leaves in the force.
#[test]
fn the_same_is_found_through_an_ethercat_segment() {
    let scratch = Scratch::new("identify-segment");
    for (i, truth) in RIGS.iter().enumerate() {
        let found = identified(&scratch.segment(&format!("segment-{i}.ron"), truth));
        require_truth(&format!("segment {i}"), &found, truth);
    }
}

fn require_truth(rig: &str, found: &Identified, truth: &Truth) {
    let force = found.force.as_ref().unwrap();
    println!(
        "{rig}: swing {:.1} N about {:.1} N",
        found.force_swing_n, found.static_n
    );
    assert_within_5_pct("ω", found.motor.omega_rad_per_s, truth.omega);
    assert_within_5_pct("ζ", found.motor.damping_ratio, truth.zeta);
    assert_within_5_pct(
        "pad stiffness",
        force.pad_stiffness_n_per_m,
        truth.stiffness,
    );
    let late = truth.reference_s + truth.extra_s;
    println!(
        "reference delay  {late:12.6} found {:12.6}",
        found.motor.delay_s.value
    );
    // 5 % of the delay; of one near 0, a fortieth of the cycle. The plant itself knows 50 µs.
    let off = (found.motor.delay_s.value - late).abs();
    assert!(
        off < (0.05 * late).max(50e-6),
        "{rig}: {:?} against {late}",
        found.motor.delay_s
    );
    // Delay and filter of the force are told apart by the highest frequencies only: within their confidence, and
    // their sum, by which a slow force comes late, within 5 %.
    let corner = force.filter_hz.unwrap();
    println!(
        "force delay      {:12.6} found {:12.6}",
        truth.force_s, force.delay_s.value
    );
    println!(
        "force filter     {:12.6} found {:12.6}",
        truth.filter_hz, corner.value
    );
    let off = (force.delay_s.value - truth.force_s).abs();
    assert!(
        off < 5.0 * force.delay_s.std_error + 25e-6,
        "{rig}: {:?}",
        force.delay_s
    );
    let lag = |delay: f64, hz: f64| delay + 1.0 / (TAU * hz);
    let (true_lag, lag) = (
        lag(truth.force_s, truth.filter_hz),
        lag(force.delay_s.value, corner.value),
    );
    assert!(
        (lag / true_lag - 1.0).abs() < 0.05,
        "{rig}: lag {lag} against {true_lag}"
    );
    assert!(
        (found.position_noise_m - 2e-6).abs() < 0.4e-6,
        "{}",
        found.position_noise_m
    );
    assert!(
        found.predicted_position_pct > 99.0,
        "{}",
        found.predicted_position_pct
    );
    assert!(
        found.predicted_force_pct.unwrap() > 98.0,
        "{:?}",
        found.predicted_force_pct
    );
}

#[test]
fn the_result_goes_into_the_file_and_everything_else_stays() {
    let scratch = Scratch::new("identify-write");
    let path = scratch.rig("rig.ron", &RIGS[1]);
    let found = identified(&path);
    let (old, rig) = edit::read(&path).unwrap();
    let text = edit::with_identified(&old, &rig, &found, "Identified in a test.").unwrap();
    assert!(text.starts_with("// Identified in a test.\n"));
    let comments = |text: &str| text.matches("//").count();
    assert_eq!(comments(&text), comments(&old) + 1, "comments stay");
    let keep_old_as = edit::sibling(&path, "before");
    edit::write(
        &path,
        &text,
        &Place::Replace {
            keep_old_as: keep_old_as.clone(),
        },
    )
    .unwrap();
    assert_eq!(std::fs::read_to_string(keep_old_as).unwrap(), old);
    let RigFile::Simulated(new) = edit::read(&path).unwrap().1 else {
        panic!("another kind of rig")
    };
    assert!((new.motor.omega_rad_per_s / RIGS[1].omega - 1.0).abs() < 0.05);
    assert!((new.delays.reference_s - RIGS[1].extra_s).abs() < 0.05 * RIGS[1].extra_s);
    assert_eq!(new.delays.extra_s, 0.0, "it is part of what was found");
    // The new file describes the same rig: identifying it again changes nothing that matters.
    let again = identified(&path);
    for row in again.rows() {
        if let (Some(before), Some(found)) = (row.before, row.found) {
            let off = (found.value - before).abs();
            assert!(
                off < 0.05 * before.abs() + 5.0 * found.std_error + 1e-6,
                "{}: {before} {found:?}",
                row.id
            );
        }
    }
}

#[test]
fn a_specimen_that_does_not_press_is_refused() {
    let scratch = Scratch::new("identify-loose");
    let path = scratch.rig("rig.ron", &RIGS[0]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("uplift_n: 120.0", "uplift_n: 0.0")).unwrap();
    let stand = Stand::load(&path, Arc::new(AtomicBool::new(false))).unwrap();
    let text = identify(&stand, &Choice::default(), &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("presses with") && text.contains("raise the pantograph"),
        "{text}"
    );
    let far = Choice {
        at_m: Some(0.3),
        ..Choice::default()
    };
    let text = identify(&stand, &far, &mut |_| {}).unwrap_err().to_string();
    assert!(text.contains("within -0.15 to 0.15 m"), "{text}");
}
