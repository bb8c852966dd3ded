//! `/proc/net/sockstat` and `/proc/sys/net/ipv4/ip_local_port_range`: how many local ports are in use.

/// The share of the local ports for connections that sockets of TCP have, those in TIME_WAIT included: an upper bound, since sockets that
/// listen, and both ends of a connection within the machine, are counted too.
pub(crate) fn local_ports_in_use(sockstat: &str, range: &str) -> Option<f64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let count = |name: &str| -> Option<u32> {
        let mut words = line.split_ascii_whitespace().skip_while(|word| *word != name);
        words.nth(1)?.parse().ok()
    };
    let mut ends = range.split_ascii_whitespace().map(|end| end.parse::<u16>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    let ports = u32::from(last.checked_sub(first)?) + 1;
    let sockets = count("inuse")?.saturating_add(count("tw")?);
    Some((f64::from(sockets) / f64::from(ports)).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOCKSTAT: &str =
        "sockets: used 47\nTCP: inuse 38 orphan 0 tw 3962 alloc 40 mem 3\nUDP: inuse 7 mem 0\n";

    #[test]
    fn sockets_in_use_and_in_time_wait_have_ports() {
        assert_eq!(local_ports_in_use(SOCKSTAT, "40000\t47999\n"), Some(0.5));
        assert_eq!(local_ports_in_use(SOCKSTAT, "40000 41999"), Some(1.0), "both ends are counted");
        assert_eq!(local_ports_in_use("UDP: inuse 7\n", "40000 47999"), None);
        assert_eq!(local_ports_in_use(SOCKSTAT, "47999 40000"), None);
    }

    proptest! {
        #[test]
        fn never_panics(sockstat in "TCP: [a-z0-9 -]{0,40}", range in "[0-9 \t-]{0,12}") {
            let _ = local_ports_in_use(&sockstat, &range);
        }
    }
}
