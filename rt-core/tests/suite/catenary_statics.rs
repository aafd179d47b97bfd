//! Overhead lines at rest: against closed forms, balances and published figures.

use crate::catenary::{SMALL, bare, close, line, linear, small, within};
use rt_core::file::parse;
use rt_core::model::catenary::assembly::forces;
use rt_core::model::catenary::line::{ContactSupport, InstallationErrors, LengthError, SteadyArm};
use rt_core::model::catenary::mesh::{Node, WireId};
use rt_core::model::catenary::statics::G;
use rt_core::model::catenary::{CatenaryError, Line, LinearLine, StaticReport};
use rt_core::numeric::banded::SymBanded;
use std::f64::consts::TAU;
use std::path::Path;

/// Hinged beam of length L under tension T and load w:
/// z = −w x(L−x)/2T + (w EI/T²) (1 − cosh λ(x−L/2)/cosh λL/2), λ = √(T/EI).
#[test]
fn a_free_wire_hangs_as_the_closed_form_says() {
    let model = linear(&bare(), 0.1);
    let (w, t, ei, l) = (1.35 * G, 20e3f64, 195.0, 40.0);
    let lambda = (t / ei).sqrt();
    for x in [0.3, 2.0, 7.5, 20.0, 33.0] {
        let bent = (lambda * (x - l / 2.0f64)).cosh() / (lambda * l / 2.0).cosh();
        let exact = -w * x * (l - x) / (2.0 * t) + w * ei / (t * t) * (1.0 - bent);
        // Cubic elements of 0.1 m resolve the boundary layer of 0.1 m to some 10⁻⁵ of the sag.
        within(
            model.rest_height(x),
            exact,
            1e-6,
            &format!("height at {x} m"),
        );
    }
}

#[test]
fn the_stitched_line_has_the_published_rest_position() {
    let model = linear(&line("stitched-sw"), 1.0);
    assert_eq!(model.dofs(), 6105);
    let span = 9;
    let forces: Vec<f64> = model
        .layout
        .droppers
        .iter()
        .zip(&model.statics.droppers)
        .filter(|(p, _)| p.span == span)
        .map(|(_, d)| d.force)
        .collect();
    let published = [150.2, 124.7, 117.0, 114.3, 117.0, 124.7, 150.2];
    for (ours, theirs) in forces.iter().zip(published) {
        close(*ours, theirs, 0.01, "dropper force");
    }
    close(1e3 * model.sag(span), 3.46, 0.04, "sag");
    let elasticity = model.elasticity(&[9.0 * 65.0, 9.5 * 65.0]).unwrap();
    close(
        1e3 * elasticity[0],
        0.457,
        0.015,
        "elasticity at the support",
    );
    close(1e3 * elasticity[1], 0.487, 0.015, "elasticity at mid-span");
    // As many eigenvalues of K − ω²M are below zero as there are frequencies below ω.
    let below = |hz: f64| {
        SymBanded::linear_combination(1.0, &model.stiffness, -(TAU * hz).powi(2), &model.mass)
            .negative_eigenvalues()
            .unwrap()
    };
    assert_eq!((below(0.6016 * 0.997), below(0.6016 * 1.003)), (0, 1));
    close(below(20.0) as f64, 716.0, 0.003, "modes below 20 Hz");
    close(below(50.0) as f64, 1908.0, 0.003, "modes below 50 Hz");
}

#[test]
fn the_rest_position_converges_with_the_mesh() {
    let design = line("stitched-sw");
    let sags: Vec<f64> = [1.0, 0.5, 0.25, 0.1]
        .map(|h| 1e3 * linear(&design, h).sag(9))
        .to_vec();
    close(sags[3], 3.55, 0.005, "sag at 0.1 m, published");
    let errors: Vec<f64> = sags[..3].iter().map(|s| (s - sags[3]).abs()).collect();
    assert!(
        errors[1] < 0.5 * errors[0] && errors[2] < 0.5 * errors[1],
        "{sags:?}"
    );
}

