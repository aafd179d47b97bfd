//! The rest position as a table: what a person or another program asks of a line before it moves.

use super::error::CatenaryError;
use super::linear::LinearLine;
use serde::Serialize;

/// A dropper at rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DropperRow {
    /// Place, in m from the first support.
    pub x_m: f64,
    /// Tension, in N; below 0 it is slack.
    pub force_n: f64,
    /// Distance of its ends, in m.
    pub length_m: f64,
    /// Height of the contact wire above nominal, in m.
    pub height_m: f64,
}

/// A span at rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpanRow {
    /// Number, from 1.
    pub index: usize,
    /// Place of its first support, in m.
    pub x0_m: f64,
    /// Length, in m.
    pub length_m: f64,
    /// Its droppers.
    pub droppers: Vec<DropperRow>,
    /// Sag of the contact wire between the droppers beside mid-span, in mm ([`LinearLine::sag`]).
    pub sag_mm: f64,
}

/// A support at rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SupportRow {
    /// Place, in m.
    pub x_m: f64,
    /// Height of the contact wire above nominal, in mm.
    pub height_mm: f64,
    /// Sideways position of the contact wire, in m.
    pub stagger_m: f64,
    /// Sideways force of the steady arm on the wire, in N.
    pub arm_lateral_n: f64,
    /// Upward force of the steady arm on the wire, in N.
    pub arm_vertical_n: f64,
}

/// Height of the contact wire at a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeightRow {
    /// Place, in m.
    pub x_m: f64,
    /// Height above nominal, in mm.
    pub height_mm: f64,
    /// Sideways position, in m.
    pub lateral_m: f64,
}

/// Static rise per force at a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ElasticityRow {
    /// Place, in m.
    pub x_m: f64,
    /// Rise, in mm/N.
    pub mm_per_n: f64,
}

/// A line at rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StaticReport {
    /// Free unknowns.
    pub dofs: usize,
    /// The spans.
    pub spans: Vec<SpanRow>,
    /// The supports.
    pub supports: Vec<SupportRow>,
    /// Heights along the contact wire.
    pub heights: Vec<HeightRow>,
    /// Elasticity along the contact wire, at the same places.
    pub elasticity: Vec<ElasticityRow>,
}

impl StaticReport {
    /// The table of a line, with heights and elasticity about every `every_m` m and at all supports and
    /// mid-spans.
    pub fn of(line: &LinearLine, every_m: f64) -> Result<Self, CatenaryError> {
        if !(every_m > 0.0 && every_m.is_finite()) {
            return Err(CatenaryError::Argument {
                what: "the distance of places in m",
                value: every_m,
                expected: "a finite value above 0".into(),
            });
        }
        let layout = &line.layout;
        let spans = layout
            .supports
            .windows(2)
            .enumerate()
            .map(|(i, ends)| SpanRow {
                index: i + 1,
                x0_m: ends[0].x,
                length_m: ends[1].x - ends[0].x,
                droppers: layout
                    .droppers
                    .iter()
                    .zip(&line.statics.droppers)
                    .filter(|(p, _)| p.span == i)
                    .map(|(p, d)| DropperRow {
                        x_m: p.x,
                        force_n: d.force,
                        length_m: d.length,
                        height_m: d.height,
                    })
                    .collect(),
                sag_mm: 1e3 * line.sag(i),
            })
            .collect();
        let supports = layout
            .supports
            .iter()
            .zip(&line.statics.arms)
            .map(|(s, arm)| SupportRow {
                x_m: s.x,
                height_mm: 1e3 * line.rest_height(s.x),
                stagger_m: s.kind.contact_stagger_m,
                arm_lateral_n: arm.lateral,
                arm_vertical_n: arm.vertical,
            })
            .collect();
        let mut places = vec![0.0];
        for ends in layout.supports.windows(2) {
            let (from, to) = (ends[0].x, ends[1].x);
            // An even number of pieces, so that mid-span is among the places.
            let pieces = 2.0 * ((to - from) / every_m / 2.0).ceil().max(1.0);
            places.extend((1..=pieces as usize).map(|k| from + (to - from) * k as f64 / pieces));
        }
        let elasticity = places
            .iter()
            .zip(line.elasticity(&places)?)
            .map(|(&x_m, c)| ElasticityRow {
                x_m,
                mm_per_n: 1e3 * c,
            })
            .collect();
        let heights = places
            .iter()
            .map(|&x_m| HeightRow {
                x_m,
                height_mm: 1e3 * line.rest_height(x_m),
                lateral_m: line.mesh.contact_value(&line.statics.y, x_m),
            })
            .collect();
        Ok(Self {
            dofs: line.dofs(),
            spans,
            supports,
            heights,
            elasticity,
        })
    }
}
