//! Proof that a cycle does not use the heap: an allocator that counts, per thread, every allocation
//! and release inside [`guarded`], and how much is held at most.
//!
//! Programs install it with `#[global_allocator] static ALLOC: CountingAllocator = CountingAllocator;`
//! (tests and debug builds do). A violation is a number, not an abort: the loop turns it into a
//! controlled stop, because a dead process leaves the actuator where it happens to be.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of work did with the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapUse {
    /// Allocations, releases and changes of size.
    pub calls: u32,
    /// The most bytes held at once of those allocated since it began.
    pub most_bytes: usize,
}

#[derive(Clone, Copy)]
struct Count {
    calls: u32,
    held: isize,
    most: isize,
}

const NOTHING: Count = Count {
    calls: 0,
    held: 0,
    most: 0,
};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<Count> = const { Cell::new(NOTHING) };
}

/// The system's allocator, counting what happens inside [`guarded`].
pub struct CountingAllocator;

fn note(more: usize, less: usize) {
    // A thread that is ending has no such variables any more; nothing is guarded there.
    if GUARDED.try_with(Cell::get).unwrap_or(false) {
        COUNT.with(|cell| {
            let mut count = cell.get();
            count.calls = count.calls.saturating_add(1);
            count.held += more as isize - less as isize;
            count.most = count.most.max(count.held);
            cell.set(count);
        });
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches only
// thread-local cells that need neither allocation nor destruction.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size, layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Runs `work` and returns how it used the heap (not at all where the allocator is not installed).
pub fn watched<R>(work: impl FnOnce() -> R) -> (R, HeapUse) {
    COUNT.with(|c| c.set(NOTHING));
    GUARDED.with(|g| g.set(true));
    let result = work();
    GUARDED.with(|g| g.set(false));
    let count = COUNT.with(Cell::get);
    let heap = HeapUse {
        calls: count.calls,
        most_bytes: count.most.max(0) as usize,
    };
    (result, heap)
}

/// Runs work that is not the loop's although it is done in its thread, such as a device's that is emulated there: its
/// use of the heap is not counted.
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    let was = GUARDED.with(|g| g.replace(false));
    let result = work();
    GUARDED.with(|g| g.set(was));
    result
}

/// Runs `work` and returns how often it used the heap.
pub fn guarded<R>(work: impl FnOnce() -> R) -> (R, u32) {
    let (result, heap) = watched(work);
    (result, heap.calls)
}
