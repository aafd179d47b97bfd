//! What the catenary tests share: the shipped files, and a small line to take apart.

use nalgebra::DMatrix;
use rt_core::file::{load, parse};
use rt_core::model::catenary::simulate::CONTACT_STIFFNESS;
use rt_core::model::catenary::{Coupling, Line, LinearLine, Run, Standard};
use rt_core::model::pantograph::Pantograph;
use rt_core::numeric::banded::SymBanded;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn asset(kind: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets")
        .join(kind)
        .join(format!("{name}.ron"))
}

pub fn line(name: &str) -> Line {
    load(&asset("lines", name)).unwrap()
}

pub fn pantograph(name: &str) -> Pantograph {
    load(&asset("pantographs", name)).unwrap()
}

pub fn standard(name: &str) -> Standard {
    load(&asset("standards", name)).unwrap()
}

pub fn linear(line: &Line, mesh_m: f64) -> Arc<LinearLine> {
    Arc::new(LinearLine::build(line, mesh_m).unwrap())
}

/// A line of equal spans; `{…}` fields are replaced by the caller.
pub const SMALL: &str = r#"Line(
    name: "small",
    contact_wire: (mass_kg_per_m: 1.35, tension_n: 20.0e3, bending_stiffness_nm2: 195.0, axial_stiffness_n: 17.0e6),
    messenger_wire: (mass_kg_per_m: 1.07, tension_n: 16.0e3, bending_stiffness_nm2: 131.7, axial_stiffness_n: 13.0e6),
    dropper: (stiffness: Spring(1.0e5), mass_kg_per_m: 0.1),
    clamps: (messenger_kg: 0.2, contact_kg: 0.1),
    damping: (alpha_per_s: 0.02, beta_s: 2.0e-4),
    supports: {
        "a": (encumbrance_m: 1.2, contact: Dipping),
    },
    spans: {
        "s": (length_m: 40.0, droppers: [(x_m: 5.0), (x_m: 15.0), (x_m: 25.0), (x_m: 35.0)]),
    },
    section: [(repeat: 3, spans: [(span: "s", support: "a")])],
    last_support: "a",
)"#;

pub fn small() -> Line {
    parse(SMALL, Path::new("small.ron")).unwrap()
}

/// The small line's wires without any dropper, one span of 40 m.
pub fn bare() -> Line {
    let mut line = small();
    line.spans.get_mut("s").unwrap().droppers.clear();
    line.section[0].repeat = 1;
    line
}

pub fn close(value: f64, expected: f64, relative: f64, what: &str) {
    assert!(
        (value - expected).abs() <= relative * expected.abs(),
        "{what}: {value} is not within {relative} of {expected}"
    );
}

pub fn within(value: f64, expected: f64, absolute: f64, what: &str) {
    assert!(
        (value - expected).abs() <= absolute,
        "{what}: {value} is not within {absolute} of {expected}"
    );
}

pub fn dense(m: &SymBanded) -> DMatrix<f64> {
    DMatrix::from_fn(m.order(), m.order(), |i, j| m.get(i, j))
}

/// A run over the whole line with enough force to make droppers slack.
pub fn heavy_run(model: &LinearLine) -> Run {
    let n = model.layout.spans();
    Run {
        speed_kmh: 250.0,
        uplift_n: 350.0,
        coupling: Coupling::Implicit {
            stiffness: CONTACT_STIFFNESS,
        },
        start_span: 1,
        spans: (1, n),
    }
}
