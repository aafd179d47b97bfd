//! Planes of two parameters in which a bench's stability is mapped, and the map's points.

use super::Designer;
use crate::param::{ParamSet, ParamSpec};

/// What changes along a side of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// A parameter, by its index.
    Param(usize),
    /// The ratio of two parameters: the first changes, the second stays.
    Ratio {
        /// Index of what is divided.
        over: usize,
        /// Index of what it is divided by.
        under: usize,
    },
    /// Milliseconds by which the reference comes later than the controller assumes.
    ExtraDelay,
}

/// One side of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapAxis {
    /// What changes.
    pub kind: AxisKind,
    /// What a person reads.
    pub label: &'static str,
    /// SI unit; ms for a delay.
    pub unit: &'static str,
    /// Where the map usually begins.
    pub low: f64,
    /// Where the map usually ends.
    pub high: f64,
}

/// A plane that can be mapped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapPlane {
    /// Stable name.
    pub id: &'static str,
    /// What a person reads.
    pub title: &'static str,
    /// To the right.
    pub x: MapAxis,
    /// Upwards.
    pub y: MapAxis,
}

/// What the model says at one point of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapPoint {
    /// Spectral radius of the loop.
    pub rho: f64,
    /// Smallest disk margin; `None` if the loop is unstable.
    pub least_disk: Option<f64>,
}

impl MapAxis {
    /// Whether its values stand in equal ratios; otherwise in equal steps.
    pub fn is_logarithmic(&self) -> bool {
        self.kind != AxisKind::ExtraDelay
    }

    /// The parameter that it changes, if it changes one.
    pub fn param(&self) -> Option<usize> {
        match self.kind {
            AxisKind::Param(index) | AxisKind::Ratio { over: index, .. } => Some(index),
            AxisKind::ExtraDelay => None,
        }
    }

    /// Where a set of parameters stands on it.
    pub fn value(&self, params: &ParamSet) -> f64 {
        match self.kind {
            AxisKind::Param(index) => params.get(index),
            AxisKind::Ratio { over, under } => params.get(over) / params.get(under),
            AxisKind::ExtraDelay => 0.0,
        }
    }

    /// The parameter and its value that bring a set of parameters to a place on this side, as near as the
    /// parameter's range allows. `None` for a delay, which is not chosen but met.
    pub fn change(&self, params: &ParamSet, value: f64) -> Option<(usize, f64)> {
        let index = self.param()?;
        let wanted = match self.kind {
            AxisKind::Ratio { under, .. } => value * params.get(under),
            _ => value,
        };
        let ParamSpec { min, max, .. } = params.specs().get(index)?;
        Some((index, wanted.clamp(*min, *max)))
    }

    /// Values from one end to the other, both included.
    pub fn values(&self, low: f64, high: f64, points: usize) -> Vec<f64> {
        let last = points.saturating_sub(1).max(1) as f64;
        (0..points)
            .map(|i| i as f64 / last)
            .map(|share| {
                if self.is_logarithmic() {
                    low * (high / low).powf(share)
                } else {
                    low + share * (high - low)
                }
            })
            .collect()
    }
}

impl MapPlane {
    /// What the model says with everything but these two as in `params`; `None` where there is no design.
    pub fn judge(
        &self,
        designer: &dyn Designer,
        params: &ParamSet,
        x: f64,
        y: f64,
    ) -> Option<MapPoint> {
        let mut there = *params;
        let mut delay_ms = 0.0;
        for (axis, value) in [(&self.x, x), (&self.y, y)] {
            match axis.change(params, value) {
                Some((index, value)) => {
                    there.take_designed(index, value);
                }
                None => delay_ms = value,
            }
        }
        let prospect = designer.judge(&there, 1e-3 * delay_ms).ok()?;
        Some(MapPoint {
            rho: prospect.rho_loop,
            least_disk: prospect.least_disk().map(|(_, disk)| disk),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPECS: [ParamSpec; 2] = [
        ParamSpec::designed("q", "Q", "", 5.0, (1e-3, 1e3), ""),
        ParamSpec::designed("r", "R", "", 2.0, (1e-3, 1e3), ""),
    ];

    #[test]
    fn a_ratio_is_reached_by_what_is_divided() {
        let axis = MapAxis {
            kind: AxisKind::Ratio { over: 0, under: 1 },
            label: "Q/R",
            unit: "",
            low: 0.1,
            high: 10.0,
        };
        let params = ParamSet::new(&SPECS);
        assert_eq!(axis.value(&params), 2.5);
        assert_eq!(axis.change(&params, 4.0), Some((0, 8.0)));
        // As near as the range of the parameter allows.
        assert_eq!(axis.change(&params, 1e9), Some((0, 1e3)));
        assert_eq!(axis.values(0.1, 10.0, 3), [0.1, 1.0, 10.0]);
    }

    #[test]
    fn a_delay_changes_no_parameter() {
        let axis = MapAxis {
            kind: AxisKind::ExtraDelay,
            label: "extra delay",
            unit: "ms",
            low: 0.0,
            high: 4.0,
        };
        let params = ParamSet::new(&SPECS);
        assert_eq!(
            (axis.value(&params), axis.change(&params, 2.0)),
            (0.0, None)
        );
        assert_eq!(axis.values(0.0, 4.0, 5), [0.0, 1.0, 2.0, 3.0, 4.0]);
    }
}
