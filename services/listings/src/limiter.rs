//! The rate limiter: it bounds how often each caller calls each rpc in any minute, counted in this process or, for
//! several replicas, in Redis. When Redis does not answer, calls are admitted or refused according to the settings, and
//! both are counted.

mod local;
mod settings;
mod window;

pub use settings::{LimitSettings, OnFailure, SettingsError};

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use http::{HeaderMap, Request};
use kit::metrics::Metrics;
use kit::serve::Peer;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::caller::Caller;
use crate::methods::{Method, RateLimitKey};
use crate::redis_link::{COUNT_CALL, RedisLink, RedisUnreachable, TAG};
use local::LocalCounts;

/// The rate limiter's decision on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitDecision {
    /// The call is admitted.
    Admitted,
    /// The call is refused; after this time another is admitted.
    Refused(Duration),
    /// The number of calls is unknown, and the settings refuse calls then.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabel {
    decision: &'static str,
}

/// What a request says about where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Its headers, or the metadata of a call as headers.
    pub headers: &'a HeaderMap,
    peer: Option<IpAddr>,
}

impl<'a> Origin<'a> {
    /// The origin of a request that a port has received.
    #[must_use]
    pub fn from_request<B>(request: &'a Request<B>) -> Self {
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
        Self { headers: request.headers(), peer }
    }
}

/// Where calls are counted.
enum CountStore {
    Off,
    Local(Box<LocalCounts>),
    Redis(RedisLink),
}

/// The rate limiter.
pub struct Limiter {
    settings: LimitSettings,
    counts: CountStore,
    allowed: Counter,
    rejected: Family<MethodLabel, Counter>,
    failed: Family<DecisionLabel, Counter>,
}

impl Limiter {
    /// A limiter that counts in this Redis, or without one in the process.
    #[must_use]
    pub fn new(settings: LimitSettings, redis: Option<RedisLink>, metrics: &Metrics) -> Self {
        let counts = match redis {
            _ if !settings.is_on => CountStore::Off,
            Some(link) => CountStore::Redis(link),
            None => CountStore::Local(Box::default()),
        };
        let limiter = Self {
            settings,
            counts,
            allowed: Counter::default(),
            rejected: Family::default(),
            failed: Family::default(),
        };
        let is_on = Gauge::<i64>::default();
        is_on.set(i64::from(limiter.settings.is_on));
        metrics.register(|registry| {
            registry.register(
                "rate_limit_enabled",
                "1 while the rate limiter is on, 0 while it is off",
                is_on,
            );
            let help = "Calls admitted by the rate limiter";
            registry.register("rate_limit_allowed", help, limiter.allowed.clone());
            let help = "Calls refused by the rate limiter, by method";
            registry.register("rate_limit_rejected", help, limiter.rejected.clone());
            let help = "Calls decided without a count because Redis did not answer, by decision";
            registry.register("rate_limit_failed", help, limiter.failed.clone());
        });
        limiter
    }

