//! The panel with a real model, a made-up motor, and marks where they belong.

use super::*;
use crate::data::{Data, sample as data_sample};
use crate::history::History;
use crate::tuner::{TuningAsk, sample};
use eframe::egui::accesskit::Role;
use egui_kittest::{Harness, kittest::Queryable};
use std::time::{Duration, Instant};

struct Bench {
    panel: BodePanel,
    tuner: Tuner,
    data: Data,
}

/// Thirty seconds of the simulated motor of the sample's rig (212 rad/s, ζ 0.424) behind one cycle of delay,
/// under a reference that moves slowly with a little noise: coherent up to some tens of hertz.
fn run() -> Data {
    let mut data = data_sample::run(0.0);
    data.history = History::new(data.channels.len(), 64 << 20);
    let (w, zeta, substeps) = (212.132, 0.424_264, 20);
    let dt = 0.002 / f64::from(substeps);
    let (mut noise, mut walk, mut u, mut v, mut sent) = (1_u64, 0.0, 0.0, 0.0, 0.0);
    let mut random = || {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
    };
    for n in 0..15_000 {
        walk += 0.2 * (random() * 0.01 - 0.5 * walk);
        let read = u + 2e-5 * random();
        data.history
            .push(0.002 * f64::from(n), &[0.0, read, 0.0, 0.0, 0.0, walk]);
        // What the frame before held is sent now and held over the cycle.
        for _ in 0..substeps {
            v += dt * (w * w * (sent - u) - 2.0 * zeta * w * v);
            u += dt * v;
        }
        sent = walk;
    }
    data
}

impl Bench {
    fn new(name: &str) -> Self {
        Self {
            panel: BodePanel::default(),
            tuner: sample::tuner(name).0,
            data: run(),
        }
    }

    fn ui(&mut self, ui: &mut Ui) {
        let view = View {
            data: &self.data,
            now_s: self.data.history.newest_s().unwrap(),
            is_following: true,
            is_replay: false,
        };
        self.panel
            .show(ui, &view, Some(&self.tuner), &mut Vec::new());
    }
}

fn finish(harness: &mut Harness<'_, Bench>) {
    let since = Instant::now();
    loop {
        harness.run_steps(1);
        let state = harness.state();
        let is_judged = state.panel.model.as_ref().is_some_and(|model| {
            let asked = model.found.as_ref().map(|(_, (params, _))| params);
            asked.is_some_and(|p| changed(p, state.tuner.asked()).is_empty())
        });
        let measuring = state.panel.measuring.as_ref();
        if is_judged && measuring.is_some_and(|m| m.found.is_some()) {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(60));
        std::thread::park_timeout(Duration::from_millis(10));
    }
    harness.run_steps(2);
}

fn harness(name: &str, size: (f32, f32)) -> Harness<'static, Bench> {
    Harness::builder()
        .with_size(egui::vec2(size.0, size.1))
        .build_ui_state(
            |ui, bench: &mut Bench| {
                theme::apply(ui.ctx());
                bench.ui(ui);
            },
            Bench::new(name),
        )
}

#[test]
fn the_measured_motor_lies_on_its_model() {
    let mut harness = harness("bode-motor", (420.0, 500.0));
    finish(&mut harness);
    let panel = &harness.state().panel;
    let model = Curve::motor(panel.asked().unwrap());
    let found = panel.measuring.as_ref().unwrap().found.as_ref().unwrap();
    let found = found.as_ref().unwrap();
    let curve = measured_curve(found, Some(&model));
    let sure = |i: usize| found.coherence[i] >= SURE && found.frequencies_hz[i] <= 60.0;
    let apart = distance(&model, &curve, sure).unwrap();
    // The integrator of this test lags by half a substep (50 µs, 1° at 60 Hz); noise and leakage do the rest.
    assert!(apart.count > 50, "{apart:?}");
    assert!(apart.db < 0.5 && apart.degrees < 3.0, "{apart:?}");
}

