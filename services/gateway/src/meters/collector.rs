//! The gateway's own metrics for Prometheus, read at the moment that somebody asks.

use super::{Meters, SHARES};
use crate::accept::{Acceptor, Durability};
use crate::breaker::Stand;
use crate::http::Api;
use crate::pool::Work;
use crate::sample::Priority;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use std::fmt;
use std::sync::Arc;

/// Reads everything that is counted.
#[derive(Clone)]
pub struct Reader {
    /// What takes in.
    pub api: Arc<Api>,
    /// What hands on.
    pub work: Arc<Work>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Collector for Reader {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let meters: &Meters = &self.api.meters;
        let acceptor: &Acceptor = &self.api.acceptor;
        let [handed_on, failures, refused, no_room] = meters.totals();
        let (stand, opened) = self.work.breaker();
        for (name, help, count) in [
            ("samples_handed_on", "Samples handed on", handed_on),
            ("sink_failures", "Times that the sink did not take something", failures),
            ("sink_breaker_opened", "Times that the breaker towards the sink opened", opened),
            ("samples_invalid", "Samples refused because something is wrong with them", refused),
            ("samples_without_room", "Valid samples refused for want of room", no_room),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        for (name, help, number) in [
            ("queue_depth", "Samples that wait for a worker", acceptor.queue.depth() as u64),
            ("workers_busy", "Workers at work", meters.workers_busy() as u64),
            ("devices", "Devices that are known", self.api.devices.count() as u64),
            ("sink_breaker_open", "Whether nobody asks the sink now", u64::from(stand == Stand::Open)),
            ("journal_bytes", "Bytes that the journal holds", journal_bytes(acceptor)),
        ] {
            let gauge = ConstGauge::new(i64::try_from(number).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        by_priority(&mut encoder, self)?;
        answer_times(&mut encoder, meters)
    }
}

fn journal_bytes(acceptor: &Acceptor) -> u64 {
    match &acceptor.durability {
        Durability::Disk(journal) => journal.bytes(),
        Durability::Memory | Durability::HandedOn(_) => 0,
    }
}

fn by_priority(encoder: &mut DescriptorEncoder<'_>, reader: &Reader) -> fmt::Result {
    let accepted = |priority| reader.api.meters.accepted_of(priority);
    let shed = |priority| reader.api.acceptor.queue.shed(priority);
    let families: [(_, _, &dyn Fn(Priority) -> u64); 2] = [
        ("samples_accepted", "Samples accepted, by priority", &accepted),
        ("samples_shed", "Accepted samples dropped for ones that matter more, by priority", &shed),
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

fn answer_times(encoder: &mut DescriptorEncoder<'_>, meters: &Meters) -> fmt::Result {
    let Some(times) = meters.answer_times() else { return Ok(()) };
    let kind = ConstGauge::new(0.0).metric_type();
    let help = "Time to answer accepted requests, over the last minute or two";
    let mut family = encoder.encode_descriptor("latency", help, Some(&Unit::Seconds), kind)?;
    for (share, time) in SHARES.into_iter().zip(times) {
        let gauge = ConstGauge::new(time.as_secs_f64());
        gauge.encode(family.encode_family(&[("quantile", share.to_string())])?)?;
    }
    Ok(())
}
