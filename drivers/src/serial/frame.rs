//! From bytes to frames: a window that slides over whatever comes until something whole is in it.

use super::config::LONGEST_FRAME;

/// What a window of bytes holds at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The beginning of a frame, perhaps: more bytes are needed.
    More,
    /// No frame begins here, but perhaps one byte later.
    Nothing,
    /// A frame began here, but it is damaged.
    Damaged,
    /// A whole frame of so many bytes.
    Frame(usize),
}

/// The window.
#[derive(Clone, Debug)]
pub struct Window {
    bytes: [u8; LONGEST_FRAME],
    len: usize,
    /// Frames that were damaged.
    pub damaged: u64,
    /// Bytes that belonged to no frame.
    pub skipped: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            bytes: [0; LONGEST_FRAME],
            len: 0,
            damaged: 0,
            skipped: 0,
        }
    }
}

impl Window {
    /// Takes a byte; gives every frame that is whole to `take`.
    pub fn push(&mut self, byte: u8, look: impl Fn(&[u8]) -> Look, mut take: impl FnMut(&[u8])) {
        if self.len == self.bytes.len() {
            self.drop_first(1);
        }
        self.bytes[self.len] = byte;
        self.len += 1;
        while self.len > 0 {
            match look(&self.bytes[..self.len]) {
                Look::More => return,
                Look::Nothing => self.drop_first(1),
                Look::Damaged => {
                    self.damaged += 1;
                    self.drop_first(1);
                }
                Look::Frame(len) => {
                    let len = len.clamp(1, self.len);
                    take(&self.bytes[..len]);
                    self.bytes.copy_within(len..self.len, 0);
                    self.len -= len;
                }
            }
        }
    }

    /// Forgets what is in it: the line was cut.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    fn drop_first(&mut self, count: usize) {
        self.bytes.copy_within(count..self.len, 0);
        self.len -= count;
        self.skipped += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of AA, a length, that many bytes.
    fn look(bytes: &[u8]) -> Look {
        match bytes {
            [0xAA] => Look::More,
            [0xAA, n, rest @ ..] if rest.len() < usize::from(*n) => Look::More,
            [0xAA, n, rest @ ..] if rest[..usize::from(*n)].contains(&0xFF) => Look::Damaged,
            [0xAA, n, ..] => Look::Frame(2 + usize::from(*n)),
            _ => Look::Nothing,
        }
    }

    #[test]
    fn frames_are_found_in_rubbish_and_behind_damage() {
        let mut window = Window::default();
        let mut frames = Vec::new();
        // Rubbish, a frame, a damaged one that holds the beginning of a good one, the good one's end.
        let stream = [1, 2, 0xAA, 2, 7, 8, 0xAA, 4, 0xFF, 0xAA, 1, 9, 3];
        for byte in stream {
            window.push(byte, look, |frame| frames.push(frame.to_vec()));
        }
        assert_eq!(frames, [vec![0xAA, 2, 7, 8], vec![0xAA, 1, 9]]);
        assert_eq!((window.damaged, window.skipped), (1, 6));
    }

    #[test]
    fn a_frame_that_never_ends_does_not_fill_more_than_the_window() {
        let mut window = Window::default();
        for _ in 0..10_000 {
            window.push(0x55, |_| Look::More, |_| unreachable!());
        }
        assert_eq!(window.skipped, 10_000 - LONGEST_FRAME as u64);
    }
}
