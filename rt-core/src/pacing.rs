//! The beat of the loop: absolute deadlines on a fixed grid. An overrun skips ticks, it never bursts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of time that can be waited on.
pub trait Clock: Send {
    /// Nanoseconds since an arbitrary, fixed origin.
    fn now(&self) -> u64;

    /// Returns at `deadline` or later; at once if that has passed.
    fn sleep_until(&mut self, deadline: u64);
}

impl Clock for Box<dyn Clock> {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn sleep_until(&mut self, deadline: u64) {
        (**self).sleep_until(deadline);
    }
}

/// The system's clock since it was switched on: never set back, and a suspended computer does not stop it, so that the
/// time it slept shows as a gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> u64 {
        let mut t = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `t` is a valid place for the answer; this clock always exists on Linux.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut t) };
        t.tv_sec as u64 * NANOS_PER_SECOND + t.tv_nsec as u64
    }

    fn sleep_until(&mut self, deadline: u64) {
        let t = libc::timespec {
            tv_sec: (deadline / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (deadline % NANOS_PER_SECOND) as libc::c_long,
        };
        // A signal ends the wait early: wait again for the same absolute time.
        // SAFETY: `t` is a valid absolute time and the remainder is not asked for.
        while unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_BOOTTIME,
                libc::TIMER_ABSTIME,
                &t,
                std::ptr::null_mut(),
            )
        } == libc::EINTR
        {}
    }
}

/// A clock that moves only when it is waited on: exact, as fast as the machine, the same every time.
/// Clones share the time, so that a simulated rig can spend some of it.
#[derive(Clone, Debug, Default)]
pub struct ExactClock {
    nanos: Arc<AtomicU64>,
}

impl ExactClock {
    /// Lets time pass, as a slow exchange does.
    pub fn spend(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Clock for ExactClock {
    fn now(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }

    fn sleep_until(&mut self, deadline: u64) {
        self.nanos.fetch_max(deadline, Ordering::Relaxed);
    }
}

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// One beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Number of the tick on the grid, from 0.
    pub seq: u64,
    /// Its time since the first tick, in nanoseconds.
    pub t_nanos: u64,
    /// How late the wake-up was, in nanoseconds.
    pub late_nanos: u64,
    /// How many ticks were skipped since the beat before.
    pub skipped: u64,
}

/// Hands out ticks of a fixed grid t₀ + k·period.
#[derive(Debug)]
pub struct Pacer {
    period: u64,
    start: Option<u64>,
    next_seq: u64,
}

impl Pacer {
    /// A grid with a period in nanoseconds (at least 1).
    pub fn new(period_nanos: u64) -> Self {
        Self {
            period: period_nanos.max(1),
            start: None,
            next_seq: 0,
        }
    }

    /// Lets the grid begin with a later tick, as if those before had been handed out.
    pub fn resume_at(&mut self, seq: u64) {
        self.next_seq = seq;
    }

    /// Waits for the next tick that still lies ahead. The first call starts the grid one period later.
    pub fn wait(&mut self, clock: &mut impl Clock) -> Tick {
        let now = clock.now();
        let start = *self.start.get_or_insert(now + self.period);
        // A tick that has begun is not served late: two exchanges closer than a period are a burst.
        let ahead = now.saturating_sub(start).div_ceil(self.period);
        let seq = self.next_seq.max(ahead);
        let skipped = seq - self.next_seq;
        let deadline = start + seq * self.period;
        clock.sleep_until(deadline);
        self.next_seq = seq + 1;
        Tick {
            seq,
            t_nanos: seq * self.period,
            late_nanos: clock.now().saturating_sub(deadline),
            skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 2_000_000;

    #[test]
    fn an_undisturbed_grid_is_exact() {
        let mut clock = ExactClock::default();
        let mut pacer = Pacer::new(PERIOD);
        for k in 0..1000 {
            clock.spend(1_500_000);
            let tick = pacer.wait(&mut clock);
            assert_eq!(
                tick,
                Tick {
                    seq: k,
                    t_nanos: k * PERIOD,
                    late_nanos: 0,
                    skipped: 0
                }
            );
        }
    }

    #[test]
    fn an_overrun_skips_and_never_bursts() {
        let mut clock = ExactClock::default();
        let mut pacer = Pacer::new(PERIOD);
        pacer.wait(&mut clock);
        clock.spend(7 * PERIOD + PERIOD / 2);
        let late = pacer.wait(&mut clock);
        assert_eq!((late.seq, late.skipped, late.late_nanos), (8, 7, 0));
        let before = clock.now();
        let next = pacer.wait(&mut clock);
        assert_eq!((next.seq, next.skipped, next.late_nanos), (9, 0, 0));
        assert_eq!(
            clock.now() - before,
            PERIOD,
            "the grid is kept, nothing is caught up"
        );
    }

    #[test]
    fn a_grid_that_begins_later_skips_nothing() {
        let mut clock = ExactClock::default();
        let mut pacer = Pacer::new(PERIOD);
        pacer.resume_at(700);
        for seq in 700..703 {
            let tick = pacer.wait(&mut clock);
            assert_eq!((tick.seq, tick.t_nanos), (seq, seq * PERIOD));
            assert_eq!((tick.skipped, tick.late_nanos), (0, 0));
        }
    }

    #[test]
    fn the_real_clock_never_wakes_early() {
        let mut clock = RealClock;
        let mut pacer = Pacer::new(500_000);
        let start = clock.now();
        for _ in 0..20 {
            pacer.wait(&mut clock);
        }
        assert!(clock.now() - start >= 20 * 500_000);
    }
}
