//! One process: store, cache, ports, readiness and shutdown.

mod health;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kit::auth::Identity;
use kit::backlog::Backlog;
use kit::grpc::{PortHealth, gate_policy};
use kit::health::Health;
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::process::Service;
use kit::serve::{BindError, Bounds, Gate, GatePolicy, Port, Protocol, listen};
use kit::servers::Servers;
use tokio::task::JoinSet;

use crate::admission::Admission;
use crate::api::Api;
use crate::cache::{Cache, CachedReads, LocalCache, SharedCache};
use crate::grpc;
use crate::http;
use crate::limiter::Limiter;
use crate::operations::Operations;
use crate::settings::Settings;
use crate::store::{Store, StoreOpenError, StoreOptions};
use crate::views::ViewCounter;

const HTTP_GATE: GatePolicy =
    GatePolicy { metric: "http_refused_early", is_exempt: |_path| false, refusal: http::overloaded };
const GATE: GatePolicy = gate_policy("grpc_refused_early", grpc::refusal_for_overload);

/// Why a process could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is in use or an address does not belong to this machine.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] StoreOpenError),
}

/// The addresses of a running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The gRPC port.
    pub grpc: SocketAddr,
    /// The HTTP port.
    pub http: SocketAddr,
    /// The operators' port.
    pub admin: SocketAddr,
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grpc={} http={} admin={}", self.grpc, self.http, self.admin)
    }
}

/// A running service.
pub struct Running {
    pub addresses: Addresses,
    store: Arc<Store>,
    views: Arc<ViewCounter>,
    identity: Arc<Identity>,
    health: Arc<Health>,
    grpc_health: PortHealth,
    callers: Servers,
    /// Writes counted views; ended with the process.
    _view_writer: JoinSet<()>,
    operators: Servers,
    drain_within: Duration,
}

/// Opens the store and its cache: in the process for the embedded store; in Redis for a database that several replicas
/// write to; none for such a database without Redis.
///
/// # Errors
/// When the database cannot be used.
pub async fn open(settings: &Settings, metrics: &Metrics) -> Result<(Arc<Store>, Cache), StoreOpenError> {
    let cache = match (&settings.store, settings.cache_bytes, &settings.redis) {
        (_, 0, _) | (StoreOptions::Postgres(_), _, None) => Cache::Off,
        (StoreOptions::Sqlite(_), bytes, _) => {
            Cache::Local(Arc::new(LocalCache::new(bytes, settings.counts_for)))
        }
        (StoreOptions::Postgres(_), _, Some(link)) => {
            Cache::Shared(Arc::new(SharedCache::new(link.clone(), settings.counts_for)))
        }
    };
    if let Some(link) = &settings.redis {
        link.warm_up().await;
    }
    let store = Store::open(&settings.store, &settings.categories, cache.clone(), metrics).await?;
    Ok((Arc::new(store), cache))
}

/// Starts the service. [`Running::ready`] returns when the keys of bearer tokens are loaded.
///
/// # Errors
/// When the database or a port cannot be used.
pub async fn start(settings: &Settings) -> Result<Running, StartError> {
    let grpc_port = listen("gRPC (GRPC_PORT)", settings.grpc).await?;
    let http_port = listen("the HTTP API (HTTP_PORT)", settings.http).await?;
    let admin_port = listen("admin (ADMIN_PORT)", settings.admin).await?;
    let addresses = Addresses { grpc: grpc_port.address, http: http_port.address, admin: admin_port.address };
    let metrics = Metrics::new("listings");
    let (store, cache) = open(settings, &metrics).await?;
    let mut callers = Servers::default();
    let views = Arc::new(ViewCounter::default());
    let mut view_writer = JoinSet::new();
    view_writer.spawn(Arc::clone(&views).run(Arc::clone(&store), callers.draining()));
    let identity = Arc::new(Identity::start(settings.tokens.clone(), settings.roles.clone(), &metrics));
    let limiter = Arc::new(Limiter::new(settings.limits.clone(), settings.redis.clone(), &metrics));
    let health = health_of(&store, &identity);

    let limit = Limit::new(settings.in_flight);
    metrics.watch("in_flight", "Calls in progress", &limit);
    let backlog = Backlog::watch(settings.wait_target, &metrics);
    let gate = Gate::new(&backlog, &limit, GATE, &metrics);
    let http_gate = Gate::new(&backlog, &limit, HTTP_GATE, &metrics);
    let cached_reads = CachedReads::new(cache.clone(), &metrics);
    let operations =
        Operations::new(Arc::clone(&store), cached_reads, Arc::clone(&views), settings.store.searches());
    let api = Api::new(Arc::new(operations));
    let admission = Admission { identity: Arc::clone(&identity), limiter: Arc::clone(&limiter), limit };
    let admission = Arc::new(admission);
    let http = http::router(api.clone(), Arc::clone(&admission), &metrics);
    let (rpcs, grpc_health) = grpc::port(api, admission, &metrics).await;
    let bounds = Bounds { connections: settings.connections, ..Bounds::default() };
    callers.serve(grpc_port, Protocol::Http2, Port::new(rpcs, Some(gate), bounds));
    callers.serve(http_port, Protocol::Http1, Port::new(http, Some(http_gate), bounds));

    let sources = health::HealthSources {
        health: Arc::clone(&health),
        store: Arc::clone(&store),
        identity: Arc::clone(&identity),
        limiter,
        cache,
    };
    let profiles = kit::profiling::routes(Arc::clone(&identity));
    let routes =
        kit::admin::router(Arc::clone(&health), metrics).merge(health::router(sources)).merge(profiles);
    let operators = Servers::of_operators(admin_port, routes, bounds);
    health.set_ready();
    Ok(Running {
        addresses,
        store,
        views,
        identity,
        health,
        grpc_health,
        callers,
        _view_writer: view_writer,
        operators,
        drain_within: settings.drain,
    })
}

fn health_of(store: &Arc<Store>, identity: &Arc<Identity>) -> Arc<Health> {
    let (store, identity) = (Arc::clone(store), Arc::clone(identity));
    Arc::new(Health::new(move || {
        store.probe().map_err(|error| error.to_string()).and_then(|()| identity.probe())
    }))
}

impl Service for Running {
    fn addresses(&self) -> impl fmt::Display {
        self.addresses
    }

    /// Returns when callers can be identified; until then calls are refused and readiness reports what is missing.
    async fn ready(&self) {
        self.identity.ready().await;
    }

    /// Stops accepting calls on both transports, finishes those in progress within the drain timeout, and only then writes
    /// counted views and closes the store. The operators' routes answer until the end.
    async fn stop(self) {
        self.health.set_draining();
        self.grpc_health.stop_serving().await;
        self.callers.finish(self.drain_within).await;
        self.views.finish(&self.store).await;
        self.store.close().await;
        self.operators.finish(Duration::from_secs(1)).await;
    }
}
