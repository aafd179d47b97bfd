//! What a drive does alone, as its rig file demands it: when it is told to stop, when it has an error, when nobody
//! speaks to it any more, and when its motor does not follow. The objects are those of CiA 402.

use super::config::SdoValue;
use rt_core::file::{FieldError, require_within};
use serde::Deserialize;

/// See the module's text. Every value is written before the segment runs and read back; a drive with others is not
/// armed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReactionsConfig {
    /// Object 0x605A, what a quick stop does: 0 power off at once, 1 the slow-down ramp, 2 the quick-stop ramp, 3 at the
    /// current limit, 4 at the voltage limit, each with the power off at its end; 5 to 8 as 1 to 4 with the power kept,
    /// which this program then takes away by itself.
    pub quick_stop: i16,
    /// Object 0x605B, what a shutdown does: 0 power off at once, 1 the slow-down ramp first.
    pub shutdown: i16,
    /// Object 0x605E, what an error does: 0 power off at once, 1 the slow-down ramp, 2 the quick-stop ramp, 3 at the
    /// current limit, 4 at the voltage limit, each with the power off at its end.
    pub fault_reaction: i16,
    /// Object 0x6007, what a lost connection does: 1 is an error, 2 takes the power away, 3 is a quick stop.
    pub connection_loss: i16,
    /// Object 0x6085, how fast the quick-stop ramp brakes, in m/s².
    pub quick_stop_deceleration_m_per_s2: f64,
    /// Counts of object 0x6085 for 1 m/s²; as many as the drive has counts a metre if it is left out.
    #[serde(default)]
    pub deceleration_counts_per_m_per_s2: Option<f64>,
    /// Object 0x6065, how far the motor may be from its target, in m.
    pub following_window_m: f64,
    /// Object 0x6066, for how long it may be farther away, in ms.
    pub following_time_ms: u16,
    /// How long after it is told to be off the drive may still have power, in ms: its quick stop from full speed, and a
    /// margin. What brakes for longer loses its power [`CUT_BEFORE_MS`] before; what then still has it is a fault.
    #[serde(default = "default_off_within_ms")]
    pub off_within_ms: f64,
    /// Objects of these that the drive does not have by its manual. One that it has after all is written like any other.
    #[serde(default)]
    pub absent: Vec<u16>,
}

fn default_off_within_ms() -> f64 {
    OFF_WITHIN_MS
}

/// The bound of power-off for a drive whose file says nothing, in ms.
pub const OFF_WITHIN_MS: f64 = 500.0;
/// How long before that bound the voltage is taken away, in ms.
pub const CUT_BEFORE_MS: f64 = 50.0;
/// Following error window that means none.
const NO_WINDOW: u32 = u32::MAX;

/// What to write where nothing is stated.
pub const EXAMPLE: &str = "reactions: (quick_stop: 2, shutdown: 0, fault_reaction: 2, connection_loss: 1, \
                           quick_stop_deceleration_m_per_s2: 40.0, following_window_m: 0.02, following_time_ms: 10, \
                           off_within_ms: 250.0)";

/// An object with the value that is demanded of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Its index.
    pub index: u16,
    /// Its value.
    pub value: SdoValue,
    /// Unit of the value.
    pub unit: &'static str,
    /// Whether the drive may lack it.
    pub may_be_absent: bool,
}

/// A drive that is farther than this from where it was told to be follows nothing; the loop's own limit on a rig with
/// hardware is at most half as wide.
const MOST_FOLLOWING_WINDOW_M: f64 = 0.1;

impl ReactionsConfig {
    /// Indices of its objects.
    pub const OBJECTS: [u16; 7] = [0x605A, 0x605B, 0x605E, 0x6007, 0x6085, 0x6065, 0x6066];

