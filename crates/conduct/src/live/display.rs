//! The thread that draws a run on the whole screen and reads keys. The recorder's thread only adds to what it draws: neither
//! a slow terminal nor a key makes anyone wait.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use ::report::Style;
use ::report::live::screen::{LiveScreen, ScreenChoice};
use engine::{Command, Control};
use evidence::{Observed, Tick};
use judge::so_far;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe, raise, unregister};
use signal_hook::{SigId, flag};
use workload::Workload;

use super::keys::{Key, keys};
use super::objectives::ObjectiveWatch;
use crate::marks::Marker;
use crate::screen::{full, note};

/// How much less the drawing thread gets of a processor than the loops.
const NICENESS: i32 = 10;

/// Draws until it is dropped.
pub(super) struct Display {
    board: Arc<Board>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// What the recorder's thread hands to the one that draws.
struct Board {
    state: Mutex<BoardState>,
    is_over: AtomicBool,
    /// By what the key for it marks events.
    marker: OnceLock<Marker>,
}

struct BoardState {
    screen: LiveScreen,
    objectives: ObjectiveWatch,
    /// Whether there is a whole second to be drawn.
    has_second: bool,
}

impl Display {
    /// Of a run with so many loops that has not started. The screen is taken when its first second is over.
    pub(super) fn start(
        workload: &Workload,
        loops: u16,
        style: Style,
        control: &Control,
    ) -> io::Result<Display> {
        let state = BoardState {
            screen: LiveScreen::new(workload, loops),
            objectives: ObjectiveWatch::new(workload, loops),
            has_second: false,
        };
        let board = Arc::new(Board {
            state: Mutex::new(state),
            is_over: AtomicBool::new(false),
            marker: OnceLock::new(),
        });
        let (wake, woken) = UnixStream::pair()?;
        [&wake, &woken].into_iter().try_for_each(|end| end.set_nonblocking(true))?;
        let signals = ScreenSignals::listen(&wake)?;
        let drawer = Drawer {
            board: board.clone(),
            woken,
            signals,
            style,
            choice: ScreenChoice::default(),
            frozen: None,
            has_keys: true,
            control: control.clone(),
        };
        let thread =
            thread::Builder::new().name("display".to_owned()).spawn(move || drawer.draw_until_over())?;
        Ok(Display { board, wake, thread: Some(thread) })
    }

    pub(super) fn mark_by(&self, marker: Marker) {
        // A run has one.
        let _ = self.board.marker.set(marker);
    }

    pub(super) fn take(&self, tick: &Tick) {
        let mut state = self.board.locked();
        state.screen.take(tick);
        state.objectives.take(tick);
    }

    pub(super) fn observe(&self, observed: &Observed) {
        self.board.locked().screen.observe(observed);
    }

    /// A second is over.
    pub(super) fn refresh(&self) {
        self.board.locked().has_second = true;
        self.wake();
    }

