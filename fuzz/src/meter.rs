//! Counts the memory that a thread holds.
#![allow(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts. What C code allocates, such as SQLite, does not pass it.
pub(crate) struct Metered;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn took(bytes: usize) {
    // A thread that is ending has destroyed its counters.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        PEAK.with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn gave_back(bytes: usize) {
    // Another thread may have taken it.
    let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(bytes)));
}

/// What `work` returns, and the most memory that this thread held at once while it ran, beyond what it held before.
pub(crate) fn metered<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get() - before)
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Metered {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave_back(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both exist while one is copied to the other.
        took(size);
        gave_back(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_counted_and_not_the_sum() {
        let (_, peak) = metered(|| (0..10).for_each(|_| drop(vec![0_u8; 1_000_000])));
        assert!((1_000_000..1_100_000).contains(&peak), "{peak}");
        let (kept, peak) = metered(|| [vec![0_u8; 1_000], vec![0_u8; 2_000]]);
        assert!((3_000..4_000).contains(&peak), "{peak}");
        drop(kept);
        assert_eq!(metered(|| ()).1, 0);
    }
}
