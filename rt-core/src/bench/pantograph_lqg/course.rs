//! Where the train is: place along the section, how much of the force reaches the wire there, and the
//! joint between one section and the next.

use crate::bench::ease::smooth_step;
use crate::control::predictive::Entry;
use crate::model::catenary::simulate::RAMP_M;

/// How long a difference of heights at a joint is bled off, in s.
const BLEED_S: f64 = 0.5;

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
        self.since_joint_s = 0.0;
    }

    /// Goes on for `dt` seconds; `false` once the section is over.
    pub fn advance(&mut self, dt: f64) -> bool {
        self.travelled += self.speed * dt;
        self.since_joint_s += dt;
        self.place() < self.to
    }

    /// Where the train is, in m.
    pub fn place(&self) -> f64 {
        (self.from + self.travelled).min(self.to)
    }

    /// Speed of the train, in m/s.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// How the force comes to the wire at the beginning of a section.
    pub fn entry(&self) -> Entry {
        Entry {
            from_m: self.from,
            length_m: RAMP_M,
        }
    }

    /// How much of the force reaches the wire here.
    pub fn force_share(&self) -> f64 {
        let left = self.to - self.place();
        (self.travelled.min(left) / RAMP_M).clamp(0.0, 1.0)
    }

    /// Whether no section follows.
    pub fn is_last_section(&self) -> bool {
        self.section >= self.sections
    }

    /// Begins the next section at the height where the last one ended.
    pub fn next_section(&mut self, height: f64) {
        self.section += 1;
        self.begin();
        self.offset = height - self.start_height;
    }

    /// What is left of the difference of heights at the last joint, in m.
    pub fn joint_offset(&self) -> f64 {
        self.offset * (1.0 - smooth_step(self.since_joint_s / BLEED_S))
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
            let share = course.force_share();
            assert!((share - last).abs() <= 0.2 / RAMP_M + 1e-12 && (0.0..=1.0).contains(&share));
            last = share;
        }
        assert!(last < 0.01 && !course.is_last_section());
        course.next_section(0.002);
        assert!((course.start_height() + course.joint_offset() - 0.002).abs() < 1e-15);
        for _ in 0..250 {
            course.advance(0.002);
        }
        assert!(course.joint_offset().abs() < 1e-12 && course.is_last_section());
    }
}
