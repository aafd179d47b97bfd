//! A finite-element line that goes on without end under a moving force, from one of its spans.
//!
//! At a fixed place the force e^{iωt} δ(x − Vt) is a short push; its part of frequency ω′ is the load
//! e^{iκx}/V along the whole wire with κ = (ω − ω′)/V, which advances by the phase κL from span to span. So
//! one span with matching ends gives the answer to it, and the answer to the moving force is the sum over
//! all κ. Between harmonics k and j of the spans
//!
//!   H_kj = (1/2πL) ∫ dκ p_k† Z(ω − κV, e^{iκL})⁻¹ p_j,  p_j = ∫ Nᵀ(x) e^{i(κ + 2πj/L)x} dx.
//!
//! Nothing is reflected by ends and nothing is left of a start; all droppers stay tight.

mod cell;
mod quadrature;

use super::{MovingLoad, MovingLoadError, SpanResponse, check_count};
use crate::file::require_within;
use crate::model::catenary::LinearLine;
use crate::model::catenary::mesh::shapes;
use cell::Cell;
use nalgebra::{Complex, DMatrix};
use quadrature::integrate;
use std::f64::consts::TAU;

/// Half of the nodes and weights of Gauss's rule of 12 points on −1 … 1.
const GAUSS: [(f64, f64); 6] = [
    (0.125_233_408_511_468_9, 0.249_147_045_813_402_8),
    (0.367_831_498_998_180_2, 0.233_492_536_538_354_8),
    (0.587_317_954_286_617_4, 0.203_167_426_723_065_92),
    (0.769_902_674_194_304_7, 0.160_078_328_543_346_23),
    (0.904_117_256_370_474_9, 0.106_939_325_995_318_43),
    (0.981_560_634_246_719_3, 0.047_175_336_386_511_83),
];
/// Wavenumbers beyond this times the waves of an element's length are not carried by the mesh: 2π/h.
const WAVES_OF_ELEMENT: f64 = 4.0;
/// Slow waves, with sharp resonances, are looked for in steps of this wavenumber, in rad/m.
const FINE_STEP: f64 = 0.05;
/// Up to this frequency, in rad/s; beyond, damping makes everything smooth.
const FINE_UP_TO: f64 = 250.0;
/// Error of an entry, in m/N: answers are 1e-5 m/N and more up to 25 Hz.
const TOLERANCE: f64 = 1e-7;
/// Most intervals of the integral.
const MOST_INTERVALS: usize = 20_000;

/// A place of the wire at which the load is taken.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Distance from the beginning of the span, in m.
    x: f64,
    /// Unknown of the span, its weight, and by how many spans it lies further on.
    onto: [(usize, f64, i32); 4],
}

/// A line that repeats its middle span, passed at constant speed.
#[derive(Clone, Debug)]
pub struct PeriodicLine {
    cell: Cell,
    points: Vec<Point>,
    /// Unknowns of the span that the contact wire has.
    loaded: Vec<usize>,
    span_m: f64,
    element_m: f64,
    speed: f64,
}

/// The span that is repeated: number of its first support, where it begins and how long it is, in m.
fn middle_span(line: &LinearLine) -> Result<(usize, f64, f64), MovingLoadError> {
    let support = line.layout.spans() / 2;
    let supports = &line.layout.supports;
    match (supports.get(support), supports.get(support + 1)) {
        (Some(from), Some(to)) => Ok((support, from.x, to.x - from.x)),
        _ => Err(MovingLoadError::NotPeriodic("there are no spans".into())),
    }
}

/// Rest heights in m at `count` equal distances along the span that is repeated, and its length in m.
pub fn rest_heights(line: &LinearLine, count: usize) -> Result<(Vec<f64>, f64), MovingLoadError> {
    let (_, from, length) = middle_span(line)?;
    let at = |n: usize| line.rest_height(from + length * n as f64 / count as f64);
    Ok(((0..count).map(at).collect(), length))
}

/// Length in m of the span that is repeated.
pub fn span_length(line: &LinearLine) -> Result<f64, MovingLoadError> {
    middle_span(line).map(|(_, _, length)| length)
}

impl PeriodicLine {
    /// Takes the middle span of a line; its neighbours have to be like it.
    pub fn new(line: &LinearLine, speed_kmh: f64) -> Result<Self, MovingLoadError> {
        let fastest = 0.95 * 3.6 * line.wave_speed;
        require_within("speed_kmh", speed_kmh, 1.0, fastest, "km/h")?;
        let (support, from, span_m) = middle_span(line)?;
        let cell = Cell::of(line, support)?;
        let (first, last) = (
            line.mesh.support_station[support],
            line.mesh.support_station[support + 1],
        );
        let mut points = Vec::new();
        let mut element_m = f64::MAX;
        for station in first..last {
            let (a, b) = (line.mesh.x[station], line.mesh.x[station + 1]);
            let length = b - a;
            element_m = element_m.min(length);
            let ends = [line.mesh.contact[station], line.mesh.contact[station + 1]];
            let dofs = [ends[0].height, ends[0].slope, ends[1].height, ends[1].slope];
            for (node, weight) in GAUSS.iter().flat_map(|&(x, w)| [(-x, w), (x, w)]) {
                let s = 0.5 * (1.0 + node);
                let weights = shapes(s, length);
                let mut onto = [(0, 0.0, 0); 4];
                for ((place, dof), shape) in onto.iter_mut().zip(dofs).zip(weights) {
                    let Some(number) = line.free.number[dof] else {
                        continue;
                    };
                    // Counted from the span before, so that nothing is negative.
                    let local = number + cell.size - cell.first;
                    let further = (local / cell.size) as i32 - 1;
                    *place = (local % cell.size, 0.5 * length * weight * shape, further);
                }
                points.push(Point {
                    x: a - from + s * length,
                    onto,
                });
            }
        }
        let mut loaded: Vec<usize> = points
            .iter()
            .flat_map(|p| p.onto.map(|(row, ..)| row))
            .collect();
        loaded.sort_unstable();
        loaded.dedup();
        Ok(Self {
            cell,
            points,
            loaded,
            span_m,
            element_m,
            speed: speed_kmh / 3.6,
        })
    }

