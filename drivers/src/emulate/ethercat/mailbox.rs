//! The mailboxes of an emulated device: one request in, answers and emergencies out, one after the other.

use super::coe::Dictionary;
use super::esc::MAILBOX_LEN;
use crate::ethercat::wire::{read_u16, write_u16};
use std::collections::VecDeque;

/// A message of either mailbox.
pub type Message = [u8; MAILBOX_LEN as usize];

/// Messages that may wait; more are dropped, as a device does that nobody reads.
const MOST: usize = 8;
const TYPE_COE: u8 = 3;
const SERVICE_EMERGENCY: u16 = 1;
const SERVICE_REQUEST: u16 = 2;
const SERVICE_RESPONSE: u16 = 3;

/// See the module's text.
pub struct Mailboxes {
    waiting: VecDeque<Message>,
    counter: u8,
    /// An emergency that comes between the next request and its answer: code and error register.
    ambush: Option<(u16, u8)>,
}

impl Default for Mailboxes {
    fn default() -> Self {
        Self {
            waiting: VecDeque::with_capacity(MOST),
            counter: 0,
            ambush: None,
        }
    }
}

impl Mailboxes {
    /// Empty, as after a return of the supply; what was planned for the next request remains.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Whether something can be read.
    pub fn is_in_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What can be read.
    pub fn message(&self) -> &Message {
        const NONE: Message = [0; MAILBOX_LEN as usize];
        self.waiting.front().unwrap_or(&NONE)
    }

    /// It was read to its end.
    pub fn was_read(&mut self) {
        self.waiting.pop_front();
    }

    /// Lets an emergency come between the next request and its answer.
    pub fn ambush(&mut self, code: u16, error_register: u8) {
        self.ambush = Some((code, error_register));
    }

    /// An emergency message.
    pub fn push_emergency(&mut self, code: u16, error_register: u8) {
        let mut message = self.begin(SERVICE_EMERGENCY, 10);
        write_u16(&mut message, 8, code);
        message[10] = error_register;
        self.push(message);
    }

    /// Answers a request.
    pub fn serve(&mut self, request: &[u8], dictionary: &mut Dictionary, is_configurable: bool) {
        if let Some((code, register)) = self.ambush.take() {
            self.push_emergency(code, register);
        }
        let is_coe = request.get(5).is_some_and(|b| b & 0x0F == TYPE_COE);
        if !is_coe || read_u16(request, 6) >> 12 != SERVICE_REQUEST {
            return;
        }
        let mut body = [0; 8];
        body.copy_from_slice(&request[8..16]);
        let mut message = self.begin(SERVICE_RESPONSE, 10);
        message[8..16].copy_from_slice(&dictionary.answer(body, is_configurable));
        self.push(message);
    }

    fn begin(&mut self, service: u16, len: u16) -> Message {
        self.counter = self.counter % 7 + 1;
        let mut message = [0; MAILBOX_LEN as usize];
        write_u16(&mut message, 0, len);
        message[5] = self.counter << 4 | TYPE_COE;
        write_u16(&mut message, 6, service << 12);
        message
    }

    fn push(&mut self, message: Message) {
        if self.waiting.len() < MOST {
            self.waiting.push_back(message);
        }
    }
}
