//! Runs the engine, with a recorder on a thread of its own and a time limit.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use engine::iteration::Behaviour;
use engine::{Clock, Control, EngineError, Program, RunOptions, Totals, Wakeup};
use evidence::Instant;
use evidence::memory::MemoryRun;
use evidence::tick_channel::{Received, TickReceiver, tick_channel};
use evidence::{Manifest, Sink, Tick};

/// No run of these tests takes longer unless the engine hangs.
pub(crate) const HANG: Duration = Duration::from_secs(120);
/// How often the recorder looks for ticks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A run to be made.
pub(crate) struct Drive {
    options: RunOptions,
    loops: u16,
    /// When on the run's clock its loops start.
    begins: Instant,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) run: MemoryRun,
    pub(crate) result: Result<Totals, EngineError>,
    pub(crate) clock: Clock,
}

impl Drive {
    pub(crate) fn new(program: Program) -> Self {
        let clock = Clock::starting_in(Duration::from_millis(20));
        let options = RunOptions::new(Arc::new(program), clock);
        Drive { options, loops: 1, begins: Instant::EPOCH }
    }

    pub(crate) fn loops(self, loops: u16) -> Self {
        Drive { loops, ..self }
    }

    /// Start the loops so late that everything due before is late.
    pub(crate) fn late_by(self, lag: Duration) -> Self {
        Drive { begins: Instant::at(lag), ..self }
    }

    pub(crate) fn behaviour(mut self, behaviour: Arc<dyn Behaviour>) -> Self {
        self.options.behaviour = Some(behaviour);
        self
    }

    pub(crate) fn wakeup(mut self, wakeup: Wakeup) -> Self {
        self.options.wakeup = wakeup;
        self
    }

    pub(crate) fn program(&self) -> Arc<Program> {
        self.options.program.clone()
    }

    /// Stops the run.
    pub(crate) fn control(&self) -> Control {
        self.options.control.clone()
    }

    /// Run it and record everything.
    pub(crate) fn run(self) -> FinishedRun {
        self.run_recorded_by(|inlets| record(&inlets))
    }

    /// Run it with another recorder, which must return when the exchange is over.
    pub(crate) fn run_recorded_by(
        self,
        recorder: impl FnOnce(Vec<TickReceiver>) -> MemoryRun + Send,
    ) -> FinishedRun {
        let Drive { options, loops, begins } = self;
        let clock = options.clock;
        let (outlets, inlets) = (0..loops).map(|_| tick_channel()).unzip();
        let (ended, end) = channel();
        let control = options.control.clone();
        // Not a scoped thread: one that hangs must not keep the test from failing.
        let engine = thread::spawn(move || {
            while options.clock.now() < begins {
                thread::park_timeout(begins.since(options.clock.now()));
            }
            let result = engine::run(&options, outlets);
            // The receiver is gone when the test has given up waiting.
            let _ = ended.send(());
            result
        });
        let run = thread::scope(|scope| {
            let recording = scope.spawn(|| recorder(inlets));
            if end.recv_timeout(HANG).is_err() {
                control.abandon();
                assert!(end.recv_timeout(HANG).is_ok(), "the engine hangs and cannot be stopped");
                panic!("the engine did not end by itself within {HANG:?}");
            }
            recording.join().unwrap()
        });
        FinishedRun { run, result: engine.join().unwrap(), clock }
    }
}

/// Run a program to its end, with one loop.
pub(crate) fn drive(program: Program) -> FinishedRun {
    let ran = Drive::new(program).run();
    assert!(ran.result.is_ok(), "{:?}", ran.result);
    ran
}

/// A recorder that takes every tick at once.
pub(crate) fn record(inlets: &[TickReceiver]) -> MemoryRun {
    record_and(inlets, &mut |_| {})
}

/// The same, and calls `inspect` with each tick.
pub(crate) fn record_and(inlets: &[TickReceiver], inspect: &mut dyn FnMut(&Tick)) -> MemoryRun {
    let mut run = empty_run();
    let mut open: Vec<&TickReceiver> = inlets.iter().collect();
    while !open.is_empty() {
        open.retain(|inlet| take_all(inlet, &mut run, inspect));
        thread::park_timeout(POLL_INTERVAL);
    }
    run
}

/// Take every tick that waits; false when the exchange is over.
fn take_all(inlet: &TickReceiver, run: &mut MemoryRun, inspect: &mut dyn FnMut(&Tick)) -> bool {
    loop {
        match inlet.take() {
            Received::Tick(tick) => {
                run.tick(&tick).unwrap();
                inspect(&tick);
                inlet.give_back(tick);
            }
            Received::Empty => return true,
            Received::Closed => return false,
        }
    }
}

pub(crate) fn empty_run() -> MemoryRun {
    MemoryRun::new(Manifest { seed: 7, ..Manifest::named("truth") })
}
