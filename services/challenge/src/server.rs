//! One process: its catalogue, store and ports, its readiness, and its shutdown.

mod gates;
mod ports;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use kit::auth;
use kit::backlog::Backlog;
use kit::caller_limit::CallerLimit;
use kit::clock::UtcMs;
use kit::grpc::PortHealth;
use kit::grpc_metrics::GrpcMetrics;
use kit::health::Health;
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::process::Service;
use kit::serve::{BindError, Bounds, Gate, GatePolicy, Port, Protocol, Respond};
use kit::servers::Servers;

use crate::admission::Admission;
use crate::catalog::{Catalog, CatalogError};
use crate::claims::Claims;
use crate::events::{self, Intake, UnnamedKeys};
use crate::grpc::{self, Players};
use crate::http::{self, Api};
use crate::identity::Identity;
use crate::operations::Operations;
use crate::proto;
use crate::rewards::{HttpRewards, Ledger, RewardClient};
use crate::role::Role;
use crate::seeds::Seeds;
use crate::settings::Settings;
use crate::store::{OpenClaims, Store, StoreError, StoreOpenError, StoreOptions};
pub use ports::Addresses;
use ports::{Listeners, PlayerListeners};

/// The checked-in challenge file, used when no other is configured.
pub const EMBEDDED_CHALLENGES: &str = include_str!("../../../examples/challenge.json");

/// Longest time that a start resumes open claims: a reward service that is down must not delay it further.
const RESUME_AT_START: Duration = Duration::from_secs(5);

/// Why a process could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is in use, or an address is not of this machine.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The challenge file cannot be used.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] StoreOpenError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A running process.
pub struct Running {
    /// Where it listens.
    pub addresses: Addresses,
    store: Arc<Store>,
    identity: Arc<Identity>,
    health: Arc<Health>,
    grpc_health: Vec<PortHealth>,
    players_and_publishers: Servers,
    admin: Servers,
    drain_timeout: Duration,
}

/// What responds on the players' two ports.
struct PlayerApis<G> {
    http: Router,
    grpc: G,
    grpc_health: PortHealth,
}

/// What all ports share.
struct Core {
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    claims: Arc<Claims>,
    identity: Arc<Identity>,
    health: Arc<Health>,
    backlog: Backlog,
    metrics: Metrics,
}

impl Core {
    /// Reads the challenges, opens the store and ends the claims that an earlier process left open.
    async fn open(settings: &Settings, role: Role) -> Result<Self, StartError> {
        let metrics = Metrics::new("challenge");
        let catalog = Arc::new(match &settings.challenges {
            Some(path) => Catalog::load(path)?,
            None => Catalog::parse("the embedded challenge file", EMBEDDED_CHALLENGES)?,
        });
        for warning in &catalog.warnings {
            tracing::warn!("challenge file: {warning}");
        }
        let store = Arc::new(
            Store::open(&settings.store, settings.store_queue, Arc::clone(&catalog), &metrics).await?,
        );
        let probed = Arc::clone(&store);
        let tokens = auth::Identity::start(settings.tokens.clone(), settings.roles.clone(), &metrics);
        let identity = Identity { test_header: settings.test_header, tokens: Arc::new(tokens) };
        let identity = Arc::new(identity);
        let identified = Arc::clone(&identity);
        let probe =
            move || probed.probe().map_err(|e| e.to_string()).and_then(|()| identified.tokens.probe());
        let health = Arc::new(Health::new(probe));
        let rewards: Arc<dyn RewardClient> = match settings.rewards.clone() {
            Some(rewards) => Arc::new(HttpRewards::new(rewards, &settings.namespace, &metrics)),
            None => Arc::new(Ledger::new(Arc::clone(&store))),
        };
        let policy = settings.claims.clone();
        let claims = Arc::new(Claims::new(Arc::clone(&catalog), Arc::clone(&store), rewards, policy));
        if role.serves_players() {
            resume(&claims, settings).await?;
        }
        Ok(Self {
            catalog,
            store,
            claims,
            identity,
            health,
            backlog: Backlog::watch(settings.wait_target, &metrics),
            metrics,
        })
    }

    /// The players' API, over HTTP and over gRPC: the same operations behind the same limit.
    async fn players(&self, settings: &Settings, limit: &Limit) -> PlayerApis<impl Respond + use<>> {
        let (catalog, store) = (Arc::clone(&self.catalog), Arc::clone(&self.store));
        let operations = Arc::new(Operations::new(
            catalog,
            store,
            Arc::clone(&self.claims),
            Seeds::new(settings.selection_seed),
        ));
        self.metrics.watch("in_flight", "Players' requests in flight, over HTTP and gRPC", limit);
        self.metrics.watch("claims_in_flight", "Players' claims carried out", self.claims.slots());
        let (users, identity) = (CallerLimit::new(settings.user_in_flight), Arc::clone(&self.identity));
        let admission = Admission { limit: limit.clone(), users, identity };
        let api = Api::new(&settings.base_path, Arc::clone(&operations), Arc::clone(&self.health));
        let http = http::router(&settings.base_path, Arc::new(api), &admission, &self.metrics);
        let players = Players::new(operations, Arc::clone(&self.health));
        let (grpc, grpc_health) = grpc::port(players, &admission, &self.metrics).await;
        PlayerApis { http, grpc, grpc_health }
    }