    fn wake(&self) {
        // A pipe that is full wakes as well.
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for Display {
    /// Leaves the screen.
    fn drop(&mut self) {
        self.board.is_over.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has left the screen, too.
            let _ = thread.join();
        }
    }
}

impl Board {
    fn locked(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The drawing thread.
struct Drawer {
    board: Arc<Board>,
    woken: UnixStream,
    signals: ScreenSignals,
    style: Style,
    choice: ScreenChoice,
    /// What is shown while it is paused.
    frozen: Option<Box<LiveScreen>>,
    /// Whether the terminal may still send some.
    has_keys: bool,
    /// By what the run is stopped.
    control: Control,
}

impl Drawer {
    fn draw_until_over(mut self) {
        // It draws as well, only later, where this is refused.
        let _ = rustix::process::nice(NICENESS);
        while !self.board.is_over.load(Ordering::SeqCst) {
            let has_key = self.wait();
            self.obey_signals();
            if has_key {
                self.obey_keys();
            }
            // A display that cannot draw leaves the run alone.
            let _ = self.draw();
        }
        self.leave();
    }

    /// Waits for a second, a signal or a key; whether there is a key.
    fn wait(&mut self) -> bool {
        let stdin = io::stdin();
        let mut sources = vec![PollFd::new(&self.woken, PollFlags::IN)];
        if self.has_keys && !self.signals.is_off() {
            sources.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
        }
        // It is interrupted by signals, which are looked at next.
        let _ = poll(&mut sources, None);
        let has_key = sources.get(1).is_some_and(|stdin| !stdin.revents().is_empty());
        let mut buffer = [0; 64];
        while (&self.woken).read(&mut buffer).is_ok_and(|read| read > 0) {}
        has_key
    }

    fn obey_signals(&mut self) {
        for signal in [SIGTSTP, SIGQUIT, SIGHUP] {
            if self.signals.take(signal) && !self.signals.is_off() {
                self.leave();
                // These have a default that stops or ends the process.
                let _ = emulate_default_handler(signal);
            }
        }
        if self.signals.take(SIGCONT) && !self.signals.is_off() {
            // It was stopped without being asked, so that the terminal may have been used meanwhile.
            self.leave();
        }
        let may_enter = self.signals.is_off() && full::is_in_foreground() && self.board.locked().has_second;
        if may_enter && full::enter().is_ok_and(|is_entered| is_entered) {
            self.signals.is_off.store(false, Ordering::SeqCst);
        }
    }

    fn leave(&self) {
        self.signals.is_off.store(true, Ordering::SeqCst);
        full::leave();
    }

    fn obey_keys(&mut self) {
        if !full::is_in_foreground() {
            return;
        }
        let mut buffer = [0; 64];
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(0) => self.has_keys = false,
            Ok(read) => {
                let pressed = keys(&buffer[..read]);
                // Any other key is an answer as well.
                self.choice.is_asking &= !pressed.is_empty();
                pressed.into_iter().for_each(|key| self.obey(key));
            }
            Err(error) => {
                self.has_keys = error == rustix::io::Errno::INTR || error == rustix::io::Errno::AGAIN
            }
        }
    }

    fn obey(&mut self, key: Key) {
        let order = || match &self.frozen {
            Some(frozen) => frozen.endpoint_order(),
            None => self.board.locked().screen.endpoint_order(),
        };
        let is_answer = std::mem::take(&mut self.choice.is_asking);
        if is_answer && key != Key::Stop {
            return;
        }
        // What another key changes is seen at once.
        self.choice.is_help &= key == Key::Help;
        match key {
            Key::NextEndpoint => self.choice.step_endpoint(true, &order()),
            Key::EndpointBefore => self.choice.step_endpoint(false, &order()),
            Key::LongerColumns => self.choice.step_scale(true, self.length_s()),
            Key::ShorterColumns => self.choice.step_scale(false, self.length_s()),
            Key::NextScale => self.choice.next_scale(self.length_s()),
            Key::Help => self.choice.is_help = !self.choice.is_help,
            Key::Pause => self.pause(),
            Key::Mark => self.mark(),
            Key::Stop if !is_answer && !self.choice.is_stopping => self.choice.is_asking = true,
            // As Ctrl-C: the first drains, a further one ends at once.
            Key::Stop => {
                // The thread that listens for signals stops the run a moment later.
                self.choice.is_stopping = true;
                drop(raise(SIGINT));
            }
        }
    }

    fn length_s(&self) -> u32 {
        self.board.locked().screen.length_s()
    }

    fn mark(&self) {
        match self.board.marker.get().map(|marker| marker.mark("")) {
            Some(Ok(mark)) => note(format_args!("{} at {}", mark.text, mark.clock())),
            Some(Err(error)) => note(error),
            None => {}
        }
    }

    fn pause(&mut self) {
        self.choice.is_paused = !self.choice.is_paused;
        self.frozen = self.choice.is_paused.then(|| Box::new(self.board.locked().now().clone()));
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.signals.is_off() {
            return Ok(());
        }
        self.choice.is_stopping |= self.control.command() != Command::Run;
        let (size, notes) = (full::size(), full::recent());
        let drawn = match &self.frozen {
            Some(frozen) => frozen.drawn(self.style, size, self.choice, &notes),
            None => self.board.locked().now().drawn(self.style, size, self.choice, &notes),
        };
        full::show(&drawn, size)
    }
}

impl BoardState {
    /// With its objectives as they are now.
    fn now(&mut self) -> &LiveScreen {
        let elapsed_s = self.screen.figures().complete_s();
        self.screen.set_objectives(self.objectives.after(elapsed_s));
        let delivered = self.screen.figures().least_delivered();
        self.screen.set_load_missed(delivered.is_some_and(|share| !so_far::is_load_offered(share)));
        &self.screen
    }
}

/// Signals that are about the screen. While it is not used each does what it does by default.
struct ScreenSignals {
    came: Vec<(i32, Arc<AtomicBool>)>,
    /// Whether the screen is not used.
    is_off: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl ScreenSignals {
    /// Each writes to `wake`.
    fn listen(wake: &UnixStream) -> io::Result<ScreenSignals> {
        let is_off = Arc::new(AtomicBool::new(true));
        let (mut came, mut registered) = (Vec::new(), Vec::new());
        for signal in [SIGTSTP, SIGQUIT, SIGHUP, SIGCONT, SIGWINCH] {
            if matches!(signal, SIGTSTP | SIGQUIT | SIGHUP) {
                // It stays: once a signal is handled, nothing else would do what it does by default.
                flag::register_conditional_default(signal, is_off.clone())?;
            }
            let flag = Arc::new(AtomicBool::new(false));
            registered.push(flag::register(signal, flag.clone())?);
            registered.push(pipe::register(signal, wake.try_clone()?)?);
            came.push((signal, flag));
        }
        Ok(ScreenSignals { came, is_off, registered })
    }

    fn is_off(&self) -> bool {
        self.is_off.load(Ordering::SeqCst)
    }

    /// Whether a signal came since this was asked last.
    fn take(&self, signal: i32) -> bool {
        let flag = self.came.iter().find(|(known, _)| *known == signal);
        flag.is_some_and(|(_, flag)| flag.swap(false, Ordering::SeqCst))
    }
}

impl Drop for ScreenSignals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
