//! The newest value from one thread to another, for what is too long for a frame: neither side ever waits.
//!
//! There are three copies of the value: one belongs to the writer, one to the reader, and one lies between
//! them. Publishing and taking each exchange a side's own copy for the one between, in one atomic step; so a
//! copy always has exactly one owner and is never seen half written. What is not taken is overwritten.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Set in `between` while the copy there is newer than the reader's.
const FRESH: u8 = 0b100;
/// Which copy it is.
const INDEX: u8 = 0b011;

struct Shared<T> {
    copies: [UnsafeCell<T>; 3],
    /// Index of the copy that lies between the sides, and whether it is fresh.
    between: AtomicU8,
}

// SAFETY: a copy is only touched by the side that holds its index. Indices change hands by an atomic exchange
// that releases what was written and acquires what is taken, so touching it needs no more than moving a `T`
// from thread to thread.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The end that writes.
pub struct Writer<T> {
    shared: Arc<Shared<T>>,
    own: u8,
}

/// The end that reads.
pub struct Reader<T> {
    shared: Arc<Shared<T>>,
    own: u8,
}

/// Both ends; everything that is ever allocated is allocated here.
pub fn triple_buffer<T: Clone>(first: T) -> (Writer<T>, Reader<T>) {
    let shared = Arc::new(Shared {
        copies: [first.clone(), first.clone(), first].map(UnsafeCell::new),
        between: AtomicU8::new(1),
    });
    let writer = Writer {
        shared: Arc::clone(&shared),
        own: 0,
    };
    (writer, Reader { shared, own: 2 })
}

impl<T> Writer<T> {
    /// The writer's own copy. It holds what it held three publications ago, or something older.
    pub fn draft(&mut self) -> &mut T {
        // SAFETY: `own` is this side's index, and `self` is borrowed exclusively.
        unsafe { &mut *self.shared.copies[usize::from(self.own)].get() }
    }

    /// Gives the draft away and takes another copy for the next one. Never waits, never allocates.
    pub fn publish(&mut self) {
        let before = self.shared.between.swap(self.own | FRESH, Ordering::AcqRel);
        self.own = before & INDEX;
    }

    /// Whether the reader is gone, so that writing is in vain.
    pub fn is_unread(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }
}

impl<T> Reader<T> {
    /// Takes what was published since the last time; `false` if there is nothing new.
    pub fn update(&mut self) -> bool {
        // Only this side clears the flag, so it is still there when the copies are exchanged.
        if self.shared.between.load(Ordering::Relaxed) & FRESH == 0 {
            return false;
        }
        let before = self.shared.between.swap(self.own, Ordering::AcqRel);
        self.own = before & INDEX;
        true
    }

    /// What was taken last.
    pub fn value(&self) -> &T {
        // SAFETY: `own` is this side's index, and only `update`, which needs `&mut self`, gives it away.
        unsafe { &*self.shared.copies[usize::from(self.own)].get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    #[test]
    fn the_newest_is_taken_and_only_once() {
        let (mut writer, mut reader) = triple_buffer(0);
        assert!(!reader.update());
        for n in 1..=5 {
            *writer.draft() = n;
            writer.publish();
        }
        assert!(reader.update());
        assert_eq!((*reader.value(), reader.update()), (5, false));
        assert_eq!(*reader.value(), 5, "it stays until there is a newer one");
        assert!(!writer.is_unread());
        drop(reader);
        assert!(writer.is_unread());
        writer.publish();
    }

    /// The writer fills a whole array with a counter; a copy that was seen half written would hold two.
    #[test]
    fn nothing_is_ever_torn_and_nothing_goes_backward() {
        const PUBLISHED: u64 = 200_000;
        // However busy the machine is: both threads have to be at work at the same time for a while.
        const TAKEN: u64 = 100;
        let (mut writer, mut reader) = triple_buffer([0_u64; 500]);
        let done = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&done);
        let taken = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&taken);
        let writing = std::thread::spawn(move || {
            let mut n = 0;
            while n < PUBLISHED || seen.load(Ordering::Relaxed) < TAKEN {
                n += 1;
                writer.draft().fill(n);
                writer.publish();
            }
            told.store(true, Ordering::Release);
            n
        });
        let mut last = 0;
        loop {
            let was_done = done.load(Ordering::Acquire);
            if reader.update() {
                let value = reader.value();
                assert!(value.iter().all(|v| *v == value[0]), "torn");
                assert!(value[0] > last, "{} after {last}", value[0]);
                last = value[0];
                taken.fetch_add(1, Ordering::Relaxed);
            } else if was_done {
                break;
            }
        }
        assert_eq!(last, writing.join().unwrap(), "the last one is never lost");
    }
}
