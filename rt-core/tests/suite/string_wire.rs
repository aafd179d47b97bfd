//! The string as a wire of the loop, against the endless string, brute force and the equation of rest.

use nalgebra::Complex;
use rt_core::file::{FieldError, FileContent, parse};
use rt_core::model::catenary::WireModel;
use rt_core::model::catenary::wire::ElasticContact;
use rt_core::model::moving_string::MovingString;
use rt_core::model::string_wire::{StringWire, StringWireConfig};
use rt_core::no_alloc::guarded;
use std::f64::consts::TAU;
use std::path::Path;

const DT: f64 = 2e-3;
/// Metres in a step at 300 km/h.
const AHEAD: f64 = 300.0 / 3.6 * DT;

fn wire(kmh: f64) -> StringWire {
    StringWireConfig::default().build(kmh, DT).unwrap()
}

fn level(kmh: f64) -> StringWire {
    let config = StringWireConfig {
        profile: None,
        ..StringWireConfig::default()
    };
    config.build(kmh, DT).unwrap()
}

/// Random numbers within ±½.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// A run under a swinging force, its height less the rest height evaluated over whole periods. The
/// steps are trapezoidal: the continuous response at the frequency 2/Δt tan(ωΔt/2). Above 2 Hz the
/// small string is the endless one to 2e-3 (`moving_string.rs`); what the beginning stirs up at the
/// cut-on frequency of about 0.8 Hz fades within the 40 s before.
#[test]
fn a_swinging_force_moves_the_wire_by_the_compliance_of_the_endless_string() {
    for kmh in [250.0, 300.0] {
        let mut wire = wire(kmh);
        let ahead = kmh / 3.6 * DT;
        // Periods of whole steps.
        for steps in [10, 25, 50, 125, 200] {
            let angle = TAU / f64::from(steps);
            wire.reset();
            let mut sum = Complex::from(0.0);
            let (wait, window) = (20_000 / steps * steps, 10 * steps);
            for k in 0..wait + window {
                let phase = angle * f64::from(k);
                let place = ahead * f64::from(k);
                wire.predict(place);
                let height = wire.respond(100.0 * phase.cos()) - wire.rest_height(place);
                wire.commit();
                if k >= wait {
                    sum += height * Complex::from_polar(1.0, -phase);
                }
            }
            let found = sum * (2.0 / (100.0 * f64::from(window)));
            let s = Complex::new(0.0, 2.0 / DT * (0.5 * angle).tan());
            let string = MovingString {
                speed_kmh: kmh,
                ..MovingString::HIGH_SPEED_300
            };
            let exact = string.compliance(s);
            let error = (found - exact).norm() / exact.norm();
            println!("{kmh} km/h, {} Hz: {error:.1e}", 500.0 / f64::from(steps));
            assert!(error < 2e-3, "{kmh} km/h, period of {steps} steps: {error}");
        }
    }
}

