//! The allocator of builds that can take profiles: the system's, which reports one allocation of
//! every so many bytes once profiles are switched on. Until then it costs one check.
#![allow(unsafe_code, reason = "a global allocator; every test of such a build runs on it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use super::heap;
use super::unsampled::{is_unsampled, unsampled};

#[global_allocator]
static ALLOCATOR: SamplingAllocator = SamplingAllocator;

struct SamplingAllocator;

thread_local! {
    /// Bytes until this thread's next sample; negative when it is due. 0 at the thread's start: not drawn yet.
    static REMAINING: Cell<i64> = const { Cell::new(0) };
    /// The state from which distances are drawn.
    static STATE: Cell<u64> = const { Cell::new(0) };
}

#[inline]
fn allocated(address: *mut u8, bytes: usize) {
    if heap::is_on() && !address.is_null() {
        count(address.addr(), bytes);
    }
}

#[inline]
fn freed(address: *mut u8) {
    if heap::is_on() && heap::may_be_sampled(address.addr()) && !is_unsampled() {
        unsampled(|| heap::forget(address.addr()));
    }
}

/// Distances between samples are exponentially distributed: a regular pattern of allocations would else be seen always in
/// the same place, or never.
#[inline(never)]
fn count(address: usize, bytes: usize) {
    if is_unsampled() {
        return;
    }
    let is_due = REMAINING.try_with(|remaining| {
        if remaining.get() == 0 {
            remaining.set(distance());
        }
        let left = remaining.get().saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        remaining.set(if left > 0 { left } else { distance() });
        left <= 0
    });
    if is_due == Ok(true) {
        unsampled(|| heap::record(address, bytes));
    }
}

/// Marsaglia's xorshift64, seeded with the address of the thread's own variable.
fn distance() -> i64 {
    let drawn = STATE.try_with(|state| {
        let seed = if state.get() == 0 { (std::ptr::from_ref(state).addr() as u64) | 1 } else { state.get() };
        let mut next = seed ^ (seed << 13);
        next ^= next >> 7;
        next ^= next << 17;
        state.set(next);
        next
    });
    // In (0, 1].
    let uniform = ((drawn.unwrap_or(1) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * heap::rate_bytes() as f64) as i64 + 1
}

// SAFETY: every call is passed to the system's allocator with the arguments that came; what is done beside it neither
// reads nor writes the memory, and allocates through the same allocator without sampling, so that it ends.
unsafe impl GlobalAlloc for SamplingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same.
        let address = unsafe { System.alloc(layout) };
        allocated(address, layout.size());
        address
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the same.
        let address = unsafe { System.alloc_zeroed(layout) };
        allocated(address, layout.size());
        address
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // Before another thread can be given the same address.
        freed(address);
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(address, layout) }
    }

    /// Counts as freed and allocated anew.
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        freed(address);
        // SAFETY: the caller's promises are the same.
        let moved = unsafe { System.realloc(address, layout, bytes) };
        allocated(moved, bytes);
        moved
    }
}
