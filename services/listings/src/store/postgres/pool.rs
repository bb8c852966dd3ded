//! Connections that read. Each serves one query at a time; who finds none free waits for one. When a caller goes away,
//! the server is asked to end the query, and the connection is given up.

use super::queries::Query;
use super::statements::Reading;
use crate::store::StoreError;
use kit::metrics::Metrics;
use kit::postgres::{Connector, Link, within};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::CancelToken;

pub(super) struct Pool {
    connector: Connector,
    free: Mutex<Vec<Link<Reading>>>,
    places: Semaphore,
    /// For metrics: how many of them nobody uses.
    idle: Gauge,
    /// For metrics: reads that had to wait for one.
    waits: Counter,
}

impl Pool {
    /// As many connections, made now.
    pub(super) async fn open(
        connector: &Connector,
        count: usize,
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
            registry.register("db_connections_open", "Connections that read", open);
            registry.register("db_connections_idle", "Connections that read and have nothing to do", shown);
            registry.register("db_waits", "Reads that found no connection free", counted);
        });
        let places = Semaphore::new(free.len());
        Ok(Self { connector: connector.clone(), free: Mutex::new(free), places, idle, waits })
    }

    /// Runs a query on a connection. Reading twice does no harm, so a connection that broke while it was idle costs
    /// nobody a refusal.
    pub(super) async fn read<Q: Query>(&self, query: &Q) -> Result<Q::Answer, StoreError> {
        let _place = self.place().await?;
        self.idle.dec();
        let link = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = link.unwrap_or_else(|| Link::new(self.connector.clone()));
        let mut taken = Taken { pool: self, link: Some(link), running: None };
        match taken.run(query).await {
            Err(StoreError::Unreachable(_)) => taken.run(query).await,
            outcome => outcome,
        }
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        self.waits.inc();
        // The semaphore is never closed, so a place always comes.
        self.places.acquire().await.map_err(|_| StoreError::Closed)
    }
}

/// A connection in use. It goes back when its query has ended, and only then.
struct Taken<'a> {
    pool: &'a Pool,
    link: Option<Link<Reading>>,
    running: Option<CancelToken>,
}

impl Taken<'_> {
    async fn run<Q: Query>(&mut self, query: &Q) -> Result<Q::Answer, StoreError> {
        let link = self.link.as_mut().ok_or(StoreError::Closed)?;
        let patience = link.answer_timeout();
        let session = link.session().await?;
        self.running = Some(session.client().cancel_token());
        let outcome = within(patience, query.run(session)).await;
        self.running = None;
        if let Err(error) = &outcome {
            tracing::error!(%error, "a read failed");
            link.recover(error).await;
        }
        outcome
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let link = match self.running.take() {
            None => link,
            Some(token) => {
                let connector = self.pool.connector.clone();
                tokio::spawn(async move {
                    connector.cancel(token).await;
                    // Its connection is closed only now, so that the server still knows what to end.
                    drop(link);
                });
                Link::new(self.pool.connector.clone())
            }
        };
        self.pool.idle.inc();
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(link);
    }
}
