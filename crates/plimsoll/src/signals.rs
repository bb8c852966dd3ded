//! Ctrl-C and SIGTERM: the first stops arrivals and drains, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use engine::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::failure::{Failure, Outcome};
use crate::outputs::tell;

/// Listens for signals until it is dropped.
pub(crate) struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    heard: Arc<AtomicUsize>,
}

impl Listener {
    /// Pass signals on to `control`.
    pub(crate) fn start(control: Control) -> Outcome<Listener> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::own)?;
        let handle = signals.handle();
        let heard = Arc::new(AtomicUsize::new(0));
        let count = heard.clone();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    obey(&control, count.fetch_add(1, Ordering::Relaxed));
                }
            })
            .map_err(Failure::own)?;
        Ok(Listener { handle, thread: Some(thread), heard })
    }

    /// Whether any signal has come.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed) > 0
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

fn obey(control: &Control, heard_before: usize) {
    if heard_before == 0 {
        tell("\nstopping: no new arrivals, waiting for what is in flight; once more to end at once");
        control.drain();
    } else {
        tell("\nending at once");
        control.abandon();
    }
}
