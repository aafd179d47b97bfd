//! The play head of a recording: where it stands and how it moves. Pure logic; whoever shows it gives it time.

/// What happens where the head cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// It stays there and pauses.
    Pause,
    /// It goes on at the other end.
    Repeat,
    /// It turns round.
    Turn,
}

/// A stretch of time, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// First moment.
    pub from_s: f64,
    /// Last moment.
    pub to_s: f64,
}

impl Stretch {
    /// How long it is, in s.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }

    fn clamp(&self, t_s: f64) -> f64 {
        t_s.max(self.from_s).min(self.to_s)
    }
}

/// Speeds that buttons step through.
pub const SPEEDS: [f64; 11] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0];

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Playhead {
    whole: Stretch,
    range: Option<Stretch>,
    step_s: f64,
    position_s: f64,
    speed: f64,
    is_playing: bool,
    at_end: AtEnd,
}

impl Playhead {
    /// At the beginning of a recording, paused, at natural speed. `step_s` is its period.
    pub fn new(whole: Stretch, step_s: f64) -> Self {
        Self {
            position_s: whole.from_s,
            whole,
            range: None,
            step_s,
            speed: 1.0,
            is_playing: false,
            at_end: AtEnd::Pause,
        }
    }

    /// Where it stands, in s.
    pub fn position_s(&self) -> f64 {
        self.position_s
    }

    /// Seconds of the recording a second; negative plays backward.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Whether it moves.
    pub fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// What happens where it cannot go on.
    pub fn at_end(&self) -> AtEnd {
        self.at_end
    }

    /// The stretch that is played.
    pub fn range(&self) -> Stretch {
        self.range.unwrap_or(self.whole)
    }

    /// The whole recording.
    pub fn whole(&self) -> Stretch {
        self.whole
    }

    /// Begins to move. At the end it has to begin anew.
    pub fn play(&mut self) {
        let range = self.range();
        let (start, end) = if self.speed < 0.0 {
            (range.to_s, range.from_s)
        } else {
            (range.from_s, range.to_s)
        };
        let is_outside = self.position_s != range.clamp(self.position_s);
        if is_outside || (self.position_s == end && self.at_end == AtEnd::Pause) {
            self.position_s = start;
        }
        self.is_playing = range.length_s() > 0.0;
    }

    /// Stays where it is.
    pub fn pause(&mut self) {
        self.is_playing = false;
    }

    /// Plays or pauses.
    pub fn toggle(&mut self) {
        if self.is_playing {
            self.pause();
        } else {
            self.play();
        }
    }

    /// Moves to a time, within the recording; goes on from there if it plays.
    pub fn seek(&mut self, t_s: f64) {
        if t_s.is_finite() {
            self.position_s = self.whole.clamp(t_s);
        }
    }

    /// Pauses and moves by so many periods, forward or backward, onto a tick.
    pub fn step(&mut self, ticks: i64) {
        self.pause();
        let at = (self.position_s - self.whole.from_s) / self.step_s;
        let tick = at.round() + ticks as f64;
        self.seek(self.whole.from_s + tick * self.step_s);
    }

    /// Sets the speed; 0 and what is no number are refused, because a head at speed 0 is a paused one.
    pub fn set_speed(&mut self, speed: f64) {
        if speed.is_finite() && speed != 0.0 {
            self.speed = speed;
        }
    }

    /// The next of [`SPEEDS`], faster or slower, in the same direction.
    pub fn change_speed(&mut self, faster: bool) {
        let now = self.speed.abs();
        let next = if faster {
            SPEEDS.iter().find(|s| **s > now)
        } else {
            SPEEDS.iter().rev().find(|s| **s < now)
        };
        if let Some(next) = next {
            self.speed = next.copysign(self.speed);
        }
    }

    /// The same speed in the other direction.
    pub fn reverse(&mut self) {
        self.speed = -self.speed;
    }

    /// Chooses what happens where it cannot go on.
    pub fn set_at_end(&mut self, at_end: AtEnd) {
        self.at_end = at_end;
    }

    /// Plays only a stretch, given in either order; `None` plays everything. A stretch shorter than a period
    /// is refused: nothing would move in it.
    pub fn set_range(&mut self, range: Option<(f64, f64)>) {
        let Some((a, b)) = range else {
            self.range = None;
            return;
        };
        let stretch = Stretch {
            from_s: self.whole.clamp(a.min(b)),
            to_s: self.whole.clamp(a.max(b)),
        };
        if stretch.length_s() >= self.step_s {
            self.range = Some(stretch);
            self.position_s = stretch.clamp(self.position_s);
        }
    }

    /// Lets time pass, in s of the person who looks on. `true` if the head has moved.
    pub fn advance(&mut self, elapsed_s: f64) -> bool {
        if !self.is_playing || !elapsed_s.is_finite() || elapsed_s <= 0.0 {
            return false;
        }
        let range = self.range();
        let before = self.position_s;
        let wanted = before + self.speed * elapsed_s;
        self.position_s = if (range.from_s..=range.to_s).contains(&wanted) {
            wanted
        } else {
            self.beyond(range, wanted)
        };
        self.position_s != before
    }

