//! Wire models in motion: against closed forms, brute force, another integrator and each other.

use crate::catenary::{bare, close, dense, heavy_run, line, linear, pantograph, small, within};
use nalgebra::DVector;
use rt_core::model::catenary::line::{InstallationErrors, LengthError};
use rt_core::model::catenary::wire::ElasticContact;
use rt_core::model::catenary::{
    CatenaryError, Coupling, FullWire, LinearLine, ModalBasis, ModalOptions, ModalWire, Run,
    WireModel,
};
use rt_core::model::interaction_mass::MassCoupling;
use rt_core::numeric::eigen::lowest_modes;
use std::f64::consts::PI;
use std::sync::Arc;

/// ω_n² = (nπ/L)² T/m + (nπ/L)⁴ EI/m for a hinged wire; the bare line has two of them.
#[test]
fn wires_swing_at_the_frequencies_of_tensioned_beams() {
    let model = linear(&bare(), 0.5);
    let mut exact: Vec<f64> = [(20e3, 195.0, 1.35), (16e3, 131.7, 1.07)]
        .into_iter()
        .flat_map(|(t, ei, m)| {
            (1..=20).map(move |n| {
                let k = f64::from(n) * PI / 40.0;
                (k * k * t / m + k.powi(4) * ei / m).sqrt()
            })
        })
        .collect();
    exact.sort_by(f64::total_cmp);
    let modes = lowest_modes(&model.stiffness, &model.mass, 20).unwrap();
    for (w2, exact) in modes.omega2.iter().zip(exact) {
        // Cubic elements are exact to (h/wavelength)⁴, here below 10⁻⁵.
        close(w2.sqrt(), exact, 1e-5, "frequency");
    }
}

/// Classical Runge–Kutta steps of M ü + C u̇ + K u = N(x(t))ᵀ F(t), much finer than the step tested.
fn by_runge_kutta(
    model: &LinearLine,
    seconds: f64,
    force: impl Fn(f64) -> f64,
    place: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let n = model.dofs();
    let (k, m) = (dense(&model.stiffness), dense(&model.mass));
    let c = &m * model.damping.alpha_per_s + &k * model.damping.beta_s;
    let inverse = m.try_inverse().unwrap();
    let (ik, ic) = (&inverse * &k, &inverse * &c);
    let rate = |t: f64, u: &DVector<f64>, v: &DVector<f64>| {
        let point = model.contact_point(place(t));
        let mut a = -(&ik * u) - &ic * v;
        for (d, w) in point.dofs.iter().zip(point.weights) {
            a.axpy(w * force(t), &inverse.column(*d), 1.0);
        }
        a
    };
    let (mut u, mut v) = (DVector::zeros(n), DVector::zeros(n));
    let steps = (seconds / 4e-5).round() as usize;
    let h = seconds / steps as f64;
    for i in 0..steps {
        let t = i as f64 * h;
        let a1 = rate(t, &u, &v);
        let (u2, v2) = (&u + &v * (h / 2.0), &v + &a1 * (h / 2.0));
        let a2 = rate(t + h / 2.0, &u2, &v2);
        let (u3, v3) = (&u + &v2 * (h / 2.0), &v + &a2 * (h / 2.0));
        let a3 = rate(t + h / 2.0, &u3, &v3);
        let (u4, v4) = (&u + &v3 * h, &v + &a3 * h);
        let a4 = rate(t + h, &u4, &v4);
        u += (&v + (v2 + v3) * 2.0 + v4) * (h / 6.0);
        v += (a1 + (a2 + a3) * 2.0 + a4) * (h / 6.0);
    }
    u.as_slice().to_vec()
}

#[test]
fn halving_the_step_quarters_the_error() {
    let mut design = small();
    design.damping.beta_s = 1e-3;
    let model = linear(&design, 5.0);
    // A load that rises smoothly keeps all droppers tight.
    let seconds = 0.4;
    let force = |t: f64| 30.0 * (1.0 - (2.0 * PI * t / 0.4).cos());
    let place = |t: f64| 50.0 + 30.0 * t;
    let exact = by_runge_kutta(&model, seconds, force, place);
    let error = |dt: f64| {
        let mut wire = FullWire::new(model.clone(), dt).unwrap();
        for k in 1..=(seconds / dt).round() as usize {
            let t = k as f64 * dt;
            wire.predict(place(t));
            wire.respond(force(t));
            wire.commit();
            assert_eq!(wire.slack_droppers(), 0);
        }
        let difference = wire
            .motion()
            .0
            .iter()
            .zip(&exact)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>();
        (difference / exact.iter().map(|b| b * b).sum::<f64>()).sqrt()
    };
    let errors = [4e-3, 2e-3, 1e-3].map(error);
    assert!(errors[2] < 2e-3, "{errors:?}");
    for pair in errors.windows(2) {
        assert!(
            pair[0] / pair[1] > 3.4 && pair[0] / pair[1] < 4.6,
            "{errors:?}"
        );
    }
}

