//! Proof that a cycle does not use the heap: an allocator that counts, per thread, every allocation
//! and release inside [`guarded`].
//!
//! Programs install it with `#[global_allocator] static ALLOC: CountingAllocator = CountingAllocator;`
//! (tests and debug builds do). A violation is a number, not an abort: the loop turns it into a
//! controlled stop, because a dead process leaves the actuator where it happens to be.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

/// The system's allocator, counting what happens inside [`guarded`].
pub struct CountingAllocator;

fn note() {
    // A thread that is ending has no such variables any more; nothing is guarded there.
    if GUARDED.try_with(Cell::get).unwrap_or(false) {
        COUNT.with(|c| c.set(c.get().saturating_add(1)));
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches only
// thread-local cells that need neither allocation nor destruction.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Runs `work` and returns how often it used the heap (always 0 where the allocator is not installed).
pub fn guarded<R>(work: impl FnOnce() -> R) -> (R, u32) {
    GUARDED.with(|g| g.set(true));
    COUNT.with(|c| c.set(0));
    let result = work();
    GUARDED.with(|g| g.set(false));
    (result, COUNT.with(Cell::get))
}
