//! The addresses of origins. Those of a plan's targets are looked up before the load, those of others on a helper thread when the
//! first request needs them. Both are looked up again, on a helper thread that nothing waits for, when a connection is opened and
//! they are old, or when one cannot be opened.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use std::{io, thread};

use evidence::Instant;
use mio::Waker;

use super::host_lookup::{HostLookup, LookupError};
use super::origin_rules::OriginRules;
use super::route::Route;
use crate::clock::{Clock, monotonic_ns};

/// After how long a name is looked up again that was not found, or to which no connection could be opened.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How many changes of one origin are kept until they are asked for.
const MOST_CHANGES: usize = 100;
/// How many addresses a change names on each side.
const MOST_NAMED: usize = 8;

/// What changed about the addresses of an origin, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressChange {
    /// When it was noticed.
    pub at: Instant,
    /// What changed, in words.
    pub text: String,
}

/// Where an origin is, once that is known.
#[derive(Debug)]
pub(crate) struct Address {
    route: OnceLock<RwLock<Arc<Route>>>,
    /// What is looked up; none where the route needs no lookup.
    host: Option<HostLookup>,
    /// Why nothing is looked up, and no connection made.
    refusal: Option<Arc<str>>,
    lookups: Mutex<Lookups>,
    /// When the last lookup ended, by the system's monotonic clock in nanoseconds: the load may not have begun then.
    looked_up_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Lookups {
    is_running: bool,
    /// When the last one failed, and why; none where it did not.
    failed: Option<(Instant, Arc<str>)>,
    /// The loops that wait for one, or have waited.
    waiting: Vec<Arc<Waker>>,
    changes: Vec<AddressChange>,
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
    fn new(route: Option<Route>, host: Option<HostLookup>, refusal: Option<Arc<str>>) -> Address {
        let route = route.map_or_else(OnceLock::new, |route| RwLock::new(Arc::new(route)).into());
        Address { route, host, refusal, lookups: Mutex::default(), looked_up_ns: AtomicU64::new(0) }
    }

    pub(super) fn unix(path: PathBuf) -> Address {
        Address::new(Some(Route::Unix(path)), None, None)
    }

    /// One that may not be connected to, for this reason.
    pub(super) fn refused(why: String) -> Address {
        Address::new(None, None, Some(why.into()))
    }

    /// The same, where these rules choose of the addresses that are found.
    pub(super) fn with_rules(&self, rules: Arc<dyn OriginRules>) -> Address {
        match (&self.host, self.route().as_deref()) {
            (Some(host), _) => Address::by_name(HostLookup { rules: Some(rules), ..host.clone() }),
            (None, Some(Route::Unix(path))) => Address::unix(path.clone()),
            (None, _) => Address::refused("it has no address".to_owned()),
        }
    }

    pub(super) fn by_name(host: HostLookup) -> Address {
        if !host.is_literal() {
            return Address::new(None, Some(host), None);
        }
        match host.resolve() {
            Ok(addresses) => Address::new(Some(Route::tcp(addresses, host.local())), Some(host), None),
            Err(LookupError::Refused(why)) => Address::new(None, Some(host), Some(why.into())),
            Err(LookupError::System(_)) => Address::new(None, Some(host), None),
        }
    }

    /// The name that is looked up.
    pub(super) fn host(&self) -> &str {
        self.host.as_ref().map(|host| host.name.as_str()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.route.get().is_some()
    }

    /// Where new connections are opened to; none until it is known.
    pub(crate) fn route(&self) -> Option<Arc<Route>> {
        self.route.get().map(|route| route.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Look it up now, and wait for that.
    ///
    /// # Errors
    /// [`LookupError`] when it has no address that may be used.
    pub(super) fn look_up(&self) -> Result<(), LookupError> {
        let Some(host) = self.host.as_ref().filter(|_| !self.is_known()) else { return Ok(()) };
        let found = host.resolve()?;
        self.learn(host, found);
        Ok(())
    }

    /// Connections are opened to these addresses from now on; what is then different, in words.
    fn learn(&self, host: &HostLookup, addresses: Vec<SocketAddr>) -> Option<String> {
        self.looked_up_ns.store(monotonic_ns(), Ordering::Relaxed);
        let mut text = None;
        let new = || Arc::new(Route::tcp(addresses.clone(), host.local()));
        let known = self.route.get_or_init(|| RwLock::new(new()));
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.is_to(&addresses) {
            let (to, from) = (listed(addresses.iter().copied()), listed(known.tcp_addresses()));
            text = Some(format!(
                "new connections to {} go to {to} instead of {from}: its addresses changed",
                host.name
            ));
            *known = new();
        }
        text
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
        self.start_lookup(&mut lookups, clock)?;
        Ok(LookupState::Running)
    }

    /// A connection is opened to it: begin another lookup where the last one is as old as its addresses may be.
    pub(crate) fn refresh(self: &Arc<Self>, clock: Clock) {
        if let Some(host) = &self.host {
            self.look_up_again(host.ttl, clock);
        }
    }

    /// A connection to it could not be opened: its addresses may have changed.
    pub(crate) fn was_unreachable(self: &Arc<Self>, clock: Clock) {
        self.look_up_again(RETRY_AFTER, clock);
    }

    /// Begin another lookup unless the last one is younger than that.
    fn look_up_again(self: &Arc<Self>, age: Duration, clock: Clock) {
        let looked_up_ns = self.looked_up_ns.load(Ordering::Relaxed);
        let is_young = || u128::from(monotonic_ns().saturating_sub(looked_up_ns)) < age.as_nanos();
        // What was never looked up is an address itself.
        if looked_up_ns > 0 && !is_young() {
            // Without a thread for it the addresses stay as they are.
            let _ = self.start_lookup(&mut self.lookups(), clock);
        }
    }

    fn start_lookup(self: &Arc<Self>, lookups: &mut Lookups, clock: Clock) -> io::Result<()> {
        if !lookups.is_running {
            let this = self.clone();
            let look_up = move || {
                if let Some(host) = &this.host {
                    this.end_lookup(host, host.resolve(), clock);
                }
            };
            thread::Builder::new().name("plimsoll-lookup".into()).spawn(look_up)?;
            lookups.is_running = true;
        }
        Ok(())
    }

    fn end_lookup(&self, host: &HostLookup, found: Result<Vec<SocketAddr>, LookupError>, clock: Clock) {
        let mut lookups = self.lookups();
        lookups.is_running = false;
        let change = match found {
            Ok(addresses) => {
                lookups.failed = None;
                self.learn(host, addresses)
            }
            Err(error) => {
                if self.is_known() {
                    self.looked_up_ns.store(monotonic_ns(), Ordering::Relaxed);
                }
                let why = match error {
                    LookupError::System(error) => {
                        format!("cannot find the address of {}: {error}", host.name)
                    }
                    LookupError::Refused(why) => why,
                };
                let is_first = lookups.failed.replace((clock.now(), why.as_str().into())).is_none();
                let text = || format!("{why}; new connections go to the addresses that were known");
                (is_first && self.is_known()).then(text)
            }
        };
        if let Some(text) = change {
            lookups.note(clock.now(), text);
        }
        for waker in &lookups.waiting {
            // A loop that has ended needs no waking.
            let _ = waker.wake();
        }
    }

    /// An address did not answer, and one of the other IP version did: connections avoid it for a while.
    pub(crate) fn avoid(&self, route: &Route, number: usize, now: Instant) {
        if route.avoid(number, now)
            && let Some(address) = route.tcp_address(number)
        {
            let text = format!(
                "{address}, an address of {}, does not answer, and one of the other IP version does: connections avoid it",
                self.host()
            );
            self.lookups().note(now, text);
        }
    }

    /// What has changed since this was last asked.
    pub(super) fn take_changes(&self) -> Vec<AddressChange> {
        std::mem::take(&mut self.lookups().changes)
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
            _ if address.is_known() => LookupState::Known,
            Some((_, why)) if !self.is_running => LookupState::Failed(why.clone()),
            _ => LookupState::Running,
        }
    }

    fn failed_at(&self) -> Instant {
        self.failed.as_ref().map_or(Instant::EPOCH, |(at, _)| *at)
    }

    fn note(&mut self, at: Instant, text: String) {
        if self.changes.len() < MOST_CHANGES {
            self.changes.push(AddressChange { at, text });
        }
    }
}

/// `10.0.0.1:80, 10.0.0.2:80 and 3 more`
fn listed(addresses: impl Iterator<Item = SocketAddr>) -> String {
    let all: Vec<String> = addresses.map(|address| address.to_string()).collect();
    let mut text = all[..all.len().min(MOST_NAMED)].join(", ");
    if all.len() > MOST_NAMED {
        let _ = write!(text, " and {} more", all.len() - MOST_NAMED);
    }
    text
}
