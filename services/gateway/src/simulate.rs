//! `gateway simulate`: devices that send telemetry to a gateway, some of them with faults, so that there is something to
//! see. It measures nothing: for that there is Plimsoll.

mod device;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use bytes::Bytes;
use kit::client::{Bounds, CallError, CallResponse, Client, ClientError};
use kit::clock::UtcMs;
use kit::drain::Signals;
use kit::process::{self, Failure};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use device::{Fault, SimulatedDevice};

const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(5), body_bytes: 1 << 20 };

#[derive(Debug, Clone)]
pub struct Options {
    /// The gateway, as `http://HOST:PORT`.
    pub url: String,
    /// The number of devices.
    pub devices: u32,
    /// Time between two samples of a device.
    pub interval: Duration,
    /// How many per cent of the devices have a fault.
    pub faulty_percent: u32,
    /// How long it runs; `None` until a signal.
    pub length: Option<Duration>,
    /// Values and faults are a function of it.
    pub seed: u64,
    /// The bearer token of a service or an administrator, where the gateway verifies its callers.
    pub token: Option<PathBuf>,
}

/// Why nothing is simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The address cannot be used.
    #[error("--url {url} cannot be used: {source}")]
    Url { url: String, source: ClientError },
    #[error(
        "no gateway answers at {url}: {source}; start one with `gateway serve`, or name its address with --url"
    )]
    NoGateway { url: String, source: CallError },
    /// The token cannot be read.
    #[error("--token-file {}: {problem}", .path.display())]
    Token { path: PathBuf, problem: String },
    /// The gateway does not let this caller send samples.
    #[error(
        "the gateway refuses these samples ({0}): --token-file must contain the token of a service or an administrator"
    )]
    Denied(StatusCode),
}

/// Simulates devices until a signal, or for as long as asked; prints a line a second.
///
/// # Errors
/// When there is no gateway, or it refuses the caller.
pub async fn run(options: Options) -> Result<(), Failure> {
    let mut signals = Signals::catch()?;
    let gateway = Arc::new(Gateway::new(&options)?);
    gateway.must_answer().await?;
    let tally = Arc::new(Tally::default());
    let mut devices = JoinSet::new();
    for number in 0..options.devices {
        let device = SimulatedDevice::new(number, options.faulty_percent, options.seed);
        let first = options.interval.mul_f64(f64::from(number) / f64::from(options.devices));
        devices.spawn(simulate(device, Arc::clone(&gateway), Arc::clone(&tally), (first, options.interval)));
    }
    process::print(&introduction(&options))?;
    let began = Instant::now();
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.tick().await;
    loop {
        tokio::select! {
            _signal = signals.first() => break,
            _second = seconds.tick() => {}
        }
        if let Some(status) = tally.denied() {
            return Err(SimulateError::Denied(status).into());
        }
        let elapsed = began.elapsed();
        process::print(&format!("{:4} s  {tally}{}\n", elapsed.as_secs(), gateway.state().await))?;
        if options.length.is_some_and(|length| elapsed >= length) {
            break;
        }
    }
    devices.shutdown().await;
    process::print(&format!("ended after {} s: {tally}\n", began.elapsed().as_secs()))
}

fn introduction(options: &Options) -> String {
    let Options { url, devices, interval, faulty_percent, .. } = options;
    let url = url.trim_end_matches('/');
    format!(
        "{devices} devices send to {url}, each every {} ms; {faulty_percent} % of them have a fault in 10 of 30 samples\n\
         look at one: curl '{url}/status?device=sim-001'   stop: Ctrl-C\n",
        interval.as_millis()
    )
}

