//! A line at rest as a window draws it: wires, supports and droppers, without matrices.

use super::error::CatenaryError;
use super::line::Line;
use super::linear::LinearLine;
use super::mesh::Node;
use crate::file::{self, FileError};
use crate::model::string_wire::StringWireConfig;
use std::path::Path;

/// A place along the line and a height above the nominal contact wire, in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScenePoint {
    /// Place, in m from the first support.
    pub x_m: f64,
    /// Height, in m above nominal.
    pub z_m: f64,
}

/// A dropper at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneDropper {
    /// Place, in m from the first support.
    pub x_m: f64,
    /// Height of its lower end on the contact wire, in m.
    pub bottom_m: f64,
    /// Height of its upper end, in m.
    pub top_m: f64,
    /// Whether its upper end is on a stitch wire instead of the messenger wire.
    pub hangs_from_stitch: bool,
    /// Its span, from 0.
    pub span: usize,
    /// Its number in the span, from 0.
    pub number: usize,
}

/// A line at rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineScene {
    /// What the line is called.
    pub name: String,
    /// Places of the supports, in m; one more than spans.
    pub supports_m: Vec<f64>,
    /// The droppers, in order.
    pub droppers: Vec<SceneDropper>,
    /// The contact wire, ascending.
    pub contact: Vec<ScenePoint>,
    /// The messenger wire, ascending; empty if the line has none.
    pub messenger: Vec<ScenePoint>,
    /// The stitch wires.
    pub stitches: Vec<Vec<ScenePoint>>,
}

/// Why there is no scene of a line file.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// The text is not a line file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The line has no rest position.
    #[error(transparent)]
    Line(#[from] CatenaryError),
}

/// Mesh on which a scene is solved if nobody has solved the line already, in m.
const MESH_M: f64 = 1.0;
/// Distance of points of a wire without a mesh, in m.
const PROFILE_M: f64 = 1.0;

impl LineScene {
    /// Of the text of a line file, as a recording holds it. `name` is how errors call it.
    pub fn from_text(text: &str, name: &str) -> Result<Self, SceneError> {
        let line: Line = file::parse(text, Path::new(name))?;
        Ok(Self::from_line(&line)?)
    }

    /// Of a line file: solves its rest position.
    pub fn from_line(line: &Line) -> Result<Self, CatenaryError> {
        Ok(Self::of(&line.name, &LinearLine::build(line, MESH_M)?))
    }

    /// Of a line whose rest position is solved.
    pub fn of(name: &str, line: &LinearLine) -> Self {
        let (mesh, z) = (&line.mesh, &line.statics.z);
        let points = |first: usize, nodes: &[Node]| -> Vec<ScenePoint> {
            nodes
                .iter()
                .zip(&mesh.x[first..])
                .map(|(node, &x_m)| ScenePoint {
                    x_m,
                    z_m: z[node.height],
                })
                .collect()
        };
        let droppers = line.layout.droppers.iter().enumerate();
        Self {
            name: name.to_owned(),
            supports_m: line.layout.supports.iter().map(|s| s.x).collect(),
            droppers: droppers
                .map(|(i, d)| SceneDropper {
                    x_m: d.x,
                    bottom_m: z[mesh.contact[mesh.dropper_station[i]].height],
                    top_m: z[mesh.dropper_top[i].height],
                    hangs_from_stitch: d.stitch.is_some(),
                    span: d.span,
                    number: d.number,
                })
                .collect(),
            contact: points(0, &mesh.contact),
            messenger: points(0, &mesh.messenger),
            stitches: mesh
                .stitches
                .iter()
                .map(|s| points(s.first, &s.nodes))
                .collect(),
        }
    }

    /// Of a string without line file: the heights of its spans of `span_m`, up to number `spans`. It has
    /// neither messenger wire nor droppers.
    pub fn of_string(string: &StringWireConfig, span_m: f64, spans: usize) -> Self {
        let count = (spans as f64 * span_m / PROFILE_M).ceil() as usize;
        let place = |i: usize| (i as f64 * PROFILE_M).min(spans as f64 * span_m);
        Self {
            name: format!("string, {spans} spans of {span_m} m"),
            supports_m: (0..=spans).map(|i| i as f64 * span_m).collect(),
            contact: (0..=count)
                .map(|i| ScenePoint {
                    x_m: place(i),
                    z_m: string.rest_height(place(i)),
                })
                .collect(),
            ..Self::default()
        }
    }

    /// Height of the contact wire at rest, straight between the points of the scene, in m.
    pub fn rest_height(&self, x_m: f64) -> f64 {
        interpolated(&self.contact, x_m)
    }

    /// Number of spans.
    pub fn spans(&self) -> usize {
        self.supports_m.len().saturating_sub(1)
    }

    /// The span in which a place lies, from 0; `None` outside of the line.
    pub fn span_at(&self, x_m: f64) -> Option<usize> {
        let after = self.supports_m.partition_point(|s| *s <= x_m);
        (1..self.supports_m.len())
            .contains(&after)
            .then(|| after - 1)
    }
}

/// Straight between points, and level outside of them; NaN without any.
pub fn interpolated(points: &[ScenePoint], x_m: f64) -> f64 {
    let after = points.partition_point(|p| p.x_m <= x_m);
    match (
        after.checked_sub(1).and_then(|i| points.get(i)),
        points.get(after),
    ) {
        (Some(a), Some(b)) => a.z_m + (b.z_m - a.z_m) * (x_m - a.x_m) / (b.x_m - a.x_m),
        (Some(only), None) | (None, Some(only)) => only.z_m,
        (None, None) => f64::NAN,
    }
}
