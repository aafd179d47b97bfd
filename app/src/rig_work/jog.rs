//! Jogging: moves the motor to a height within the rig's range, holds it there for a while, reads position and force, and
//! parks again.

use super::WorkError;
use super::play::Stand;
use crate::session::Change;
use rt_core::bench::BenchConfig;
use rt_core::bench::jog::{JogConfig, SPEC, SPEED};
use rt_core::rig::Purpose;
use std::collections::BTreeMap;

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// To a height, in m.
    To(f64),
    /// By a distance from the parked position, in m; upward if above 0.
    By(f64),
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Where to.
    pub goal: Goal,
    /// How fast, in m/s; `None`: as the bench begins.
    pub speed_m_per_s: Option<f64>,
    /// How long it is held there, in s.
    pub hold_s: f64,
}

/// What the rig showed there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jogged {
    /// Where the motor was sent, in m.
    pub target_m: f64,
    /// Where it was while it was held, in m.
    pub position_m: f64,
    /// The force then, in N.
    pub force_n: f64,
    /// How long the move took, in s.
    pub moved_s: f64,
}

/// Moves, holds, reads, parks.
pub fn jog(stand: &Stand, wanted: &Wanted) -> Result<Jogged, WorkError> {
    let (_, _, park) = stand.range_m();
    let target_m = match wanted.goal {
        Goal::To(height) => height,
        Goal::By(distance) => park + distance,
    };
    stand.require_in_range("a height of", target_m)?;
    if !(0.1..=600.0).contains(&wanted.hold_s) {
        return Err(WorkError::Input(format!(
            "holding for {} s is refused: expected 0.1 to 600 s",
            wanted.hold_s
        )));
    }
    let speed = wanted.speed_m_per_s.unwrap_or(SPEC.params[SPEED].default);
    SPEC.params[SPEED]
        .check(speed)
        .map_err(|e| WorkError::Input(e.to_string()))?;
    let acceleration = JogConfig::default().acceleration_m_per_s2;
    // A trapezoidal move, and a cycle or two for the command to arrive.
    let moved_s = (target_m - park).abs() / speed + speed / acceleration + 0.05;
    let bench = BenchConfig::Jog(JogConfig::default());
    let mut loaded = stand.session("Jog", bench, Some(0.1 + moved_s + wanted.hold_s));
    loaded.session.params.insert("speed".into(), speed);
    // The bench moves when its target changes: what it begins with is any other height.
    let untouched = if target_m == 0.0 { 1.0 } else { 0.0 };
    loaded.session.params.insert("target".into(), untouched);
    loaded.session.changes.push(Change {
        after_s: 0.05,
        params: BTreeMap::from([("target".into(), target_m)]),
        insist: false,
    });
    let played = stand.permitted(Purpose::Jog)?.play(&loaded)?;
    let held = (0.8 * wanted.hold_s / played.period_s) as usize;
    let mean = |channel: &str| {
        let all = played.series(channel);
        let known: Vec<f64> = all[all.len().saturating_sub(held.max(1))..]
            .iter()
            .copied()
            .filter(|x| x.is_finite())
            .collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    };
    Ok(Jogged {
        target_m,
        position_m: mean("motor_position"),
        force_n: mean("force"),
        moved_s,
    })
}