#[test]
fn without_damping_energy_stays() {
    let mut design = small();
    design.damping.alpha_per_s = 0.0;
    design.damping.beta_s = 0.0;
    let model = linear(&design, 1.0);
    let mut wire = FullWire::new(model.clone(), 2e-3).unwrap();
    let mut step = |force: f64| {
        wire.predict(55.0);
        wire.respond(force);
        wire.commit();
        assert_eq!(
            wire.slack_droppers(),
            0,
            "small enough to keep all droppers tight"
        );
        let (u, v, _) = wire.motion();
        let mut product = vec![0.0; u.len()];
        let mut energy = 0.0;
        for (matrix, x) in [(&model.stiffness, u), (&model.mass, v)] {
            matrix.mul_vec(x, &mut product);
            energy += 0.5 * x.iter().zip(&product).map(|(a, b)| a * b).sum::<f64>();
        }
        (energy, model.contact_point(55.0).of(u))
    };
    // While pushed, the energy is the work done; the rule integrates F du by the mean force.
    let (mut work, mut before, mut last) = (0.0, (0.0, 0.0), 0.0);
    for k in 1..=100 {
        let force = 40.0 * (1.0 - (2.0 * PI * f64::from(k) / 100.0).cos());
        let (energy, height) = step(force);
        work += 0.5 * (force + last) * (height - before.1);
        within(energy, work, 1e-9, "work done");
        (before, last) = ((energy, height), force);
    }
    assert!(before.0 > 0.05);
    for _ in 0..2000 {
        close(step(0.0).0, before.0, 1e-8, "energy of free motion");
    }
}

fn modal(model: &Arc<LinearLine>, modes: usize, dt: f64, options: ModalOptions) -> ModalWire {
    let basis = Arc::new(ModalBasis::build(model, modes, &mut |_| ()).unwrap());
    ModalWire::new(model.clone(), basis, dt, options).unwrap()
}

#[test]
fn with_all_modes_the_modal_model_is_the_full_one() {
    // With a dropper slack at rest, so that this case is covered too.
    let mut design = small();
    design.installation_errors = InstallationErrors::Given(vec![LengthError {
        span: 3,
        dropper: 3,
        too_long_m: 0.15,
    }]);
    let model = linear(&design, 2.0);
    assert!(model.droppers[10].rest < 0.0);
    let p = pantograph("en50318-2002");
    let run = heavy_run(&model);
    let mut full = FullWire::new(model.clone(), 2e-3).unwrap();
    let mut all = modal(
        &model,
        model.dofs(),
        2e-3,
        ModalOptions {
            residual: false,
            watch_all: true,
        },
    );
    let a = run.simulate(&model, &mut full, &p, &mut |_| ()).unwrap();
    let b = run.simulate(&model, &mut all, &p, &mut |_| ()).unwrap();
    assert_eq!(a.slack, b.slack);
    assert!(a.slack.iter().max() >= Some(&3));
    for (f, g) in a.force.iter().zip(&b.force) {
        within(*f, *g, 1e-4, "contact force");
    }
    // One-step compliance of dropper pairs, in all modes against full order.
    for j in 0..model.droppers.len() {
        let (s, t) = (full.slackening(), all.slackening());
        within(s.tension(j), t.tension(j), 1e-4, "tension");
    }
}

#[test]
fn at_rest_nothing_moves_even_with_slack_droppers() {
    let mut design = small();
    design.installation_errors = InstallationErrors::Given(vec![LengthError {
        span: 2,
        dropper: 2,
        too_long_m: 0.15,
    }]);
    let model = linear(&design, 2.0);
    let mut full = FullWire::new(model.clone(), 2e-3).unwrap();
    let mut reduced = modal(&model, 40, 2e-3, ModalOptions::default());
    for wire in [&mut full as &mut dyn WireModel, &mut reduced] {
        for _ in 0..100 {
            let free = wire.predict(60.0).height_free;
            let height = wire.respond(0.0);
            within(height, model.rest_height(60.0), 1e-10, "height");
            assert!((free - height).abs() < 0.2);
            wire.commit();
            assert_eq!(wire.slack_droppers(), 1);
        }
    }
}

