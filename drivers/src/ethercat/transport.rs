//! How frames leave and arrive: one trait for a network interface, a veth pair and a segment in the same process.

use super::wire::Buffer;

/// What a transport has to say when it is asked for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A frame of this length is in the buffer.
    Frame(usize),
    /// Nothing came until the deadline.
    Nothing,
    /// The interface is down or gone.
    Down,
}

/// The interface is down or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down;

/// A way to a segment and back. It is used by one thread at a time and never allocates.
pub trait Transport: Send {
    /// Sends a frame.
    fn send(&mut self, frame: &[u8]) -> Result<(), Down>;

    /// Waits for a frame until a time of [`Transport::now`]; one that is there already is given at once.
    fn receive(&mut self, frame: &mut Buffer, deadline_nanos: u64) -> Received;

    /// The time, in ns.
    fn now(&self) -> u64;
}
