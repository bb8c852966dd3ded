//! What the kernel says of this process, under the names that Prometheus's own libraries use for it.

use std::fs;
use std::sync::OnceLock;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Read at each scrape. What the kernel does not say is left out.
#[derive(Debug)]
pub(crate) struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut add =
            |name: &str, help: &str, metric: &dyn Encodable| metric.encode(&mut encoder, name, help);
        if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().and_then(|text| Stat::parse(&text)) {
            let ticks = rustix::param::clock_ticks_per_second() as f64;
            let cpu = ConstCounter::new(stat.cpu_ticks as f64 / ticks);
            add("process_cpu_seconds", "User and system CPU time spent in seconds", &cpu)?;
            let resident = stat.resident_pages.saturating_mul(rustix::param::page_size() as u64);
            add(
                "process_resident_memory_bytes",
                "Resident memory size in bytes",
                &ConstGauge::new(resident),
            )?;
            add(
                "process_virtual_memory_bytes",
                "Virtual memory size in bytes",
                &ConstGauge::new(stat.virtual_bytes),
            )?;
            add("process_threads", "Number of OS threads in the process", &ConstGauge::new(stat.threads))?;
            if let Some(booted) = booted_s() {
                let started = ConstGauge::new(booted as f64 + stat.started_ticks as f64 / ticks);
                add("process_start_time_seconds", "Start time since the Unix epoch in seconds", &started)?;
            }
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder's.
            let open = (open.count() as u64).saturating_sub(1);
            add("process_open_fds", "Number of open file descriptors", &ConstGauge::new(open))?;
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        if let Some(most) = limit.current {
            add("process_max_fds", "Maximum number of open file descriptors", &ConstGauge::new(most))?;
        }
        Ok(())
    }
}

/// A metric that is encoded with its description.
trait Encodable {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> std::fmt::Result;
}

impl<M: EncodeMetric> Encodable for M {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> std::fmt::Result {
        let metric = encoder.encode_descriptor(name, help, None, self.metric_type())?;
        EncodeMetric::encode(self, metric)
    }
}

/// Fields of `/proc/self/stat`; see proc_pid_stat(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    started_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    /// The name, in parentheses, may contain anything.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        // The first field here is the third of the manual page.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            started_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine was started, in seconds since the Unix epoch.
fn booted_s() -> Option<u64> {
    static BOOTED: OnceLock<Option<u64>> = OnceLock::new();
    *BOOTED.get_or_init(|| {
        let text = fs::read_to_string("/proc/stat").ok()?;
        text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let text = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20 0 9 0 77 4096 5 18446744073709551615";
        let expected =
            Stat { cpu_ticks: 42, threads: 9, started_ticks: 77, virtual_bytes: 4096, resident_pages: 5 };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a"), None);
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }
}