    /// Whether calls are limited.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.settings.is_on
    }

    /// Whether calls can be counted.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub fn probe(&self) -> Result<(), String> {
        match &self.counts {
            CountStore::Redis(link) if !link.is_up() => Err("Redis does not answer".to_owned()),
            _ => Ok(()),
        }
    }

    /// The network that a request comes from: its caller's address, or for IPv6 the /64, which belongs to one caller.
    #[must_use]
    pub fn network(&self, origin: Origin<'_>) -> Option<IpAddr> {
        address(origin, self.settings.trusted_proxies).map(network_of)
    }

    /// The key under which a caller's calls of a method are counted.
    #[must_use]
    pub fn caller_key(&self, method: &Method, caller: &Caller, network: Option<IpAddr>) -> String {
        if !self.settings.is_on {
            return String::new();
        }
        match (self.settings.limit_of(method).key, caller) {
            (RateLimitKey::User, Caller::User(id)) => format!("user:{id}"),
            (RateLimitKey::User, Caller::Service(name) | Caller::Admin(name)) => format!("service:{name}"),
            _ => network.map_or_else(|| "unknown".to_owned(), |network| format!("ip:{network}")),
        }
    }

    /// Counts a call and admits it, or refuses it when the caller has reached the limit.
    pub async fn admit(&self, method: &Method, caller_key: &str) -> RateLimitDecision {
        let max = self.settings.limit_of(method).per_minute;
        let counted = match &self.counts {
            CountStore::Off => return RateLimitDecision::Admitted,
            CountStore::Local(local) => Ok(local.try_count(method.name, caller_key, max)),
            CountStore::Redis(link) => count_in_redis(link, method.name, caller_key, max).await,
        };
        match counted {
            Ok(Ok(())) => {
                self.allowed.inc();
                RateLimitDecision::Admitted
            }
            Ok(Err(retry_after)) => {
                self.rejected.get_or_create(&MethodLabel { method: method.name }).inc();
                RateLimitDecision::Refused(retry_after)
            }
            Err(RedisUnreachable) => self.without_count(),
        }
    }

    fn without_count(&self) -> RateLimitDecision {
        let (label, decision) = match self.settings.on_failure {
            OnFailure::Admit => ("admitted", RateLimitDecision::Admitted),
            OnFailure::Refuse => ("refused", RateLimitDecision::Unknown),
        };
        self.failed.get_or_create(&DecisionLabel { decision: label }).inc();
        decision
    }
}

/// Counts a call by a script and by the clock of Redis; the inner error is the time after which another call will be
/// admitted.
async fn count_in_redis(
    link: &RedisLink,
    method: &str,
    caller_key: &str,
    max: u32,
) -> Result<Result<(), Duration>, RedisUnreachable> {
    let key = |run_id: &str| vec![format!("{TAG}:rate_limit:{run_id}:{method}:{caller_key}")];
    let arguments = [max.to_string(), window::STEP_MS.to_string(), window::STEPS.to_string()];
    let arguments: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
    let wait_ms: u64 = link.run(COUNT_CALL, key, &arguments).await?;
    Ok(if wait_ms == 0 { Ok(()) } else { Err(Duration::from_millis(wait_ms)) })
}

/// The caller's address: the peer of the connection, or behind trusted proxies the entry of `x-forwarded-for` that the
/// outermost of them has added. Earlier entries come from the caller and are ignored.
fn address(origin: Origin<'_>, trusted_proxies: usize) -> Option<IpAddr> {
    if trusted_proxies == 0 {
        return origin.peer;
    }
    let values = origin.headers.get_all("x-forwarded-for").iter();
    let entries = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let entries: Vec<&str> = entries.map(str::trim).collect();
    let seen = entries.len().checked_sub(trusted_proxies).and_then(|index| entries[index].parse().ok());
    seen.or(origin.peer)
}

fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address @ IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(forwarded: &[&str]) -> Request<()> {
        let mut request = Request::new(());
        request.extensions_mut().insert(Peer("10.0.0.9:4711".parse().unwrap()));
        for value in forwarded {
            request.headers_mut().append("x-forwarded-for", value.parse().unwrap());
        }
        request
    }

    fn seen(forwarded: &[&str], trusted_proxies: usize) -> String {
        network_of(address(Origin::from_request(&request(forwarded)), trusted_proxies).unwrap()).to_string()
    }

    #[test]
    fn a_forged_forwarded_header_does_not_change_the_callers_address() {
        assert_eq!(
            seen(&["1.2.3.4"], 0),
            "10.0.0.9",
            "without trusted proxies the header is ignored; the port is not part of the key"
        );
        assert_eq!(seen(&["6.6.6.6, 1.2.3.4"], 1), "1.2.3.4");
        assert_eq!(seen(&["6.6.6.6", "1.2.3.4, 10.0.0.1"], 2), "1.2.3.4");
        assert_eq!(seen(&["1.2.3.4"], 2), "10.0.0.9", "fewer entries than trusted proxies");
        assert_eq!(seen(&["nonsense"], 1), "10.0.0.9");
        assert_eq!(seen(&["::ffff:1.2.3.4"], 1), "1.2.3.4");
        assert_eq!(seen(&["2001:db8:1:2:3:4:5:6"], 1), seen(&["2001:db8:1:2::9"], 1));
    }
}
