//! Looks up the addresses of hosts, before the load.
//!
//! The system's resolver has no time limit, so each lookup runs on a thread of its own.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use workload::connection::{Dns, IpVersion};

/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// A host to look up, and which of its addresses are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostLookup<'a> {
    pub(super) name: &'a str,
    pub(super) port: u16,
    pub(super) dns: Dns,
    pub(super) ip: IpVersion,
    /// The address of this machine that connections come from.
    pub(super) from: Option<IpAddr>,
}

impl HostLookup<'_> {
    /// Of all addresses those that are used, in their order.
    fn choose(&self, all: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
        let mut chosen = Vec::new();
        for address in all {
            let is_right = match self.ip {
                IpVersion::Any => true,
                IpVersion::V4 => address.is_ipv4(),
                IpVersion::V6 => address.is_ipv6(),
            };
            let is_reachable = self.from.is_none_or(|from| from.is_ipv4() == address.is_ipv4());
            if is_right && is_reachable && !chosen.contains(&address) {
                chosen.push(address);
            }
        }
        if self.dns == Dns::First {
            chosen.truncate(1);
        }
        chosen
    }
}

/// The addresses of a host, at least one.
pub(super) fn resolve(host: HostLookup<'_>) -> io::Result<Vec<SocketAddr>> {
    let all = match host.name.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, host.port)],
        Err(_) => ask_system(host.name.to_owned(), host.port)?,
    };
    let chosen = host.choose(all);
    if chosen.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address of the required kind"));
    }
    Ok(chosen)
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
        let from = from.map(|from| from.parse().unwrap());
        let chosen = HostLookup { name: "h", port: 1, dns, ip, from }.choose(all);
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
        let host = |name| HostLookup { name, port: 80, dns: Dns::Spread, ip: IpVersion::Any, from: None };
        assert_eq!(resolve(host("::1")).unwrap(), ["[::1]:80".parse().unwrap()]);
        assert!(resolve(host("localhost")).unwrap().iter().all(|a| a.ip().is_loopback()));
        assert!(resolve(host("no-such-host.invalid")).is_err());
    }
}
