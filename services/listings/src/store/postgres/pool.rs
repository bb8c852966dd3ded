//! A pool of reader connections. A connection serves one query at a time; a read that finds none free waits. When a
//! caller disconnects, the server is asked to cancel the query, and the connection is closed.

use std::sync::{Mutex, PoisonError};

use kit::metrics::Metrics;
use kit::postgres::{Connector, Link, within};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::CancelToken;

use super::queries::Query;
use super::statements::ReaderStatements;
use crate::store::StoreError;

/// What the metrics of a pool are called.
#[derive(Clone, Copy)]
pub(super) struct PoolNames {
    prefix: &'static str,
    what: &'static str,
}

pub(super) const READS: PoolNames = PoolNames { prefix: "db", what: "reads by key" };
pub(super) const SEARCHES: PoolNames = PoolNames { prefix: "db_search", what: "lists and searches" };

pub(super) struct Pool {
    connector: Connector,
    free: Mutex<Vec<Link<ReaderStatements>>>,
    permits: Semaphore,
    /// Metric: connections that are not in use.
    idle: Gauge,
    /// Metric: reads that waited for a connection.
    waits: Counter,
}

impl Pool {
    /// Opens a pool of `count` connections.
    pub(super) async fn open(
        connector: &Connector,
        count: usize,
        of: PoolNames,
        metrics: &Metrics,
    ) -> Result<Self, StoreError> {
        let mut free = Vec::new();
        for _ in 0..count.max(1) {
            let mut link = Link::new(connector.clone());
            link.session().await?;
            free.push(link);
        }
        let (open, idle) = (Gauge::<i64>::default(), Gauge::<i64>::default());
        for gauge in [&open, &idle] {
            gauge.set(free.len() as i64);
        }
        let waits = Counter::default();
        let (shown, counted) = (idle.clone(), waits.clone());
        metrics.register(|registry| {
            let PoolNames { prefix, what } = of;
            registry.register(format!("{prefix}_connections_open"), format!("Connections of {what}"), open);
            let help = format!("Connections of {what} that are not in use");
            registry.register(format!("{prefix}_connections_idle"), help, shown);
            registry.register(
                format!("{prefix}_waits"),
                format!("Of {what}, those that waited for a connection"),
                counted,
            );
        });
        let permits = Semaphore::new(free.len());
        Ok(Self { connector: connector.clone(), free: Mutex::new(free), permits, idle, waits })
    }

    /// Runs a query on a connection. A read may be repeated: when a connection broke while it was idle, the query runs
    /// again on a new one.
    pub(super) async fn read<Q: Query>(&self, query: &Q) -> Result<Q::Output, StoreError> {
        let _permit = self.permit().await?;
        self.idle.dec();
        let link = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = link.unwrap_or_else(|| Link::new(self.connector.clone()));
        let mut busy = BusyConnection { pool: self, link: Some(link), running: None };
        match busy.run(query).await {
            Err(StoreError::Unreachable(_)) => busy.run(query).await,
            outcome => outcome,
        }
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        self.waits.inc();
        // The semaphore is never closed.
        self.permits.acquire().await.map_err(|_| StoreError::Closed)
    }
}

/// A connection in use; dropping it returns it to the pool. With a query still running, the pool gets a new connection.
struct BusyConnection<'a> {
    pool: &'a Pool,
    link: Option<Link<ReaderStatements>>,
    running: Option<CancelToken>,
}

impl BusyConnection<'_> {
    async fn run<Q: Query>(&mut self, query: &Q) -> Result<Q::Output, StoreError> {
        let link = self.link.as_mut().ok_or(StoreError::Closed)?;
        let timeout = link.answer_timeout();
        let session = link.session().await?;
        self.running = Some(session.client().cancel_token());
        let outcome = within(timeout, query.run(session)).await;
        self.running = None;
        if let Err(error) = &outcome {
            tracing::error!(%error, "a read failed");
            link.recover(error).await;
        }
        outcome
    }
}

impl Drop for BusyConnection<'_> {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let link = match self.running.take() {
            None => link,
            Some(token) => {
                let connector = self.pool.connector.clone();
                tokio::spawn(async move {
                    connector.cancel(token).await;
                    // The connection is closed only after the cancellation, which needs the server's session.
                    drop(link);
                });
                Link::new(self.pool.connector.clone())
            }
        };
        self.pool.idle.inc();
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(link);
    }
}