/// One device, for ever. `times` are until its first sample, and between two.
async fn simulate(
    device: SimulatedDevice,
    gateway: Arc<Gateway>,
    tally: Arc<Tally>,
    times: (Duration, Duration),
) {
    let (first, interval) = times;
    let mut ticks = tokio::time::interval_at(Instant::now() + first, interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for tick in 0.. {
        ticks.tick().await;
        if device.has_recovered(tick) {
            gateway.command(&device.id, "reset").await;
        }
        if tick == 0 || device.has_recovered(tick) {
            gateway.command(&device.id, "start").await;
        }
        let samples = device.samples(tick, UtcMs::now());
        if !samples.is_empty() {
            let count = samples.len() as u64;
            let answered = gateway.send(Value::Array(samples)).await;
            tally.count(count, answered);
        }
    }
}

/// The gateway that devices send to.
struct Gateway {
    url: String,
    headers: HeaderMap,
    telemetry: Client,
    status: Client,
}

impl Gateway {
    fn new(options: &Options) -> Result<Self, SimulateError> {
        let url = options.url.trim_end_matches('/').to_owned();
        let client = |path: &str| {
            Client::to(&format!("{url}{path}"), BOUNDS)
                .map_err(|source| SimulateError::Url { url: url.clone(), source })
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(path) = &options.token {
            let refused = |problem: String| SimulateError::Token { path: path.clone(), problem };
            let token = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
            headers
                .insert(header::AUTHORIZATION, bearer.map_err(|_| refused("it is not a token".to_owned()))?);
        }
        Ok(Self { telemetry: client("/telemetry")?, status: client("/status?device=sim-001")?, url, headers })
    }

    async fn must_answer(&self) -> Result<(), SimulateError> {
        let url = self.url.clone();
        let health = Client::to(&format!("{url}/health"), BOUNDS);
        match health.map_err(|source| SimulateError::Url { url: url.clone(), source })?.get().await {
            Ok(_) => Ok(()),
            Err(source) => Err(SimulateError::NoGateway { url, source }),
        }
    }

    async fn send(&self, samples: Value) -> Result<CallResponse, CallError> {
        self.telemetry.call(Method::POST, self.headers.clone(), Bytes::from(samples.to_string())).await
    }

    /// Where the token does not allow it, the device stays as it is.
    async fn command(&self, device: &str, command: &str) {
        let client = Client::to(&format!("{}/{command}?device={device}", self.url), BOUNDS);
        if let Ok(client) = client {
            let _refused = client.call(Method::POST, self.headers.clone(), Bytes::new()).await;
        }
    }

    /// What the gateway says of itself; empty when it does not answer.
    async fn state(&self) -> String {
        let answer = self.status.call(Method::GET, self.headers.clone(), Bytes::new()).await;
        let body = answer.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
        let Some(metrics) = body.map(|body| body["metrics"].clone()) else { return String::new() };
        let number = |name: &str| metrics[name].as_f64().unwrap_or_default();
        format!(
            "; gateway: {} handed on, {} dropped, {} queued, p99 {:.1} ms",
            number("samples_processed"),
            number("samples_dropped"),
            number("queue_depth"),
            number("latency_p99_ms")
        )
    }
}

/// What became of the samples.
#[derive(Debug, Default)]
struct Tally {
    sent: AtomicU64,
    accepted: AtomicU64,
    invalid: AtomicU64,
    full: AtomicU64,
    lost: AtomicU64,
    /// The status of a refusal for want of a token; 0 for none.
    denied: AtomicU64,
}

impl Tally {
    fn count(&self, samples: u64, answered: Result<CallResponse, CallError>) {
        let add = |count: &AtomicU64, samples| count.fetch_add(samples, Ordering::Relaxed);
        add(&self.sent, samples);
        match answered {
            Ok(response) => {
                let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
                let accepted = body["accepted"].as_u64().unwrap_or_default().min(samples);
                add(&self.accepted, accepted);
                add(&self.invalid, samples - accepted);
            }
            Err(CallError::Status(response)) => match response.status {
                StatusCode::SERVICE_UNAVAILABLE => drop(add(&self.full, samples)),
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    self.denied.store(response.status.as_u16().into(), Ordering::Relaxed);
                }
                _ => drop(add(&self.invalid, samples)),
            },
            Err(_) => drop(add(&self.lost, samples)),
        }
    }

    fn denied(&self) -> Option<StatusCode> {
        let status = u16::try_from(self.denied.load(Ordering::Relaxed)).unwrap_or_default();
        StatusCode::from_u16(status).ok()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(
            f,
            "{} samples sent: {} accepted, {} invalid, {} refused, {} unanswered",
            read(&self.sent),
            read(&self.accepted),
            read(&self.invalid),
            read(&self.full),
            read(&self.lost)
        )
    }
}
