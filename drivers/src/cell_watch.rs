//! What a rig file's words on watching its force sensors come to, together with what else is known of them.

use crate::hardware::HardwareConfig;
use crate::simulated::{FORCE, LoadCellConfig, RAW_READINGS, SimulatedConfig};
use rt_core::rig::CellSpec;
use rt_core::rig::cell_watch::{
    CellWatch, CellsWatch, ForceWatch, FrozenAfter, SensorWatch, shares,
};

/// After which time of identical readings a cell of a hardware rig is frozen whose file says nothing, in s.
const FROZEN_S: f64 = 0.5;

/// Of a simulated rig. Without load cells its force sensor is watched for its range; whether it is frozen is watched
/// as on every rig.
pub fn of_simulated(config: &SimulatedConfig) -> ForceWatch {
    let range_n = config.force_sensor.range_n;
    let cells = &config.load_cells;
    let sensors = if cells.is_empty() {
        vec![SensorWatch {
            channel: FORCE.id,
            cell: None,
            frozen: None,
            range: Some((-range_n, range_n)),
            range_n: None,
            noise: None,
            share: None,
        }]
    } else {
        let truths: Vec<Option<&LoadCellConfig>> = cells.iter().map(Some).collect();
        let watches: Vec<&CellWatch> = cells.iter().map(|c| &c.watch).collect();
        sensors(&Known {
            channels: &RAW_READINGS.map(|raw| raw.id),
            watches: &watches,
            truths: &truths,
            range_n: Some(range_n),
            frozen: of_all(config.force_sensor.frozen_after_cycles, cells.len()),
        })
    };
    watch(sensors, config.cell_watch, config.uplift_n)
}

/// Of a hardware rig. What is emulated in this process is known as a simulation is.
pub fn of_hardware(config: &HardwareConfig, cells: &[CellSpec]) -> ForceWatch {
    let emulated = config.emulated.as_ref();
    let in_process = config.is_in_process();
    let declared = &config.signals.cells;
    let truth = |i: usize| emulated.and_then(|e| e.load_cells.get(i));
    let truths: Vec<Option<&LoadCellConfig>> = (0..declared.len()).map(truth).collect();
    let watches: Vec<&CellWatch> = declared.iter().map(|c| &c.watch).collect();
    let channels: Vec<&'static str> = cells.iter().map(|c| c.raw.id).collect();
    let frozen = of_all(config.force_frozen_after_cycles, declared.len());
    let mut sensors = sensors(&Known {
        channels: &channels,
        watches: &watches,
        truths: &truths,
        range_n: emulated.filter(|_| in_process).map(|e| e.range_n),
        frozen: frozen.or((!in_process).then_some(FrozenAfter::Seconds(FROZEN_S))),
    });
    if in_process && emulated.is_none() {
        // Emulated without noise: its readings repeat when all is well.
        let unstated = |w: &CellWatch| w.frozen_after_cycles.is_none();
        for (sensor, watch) in sensors.iter_mut().zip(&watches) {
            sensor.frozen = sensor.frozen.filter(|_| !unstated(watch));
        }
    }
    let together = if in_process {
        config.cell_watch
    } else {
        config.cell_watch.for_hardware()
    };
    watch(sensors, together, config.uplift_n)
}

fn watch(sensors: Vec<SensorWatch>, together: CellsWatch, uplift_n: f64) -> ForceWatch {
    let band = together.rest_force.and_then(|rest| rest.band(uplift_n));
    ForceWatch {
        sensors,
        together,
        at_rest: band.map(|band| (FORCE.id, band)),
    }
}

/// One cell of several repeats itself as seldom as all of them for so many times fewer cycles.
fn of_all(cycles: Option<u32>, cells: usize) -> Option<FrozenAfter> {
    let cells = u32::try_from(cells).unwrap_or(u32::MAX);
    cycles.map(|cycles| FrozenAfter::Cycles(cycles.saturating_mul(cells)))
}

/// What is known of the cells of a rig.
struct Known<'a> {
    channels: &'a [&'static str],
    watches: &'a [&'a CellWatch],
    /// What the cells really do, where they are simulated.
    truths: &'a [Option<&'a LoadCellConfig>],
    /// Range of such cells.
    range_n: Option<f64>,
    /// When a cell is frozen of which nothing else is said.
    frozen: Option<FrozenAfter>,
}

fn sensors(known: &Known<'_>) -> Vec<SensorWatch> {
    let pairs = || known.watches.iter().zip(known.truths);
    let stated: Vec<Option<f64>> = pairs()
        .map(|(watch, truth)| watch.share.or(truth.map(|t| t.share)))
        .collect();
    let shares = shares(&stated);
    let all = known.channels.iter().zip(pairs()).zip(shares).enumerate();
    all.map(|(i, ((&channel, (watch, truth)), share))| {
        let is_quiet = truth.is_some_and(LoadCellConfig::is_quiet);
        let true_range = || {
            let (truth, range_n) = truth.zip(known.range_n)?;
            let span = (truth.sensitivity_mv_per_v_per_n * range_n).abs();
            let zero = truth.zero_mv_per_v;
            Some((zero - span, zero + span))
        };
        SensorWatch {
            channel,
            cell: Some(i),
            frozen: match watch.frozen_after_cycles {
                Some(0) => None,
                Some(cycles) => Some(FrozenAfter::Cycles(cycles)),
                None => known.frozen.filter(|_| !is_quiet),
            },
            range: watch
                .range
                .or_else(|| true_range().filter(|_| watch.range_n.is_none())),
            range_n: watch.range_n,
            noise: watch.noise,
            // A single cell has nobody to share with.
            share: (known.watches.len() > 1).then_some(share),
        }
    })
    .collect()
}