    /// The objects that are written, for a drive with so many counts a metre.
    pub fn demands(&self, counts_per_m: f64) -> [Demand; 7] {
        let counts = |metres: f64, a_metre: f64| (metres * a_metre.abs()).round() as u32;
        let deceleration = self.deceleration_counts_per_m_per_s2;
        let deceleration = deceleration.unwrap_or(counts_per_m);
        let demand = |index, value, unit| Demand {
            index,
            value,
            unit,
            may_be_absent: self.absent.contains(&index),
        };
        [
            demand(0x605A, SdoValue::I16(self.quick_stop), ""),
            demand(0x605B, SdoValue::I16(self.shutdown), ""),
            demand(0x605E, SdoValue::I16(self.fault_reaction), ""),
            demand(0x6007, SdoValue::I16(self.connection_loss), ""),
            demand(
                0x6085,
                SdoValue::U32(counts(self.quick_stop_deceleration_m_per_s2, deceleration)),
                "counts/s²",
            ),
            demand(
                0x6065,
                SdoValue::U32(counts(self.following_window_m, counts_per_m)),
                "counts",
            ),
            demand(0x6066, SdoValue::U16(self.following_time_ms), "ms"),
        ]
    }

    /// Refuses what makes no sense, and what would leave a motor with power that nobody takes away.
    pub fn check(&self, counts_per_m: f64) -> Result<(), FieldError> {
        let wrong = |field: &str, problem: String| Err(FieldError::new(field, problem));
        for (field, value, most) in [
            ("quick_stop", self.quick_stop, 8),
            ("shutdown", self.shutdown, 1),
            ("fault_reaction", self.fault_reaction, 4),
        ] {
            if !(0..=most).contains(&value) {
                return wrong(
                    field,
                    format!(
                        "is {value}; expected 0 to {most} as CiA 402 defines them: of any other nobody can tell what \
                         becomes of the power"
                    ),
                );
            }
        }
        if self.connection_loss == 0 {
            return wrong(
                "connection_loss",
                "is 0: the motor would go on with power when this program dies; expected 1 (error), 2 (power off) or 3 \
                 (quick stop)"
                    .into(),
            );
        }
        if !(1..=3).contains(&self.connection_loss) {
            return wrong(
                "connection_loss",
                format!(
                    "is {}; expected 1 (error), 2 (power off) or 3 (quick stop)",
                    self.connection_loss
                ),
            );
        }
        if self.connection_loss == 3 && self.quick_stop >= 5 {
            return wrong(
                "connection_loss",
                format!(
                    "is 3 (quick stop) and quick_stop is {}, which keeps the power: after a lost connection nobody is \
                     there to take it away; expected connection_loss 1 or 2, or quick_stop 0 to 4",
                    self.quick_stop
                ),
            );
        }
        require_within(
            "quick_stop_deceleration_m_per_s2",
            self.quick_stop_deceleration_m_per_s2,
            0.1,
            1000.0,
            "m/s²",
        )?;
        if let Some(counts) = self.deceleration_counts_per_m_per_s2 {
            let field = "deceleration_counts_per_m_per_s2";
            require_within(field, counts, 1e-3, 1e12, "")?;
        }
        require_within(
            "following_window_m",
            self.following_window_m,
            1e-6,
            MOST_FOLLOWING_WINDOW_M,
            "m",
        )?;
        require_within("off_within_ms", self.off_within_ms, 60.0, 10_000.0, "ms")?;
        for (index, field) in [
            (0x6085, "quick_stop_deceleration_m_per_s2"),
            (0x6065, "following_window_m"),
        ] {
            let demanded = self.demands(counts_per_m).into_iter();
            let value = demanded
                .filter(|d| d.index == index)
                .map(|d| d.value.number());
            if value
                .into_iter()
                .any(|v| v < 1 || v >= i64::from(NO_WINDOW))
            {
                return wrong(
                    field,
                    format!(
                        "is not one count, or more counts than 0x{index:04X} holds, by the counts a metre of this drive"
                    ),
                );
            }
        }
        if let Some(index) = self.absent.iter().find(|i| !Self::OBJECTS.contains(i)) {
            let known = Self::OBJECTS.map(|i| format!("0x{i:04X}")).join(", ");
            return wrong(
                "absent",
                format!("names 0x{index:04X}; expected of: {known}"),
            );
        }
        Ok(())
    }

