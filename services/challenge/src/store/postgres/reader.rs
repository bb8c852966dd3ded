//! A reader: one task, one connection. Requests that arrive while it waits for the database are combined into the next
//! query, so that a busy service sends fewer queries and an idle one does not wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use kit::limit::Permit;
use kit::metrics::{Metrics, seconds_histogram};
use kit::postgres::{Connector, Link, within};
use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::rows;
use super::statements::ReaderStatements;
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::store::StoreError;
use crate::user::UserId;

/// Users in one query at most: bounds how long the first one waits for the others' rows.
const MAX_USERS: usize = 64;
const USERS_BOUNDS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// A request for one user's rows.
pub(super) struct ReadRequest {
    pub(super) user: UserId,
    pub(super) since: Instant,
    /// Free once it is answered.
    pub(super) slot: Permit,
    pub(super) reply: oneshot::Sender<Result<UserGoals, StoreError>>,
}

/// The readers' histograms. Clones share them.
#[derive(Clone)]
pub(super) struct ReadMetrics {
    users: Histogram,
    wait_seconds: Histogram,
}

impl ReadMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let own = Self { users: Histogram::new(USERS_BOUNDS), wait_seconds: seconds_histogram() };
        let all = own.clone();
        metrics.register(|registry| {
            registry.register("store_read_users", "Users read in one query", all.users);
            let help = "Time that a read waits for a connection before its query is sent";
            registry.register("store_read_wait_seconds", help, all.wait_seconds);
        });
        own
    }
}

pub(super) struct Reader {
    link: Link<ReaderStatements>,
    catalog: Arc<Catalog>,
    metrics: ReadMetrics,
}

impl Reader {
    pub(super) fn new(connector: &Connector, catalog: Arc<Catalog>, metrics: ReadMetrics) -> Self {
        Self { link: Link::new(connector.clone()), catalog, metrics }
    }

    /// Connects before the first request arrives.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// Ends when every sender is gone. The channel itself is unbounded: each sender holds a slot of a limit.
    pub(super) async fn run(mut self, mut requests: UnboundedReceiver<ReadRequest>) {
        let mut together = Vec::with_capacity(MAX_USERS);
        while requests.recv_many(&mut together, MAX_USERS).await > 0 {
            // A caller that no longer waits needs no rows.
            together.retain(|request: &ReadRequest| !request.reply.is_closed());
            self.metrics.users.observe(together.len() as f64);
            for request in &together {
                self.metrics.wait_seconds.observe(request.since.elapsed().as_secs_f64());
            }
            let users: Vec<&str> = together.iter().map(|request| request.user.as_str()).collect();
            let outcome = self.read(&users).await;
            for request in together.drain(..) {
                let goals =
                    outcome.as_ref().map(|by_user| by_user.get(&request.user).cloned().unwrap_or_default());
                drop(request.slot);
                let _caller_gone = request.reply.send(goals.map_err(Clone::clone));
            }
        }
    }

    /// A read can be repeated, so a connection that broke while it was idle fails no request.
    async fn read(&mut self, users: &[&str]) -> Result<HashMap<UserId, UserGoals>, StoreError> {
        match self.read_once(users).await {
            Err(StoreError::Unreachable(_)) => self.read_once(users).await,
            outcome => outcome,
        }
    }

    async fn read_once(&mut self, users: &[&str]) -> Result<HashMap<UserId, UserGoals>, StoreError> {
        let patience = self.link.answer_timeout();
        let session = self.link.session().await?;
        let reading = async {
            let rows = session.client().query(&session.statements.users, &[&users]).await?;
            rows::goals(&rows, &self.catalog)
        };
        let outcome = within(patience, reading).await;
        if let Err(error) = &outcome {
            tracing::error!(%error, users = users.len(), "users could not be read");
            self.link.recover(error).await;
        }
        outcome
    }
}
