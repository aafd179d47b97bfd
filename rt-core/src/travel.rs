//! A move with bounded speed and acceleration: how the guard takes an actuator from wherever it is,
//! at whatever speed, to a resting position without a jump.

/// A commanded position and its speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Travel {
    /// Position.
    pub position: f64,
    /// Speed in units per second.
    pub speed: f64,
}

/// Bounds of a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TravelLimits {
    /// Fastest speed that is aimed at, in units per second.
    pub max_speed: f64,
    /// Acceleration, and deceleration on arrival, in units per second squared.
    pub acceleration: f64,
    /// Deceleration from a speed that does not belong to the move, in units per second squared.
    pub braking: f64,
}

impl Travel {
    /// At rest at a position.
    pub fn at_rest(position: f64) -> Self {
        Self {
            position,
            speed: 0.0,
        }
    }

    /// One cycle of `dt` seconds toward `target`; `true` once it rests there.
    ///
    /// The speed aimed at is v = −a·dt/2 + √((a·dt/2)² + 2·a·d), the largest from which the distance d
    /// suffices to brake with a in steps of dt.
    pub fn toward(&mut self, target: f64, limits: &TravelLimits, dt: f64) -> bool {
        let a = limits.acceleration;
        let distance = target - self.position;
        let half = 0.5 * a * dt;
        let arriving = (half * half + 2.0 * a * distance.abs()).sqrt() - half;
        let wanted = arriving.min(limits.max_speed).copysign(distance);
        let is_too_fast = self.speed * wanted < 0.0 || self.speed.abs() > wanted.abs();
        self.accelerate_to(
            wanted,
            if is_too_fast {
                limits.braking.max(a)
            } else {
                a
            },
            dt,
        );
        // Close enough that one step within the bounds ends it exactly.
        let arrives = distance.abs() <= a * dt * dt && self.speed.abs() <= 2.0 * a * dt;
        if arrives {
            *self = Self::at_rest(target);
        } else {
            self.position += self.speed * dt;
        }
        arrives
    }

    /// One cycle of `dt` seconds toward standstill wherever that is; `true` once at rest.
    pub fn brake(&mut self, limits: &TravelLimits, dt: f64) -> bool {
        self.accelerate_to(0.0, limits.braking, dt);
        self.position += self.speed * dt;
        self.speed == 0.0
    }

    fn accelerate_to(&mut self, wanted: f64, acceleration: f64, dt: f64) {
        let change = acceleration * dt;
        self.speed += (wanted - self.speed).clamp(-change, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TravelLimits = TravelLimits {
        max_speed: 0.2,
        acceleration: 2.0,
        braking: 10.0,
    };
    const DT: f64 = 0.002;

    #[test]
    fn a_move_takes_the_time_of_a_trapezoid_and_never_overshoots() {
        let mut travel = Travel::at_rest(0.0);
        let mut steps = 0;
        while !travel.toward(0.1, &LIMITS, DT) {
            assert!(travel.position <= 0.1 + 1e-12 && travel.speed <= 0.2 + 1e-12);
            steps += 1;
            assert!(steps < 10_000, "never arrives");
        }
        assert_eq!(travel, Travel::at_rest(0.1));
        // Closed form of a trapezoidal move: d/v + v/a. Discrete braking costs a few steps more.
        let (ideal, found) = (0.1 / 0.2 + 0.2 / 2.0, f64::from(steps) * DT);
        assert!((found - ideal).abs() < 0.02, "{found} s against {ideal} s");
    }

    #[test]
    fn from_any_speed_neither_position_nor_speed_jumps_and_it_arrives() {
        for start_speed in [-1.5, -0.3, 0.0, 0.1, 0.9, 1.5] {
            for start in [-0.2, -0.001, 0.0, 0.0005, 0.3] {
                let mut travel = Travel {
                    position: start,
                    speed: start_speed,
                };
                let mut arrived = false;
                let mut farthest = 0.0_f64;
                for _ in 0..5_000 {
                    let before = travel;
                    arrived = travel.toward(0.0, &LIMITS, DT);
                    farthest = farthest.max((travel.position - start).abs());
                    let moved = (travel.position - before.position).abs();
                    assert!(
                        moved <= before.speed.abs().max(0.2) * DT + 10.0 * DT * DT,
                        "jump of {moved}"
                    );
                    assert!(
                        (travel.speed - before.speed).abs() <= 10.0 * DT + 1e-12,
                        "speed jump"
                    );
                    if arrived {
                        break;
                    }
                }
                assert!(arrived, "from {start} at {start_speed}");
                // A wrong speed is gone after v²/(2·braking), whatever the way to the target.
                let away = start_speed * start_speed / 20.0 + start_speed.abs() * DT;
                assert!(
                    farthest <= start.abs() + 2.0 * away + 1e-9,
                    "{farthest} m away"
                );
            }
        }
    }

    #[test]
    fn braking_needs_the_distance_of_the_closed_form() {
        let mut travel = Travel {
            position: 0.0,
            speed: 1.0,
        };
        while !travel.brake(&LIMITS, DT) {}
        // v²/(2a), less half a step because the speed falls before the position moves.
        assert!(
            (travel.position - 0.05).abs() <= 1.0 * DT,
            "{}",
            travel.position
        );
    }
}
