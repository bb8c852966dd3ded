//! Work whose allocations are not sampled: that of the sampling itself, which would wait for its own lock.

use std::cell::Cell;

thread_local! {
    static IS_UNSAMPLED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; its allocations on this thread are not sampled.
pub(super) fn unsampled<T>(work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ended = IS_UNSAMPLED.try_with(|is_unsampled| is_unsampled.set(self.0));
        }
    }
    let before = IS_UNSAMPLED.try_with(|is_unsampled| is_unsampled.replace(true));
    let _restore = Restore(before.unwrap_or(true));
    work()
}

/// Whether this thread's allocations are not sampled now. A thread that has ended its variables is not sampled any more.
pub(super) fn is_unsampled() -> bool {
    IS_UNSAMPLED.try_with(Cell::get).unwrap_or(true)
}