#[test]
fn a_symmetric_line_is_symmetric() {
    for name in ["stitched-sw", "en50318-2002", "simple-55m"] {
        let model = linear(&line(name), 1.0);
        let length = model.layout.length();
        for i in 0..200 {
            let x = length * f64::from(i) / 400.0;
            within(
                model.rest_height(x),
                model.rest_height(length - x),
                1e-9,
                name,
            );
        }
        let n = model.droppers.len();
        for i in 0..n {
            let (a, b) = (
                &model.statics.droppers[i],
                &model.statics.droppers[n - 1 - i],
            );
            within(a.force, b.force, 1e-5, name);
            within(a.length, b.length, 1e-8, name);
        }
    }
}

/// Every force on every unknown: wires, weights, droppers as they are.
fn imbalance(line: &Line, model: &LinearLine) -> f64 {
    let mut rest = forces(&model.mesh, &[], &model.statics.z);
    for e in &model.mesh.elements {
        for (dof, f) in e.dofs.iter().zip(e.uniform_load(-e.mass * G)) {
            rest[*dof] -= f;
        }
    }
    assert!(line.supports.values().all(|s| s.steady_arm.is_none()));
    for (r, kg) in rest.iter_mut().zip(&model.statics.lumped) {
        *r += kg * G;
    }
    for (i, d) in model.statics.droppers.iter().enumerate() {
        let pull = d.force.max(0.0) * d.cosine;
        rest[model.mesh.dropper_top[i].height] += pull;
        rest[model.mesh.contact[model.mesh.dropper_station[i]].height] -= pull;
    }
    (0..model.mesh.dofs)
        .filter(|&dof| model.free.number[dof].is_some())
        .map(|dof| rest[dof].abs())
        .fold(0.0, f64::max)
}

#[test]
fn every_unknown_is_in_balance() {
    let design = small();
    let model = linear(&design, 1.0);
    assert!(
        imbalance(&design, &model) < 1e-6,
        "{}",
        imbalance(&design, &model)
    );
    // Dropper by dropper the stretch is the force over the stiffness: nothing else holds the wires.
    let weight: f64 = 1.35 * G * 120.0 + 12.0 * 0.1 * G;
    let carried: f64 = model.statics.droppers.iter().map(|d| d.force).sum();
    assert!(
        carried > 0.85 * weight && carried < weight,
        "{carried} of {weight}"
    );
}

#[test]
fn wrong_droppers_leave_the_line_in_balance_and_some_of_them_slack() {
    let mut design = small();
    design.installation_errors = InstallationErrors::Given(vec![
        LengthError {
            span: 2,
            dropper: 2,
            too_long_m: 0.12,
        },
        LengthError {
            span: 3,
            dropper: 1,
            too_long_m: -0.02,
        },
    ]);
    let model = linear(&design, 1.0);
    assert!(
        imbalance(&design, &model) < 1e-6,
        "{}",
        imbalance(&design, &model)
    );
    let force = |span: usize, dropper: usize| model.statics.droppers[4 * span + dropper].force;
    let as_designed = linear(&small(), 1.0);
    assert!(
        force(1, 1) < 0.0,
        "too long by 120 mm it is slack: {}",
        force(1, 1)
    );
    assert!(
        force(2, 0) > as_designed.statics.droppers[8].force + 5.0,
        "too short it carries more"
    );

    let drawn = |seed| {
        let mut design = small();
        design.installation_errors = InstallationErrors::Drawn {
            seed,
            sigma_m: 0.003,
        };
        linear(&design, 1.0)
    };
    let (a, b, c) = (drawn(1), drawn(1), drawn(2));
    assert_eq!(a.statics.z, b.statics.z);
    assert_ne!(a.statics.z, c.statics.z);
    let n = a.layout.droppers.len() as f64;
    let sigma = (a
        .layout
        .droppers
        .iter()
        .map(|d| d.too_long.powi(2))
        .sum::<f64>()
        / n)
        .sqrt();
    assert!(sigma > 0.0015 && sigma < 0.005, "{sigma}");
}

