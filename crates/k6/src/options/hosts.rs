//! Hosts: addresses that replace a lookup, addresses and names that may not be called.

use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use super::fields::{FromJson, FromText, mismatch};

/// The address that is used in place of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    pub ip: IpAddr,
    /// The port, where it is another one than that of the URL.
    pub port: Option<u16>,
}

/// A host name, or a wildcard at its beginning and the rest: `example.com`, `*.example.com`. Without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    /// In lower case.
    name: String,
    has_wildcard: bool,
}

/// The addresses of a network: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    /// How many leading bits they have in common.
    prefix: u8,
}

/// The addresses that replace lookups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<(HostPattern, HostAddress)>);

impl HostPattern {
    /// # Errors
    /// A message, if there is a wildcard elsewhere than at the beginning.
    pub fn parse(text: &str) -> Result<HostPattern, String> {
        let (has_wildcard, rest) = match text.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.contains('*') {
            return Err(format!("{text:?} is not a host name; a wildcard is allowed at its beginning only"));
        }
        Ok(HostPattern { name: rest.to_lowercase(), has_wildcard })
    }

    /// Whether a host is one of these.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.to_lowercase();
        if self.has_wildcard { host.ends_with(&self.name) } else { host == self.name }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.has_wildcard { "*" } else { "" }, self.name)
    }
}

impl HostAddress {
    /// # Errors
    /// A message, if the text is not an IP address, with or without a port.
    pub fn parse(text: &str) -> Result<HostAddress, String> {
        let alone = || text.parse().ok().map(|ip| HostAddress { ip, port: None });
        let with_port = || text.parse::<std::net::SocketAddr>().ok();
        let with_port =
            || with_port().map(|address| HostAddress { ip: address.ip(), port: Some(address.port()) });
        alone().or_else(with_port).ok_or_else(|| {
            format!("{text:?} is not an IP address, nor one with a port such as \"10.0.0.1:8080\"")
        })
    }
}

impl IpNetwork {
    /// # Errors
    /// A message, if the text is not a network such as `10.0.0.0/8`.
    pub fn parse(text: &str) -> Result<IpNetwork, String> {
        let read = || {
            let (address, prefix) = text.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            let bits = if address.is_ipv4() { 32 } else { 128 };
            (prefix <= bits).then_some(IpNetwork { address, prefix })
        };
        read().ok_or_else(|| format!("{text:?} is not a network such as \"10.0.0.0/8\""))
    }

    /// The first and the last address of its hosts: of IPv4 without those of the network itself and of all hosts.
    pub(super) fn host_range(&self) -> (IpAddr, IpAddr) {
        let prefix = u32::from(self.prefix);
        match self.address {
            IpAddr::V4(address) => {
                let rest = u32::MAX.checked_shr(prefix).unwrap_or(0);
                let (lowest, highest) = (address.to_bits() & !rest, address.to_bits() | rest);
                let edge = u32::from(rest > 1);
                (IpAddr::V4((lowest + edge).into()), IpAddr::V4((highest - edge).into()))
            }
            IpAddr::V6(address) => {
                let rest = u128::MAX.checked_shr(prefix).unwrap_or(0);
                (
                    IpAddr::V6((address.to_bits() & !rest).into()),
                    IpAddr::V6((address.to_bits() | rest).into()),
                )
            }
        }
    }

    /// Whether an address belongs to the network; an IPv4 address never belongs to one of IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        let common = |differing: u128, bits: u32| {
            differing.checked_shr(bits - u32::from(self.prefix)).is_none_or(|rest| rest == 0)
        };
        match (self.address, address) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => common(u128::from(mine.to_bits() ^ other.to_bits()), 32),
            (IpAddr::V6(mine), IpAddr::V6(other)) => common(mine.to_bits() ^ other.to_bits(), 128),
            _ => false,
        }
    }
}

/// The lowest address and the number of leading bits: `10.0.0.0/8`.
impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = u32::from(self.prefix);
        let lowest = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
                IpAddr::from((address.to_bits() & mask).to_be_bytes())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
                IpAddr::from((address.to_bits() & mask).to_be_bytes())
            }
        };
        write!(f, "{lowest}/{prefix}")
    }
}

impl Hosts {
    /// The address for a host and port: what fits both of them comes before what fits the host, and of those a name
    /// comes before a wildcard, a longer wildcard before a shorter one.
    pub fn find(&self, host: &str, port: u16) -> Option<HostAddress> {
        self.fitting(&format!("{host}:{port}")).or_else(|| self.fitting(host))
    }

