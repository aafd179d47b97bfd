//! The master's side of a LinRS line: one request at a time, the next when it is answered or given up.
//!
//! A control word that the drive has not answered to yet goes before any reference: switching off never waits behind a
//! stream of positions, and a lost control word is said again.

use super::frame::Window;
use super::linrs::{self, LONGEST, LinRsConfig, Request, Response};
use crate::linmot::{Reference, Telegram, control};
use rtrb::Consumer;

/// See the module's text.
pub struct DriveTalk {
    config: LinRsConfig,
    requests: Consumer<Telegram>,
    window: Window,
    /// The control word that the drive has answered to.
    confirmed: Option<u16>,
    /// A reference that a control word went before.
    waiting: Option<Reference>,
    /// A request that is not answered yet, and when it was sent.
    asked: Option<(Request, u64)>,
    /// How long an answer is waited for, in ns.
    answer_nanos: u64,
    /// Answers by which the drive did not understand what it was told.
    refused: u64,
}

impl DriveTalk {
    /// Before anything was said. The loop's wishes come through a ring.
    pub fn new(config: LinRsConfig, requests: Consumer<Telegram>, answer_nanos: u64) -> Self {
        Self {
            config,
            requests,
            window: Window::default(),
            confirmed: None,
            waiting: None,
            asked: None,
            answer_nanos,
            refused: 0,
        }
    }

    /// A port was opened: nothing from before is of use.
    pub fn begin(&mut self) {
        self.window.clear();
        (self.asked, self.confirmed, self.waiting) = (None, None, None);
    }

    /// What the loop wishes while there is no port.
    pub fn forget_wishes(&mut self) {
        while self.requests.pop().is_ok() {}
    }

    /// Takes a byte; an answer that it ends, and when it was measured.
    pub fn hear(&mut self, byte: u8, now: u64) -> Option<(Response, u64)> {
        let mut heard = None;
        let look = |bytes: &[u8]| self.config.look_for_response(bytes);
        self.window
            .push(byte, look, |frame| heard = linrs::read_response(frame));
        // An answer to nothing is an echo of something that was given up.
        let (response, (request, sent)) = heard.zip(self.asked.take_if(|_| heard.is_some()))?;
        if response.communication != 0 {
            self.refused += 1;
            return None;
        }
        if let Request::Control(word) = request {
            self.confirmed = Some(word);
        }
        Some((response, sent + now.saturating_sub(sent) / 2))
    }

    /// Answers that could not be used.
    pub fn unusable(&self) -> u64 {
        self.window.damaged + self.refused
    }

    /// Writes what is to be said now; its length, 0 for nothing.
    pub fn say(&mut self, now: u64, out: &mut [u8; LONGEST]) -> usize {
        let patience = self.answer_nanos;
        let is_waiting = |(_, sent): (Request, u64)| now.saturating_sub(sent) <= patience;
        if self.asked.is_some_and(is_waiting) {
            return 0;
        }
        let mut newest = None;
        while let Ok(telegram) = self.requests.pop() {
            self.waiting = telegram.reference.or(self.waiting);
            newest = Some(telegram);
        }
        let Some(Telegram { control, .. }) = newest else {
            return 0;
        };
        if control & control::SWITCH_ON == 0 {
            self.waiting = None;
        }
        let is_confirmed = self.confirmed == Some(control);
        let request = match self.waiting.take_if(|_| is_confirmed) {
            Some(reference) => Request::reference(reference),
            // Also what asks for the drive's state when there is nothing to be told.
            None => Request::Control(control),
        };
        self.asked = Some((request, now));
        self.config.write_request(&request, out)
    }

