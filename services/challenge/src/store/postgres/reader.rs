//! A reader: one task, one connection. Requests that come in while it waits for an answer are asked together, so
//! that a busy service asks less often and an idle one does not wait.

use super::rows;
use super::statements::Reading;
use crate::catalog::Catalog;
use crate::rules::UserGoals;
use crate::store::StoreError;
use crate::user::UserId;
use kit::metrics::{Metrics, seconds_histogram};
use kit::postgres::{Connector, Link, within};
use prometheus_client::metrics::histogram::Histogram;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Users asked for together at most: bounds how long the first one waits for the others' rows.
const MAX_TOGETHER: usize = 64;
const TOGETHER_BOUNDS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// One user's rows are wanted.
pub(super) struct Ask {
    pub(super) user: UserId,
    pub(super) since: Instant,
    pub(super) reply: oneshot::Sender<Result<UserGoals, StoreError>>,
}

/// The readers' histograms. Clones share them.
#[derive(Clone)]
pub(super) struct Reads {
    together: Histogram,
    wait_seconds: Histogram,
}

impl Reads {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let reads = Self { together: Histogram::new(TOGETHER_BOUNDS), wait_seconds: seconds_histogram() };
        let all = reads.clone();
        metrics.register(|registry| {
            registry.register("store_read_users", "Users asked for in one query", all.together);
            let help = "Time that a read waits for a connection before its query is sent";
            registry.register("store_read_wait_seconds", help, all.wait_seconds);
        });
        reads
    }
}

pub(super) struct Reader {
    link: Link<Reading>,
    catalog: Arc<Catalog>,
    reads: Reads,
}

impl Reader {
    pub(super) fn new(connector: &Connector, catalog: Arc<Catalog>, reads: Reads) -> Self {
        Self { link: Link::new(connector.clone()), catalog, reads }
    }

    /// Connects before there is anything to do.
    pub(super) async fn warm_up(&mut self) -> Result<(), StoreError> {
        self.link.session().await.map(drop)
    }

    /// Ends when nobody is left to ask. The channel is not bounded itself: who asks holds a place in a limit.
    pub(super) async fn run(mut self, mut asks: UnboundedReceiver<Ask>) {
        let mut together = Vec::with_capacity(MAX_TOGETHER);
        while asks.recv_many(&mut together, MAX_TOGETHER).await > 0 {
            // Who has gone away meanwhile needs no rows.
            together.retain(|ask: &Ask| !ask.reply.is_closed());
            self.reads.together.observe(together.len() as f64);
            together
                .iter()
                .for_each(|ask| self.reads.wait_seconds.observe(ask.since.elapsed().as_secs_f64()));
            let users: Vec<&str> = together.iter().map(|ask| ask.user.as_str()).collect();
            let outcome = self.read(&users).await;
            for ask in together.drain(..) {
                let goals =
                    outcome.as_ref().map(|by_user| by_user.get(&ask.user).cloned().unwrap_or_default());
                let _caller_gone = ask.reply.send(goals.map_err(Clone::clone));
            }
        }
    }

    /// Reading twice does no harm, so a connection that broke while it was idle costs nobody a refusal.
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