    /// Refuses a bound of power-off within which the quick-stop ramp cannot end from a speed.
    pub fn check_stop(&self, speed_m_per_s: f64) -> Result<(), FieldError> {
        // Which ramp the others take is not stated here.
        if !matches!(self.quick_stop, 2 | 6) {
            return Ok(());
        }
        let braking_ms = 1e3 * speed_m_per_s / self.quick_stop_deceleration_m_per_s2;
        let needed_ms = braking_ms + CUT_BEFORE_MS;
        if self.off_within_ms >= needed_ms {
            return Ok(());
        }
        Err(FieldError::new(
            "off_within_ms",
            format!(
                "is {} ms; braking from actuator.max_speed_m_per_s {speed_m_per_s} at \
                 quick_stop_deceleration_m_per_s2 {} takes {braking_ms:.0} ms, and {CUT_BEFORE_MS} ms are for the drive to \
                 answer: expected at least {needed_ms:.0} ms, a faster ramp or a lower speed",
                self.off_within_ms, self.quick_stop_deceleration_m_per_s2
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions() -> ReactionsConfig {
        ReactionsConfig {
            quick_stop: 2,
            shutdown: 0,
            fault_reaction: 2,
            connection_loss: 1,
            quick_stop_deceleration_m_per_s2: 40.0,
            deceleration_counts_per_m_per_s2: None,
            following_window_m: 0.02,
            following_time_ms: 10,
            off_within_ms: 250.0,
            absent: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_in_counts_whichever_way_the_drive_counts() {
        for counts_per_m in [1e7, -1e7] {
            let all = reactions().demands(counts_per_m);
            let values = all.map(|d| (d.index, d.value.number()));
            assert_eq!(
                values,
                [
                    (0x605A, 2),
                    (0x605B, 0),
                    (0x605E, 2),
                    (0x6007, 1),
                    (0x6085, 400_000_000),
                    (0x6065, 200_000),
                    (0x6066, 10),
                ]
            );
        }
        let own = ReactionsConfig {
            deceleration_counts_per_m_per_s2: Some(100.0),
            ..reactions()
        };
        assert_eq!(own.demands(1e7)[4].value, SdoValue::U32(4000));
    }

    #[test]
    fn reactions_that_leave_a_motor_with_power_are_refused() {
        let refused = |change: &dyn Fn(&mut ReactionsConfig)| {
            let mut own = reactions();
            change(&mut own);
            own.check(1e7)
                .map_or_else(|e| e.to_string(), |()| String::new())
        };
        assert_eq!(refused(&|_| ()), "");
        for quick_stop in 0..=8 {
            assert_eq!(refused(&|r| r.quick_stop = quick_stop), "", "{quick_stop}");
        }
        let alone = refused(&|r| (r.connection_loss, r.quick_stop) = (3, 6));
        assert!(alone.contains("nobody is there to take it away"), "{alone}");
        assert_eq!(refused(&|r| (r.connection_loss, r.quick_stop) = (3, 4)), "");
        let goes_on = refused(&|r| r.connection_loss = 0);
        assert!(goes_on.contains("go on with power"), "{goes_on}");
        for bad in [
            refused(&|r| r.connection_loss = 4),
            refused(&|r| r.quick_stop = 9),
            refused(&|r| r.quick_stop = -1),
            refused(&|r| r.shutdown = 2),
            refused(&|r| r.fault_reaction = 5),
            refused(&|r| r.following_window_m = 0.0),
            refused(&|r| r.following_window_m = 0.11),
            refused(&|r| r.following_window_m = f64::NAN),
            // 0.1 µm is one count; half of that is none.
            refused(&|r| r.deceleration_counts_per_m_per_s2 = Some(1e9)),
            refused(&|r| r.quick_stop_deceleration_m_per_s2 = 0.0),
            refused(&|r| r.off_within_ms = 10.0),
            refused(&|r| r.absent = vec![0x6060]),
        ] {
            assert_ne!(bad, "");
        }
    }

    #[test]
    fn a_ramp_that_does_not_end_in_time_is_refused_with_both_numbers() {
        // 2 m/s at 40 m/s² are 50 ms, and 50 ms for the answer.
        assert!(reactions().check_stop(2.0).is_ok());
        let own = ReactionsConfig {
            off_within_ms: 99.0,
            ..reactions()
        };
        let text = own.check_stop(2.0).unwrap_err().to_string();
        assert!(
            text.contains("99 ms") && text.contains("at least 100 ms"),
            "{text}"
        );
        let off = ReactionsConfig {
            quick_stop: 0,
            ..own
        };
        assert!(off.check_stop(2.0).is_ok());
    }
}
