//! The metrics registry; rate, errors and duration of every endpoint have the same names in every service.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::limit::Limit;
use crate::process_metrics::ProcessMetrics;

/// The content type of [`Metrics::encode`].
pub const OPEN_METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds in seconds: 0.25 ms to 8 s, each twice the one before.
const DURATION_BOUNDS_S: [f64; 16] = [
    0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048,
    4.096, 8.192,
];

/// A histogram of seconds with the bounds that all services share.
#[must_use]
pub fn seconds_histogram() -> Histogram {
    Histogram::new(DURATION_BOUNDS_S)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndpointLabel {
    endpoint: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    endpoint: &'static str,
    outcome: &'static str,
}

/// A service's metrics. Clones share the registry.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    /// Metrics whose names are the same for every program.
    customary: Arc<Mutex<Registry>>,
    calls: Family<CallLabels, Counter>,
    durations: Family<EndpointLabel, Histogram, fn() -> Histogram>,
}

impl Metrics {
    /// Metrics whose names begin with `prefix`, besides those of the process, which begin with `process_`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        let mut registry = Registry::with_prefix(prefix);
        let calls = Family::default();
        let durations = Family::new_with_constructor(seconds_histogram as fn() -> Histogram);
        registry.register("requests", "Requests answered, by endpoint and outcome", calls.clone());
        registry.register(
            "request_seconds",
            "Time from a request's head to its response's head",
            durations.clone(),
        );
        let mut customary = Registry::default();
        customary.register_collector(Box::new(ProcessMetrics));
        let [registry, customary] = [registry, customary].map(|registry| Arc::new(Mutex::new(registry)));
        Self { registry, customary, calls, durations }
    }

    /// Adds metrics of the service's own.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Adds metrics whose names are prescribed by custom, without the service's prefix.
    pub fn register_customary(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.customary.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Adds a gauge of a limit's taken slots, read at each scrape.
    pub fn watch(&self, name: &'static str, help: &'static str, limit: &Limit) {
        let gauge = LimitGauge { name, help, limit: limit.clone() };
        self.register(|registry| registry.register_collector(Box::new(gauge)));
    }

    /// Rate, errors and duration of one endpoint.
    #[must_use]
    pub fn endpoint(&self, endpoint: &'static str) -> Endpoint {
        let duration = self.durations.get_or_create_owned(&EndpointLabel { endpoint });
        Endpoint { name: endpoint, calls: self.calls.clone(), duration }
    }

    /// The registry as OpenMetrics text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = String::new();
        let encoded = [&self.registry, &self.customary].into_iter().try_for_each(|registry| {
            text::encode_registry(&mut out, &registry.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match encoded.and_then(|()| text::encode_eof(&mut out)) {
            Ok(()) => out,
            Err(error) => format!("# metrics could not be written: {error}\n"),
        }
    }
}

#[derive(Debug)]
struct LimitGauge {
    name: &'static str,
    help: &'static str,
    limit: Limit,
}

impl Collector for LimitGauge {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let taken = i64::try_from(self.limit.taken()).unwrap_or(i64::MAX);
        let gauge = ConstGauge::new(taken);
        let metric = encoder.encode_descriptor(self.name, self.help, None, gauge.metric_type())?;
        gauge.encode(metric)
    }
}

/// The counters of one endpoint, looked up once.
#[derive(Clone)]
pub struct Endpoint {
    name: &'static str,
    calls: Family<CallLabels, Counter>,
    duration: Histogram,
}

impl Endpoint {
    /// Counts one response to a request that began at `started`.
    pub fn answered(&self, outcome: &'static str, started: Instant) {
        self.calls.get_or_create(&CallLabels { endpoint: self.name, outcome }).inc();
        self.duration.observe(started.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_gauges_are_encoded() {
        let metrics = Metrics::new("demo");
        metrics.endpoint("list").answered("ok", Instant::now());
        let limit = Limit::new(3);
        metrics.watch("depth", "Taken", &limit);
        let _slot = limit.enter();
        let text = metrics.encode();
        assert!(text.contains("demo_depth 1"), "{text}");
        assert!(text.contains("demo_requests_total{endpoint=\"list\",outcome=\"ok\"} 1"), "{text}");
        assert!(text.contains("demo_request_seconds_count{endpoint=\"list\"} 1"), "{text}");
        assert!(text.contains("\nprocess_open_fds ") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn the_process_is_described() {
        let text = Metrics::new("demo").encode();
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("{name} is not in {text}"))
                .split(' ')
                .nth(1)
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        assert!(value("process_cpu_seconds_total") >= 0.0);
        let resident = value("process_resident_memory_bytes");
        assert!(resident > 1e5 && resident < value("process_virtual_memory_bytes"));
        assert!(value("process_threads") >= 1.0);
        assert!(value("process_open_fds") >= 3.0 && value("process_open_fds") < value("process_max_fds"));
        let now = crate::clock::UtcMs::now().0 as f64 / 1e3;
        let age = now - value("process_start_time_seconds");
        assert!((-2.0..86_400.0).contains(&age), "{age}");
    }
}