/// Share of the one-step compliance of a dropper's pair of forces that a basis holds.
#[test]
fn attachment_vectors_give_slack_droppers_something_to_act_on() {
    let model = linear(&line("en50318-2002"), 1.0);
    let basis = ModalBasis::build(&model, 400, &mut |_| ()).unwrap();
    let dt = 2e-3;
    let d = model.damping;
    let stiff = |w2: f64| 4.0 / dt / dt + 2.0 / dt * (d.alpha_per_s + d.beta_s * w2) + w2;
    let n = basis.len();
    let held = |j: usize, count: usize| -> f64 {
        (0..count)
            .map(|m| basis.droppers[j * n + m].powi(2) / stiff(basis.omega2[m]))
            .sum()
    };
    let full = FullWire::new(model.clone(), dt).unwrap();
    let j = 40;
    let exact = {
        let mut u = vec![0.0; model.dofs()];
        let k = rt_core::model::catenary::full::effective_stiffness(
            &model,
            &rt_core::model::catenary::wire::Newmark::new(dt),
        );
        u[model.droppers[j].top] = 1.0;
        u[model.droppers[j].bottom] = -1.0;
        k.cholesky().unwrap().solve_in_place(&mut u);
        model.stretch(j, &u)
    };
    assert_eq!(full.unknowns(), model.dofs());
    let (plain, attached) = (held(j, basis.modes) / exact, held(j, n) / exact);
    assert!(plain < 0.05, "modes alone hold {plain} of it");
    assert!(
        attached > 0.3 && attached <= 1.0 + 1e-9,
        "with attachment vectors {attached}"
    );
    // Statically it is all there: K⁻¹B is in the span of the basis.
    let statically: f64 = (0..n)
        .map(|m| basis.droppers[j * n + m].powi(2) / basis.omega2[m])
        .sum();
    let mut u = vec![0.0; model.dofs()];
    u[model.droppers[j].top] = 1.0;
    u[model.droppers[j].bottom] = -1.0;
    model.stiffness.cholesky().unwrap().solve_in_place(&mut u);
    close(
        statically,
        model.stretch(j, &u),
        1e-6,
        "static stretch of a dropper",
    );
}

#[test]
fn the_residual_compliance_makes_the_contact_wire_statically_exact() {
    let model = linear(&small(), 2.0);
    let basis = ModalBasis::build(&model, 30, &mut |_| ()).unwrap();
    let n = basis.len();
    for x in [1.3, 20.0, 52.7, 119.0] {
        let point = model.contact_point(x);
        let shape = |m: usize| -> f64 {
            (0..4)
                .map(|i| point.weights[i] * basis.contact[(2 * point.station + i) * n + m])
                .sum()
        };
        let held: f64 = (0..n).map(|m| shape(m).powi(2) / basis.omega2[m]).sum();
        let left = rt_core::model::catenary::basis::quadratic(
            &basis.residual[point.station],
            &point.weights,
        );
        let exact = model.elasticity(&[x]).unwrap()[0];
        close(held + left, exact, 1e-7, "elasticity");
        assert!(left > 0.0);
    }
}

#[test]
fn looking_at_some_droppers_is_as_good_as_at_all() {
    let model = linear(&line("en50318-2002"), 2.0);
    let p = pantograph("en50318-2002");
    let basis = Arc::new(ModalBasis::build(&model, 500, &mut |_| ()).unwrap());
    let run = Run {
        spans: (5, 6),
        ..heavy_run(&model)
    };
    let simulate = |watch_all| {
        let options = ModalOptions {
            residual: true,
            watch_all,
        };
        let mut wire = ModalWire::new(model.clone(), basis.clone(), 2e-3, options).unwrap();
        run.simulate(&model, &mut wire, &p, &mut |_| ()).unwrap()
    };
    let (some, all) = (simulate(false), simulate(true));
    assert!(all.slack.iter().max() >= Some(&5), "slackening is heavy");
    let rms = |f: &dyn Fn(usize) -> f64| {
        ((0..all.force.len()).map(|i| f(i).powi(2)).sum::<f64>() / all.force.len() as f64).sqrt()
    };
    let error = rms(&|i| some.force[i] - all.force[i]) / rms(&|i| all.force[i]);
    assert!(error < 1e-3, "{error}");
}

