//! The section laid out: every support, dropper and stitch wire with its place along the track.

use super::line::{DropperStiffness, InstallationErrors, Line, SAME_PLACE_M, SpanUse, SupportKind};
use crate::file::FieldError;

/// A support at its place.
#[derive(Clone, Debug)]
pub struct PlacedSupport {
    /// Distance from the first support, in m.
    pub x: f64,
    /// What stands there.
    pub kind: SupportKind,
}

/// A dropper at its place.
#[derive(Clone, Copy, Debug)]
pub struct PlacedDropper {
    /// Its span, from 0.
    pub span: usize,
    /// Its number in the span, from 0.
    pub number: usize,
    /// Distance from the first support, in m.
    pub x: f64,
    /// Prescribed height of the contact wire there, in m above nominal.
    pub height: f64,
    /// The support whose stitch wire it hangs from, if it does.
    pub stitch: Option<usize>,
    /// Its stiffness.
    pub stiffness: DropperStiffness,
    /// Mass per length, in kg/m.
    pub mass_per_m: f64,
    /// How much too long it was cut, in m.
    pub too_long: f64,
}

impl PlacedDropper {
    /// What a person calls it.
    pub fn name(&self) -> String {
        format!("dropper {} of span {}", self.number + 1, self.span + 1)
    }
}

/// A laid out section. Support i begins span i; the last support ends the last span.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The supports, in order; one more than spans.
    pub supports: Vec<PlacedSupport>,
    /// The droppers, in order.
    pub droppers: Vec<PlacedDropper>,
}

impl Layout {
    /// Lays the section out and refuses what does not fit together.
    pub fn of(line: &Line) -> Result<Self, FieldError> {
        let uses: Vec<&SpanUse> = line.span_uses().collect();
        let find = |name: &str| {
            line.supports
                .get(name)
                .cloned()
                .ok_or_else(|| FieldError::new("supports", format!("there is no support '{name}'")))
        };
        let mut supports = Vec::with_capacity(uses.len() + 1);
        let mut x = 0.0;
        for u in &uses {
            supports.push(PlacedSupport {
                x,
                kind: find(&u.support)?,
            });
            x += span_of(line, u)?.length_m;
        }
        supports.push(PlacedSupport {
            x,
            kind: find(&line.last_support)?,
        });
        check_stitches(&supports)?;

        let mut droppers = Vec::new();
        for (s, (u, ends)) in uses.iter().zip(supports.windows(2)).enumerate() {
            let kind = span_of(line, u)?;
            let [from, to] = ends else { continue };
            let first = kind.droppers.first().map_or(0.0, |d| d.x_m);
            let last = kind.droppers.last().map_or(0.0, |d| d.x_m);
            for (number, d) in kind.droppers.iter().enumerate() {
                let along = d.x_m / kind.length_m;
                let chord = from.kind.contact_elevation_m * (1.0 - along)
                    + to.kind.contact_elevation_m * along;
                let parabola = if last > first {
                    4.0 * (d.x_m - first) * (last - d.x_m) / (last - first).powi(2)
                } else {
                    1.0
                };
                let x = from.x + d.x_m;
                droppers.push(PlacedDropper {
                    span: s,
                    number,
                    x,
                    height: chord - d.presag_m - kind.presag_depth_m * parabola,
                    stitch: stitch_at(&supports, s, x)?,
                    stiffness: d.stiffness.unwrap_or(line.dropper.stiffness),
                    mass_per_m: d.mass_kg_per_m.unwrap_or(line.dropper.mass_kg_per_m),
                    too_long: 0.0,
                });
            }
        }
        apply_errors(&line.installation_errors, &mut droppers);
        Ok(Self { supports, droppers })
    }

    /// The whole length, in m.
    pub fn length(&self) -> f64 {
        self.supports.last().map_or(0.0, |s| s.x)
    }

    /// How many spans.
    pub fn spans(&self) -> usize {
        self.supports.len().saturating_sub(1)
    }
}

fn span_of<'a>(line: &'a Line, u: &SpanUse) -> Result<&'a super::line::SpanKind, FieldError> {
    line.spans
        .get(&u.span)
        .ok_or_else(|| FieldError::new("spans", format!("there is no span '{}'", u.span)))
}

/// The clamps of the stitch wire at a support.
pub fn stitch_ends(support: &PlacedSupport) -> Option<(f64, f64)> {
    support
        .kind
        .stitch
        .map(|s| (support.x - s.length_m / 2.0, support.x + s.length_m / 2.0))
}

fn check_stitches(supports: &[PlacedSupport]) -> Result<(), FieldError> {
    let last = supports.len().saturating_sub(1);
    let mut free_from = f64::NEG_INFINITY;
    for (i, s) in supports.iter().enumerate() {
        let Some((from, to)) = stitch_ends(s) else {
            continue;
        };
        if i == 0 || i == last {
            return Err(FieldError::new(
                format!("support {} (at {} m)", i + 1, s.x),
                "has a stitch wire, but the section ends here; use a kind of support without one \
                 for the first and the last support",
            ));
        }
        let left = supports.get(i - 1).map_or(s.x, |p| p.x).max(free_from);
        let right = supports.get(i + 1).map_or(s.x, |p| p.x);
        if from < left + SAME_PLACE_M || to > right - SAME_PLACE_M {
            return Err(FieldError::new(
                format!("support {} (at {} m)", i + 1, s.x),
                format!(
                    "has a stitch wire from {from} to {to} m, which reaches past a neighbouring \
                     support or stitch wire; shorten it"
                ),
            ));
        }
        free_from = to;
    }
    Ok(())
}

/// The support at either end of a span whose stitch wire covers x.
fn stitch_at(supports: &[PlacedSupport], span: usize, x: f64) -> Result<Option<usize>, FieldError> {
    for i in [span, span + 1] {
        let Some((from, to)) = supports.get(i).and_then(stitch_ends) else {
            continue;
        };
        if (x - from).abs() < SAME_PLACE_M || (x - to).abs() < SAME_PLACE_M {
            return Err(FieldError::new(
                format!("span {}", span + 1),
                format!("has a dropper at {x} m, which is the place of a stitch clamp; move one"),
            ));
        }
        if x > from && x < to {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn apply_errors(errors: &InstallationErrors, droppers: &mut [PlacedDropper]) {
    match errors {
        InstallationErrors::None => {}
        InstallationErrors::Given(list) => {
            for e in list {
                for d in droppers.iter_mut() {
                    if d.span + 1 == e.span && d.number + 1 == e.dropper {
                        d.too_long += e.too_long_m;
                    }
                }
            }
        }
        InstallationErrors::Drawn { seed, sigma_m } => {
            let mut state = *seed;
            for d in droppers.iter_mut() {
                d.too_long = sigma_m * normal(&mut state);
            }
        }
    }
}

/// SplitMix64, uniform on (0, 1].
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1.0 / (1u64 << 54) as f64
}

/// A standard normal number (Box and Muller).
fn normal(state: &mut u64) -> f64 {
    let radius = (-2.0 * uniform(state).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(state)).cos()
}
