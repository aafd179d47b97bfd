//! The mesh: stations along x, the same for all wires, and the beam elements between them.
//!
//! Each station holds a height and a slope for the contact wire, the messenger wire and, where there
//! is one, the stitch wire. Numbering station by station keeps the bandwidth small.

use super::layout::{Layout, stitch_ends};
use super::line::{Line, SAME_PLACE_M, StitchTension, Wire};

/// A wire's unknowns at a station: height (or sideways position) and slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Number of the height.
    pub height: usize,
    /// Number of the slope.
    pub slope: usize,
}

/// Which wire an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireId {
    /// The wire that the pantograph touches.
    Contact,
    /// The wire that carries it.
    Messenger,
    /// A stitch wire.
    Stitch,
}

/// A tensioned beam between two stations.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its wire.
    pub wire: WireId,
    /// The station at its beginning.
    pub station: usize,
    /// Heights and slopes at both ends: z₁, θ₁, z₂, θ₂.
    pub dofs: [usize; 4],
    /// Length in m.
    pub length: f64,
    /// Tension in N.
    pub tension: f64,
    /// Bending stiffness in N m².
    pub bending: f64,
    /// Mass per length in kg/m.
    pub mass: f64,
}

/// A symmetric 4 × 4 element matrix.
pub type Matrix4 = [[f64; 4]; 4];

impl Element {
    /// ∫ (T N'ᵀN' + EI N″ᵀN″) dx with cubic Hermite shapes N, in N/m.
    pub fn stiffness(&self) -> Matrix4 {
        let l = self.length;
        let (t, b) = (self.tension / (30.0 * l), self.bending / l.powi(3));
        let (zz, zs) = (36.0 * t + 12.0 * b, l * (3.0 * t + 6.0 * b));
        let (near, far) = (l * l * (4.0 * t + 4.0 * b), l * l * (2.0 * b - t));
        [
            [zz, zs, -zz, zs],
            [zs, near, -zs, far],
            [-zz, -zs, zz, -zs],
            [zs, far, -zs, near],
        ]
    }

    /// ∫ m NᵀN dx, in kg.
    pub fn mass_matrix(&self) -> Matrix4 {
        let l = self.length;
        let m = self.mass * l / 420.0;
        let (a, b, c, d) = (156.0 * m, 22.0 * l * m, 54.0 * m, 13.0 * l * m);
        let (e, f) = (4.0 * l * l * m, 3.0 * l * l * m);
        [[a, b, c, -d], [b, e, d, -f], [c, d, a, -b], [-d, -f, -b, e]]
    }

    /// ∫ q N dx of a uniform load q in N/m.
    pub fn uniform_load(&self, q: f64) -> [f64; 4] {
        let l = self.length;
        [
            q * l / 2.0,
            q * l * l / 12.0,
            q * l / 2.0,
            -q * l * l / 12.0,
        ]
    }
}

/// Cubic Hermite shapes at s = (x − x₁)/ℓ on an element of length ℓ.
pub fn shapes(s: f64, length: f64) -> [f64; 4] {
    let (s2, s3) = (s * s, s * s * s);
    [
        1.0 - 3.0 * s2 + 2.0 * s3,
        length * (s - 2.0 * s2 + s3),
        3.0 * s2 - 2.0 * s3,
        length * (s3 - s2),
    ]
}

/// Their derivatives with respect to x.
pub fn shape_slopes(s: f64, length: f64) -> [f64; 4] {
    let s2 = s * s;
    [
        6.0 * (s2 - s) / length,
        1.0 - 4.0 * s + 3.0 * s2,
        6.0 * (s - s2) / length,
        3.0 * s2 - 2.0 * s,
    ]
}

/// A stitch wire's nodes.
#[derive(Clone, Debug)]
pub struct StitchNodes {
    /// The support above which it hangs.
    pub support: usize,
    /// The station of its first node.
    pub first: usize,
    /// One node a station; the heights of the first and last are the messenger wire's.
    pub nodes: Vec<Node>,
}

/// The mesh of a section.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The stations' places, in m from the first support.
    pub x: Vec<f64>,
    /// The contact wire's nodes, one a station.
    pub contact: Vec<Node>,
    /// The messenger wire's nodes, one a station.
    pub messenger: Vec<Node>,
    /// The stitch wires' nodes.
    pub stitches: Vec<StitchNodes>,
    /// All elements.
    pub elements: Vec<Element>,
    /// The station of each support.
    pub support_station: Vec<usize>,
    /// The station of each dropper.
    pub dropper_station: Vec<usize>,
    /// The upper node of each dropper.
    pub dropper_top: Vec<Node>,
    /// Number of unknowns, the held ones included.
    pub dofs: usize,
}