/// Contact wire at ±s, spans of length L: the arm's lateral load is T·2·2s/L.
#[test]
fn stagger_loads_the_arms_and_couples_to_second_order_only() {
    let staggered = |contact: f64, messenger: f64| {
        let mut design = small();
        let mut support = design.supports["a"].clone();
        support.steady_arm = Some(SteadyArm {
            length_m: 1.0,
            mass_kg: 1.2,
            stiffness_n_per_m: 50.0,
            heel_rise_m: 0.2,
        });
        for (name, side) in [("a", 1.0), ("b", -1.0)] {
            support.contact_stagger_m = side * contact;
            support.messenger_stagger_m = side * messenger;
            design.supports.insert(name.into(), support.clone());
        }
        let mut pair = design.section[0].spans.clone();
        pair.push(pair[0].clone());
        pair[1].support = "b".into();
        design.section[0].spans = pair;
        linear(&design, 1.0)
    };
    // Both wires zigzag together: the droppers hang straight and the closed form holds (the bending
    // stiffness rounds the corner over 0.1 m of 40 m).
    let together = staggered(0.2, 0.2);
    let lateral = 20e3 * 4.0 * 0.2 / 40.0;
    let arm = together.statics.arms[2];
    close(arm.lateral.abs(), lateral, 0.01, "lateral load");
    let across = (1.0f64 - 0.04).sqrt();
    close(
        arm.vertical,
        arm.lateral.abs() * 0.2 / across - 0.6 * G,
        1e-9,
        "vertical load",
    );
    close(
        arm.stiffness,
        50.0 + arm.lateral.abs() / across,
        1e-9,
        "pendulum stiffness",
    );

    // The messenger runs straight: droppers hang inclined. Their forces change by second order: with
    // half the stagger by a quarter.
    let dropper = |s: f64| staggered(s, 0.0).statics.droppers[9];
    let (none, half, whole) = (dropper(0.0), dropper(0.1), dropper(0.2));
    assert!(
        half.cosine > whole.cosine && whole.cosine > 0.98,
        "{}",
        whole.cosine
    );
    let (small, large) = (1.0 - half.cosine, 1.0 - whole.cosine);
    close(large / small, 4.0, 0.05, "inclination is of second order");
    close(
        whole.force,
        none.force,
        0.02,
        "a dropper at mid-span hardly feels it",
    );
}

#[test]
fn a_level_support_carries_its_share_and_a_dipping_one_nothing() {
    let with = |contact| {
        let mut design = small();
        design.supports.get_mut("a").unwrap().contact = contact;
        linear(&design, 0.5)
    };
    let (level, dipping) = (with(ContactSupport::Level), with(ContactSupport::Dipping));
    within(level.rest_height(40.0), 0.0, 1e-12, "level");
    assert!(dipping.rest_height(40.0) < -0.005);
    // The 5 m to either side hang half on the support.
    close(
        level.statics.arms[1].vertical,
        1.35 * G * 5.0,
        0.03,
        "load of a level support",
    );
    assert_eq!(dipping.statics.arms[1].vertical, 0.0);
}

