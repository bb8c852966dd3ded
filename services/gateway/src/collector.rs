//! The gateway's own metrics for Prometheus, read at each scrape.

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::accept::{Acceptor, Durability};
use crate::breaker::BreakerState;
use crate::http::Api;
use crate::meters::{MeterTotals, Meters, QUANTILES};
use crate::pool::WorkerContext;
use crate::sample::Priority;

/// Reads all counters.
#[derive(Clone)]
pub struct GatewayCollector {
    /// Accepts samples. It has the registry of metrics that this is part of, so it must not be kept alive from here.
    pub api: Weak<Api>,
    /// Hands tasks on.
    pub work: Arc<WorkerContext>,
}

impl fmt::Debug for GatewayCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayCollector").finish_non_exhaustive()
    }
}

impl Collector for GatewayCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(api) = self.api.upgrade() else { return Ok(()) };
        let meters: &Meters = &api.meters;
        let acceptor: &Acceptor = &api.acceptor;
        let MeterTotals { handed_on, sink_failures, invalid, no_space } = meters.totals();
        let (breaker, opened) = self.work.breaker();
        for (name, help, count) in [
            ("samples_handed_on", "Samples handed on", handed_on),
            ("sink_failures", "Batches that the sink did not take", sink_failures),
            ("sink_breaker_opened", "Times that the circuit breaker of the sink opened", opened),
            ("samples_invalid", "Samples refused as invalid", invalid),
            ("samples_without_room", "Valid samples refused for lack of space", no_space),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        for (name, help, number) in [
            ("queue_depth", "Samples that wait for a worker", acceptor.queue.depth() as u64),
            ("workers_busy", "Workers that are busy", meters.workers_busy() as u64),
            ("devices", "Devices that are known", api.devices.count() as u64),
            (
                "sink_breaker_open",
                "Whether the circuit breaker of the sink is open",
                u64::from(breaker == BreakerState::Open),
            ),
            ("journal_bytes", "Bytes in the journal", journal_bytes(acceptor)),
        ] {
            let gauge = ConstGauge::new(i64::try_from(number).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        by_priority(&mut encoder, &api)?;
        latency_quantiles(&mut encoder, meters)
    }
}

fn journal_bytes(acceptor: &Acceptor) -> u64 {
    match &acceptor.durability {
        Durability::Disk(journal) => journal.bytes(),
        Durability::Memory | Durability::HandedOn(_) => 0,
    }
}

fn by_priority(encoder: &mut DescriptorEncoder<'_>, api: &Api) -> fmt::Result {
    let accepted = |priority| api.meters.accepted_of(priority);
    let shed = |priority| api.acceptor.queue.shed(priority);
    let families: [(_, _, &dyn Fn(Priority) -> u64); 2] = [
        ("samples_accepted", "Samples accepted, by priority", &accepted),
        ("samples_shed", "Accepted samples dropped for higher priorities, by priority", &shed),
    ];
    for (name, help, count) in families {
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for priority in Priority::ALL {
            let counter = ConstCounter::new(count(priority));
            counter.encode(family.encode_family(&[("priority", priority.word())])?)?;
        }
    }
    Ok(())
}

fn latency_quantiles(encoder: &mut DescriptorEncoder<'_>, meters: &Meters) -> fmt::Result {
    let Some(times) = meters.latency_quantiles() else { return Ok(()) };
    let kind = ConstGauge::new(0.0).metric_type();
    let help = "Time to answer accepted requests, over the last minute or two";
    let mut family = encoder.encode_descriptor("latency", help, Some(&Unit::Seconds), kind)?;
    for (quantile, time) in QUANTILES.into_iter().zip(times) {
        let gauge = ConstGauge::new(time.as_secs_f64());
        gauge.encode(family.encode_family(&[("quantile", quantile.to_string())])?)?;
    }
    Ok(())
}
