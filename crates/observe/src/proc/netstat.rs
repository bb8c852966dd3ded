//! `/proc/net/netstat` and `/proc/net/snmp`: counters of TCP, in pairs of lines, names and values.

/// The counter called `name` of the lines that begin with `group`, such as `TcpExt`.
pub(crate) fn parse_counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':').filter(|(of, _)| *of == group));
    let (names, values) = (lines.next()?.1, lines.next()?.1);
    let at = names.split_ascii_whitespace().position(|of| of == name)?;
    values.split_ascii_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 0 17 19
IpExt: InNoRoutes ListenOverflows
IpExt: 4 5
";
    const SNMP: &str = "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 230\n";

    #[test]
    fn a_counter_is_found_by_its_group_and_name() {
        assert_eq!(parse_counter(NETSTAT, "TcpExt", "ListenOverflows"), Some(17));
        assert_eq!(parse_counter(NETSTAT, "IpExt", "ListenOverflows"), Some(5));
        assert_eq!(parse_counter(SNMP, "Tcp", "RetransSegs"), Some(230));
        assert_eq!(parse_counter(SNMP, "Tcp", "MaxConn"), None, "it is negative");
        assert_eq!(parse_counter(SNMP, "Udp", "RetransSegs"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(Tcp: [a-zA-Z0-9 -]{0,30}\\n){0,4}", name in "[a-z]{0,3}") {
            let _ = parse_counter(&text, "Tcp", &name);
        }
    }
}
