//! Computing a map beside the window: coarse first, then finer; the newest map wins.

use super::field::Grid;
use crate::worker::{Desk, Worker};
use rt_core::bench::Designer;
use rt_core::bench::map::{MapAxis, MapPlane, MapPoint};
use rt_core::param::{Applies, ParamSet};
use std::sync::Arc;

/// Points along a side.
pub const POINTS: usize = 25;
/// Every how many points are computed first, and then.
const STRIDES: [usize; 4] = [8, 4, 2, 1];

/// Where a side begins and ends.
pub type Ends = (f64, f64);

/// What a map depends on: two with the same key are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct MapKey {
    plane: MapPlane,
    x: Ends,
    y: Ends,
    /// Parameters that are not along its sides.
    others: Vec<(usize, f64)>,
}

/// A map to be computed.
#[derive(Clone, Debug)]
pub struct MapJob {
    /// What it depends on.
    pub key: MapKey,
    params: ParamSet,
}

/// A map as far as it is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// What it depends on.
    pub key: MapKey,
    /// Its points.
    pub grid: Grid,
    /// Whether there will be no finer one.
    pub is_final: bool,
}

impl MapJob {
    /// The map around a set of parameters.
    pub fn new(plane: MapPlane, params: &ParamSet, x: Ends, y: Ends) -> Self {
        let along = [plane.x.param(), plane.y.param()];
        let specs = params.specs().iter().enumerate();
        let others = specs
            .filter(|(i, spec)| spec.applies == Applies::ByDesign && !along.contains(&Some(*i)))
            .map(|(i, _)| (i, params.get(i)))
            .collect();
        Self {
            key: MapKey {
                plane,
                x,
                y,
                others,
            },
            params: *params,
        }
    }
}

impl MapKey {
    /// Values along a side, at all points.
    fn values(axis: &MapAxis, (low, high): Ends) -> Vec<f64> {
        axis.values(low, high, POINTS)
    }
}

/// Starts the thread that computes maps.
pub fn start(
    designer: Arc<dyn Designer>,
    wake: impl Fn() + Send + 'static,
) -> std::io::Result<Worker<MapJob, Map>> {
    // One processor stays free for the loop and the window.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.saturating_sub(1).clamp(1, 4);
    Worker::start("map", wake, move |job, desk| {
        compute(&*designer, &job, threads, desk);
    })
}

fn compute(
    designer: &dyn Designer,
    job: &MapJob,
    threads: usize,
    desk: &mut Desk<'_, MapJob, Map>,
) {
    let key = &job.key;
    let (xs, ys) = (
        MapKey::values(&key.plane.x, key.x),
        MapKey::values(&key.plane.y, key.y),
    );
    let mut found: Vec<Option<Option<MapPoint>>> = vec![None; xs.len() * ys.len()];
    for stride in STRIDES {
        let columns = places(xs.len(), stride);
        let rows = places(ys.len(), stride);
        for &row in &rows {
            if desk.is_overtaken() {
                return;
            }
            let missing: Vec<usize> = columns
                .iter()
                .map(|column| row * xs.len() + column)
                .filter(|at| found[*at].is_none())
                .collect();
            let judge = |at: &usize| {
                let (x, y) = (xs[at % xs.len()], ys[at / xs.len()]);
                (*at, key.plane.judge(designer, &job.params, x, y))
            };
            let share = missing.len().div_ceil(threads).max(1);
            std::thread::scope(|scope| {
                let parts: Vec<_> = missing
                    .chunks(share)
                    .map(|part| scope.spawn(move || part.iter().map(judge).collect::<Vec<_>>()))
                    .collect();
                // A thread that has panicked leaves its points unknown.
                for (at, point) in parts.into_iter().filter_map(|p| p.join().ok()).flatten() {
                    found[at] = Some(point);
                }
            });
        }
        let points = rows.iter().flat_map(|row| {
            let at = |column: &usize| found[row * xs.len() + column].flatten();
            columns.iter().map(at).collect::<Vec<_>>()
        });
        desk.answer(Map {
            key: key.clone(),
            grid: Grid {
                columns: columns.len(),
                rows: rows.len(),
                points: points.collect(),
            },
            is_final: stride == 1,
        });
    }
}

/// Every so many of some points, both ends included.
fn places(count: usize, stride: usize) -> Vec<usize> {
    let last = count.saturating_sub(1);
    let mut stride = stride.min(last).max(1);
    while !last.is_multiple_of(stride) {
        stride -= 1;
    }
    (0..count).step_by(stride).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::sample;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn coarse_points_are_a_part_of_the_fine_ones() {
        assert_eq!(places(25, 8), [0, 8, 16, 24]);
        assert_eq!(places(5, 8), [0, 4]);
        assert_eq!(places(5, 2), [0, 2, 4]);
        assert_eq!(places(25, 1).len(), 25);
        assert_eq!(places(1, 8), [0]);
    }

    #[test]
    fn a_map_depends_on_what_is_not_along_its_sides() {
        let (designer, mut params) = sample::designer();
        let plane = designer.planes(&params)[0];
        let key = |params: &ParamSet| MapJob::new(plane, params, (1e4, 2e5), (0.05, 500.0)).key;
        let first = key(&params);
        params.take_designed(0, 50.0);
        params.take_designed(5, 60e3);
        assert_eq!(key(&params), first, "Q and k_i are its sides");
        params.take_designed(2, 20.0);
        assert_ne!(key(&params), first);
    }

    /// Both planes of both controllers, and every point the same as that of a judgement by itself.
    #[test]
    fn maps_come_coarse_first_and_say_what_the_designer_says() {
        let (designer, params) = sample::designer();
        let (woken, wakes) = mpsc::channel();
        let worker = start(Arc::clone(&designer), move || {
            let _ = woken.send(());
        })
        .unwrap();
        for controller in [0.0, 1.0] {
            let mut params = params;
            assert!(params.take_designed(8, controller));
            for plane in designer.planes(&params) {
                let (x, y) = ((plane.x.low, plane.x.high), (plane.y.low, plane.y.high));
                let since = Instant::now();
                worker.ask(MapJob::new(*plane, &params, x, y));
                let mut first = None;
                let map = loop {
                    wakes.recv_timeout(Duration::from_secs(120)).unwrap();
                    let Some(map) = worker.newest() else { continue };
                    first.get_or_insert((map.grid.columns, since.elapsed()));
                    if map.is_final {
                        break map;
                    }
                };
                println!(
                    "{} of controller {controller}: first {first:?}, {} × {} in {:?}",
                    plane.title,
                    map.grid.columns,
                    map.grid.rows,
                    since.elapsed()
                );
                assert_eq!(map.grid.columns, POINTS);
                let (column, row) = (6, map.grid.rows / 2);
                let xs = plane.x.values(x.0, x.1, map.grid.columns);
                let ys = plane.y.values(y.0, y.1, map.grid.rows);
                let expected = plane.judge(&*designer, &params, xs[column], ys[row]);
                assert_eq!(map.grid.points[row * POINTS + column], expected);
                assert!(
                    map.grid
                        .points
                        .iter()
                        .flatten()
                        .any(|p| p.least_disk.is_some())
                );
            }
        }
    }
}