#[test]
fn elevated_ends_and_presag_are_where_they_were_asked_for() {
    let mut design = small();
    let mut end = design.supports["a"].clone();
    end.contact_elevation_m = 0.08;
    design.supports.insert("end".into(), end);
    design.last_support = "end".into();
    let mut last = design.spans["s"].clone();
    // A parabola, so that no dropper has to push.
    for (d, below) in last
        .droppers
        .iter_mut()
        .zip([0.0087, 0.0187, 0.0187, 0.0087])
    {
        d.presag_m = below;
    }
    last.presag_depth_m = 0.002;
    design.spans.insert("last".into(), last);
    design.section[0].repeat = 2;
    design.section.push(rt_core::model::catenary::line::Run {
        repeat: 1,
        spans: vec![rt_core::model::catenary::line::SpanUse {
            span: "last".into(),
            support: "a".into(),
        }],
    });
    let model = linear(&design, 1.0);
    // 15 m of 40: 0.08·15/40 − 0.0187 − 0.002·4·(10·20)/30².
    let expected = 0.08 * 15.0 / 40.0 - 0.0187 - 0.002 * 4.0 * 10.0 * 20.0 / 900.0;
    within(
        model.rest_height(80.0 + 15.0),
        expected,
        1e-12,
        "height at the dropper",
    );
    within(model.rest_height(120.0), 0.08, 1e-12, "height at the end");
}

#[test]
fn slopes_are_small() {
    for name in ["stitched-sw", "en50318-2002", "simple-55m"] {
        let model = linear(&line(name), 1.0);
        let steepest = |nodes: &[Node]| {
            nodes
                .iter()
                .map(|n| model.statics.z[n.slope].abs())
                .fold(0.0, f64::max)
        };
        let (contact, messenger) = (
            steepest(&model.mesh.contact),
            steepest(&model.mesh.messenger),
        );
        println!("{name}: contact wire {contact:.4}, messenger wire {messenger:.4}");
        assert!(
            contact < 0.01 && messenger < 0.1,
            "{name}: {contact} {messenger}"
        );
    }
}

#[test]
fn constant_tension_is_a_good_assumption() {
    let design = line("stitched-sw");
    let model = linear(&design, 1.0);
    // 250 N at mid-span lift the wire by more than a pantograph does.
    let point = model.contact_point(9.5 * 65.0);
    let mut u = vec![0.0; model.dofs()];
    for (d, w) in point.dofs.iter().zip(point.weights) {
        u[*d] += 250.0 * w;
    }
    model.stiffness.cholesky().unwrap().solve_in_place(&mut u);
    assert!(point.of(&u) > 0.11);
    let all: Vec<f64> = model
        .free
        .number
        .iter()
        .map(|n| n.map_or(0.0, |i| u[i]))
        .collect();
    for (wire, kind) in [
        (WireId::Contact, design.contact_wire),
        (WireId::Messenger, design.messenger_wire),
    ] {
        let rise = model
            .statics
            .tension_rise(&model.mesh, wire, kind.axial_stiffness_n, &all);
        assert!(
            rise.abs() < 1e-3 * kind.tension_n,
            "{wire:?}: {rise} N of {} N",
            kind.tension_n
        );
    }
}

#[test]
fn the_table_of_a_line_at_rest_says_what_the_model_does() {
    let model = linear(&line("simple-55m"), 0.5);
    let table = StaticReport::of(&model, 5.0).unwrap();
    assert_eq!(
        (table.dofs, table.spans.len(), table.supports.len()),
        (model.dofs(), 20, 21)
    );
    let span = &table.spans[9];
    assert_eq!(
        (span.index, span.x0_m, span.length_m, span.droppers.len()),
        (10, 495.0, 55.0, 9)
    );
    // Published lengths of this line's droppers; ours are longer by some millimetres, as an
    // independent solution found too.
    for (d, listed) in span
        .droppers
        .iter()
        .zip([1.017, 0.896, 0.810, 0.758, 0.741])
    {
        assert!(
            (0.003..0.007).contains(&(d.length_m - listed)),
            "{} for {listed}",
            d.length_m
        );
    }
    within(
        span.droppers[4].height_m,
        -0.055,
        1e-12,
        "pre-sag at mid-span",
    );
    let middle = table
        .elasticity
        .iter()
        .find(|e| (e.x_m - 522.5).abs() < 1e-9)
        .unwrap();
    close(middle.mm_per_n, 0.398, 0.015, "elasticity at mid-span");
    assert_eq!(table.heights.len(), table.elasticity.len());
    assert!(StaticReport::of(&model, 0.0).is_err());
    // An independent solution gave 0.934 Hz and 0.206 mm/N at the support; its steady arms, which are
    // not published and stiffen the support, are not in ours.
    let first = model.frequencies(1).unwrap()[0];
    assert!(first < 0.934, "softer supports, lower frequency: {first}");
    close(first, 0.934, 0.02, "first frequency");
    let support = table
        .elasticity
        .iter()
        .find(|e| (e.x_m - 495.0).abs() < 1e-9)
        .unwrap();
    assert!(support.mm_per_n > 0.206);
    close(support.mm_per_n, 0.206, 0.06, "elasticity at the support");
}

