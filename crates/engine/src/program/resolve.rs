//! The addresses of origins. Those of a plan's targets are looked up before the load, those of others on a helper
//! thread when the first request needs them.
//!
//! The system's resolver has no time limit, so each lookup runs on a thread of its own.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use evidence::Instant;
use mio::Waker;
use workload::connection::{Dns, IpVersion};

use super::origin_rules::OriginRules;
use crate::clock::Clock;

/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);

/// After how long a name that was not found is looked up again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The addresses that connections are opened to.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// At least one address, and the addresses of this machine to connect from; none: any.
    Tcp { addresses: Vec<SocketAddr>, local: Vec<IpAddr> },
    /// A Unix socket.
    Unix(PathBuf),
}

impl Route {
    /// The address of this machine that a virtual user connects from, by its number, from 0; none: any.
    pub(crate) fn local_address(&self, user: u64) -> Option<IpAddr> {
        match self {
            Route::Tcp { local, .. } if !local.is_empty() => {
                Some(local[(user % local.len() as u64) as usize])
            }
            _ => None,
        }
    }

    /// One of the addresses; `number` counts on over them. None of a Unix socket.
    pub(crate) fn tcp_address(&self, number: usize) -> Option<SocketAddr> {
        match self {
            Route::Tcp { addresses, .. } => Some(addresses[number % addresses.len()]),
            Route::Unix(_) => None,
        }
    }

    /// How many addresses there are.
    pub(crate) fn addresses(&self) -> usize {
        match self {
            Route::Tcp { addresses, .. } => addresses.len(),
            Route::Unix(_) => 1,
        }
    }
}

/// Where an origin is, once that is known.
#[derive(Debug)]
pub(crate) struct Address {
    route: OnceLock<Route>,
    /// What is looked up; none where the route needs no lookup.
    host: Option<HostLookup>,
    /// Why nothing is looked up, and no connection made.
    refusal: Option<Arc<str>>,
    lookups: Mutex<Lookups>,
}

/// The lookups of an address.
#[derive(Debug, Default)]
struct Lookups {
    is_running: bool,
    /// When the last one failed, and why.
    failed: Option<(Instant, Arc<str>)>,
    /// The loops that wait for one, or have waited.
    waiting: Vec<Arc<Waker>>,
}

/// What is known of an address.
#[derive(Debug)]
pub(crate) enum LookupState {
    /// Its lookup has not ended.
    Running,
    /// [`Address::route`] has it.
    Known,
    /// It was not found, for this reason.
    Failed(Arc<str>),
}

impl Address {
    pub(super) fn unix(path: PathBuf) -> Address {
        Address { route: Route::Unix(path).into(), host: None, refusal: None, lookups: Mutex::default() }
    }

    /// One that may not be connected to, for this reason.
    pub(super) fn refused(why: String) -> Address {
        let (route, lookups) = (OnceLock::new(), Mutex::default());
        Address { route, host: None, refusal: Some(why.into()), lookups }
    }

    /// The same, where these rules choose of the addresses that are found.
    pub(super) fn ruled_by(&self, rules: Arc<dyn OriginRules>) -> Address {
        match (&self.host, self.route()) {
            (Some(host), _) => Address::of(HostLookup { rules: Some(rules), ..host.clone() }),
            (None, Some(Route::Unix(path))) => Address::unix(path.clone()),
            (None, _) => Address::refused("it has no address".to_owned()),
        }
    }

    pub(super) fn of(host: HostLookup) -> Address {
        let (route, mut refusal) = (OnceLock::new(), None);
        if let Ok(ip) = host.name.parse::<IpAddr>() {
            match host.choose(vec![SocketAddr::new(ip, host.port)]) {
                Ok(addresses) => drop(route.set(Route::Tcp { addresses, local: host.local() })),
                Err(LookupError::Refused(why)) => refusal = Some(why.into()),
                Err(LookupError::System(_)) => {}
            }
        }
        Address { route, host: Some(host), refusal, lookups: Mutex::default() }
    }

    /// The name that is looked up.
    pub(super) fn host(&self) -> &str {
        self.host.as_ref().map(|host| host.name.as_str()).unwrap_or_default()
    }