    /// H_kj for k in −(out−1) … out−1 and j in 0 … count−1 above a base frequency, rows by k.
    fn matrix(
        &self,
        base: f64,
        out: usize,
        count: usize,
    ) -> Result<DMatrix<Complex<f64>>, MovingLoadError> {
        let harmonics = 2 * out - 1;
        let zero = Complex::from(0.0);
        // e^{2πi k x/L} at all points, k as the rows of the result.
        let waves: Vec<Complex<f64>> = self
            .points
            .iter()
            .flat_map(|p| {
                (0..harmonics).map(move |r| {
                    let k = r as f64 - (out - 1) as f64;
                    Complex::from_polar(1.0, TAU * k * p.x / self.span_m)
                })
            })
            .collect();
        let mut loads = vec![zero; self.cell.size * harmonics];
        let mut moved = vec![zero; self.cell.size * count];
        let mut f = |kappa: f64, values: &mut [Complex<f64>]| {
            let mu = Complex::from_polar(1.0, kappa * self.span_m);
            loads.fill(zero);
            for (point, waves) in self.points.iter().zip(waves.chunks_exact(harmonics)) {
                let phase = Complex::from_polar(1.0, kappa * point.x);
                for &(row, weight, further) in &point.onto {
                    // What the span before puts onto this one is what this one puts onto the next, over μ.
                    let factor = phase * mu.powi(-further) * weight;
                    let row = &mut loads[row * harmonics..(row + 1) * harmonics];
                    for (load, wave) in row.iter_mut().zip(waves) {
                        *load += factor * wave;
                    }
                }
            }
            for i in 0..self.cell.size {
                let from = i * harmonics + out - 1;
                moved[i * count..(i + 1) * count].copy_from_slice(&loads[from..from + count]);
            }
            let omega = base - kappa * self.speed;
            if !self.cell.solve(omega, mu, &mut moved, count) {
                return false;
            }
            values.fill(zero);
            for &i in &self.loaded {
                let u = &moved[i * count..(i + 1) * count];
                let p = &loads[i * harmonics..(i + 1) * harmonics];
                for (k, p) in p.iter().enumerate() {
                    let p = p.conj();
                    for (value, u) in values[k * count..(k + 1) * count].iter_mut().zip(u) {
                        *value += p * u;
                    }
                }
            }
            true
        };
        let scale = 1.0 / (TAU * self.span_m);
        let tolerance = TOLERANCE / scale;
        let size = harmonics * count;
        let breaks = self.breaks(base);
        let found = integrate(&mut f, size, &breaks, tolerance, MOST_INTERVALS);
        let found = found.ok_or_else(|| {
            MovingLoadError::Numeric(
                "the line's answer to a moving force could not be computed: its resonances are too sharp; \
                 give the line more damping"
                    .into(),
            )
        })?;
        Ok(DMatrix::from_fn(harmonics, count, |k, j| {
            found[k * count + j] * scale
        }))
    }

    /// Where the integral over κ is divided at first: finely where waves are slow, then by growing steps.
    fn breaks(&self, base: f64) -> Vec<f64> {
        let fine = (FINE_UP_TO + base.abs()) / self.speed;
        let last = (WAVES_OF_ELEMENT * TAU / self.element_m).max(2.0 * fine);
        let steps = (2.0 * fine / FINE_STEP).ceil();
        let mut breaks: Vec<f64> = (0..=steps as usize)
            .map(|i| fine * (2.0 * i as f64 / steps - 1.0))
            .collect();
        let mut end = fine;
        while end < last {
            end = (1.25 * end).min(last);
            breaks.push(end);
            breaks.insert(0, -end);
        }
        breaks
    }
}

impl MovingLoad for PeriodicLine {
    fn span_rad_per_s(&self) -> f64 {
        TAU * self.speed / self.span_m
    }

    fn response(&self, omega: f64) -> Result<Complex<f64>, MovingLoadError> {
        Ok(self.matrix(omega, 1, 1)?[(0, 0)])
    }

    fn span_response(&self, count: usize) -> Result<SpanResponse, MovingLoadError> {
        check_count(count)?;
        let matrix = self.matrix(0.0, count, count)?;
        Ok(SpanResponse::new(self.span_rad_per_s(), matrix)?)
    }
}
