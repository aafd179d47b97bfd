//! The overhead line of a run as panels see it: the line at rest, and the wire's shapes of the last two minutes.

use rt_core::bench::LineSight;
use rt_core::model::catenary::shape::ShapePlan;
use rt_core::model::catenary::{LineScene, ShapeReader, WireShape};
use std::collections::VecDeque;

/// Shapes that are kept for a paused picture: two minutes at 25 a second, about 8 MB for twenty spans.
const KEPT: usize = 3000;

/// See the module's text.
pub struct LineData {
    /// The line at rest.
    pub scene: LineScene,
    source: Option<ShapeReader>,
    shapes: VecDeque<WireShape>,
}

impl LineData {
    /// The line of a running bench.
    pub fn live(sight: LineSight) -> Self {
        Self {
            scene: sight.scene,
            source: sight.shapes,
            shapes: VecDeque::new(),
        }
    }

    /// A line of which only the rest position is known, as in a recording.
    pub fn at_rest(scene: LineScene) -> Self {
        Self {
            scene,
            source: None,
            shapes: VecDeque::new(),
        }
    }

    /// Takes the newest shape; `true` if there was one. To be called at least 25 times a second.
    pub fn poll(&mut self) -> bool {
        let Some(shape) = self.source.as_mut().and_then(ShapeReader::newest) else {
            return false;
        };
        let oldest = if self.shapes.len() == KEPT {
            self.shapes.pop_front()
        } else {
            None
        };
        self.shapes.push_back(match oldest {
            Some(mut kept) => {
                kept.clone_from(shape);
                kept
            }
            None => shape.clone(),
        });
        true
    }

    /// Where shapes were looked at; `None` if the bench gives none.
    pub fn plan(&self) -> Option<&ShapePlan> {
        self.source.as_ref().map(|source| &**source.plan())
    }

    /// The newest shape that is not after a time in s.
    pub fn shape_at(&self, t_s: f64) -> Option<&WireShape> {
        let after = self.shapes.partition_point(|s| s.t_s() <= t_s + 1e-9);
        self.shapes.get(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::model::catenary::shape::{Moment, ShapeSampler};
    use rt_core::model::catenary::{FullWire, LinearLine, WireModel};
    use std::sync::Arc;

    #[test]
    fn shapes_are_found_by_time_and_their_number_is_bounded() {
        let text = include_str!("../../assets/lines/en50318-2002.ron");
        let line = rt_core::file::parse(text, "line.ron".as_ref()).unwrap();
        let linear = Arc::new(LinearLine::build(&line, 5.0).unwrap());
        let wire = FullWire::new(Arc::clone(&linear), 0.04).unwrap();
        let (mut sampler, reader) = ShapeSampler::new(wire.meshed().unwrap(), 0.04);
        let mut data = LineData::live(LineSight {
            scene: LineScene::of("t", &linear),
            shapes: Some(reader),
        });
        assert!(data.plan().is_some() && data.shape_at(1.0).is_none() && !data.poll());
        for seq in 0..KEPT as u64 + 10 {
            let now = Moment {
                seq,
                t_nanos: seq * 40_000_000,
                contact_m: 0.0,
            };
            sampler.step(wire.meshed().unwrap(), now);
            assert!(data.poll() && !data.poll());
        }
        assert_eq!(data.shapes.len(), KEPT);
        assert_eq!(data.shape_at(100.0).map(|s| s.seq), Some(2500));
        assert_eq!(data.shape_at(100.039).map(|s| s.seq), Some(2500));
        assert_eq!(data.shape_at(1e9).map(|s| s.seq), Some(KEPT as u64 + 9));
        assert!(data.shape_at(0.2).is_none(), "too long ago");
    }
}
