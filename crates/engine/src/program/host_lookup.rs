//! A host that is looked up, and which of its addresses are used.
//!
//! The system's resolver has no time limit, so each of its lookups runs on a thread of its own.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use workload::connection::{Dns, IpVersion};

use super::origin_rules::OriginRules;

/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a host has no address that may be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    /// The system found none.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Rules refuse all, for this reason.
    #[error("{0}")]
    Refused(String),
}

impl From<LookupError> for io::Error {
    fn from(error: LookupError) -> io::Error {
        match error {
            LookupError::System(error) => error,
            LookupError::Refused(why) => io::Error::other(why),
        }
    }
}

/// A host to look up, and which of its addresses are used.
#[derive(Debug, Clone)]
pub(super) struct HostLookup {
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) dns: Dns,
    pub(super) ip: IpVersion,
    /// The addresses of this machine that connections come from; none: any.
    pub(super) from: Vec<IpAddr>,
    /// How old its addresses are when a new connection begins another lookup.
    pub(super) ttl: Duration,
    /// Choose of them first.
    pub(super) rules: Option<Arc<dyn OriginRules>>,
}

impl HostLookup {
    /// The addresses of this machine that connections come from; none: any.
    pub(super) fn local(&self) -> Vec<IpAddr> {
        let ruled = self.rules.as_ref().map(|rules| rules.local_addresses()).unwrap_or_default();
        self.from.iter().copied().chain(ruled).collect()
    }

    /// Whether it is an address itself, which is not looked up.
    pub(super) fn is_literal(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }

    /// The addresses to connect to, at least one.
    pub(super) fn resolve(&self) -> Result<Vec<SocketAddr>, LookupError> {
        let all = match self.name.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, self.port)],
            Err(_) => ask_system(self.name.clone(), self.port)?,
        };
        self.choose(all)
    }

    /// Of all addresses those that are used, at least one, in their order.
    fn choose(&self, all: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, LookupError> {
        let all = match &self.rules {
            None => all,
            Some(rules) => {
                let chosen = rules.choose(all.iter().map(SocketAddr::ip).collect());
                let chosen = chosen.map_err(LookupError::Refused)?;
                chosen.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect()
            }
        };
        let mut chosen = Vec::new();
        for address in all {
            let is_right = match self.ip {
                IpVersion::Any => true,
                IpVersion::V4 => address.is_ipv4(),
                IpVersion::V6 => address.is_ipv6(),
            };
            let is_reachable = self.from.first().is_none_or(|from| from.is_ipv4() == address.is_ipv4());
            if is_right && is_reachable && !chosen.contains(&address) {
                chosen.push(address);
            }
        }
        if self.dns == Dns::First {
            chosen.truncate(1);
        }
        if chosen.is_empty() {
            let none = "it has no address of the required kind";
            return Err(io::Error::new(io::ErrorKind::NotFound, none).into());
        }
        Ok(chosen)
    }
}

fn ask_system(name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let (sender, receiver) = channel();
    let look_up = move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The receiver may have timed out.
        let _ = sender.send(found);
    };
    thread::Builder::new().name("plimsoll-resolve".into()).spawn(look_up)?;
    receiver.recv_timeout(LOOKUP_TIMEOUT).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer from the resolver in {LOOKUP_TIMEOUT:?}"),
            ),
            RecvTimeoutError::Disconnected => io::Error::other("the resolver ended without an answer"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ip: IpVersion, dns: Dns, from: Option<&str>, expect: &[&str]) {
        let all = ["[::1]:1", "127.0.0.1:1", "127.0.0.2:1", "127.0.0.1:1"].map(|a| a.parse().unwrap());
        let from = from.iter().map(|from| from.parse().unwrap()).collect();
        let host =
            HostLookup { name: "h".to_owned(), port: 1, dns, ip, from, ttl: Duration::MAX, rules: None };
        let chosen = host.choose(all.to_vec()).unwrap_or_default();
        assert_eq!(chosen.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn addresses_are_chosen_by_ip_version_and_dns_setting() {
        check(IpVersion::Any, Dns::Spread, None, &["[::1]:1", "127.0.0.1:1", "127.0.0.2:1"]);
        check(IpVersion::Any, Dns::First, None, &["[::1]:1"]);
        check(IpVersion::V4, Dns::First, None, &["127.0.0.1:1"]);
        check(IpVersion::V6, Dns::Spread, None, &["[::1]:1"]);
        check(IpVersion::Any, Dns::Spread, Some("127.0.0.3"), &["127.0.0.1:1", "127.0.0.2:1"]);
        check(IpVersion::V4, Dns::Spread, Some("::1"), &[]);
    }

    #[test]
    fn names_and_ip_literals_are_resolved() {
        let host = |name: &str| HostLookup {
            name: name.to_owned(),
            port: 80,
            dns: Dns::Spread,
            ip: IpVersion::Any,
            from: Vec::new(),
            ttl: Duration::MAX,
            rules: None,
        };
        assert_eq!(host("::1").resolve().unwrap(), ["[::1]:80".parse().unwrap()]);
        assert!(host("localhost").resolve().unwrap().iter().all(|a| a.ip().is_loopback()));
        assert!(host("no-such-host.invalid").resolve().is_err());
    }
}
