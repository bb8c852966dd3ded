//! The servers of ports that end together: they finish the requests in progress within a bound, then the rest is cut.

use std::time::Duration;

use axum::Router;
use tokio::task::JoinSet;

use crate::drain::{Drain, Draining};
use crate::serve::{Bounds, Listener, Port, Protocol, serve};

/// Running servers; dropping them ends them.
#[derive(Debug)]
pub struct Servers {
    tasks: JoinSet<()>,
    drain: Drain,
    draining: Draining,
}

impl Default for Servers {
    fn default() -> Self {
        let (drain, draining) = Drain::new();
        Self { tasks: JoinSet::new(), drain, draining }
    }
}

impl Servers {
    /// The server of the operators' port. It has no gate: it responds at any load.
    #[must_use]
    pub fn of_operators(listener: Listener, routes: Router, bounds: Bounds) -> Self {
        let mut servers = Self::default();
        servers.serve(listener, Protocol::Http1, Port::new(routes, None, bounds));
        servers
    }

    pub fn serve(&mut self, listener: Listener, protocol: Protocol, port: Port) {
        self.spawn(serve(listener, protocol, port, self.draining.clone()));
    }

    /// Runs work that ends when the servers' drain begins.
    pub fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Their drain, for work that ends when it begins.
    #[must_use]
    pub fn draining(&self) -> Draining {
        self.draining.clone()
    }

    /// Accepts nothing more and finishes the requests in progress, for no longer than `within`.
    pub async fn finish(mut self, within: Duration) {
        self.drain.begin();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(within, all).await.is_err() {
            tracing::warn!(?within, "connections that did not finish in time are closed");
            self.drain.cut();
        }
    }
}