    fn fitting(&self, text: &str) -> Option<HostAddress> {
        let rank = |pattern: &HostPattern| (!pattern.has_wildcard, pattern.name.len());
        let fitting = self.0.iter().filter(|(pattern, _)| pattern.matches(text));
        fitting.max_by_key(|(pattern, _)| rank(pattern)).map(|(_, address)| *address)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(HostPattern, HostAddress)> {
        self.0.iter()
    }
}

impl FromJson for Hosts {
    fn from_json(value: &Value) -> Result<Hosts, String> {
        let entries =
            value.as_object().ok_or_else(|| mismatch("an object of hosts and their addresses", value))?;
        let read = |(name, address): (&String, &Value)| {
            let text = address.as_str().ok_or_else(|| mismatch("a text", address));
            let address = text.and_then(HostAddress::parse).map_err(|reason| format!("{name}: {reason}"))?;
            Ok((HostPattern::parse(name)?, address))
        };
        entries.iter().map(read).collect::<Result<_, String>>().map(Hosts)
    }
}

macro_rules! read_by_parse {
    ($($type:ty),*) => {
        $(
            impl FromText for $type {
                fn from_text(text: &str) -> Result<$type, String> {
                    <$type>::parse(text)
                }
            }

            impl FromJson for $type {
                fn from_json(value: &Value) -> Result<$type, String> {
                    <$type>::parse(value.as_str().ok_or_else(|| mismatch("a text", value))?)
                }
            }
        )*
    };
}
read_by_parse!(HostPattern, IpNetwork);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The ports to which k6 v1.8.1 connects.
    #[test]
    fn the_most_exact_host_gives_the_address() {
        let hosts = json!({"a.com": "127.0.0.1:1", "a.com:80": "127.0.0.1:2", "*.c.com": "127.0.0.1:3",
            "*.b.c.com": "127.0.0.1:4", "x.b.c.com:80": "127.0.0.1:5", "E.com": "127.0.0.1:6",
            "*.c.com:80": "127.0.0.1:7", "*.f.com:80": "[::1]:8", "*.f.com": "127.0.0.1:9", "a.f.com": "::1",
            "*g.com": "127.0.0.1:11", "*.b.c.com:81": "127.0.0.1:13"});
        let hosts = Hosts::from_json(&hosts).unwrap();
        let found = |host: &str, port| hosts.find(host, port).and_then(|found| found.port);
        assert_eq!([found("a.com", 80), found("a.com", 81), found("A.com", 80)], [Some(2), Some(1), Some(2)]);
        assert_eq!([found("x.c.com", 80), found("c.com", 80)], [Some(7), None]);
        assert_eq!([found("x.b.c.com", 80), found("y.b.c.com", 80)], [Some(5), Some(7)]);
        assert_eq!([found("x.b.c.com", 81), found("e.com", 80)], [Some(13), Some(6)]);
        assert_eq!([found("q.f.com", 80), found("a.f.com", 80)], [Some(8), Some(8)]);
        assert_eq!(
            [found("zg.com", 80), found("g.com", 80), found("other.com", 80)],
            [Some(11), Some(11), None]
        );
        let address = hosts.find("a.f.com", 81).unwrap();
        assert_eq!((address.ip.to_string(), address.port), ("::1".to_owned(), None));
    }

    #[test]
    fn a_wildcard_is_allowed_at_the_beginning_only() {
        let blocked = |pattern: &str, host: &str| HostPattern::parse(pattern).unwrap().matches(host);
        assert!(blocked("*.a.com", "x.A.com") && blocked("*", "any") && blocked("B.com", "b.com"));
        assert!(!blocked("*.a.com", "a.com") && !blocked("b.com", "x.b.com"));
        for wrong in ["a*b", "a.*", "**"] {
            assert!(HostPattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        let contains = |network: &str, address: &str| {
            IpNetwork::parse(network).unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.1.2.3") && contains("10.1.2.3/8", "10.255.0.0"));
        assert!(
            contains("0.0.0.0/0", "1.2.3.4") && contains("::/0", "::1") && contains("1.2.3.4/32", "1.2.3.4")
        );
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe80::1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0") && !contains("::/0", "1.2.3.4"));
        let shown = |network: &str| IpNetwork::parse(network).unwrap().to_string();
        assert_eq!([shown("10.1.2.3/8"), shown("1.2.3.4/32")], ["10.0.0.0/8", "1.2.3.4/32"]);
        assert_eq!([shown("1.2.3.4/0"), shown("fd12::1/8")], ["0.0.0.0/0", "fd00::/8"]);
        for wrong in ["1.2.3.4", "10.0.0.0/33", "x/8", "10.0.0.0/"] {
            assert!(IpNetwork::parse(wrong).is_err(), "{wrong}");
        }
    }
}
