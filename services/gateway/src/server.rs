//! One process: queue, journal, workers, ports, readiness, and shutdown.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kit::auth::Identity;
use kit::backlog::Backlog;
use kit::caller_limit::CallerLimit;
use kit::health::Health;
use kit::limit::Limit;
use kit::metrics::Metrics;
use kit::process::Service;
use kit::serve::{BindError, Bounds, Gate, GatePolicy, Port, Protocol, listen};
use kit::servers::Servers;

use crate::accept::{Acceptor, Durability};
use crate::collector::GatewayCollector;
use crate::device::Devices;
use crate::http::routes::TELEMETRY;
use crate::http::{self, Api, BodyBounds};
use crate::journal::{Journal, JournalError, RecoveredTasks};
use crate::meters::Meters;
use crate::pool::{WorkerContext, WorkerPool};
use crate::queue::{Queue, Shedding};
use crate::settings::{ConnectionOptions, DurabilityOptions, Settings};
use crate::sink::{Sink, SinkOpenError};
use crate::task::TaskIds;

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

/// The addresses of a running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The port for devices.
    pub http: SocketAddr,
    /// The port for operators.
    pub admin: SocketAddr,
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http={} admin={}", self.http, self.admin)
    }
}

/// A serving process.
pub struct Running {
    pub addresses: Addresses,
    health: Arc<Health>,
    api: Arc<Api>,
    workers: WorkerPool,
    devices: Servers,
    admin: Servers,
    drain_within: Duration,
}

const GATE_POLICY: GatePolicy = GatePolicy {
    metric: "refused_early",
    // Health and the states of devices must be readable under any load.
    is_exempt: |path| path != TELEMETRY,
    refusal: http::overloaded,
};

/// Starts a process. Tasks that an earlier process left in the journal are queued first.
///
/// # Errors
/// When the journal, the sink or a port cannot be used.
pub async fn start(settings: &Settings) -> Result<Running, StartError> {
    settings.losses().for_each(|loss| tracing::warn!("{loss}"));
    let admin = listen("admin (ADMIN_PORT)", settings.ports.admin).await?;
    let devices = listen("HTTP (HTTP_PORT)", settings.ports.http).await?;
    let addresses = Addresses { http: devices.address, admin: admin.address };
    let metrics = Metrics::new("gateway");
    let slots = Limit::new(queue_size(settings));
    let (api, work) = core(settings, &slots, &metrics)?;
    let backlog = Backlog::watch(settings.wait_target, &metrics);
    let gate = Gate::new(&backlog, &slots, GATE_POLICY, &metrics).admitting_when_full(gate_exception(&api));
    let probed = Arc::clone(&api);
    let health = Arc::new(Health::new(move || probed.identity.probe()));
    let ConnectionOptions { max_connections, head_timeout } = settings.connections;
    let bounds = Bounds { connections: max_connections, header: head_timeout, ..Bounds::default() };
    let routes = http::routes(Arc::clone(&api));
    let profiles = kit::profiling::routes(Arc::clone(&api.identity));
    let admin_routes = kit::admin::router(Arc::clone(&health), metrics).merge(profiles);
    let mut for_devices = Servers::default();
    for_devices.serve(devices, Protocol::Http1, Port::new(routes, Some(gate), bounds));
    let running = Running {
        addresses,
        api,
        workers: work.start(settings.workers),
        devices: for_devices,
        admin: Servers::of_operators(admin, admin_routes, bounds),
        health,
        drain_within: settings.drain,
    };
    running.health.set_ready();
    Ok(running)
}

/// Admits requests whose header announces a priority that there is still space for.
fn gate_exception(api: &Arc<Api>) -> impl Fn(&axum::http::HeaderMap) -> bool + Send + Sync + 'static {
    let api = Arc::clone(api);
    move |headers| api.acceptor.has_space_for(http::announced_priority(headers))
}