    /// Where a head ends up that would have left the stretch.
    fn beyond(&mut self, range: Stretch, wanted: f64) -> f64 {
        let length = range.length_s();
        if length <= 0.0 {
            self.is_playing = false;
            return range.from_s;
        }
        match self.at_end {
            AtEnd::Pause => {
                self.is_playing = false;
                range.clamp(wanted)
            }
            AtEnd::Repeat => range.from_s + (wanted - range.from_s).rem_euclid(length),
            AtEnd::Turn => {
                // There and back is one round of twice the length.
                let along = (wanted - range.from_s).rem_euclid(2.0 * length);
                let turns = ((wanted - range.from_s) / length).floor();
                if turns.rem_euclid(2.0) != 0.0 {
                    self.reverse();
                }
                range.from_s
                    + if along <= length {
                        along
                    } else {
                        2.0 * length - along
                    }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Playhead {
        let whole = Stretch {
            from_s: 2.0,
            to_s: 12.0,
        };
        Playhead::new(whole, 0.002)
    }

    #[test]
    fn it_plays_at_its_speed_and_pauses_at_the_end() {
        let mut head = head();
        assert!(!head.advance(1.0), "paused");
        head.play();
        assert!(head.advance(1.0));
        assert_eq!(head.position_s(), 3.0);
        head.set_speed(4.0);
        head.advance(0.5);
        assert_eq!(head.position_s(), 5.0);
        head.advance(100.0);
        assert_eq!((head.position_s(), head.is_playing()), (12.0, false));
        // Playing again begins anew.
        head.play();
        assert_eq!((head.position_s(), head.is_playing()), (2.0, true));
    }

    #[test]
    fn backward_it_ends_at_the_beginning_and_begins_at_the_end() {
        let mut head = head();
        head.reverse();
        head.play();
        assert_eq!(head.position_s(), 12.0);
        head.advance(4.0);
        assert_eq!(head.position_s(), 8.0);
        head.advance(60.0);
        assert_eq!((head.position_s(), head.is_playing()), (2.0, false));
    }

    #[test]
    fn a_range_is_repeated_in_both_directions_without_losing_time() {
        let mut head = head();
        head.set_range(Some((6.0, 4.0)));
        head.set_at_end(AtEnd::Repeat);
        assert_eq!(head.position_s(), 4.0);
        head.play();
        head.advance(2.5);
        assert_eq!(head.position_s(), 4.5);
        // Seven rounds and a half in one step, as after a window that was covered.
        head.advance(15.0);
        assert_eq!(head.position_s(), 5.5);
        head.reverse();
        head.advance(2.0);
        assert_eq!(head.position_s(), 5.5);
        head.advance(1.75);
        assert_eq!(head.position_s(), 5.75);
        head.set_range(None);
        assert_eq!(head.range(), head.whole());
    }

    #[test]
    fn it_turns_round_and_comes_back() {
        let mut head = head();
        head.set_range(Some((4.0, 6.0)));
        head.set_at_end(AtEnd::Turn);
        head.play();
        for (elapsed, position, speed) in [
            (1.5, 5.5, 1.0),
            (1.0, 5.5, -1.0),
            (1.5, 4.0, -1.0),
            (0.5, 4.5, 1.0),
            (8.25, 4.75, 1.0),
        ] {
            head.advance(elapsed);
            assert_eq!((head.position_s(), head.speed()), (position, speed));
        }
    }

    #[test]
    fn a_head_that_plays_agrees_with_many_small_steps() {
        for at_end in [AtEnd::Repeat, AtEnd::Turn] {
            let mut large = head();
            large.set_at_end(at_end);
            large.set_speed(-5.0);
            large.seek(7.0);
            large.play();
            let mut small = large.clone();
            for _ in 0..64 {
                large.advance(0.5);
                for _ in 0..32 {
                    small.advance(0.5 / 32.0);
                }
                assert_eq!(large.position_s(), small.position_s(), "{at_end:?}");
                assert_eq!(large.speed(), small.speed());
            }
        }
    }

    #[test]
    fn steps_fall_on_ticks_and_stay_inside() {
        let mut head = head();
        head.play();
        head.seek(3.0007);
        head.step(1);
        assert!(!head.is_playing());
        assert!((head.position_s() - 3.002).abs() < 1e-12);
        head.step(-2);
        assert!((head.position_s() - 2.998).abs() < 1e-12);
        head.seek(-5.0);
        head.step(-1);
        assert_eq!(head.position_s(), 2.0);
        head.seek(f64::NAN);
        assert_eq!(head.position_s(), 2.0);
    }

    #[test]
    fn speeds_step_through_the_list_and_keep_their_direction() {
        let mut head = head();
        head.change_speed(true);
        assert_eq!(head.speed(), 2.0);
        head.reverse();
        head.change_speed(false);
        assert_eq!(head.speed(), -1.0);
        for _ in 0..20 {
            head.change_speed(true);
        }
        assert_eq!(head.speed(), -50.0);
        head.set_speed(0.0);
        head.set_speed(f64::NAN);
        assert_eq!(head.speed(), -50.0);
    }

    #[test]
    fn a_range_or_recording_without_length_does_not_play() {
        let mut head = head();
        head.set_range(Some((5.0, 5.0005)));
        assert_eq!(head.range(), head.whole());
        let point = Stretch {
            from_s: 1.0,
            to_s: 1.0,
        };
        let mut head = Playhead::new(point, 0.002);
        head.set_at_end(AtEnd::Repeat);
        head.play();
        assert!(!head.is_playing() && !head.advance(1.0));
        assert_eq!(head.position_s(), 1.0);
    }
}
