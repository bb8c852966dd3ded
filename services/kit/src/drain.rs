//! How a service ends: it stops taking in, finishes what it has begun within a bound, then cuts what is left.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    Draining,
    Cut,
}

/// The hand that ends a service.
#[derive(Debug)]
pub struct Drain {
    stage: watch::Sender<Stage>,
}

/// What every server and connection listens to.
#[derive(Debug, Clone)]
pub struct Draining {
    stage: watch::Receiver<Stage>,
}

impl Drain {
    /// A service that is serving, and the ear for its end.
    #[must_use]
    pub fn new() -> (Self, Draining) {
        let (sender, receiver) = watch::channel(Stage::Serving);
        (Self { stage: sender }, Draining { stage: receiver })
    }

    /// Asks everyone to stop taking in and to finish.
    pub fn begin(&self) {
        self.stage.send_replace(Stage::Draining);
    }

    /// Drops whatever is still unfinished.
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
        // A sender that is gone means that nobody is left to serve for.
        let _gone = self.stage.wait_for(|now| *now >= stage).await;
    }
}

/// SIGTERM and SIGINT, caught from the moment this exists. It must exist before anybody is told that the service is
/// ready: until then either signal ends the process at once.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to catch them.
    ///
    /// # Errors
    /// When the process may not listen for signals.
    pub fn catch() -> std::io::Result<Self> {
        let [terminate, interrupt] = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
        Ok(Self { terminate: terminate?, interrupt: interrupt? })
    }

    /// Returns the name of the first that has come.
    pub async fn first(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
