//! Keys of a real terminal, read one by one, for whoever stands beside a rig. A pipe is nobody: what comes through one is
//! refused before anything is asked.

use crate::hand::Hand;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST: u8 = b'a';
const SECOND: u8 = b'c';
const HOLD: u8 = b' ';
const ESCAPE: u8 = 0x1B;
/// The same key again within this time is its repeat, not another press.
const REPEAT: Duration = Duration::from_millis(700);
/// How often it is looked whether someone still wants the keys.
const LOOK_MS: i32 = 50;
/// More bytes at once than fingers and a line that stalls can make.
const MOST_AT_ONCE: usize = 32;

/// The terminal while its keys are read; it is as before when this is dropped.
pub struct Keys {
    before: libc::termios,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Begins to read, or says why nobody can be at the keys.
    pub fn open(hand: &Arc<Hand>) -> Result<Self, String> {
        if !std::io::stdin().is_terminal() {
            return Err("standard input is no terminal".into());
        }
        if !std::io::stdout().is_terminal() {
            return Err("standard output is no terminal".into());
        }
        // SAFETY: no pointers.
        let (front, own) = unsafe { (libc::tcgetpgrp(libc::STDIN_FILENO), libc::getpgrp()) };
        if front > 0 && front != own {
            return Err("it runs in the background of its terminal".into());
        }
        let before = unbuffer()?;
        let ends = Arc::new(AtomicBool::new(false));
        let (hand, watched) = (Arc::clone(hand), Arc::clone(&ends));
        let mut own = Self {
            before,
            ends,
            thread: None,
        };
        let thread = std::thread::Builder::new()
            .name("pantobench-keys".into())
            .spawn(move || listen(&hand, &watched))
            .map_err(|e| format!("there is no thread for the keys ({e})"))?;
        own.thread = Some(thread);
        Ok(own)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nothing that it holds is needed any more, however it ended.
            let _ = thread.join();
        }
        // SAFETY: settings that were read from the same descriptor.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &self.before) };
    }
}

/// Keys come one by one and without echo; Ctrl-C goes on to stop. The program cannot be suspended by a key: that would
/// freeze it beside a powered motor.
fn unbuffer() -> Result<libc::termios, String> {
    let cannot = || {
        format!(
            "the terminal's keys cannot be read: {}",
            std::io::Error::last_os_error()
        )
    };
    // SAFETY: all zeros is a valid value, which the call fills in.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the settings.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &mut settings) } != 0 {
        return Err(cannot());
    }
    let before = settings;
    settings.c_lflag &= !(libc::ICANON | libc::ECHO);
    settings.c_iflag &= !libc::IXON;
    settings.c_cc[libc::VSUSP] = libc::_POSIX_VDISABLE;
    settings.c_cc[libc::VMIN] = 1;
    settings.c_cc[libc::VTIME] = 0;
    // What was typed before anyone asked is thrown away.
    // SAFETY: settings that were read from the same descriptor.
    if unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSAFLUSH, &settings) } != 0 {
        return Err(cannot());
    }
    Ok(before)
}

fn listen(hand: &Hand, ends: &AtomicBool) {
    let mut reader = Reader::default();
    let mut bytes = [0; 256];
    while !ends.load(Ordering::Relaxed) {
        let mut entry = libc::pollfd {
            fd: libc::STDIN_FILENO,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid entry.
        if unsafe { libc::poll(&mut entry, 1, LOOK_MS) } <= 0 {
            continue;
        }
        // SAFETY: a valid buffer and its length.
        let read =
            unsafe { libc::read(libc::STDIN_FILENO, bytes.as_mut_ptr().cast(), bytes.len()) };
        let Ok(read @ 1..) = usize::try_from(read) else {
            // The terminal is gone, and whoever sat at it.
            hand.let_go();
            hand.take_back();
            return;
        };
        reader.take(&bytes[..read], Instant::now(), hand);
    }
}

/// Tells presses from repeats.
#[derive(Default)]
struct Reader {
    last: Option<(u8, Instant)>,
}

impl Reader {
    fn take(&mut self, bytes: &[u8], now: Instant, hand: &Hand) {
        if bytes.len() > MOST_AT_ONCE {
            // Nobody types like that.
            hand.take_back();
            hand.let_go();
            self.last = bytes.last().map(|key| (*key, now));
            return;
        }
        for key in bytes.iter().map(u8::to_ascii_lowercase) {
            let repeats = self
                .last
                .replace((key, now))
                .is_some_and(|(before, at)| before == key && now.duration_since(at) < REPEAT);
            match key {
                HOLD => hand.hold(),
                // Whatever a held key repeats is no step.
                _ if repeats => {}
                FIRST => hand.press_first(),
                SECOND => hand.press_second(),
                ESCAPE => hand.press_stop(),
                _ => hand.take_back(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand::{Asking, Consent, PAUSE};

    const WITHIN: Option<Duration> = Some(Duration::from_secs(5));

    fn type_at(reader: &mut Reader, hand: &Hand, keys: &[u8]) {
        reader.take(keys, Instant::now(), hand);
    }

    #[test]
    fn a_key_that_is_held_is_one_press_and_never_the_second_step() {
        let (hand, mut reader) = (Hand::default(), Reader::default());
        let mut asking = Asking::begin(&hand, WITHIN, None);
        for i in 0..40 {
            type_at(&mut reader, &hand, b"a");
            let expected = if i == 0 {
                Consent::First
            } else {
                Consent::Awaited
            };
            assert_eq!(asking.poll(&hand), expected, "{i}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        type_at(&mut reader, &hand, b"c");
        assert_eq!(asking.poll(&hand), Consent::Given, "another key does");
    }

    #[test]
    fn what_a_program_types_is_nobody() {
        let (hand, mut reader) = (Hand::default(), Reader::default());
        let mut asking = Asking::begin(&hand, WITHIN, None);
        type_at(&mut reader, &hand, b"ac");
        asking.poll(&hand);
        std::thread::park_timeout(PAUSE);
        assert_eq!(asking.poll(&hand), Consent::Awaited, "both at once");
        for _ in 0..3 {
            type_at(&mut reader, &hand, &b"a\nc\n ".repeat(20));
            assert_eq!(asking.poll(&hand), Consent::Awaited, "a flood");
        }
        assert!(!hand.is_held(Duration::from_secs(1)));
    }

    #[test]
    fn any_other_key_takes_the_first_step_back_and_escape_stops() {
        let (hand, mut reader) = (Hand::default(), Reader::default());
        type_at(&mut reader, &hand, b"a");
        type_at(&mut reader, &hand, b"x");
        assert!(!hand.take_first());
        type_at(&mut reader, &hand, &[ESCAPE]);
        assert!(hand.take_stop() && !hand.take_stop());
    }
}
