//! The few words spoken with the kernel about signals: noticing Ctrl-C without dying of it, and asking a
//! child to stop. The only unsafe code among the chores.

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

extern "C" fn remember(number: c_int) {
    CAUGHT.store(number, Ordering::SeqCst);
}

/// What the terminal or the system asked of this chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: children of the same terminal got it too and end by themselves.
    Interrupt,
    /// Told to go away (SIGTERM, SIGHUP): children got nothing and must be stopped.
    Terminate,
}

/// From now on signals are remembered instead of ending this process, so that children can be reaped.
/// Handlers, unlike ignored signals, are not inherited across `exec`: children start with the default.
pub(crate) fn outlive() {
    for number in [SIGHUP, SIGINT, SIGTERM] {
        // SAFETY: `remember` only stores to an atomic, which is async-signal-safe, and lives for ever.
        unsafe { signal(number, remember) };
    }
}

/// The last thing asked of this process since `outlive`, if any.
pub(crate) fn asked() -> Option<Asked> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        SIGINT => Some(Asked::Interrupt),
        _ => Some(Asked::Terminate),
    }
}

/// Asks a child to stop (SIGTERM). The caller must not have reaped it yet, or the pid may be another's.
pub(crate) fn terminate(child: &std::process::Child) {
    let Ok(pid) = c_int::try_from(child.id()) else { return };
    // SAFETY: `kill` takes two integers and touches no memory of ours; an exited but unreaped child is a
    // harmless target. A failure means that it is gone already, which is what was wanted.
    unsafe { kill(pid, SIGTERM) };
}

/// Signals are the whole process's: tests that send or heed one take turns, and each starts unasked.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    CAUGHT.store(0, Ordering::SeqCst);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_remembered_and_survived() {
        let _alone = alone();
        outlive();
        let pid = c_int::try_from(std::process::id()).expect("pids are positive ints");
        // SAFETY: a signal to this very process, whose handler was installed a line above.
        unsafe { kill(pid, SIGINT) };
        while asked().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(asked(), Some(Asked::Interrupt));
    }
}
