//! One process: queue, journal, workers, ports, readiness, and its end.

use crate::accept::{Acceptor, Durability};
use crate::device::Devices;
use crate::http::routes::TELEMETRY;
use crate::http::{self, Api, BodyBounds};
use crate::journal::{Journal, JournalError, Left};
use crate::meters::Meters;
use crate::meters::collector::Reader;
use crate::pool::{Work, Workers};
use crate::queue::{Queue, Shedding};
use crate::settings::{DurabilityOptions, Settings};
use crate::sink::{Sink, SinkOpenError};
use crate::task::Ids;
use axum::Router;
use kit::backlog::Backlog;
use kit::drain::{Drain, Draining};
use kit::health::Health;
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::serve::{BindError, Bounds, Gate, GatePolicy, Listener, Port, Protocol, listen};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Why a process could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is taken or an address is not ours.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The sink can never be used.
    #[error(transparent)]
    Sink(#[from] SinkOpenError),
}

/// Where a running process listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Devices' HTTP.
    pub http: SocketAddr,
    /// Operators' HTTP.
    pub admin: SocketAddr,
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http={} admin={}", self.http, self.admin)
    }
}

/// A process that serves.
pub struct Running {
    /// Where it listens.
    pub addresses: Addresses,
    health: Arc<Health>,
    api: Arc<Api>,
    workers: Workers,
    devices: (JoinSet<()>, Drain),
    admin: (JoinSet<()>, Drain),
    drain_within: Duration,
}

const GATE_POLICY: GatePolicy = GatePolicy {
    metric: "refused_early",
    // Whoever asks after the gateway, or a device, must learn it.
    is_exempt: |path| path != TELEMETRY,
    refusal: http::overloaded,
};

/// Starts everything, with what an earlier process left in the journal waiting before all else.
///
/// # Errors
/// When the journal, the sink or a port cannot be used.
pub async fn start(settings: &Settings) -> Result<Running, StartError> {
    let admin = listen("admin (ADMIN_PORT)", settings.ports.admin).await?;
    let devices = listen("HTTP (HTTP_PORT)", settings.ports.http).await?;
    let addresses = Addresses { http: devices.address, admin: admin.address };
    let metrics = Metrics::new("gateway");
    let places = Limit::new(queue_size(settings));
    let (api, work) = core(settings, &places, &metrics)?;
    let backlog = Backlog::watch(settings.wait_target);
    let gate = Gate::new(&backlog, &places, GATE_POLICY, &metrics).admitting_when_full(gate_exception(&api));
    let health = Arc::new(Health::new(|| Ok(())));
    let (connections, header) = settings.connections;
    let bounds = Bounds { connections, header, ..Bounds::default() };
    let routes = http::router(Arc::clone(&api));
    let admin_routes = kit::admin::router(Arc::clone(&health), metrics);
    let running = Running {
        addresses,
        api,
        workers: work.start(settings.workers),
        devices: serve(devices, (routes, Some(gate)), bounds),
        // Operators are answered whatever the load.
        admin: serve(admin, (admin_routes, None), bounds),
        health,
        drain_within: settings.drain,
    };
    running.health.set_ready();
    Ok(running)
}

/// Requests that say beforehand that they carry what matters more than something that waits.
fn gate_exception(api: &Arc<Api>) -> impl Fn(&axum::http::HeaderMap) -> bool + Send + Sync + 'static {
    let api = Arc::clone(api);
    move |headers| api.acceptor.has_room_for(http::announced(headers))
}

fn core(settings: &Settings, places: &Limit, metrics: &Metrics) -> Result<(Arc<Api>, Arc<Work>), StartError> {
    let shedding = match settings.durability {
        DurabilityOptions::Memory => Shedding::Allowed,
        DurabilityOptions::Disk(_) | DurabilityOptions::HandedOn(_) => Shedding::Never,
    };
    let queue = Arc::new(Queue::new(places.clone(), shedding));
    let durability = match &settings.durability {
        DurabilityOptions::Memory => Durability::Memory,
        DurabilityOptions::Disk(options) => {
            let (journal, left) = Journal::open(options, &queue)?;
            resume(left, &queue);
            Durability::Disk(journal)
        }
        DurabilityOptions::HandedOn(within) => Durability::HandedOn(*within),
    };
    let meters = Meters::new(Arc::clone(&queue), settings.workers);
    let (most, default_device, fault_after) = settings.devices.clone();
    let devices = Arc::new(Devices::new(most, fault_after));
    let (body_bytes, all_bytes, within) = settings.bodies;
    let api = Arc::new(Api {
        acceptor: Acceptor {
            limits: settings.limits,
            devices: Arc::clone(&devices),
            queue: Arc::clone(&queue),
            durability,
            meters: Arc::clone(&meters),
            ids: Ids::default(),
        },
        devices,
        default_device,
        meters: Arc::clone(&meters),
        metrics: metrics.clone(),
        bodies: BodyBounds::new(body_bytes, all_bytes, within),
    });
    let work = Work::new(queue, Sink::open(&settings.sink)?, meters);
    let reader = Reader { api: Arc::clone(&api), work: Arc::clone(&work) };
    metrics.register(|registry| {
        let help = "Time from acceptance until a sample is handed on";
        registry.register("queue_wait_seconds", help, api.meters.waits.clone());
        registry.register_collector(Box::new(reader));
    });
    Ok((api, work))
}

fn resume(left: Left, queue: &Queue) {
    let Left { entries, torn_bytes } = left;
    if !entries.is_empty() || torn_bytes > 0 {
        tracing::info!(
            samples = entries.len(),
            torn_bytes,
            "an earlier process left samples; they are handed on"
        );
    }
    queue.push(entries);
}

/// How many samples may be accepted that are not handed on yet.
fn queue_size(settings: &Settings) -> usize {
    #[cfg(feature = "faults")]
    if let Some(places) = kit::faults::amount(crate::faults::BOUNDLESS) {
        return usize::try_from(places).unwrap_or(usize::MAX);
    }
    settings.queue_size
}

fn serve(listener: Listener, (routes, gate): (Router, Option<Gate>), bounds: Bounds) -> (JoinSet<()>, Drain) {
    let (drain, draining): (Drain, Draining) = Drain::new();
    let mut servers = JoinSet::new();
    servers.spawn(kit::serve::serve(listener, Protocol::Http1, Port { routes, gate, bounds }, draining));
    (servers, drain)
}

impl Running {
    /// Stops taking in, finishes what was begun and hands on what waits, each within the drain's bound. What the sink
    /// does not take stays in the journal, when there is one. The admin port answers until the end.
    pub async fn stop(self) {
        self.health.set_draining();
        let (mut servers, drain) = self.devices;
        finish(&mut servers, &drain, self.drain_within).await;
        let waiting = self.workers.finish(self.drain_within).await;
        if waiting > 0 {
            match self.api.acceptor.durability {
                Durability::Disk(_) => tracing::info!(waiting, "samples wait on disk for the next start"),
                _ => tracing::warn!(waiting, "samples could not be handed on; they are lost"),
            }
        }
        let (mut servers, drain) = self.admin;
        finish(&mut servers, &drain, Duration::from_secs(1)).await;
    }
}

async fn finish(servers: &mut JoinSet<()>, drain: &Drain, within: Duration) {
    drain.begin();
    let all = async { while servers.join_next().await.is_some() {} };
    if tokio::time::timeout(within, all).await.is_err() {
        tracing::warn!(?within, "connections that did not finish in time are cut");
        drain.cut();
    }
}