fn core(
    settings: &Settings,
    slots: &Limit,
    metrics: &Metrics,
) -> Result<(Arc<Api>, Arc<WorkerContext>), StartError> {
    let shedding = match settings.durability {
        DurabilityOptions::Memory => Shedding::Allowed,
        DurabilityOptions::Disk(_) | DurabilityOptions::HandedOn(_) => Shedding::Never,
    };
    let queue = Arc::new(Queue::new(slots.clone(), shedding));
    let durability = match &settings.durability {
        DurabilityOptions::Memory => Durability::Memory,
        DurabilityOptions::Disk(options) => {
            let (journal, recovered) = Journal::open(options, &queue, metrics)?;
            resume(recovered, &queue);
            Durability::Disk(journal)
        }
        DurabilityOptions::HandedOn(within) => Durability::HandedOn(*within),
    };
    let meters = Meters::new(Arc::clone(&queue), settings.workers);
    let devices = Arc::new(Devices::new(settings.devices.max_devices, settings.devices.fault_after));
    let identity = Arc::new(Identity::start(settings.tokens.clone(), settings.roles.clone(), metrics));
    let api = Arc::new(Api {
        acceptor: Acceptor {
            limits: settings.limits,
            devices: Arc::clone(&devices),
            queue: Arc::clone(&queue),
            durability,
            meters: Arc::clone(&meters),
            ids: TaskIds::default(),
        },
        identity,
        devices,
        default_device: settings.devices.default_device.clone(),
        meters: Arc::clone(&meters),
        metrics: metrics.clone(),
        bodies: BodyBounds::new(settings.bodies),
        device_limit: CallerLimit::new(settings.device_in_flight),
        accepted_status: settings.accepted_status,
    });
    let work = WorkerContext::new(queue, Sink::open(&settings.sink)?, meters);
    let collector = GatewayCollector { api: Arc::downgrade(&api), work: Arc::clone(&work) };
    metrics.register(|registry| {
        let help = "Time from acceptance until a sample is handed on";
        registry.register("queue_wait_seconds", help, api.meters.waits.clone());
        registry.register_collector(Box::new(collector));
    });
    Ok((api, work))
}

fn resume(recovered: RecoveredTasks, queue: &Queue) {
    let RecoveredTasks { entries, torn_bytes } = recovered;
    if !entries.is_empty() || torn_bytes > 0 {
        tracing::info!(
            samples = entries.len(),
            torn_bytes,
            "samples of an earlier process were recovered; they are handed on"
        );
    }
    queue.push(entries);
}

/// The capacity of the queue: how many samples may be accepted that are not handed on yet.
fn queue_size(settings: &Settings) -> usize {
    #[cfg(feature = "faults")]
    if let Some(size) = kit::faults::amount(crate::faults::BOUNDLESS) {
        return usize::try_from(size).unwrap_or(usize::MAX);
    }
    settings.queue_size
}

impl Service for Running {
    fn addresses(&self) -> impl fmt::Display {
        self.addresses
    }

    /// Returns once callers can be identified; until then they receive 503.
    async fn ready(&self) {
        self.api.identity.ready().await;
    }

    /// Accepts nothing more, finishes the requests in progress and hands the queued tasks on, each within the drain's
    /// bound. Tasks that the sink does not take stay in the journal, when there is one, and no others do. The admin port
    /// responds until the end.
    async fn stop(self) {
        self.health.set_draining();
        self.devices.finish(self.drain_within).await;
        let waiting = self.workers.finish(self.drain_within).await;
        let durability = &self.api.acceptor.durability;
        if let Durability::Disk(journal) = durability {
            // Not before the workers end: another process could open its folder then, and hand on the same samples.
            journal.close(self.drain_within).await;
        }
        if waiting > 0 {
            match durability {
                Durability::Disk(_) => tracing::info!(waiting, "samples stay on disk for the next start"),
                _ => tracing::warn!(waiting, "samples could not be handed on; they are lost"),
            }
        }
        self.admin.finish(Duration::from_secs(1)).await;
    }
}