    fn gate(&self, limit: &Limit, words: GatePolicy) -> Gate {
        Gate::new(&self.backlog, limit, words, &self.metrics)
    }

    fn intake(&self, settings: &Settings, buffer: Limit) -> Intake {
        self.metrics.watch("event_buffer_depth", "Events in the buffer that are not written yet", &buffer);
        Intake {
            catalog: Arc::clone(&self.catalog),
            store: Arc::clone(&self.store),
            namespace: settings.namespace.clone(),
            acknowledge: settings.acknowledge,
            buffer,
            unnamed: UnnamedKeys::default(),
        }
    }
}

/// Starts everything. The process is ready once callers can be authenticated: [`Running::ready`].
///
/// # Errors
/// When the challenge file, the database or a port cannot be used.
pub async fn start(settings: &Settings, role: Role) -> Result<Running, StartError> {
    let listeners = Listeners::bind(&settings.ports, role).await?;
    let addresses = listeners.addresses();
    let core = Core::open(settings, role).await?;
    let bounds = Bounds { connections: settings.connections, ..Bounds::default() };
    let grpc_metrics = GrpcMetrics::register(&core.metrics);
    let mut grpc_health = Vec::new();
    let mut players_and_publishers = Servers::default();
    if let Some(PlayerListeners { http, grpc }) = listeners.players {
        let limit = Limit::new(settings.http_in_flight);
        let apis = core.players(settings, &limit).await;
        let port = Port::new(apis.http, Some(core.gate(&limit, gates::HTTP)), bounds);
        players_and_publishers.serve(http, Protocol::Http1, port);
        let counted = grpc_metrics.count(apis.grpc, &[proto::PLAYERS, kit::grpc::HEALTH]);
        let port = Port::new(counted, Some(core.gate(&limit, gates::GRPC)), bounds);
        players_and_publishers.serve(grpc, Protocol::Http2, port);
        grpc_health.push(apis.grpc_health);
    }
    if let Some(events) = listeners.events {
        let buffer = Limit::new(event_buffer_slots(settings));
        let gate = core.gate(&buffer, gates::EVENTS);
        let intake = Arc::new(core.intake(settings, buffer));
        let (rpcs, health) = events::grpc::port(intake, Arc::clone(&core.identity), &core.metrics).await;
        let counted = grpc_metrics.count(rpcs, &[proto::EVENTS, kit::grpc::HEALTH]);
        players_and_publishers.serve(events, Protocol::Http2, Port::new(counted, Some(gate), bounds));
        grpc_health.push(health);
    }
    if role.serves_players() {
        let draining = players_and_publishers.draining();
        players_and_publishers.spawn(Arc::clone(&core.claims).run_maintenance(draining));
    }
    let profiles = kit::profiling::routes(Arc::clone(&core.identity.tokens));
    let admin_routes = kit::admin::router(Arc::clone(&core.health), core.metrics).merge(profiles);
    let admin = Servers::of_operators(listeners.admin, admin_routes, bounds);
    core.health.set_ready();
    Ok(Running {
        addresses,
        store: core.store,
        identity: core.identity,
        health: core.health,
        grpc_health,
        players_and_publishers,
        admin,
        drain_timeout: settings.drain,
    })
}

/// Ends the claims that an earlier process left open. Only one process has the embedded database open; in PostgreSQL
/// another replica may carry out a claim now, so only claims are resumed that are due.
async fn resume(claims: &Arc<Claims>, settings: &Settings) -> Result<(), StoreError> {
    let open = match settings.store {
        StoreOptions::Sqlite(_) => OpenClaims::All,
        StoreOptions::Postgres(_) => claims.due(UtcMs::now()),
    };
    match tokio::time::timeout(RESUME_AT_START, claims.resume(open)).await {
        Ok(resumed) => resumed.map(drop),
        Err(_elapsed) => {
            tracing::warn!(
                "not all claims left open by an earlier process were resumed in time; they are resumed later"
            );
            Ok(())
        }
    }
}

impl Service for Running {
    fn addresses(&self) -> impl std::fmt::Display {
        self.addresses
    }

    /// Returns once callers can be authenticated; until then players receive 503, and readiness reports the reason.
    async fn ready(&self) {
        self.identity.tokens.ready().await;
    }

    /// Stops accepting, finishes requests within the drain's time limit, writes buffered events, and closes the store.
    /// The admin port answers until the end.
    async fn stop(self) {
        self.health.set_draining();
        for port in &self.grpc_health {
            port.stop_serving().await;
        }
        self.players_and_publishers.finish(self.drain_timeout).await;
        self.store.close().await;
        self.admin.finish(Duration::from_secs(1)).await;
    }
}

/// How many events may be buffered that are not written yet.
fn event_buffer_slots(settings: &Settings) -> usize {
    #[cfg(feature = "faults")]
    if let Some(slots) = kit::faults::amount(crate::faults::BOUNDLESS) {
        return usize::try_from(slots).unwrap_or(usize::MAX);
    }
    settings.event_buffer
}
