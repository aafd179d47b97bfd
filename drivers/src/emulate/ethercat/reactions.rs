//! What an emulated drive does alone, by its objects: options of quick stop, shutdown, errors and a lost connection, the
//! ramps by which it brakes, and the window within which its motor has to follow.
//!
//! Read off the standard once more and not shared with the side that drives: an error of one must not hide that of the
//! other.

use super::coe::Dictionary;

/// How fast it brakes at its current and voltage limits, in m/s².
const CURRENT_LIMIT_M_PER_S2: f64 = 60.0;
const VOLTAGE_LIMIT_M_PER_S2: f64 = 50.0;
/// Ramps of a drive that nobody has set, in m/s².
const DEFAULT_RAMP_M_PER_S2: f64 = 20.0;
/// How long it stands after a ramp before it says so, in ns.
const SETTLE_NANOS: u64 = 10_000_000;
/// Windows of the following error that mean none.
const NO_WINDOW: [u64; 2] = [0, 0xFFFF_FFFF];

/// How it brakes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Braking {
    /// Not at all: the power goes off at once.
    Coasts,
    /// With a deceleration in m/s².
    Ramp(f64),
}

/// What a lost connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// Nothing: it goes on by its last target.
    Nothing,
    /// An error.
    Error,
    /// Its power goes off.
    PowerOff,
    /// A quick stop.
    QuickStop,
}

/// Numbers of its objects in the dictionary.
pub struct Reactions {
    quick_stop: Option<usize>,
    shutdown: Option<usize>,
    fault: Option<usize>,
    connection: Option<usize>,
    slow_down: Option<usize>,
    deceleration: Option<usize>,
    window: Option<usize>,
    window_time: Option<usize>,
    counts_per_m: f64,
    /// Since when the motor has been outside the window, in ns.
    outside_since: Option<u64>,
}

impl Reactions {
    /// The objects are added.
    pub fn new(dictionary: &mut Dictionary, counts_per_m: f64) -> Self {
        let counts_per_m = counts_per_m.abs();
        let ramp = (DEFAULT_RAMP_M_PER_S2 * counts_per_m) as u64;
        for (index, bits, value) in [
            (0x605A, 16, 2),
            (0x605B, 16, 0),
            (0x605E, 16, 2),
            (0x6007, 16, 1),
            (0x6084, 32, ramp),
            (0x6085, 32, ramp),
            (0x6065, 32, NO_WINDOW[1]),
            (0x6066, 16, 0),
        ] {
            dictionary.add(index, 0, bits, true, value);
        }
        let find = |index| dictionary.find(index, 0);
        Self {
            quick_stop: find(0x605A),
            shutdown: find(0x605B),
            fault: find(0x605E),
            connection: find(0x6007),
            slow_down: find(0x6084),
            deceleration: find(0x6085),
            window: find(0x6065),
            window_time: find(0x6066),
            counts_per_m,
            outside_since: None,
        }
    }

    fn ramp(&self, dictionary: &Dictionary, object: Option<usize>) -> Braking {
        Braking::Ramp(dictionary.get(object) as f64 / self.counts_per_m)
    }

    fn by_option(&self, dictionary: &Dictionary, option: u64) -> Braking {
        match option {
            0 => Braking::Coasts,
            1 => self.ramp(dictionary, self.slow_down),
            3 => Braking::Ramp(CURRENT_LIMIT_M_PER_S2),
            4 => Braking::Ramp(VOLTAGE_LIMIT_M_PER_S2),
            _ => self.ramp(dictionary, self.deceleration),
        }
    }

    /// How a quick stop brakes, and whether it keeps the power at its end.
    pub fn quick_stop(&self, dictionary: &Dictionary) -> (Braking, bool) {
        let option = dictionary.get(self.quick_stop);
        let keeps_power = (5..=8).contains(&option);
        let option = if keeps_power { option - 4 } else { option };
        (self.by_option(dictionary, option), keeps_power)
    }

    /// How a shutdown brakes.
    pub fn shutdown(&self, dictionary: &Dictionary) -> Braking {
        match dictionary.get(self.shutdown) {
            0 => Braking::Coasts,
            _ => self.ramp(dictionary, self.slow_down),
        }
    }

    /// How an error brakes.
    pub fn fault(&self, dictionary: &Dictionary) -> Braking {
        self.by_option(dictionary, dictionary.get(self.fault))
    }

    /// What a lost connection does.
    pub fn when_lost(&self, dictionary: &Dictionary) -> WhenLost {
        match dictionary.get(self.connection) {
            0 => WhenLost::Nothing,
            2 => WhenLost::PowerOff,
            3 => WhenLost::QuickStop,
            _ => WhenLost::Error,
        }
    }