#[test]
fn a_restored_state_continues_bit_by_bit() {
    let model = linear(&small(), 2.0);
    let mut full = FullWire::new(model.clone(), 2e-3).unwrap();
    let mut reduced = modal(&model, 60, 2e-3, ModalOptions::default());
    for wire in [&mut full as &mut dyn WireModel, &mut reduced] {
        let step = |wire: &mut dyn WireModel, k: u32| {
            wire.predict(5.0 + 0.16 * f64::from(k));
            let height = wire.respond(300.0 + 200.0 * (0.3 * f64::from(k)).sin());
            wire.commit();
            height
        };
        (0..200).for_each(|k| {
            step(wire, k);
        });
        let mut state = wire.new_state();
        wire.save(&mut state);
        let first: Vec<f64> = (200..400).map(|k| step(wire, k)).collect();
        assert!(wire.slack_droppers() > 0);
        wire.restore(&state);
        let second: Vec<f64> = (200..400).map(|k| step(wire, k)).collect();
        assert_eq!(first, second);
    }
}

#[test]
fn predictions_are_exact_while_no_dropper_changes() {
    let model = linear(&small(), 2.0);
    let mut full = FullWire::new(model.clone(), 2e-3).unwrap();
    let mut reduced = modal(&model, 60, 2e-3, ModalOptions::default());
    for wire in [&mut full as &mut dyn WireModel, &mut reduced] {
        for k in 0..50 {
            let prediction = wire.predict(60.0 + 0.1 * f64::from(k));
            for force in [50.0, 0.0, 20.0] {
                let height = wire.respond(force);
                within(
                    height,
                    prediction.height_free + prediction.compliance * force,
                    1e-12,
                    "height",
                );
            }
            // A head that cannot yield: F (1/k + c) = head − z_f.
            let contact = ElasticContact {
                stiffness: 5e4,
                head_free: prediction.height_free + 1e-3,
                head_compliance: 0.0,
                share: 1.0,
            };
            let response = wire.respond_to(&contact);
            close(
                response.force,
                1e-3 / (2e-5 + prediction.compliance),
                1e-9,
                "force",
            );
            wire.respond(20.0);
            wire.commit();
        }
    }
}

#[test]
fn bad_runs_are_refused_with_what_is_possible() {
    let model = linear(&small(), 2.0);
    let p = pantograph("en50318-2002");
    let mut wire = FullWire::new(model.clone(), 2e-3).unwrap();
    let good = heavy_run(&model);
    let mut refused = |run: Run| {
        run.simulate(&model, &mut wire, &p, &mut |_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(Run {
            spans: (2, 4),
            ..good
        })
        .contains("spans 1 to 3")
    );
    assert!(
        refused(Run {
            spans: (2, 3),
            start_span: 3,
            ..good
        })
        .contains("begins with span 3")
    );
    assert!(
        refused(Run {
            speed_kmh: f64::NAN,
            ..good
        })
        .contains("speed")
    );
    assert!(
        refused(Run {
            uplift_n: -1.0,
            ..good
        })
        .contains("uplift")
    );
    let soft = MassCoupling {
        pad_stiffness: f64::NAN,
        ..MassCoupling::table_2()
    };
    let coupling = Coupling::InteractionMass(soft);
    assert!(refused(Run { coupling, ..good }).contains("pad stiffness"));
    let coupling = Coupling::Implicit { stiffness: 0.0 };
    assert!(refused(Run { coupling, ..good }).contains("contact stiffness"));
    assert!(matches!(
        Run::new(&model, &p, 250.0),
        Err(CatenaryError::TooShort(_))
    ));
    assert!(FullWire::new(model.clone(), 0.0).is_err());
    assert!(ModalBasis::build(&model, 0, &mut |_| ()).is_err());
    // √(20000/1.35) m/s is 438 km/h; 90 % of it is 394.
    let fast = Run {
        speed_kmh: 400.0,
        ..good
    }
    .simulate(&model, &mut wire, &p, &mut |_| ())
    .unwrap();
    assert!(
        fast.warnings[0].contains("wave speed of 438 km/h"),
        "{:?}",
        fast.warnings
    );
    assert!(
        good.simulate(&model, &mut wire, &p, &mut |_| ())
            .unwrap()
            .warnings
            .is_empty()
    );
}
