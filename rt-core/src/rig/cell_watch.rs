//! How force sensors are watched: what a rig file may say of each load cell and of all of them together, and what the
//! rig makes of it.

use crate::file::{FieldError, require_positive, require_within};
use serde::Deserialize;

/// How one load cell is watched, as a rig file says it. Everything has a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CellWatch {
    /// Identical readings in a row that mean a frozen cell; 0: not watched. `None`: as many cells as there are times the
    /// count of the rig's force, which makes a repetition of one cell as unlikely as one of all; on hardware without
    /// such a count 0.5 s.
    pub frozen_after_cycles: Option<u32>,
    /// Lowest and highest reading that the cell can show, in its unit; a reading beyond is no reading. `None`: from
    /// `range_n`.
    pub range: Option<(f64, f64)>,
    /// Largest force of either sign that the cell is made for, in N; its calibration makes readings of it. `None`: on
    /// hardware neither range nor saturation is watched.
    pub range_n: Option<f64>,
    /// Standard deviation of its noise, in its unit; `None`: not watched.
    pub noise: Option<f64>,
    /// Which share of the contact force it carries. `None`: what is left of the others, in equal parts.
    pub share: Option<f64>,
}

/// What the force has to be while the motor rests in the parked position.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum RestForce {
    /// Near the file's `uplift_n`: within 40 % of it, and never closer than 30 N, because joints rub and springs pull
    /// at every height.
    FromUplift,
    /// Between these, in N.
    Between(f64, f64),
    /// Anything: nobody knows whether the head touches there.
    Unwatched,
}

/// How far the force at rest may be from the uplift, as a part of it.
const REST_PART: f64 = 0.4;
/// How far it may be in any case, in N.
const REST_LEAST_N: f64 = 30.0;

impl RestForce {
    /// The band in N, if there is one.
    pub fn band(self, uplift_n: f64) -> Option<(f64, f64)> {
        match self {
            RestForce::FromUplift => {
                let away = (REST_PART * uplift_n.abs()).max(REST_LEAST_N);
                Some((uplift_n - away, uplift_n + away))
            }
            RestForce::Between(low, high) => Some((low, high)),
            RestForce::Unwatched => None,
        }
    }
}

/// How the force sensors of a rig are watched together: the block `cell_watch` of its file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CellsWatch {
    /// A reading at this part of its range or beyond is saturated while the drive is on: the force is larger than shown.
    pub saturated_at: f64,
    /// Lowest and highest noise of a cell, as parts of what its `noise` states; the highest only while nothing moves.
    pub noise_band: (f64, f64),
    /// Over which time noise is looked at, in s.
    pub noise_window_s: f64,
    /// Which part of its share each cell has to carry.
    pub share_kept: f64,
    /// How far below that a cell may be because of its zero, in N.
    pub share_slack_n: f64,
    /// Below this force shares are not looked at, in N.
    pub share_above_n: f64,
    /// How much may be missing of that, summed up over time, in N s: a large force is acted upon sooner.
    pub share_impulse_n_s: f64,
    /// What the force has to be while the motor rests in the parked position; a run waits until it is known. `None`:
    /// `FromUplift` on hardware, `Unwatched` where nobody can be hurt.
    pub rest_force: Option<RestForce>,
    /// Over which time force and cells are looked at while the motor rests there, in s.
    pub rest_window_s: f64,
    /// A cell whose mean there has changed by more since the last time, in N, is told of. `None`: 15 N on hardware,
    /// else not looked at.
    pub drift_warn_n: Option<f64>,
    /// A cell whose mean there has changed by more since the last time, in N, is a fault. `None`: 50 N on hardware, else
    /// not looked at.
    pub drift_max_n: Option<f64>,
}

impl Default for CellsWatch {
    fn default() -> Self {
        Self {
            saturated_at: 0.99,
            noise_band: (0.2, 5.0),
            noise_window_s: 1.0,
            share_kept: 0.3,
            share_slack_n: 4.0,
            share_above_n: 30.0,
            share_impulse_n_s: 1.5,
            rest_force: None,
            rest_window_s: 1.0,
            drift_warn_n: None,
            drift_max_n: None,
        }
    }
}

/// On hardware, where the file says nothing, in N.
const DRIFT_WARN_N: f64 = 15.0;
const DRIFT_MAX_N: f64 = 50.0;