impl Mesh {
    /// A mesh with elements no longer than `size` m and a station at every support, dropper and clamp.
    pub fn build(line: &Line, layout: &Layout, size: f64) -> Self {
        let x = stations(layout, size);
        let find = |place: f64| nearest(&x, place);
        let support_station: Vec<usize> = layout.supports.iter().map(|s| find(s.x)).collect();
        let dropper_station: Vec<usize> = layout.droppers.iter().map(|d| find(d.x)).collect();

        let mut stitches: Vec<StitchNodes> = Vec::new();
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for (support, s) in layout.supports.iter().enumerate() {
            if let Some((from, to)) = stitch_ends(s) {
                ends.push((find(from), find(to)));
                stitches.push(StitchNodes {
                    support,
                    first: find(from),
                    nodes: Vec::new(),
                });
            }
        }

        let mut dofs = 0;
        let mut next = || {
            dofs += 1;
            dofs - 1
        };
        let (mut contact, mut messenger) = (Vec::new(), Vec::new());
        let mut current = 0;
        for station in 0..x.len() {
            contact.push(Node {
                height: next(),
                slope: next(),
            });
            let here = ends
                .get(current)
                .filter(|(from, to)| (*from..=*to).contains(&station));
            let stitch = here.map(|(from, to)| {
                let at_clamp = station == *from || station == *to;
                (
                    if at_clamp { None } else { Some(next()) },
                    next(),
                    station == *to,
                )
            });
            let m = Node {
                height: next(),
                slope: next(),
            };
            messenger.push(m);
            if let (Some((height, slope, last)), Some(s)) = (stitch, stitches.get_mut(current)) {
                s.nodes.push(Node {
                    height: height.unwrap_or(m.height),
                    slope,
                });
                if last {
                    current += 1;
                }
            }
        }

        let mut mesh = Self {
            x,
            contact,
            messenger,
            stitches,
            elements: Vec::new(),
            support_station,
            dropper_station,
            dropper_top: Vec::new(),
            dofs,
        };
        mesh.add_elements(line, &ends);
        mesh.dropper_top = layout
            .droppers
            .iter()
            .zip(&mesh.dropper_station)
            .map(|(d, &station)| mesh.top_of(d.stitch, station))
            .collect();
        mesh
    }

    fn top_of(&self, stitch: Option<usize>, station: usize) -> Node {
        self.stitches
            .iter()
            .find(|s| Some(s.support) == stitch)
            .and_then(|s| s.nodes.get(station.checked_sub(s.first)?))
            .copied()
            .unwrap_or(self.messenger[station])
    }

    fn add_elements(&mut self, line: &Line, stitch_stations: &[(usize, usize)]) {
        // Without stitch wires there is no element that would use this.
        let stitch_wire = line.stitch_wire.map_or(line.messenger_wire, |s| s.wire);
        let reduced = match line.stitch_wire.map(|s| s.messenger_tension_inside) {
            Some(StitchTension::Reduced) => stitch_wire.tension_n,
            Some(StitchTension::Kept) | None => 0.0,
        };
        for station in 0..self.x.len().saturating_sub(1) {
            let length = self.x[station + 1] - self.x[station];
            let mut add = |wire: WireId, kind: &Wire, tension: f64, a: Node, b: Node| {
                self.elements.push(Element {
                    wire,
                    station,
                    dofs: [a.height, a.slope, b.height, b.slope],
                    length,
                    tension,
                    bending: kind.bending_stiffness_nm2,
                    mass: kind.mass_kg_per_m,
                });
            };
            let c = &line.contact_wire;
            let (a, b) = (self.contact[station], self.contact[station + 1]);
            add(WireId::Contact, c, c.tension_n, a, b);
            let inside = stitch_stations
                .iter()
                .any(|(from, to)| (*from..*to).contains(&station));
            let m = &line.messenger_wire;
            let tension = m.tension_n - if inside { reduced } else { 0.0 };
            let (a, b) = (self.messenger[station], self.messenger[station + 1]);
            add(WireId::Messenger, m, tension, a, b);
            for s in &self.stitches {
                let Some(i) = station.checked_sub(s.first) else {
                    continue;
                };
                if let (Some(&a), Some(&b)) = (s.nodes.get(i), s.nodes.get(i + 1)) {
                    add(WireId::Stitch, &stitch_wire, stitch_wire.tension_n, a, b);
                }
            }
        }
    }

    /// The station at or before a place, and how far along its element the place is (0 to 1).
    pub fn locate(&self, x: f64) -> (usize, f64) {
        let last = self.x.len().saturating_sub(2);
        let station = self
            .x
            .partition_point(|&s| s <= x)
            .saturating_sub(1)
            .min(last);
        let (from, to) = (self.x[station], self.x[station + 1]);
        (station, ((x - from) / (to - from)).clamp(0.0, 1.0))
    }

    /// A quantity of the contact wire at a place, interpolated from all unknowns.
    pub fn contact_value(&self, all: &[f64], x: f64) -> f64 {
        let (station, s) = self.locate(x);
        let n = shapes(s, self.x[station + 1] - self.x[station]);
        let (a, b) = (self.contact[station], self.contact[station + 1]);
        n[0] * all[a.height] + n[1] * all[a.slope] + n[2] * all[b.height] + n[3] * all[b.slope]
    }
}

fn stations(layout: &Layout, size: f64) -> Vec<f64> {
    let mut marks: Vec<f64> = layout.supports.iter().map(|s| s.x).collect();
    marks.extend(layout.droppers.iter().map(|d| d.x));
    marks.extend(
        layout
            .supports
            .iter()
            .filter_map(stitch_ends)
            .flat_map(|(a, b)| [a, b]),
    );
    marks.sort_by(f64::total_cmp);
    marks.dedup_by(|b, a| *b - *a < SAME_PLACE_M / 2.0);
    let mut x = vec![marks.first().copied().unwrap_or(0.0)];
    for pair in marks.windows(2) {
        let [from, to] = pair else { continue };
        let pieces = ((to - from) / size - 1e-9).ceil().max(1.0);
        let count = pieces as usize;
        x.extend((1..count).map(|i| from + (to - from) * i as f64 / pieces));
        x.push(*to);
    }
    x
}

fn nearest(x: &[f64], place: f64) -> usize {
    let after = x.partition_point(|&s| s < place).min(x.len() - 1);
    let before = after.saturating_sub(1);
    if (x[before] - place).abs() < (x[after] - place).abs() {
        before
    } else {
        after
    }
}
