//! A chain of equal spans: two tensioned wires with droppers, as a catenary has.

use rt_core::numeric::banded::SymBanded;

/// A tensioned Euler–Bernoulli wire.
pub struct Wire {
    /// Tension in N.
    pub tension: f64,
    /// Bending stiffness in N m².
    pub bending: f64,
    /// Mass per length in kg/m.
    pub mass: f64,
}

/// Adds one cubic Hermite element of length h with the unknowns u, u', u, u' at `places`.
pub fn add_element(
    wire: &Wire,
    h: f64,
    places: [usize; 4],
    stiffness: &mut SymBanded,
    mass: &mut SymBanded,
) {
    let bending = [
        [12.0, 6.0 * h, -12.0, 6.0 * h],
        [6.0 * h, 4.0 * h * h, -6.0 * h, 2.0 * h * h],
        [-12.0, -6.0 * h, 12.0, -6.0 * h],
        [6.0 * h, 2.0 * h * h, -6.0 * h, 4.0 * h * h],
    ];
    let tension = [
        [36.0, 3.0 * h, -36.0, 3.0 * h],
        [3.0 * h, 4.0 * h * h, -3.0 * h, -h * h],
        [-36.0, -3.0 * h, 36.0, -3.0 * h],
        [3.0 * h, -h * h, -3.0 * h, 4.0 * h * h],
    ];
    let inertia = [
        [156.0, 22.0 * h, 54.0, -13.0 * h],
        [22.0 * h, 4.0 * h * h, 13.0 * h, -3.0 * h * h],
        [54.0, 13.0 * h, 156.0, -22.0 * h],
        [-13.0 * h, -3.0 * h * h, -22.0 * h, 4.0 * h * h],
    ];
    for i in 0..4 {
        for j in 0..=i {
            let k = wire.bending / h.powi(3) * bending[i][j]
                + wire.tension / (30.0 * h) * tension[i][j];
            let m = wire.mass * h / 420.0 * inertia[i][j];
            stiffness.add(places[i], places[j], k).expect("inside");
            mass.add(places[i], places[j], m).expect("inside");
        }
    }
}

/// K and M of `spans` equal spans of 60 m with nine droppers, `elements` a span, supports of
/// 500 kN/m and 300 N/m; four unknowns a node, half-bandwidth 8 (three of them empty).
pub fn two_wires(spans: usize, elements: usize) -> (SymBanded, SymBanded) {
    let contact = Wire {
        tension: 20e3,
        bending: 195.0,
        mass: 1.35,
    };
    let messenger = Wire {
        tension: 16e3,
        bending: 131.7,
        mass: 1.07,
    };
    let nodes = spans * elements + 1;
    let mut stiffness = SymBanded::zeros(4 * nodes, 8);
    let mut mass = SymBanded::zeros(4 * nodes, 8);
    let h = 60.0 / elements as f64;
    for node in 0..nodes - 1 {
        for (offset, wire) in [(0, &contact), (2, &messenger)] {
            let at = 4 * node + offset;
            let places = [at, at + 1, at + 4, at + 5];
            add_element(wire, h, places, &mut stiffness, &mut mass);
        }
    }
    let mut spring = |place: usize, k: f64| stiffness.add(place, place, k).expect("inside");
    for support in 0..=spans {
        spring(4 * support * elements, 300.0);
        spring(4 * support * elements + 2, 500e3);
    }
    for end in [0, 4 * (nodes - 1)] {
        spring(end, 1e6);
    }
    for span in 0..spans {
        for x in [5.0, 10.5, 17.0, 23.5, 30.0, 36.5, 43.0, 49.5, 55.0_f64] {
            let node = span * elements + (x / h).round() as usize;
            for (i, j, k) in [(0, 0, 100e3), (2, 2, 100e3), (2, 0, -100e3)] {
                stiffness
                    .add(4 * node + i, 4 * node + j, k)
                    .expect("inside");
            }
        }
    }
    (stiffness, mass)
}
