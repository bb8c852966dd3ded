//! Where connections to an origin are opened to and from, once that is known.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evidence::Instant;

/// For how long an address is avoided that did not answer while one of the other IP version did.
const AVOIDED_FOR: Duration = Duration::from_secs(30);

/// Where connections are opened to.
#[derive(Debug)]
pub(crate) enum Route {
    Tcp(TcpRoute),
    /// A Unix socket.
    Unix(PathBuf),
}

/// The addresses of a host.
#[derive(Debug)]
pub(crate) struct TcpRoute {
    /// At least one.
    remote: Vec<RemoteAddress>,
    /// The addresses of this machine to connect from; none: any.
    local: Vec<IpAddr>,
}

#[derive(Debug)]
struct RemoteAddress {
    address: SocketAddr,
    /// Until this instant of the run, in nanoseconds.
    avoided_until: AtomicU64,
}

impl TcpRoute {
    /// One of the addresses; `number` counts on over them.
    pub(crate) fn address(&self, number: usize) -> SocketAddr {
        self.remote(number).address
    }

    fn remote(&self, number: usize) -> &RemoteAddress {
        &self.remote[number % self.remote.len()]
    }
}

impl Route {
    /// To these addresses, at least one.
    pub(super) fn tcp(addresses: Vec<SocketAddr>, local: Vec<IpAddr>) -> Route {
        let remote = |address| RemoteAddress { address, avoided_until: AtomicU64::new(0) };
        Route::Tcp(TcpRoute { remote: addresses.into_iter().map(remote).collect(), local })
    }

    /// The address of this machine that a virtual user connects from, by its number, from 0; none: any.
    pub(crate) fn local_address(&self, user: u64) -> Option<IpAddr> {
        match self {
            Route::Tcp(TcpRoute { local, .. }) if !local.is_empty() => {
                Some(local[(user % local.len() as u64) as usize])
            }
            _ => None,
        }
    }

    /// How many addresses there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Route::Tcp(route) => route.remote.len(),
            Route::Unix(_) => 1,
        }
    }

    /// One of the addresses. None of a Unix socket.
    pub(crate) fn tcp_address(&self, number: usize) -> Option<SocketAddr> {
        self.remote(number).map(|remote| remote.address)
    }

    pub(crate) fn tcp_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        (0..self.count()).filter_map(|number| self.tcp_address(number))
    }

    fn remote(&self, number: usize) -> Option<&RemoteAddress> {
        match self {
            Route::Tcp(route) => Some(route.remote(number)),
            Route::Unix(_) => None,
        }
    }

    /// The number, from this one on, of the first address that is not avoided now; this one when all are.
    pub(crate) fn usable(&self, number: usize, now: Instant) -> usize {
        let is_usable = |number: &usize| {
            let until = self.remote(*number).map_or(0, |remote| remote.avoided_until.load(Ordering::Relaxed));
            until <= now.as_nanos()
        };
        (0..self.count()).map(|turn| number.wrapping_add(turn)).find(is_usable).unwrap_or(number)
    }

    /// The number of the first address after this one that is of the other IP version; none where there is none.
    pub(crate) fn rival(&self, number: usize) -> Option<usize> {
        let is_ipv4 = self.tcp_address(number)?.is_ipv4();
        let is_other =
            |number: &usize| self.tcp_address(*number).is_some_and(|other| other.is_ipv4() != is_ipv4);
        (1..self.count()).map(|turn| number.wrapping_add(turn)).find(is_other)
    }

    /// An address did not answer, and one of the other IP version did: connections avoid it for a while. Whether they did not
    /// already.
    pub(crate) fn avoid(&self, number: usize, now: Instant) -> bool {
        let Some(remote) = self.remote(number) else { return false };
        let until = (now + AVOIDED_FOR).as_nanos();
        remote.avoided_until.swap(until, Ordering::Relaxed) <= now.as_nanos()
    }

    /// Whether it leads to the same addresses, in any order.
    pub(super) fn is_to(&self, others: &[SocketAddr]) -> bool {
        let sorted = |mut addresses: Vec<SocketAddr>| {
            addresses.sort_unstable();
            addresses
        };
        sorted(self.tcp_addresses().collect()) == sorted(others.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(addresses: &[&str]) -> Route {
        Route::tcp(addresses.iter().map(|address| address.parse().unwrap()).collect(), Vec::new())
    }

    #[test]
    fn the_rival_of_an_address_is_the_next_one_of_the_other_version() {
        let mixed = route(&["[::1]:1", "[::2]:1", "127.0.0.1:1", "127.0.0.2:1"]);
        assert_eq!([0, 1, 2, 3, 4].map(|number| mixed.rival(number)), [2, 2, 4, 4, 6].map(Some));
        assert_eq!(route(&["127.0.0.1:1", "127.0.0.2:1"]).rival(0), None);
        assert_eq!(Route::Unix("/s".into()).rival(0), None);
    }

    #[test]
    fn an_address_that_did_not_answer_is_avoided_for_a_while() {
        let both = route(&["[::1]:1", "127.0.0.1:1"]);
        let at = |seconds| Instant::at(Duration::from_secs(seconds));
        assert_eq!(both.usable(0, at(1)), 0);
        assert!(both.avoid(0, at(1)) && !both.avoid(2, at(2)));
        assert_eq!([0, 1, 2].map(|number| both.usable(number, at(31))), [1, 1, 3]);
        assert_eq!(both.usable(0, at(32)), 0);
        assert!(both.avoid(0, at(40)) && both.avoid(1, at(40)));
        assert_eq!([0, 1].map(|number| both.usable(number, at(41))), [0, 1], "all are avoided");
    }

    #[test]
    fn addresses_are_the_same_in_any_order() {
        let known = route(&["[::1]:1", "127.0.0.1:1"]);
        let is_to = |addresses: &[&str]| {
            known.is_to(&addresses.iter().map(|address| address.parse().unwrap()).collect::<Vec<_>>())
        };
        assert!(is_to(&["127.0.0.1:1", "[::1]:1"]));
        assert!(!is_to(&["127.0.0.1:1"]) && !is_to(&["127.0.0.1:1", "[::2]:1"]));
    }
}
