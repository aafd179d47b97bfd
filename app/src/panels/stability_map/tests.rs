//! The map as a person points at it.

use super::*;
use crate::data::{Data, sample as data_sample};
use crate::tuner::sample;
use eframe::egui::accesskit::Role;
use egui_kittest::{Harness, kittest::Queryable};
use std::time::{Duration, Instant};

const Q: usize = 0;
const K_I: usize = 5;
const CONTROLLER: usize = 8;

struct Bench {
    panel: StabilityMapPanel,
    tuner: Tuner,
    data: Data,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self {
            panel: StabilityMapPanel::default(),
            tuner: sample::tuner(name).0,
            data: data_sample::run(1.0),
        }
    }

    fn ui(&mut self, ui: &mut Ui) {
        let view = View {
            data: &self.data,
            now_s: 1.0,
            is_following: true,
            is_replay: false,
        };
        let mut asks = Vec::new();
        self.panel.show(ui, &view, Some(&self.tuner), &mut asks);
        for ask in asks {
            let Ask::Tune(ask) = ask else {
                panic!("{ask:?}")
            };
            assert!(self.tuner.handle(&ask).is_none(), "a map only proposes");
        }
    }
}

fn finish(harness: &mut Harness<'_, Bench>) {
    let since = Instant::now();
    loop {
        harness.run_steps(1);
        let computing = harness.state().panel.computing.as_ref();
        let is_done = computing.is_some_and(|c| {
            let wanted = c.asked.as_ref();
            c.maps.iter().any(|m| m.is_final && Some(&m.key) == wanted)
        });
        if is_done {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(120));
        std::thread::park_timeout(Duration::from_millis(20));
    }
    harness.run_steps(2);
}

fn harness(name: &str) -> Harness<'static, Bench> {
    let mut harness = Harness::builder()
        .with_size(egui::vec2(600.0, 500.0))
        .build_ui_state(
            |ui, bench: &mut Bench| {
                theme::apply(ui.ctx());
                bench.ui(ui);
            },
            Bench::new(name),
        );
    harness.run_steps(3);
    harness
}

#[test]
fn pointing_proposes_and_applies_nothing() {
    let mut harness = harness("map-click");
    let inner = harness.get_by_label("Stability map").rect();
    // Half way up and a quarter along: Q/R 5 of 0.05 to 500, k_i 10 · 20^¼ kN/m.
    let at = inner.left_bottom() + egui::vec2(0.25 * inner.width(), -0.5 * inner.height());
    harness.drag_at(at);
    harness.run_steps(2);
    harness.drop_at(at);
    harness.run_steps(2);
    let tuner = &harness.state().tuner;
    let (q, k_i) = (tuner.asked().get(Q), tuner.asked().get(K_I));
    assert!((q - 5.0).abs() < 0.2, "{q}");
    assert!((k_i - 10e3 * 20_f64.powf(0.25)).abs() < 300.0, "{k_i}");
    assert_eq!(tuner.applied().get(K_I), 50e3);
    assert_eq!(k_i % 100.0, 0.0, "three digits: {k_i}");
    // The map has the focus now; keys move the proposal.
    harness.key_press(Key::ArrowUp);
    harness.run_steps(2);
    assert!(harness.state().tuner.asked().get(Q) > q);
    assert_eq!(harness.state().tuner.asked().get(K_I), k_i);
}

#[test]
fn the_delay_plane_changes_the_stiffness_alone_and_maps_are_kept() {
    let mut harness = harness("map-delay");
    finish(&mut harness);
    harness
        .get_by_role_and_label(Role::Button, "delay against k_i")
        .click();
    harness.run_steps(2);
    finish(&mut harness);
    let inner = harness.get_by_label("Stability map").rect();
    harness.drag_at(inner.center());
    harness.run_steps(2);
    harness.drop_at(inner.center());
    harness.run_steps(2);
    let changes = harness.state().tuner.changes();
    assert_eq!(changes.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [K_I]);
    // Back again: it was kept, so it is there in the next frame.
    harness
        .get_by_role_and_label(Role::Button, "Q/R against k_i")
        .click();
    harness.run_steps(2);
    let computing = harness.state().panel.computing.as_ref().unwrap();
    assert_eq!(computing.maps.len(), 2);
    assert!(computing.maps.iter().all(|map| map.is_final));
}

#[test]
fn values_and_places_are_each_others_inverse() {
    let (designer, params) = sample::designer();
    for plane in designer.planes(&params) {
        for axis in [plane.x, plane.y] {
            let ends = ends(&axis, &params);
            for s in [0.0, 0.25, 0.5, 1.0] {
                let value = value_at(&axis, ends, s);
                assert!((share(&axis, ends, value) - s).abs() < 1e-9, "{axis:?} {s}");
            }
        }
    }
}

/// Writes pictures to be looked at if `PANTOBENCH_LOOK` names a directory.
#[test]
fn look() {
    let Some(folder) = std::env::var_os("PANTOBENCH_LOOK") else {
        return;
    };
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        for size in [(300.0, 420.0), (420.0, 500.0), (1000.0, 700.0)] {
            let mut bench = Bench::new("map-look");
            for change in [
                vec![(Q, 2.0), (K_I, 40e3)],
                vec![(Q, 20.0), (K_I, 45e3)],
                vec![(Q, 8.0), (K_I, 52e3)],
            ] {
                bench.tuner.handle(&TuningAsk::Propose(change));
                sample::settle(&mut bench.tuner);
                let out = bench.tuner.handle(&TuningAsk::Apply { insist: true });
                sample::confirm(&mut bench.tuner, out);
            }
            let propose = TuningAsk::Propose(vec![(Q, 60.0), (K_I, 70e3)]);
            bench.tuner.handle(&propose);
            sample::settle(&mut bench.tuner);
            let mut harness = Harness::builder()
                .with_size(egui::vec2(size.0, size.1))
                .with_theme(theme)
                .wgpu()
                .build_ui_state(
                    |ui, bench: &mut Bench| {
                        theme::apply(ui.ctx());
                        egui::CentralPanel::default().show(ui, |ui| bench.ui(ui));
                    },
                    bench,
                );
            for (plane, colouring) in [
                ("weights", Colouring::Margin),
                ("weights", Colouring::Radius),
                ("delay", Colouring::Margin),
            ] {
                harness.state_mut().panel.plane = plane.into();
                harness.state_mut().panel.colouring = colouring;
                finish(&mut harness);
                let file = format!("map-{name}-{}-{plane}-{colouring:?}.png", size.0);
                let path = std::path::Path::new(&folder).join(file);
                harness.render().unwrap().save(path).unwrap();
            }
            let predictive = TuningAsk::Propose(vec![(CONTROLLER, 1.0)]);
            harness.state_mut().tuner.handle(&predictive);
            sample::settle(&mut harness.state_mut().tuner);
            for plane in ["weights", "delay"] {
                harness.state_mut().panel.plane = plane.into();
                finish(&mut harness);
                let file = format!("map-{name}-{}-{plane}-predictive.png", size.0);
                let path = std::path::Path::new(&folder).join(file);
                harness.render().unwrap().save(path).unwrap();
            }
        }
    }
}