/// 1/(2√(κ(T − μV²))) under a lasting force; the damped end of the chain errs by 5.5e-4 there.
#[test]
fn a_lasting_force_lifts_the_wire_by_its_static_compliance() {
    for kmh in [0.0, 250.0, 300.0] {
        let mut wire = level(kmh);
        for _ in 0..100_000 {
            wire.predict(0.0);
            wire.respond(150.0);
            wire.commit();
        }
        let v = kmh / 3.6;
        let expected = 150.0 * 0.5 / (51.15 * (31_500.0 - 1.4735 * v * v)).sqrt();
        let found = wire.rise(0.0);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}

/// At rest in the moving frame (T − μV²) u″ = κ u beside the contact, and the kink there carries the
/// force: (T − μV²)(u′₋ − u′₊) = F.
#[test]
fn the_rise_beside_the_contact_is_that_of_a_string_at_rest() {
    let mut wire = level(300.0);
    for _ in 0..100_000 {
        wire.predict(500.0);
        wire.respond(150.0);
        wire.commit();
    }
    let stiff = 31_500.0 - 1.4735 * (300.0_f64 / 3.6).powi(2);
    let (h, u) = (0.01, |x: f64| wire.rise(500.0 + x));
    for x in [-30.0, -1.0, 2.0, 40.0] {
        let curvature = (u(x - h) - 2.0 * u(x) + u(x + h)) / (h * h);
        assert!((stiff * curvature / (51.15 * u(x)) - 1.0).abs() < 1e-5);
    }
    // One-sided differences of first order: γh/2 = 2.5e-4, and the small string's 5.5e-4.
    let kink = (2.0 * u(0.0) - u(-h) - u(h)) / h;
    assert!((stiff * kink / 150.0 - 1.0).abs() < 2e-3, "{kink}");
}

/// F = max(0, k_c (head − z)) with head and wire both giving way, found by halving.
#[test]
fn the_contact_law_is_that_found_by_bisection() {
    let mut wire = wire(300.0);
    let mut random = Random(3);
    let (mut open, mut closed) = (0, 0);
    for k in 0..3000 {
        let place = AHEAD * f64::from(k);
        let free = wire.predict(place).height_free;
        let contact = ElasticContact {
            stiffness: 50e3,
            head_free: free + 0.02 * random.next(),
            head_compliance: 1e-6 * (1.0 + random.next()),
            share: 0.5 + random.next(),
        };
        // What the spring would push at an assumed force less that force: falls steadily.
        let mut excess = |force: f64| {
            let head = contact.head_free - contact.head_compliance * force;
            contact.stiffness * (head - wire.respond(contact.share * force)) - force
        };
        let (mut low, mut high) = (0.0, 1e5);
        if excess(0.0) <= 0.0 {
            high = 0.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if excess(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let found = wire.respond_to(&contact);
        // k_c times the rounding of a height of 0.1 m, times that of the sum.
        assert!((found.force - low).abs() < 1e-9, "{found:?} {low}");
        assert_eq!(found.height, wire.respond(contact.share * found.force));
        open += usize::from(found.force == 0.0);
        closed += usize::from(found.force > 0.0);
        wire.commit();
        let rise = wire.rise(place);
        assert!((rise + wire.rest_height(place) - found.height).abs() < 1e-15);
    }
    assert!(open > 1000 && closed > 1000, "both occur: {open} {closed}");
    assert_eq!((wire.slack_droppers(), wire.unsettled()), (0, 0));
}

/// The same bits after trial steps were undone, and after a reset.
#[test]
fn trial_steps_leave_no_trace() {
    let run = |trials: bool, wire: &mut StringWire| -> Vec<u64> {
        wire.reset();
        let mut state = wire.new_state();
        let step = |wire: &mut StringWire, k: usize| {
            wire.predict(AHEAD * k as f64);
            wire.respond(150.0 + 60.0 * (0.07 * k as f64).sin());
            wire.commit();
        };
        (0..500)
            .map(|k| {
                step(wire, k);
                if trials {
                    wire.save(&mut state);
                    for j in 1..6 {
                        step(wire, k + 3 * j);
                    }
                    assert_ne!(wire.rise(7.0), 0.0);
                    wire.restore(&state);
                }
                (wire.rise(AHEAD * k as f64 + 3.0)).to_bits()
            })
            .collect()
    };
    let mut wire = wire(300.0);
    let alone = run(false, &mut wire);
    assert_eq!(run(true, &mut wire), alone);
    wire.reset();
    assert_eq!(wire.rise(0.0), 0.0);
    // What was answered but not committed is forgotten.
    wire.predict(0.0);
    wire.respond(1e3);
    wire.predict(0.0);
    wire.commit();
    assert_eq!(wire.rise(0.0), 0.0);
}

#[test]
fn no_step_touches_the_heap() {
    let mut wire = wire(300.0);
    let mut state = wire.new_state();
    let contact = ElasticContact {
        stiffness: 50e3,
        head_free: 0.02,
        head_compliance: 1e-6,
        share: 1.0,
    };
    let (sum, heap) = guarded(|| {
        let mut sum = 0.0;
        wire.reset();
        for k in 0..500 {
            let place = AHEAD * f64::from(k);
            sum += wire.predict(place).height_free + wire.respond(100.0);
            wire.save(&mut state);
            sum += wire.respond_to(&contact).height;
            wire.commit();
            wire.restore(&state);
            sum += wire.rise(place);
        }
        sum
    });
    assert!(sum.is_finite());
    assert_eq!(heap, 0);
    // The counter counts.
    assert_ne!(guarded(|| drop(std::hint::black_box(vec![1.0; 10]))).1, 0);
}

/// A session's choice, as a file says it.
#[derive(Debug, PartialEq, serde::Deserialize)]
enum Choice {
    String(StringWireConfig),
}

impl FileContent for Choice {
    const KIND: &'static str = "choice";
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }
}

#[test]
fn a_file_says_only_what_differs_and_errors_name_the_field() {
    let read = |text: &str| {
        let Choice::String(config) = parse(text, Path::new("x.ron")).unwrap();
        config
    };
    assert_eq!(read("String()"), StringWireConfig::default());
    let config = read("String(tension_n: 30000.0, profile: (depth_m: 0.02))");
    assert_eq!(config.tension_n, 30_000.0);
    assert!((config.rest_height(32.5) + 0.02).abs() < 1e-15);
    let config = read("String(profile: None)");
    assert_eq!(config.rest_height(32.5), 0.0);
    assert_eq!(
        config.string(300.0),
        MovingString::HIGH_SPEED_300,
        "the defaults are the string's"
    );

    let text = |text: &str, kmh: f64| read(text).build(kmh, DT).unwrap_err().to_string();
    assert!(text("String(mass_kg_per_m: 0.0)", 300.0).starts_with("mass_kg_per_m: is 0 kg/m"));
    assert!(text("String()", 600.0).starts_with("speed_kmh: is 600 km/h"));
    let wrong = "String(profile: (depth_m: 2.0))";
    assert!(text(wrong, 300.0).starts_with("profile.depth_m: is 2 m; expected"));
    let unknown = parse::<Choice>("String(tensoin_n: 1.0)", Path::new("x.ron"));
    assert!(unknown.unwrap_err().to_string().contains("tensoin_n"));
}
