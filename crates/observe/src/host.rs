//! Watches the machine that the generator runs on: CPU use, steal, frequency, memory, pressure.

use std::fs;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::base::Base;
use crate::notice::Notices;
use crate::observer::Observer;
use crate::proc::{
    CpuTicks, local_ports_in_use, parse_available_bytes, parse_counter, parse_cpu_ticks, parse_frequency_hz,
    parse_pressure_us,
};
use crate::reading::of_ticks;

/// The name of the machine's series, as of a target.
const HOST: &str = "host";
/// Files below `/proc/pressure`, and the series of each.
const PRESSURES: [(&str, &str); 3] =
    [("cpu", "host_pressure_cpu"), ("memory", "host_pressure_memory"), ("io", "host_pressure_io")];

/// Counters of TCP, of all connections that this process could see: file, group, name, and the series of each.
const CONNECTIONS: [(&str, &str, &str, &str); 2] = [
    ("/proc/net/netstat", "TcpExt", "ListenOverflows", "host_listen_overflows"),
    ("/proc/net/snmp", "Tcp", "RetransSegs", "host_retransmits"),
];

/// Samples the whole machine from `/proc`. A container sees the machine there too, and not itself.
#[derive(Debug)]
pub struct Host {
    base: Option<Base<Counters>>,
    notices: Notices,
}

#[derive(Debug, Clone, Copy)]
struct Counters {
    cpu: Option<CpuTicks>,
    pressures_us: [Option<u64>; 3],
    connections: [Option<u64>; 2],
}

impl Host {
    /// Watches the machine that this process runs on.
    pub fn new() -> Host {
        Host { base: None, notices: Notices::new(HOST) }
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Host {
    fn name(&self) -> &str {
        HOST
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let counters = Counters {
            cpu: text("/proc/stat").and_then(|text| parse_cpu_ticks(&text)),
            pressures_us: PRESSURES
                .map(|(file, _)| parse_pressure_us(&text(&format!("/proc/pressure/{file}"))?)),
            connections: CONNECTIONS.map(|(file, group, name, _)| parse_counter(&text(file)?, group, name)),
        };
        if self.base.is_none() && counters.cpu.is_none() {
            self.notices.add(at, NoticeKind::Unreadable, "/proc/stat cannot be read".to_owned());
        }
        let mut values = levels();
        let base = self.base.get_or_insert_with(|| Base::new(at, counters));
        if let Some(base) = base.of_rate_until(at) {
            values.extend(rates(&base.reading, &counters, at.since(base.at)));
        }
        base.advance(at, counters);
        let sample = |(name, unit, value)| (SeriesKey::new(name, HOST, unit), Sample { at, value });
        values.into_iter().map(sample).collect()
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.take()
    }
}

/// Name, unit and value.
type Value = (&'static str, &'static str, f64);

fn levels() -> Vec<Value> {
    let available = text("/proc/meminfo").and_then(|text| parse_available_bytes(&text));
    let frequency = text("/proc/cpuinfo").and_then(|text| parse_frequency_hz(&text));
    let ports = text("/proc/net/sockstat")
        .zip(text("/proc/sys/net/ipv4/ip_local_port_range"))
        .and_then(|(sockets, range)| local_ports_in_use(&sockets, &range));
    let levels = [
        available.map(|bytes| ("host_memory_available", "bytes", bytes as f64)),
        frequency.map(|hertz| ("host_frequency", "Hz", hertz)),
        ports.map(|share| ("host_local_ports", "1", share)),
    ];
    levels.into_iter().flatten().collect()
}

fn rates(base: &Counters, now: &Counters, interval: Duration) -> Vec<Value> {
    let mut values = Vec::new();
    if interval.is_zero() {
        return values;
    }
    if let (Some(before), Some(after)) = (base.cpu, now.cpu) {
        if let Some(busy) = after.busy.checked_sub(before.busy) {
            values.push(("host_cpu", "cores", of_ticks(busy).div_duration_f64(interval)));
        }
        values.extend(steal(before, after).map(|share| ("host_steal", "1", share)));
    }
    let pressures = PRESSURES.iter().zip(base.pressures_us.iter().zip(now.pressures_us));
    values.extend(pressures.filter_map(|((_, name), (before, after))| {
        let waited = Duration::from_micros(after?.checked_sub((*before)?)?);
        // The files are read a little later than the clock.
        Some((*name, "1", waited.div_duration_f64(interval).min(1.0)))
    }));
    let connections = CONNECTIONS.iter().zip(base.connections.iter().zip(now.connections));
    values.extend(connections.filter_map(|((.., name), (before, after))| {
        Some((*name, "1/s", after?.checked_sub((*before)?)? as f64 / interval.as_secs_f64()))
    }));
    values
}

/// The share of the time that was stolen; none where a counter fell, as when a processor was taken away.
fn steal(before: CpuTicks, after: CpuTicks) -> Option<f64> {
    let total = after.total.checked_sub(before.total).filter(|total| *total > 0)?;
    let stolen = after.steal.checked_sub(before.steal).filter(|stolen| *stolen <= total)?;
    Some(stolen as f64 / total as f64)
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shares_of_the_interval() {
        let hertz = rustix::param::clock_ticks_per_second();
        let counters = |busy, steal, total, cpu_us| Counters {
            cpu: Some(CpuTicks { busy: busy * hertz, steal: steal * hertz, total: total * hertz }),
            pressures_us: [Some(cpu_us), None, Some(5)],
            connections: [Some(cpu_us / 100_000), None],
        };
        let values = rates(
            &counters(100, 10, 1_000, 1_000_000),
            &counters(103, 11, 1_004, 1_500_000),
            Duration::from_secs(2),
        );
        let expect = [
            ("host_cpu", "cores", 1.5),
            ("host_steal", "1", 0.25),
            ("host_pressure_cpu", "1", 0.25),
            ("host_pressure_io", "1", 0.0),
            ("host_listen_overflows", "1/s", 2.5),
        ];
        assert_eq!(values, expect);
        let same = counters(1, 1, 1, 1);
        assert_eq!(rates(&same, &same, Duration::ZERO), []);
    }

    #[test]
    fn counters_that_fell_are_gaps() {
        let counters = |busy, steal, total, waited_us| Counters {
            cpu: Some(CpuTicks { busy, steal, total }),
            pressures_us: [Some(waited_us), None, None],
            connections: [None, Some(busy)],
        };
        let (base, second) = (counters(500, 40, 2_000, 9_000), Duration::from_micros(1_000_142));
        assert_eq!(rates(&base, &counters(400, 30, 1_700, 8_000), second), []);
        let names: Vec<&str> =
            rates(&base, &counters(510, 39, 2_100, 9_000), second).into_iter().map(|value| value.0).collect();
        assert_eq!(
            names,
            ["host_cpu", "host_pressure_cpu", "host_retransmits"],
            "time that was stolen was given back"
        );
        let full = rates(&base, &counters(500, 40, 2_000, 1_100_000), second);
        assert!(full.contains(&("host_pressure_cpu", "1", 1.0)), "{full:?}");
    }
}
