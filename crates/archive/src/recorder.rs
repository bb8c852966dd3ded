//! The thread that alone hands evidence on: ticks from the loops, samples from the observers.
//!
//! It polls with short sleeps, never makes a loop wait, and reads no clock: the loops' ticks are its seconds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::sink::{Sink, SinkError};
use evidence::tick_channel::{Received, TickReceiver};
use evidence::{Observed, RunEnd, Tick};

/// Sleep between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// After how many polls evidence is made durable although a loop has not delivered its second.
const POLLS_A_FLUSH: u32 = 20;

/// Who receives the evidence.
#[derive(Default)]
pub struct Sinks {
    /// Those that record, the archive first: a failure of any ends the run.
    pub recording: Vec<Box<dyn Sink + Send>>,
    /// Those that draw: one that fails is left out from then on, and the run continues.
    pub drawing: Vec<Box<dyn Sink + Send>>,
}

/// What a successful recording reports.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Why sinks that draw were left out.
    pub drawing_failures: Vec<String>,
}

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The thread could not be started.
    #[error("cannot start the recorder's thread: {0}")]
    Thread(#[from] io::Error),
    /// A sink that records failed.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The thread panicked.
    #[error("the recorder panicked. This is a bug in plimsoll")]
    Panicked,
}

/// The handle of the recorder's thread. Dropped without [`Recorder::finish`], it makes durable what it
/// has and leaves the file unsealed.
pub struct Recorder {
    further: Option<Sender<Further>>,
    thread: Option<JoinHandle<Result<Recorded, RecordError>>>,
    has_failed: Arc<AtomicBool>,
}

/// What comes neither from a loop nor from an observer.
enum Further {
    Tick(Box<Tick>),
    End(RunEnd),
}

