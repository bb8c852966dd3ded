//! Ctrl-C and SIGTERM. Before the load they end the process as they end any other, whatever it inherited: a shell
//! starts background jobs with interrupts ignored. Of a run under way the first stops arrivals and drains, the
//! second ends at once.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use engine::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use crate::failure::{Failure, Outcome};
use crate::outputs::tell;

/// Listens for signals until it is dropped.
pub(crate) struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    heard: Arc<Heard>,
}

/// What the thread that hears shares with the run.
#[derive(Default)]
struct Heard {
    /// The run under way, and what the first signal is answered with.
    control: Mutex<Option<(Control, &'static str)>>,
    /// Signals that it was told of.
    count: AtomicUsize,
}

impl Listener {
    /// Listen; until there is a run under way, a signal ends the process.
    pub(crate) fn start() -> Outcome<Listener> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::own)?;
        let handle = signals.handle();
        let heard = Arc::new(Heard::default());
        let told = heard.clone();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().for_each(|signal| told.obey(signal)))
            .map_err(Failure::own)?;
        Ok(Listener { handle, thread: Some(thread), heard })
    }

    /// From now on signals are passed on to `control`.
    pub(crate) fn guard(&self, control: Control) {
        self.pass_to(
            control,
            "stopping: no new arrivals, waiting for what is in flight; once more to end at once",
        );
    }

    /// The same of a watch without load.
    pub(crate) fn guard_watch(&self, control: Control) {
        self.pass_to(control, "stopping: the watch ends here");
    }

    fn pass_to(&self, control: Control, answer: &'static str) {
        *self.heard.control.lock().unwrap_or_else(PoisonError::into_inner) = Some((control, answer));
    }

    /// Whether the run under way was told of any signal.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard.count.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do either.
            let _ = thread.join();
        }
    }
}

impl Heard {
    /// While this decides, no run begins.
    fn obey(&self, signal: c_int) {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        match &*control {
            None => end_by(signal),
            Some((control, answer)) if self.count.fetch_add(1, Ordering::Relaxed) == 0 => {
                tell(answer);
                control.drain();
            }
            Some((control, _)) => {
                tell("ending at once");
                control.abandon();
            }
        }
    }
}

fn end_by(signal: c_int) {
    tell("plimsoll: stopped before the load; nothing was recorded");
    if let Err(error) = emulate_default_handler(signal) {
        // Both signals have a default that ends the process, so this is never reached.
        tell(format_args!("plimsoll: signal {signal} could not be obeyed: {error}"));
    }
}