    /// None until it is known.
    #[inline]
    pub(crate) fn route(&self) -> Option<&Route> {
        self.route.get()
    }

    /// Look it up now, and wait for that.
    ///
    /// # Errors
    /// [`LookupError`] when it has no address that may be used.
    pub(super) fn look_up(&self) -> Result<(), LookupError> {
        let Some(host) = self.host.as_ref().filter(|_| self.route().is_none()) else { return Ok(()) };
        let addresses = resolve(host)?;
        // Another thread may have been first.
        let _ = self.route.set(Route::Tcp { addresses, local: host.local() });
        Ok(())
    }

    /// Look it up on a thread of its own, unless that runs already or has just failed; `waker` is woken at its end.
    pub(crate) fn begin_lookup(
        self: &Arc<Self>,
        clock: Clock,
        waker: &Arc<Waker>,
    ) -> io::Result<LookupState> {
        if let Some(why) = &self.refusal {
            return Ok(LookupState::Failed(why.clone()));
        }
        let mut lookups = self.lookups();
        match lookups.state(self) {
            LookupState::Failed(why) if lookups.failed_at() + RETRY_AFTER > clock.now() => {
                return Ok(LookupState::Failed(why));
            }
            LookupState::Known => return Ok(LookupState::Known),
            LookupState::Running | LookupState::Failed(_) => {}
        }
        if !lookups.waiting.iter().any(|known| Arc::ptr_eq(known, waker)) {
            lookups.waiting.push(waker.clone());
        }
        if !lookups.is_running {
            let this = self.clone();
            let look_up = move || {
                let found = this.look_up();
                this.end_lookup(found, clock);
            };
            thread::Builder::new().name("plimsoll-lookup".into()).spawn(look_up)?;
            lookups.is_running = true;
        }
        Ok(LookupState::Running)
    }

    fn end_lookup(&self, found: Result<(), LookupError>, clock: Clock) {
        let mut lookups = self.lookups();
        lookups.is_running = false;
        if let Err(error) = found {
            let why = match error {
                LookupError::System(error) => format!("cannot find the address of {}: {error}", self.host()),
                LookupError::Refused(why) => why,
            };
            lookups.failed = Some((clock.now(), why.into()));
        }
        for waker in &lookups.waiting {
            // A loop that has ended needs no waking.
            let _ = waker.wake();
        }
    }

    /// What is known now.
    pub(crate) fn state(&self) -> LookupState {
        self.lookups().state(self)
    }

    fn lookups(&self) -> MutexGuard<'_, Lookups> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lookups {
    fn state(&self, address: &Address) -> LookupState {
        match &self.failed {
            _ if address.route().is_some() => LookupState::Known,
            Some((_, why)) if !self.is_running => LookupState::Failed(why.clone()),
            _ => LookupState::Running,
        }
    }

    fn failed_at(&self) -> Instant {
        self.failed.as_ref().map_or(Instant::EPOCH, |(at, _)| *at)
    }
}

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
    /// The address of this machine that connections come from.
    pub(super) from: Option<IpAddr>,
    /// Choose of them first.
    pub(super) rules: Option<Arc<dyn OriginRules>>,
}

impl HostLookup {
    /// The addresses of this machine that connections come from; none: any.
    fn local(&self) -> Vec<IpAddr> {
        let ruled = self.rules.as_ref().map(|rules| rules.local_addresses()).unwrap_or_default();
        self.from.into_iter().chain(ruled).collect()
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
            let is_reachable = self.from.is_none_or(|from| from.is_ipv4() == address.is_ipv4());
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

/// The addresses of a host, at least one.
fn resolve(host: &HostLookup) -> Result<Vec<SocketAddr>, LookupError> {
    let all = match host.name.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, host.port)],
        Err(_) => ask_system(host.name.clone(), host.port)?,
    };
    host.choose(all)
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
        let host = HostLookup { name: "h".to_owned(), port: 1, dns, ip, from, rules: None };
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
            from: None,
            rules: None,
        };
        assert_eq!(resolve(&host("::1")).unwrap(), ["[::1]:80".parse().unwrap()]);
        assert!(resolve(&host("localhost")).unwrap().iter().all(|a| a.ip().is_loopback()));
        assert!(resolve(&host("no-such-host.invalid")).is_err());
    }
}
