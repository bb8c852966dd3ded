//! Signals: catching Ctrl-C instead of being ended by it, and asking a child process to stop. The only unsafe code
//! among the chores.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

const SIGHUP: c_int = 1;
const SIGINT: c_int = 2;
const SIGTERM: c_int = 15;

static CAUGHT: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" {
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn kill(pid: c_int, number: c_int) -> c_int;
}

extern "C" fn record(number: c_int) {
    CAUGHT.store(number, Ordering::SeqCst);
}

/// A signal by which the terminal or the system asks this chore to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Ctrl-C: children of the same terminal received it too and end by themselves.
    Interrupt,
    /// SIGTERM or SIGHUP: children did not receive it and must be stopped.
    Terminate,
}

/// From now on signals are recorded instead of ending this process, so that children can be reaped.
/// Handlers, unlike ignored signals, are not inherited across `exec`: children start with the default.
pub(crate) fn catch() {
    for number in [SIGHUP, SIGINT, SIGTERM] {
        // SAFETY: `record` only stores to an atomic, which is async-signal-safe, and is never unloaded.
        unsafe { signal(number, record) };
    }
}

/// The last signal since [`catch`], if there was one.
pub(crate) fn last_signal() -> Option<StopSignal> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        SIGINT => Some(StopSignal::Interrupt),
        _ => Some(StopSignal::Terminate),
    }
}

/// Asks a child to stop (SIGTERM). The caller must not have reaped it yet, or the pid may be another's.
pub(crate) fn terminate(child: &std::process::Child) {
    let Ok(pid) = c_int::try_from(child.id()) else { return };
    // SAFETY: `kill` takes two integers and accesses no memory of this process; an exited but unreaped child is a
    // harmless target. A failure means that it has ended already.
    unsafe { kill(pid, SIGTERM) };
}

/// Signals reach the whole process: tests that send or read one run one after the other, each without a recorded signal.
#[cfg(test)]
pub(crate) fn exclusive() -> std::sync::MutexGuard<'static, ()> {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let lock = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    CAUGHT.store(0, Ordering::SeqCst);
    lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_recorded_and_does_not_end_the_process() {
        let _lock = exclusive();
        catch();
        let pid = c_int::try_from(std::process::id()).expect("pids are positive ints");
        // SAFETY: a signal to this very process, whose handler was installed a line above.
        unsafe { kill(pid, SIGINT) };
        while last_signal().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(last_signal(), Some(StopSignal::Interrupt));
    }
}