impl Recorder {
    /// Start recording what comes from `inlets` (one a loop) and from the observers.
    ///
    /// # Errors
    /// [`RecordError::Thread`] when the system gives no thread.
    pub fn start(
        sinks: Sinks,
        inlets: Vec<TickReceiver>,
        observed: Receiver<Observed>,
    ) -> Result<Recorder, RecordError> {
        let (further, comes) = channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let failure = Arc::clone(&has_failed);
        let thread = thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            let mut task = Task::new(sinks, inlets, observed);
            let recorded = task.work(&comes);
            match recorded {
                Err(error) => {
                    failure.store(true, Ordering::Release);
                    task.close(&comes);
                    Err(error)
                }
                Ok(()) => Ok(Recorded { drawing_failures: task.drawing_failures }),
            }
        })?;
        Ok(Recorder { further: Some(further), thread: Some(thread), has_failed })
    }

    /// Whether recording has failed; [`Recorder::finish`] says why. The loops learn it by themselves.
    pub fn is_failed(&self) -> bool {
        // A thread that ended before it was asked to finish has panicked.
        self.has_failed.load(Ordering::Acquire) || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Record a tick that comes from no loop: what was counted after the load.
    pub fn add(&self, tick: Tick) {
        if let Some(further) = &self.further {
            // A thread that is gone says why when it is joined.
            let _ = further.send(Further::Tick(Box::new(tick)));
        }
    }

    /// The loops and observers are over: take what is left, end every sink, and wait for it. It waits for
    /// each loop to give up its outlet, too.
    ///
    /// # Errors
    /// [`RecordError`] when anything could not be recorded, now or earlier.
    pub fn finish(mut self, end: &RunEnd) -> Result<Recorded, RecordError> {
        if let Some(further) = &self.further {
            // A thread that is gone returns its reason when it is joined.
            let _ = further.send(Further::End(end.clone()));
        }
        self.thread
            .take()
            .map_or(Err(RecordError::Panicked), |thread| thread.join().unwrap_or(Err(RecordError::Panicked)))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.further.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the recorder is to do next.
enum Order {
    GoOn,
    Take(Box<Tick>),
    Finish(RunEnd),
    Abandon,
}

/// A loop's inlet, and whether its current second is in.
struct Source {
    inlet: TickReceiver,
    has_delivered: bool,
}

/// The state of the recorder's thread.
struct Task {
    sinks: Sinks,
    sources: Vec<Source>,
    observed: Option<Receiver<Observed>>,
    drawing_failures: Vec<String>,
    is_dirty: bool,
    looks: u32,
    /// How the run ended, once that is known.
    end: Option<RunEnd>,
}

impl Task {
    fn new(sinks: Sinks, inlets: Vec<TickReceiver>, observed: Receiver<Observed>) -> Task {
        let sources = inlets.into_iter().map(|inlet| Source { inlet, has_delivered: false }).collect();
        let observed = Some(observed);
        let drawing_failures = Vec::new();
        Task { sinks, sources, observed, drawing_failures, is_dirty: false, looks: 0, end: None }
    }

    fn work(&mut self, comes: &Receiver<Further>) -> Result<(), RecordError> {
        loop {
            let order = wait(comes);
            self.look()?;
            match order {
                Order::GoOn => self.flush_when_due()?,
                Order::Take(tick) => {
                    self.is_dirty = true;
                    self.give(|sink| sink.tick(&tick))?;
                }
                Order::Abandon => return Ok(self.flush()?),
                Order::Finish(end) => {
                    self.end = Some(end.clone());
                    return Ok(self.finish(&end, comes)?);
                }
            }
        }
    }

    /// Take everything that waits.
    fn look(&mut self) -> Result<(), SinkError> {
        let mut sources = std::mem::take(&mut self.sources);
        let mut taken = Ok(());
        // After a failure all inlets stay open until it is known: a loop that finds its own closed may ask.
        sources.retain_mut(|source| match &taken {
            Ok(()) => self.take_ticks(source).unwrap_or_else(|error| {
                taken = Err(error);
                true
            }),
            Err(_) => true,
        });
        self.sources = sources;
        taken?;
        self.take_observed()
    }

    /// Whether the loop is still running.
    fn take_ticks(&mut self, source: &mut Source) -> Result<bool, SinkError> {
        loop {
            match source.inlet.take() {
                Received::Empty => return Ok(true),
                Received::Closed => return Ok(false),
                Received::Tick(tick) => {
                    self.is_dirty = true;
                    source.has_delivered = true;
                    self.give(|sink| sink.tick(&tick))?;
                    source.inlet.give_back(tick);
                }
            }
        }
    }

    fn take_observed(&mut self) -> Result<(), SinkError> {
        while let Some(seen) = self.observed.as_ref().and_then(|observed| observed.try_recv().ok()) {
            self.is_dirty = true;
            self.give(|sink| sink.observed(&seen))?;
        }
        Ok(())
    }

    /// Give something to every sink: a failure to record is an error, a failure to draw is kept for the end.
    fn give(
        &mut self,
        mut what: impl FnMut(&mut dyn Sink) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        for sink in &mut self.sinks.recording {
            what(sink.as_mut())?;
        }
        let failures = &mut self.drawing_failures;
        self.sinks.drawing.retain_mut(|sink| {
            let drawn = what(sink.as_mut());
            failures.extend(drawn.as_ref().err().map(ToString::to_string));
            drawn.is_ok()
        });
        Ok(())
    }

    fn flush_when_due(&mut self) -> Result<(), SinkError> {
        self.looks += 1;
        let is_second_in = !self.sources.is_empty() && self.sources.iter().all(|source| source.has_delivered);
        let is_due = is_second_in || self.looks >= POLLS_A_FLUSH;
        if is_due && self.is_dirty { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.looks = 0;
        self.is_dirty = false;
        for source in &mut self.sources {
            source.has_delivered = false;
        }
        self.give(|sink| sink.flush())
    }

    fn finish(&mut self, end: &RunEnd, comes: &Receiver<Further>) -> Result<(), SinkError> {
        while !self.sources.is_empty() {
            wait(comes);
            self.look()?;
            self.flush_when_due()?;
        }
        self.flush()?;
        self.give(|sink| sink.end(end))
    }

    /// After a failure: the inlets close, which the loops notice, the file is closed with what it has, and drawing sinks get
    /// the end of the run.
    fn close(&mut self, comes: &Receiver<Further>) {
        self.sources.clear();
        self.observed = None;
        self.sinks.recording.clear();
        let end_of = |further| if let Further::End(end) = further { Some(end) } else { None };
        if let Some(end) = self.end.take().or_else(|| comes.iter().find_map(end_of)) {
            // Nothing but drawing sinks is left, and those cannot fail a run.
            let _ = self.give(|sink| sink.end(&end));
        }
    }
}

fn wait(comes: &Receiver<Further>) -> Order {
    match comes.recv_timeout(POLL_INTERVAL) {
        Ok(Further::End(end)) => Order::Finish(end),
        Ok(Further::Tick(tick)) => Order::Take(tick),
        Err(RecvTimeoutError::Timeout) => Order::GoOn,
        Err(RecvTimeoutError::Disconnected) => Order::Abandon,
    }
}