    /// Writes that the drive is to be off; its length.
    pub fn say_off(&self, out: &mut [u8; LONGEST]) -> usize {
        let off = Request::Control(control::RELEASED);
        self.config.write_request(&off, out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checksum::Checksum;
    use super::*;
    use rtrb::{Producer, RingBuffer};

    const MS: u64 = 1_000_000;
    const OFF: u16 = control::RELEASED;
    const ON: u16 = control::RELEASED | control::SWITCH_ON;

    fn config() -> LinRsConfig {
        linrs::tests::config(Checksum::Sum16)
    }

    /// The talk, and the loop's end of its ring; an answer is waited for 10 ms.
    fn talk() -> (DriveTalk, Producer<Telegram>) {
        let (wish, requests) = RingBuffer::new(8);
        (DriveTalk::new(config(), requests, 10 * MS), wish)
    }

    fn telegram(control: u16, count: Option<u8>) -> Telegram {
        let reference = |count| Reference { count, counts: 100 };
        Telegram {
            control,
            reference: count.map(reference),
        }
    }

    /// What is said to a wish.
    fn said(
        talk: &mut DriveTalk,
        wish: &mut Producer<Telegram>,
        what: Telegram,
        now: u64,
    ) -> Option<Request> {
        wish.push(what).unwrap();
        let mut out = [0; LONGEST];
        let len = talk.say(now, &mut out);
        linrs::read_request(&out[..len])
    }

    fn answer(talk: &mut DriveTalk, communication: u8, now: u64) -> Option<(Response, u64)> {
        let response = Response {
            communication,
            status: 1,
            ..Response::default()
        };
        let mut out = [0; LONGEST];
        let len = config().write_response(&response, &mut out);
        let heard = out[..len].iter().filter_map(|b| talk.hear(*b, now));
        heard.last()
    }

    fn reference(count: u8) -> Option<Request> {
        Some(Request::reference(Reference { count, counts: 100 }))
    }

    #[test]
    fn a_new_control_word_goes_first_and_the_reference_follows() {
        let (mut talk, mut wish) = talk();
        let on = Some(Request::Control(ON));
        assert_eq!(said(&mut talk, &mut wish, telegram(ON, Some(1)), 0), on);
        assert_eq!(answer(&mut talk, 0, 2 * MS).unwrap().1, MS, "half way");
        // The count of the reference that waited; a newer one would have taken its place.
        let next = said(&mut talk, &mut wish, telegram(ON, None), 2 * MS);
        assert_eq!(next, reference(1));
        answer(&mut talk, 0, 3 * MS).unwrap();
        let next = said(&mut talk, &mut wish, telegram(ON, Some(2)), 4 * MS);
        assert_eq!(next, reference(2));
        answer(&mut talk, 0, 5 * MS).unwrap();
        // Off at once, and no reference after it.
        let off = Some(Request::Control(OFF));
        let next = said(&mut talk, &mut wish, telegram(OFF, Some(3)), 6 * MS);
        assert_eq!(next, off);
        answer(&mut talk, 0, 7 * MS).unwrap();
        assert_eq!(said(&mut talk, &mut wish, telegram(OFF, None), 8 * MS), off);
    }

    #[test]
    fn what_was_not_answered_or_not_understood_is_said_again() {
        let (mut talk, mut wish) = talk();
        let on = Some(Request::Control(ON));
        assert_eq!(said(&mut talk, &mut wish, telegram(ON, None), 0), on);
        assert_eq!(said(&mut talk, &mut wish, telegram(ON, Some(1)), MS), None);
        let late = said(&mut talk, &mut wish, telegram(ON, Some(2)), 11 * MS);
        assert_eq!(late, on, "given up after 10 ms");
        assert_eq!(answer(&mut talk, 3, 12 * MS), None);
        assert_eq!(talk.unusable(), 1);
        let again = said(&mut talk, &mut wish, telegram(ON, Some(3)), 13 * MS);
        assert_eq!(again, on, "the drive did not understand it");
        answer(&mut talk, 0, 14 * MS).unwrap();
        assert_eq!(answer(&mut talk, 0, 15 * MS), None, "an echo");
        let next = said(&mut talk, &mut wish, telegram(ON, Some(4)), 16 * MS);
        assert_eq!(next, reference(4));
        // A port that comes back may lead to a drive that knows nothing.
        talk.begin();
        let next = said(&mut talk, &mut wish, telegram(ON, Some(5)), 17 * MS);
        assert_eq!(next, on);
    }
}