    /// Whether the motor has been too far from its target for too long.
    pub fn does_not_follow(&mut self, dictionary: &Dictionary, error_m: f64, now: u64) -> bool {
        let window = dictionary.get(self.window);
        let is_outside =
            !NO_WINDOW.contains(&window) && error_m.abs() * self.counts_per_m > window as f64;
        if !is_outside {
            self.outside_since = None;
            return false;
        }
        let since = *self.outside_since.get_or_insert(now);
        let time = dictionary.get(self.window_time) * 1_000_000;
        now.saturating_sub(since) >= time
    }

    /// It follows nothing.
    pub fn forget(&mut self) {
        self.outside_since = None;
    }
}

/// A motion that comes to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Where its reference is, in m.
    pub at_m: f64,
    speed_m_per_s: f64,
    deceleration_m_per_s2: f64,
    /// Until when it is worked out, in ns.
    pub until: u64,
    rests_since: Option<u64>,
}

impl Ramp {
    /// From a place with a speed.
    pub fn begin(at_m: f64, speed_m_per_s: f64, deceleration_m_per_s2: f64, now: u64) -> Self {
        Self {
            at_m,
            speed_m_per_s,
            deceleration_m_per_s2,
            until: now,
            rests_since: None,
        }
    }

    /// Goes on to a time; whether it has come to rest and has settled.
    pub fn advance(&mut self, now: u64) -> bool {
        let dt = now.saturating_sub(self.until) as f64 * 1e-9;
        self.until = self.until.max(now);
        let speed = self.speed_m_per_s;
        let slower = (speed.abs() - self.deceleration_m_per_s2 * dt).max(0.0);
        // Without a deceleration there would be no end.
        let next = if self.deceleration_m_per_s2 > 0.0 {
            slower.copysign(speed)
        } else {
            0.0
        };
        self.at_m += 0.5 * (speed + next) * dt;
        self.speed_m_per_s = next;
        if next != 0.0 {
            return false;
        }
        let since = *self.rests_since.get_or_insert(now);
        now.saturating_sub(since) >= SETTLE_NANOS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_ramp_takes_the_time_and_the_way_of_its_deceleration() {
        // 1 m/s at 20 m/s²: 50 ms and 25 mm, then 10 ms to settle.
        let mut ramp = Ramp::begin(0.0, -1.0, 20.0, 0);
        let end = (1..1000).find(|ms| ramp.advance(ms * MS));
        assert_eq!(end, Some(60));
        assert!((ramp.at_m + 0.025).abs() < 1e-9, "{}", ramp.at_m);
        let mut none = Ramp::begin(0.0, 1.0, 0.0, 0);
        none.advance(MS);
        assert!(none.at_m < 1e-3);
    }

    #[test]
    fn options_are_those_of_the_standard() {
        let mut dictionary = Dictionary::default();
        let mut own = Reactions::new(&mut dictionary, -1000.0);
        dictionary.put(dictionary.find(0x6084, 0), 3_000);
        dictionary.put(dictionary.find(0x6085, 0), 9_000);
        let ramps = [3.0, 9.0, CURRENT_LIMIT_M_PER_S2, VOLTAGE_LIMIT_M_PER_S2];
        for option in 0..=8_u64 {
            dictionary.put(own.quick_stop, option);
            let braking = match option {
                0 => Braking::Coasts,
                _ => Braking::Ramp(ramps[(option as usize - 1) % 4]),
            };
            assert_eq!(
                own.quick_stop(&dictionary),
                (braking, option > 4),
                "{option}"
            );
        }
        for (option, expected) in [
            (0, WhenLost::Nothing),
            (1, WhenLost::Error),
            (2, WhenLost::PowerOff),
            (3, WhenLost::QuickStop),
        ] {
            dictionary.put(own.connection, option);
            assert_eq!(own.when_lost(&dictionary), expected);
        }
        // 10 counts are 10 mm, for 5 ms.
        assert!(!own.does_not_follow(&dictionary, 1.0, 0), "no window");
        dictionary.put(own.window, 10);
        dictionary.put(own.window_time, 5);
        assert!(!own.does_not_follow(&dictionary, -0.011, 0));
        assert!(!own.does_not_follow(&dictionary, -0.011, 4 * MS));
        assert!(!own.does_not_follow(&dictionary, 0.009, 5 * MS));
        assert!(!own.does_not_follow(&dictionary, 0.011, 6 * MS));
        assert!(own.does_not_follow(&dictionary, 0.011, 11 * MS));
    }
}
