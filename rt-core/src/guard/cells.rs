//! Each force sensor watched by itself, on its own reading: what the sum of all cells hides. And the force as a whole,
//! where the motor rests and the specimen alone decides it.
//!
//! Everything is sized at the start; a cycle costs a few operations a cell.

mod noise;
mod parked;
mod share;

use super::Frame;
use crate::calibration::Line;
use crate::channel::{Layout, LayoutError};
use crate::fault::{CellFault, Fault};
use crate::rig::RigSpec;
use crate::rig::cell_watch::{CellsWatch, FrozenAfter, SensorWatch};
use noise::Noise;
use parked::Parked;
use share::Share;

/// What a cycle is like for a sensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The tick.
    pub tick: u64,
    /// The drive is on.
    pub powered: bool,
    /// The motor rests, powered, in its parked position.
    pub parked: bool,
}

impl Moment {
    /// Nothing moves.
    fn stands(self) -> bool {
        !self.powered || self.parked
    }
}

/// How far beyond its range a reading may be, as a part of half of it, before it is none: zero, noise, rounding.
const BEYOND: f64 = 0.05;
/// Fewest cycles after which a reading is frozen.
const LEAST_FROZEN_CYCLES: f64 = 5.0;

/// Identical readings in a row.
#[derive(Debug)]
struct Repeats {
    most: u32,
    last_bits: u64,
    count: u32,
}

impl Repeats {
    fn new(after: FrozenAfter, dt: f64) -> Self {
        Self {
            most: match after {
                FrozenAfter::Cycles(cycles) => cycles,
                FrozenAfter::Seconds(s) => (s / dt).round().max(LEAST_FROZEN_CYCLES) as u32,
            },
            last_bits: 0,
            count: 0,
        }
    }

    fn note(&mut self, reading: f64) -> Option<(CellFault, f64, f64)> {
        let bits = reading.to_bits();
        self.count = if bits == self.last_bits {
            self.count.saturating_add(1)
        } else {
            1
        };
        self.last_bits = bits;
        let (count, most) = (f64::from(self.count), f64::from(self.most));
        (self.count >= self.most).then_some((CellFault::Frozen, count, most))
    }
}

struct Sensor {
    column: usize,
    /// Index of its load cell.
    cell: Option<usize>,
    /// From its reading to newtons; not a number where that is not known.
    line: Line,
    repeats: Option<Repeats>,
    /// What it can show, stated in its own unit or in newtons.
    stated_range: Option<(f64, f64)>,
    range_n: Option<f64>,
    range: Option<(f64, f64)>,
    noise: Option<Noise>,
    share: Option<Share>,
}

impl Sensor {
    fn build(
        layout: &Layout,
        rig: &RigSpec,
        watch: &SensorWatch,
        together: &CellsWatch,
        dt: f64,
    ) -> Result<Self, LayoutError> {
        let calibration = watch
            .cell
            .and_then(|cell| rig.cells.get(cell)?.calibration.as_ref());
        let mut sensor = Self {
            column: layout.column(watch.channel)?,
            cell: watch.cell,
            line: calibration.map_or(Line::UNKNOWN, |c| c.line),
            repeats: watch.frozen.map(|after| Repeats::new(after, dt)),
            stated_range: watch.range,
            range_n: watch.range_n,
            range: None,
            noise: watch.noise.map(|noise| Noise::new(noise, together, dt)),
            share: watch
                .share
                .and_then(|share| Share::new(share, together, dt)),
        };
        sensor.find_range();
        Ok(sensor)
    }

    /// What it can show, by the line that it has now.
    fn find_range(&mut self) {
        let by_line = || {
            let newtons = self.range_n?;
            let reading = |n: f64| (n - self.line.offset_n) / self.line.slope_n_per_unit;
            let (one, other) = (reading(-newtons), reading(newtons));
            (one.is_finite() && other.is_finite()).then(|| (one.min(other), one.max(other)))
        };
        self.range = self.stated_range.or_else(by_line);
    }

    fn fault(&self, (what, measured, limit): (CellFault, f64, f64)) -> Fault {
        Fault::Cell {
            column: self.column,
            what,
            measured,
            limit,
        }
    }

    fn find_beyond(&self, reading: f64) -> Option<(CellFault, f64, f64)> {
        let (low, high) = self.range?;
        let margin = BEYOND * 0.5 * (high - low);
        let end = if reading < low - margin {
            low
        } else if reading > high + margin {
            high
        } else {
            return None;
        };
        Some((CellFault::OutOfRange, reading, end))
    }

