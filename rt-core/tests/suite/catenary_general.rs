//! One line with everything that a line file can describe.

use crate::catenary::{linear, pantograph};
use rt_core::file::parse;
use rt_core::model::catenary::simulate::CONTACT_STIFFNESS;
use rt_core::model::catenary::{
    Coupling, FullWire, Line, ModalBasis, ModalOptions, ModalWire, Reference, Report, Run,
    StaticReport, WireModel, draw,
};
use rt_core::signal::contact_force::ForceFilter;
use std::path::Path;
use std::sync::Arc;

const GENERAL: &str = r#"Line(
    name: "general",
    contact_wire: (mass_kg_per_m: 1.07, tension_n: 24.0e3, bending_stiffness_nm2: 150.0, axial_stiffness_n: 13.0e6),
    messenger_wire: (mass_kg_per_m: 0.85, tension_n: 16.0e3, bending_stiffness_nm2: 100.0, axial_stiffness_n: 10.0e6),
    stitch_wire: (
        wire: (mass_kg_per_m: 0.31, tension_n: 2.8e3, bending_stiffness_nm2: 0.0, axial_stiffness_n: 3.0e6),
        messenger_tension_inside: Kept,
    ),
    dropper: (stiffness: Axial(150.0e3), mass_kg_per_m: 0.11),
    clamps: (messenger_kg: 0.2, contact_kg: 0.15),
    damping: (alpha_per_s: 0.0125, beta_s: 1.0e-4),
    supports: {
        "left": (
            encumbrance_m: 1.4, contact_stagger_m: 0.25, contact: Dipping,
            steady_arm: (length_m: 1.1, mass_kg: 1.0, heel_rise_m: 0.15),
            stitch: (length_m: 14.0),
        ),
        "right": (
            encumbrance_m: 1.4, contact_stagger_m: -0.25, contact: Level,
            messenger_stiffness_n_per_m: 300.0e3,
            steady_arm: (length_m: 1.1, mass_kg: 1.0, stiffness_n_per_m: 40.0),
        ),
        "low": (encumbrance_m: 0.9, contact_stagger_m: 0.1, messenger_stagger_m: 0.05, contact: Dipping),
        "anchor": (encumbrance_m: 1.0, contact_elevation_m: 0.1, contact: Level),
    },
    spans: {
        "long": (
            length_m: 60.0, presag_depth_m: 0.03,
            droppers: [(x_m: 5.0), (x_m: 15.0), (x_m: 25.0), (x_m: 35.0), (x_m: 45.0), (x_m: 55.0)],
        ),
        "short": (
            length_m: 42.0,
            droppers: [
                (x_m: 4.0), (x_m: 13.0, presag_m: 0.004), (x_m: 21.0, stiffness: Spring(8.0e4)),
                (x_m: 30.0, mass_kg_per_m: 0.3), (x_m: 38.0),
            ],
        ),
        "transition": (
            length_m: 50.0, presag_depth_m: 0.045,
            droppers: [(x_m: 6.0), (x_m: 16.0), (x_m: 26.0), (x_m: 36.0), (x_m: 45.0)],
        ),
    },
    section: [
        (repeat: 1, spans: [(span: "transition", support: "anchor")]),
        (repeat: 2, spans: [
            (span: "long", support: "left"), (span: "short", support: "right"), (span: "short", support: "low"),
        ]),
        (repeat: 1, spans: [(span: "transition", support: "left")]),
    ],
    last_support: "anchor",
    installation_errors: Drawn(seed: 11, sigma_m: 0.002),
)"#;

#[test]
fn a_general_line_is_described_prepared_and_run() {
    let design: Line = parse(GENERAL, Path::new("general.ron")).unwrap();
    let model = linear(&design, 1.0);
    assert_eq!(model.layout.spans(), 8);
    assert!((model.layout.length() - (2.0 * 50.0 + 2.0 * (60.0 + 42.0 + 42.0))).abs() < 1e-9);
    // Three stitch wires; a dropper within 7 m of such a support hangs from it.
    assert_eq!(model.mesh.stitches.len(), 3);
    let on_stitch = model
        .layout
        .droppers
        .iter()
        .filter(|d| d.stitch.is_some())
        .count();
    assert_eq!(on_stitch, 6);

    let table = StaticReport::of(&model, 5.0).unwrap();
    // The level support is pulled sideways by both spans and lifts its share of the wire.
    let level = &table.supports[2];
    assert!(
        level.arm_lateral_n.abs() > 100.0 && level.arm_vertical_n > 10.0,
        "{level:?}"
    );
    assert!(
        table
            .elasticity
            .iter()
            .all(|e| e.mm_per_n >= 0.0 && e.mm_per_n < 1.0)
    );
    assert!(draw::svg(&model, &design.name, 1, 8).contains("spans 1 to 8"));

    let p = pantograph("dsa-380");
    let run = Run {
        speed_kmh: 200.0,
        uplift_n: 120.0,
        coupling: Coupling::Implicit {
            stiffness: CONTACT_STIFFNESS,
        },
        start_span: 2,
        spans: (4, 6),
    };
    let report = |wire: &mut dyn WireModel, reference: Option<&Reference>| {
        let series = run.simulate(&model, wire, &p, &mut |_| ()).unwrap();
        let report = Report::of(
            &model,
            &run,
            &series,
            wire.unknowns(),
            ForceFilter::default(),
            reference,
        )
        .unwrap();
        (report, Reference::from(&series))
    };
    let (exact, reference) = report(&mut FullWire::new(model.clone(), 5e-4).unwrap(), None);
    assert!(
        exact.mean_n > 100.0 && exact.mean_n < 120.0 && exact.loss_pct == 0.0,
        "{exact:?}"
    );
    let basis = Arc::new(ModalBasis::build(&model, 900, &mut |_| ()).unwrap());
    let mut modal = ModalWire::new(model.clone(), basis, 2e-3, ModalOptions::default()).unwrap();
    let error = report(&mut modal, Some(&reference))
        .0
        .error_filtered_pct
        .unwrap();
    assert!(
        error < 4.0,
        "modal model against the reference solver: {error} %"
    );
}
