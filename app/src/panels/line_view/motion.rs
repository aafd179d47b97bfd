//! What is known of the wire's movement at the moment that is shown: its whole shape where the bench gave one, or
//! what the channels say of the contact.

use super::pass::Pass;
use crate::view::View;
use rt_core::model::catenary::shape::ShapePlan;
use rt_core::model::catenary::{LineScene, WireShape};

/// A shape older than this is said to be old, in s.
const OLD_S: f64 = 0.3;

/// Where the movement is known from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The bench's wire model, at a time in s.
    Shape {
        /// When.
        t_s: f64,
        /// Whether that is long before the moment that is shown.
        is_old: bool,
    },
    /// The channels of the contact, for a reason.
    Channels(&'static str),
}

/// Rise at a support in m, now and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Uplift {
    /// At the moment that is shown.
    pub now_m: Option<f64>,
    /// Since the run began, or, of channels, as the contact passed.
    pub highest_m: Option<f64>,
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Where it is known from.
    pub source: Source,
    /// Where the contact is, in m.
    pub contact_m: Option<f64>,
    /// Rise of the wire there, in m.
    pub contact_rise_m: Option<f64>,
    /// Measured force, in N.
    pub force: Option<f64>,
    /// Places and rises of the contact wire that are known, in m, ascending.
    pub wire: Vec<(f64, f64)>,
    /// Rise of every dropper's lower and upper end, in m; empty if unknown.
    pub droppers: Vec<(f64, f64)>,
    /// Which droppers are slack; empty if only their number is known.
    pub slack: Vec<bool>,
    /// How many droppers are slack.
    pub slack_count: Option<usize>,
    /// Of each support.
    pub uplift: Vec<Uplift>,
}

impl Motion {
    /// At the moment that a view shows.
    pub fn of(view: &View<'_>, scene: &LineScene, pass: &Pass) -> Self {
        let wire = view.data.wire.as_ref();
        let shape = wire.and_then(|w| Some((w.plan()?, w.shape_at(view.now_s)?)));
        if let Some((plan, shape)) = shape {
            return Self::of_shape(view, plan, shape);
        }
        let why = if view.is_replay {
            "A recording holds the channels only: movement is known at the contact."
        } else if wire.is_some_and(|w| w.plan().is_some()) {
            "There is no shape of the wire for this moment: it is taken while the bench runs and kept for two minutes."
        } else {
            "This bench's wire model has no mesh: movement is known at the contact."
        };
        Self::of_channels(view, scene, pass, why)
    }

    fn of_shape(view: &View<'_>, plan: &ShapePlan, shape: &WireShape) -> Self {
        let t_s = shape.t_s();
        let rise = |at: usize| shape.rise_m.get(at).map_or(f64::NAN, |r| f64::from(*r));
        let known = plan.places_m.iter().enumerate().map(|(i, x)| (*x, rise(i)));
        let wire: Vec<(f64, f64)> = known.filter(|(_, r)| r.is_finite()).collect();
        let ends = plan.droppers.iter().zip(&shape.top_rise_m);
        // Far from the contact a dropper's upper end moves with its lower one.
        let droppers = ends.map(|(&at, top)| {
            let bottom = rise(at);
            let top = f64::from(*top);
            (bottom, if top.is_finite() { top } else { bottom })
        });
        let supports = plan.supports.iter().zip(&shape.highest_m);
        Self {
            source: Source::Shape {
                t_s,
                is_old: view.now_s - t_s > OLD_S,
            },
            contact_m: Some(shape.contact_m),
            contact_rise_m: value(view, "wire_rise", t_s),
            force: value(view, "force", t_s),
            wire,
            droppers: droppers.collect(),
            slack_count: Some(shape.slack.iter().filter(|s| **s).count()),
            slack: shape.slack.clone(),
            uplift: supports
                .map(|(&at, highest)| Uplift {
                    now_m: Some(rise(at)).filter(|r| r.is_finite()),
                    highest_m: Some(f64::from(*highest)),
                })
                .collect(),
        }
    }

    fn of_channels(view: &View<'_>, scene: &LineScene, pass: &Pass, why: &'static str) -> Self {
        let now = |id: &str| value(view, id, view.now_s);
        let passed = |x: &f64| {
            let highest = pass
                .bin_at(*x)
                .map(|b| b.rise.max)
                .filter(|r| r.is_finite());
            Uplift {
                now_m: None,
                highest_m: highest,
            }
        };
        Self {
            source: Source::Channels(why),
            contact_m: now("line_position"),
            contact_rise_m: now("wire_rise"),
            force: now("force"),
            wire: Vec::new(),
            droppers: Vec::new(),
            slack: Vec::new(),
            slack_count: now("slack_droppers").map(|count| count as usize),
            uplift: scene.supports_m.iter().map(passed).collect(),
        }
    }

    /// Rise of the contact wire at a place, straight between the places that are known, in m.
    pub fn rise_at(&self, x_m: f64) -> Option<f64> {
        let after = self.wire.partition_point(|p| p.0 <= x_m);
        let (x0, r0) = *self.wire.get(after.checked_sub(1)?)?;
        let Some((x1, r1)) = self.wire.get(after) else {
            return (x0 == x_m).then_some(r0);
        };
        Some(r0 + (r1 - r0) * (x_m - x0) / (x1 - x0))
    }
}

/// A channel at a time; `None` if it is not there or not a number.
fn value(view: &View<'_>, id: &str, t_s: f64) -> Option<f64> {
    let channel = view.data.find(id)?;
    // A shape's time is that of a sample, but for rounding.
    let found = view.data.history.value_at(channel, t_s + 1e-6);
    found.filter(|v| v.is_finite())
}
