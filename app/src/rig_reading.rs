//! Readings of a load cell taken from a rig without a bench: known loads, one after another.

use drivers::rig_file::{self, RigFile, RigSetup};
use drivers::simulated::SimTime;
use rt_core::calibration::Point;
use rt_core::calibration::reading::Reading;
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::pacing::{Clock, ExactClock, NANOS_PER_SECOND, Pacer, RealClock};
use rt_core::rig::{Rig, RigCommand};
use std::path::Path;

/// What is to be read.
pub struct Wanted<'a> {
    /// The rig file.
    pub rig: &'a Path,
    /// Identifier of the load cell.
    pub cell: &'a str,
    /// Known loads, in N.
    pub loads: &'a [f64],
    /// How long each is averaged, in s.
    pub seconds: f64,
    /// A person's own calibrations, which the rig is built with.
    pub own_calibrations: &'a Path,
}

/// Period of the exchanges, in nanoseconds.
const PERIOD_NANOS: u64 = 2_000_000;
/// How long a load hangs before it is averaged, in s.
const SETTLE_S: f64 = 0.5;
/// Exchanges without an answer before the rig is given up: buses take their time to be set up.
const MOST_LOST: u32 = 1000;

/// A rig between its exchanges, drive off.
struct Reader {
    rig: Box<dyn Rig>,
    layout: Layout,
    clock: Box<dyn Clock>,
    pacer: Pacer,
    frame: Frame,
}

impl Reader {
    /// Exchanges for a while; the readings of a column with their times in s.
    fn read(&mut self, column: usize, seconds: f64) -> Result<Vec<(f64, f64)>, String> {
        let count = (seconds * NANOS_PER_SECOND as f64 / PERIOD_NANOS as f64).ceil() as usize;
        let mut readings = Vec::with_capacity(count);
        let mut lost = 0;
        while readings.len() < count {
            let tick = self.pacer.wait(&mut self.clock);
            (self.frame.seq, self.frame.t_nanos) = (tick.seq, tick.t_nanos);
            match self.rig.exchange(&mut self.frame) {
                Ok(()) => readings.push((self.frame.t_s(), self.frame.values[column])),
                Err(fault) => {
                    lost += 1;
                    if lost > MOST_LOST {
                        let words = fault.describe(&self.layout);
                        return Err(format!(
                            "the rig gives no readings: {}. {}",
                            words.what, words.advice
                        ));
                    }
                }
            }
        }
        Ok(readings)
    }
}

/// Reads a cell of a rig under known loads. A rig that cannot hang loads by itself takes one at a time: the
/// one that hangs there.
pub fn measure(wanted: &Wanted<'_>) -> Result<Vec<Point>, String> {
    let is_hardware = matches!(file::load(wanted.rig), Ok(RigFile::Hardware(_)));
    let exact = ExactClock::default();
    let (clock, time): (Box<dyn Clock>, SimTime) = if is_hardware {
        (Box::new(RealClock), SimTime::Real)
    } else {
        (Box::new(exact.clone()), SimTime::Exact(exact))
    };
    let setup = RigSetup {
        period_nanos: PERIOD_NANOS,
        time,
        injections: &[],
        uplift_n: None,
        own_calibrations: Some(wanted.own_calibrations.to_owned()),
    };
    let mut rig = rig_file::load_rig(wanted.rig, setup).map_err(|e| e.to_string())?;
    let mut layout = Layout::default();
    layout
        .append(&rig.spec().channels)
        .and_then(|()| rig.bind(&layout))
        .map_err(|e| e.to_string())?;
    let spec = rig.spec();
    let (cell, found) = spec
        .cells
        .iter()
        .enumerate()
        .find(|(_, c)| c.id == wanted.cell)
        .ok_or_else(|| {
            let known: Vec<&str> = spec.cells.iter().map(|c| c.id.as_str()).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            format!(
                "the rig '{}' has no load cell '{}'; it has: {known}",
                spec.name, wanted.cell
            )
        })?;
    let column = layout.column(found.raw.id).map_err(|e| e.to_string())?;
    let hangs_loads = spec.hangs_loads;
    if !hangs_loads && wanted.loads.len() > 1 {
        return Err(
            "this rig cannot hang loads by itself: measure one load at a time, then give all readings with --point"
                .into(),
        );
    }
    let mut reader = Reader {
        rig,
        layout,
        clock,
        pacer: Pacer::new(PERIOD_NANOS),
        frame: Frame::empty(),
    };
    let mut points = Vec::new();
    for &load_n in wanted.loads {
        if hangs_loads {
            let hang = RigCommand::HangLoad {
                cell,
                newtons: load_n,
            };
            reader
                .rig
                .command(hang)
                .map_err(|e| format!("{load_n} N cannot be hung: {e}"))?;
        }
        reader.read(column, SETTLE_S)?;
        let readings = reader.read(column, wanted.seconds)?;
        let reading = Reading::of(readings.iter().copied()).ok_or_else(|| {
            format!("the reading under {load_n} N is not a number; check the cell and its cable")
        })?;
        if !reading.is_steady() {
            return Err(format!(
                "the reading under {load_n} N drifts by {} within {} s: let the load come to rest and the amplifier \
                 warm up, then measure again",
                reading.drift, wanted.seconds
            ));
        }
        points.push(Point {
            load_n,
            reading: reading.mean,
            deviation: reading.deviation,
            samples: reading.samples,
            seconds: wanted.seconds,
        });
    }
    Ok(points)
}
