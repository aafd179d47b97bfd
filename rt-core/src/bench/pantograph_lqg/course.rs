//! Where the train is: place along the section, how much of the force reaches the wire there, and the
//! joint between one section and the next.

use crate::control::predictive::{Way, WayPoint};
use crate::model::catenary::simulate::RAMP_M;
use crate::signal::ease::smooth_step;

/// How long a difference of heights at a joint is bled off, in s.
const JOINT_BLEED_S: f64 = 0.5;

/// The way of the train.
pub struct Course {
    from: f64,
    to: f64,
    speed: f64,
    sections: u32,
    start_height: f64,
    travelled: f64,
    section: u32,
    offset: f64,
    offset_speed: f64,
    since_joint_s: f64,
}

impl Course {
    /// Sections from one place to another in m, at a speed in m/s, run a number of times.
    pub fn new(from: f64, to: f64, speed: f64, sections: u32, start_height: f64) -> Self {
        Self {
            from,
            to,
            speed,
            sections,
            start_height,
            travelled: 0.0,
            section: 1,
            offset: 0.0,
            offset_speed: 0.0,
            since_joint_s: 0.0,
        }
    }

    /// Height of the wire at rest where a section begins, in m.
    pub fn start_height(&self) -> f64 {
        self.start_height
    }

    /// Back to before the first section.
    pub fn restart(&mut self) {
        self.section = 1;
        self.begin();
    }

    /// At the beginning of this section, at its own height.
    pub fn begin(&mut self) {
        self.travelled = 0.0;
        self.offset = 0.0;
        self.offset_speed = 0.0;
        self.since_joint_s = 0.0;
    }

    /// Goes on for `dt` seconds; `false` once the section is over.
    pub fn advance(&mut self, dt: f64) -> bool {
        self.travelled += self.speed * dt;
        self.since_joint_s += dt;
        self.from + self.travelled < self.to
    }

    /// Where the train is and how it meets the wire there.
    pub fn here(&self) -> WayPoint {
        self.at(0.0)
    }

    /// The way of this cycle and those to come, each `dt` seconds long. What lies behind the end of the
    /// section is its end.
    pub fn way(&self, dt: f64) -> Way {
        std::array::from_fn(|j| self.at(j as f64 * dt))
    }

    /// In `seconds` from now.
    fn at(&self, seconds: f64) -> WayPoint {
        let travelled = self.travelled + self.speed * seconds;
        let place = (self.from + travelled).min(self.to);
        let left = self.to - place;
        let since = self.since_joint_s + seconds;
        let bled = smooth_step(since / JOINT_BLEED_S);
        WayPoint {
            place,
            share: (travelled.min(left) / RAMP_M).clamp(0.0, 1.0),
            offset: (self.offset + self.offset_speed * since) * (1.0 - bled),
        }
    }

    /// Whether no section follows.
    pub fn is_last_section(&self) -> bool {
        self.section >= self.sections
    }

    /// Begins the next section at the height in m where the last one ended, and at the speed in m/s that
    /// the wire had there.
    pub fn next_section(&mut self, height: f64, speed: f64) {
        self.section += 1;
        self.begin();
        self.offset = height - self.start_height;
        self.offset_speed = speed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_force_comes_and_goes_gradually_and_a_joint_has_no_step() {
        let mut course = Course::new(130.0, 430.0, 100.0, 2, -0.008);
        let mut last = 0.0;
        while course.advance(0.002) {
            let share = course.here().share;
            assert!((share - last).abs() <= 0.2 / RAMP_M + 1e-12 && (0.0..=1.0).contains(&share));
            last = share;
        }
        assert!(last < 0.01 && !course.is_last_section());
        course.next_section(0.002, 0.1);
        assert!((course.start_height() + course.here().offset - 0.002).abs() < 1e-15);
        course.advance(1e-6);
        let speed = (course.start_height() + course.here().offset - 0.002) / 1e-6;
        assert!((speed - 0.1).abs() < 1e-3, "{speed}");
        for _ in 0..250 {
            course.advance(0.002);
        }
        assert!(course.here().offset.abs() < 1e-12 && course.is_last_section());
    }

    #[test]
    fn the_way_ahead_is_what_the_train_then_meets() {
        let mut course = Course::new(130.0, 430.0, 100.0, 2, -0.008);
        course.next_section(0.002, 0.1);
        for _ in 0..1499 {
            let ahead = course.way(0.002);
            let mut later = Course { ..course };
            for (j, expected) in ahead.iter().enumerate() {
                let found = later.here();
                assert!((found.place - expected.place).abs() < 1e-9, "{j}");
                assert!((found.share - expected.share).abs() < 1e-9, "{j}");
                assert!((found.offset - expected.offset).abs() < 1e-9, "{j}");
                later.advance(0.002);
            }
            course.advance(0.002);
        }
    }
}