impl CellsWatch {
    /// With what holds for hardware where the file says nothing.
    pub fn for_hardware(self) -> Self {
        let max = self.drift_max_n.unwrap_or(DRIFT_MAX_N);
        Self {
            rest_force: self.rest_force.or(Some(RestForce::FromUplift)),
            drift_warn_n: self.drift_warn_n.or(Some(DRIFT_WARN_N.min(max))),
            drift_max_n: Some(max),
            ..self
        }
    }

    /// Refuses what watches nothing or trips on everything.
    pub fn check(&self) -> Result<(), FieldError> {
        require_within("saturated_at", self.saturated_at, 0.5, 1.0, "")?;
        require_band("noise_band", self.noise_band)?;
        require_within("noise_band", self.noise_band.0, 0.0, 1.0, "")?;
        require_within("noise_band", self.noise_band.1, 1.0, 1e6, "")?;
        require_within("share_kept", self.share_kept, 0.0, 0.9, "")?;
        require_within("share_slack_n", self.share_slack_n, 0.0, 1000.0, "N")?;
        require_within("share_above_n", self.share_above_n, 1.0, 1e4, "N")?;
        require_within(
            "share_impulse_n_s",
            self.share_impulse_n_s,
            1e-3,
            1e3,
            "N s",
        )?;
        for (field, window) in [
            ("noise_window_s", self.noise_window_s),
            ("rest_window_s", self.rest_window_s),
        ] {
            require_within(field, window, 0.1, 60.0, "s")?;
        }
        if let Some(RestForce::Between(low, high)) = self.rest_force {
            require_band("rest_force", (low, high))?;
        }
        for (field, bound) in [
            ("drift_warn_n", self.drift_warn_n),
            ("drift_max_n", self.drift_max_n),
        ] {
            if let Some(bound) = bound {
                require_positive(field, bound, "N")?;
            }
        }
        match (self.drift_warn_n, self.drift_max_n) {
            (Some(warn), Some(max)) if warn > max => Err(FieldError::new(
                "drift_warn_n",
                format!(
                    "is {warn} N, above drift_max_n of {max} N; expected a warning before the fault"
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl CellWatch {
    /// Refuses what watches nothing or trips on everything.
    pub fn check(&self) -> Result<(), FieldError> {
        if let Some(n) = self.frozen_after_cycles.filter(|n| (1..5).contains(n)) {
            return Err(FieldError::new(
                "frozen_after_cycles",
                format!("is {n}; expected at least 5, or 0 for a cell that is not watched"),
            ));
        }
        if let Some(range) = self.range {
            require_band("range", range)?;
        }
        if let Some(newtons) = self.range_n {
            require_positive("range_n", newtons, "N")?;
        }
        if let Some(noise) = self.noise {
            require_positive("noise", noise, "units of the reading")?;
        }
        if let Some(share) = self.share {
            require_within("share", share, 0.0, 1.0, "")?;
        }
        Ok(())
    }
}

fn require_band(field: &str, (low, high): (f64, f64)) -> Result<(), FieldError> {
    if low.is_finite() && high.is_finite() && low < high {
        return Ok(());
    }
    let problem = format!("is {low} to {high}; expected finite numbers, the lower one first");
    Err(FieldError::new(field, problem))
}

/// Shares that are stated must leave something for the others: refused in words of the file.
pub fn check_shares(stated: &[Option<f64>]) -> Result<(), FieldError> {
    /// Shares are written down rounded.
    const ROUNDED: f64 = 0.01;
    let sum: f64 = stated.iter().flatten().sum();
    let all = stated.iter().all(Option::is_some);
    if sum > 1.0 + ROUNDED || (all && !stated.is_empty() && sum < 1.0 - ROUNDED) {
        return Err(FieldError::new(
            "watch.share",
            format!("add up to {sum}; expected shares of all cells that add up to 1"),
        ));
    }
    Ok(())
}

/// The shares of all cells: those that are stated, and the rest in equal parts.
pub fn shares(stated: &[Option<f64>]) -> Vec<f64> {
    let given: f64 = stated.iter().flatten().sum();
    let open = stated.iter().filter(|share| share.is_none()).count();
    let each = (1.0 - given).max(0.0) / open.max(1) as f64;
    stated.iter().map(|share| share.unwrap_or(each)).collect()
}

/// After how long a reading that does not change is frozen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrozenAfter {
    /// So many cycles.
    Cycles(u32),
    /// So many seconds.
    Seconds(f64),
}

/// A sensor that the guard watches by itself: a load cell, or the one force sensor of a rig without cells.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorWatch {
    /// Its channel.
    pub channel: &'static str,
    /// Which load cell it is; `None`: it gives newtons.
    pub cell: Option<usize>,
    /// When it is frozen; `None`: its values repeat when all is well.
    pub frozen: Option<FrozenAfter>,
    /// What it can show, in its unit.
    pub range: Option<(f64, f64)>,
    /// What it can show of either sign, in N, where `range` is not known.
    pub range_n: Option<f64>,
    /// Its noise, in its unit.
    pub noise: Option<f64>,
    /// Its share of the force.
    pub share: Option<f64>,
}

/// How a rig's force is watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForceWatch {
    /// Its sensors.
    pub sensors: Vec<SensorWatch>,
    /// What holds for all of them.
    pub together: CellsWatch,
    /// The force channel, where the force at rest is watched, and the band in N.
    pub at_rest: Option<(&'static str, (f64, f64))>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_not_stated_is_what_the_others_leave() {
        assert_eq!(shares(&[None, None]), [0.5, 0.5]);
        assert_eq!(shares(&[Some(0.4), None, None]), [0.4, 0.3, 0.3]);
        assert_eq!(shares(&[Some(0.4), Some(0.6)]), [0.4, 0.6]);
        assert!(check_shares(&[Some(0.7), Some(0.7)]).is_err());
        assert!(check_shares(&[Some(0.2), Some(0.2)]).is_err());
        assert!(check_shares(&[Some(0.333), Some(0.333), Some(0.333)]).is_ok());
        assert!(check_shares(&[None, Some(1.0)]).is_ok() && check_shares(&[]).is_ok());
    }

    #[test]
    fn the_band_at_rest_is_never_closer_than_what_rubs() {
        assert_eq!(RestForce::FromUplift.band(100.0), Some((60.0, 140.0)));
        assert_eq!(RestForce::FromUplift.band(-60.0), Some((-90.0, -30.0)));
        assert_eq!(RestForce::FromUplift.band(0.0), Some((-30.0, 30.0)));
        assert_eq!(RestForce::Between(1.0, 2.0).band(9.0), Some((1.0, 2.0)));
        assert_eq!(RestForce::Unwatched.band(100.0), None);
    }

    #[test]
    fn bounds_that_watch_nothing_or_trip_on_everything_are_refused() {
        let default = CellsWatch::default();
        assert!(default.check().is_ok() && default.for_hardware().check().is_ok());
        for wrong in [
            CellsWatch {
                saturated_at: 0.4,
                ..default
            },
            CellsWatch {
                saturated_at: f64::NAN,
                ..default
            },
            CellsWatch {
                noise_band: (0.5, 0.2),
                ..default
            },
            CellsWatch {
                noise_band: (0.1, f64::INFINITY),
                ..default
            },
            CellsWatch {
                share_kept: 1.0,
                ..default
            },
            CellsWatch {
                share_above_n: 0.0,
                ..default
            },
            CellsWatch {
                share_impulse_n_s: 0.0,
                ..default
            },
            CellsWatch {
                rest_window_s: 0.0,
                ..default
            },
            CellsWatch {
                noise_window_s: 1e9,
                ..default
            },
            CellsWatch {
                rest_force: Some(RestForce::Between(90.0, 60.0)),
                ..default
            },
            CellsWatch {
                drift_max_n: Some(0.0),
                ..default
            },
            CellsWatch {
                drift_warn_n: Some(9.0),
                drift_max_n: Some(5.0),
                ..default
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        // A stated bound below the default of the warning pulls that down with it.
        let tight = CellsWatch {
            drift_max_n: Some(5.0),
            ..default
        };
        assert!(tight.for_hardware().check().is_ok());
        let cell = CellWatch::default();
        for wrong in [
            CellWatch {
                frozen_after_cycles: Some(4),
                ..cell
            },
            CellWatch {
                range: Some((2.0, -2.0)),
                ..cell
            },
            CellWatch {
                range_n: Some(0.0),
                ..cell
            },
            CellWatch {
                noise: Some(f64::NAN),
                ..cell
            },
            CellWatch {
                share: Some(1.1),
                ..cell
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        let unwatched = CellWatch {
            frozen_after_cycles: Some(0),
            ..cell
        };
        assert!(unwatched.check().is_ok());
    }
}
