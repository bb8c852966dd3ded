//! Signals: catching Ctrl-C instead of being ended by it, and asking a child process to stop.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The last signal; 0 while there was none.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A signal by which the terminal or the system asks this chore to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C: children of the same terminal received it too and end by themselves.
    Interrupt,
    /// SIGTERM or SIGHUP: children did not receive it and must be stopped.
    Terminate,
}

/// From now on signals are recorded instead of ending this process, so that children can be reaped.
/// Handlers, unlike ignored signals, are not inherited across `exec`: children start with the default.
pub fn catch() {
    for number in [SIGHUP, SIGINT, SIGTERM] {
        let value = usize::try_from(number).expect("numbers of signals are positive");
        signal_hook::flag::register_usize(number, Arc::clone(&CAUGHT), value)
            .expect("these three signals can be caught");
    }
}

/// From now on a signal ends this process at once, also where it is the first of its namespace, which the kernel protects from
/// signals without a handler.
pub fn end_at_once() {
    let always = Arc::new(std::sync::atomic::AtomicBool::new(true));
    for number in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&always))
            .expect("these three signals can be caught");
    }
}

/// The last signal since [`catch`], if there was one.
pub fn last_signal() -> Option<StopSignal> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        number if number == SIGINT as usize => Some(StopSignal::Interrupt),
        _ => Some(StopSignal::Terminate),
    }
}

/// Asks a child to stop (SIGTERM). The caller must not have reaped it yet, or the pid may be another's.
pub fn terminate(child: &std::process::Child) {
    // The shell's own `kill`, because this crate is compiled before the demo. A failure means that the child has ended.
    let _sent = Command::new("sh").args(["-c", "kill -TERM \"$0\"", &child.id().to_string()]).status();
}

/// Signals reach the whole process: tests that send or read one run one after the other, each without a recorded signal.
#[cfg(test)]
pub fn exclusive() -> std::sync::MutexGuard<'static, ()> {
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
        signal_hook::low_level::raise(SIGINT).expect("a process may signal itself");
        while last_signal().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(last_signal(), Some(StopSignal::Interrupt));
    }
}
