//! `/proc/stat`, `/proc/meminfo`, `/proc/cpuinfo` and files of pressure: the machine as a whole.

/// CPU time of the whole machine since it started, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Working: user, nice, system, interrupts.
    pub(crate) busy: u64,
    /// Ready to work while the hypervisor gave the core to another machine.
    pub(crate) steal: u64,
    /// All of it, idle and waiting time too.
    pub(crate) total: u64,
}

/// The first line of `/proc/stat`. Time of guests is part of `user` and `nice` already.
pub(crate) fn parse_cpu_ticks(text: &str) -> Option<CpuTicks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let sum = |of: &[u64]| of.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = *fields.first_chunk::<8>()?;
    Some(CpuTicks { busy: sum(&[user, nice, system, irq, softirq]), steal, total: sum(&fields[..8]) })
}

/// How long some task had to wait since the machine started, in µs: `total` of the line `some` of a file of pressure.
pub(crate) fn parse_pressure_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// Memory that a new process can have without swapping, in bytes: `MemAvailable` of `/proc/meminfo`.
pub(crate) fn parse_available_bytes(text: &str) -> Option<u64> {
    let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The mean frequency of all cores, in Hz: `cpu MHz` of `/proc/cpuinfo`, which not every processor has.
pub(crate) fn parse_frequency_hz(text: &str) -> Option<f64> {
    let values = text.lines().filter(|line| line.starts_with("cpu MHz"));
    let values = values.filter_map(|line| line.split_once(':')?.1.trim().parse::<f64>().ok());
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), mhz| (sum + mhz, count + 1));
    (count > 0 && sum.is_finite()).then(|| sum / f64::from(count) * 1e6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn busy_steal_and_total_time_are_read() {
        let text = "cpu  100 20 30 4000 500 6 7 80 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(parse_cpu_ticks(text), Some(CpuTicks { busy: 163, steal: 80, total: 4743 }));
        assert_eq!(parse_cpu_ticks("cpu  1 2 3\n"), None);
    }

    #[test]
    fn pressure_is_that_of_some() {
        let text = "some avg10=87.77 avg60=41.64 avg300=60.47 total=20218914077\nfull avg10=0.00 total=7\n";
        assert_eq!(parse_pressure_us(text), Some(20_218_914_077));
        assert_eq!(parse_pressure_us("full total=1\n"), None);
    }

    #[test]
    fn memory_and_frequency_are_in_bytes_and_hertz() {
        assert_eq!(parse_available_bytes("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(
            parse_frequency_hz("cpu MHz\t\t: 2000.500\nx\ncpu MHz\t\t: 3000.500\n"),
            Some(2_500_500_000.0)
        );
        assert_eq!(parse_frequency_hz("Processor: aarch64\n"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}", numbers in proptest::collection::vec(any::<u64>(), 0..12)) {
            let fields: Vec<String> = numbers.iter().map(u64::to_string).collect();
            if let Some(ticks) = parse_cpu_ticks(&format!("cpu {}", fields.join(" "))) {
                prop_assert!(ticks.busy <= ticks.total && ticks.steal <= ticks.total);
            }
            for text in [text.clone(), format!("some {text}total={}", fields.join(""))] {
                let _ = (parse_cpu_ticks(&text), parse_pressure_us(&text), parse_available_bytes(&text));
                let _ = parse_frequency_hz(&format!("cpu MHz{text}"));
            }
        }
    }
}
