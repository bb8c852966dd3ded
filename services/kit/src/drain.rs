//! How a service ends: it accepts nothing more, finishes its requests within a bound, then cuts the rest.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    Draining,
    Cut,
}

/// Ends a service.
#[derive(Debug)]
pub struct Drain {
    stage: watch::Sender<Stage>,
}

/// The stage of the drain, which every server and connection watches.
#[derive(Debug, Clone)]
pub struct Draining {
    stage: watch::Receiver<Stage>,
}

impl Drain {
    /// A drain that has not begun, and its watcher.
    #[must_use]
    pub fn new() -> (Self, Draining) {
        let (sender, receiver) = watch::channel(Stage::Serving);
        (Self { stage: sender }, Draining { stage: receiver })
    }

    /// Every watcher accepts nothing more and finishes its requests.
    pub fn begin(&self) {
        self.stage.send_replace(Stage::Draining);
    }

    /// Every watcher drops what is unfinished.
    pub fn cut(&self) {
        self.stage.send_replace(Stage::Cut);
    }
}

impl Draining {
    /// Returns once the drain has begun, or its owner is gone.
    pub async fn begun(&mut self) {
        self.reached(Stage::Draining).await;
    }

    /// Returns once the time to finish is over.
    pub async fn cut(&mut self) {
        self.reached(Stage::Cut).await;
    }

    async fn reached(&mut self, stage: Stage) {
        // A sender that is dropped ends the service as well.
        let _gone = self.stage.wait_for(|now| *now >= stage).await;
    }
}

/// SIGTERM and SIGINT, caught from the moment this exists. It must exist before the service is reported as ready:
/// without it either signal ends the process at once.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to catch the signals.
    ///
    /// # Errors
    /// When the process may not listen for signals.
    pub fn catch() -> std::io::Result<Self> {
        let [terminate, interrupt] = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
        Ok(Self { terminate: terminate?, interrupt: interrupt? })
    }

    /// Returns the name of the first signal received.
    pub async fn first(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
