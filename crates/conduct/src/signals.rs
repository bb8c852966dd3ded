//! Ctrl-C and SIGTERM. Before the load they end the process, also where it inherited them as ignored: a shell starts
//! background jobs with interrupts ignored. While a run is under way the first stops arrivals and drains, the second
//! ends at once. While a script's `teardown` is waited for the first is noted, and a further one cuts it short. Once the run
//! of a script is sealed a further one ends the process.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use engine::Control;
use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use crate::failure::{CommandResult, Failure};
use crate::screen::{full, note};

/// Answers the last signal that is listened to.
const AT_ONCE: &str = "ending at once";

/// Listens for signals until it is dropped.
pub struct Listener {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    state: Arc<SignalState>,
}

/// What the listening thread shares with the run.
#[derive(Default)]
struct SignalState {
    stage: Mutex<Stage>,
    /// Signals since the run began.
    count: AtomicUsize,
    /// How a signal ends the process.
    ends: ProcessEnd,
}

/// What signals are about.
#[derive(Default)]
enum Stage {
    /// Nothing is recorded yet.
    #[default]
    Before,
    /// A run is under way; the message answers the first signal.
    UnderWay(Control, &'static str),
    /// A worker waits for a run, or offers its part of one.
    Serving,
    /// The run is sealed, and what is left is to judge and report it.
    Sealed,
    /// Arms of an experiment are started, readied, reset or stopped. What runs is stopped before the command ends.
    BetweenSlots,
}

/// How a signal ends the process.
#[derive(Default)]
enum ProcessEnd {
    /// As it ends any other.
    #[default]
    BySignal,
    /// With this exit code.
    WithCode(u8),
}

impl Listener {
    /// Listen; until a run is under way, a signal ends the process.
    pub fn start() -> CommandResult<Listener> {
        Listener::start_with(ProcessEnd::default())
    }

    /// The same, where a signal ends the process with this exit code.
    pub fn ending_with(code: u8) -> CommandResult<Listener> {
        Listener::start_with(ProcessEnd::WithCode(code))
    }

    /// The same of a worker, which says what becomes of its run.
    pub fn of_worker() -> CommandResult<Listener> {
        let listener = Listener::start()?;
        listener.enter(Stage::Serving);
        Ok(listener)
    }

    fn start_with(ends: ProcessEnd) -> CommandResult<Listener> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::own)?;
        let handle = signals.handle();
        let state = Arc::new(SignalState { ends, ..SignalState::default() });
        let shared = state.clone();
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().for_each(|signal| shared.obey(signal)))
            .map_err(Failure::own)?;
        Ok(Listener { handle, thread: Some(thread), state })
    }

    /// A run begins: from now on the first signal drains it through the control that this returns, the second ends it.
    pub fn control_run(&self) -> Control {
        self.control("stopping: no new arrivals, waiting for requests in flight; once more to end at once")
    }

    /// A watch without load begins: a signal ends it.
    pub fn control_watch(&self) -> Control {
        self.control("stopping: the watch ends here")
    }

    fn control(&self, message: &'static str) -> Control {
        let control = Control::new();
        self.enter(Stage::UnderWay(control.clone(), message));
        control
    }

    /// The load is over and a script's `teardown` begins: the first signal of the run is noted, a further one ends it through
    /// the control that this returns.
    pub fn control_teardown(&self) -> Control {
        self.control("stopping: waiting for teardown; once more to end at once")
    }

    /// The run is sealed: it is judged and reported.
    pub fn run_is_sealed(&self) {
        self.enter(Stage::Sealed);
    }

    /// An experiment begins, or one of its runs is over: signals are noted, and the experiment stops its arms and ends.
    pub fn between_slots(&self) {
        self.enter(Stage::BetweenSlots);
    }

    fn enter(&self, stage: Stage) {
        *self.state.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    /// Whether a signal came since the run began.
    pub fn interrupted(&self) -> bool {
        self.state.count.load(Ordering::Relaxed) > 0
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

impl SignalState {
    /// The lock is held to the end, so that no run begins meanwhile.
    fn obey(&self, signal: c_int) {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let last_words = match &*stage {
            Stage::Before => Some("plimsoll: stopped before the load; nothing was recorded"),
            Stage::Serving => Some(
                "plimsoll: the worker was stopped by a signal; a run under way loses its part of the load",
            ),
            _ => None,
        };
        if let Some(words) = last_words {
            note(words);
            return self.end(signal);
        }
        let is_first = self.count.fetch_add(1, Ordering::Relaxed) == 0;
        match &*stage {
            Stage::UnderWay(control, message) if is_first => {
                note(message);
                control.drain();
            }
            Stage::Sealed if is_first => note("the run is over; once more to end without its report"),
            Stage::BetweenSlots => note("stopping the service under test, then exiting"),
            Stage::UnderWay(control, _) => {
                note(AT_ONCE);
                control.abandon();
            }
            Stage::Sealed | Stage::Before | Stage::Serving => {
                note(AT_ONCE);
                self.end(signal);
            }
        }
    }

    fn end(&self, signal: c_int) {
        full::leave_for_good();
        match self.ends {
            ProcessEnd::BySignal => end(signal),
            ProcessEnd::WithCode(code) => std::process::exit(code.into()),
        }
    }
}

/// Ctrl-C and SIGTERM are held back while this exists: what is to be deleted first is deleted, and then the process ends.
pub struct HeldSignals {
    is_released: Arc<AtomicBool>,
    /// The signal that came, if one did.
    came: Arc<AtomicUsize>,
}

impl HeldSignals {
    /// Hold them back from now on.
    pub fn begin() -> CommandResult<HeldSignals> {
        let held = HeldSignals { is_released: Arc::default(), came: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, held.is_released.clone()).map_err(Failure::own)?;
            flag::register_usize(signal, held.came.clone(), signal as usize).map_err(Failure::own)?;
        }
        Ok(held)
    }

    /// Whether a signal is held back.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst) != 0
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.is_released.store(true, Ordering::SeqCst);
        match c_int::try_from(self.came.load(Ordering::SeqCst)) {
            Ok(0) | Err(_) => {}
            Ok(signal) => end(signal),
        }
    }
}

/// Ctrl-C and SIGTERM of a process that hands them on to those that it started, and ends after them.
pub struct HandedOn {
    signals: Signals,
    is_terminated: bool,
}

impl HandedOn {
    /// Hand them on from now on.
    pub fn begin() -> CommandResult<HandedOn> {
        let signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::own)?;
        Ok(HandedOn { signals, is_terminated: false })
    }

    /// A signal that came since this was asked last.
    pub fn take(&mut self) -> Option<Signal> {
        let signal = match self.signals.pending().next()? {
            SIGTERM => Signal::TERM,
            _ => Signal::INT,
        };
        self.is_terminated |= signal == Signal::TERM;
        Some(signal)
    }

    /// Whether this process is to end.
    pub fn is_terminated(&mut self) -> bool {
        while self.take().is_some() {}
        self.is_terminated
    }
}

fn end(signal: c_int) {
    if let Err(error) = emulate_default_handler(signal) {
        // Both signals have a default that ends the process, so this is never reached.
        note(format_args!("plimsoll: the default action of signal {signal} failed: {error}"));
    }
}