fn refused(change: impl Fn(&str) -> String) -> String {
    let text = change(SMALL);
    assert_ne!(text, SMALL, "the change took place");
    parse::<Line>(&text, Path::new("small.ron"))
        .unwrap_err()
        .to_string()
}

#[test]
fn bad_lines_are_refused_with_their_place() {
    let cases: [(&str, &str, &[&str]); 12] = [
        (
            "(x_m: 35.0)",
            "(x_m: 41.0)",
            &["spans[\"s\"]", "dropper 4", "41", "outside its span"],
        ),
        ("(x_m: 15.0)", "(x_m: NaN)", &["dropper 2", "NaN"]),
        ("(x_m: 15.0)", "(x_m: 5.0)", &["dropper 2", "5 m"]),
        (
            "tension_n: 20.0e3",
            "tension_n: 0.0",
            &["contact_wire.tension_n", "above 0"],
        ),
        (
            "tension_n: 16.0e3",
            "tension_n: NaN",
            &["messenger_wire.tension_n", "NaN"],
        ),
        (
            "Spring(1.0e5)",
            "Spring(-1.0)",
            &["dropper.stiffness.Spring"],
        ),
        (
            "encumbrance_m: 1.2",
            "encumbrance_m: inf",
            &["supports[\"a\"].encumbrance_m"],
        ),
        ("repeat: 3", "repeat: 0", &["section[0].repeat"]),
        (
            "span: \"s\"",
            "span: \"t\"",
            &["there is no kind of span 't'", "defined are: s"],
        ),
        (
            "last_support: \"a\"",
            "last_support: \"b\"",
            &["there is no kind of support 'b'"],
        ),
        (
            "contact: Dipping",
            "contact: Dipping, stitch: (length_m: 9.0)",
            &["stitch_wire"],
        ),
        ("alpha_per_s: 0.02", "alpha: 0.02", &["alpha_per_s"]),
    ];
    for (old, new, expected) in cases {
        let text = refused(|s| s.replacen(old, new, 1));
        for part in expected {
            assert!(
                text.contains(part),
                "{old} → {new}: '{part}' is missing in: {text}"
            );
        }
    }
}

#[test]
fn impossible_designs_are_refused_with_span_and_dropper() {
    // A dropper that lifts its place 60 mm above its neighbours would have to pull those down.
    let mut design = small();
    design.spans.get_mut("s").unwrap().droppers[1].presag_m = -0.06;
    match LinearLine::build(&design, 1.0) {
        Err(e @ CatenaryError::DropperPushes { .. }) => {
            let text = e.to_string();
            assert!(
                text.contains("dropper ") && text.contains(" of span "),
                "{text}"
            );
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    let mut design = small();
    design.messenger_wire.tension_n = 2000.0;
    assert!(matches!(
        LinearLine::build(&design, 1.0),
        Err(CatenaryError::NoRoom { .. })
    ));
    assert!(LinearLine::build(&small(), f64::NAN).is_err());
    assert!(LinearLine::build(&small(), 0.0).is_err());
}