    /// A range that begins at no load has nothing to saturate at that end.
    fn find_saturated(&self, reading: f64, at: f64) -> Option<(CellFault, f64, f64)> {
        let (low, high) = self.range?;
        let left = (1.0 - at) * 0.5 * (high - low);
        let end = if high > 0.0 && reading >= high - left {
            high - left
        } else if low < 0.0 && reading <= low + left {
            low + left
        } else {
            return None;
        };
        Some((CellFault::Saturated, reading, end))
    }
}

/// See the module's text.
pub(super) struct Cells {
    sensors: Vec<Sensor>,
    saturated_at: f64,
    share_above_n: f64,
    parked: Parked,
}

impl Cells {
    /// Resolves all names once.
    pub fn build(layout: &Layout, rig: &RigSpec, dt: f64) -> Result<Self, LayoutError> {
        let (watch, together) = (&rig.watch, &rig.watch.together);
        let sensors = watch.sensors.iter();
        let sensors = sensors
            .map(|sensor| Sensor::build(layout, rig, sensor, together, dt))
            .collect::<Result<Vec<Sensor>, LayoutError>>()?;
        let at_rest = match watch.at_rest {
            Some((channel, band)) => Some((layout.column(channel)?, band)),
            None => None,
        };
        Ok(Self {
            parked: Parked::new(at_rest, sensors.len(), together, dt),
            sensors,
            saturated_at: together.saturated_at,
            share_above_n: together.share_above_n,
        })
    }

    /// Goes on behind a frame with which a bench was Ready.
    pub fn resume(&mut self, frame: &Frame) {
        for sensor in &mut self.sensors {
            if let Some(repeats) = &mut sensor.repeats {
                repeats.last_bits = frame.values[sensor.column].to_bits();
                repeats.count = 1;
            }
        }
    }

    /// A cell's readings mean other newtons from now on: what was known of its mean is not comparable.
    pub fn calibrate(&mut self, cell: usize, line: Line) {
        let of_cell = |(_, sensor): &(usize, &mut Sensor)| sensor.cell == Some(cell);
        if let Some((i, sensor)) = self.sensors.iter_mut().enumerate().find(of_cell) {
            sensor.line = line;
            sensor.find_range();
            self.parked.forget(i);
        }
    }

    /// Whether force and cells have been looked at since the motor rests, where that is asked for.
    pub fn let_run(&self) -> bool {
        self.parked.lets_run()
    }

    /// The first cell that is at the end of its range while the drive is on.
    pub fn find_saturated(&self, frame: &Frame, moment: Moment) -> Option<Fault> {
        if !moment.powered {
            return None;
        }
        self.sensors.iter().find_map(|sensor| {
            let reading = frame.values[sensor.column];
            let found = sensor.find_saturated(reading, self.saturated_at)?;
            Some(sensor.fault(found))
        })
    }

    /// The first fault of a sensor, or of the force at rest. `warn` hears of what only warns.
    pub fn check(
        &mut self,
        frame: &Frame,
        moment: Moment,
        mut warn: impl FnMut(Fault),
    ) -> Option<Fault> {
        let newtons = |s: &Sensor| match s.cell {
            Some(_) => s.line.newtons(frame.values[s.column]),
            None => frame.values[s.column],
        };
        let total: f64 = self.sensors.iter().map(newtons).sum();
        let shares_count = moment.powered && total.abs() > self.share_above_n;
        let mut first = None;
        for (i, sensor) in self.sensors.iter_mut().enumerate() {
            let reading = frame.values[sensor.column];
            let force = newtons(sensor);
            let repeats = sensor.repeats.as_mut().and_then(|r| r.note(reading));
            let noise = sensor.noise.as_mut().and_then(|n| n.note(reading, moment));
            let share = sensor.share.as_mut().and_then(|s| {
                if !moment.powered {
                    s.forget();
                }
                shares_count.then(|| s.note(force, total)).flatten()
            });
            let drift = self.parked.note(i, force, moment);
            if let Some(changed) = drift.warns {
                warn(sensor.fault(changed));
            }
            let beyond = sensor.find_beyond(reading);
            let found = beyond.or(repeats).or(share).or(noise).or(drift.fault);
            first = first.or(found.map(|found| sensor.fault(found)));
        }
        let at_rest = self.parked.end_cycle(frame, moment);
        first.or(at_rest)
    }
}

#[cfg(test)]
mod tests;