#[test]
fn the_loop_is_cut_where_a_person_says_and_shows_what_is_proposed() {
    let mut harness = harness("bode-loop", (1000.0, 600.0));
    finish(&mut harness);
    harness.get_by_role_and_label(Role::Button, "Loop").click();
    harness.run_steps(3);
    for (role, label) in [(Role::ComboBox, "cut at"), (Role::Button, "measured force")] {
        harness.get_by_role_and_label(role, label).click();
        harness.run_steps(3);
    }
    assert_eq!(harness.state().panel.cut, "measured force");
    let rho = harness.state().tuner.applied_prospect().unwrap().rho_loop;
    assert!(
        harness
            .query_by_label_contains(&format!("applied: ρ {rho:.5}"))
            .is_some()
    );
    let propose = TuningAsk::Propose(vec![(0, 50.0)]);
    harness.state_mut().tuner.handle(&propose);
    finish(&mut harness);
    assert!(harness.query_by_label_contains("proposed: ρ").is_some());
}

/// Margins marked in the plots are those of the curve that is drawn.
#[test]
fn marks_end_on_the_curve() {
    let (designer, params) = sample::designer();
    let responses = designer
        .responses(&params, &curve::frequencies(0.002))
        .unwrap();
    let mut seen = 0;
    for cut in &responses.cuts {
        let curve = Curve::cut(&responses, cut);
        let m = cut.margins.unwrap();
        for mark in draw::marks(&curve, Some(&m), 0.02) {
            let (Some((from, to)), Some(there)) = (mark.between, curve.at(mark.hz)) else {
                continue;
            };
            seen += 1;
            if mark.is_phase {
                assert_eq!(from, there.degrees);
                let size = (from - to).abs();
                // Between points of the curve 2 % apart.
                assert!((size - m.phase_deg.unwrap()).abs() < 1.0, "{mark:?} {m:?}");
                assert!(there.db.abs() < 0.3, "{mark:?}: {there:?}");
            } else {
                assert!((there.db - from).abs() < 0.5, "{mark:?}: {there:?}");
                let off = nearest_turn(there.degrees, -180.0) + 180.0;
                assert!(off.abs() < 3.0, "{mark:?}: {there:?}");
            }
        }
        // The disk touches the curve: its ends are those of the gains that may change together.
        let (left, right) = draw::disk_ends(m.disk);
        assert!((left * right - 1.0).abs() < 1e-12 && left < -1.0 && right > -1.0);
        let (center, radius) = (0.5 * (left + right), 0.5 * (right - left));
        let from_hz = rt_core::control::assessment::DISK_FROM_HZ;
        let nearest = curve
            .points
            .iter()
            .filter(|p| p.hz >= from_hz)
            .map(|p| (p.parts.0 - center).hypot(p.parts.1) / radius)
            .fold(f64::INFINITY, f64::min);
        assert!((0.999..1.3).contains(&nearest), "{}: {nearest}", cut.name);
    }
    assert!(seen >= 4, "{seen}");
}

/// Writes pictures to be looked at if `PANTOBENCH_LOOK` names a directory.
#[test]
fn look() {
    let Some(folder) = std::env::var_os("PANTOBENCH_LOOK") else {
        return;
    };
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        for size in [(300.0, 420.0), (420.0, 500.0), (1000.0, 640.0)] {
            let mut harness = Harness::builder()
                .with_size(egui::vec2(size.0, size.1))
                .with_theme(theme)
                .wgpu()
                .build_ui_state(
                    |ui, bench: &mut Bench| {
                        theme::apply(ui.ctx());
                        egui::CentralPanel::default().show(ui, |ui| bench.ui(ui));
                    },
                    Bench::new("bode-look"),
                );
            finish(&mut harness);
            for (shown, q) in [
                (Shown::Motor, None),
                (Shown::Loop, None),
                (Shown::Loop, Some(50.0)),
                (Shown::Nyquist, Some(50.0)),
            ] {
                harness.state_mut().panel.shown = shown;
                if let Some(q) = q {
                    let propose = TuningAsk::Propose(vec![(0, q)]);
                    harness.state_mut().tuner.handle(&propose);
                }
                finish(&mut harness);
                let what = if q.is_some() { "proposed" } else { "applied" };
                let file = format!("bode-{name}-{}-{shown:?}-{what}.png", size.0);
                let path = std::path::Path::new(&folder).join(file);
                harness.render().unwrap().save(path).unwrap();
            }
        }
    }
}
