//! How often each caller may call each rpc: so many times in any minute, counted in this process or, for several
//! replicas, in Redis. Where it cannot be known, calls are admitted or refused as the settings say, and it is counted
//! which was done.

mod local;
mod settings;
mod window;

pub use settings::{LimitSettings, OnFailure, SettingsError};

use crate::grpc::{By, Method};
use crate::identity::Caller;
use crate::redis_link::{RedisLink, TAKE, Unreachable};
use http::Request;
use kit::metrics::Metrics;
use kit::serve::Peer;
use local::Local;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// What is said to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Admitted,
    /// It may not; after this time another may.
    Refused(Duration),
    /// How often the caller has called is not known, and the settings say to refuse then.
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

/// Where calls are counted.
enum Counts {
    Nowhere,
    Here(Box<Local>),
    InRedis(RedisLink),
}

/// Bounds how often rpcs are called.
pub struct Limiter {
    settings: LimitSettings,
    counts: Counts,
    allowed: Counter,
    rejected: Family<MethodLabel, Counter>,
    failed: Family<DecisionLabel, Counter>,
}

impl Limiter {
    /// A limiter that counts in this Redis, or in the process where there is none.
    #[must_use]
    pub fn new(settings: LimitSettings, redis: Option<RedisLink>, metrics: &Metrics) -> Self {
        let counts = match redis {
            _ if !settings.is_on => Counts::Nowhere,
            Some(link) => Counts::InRedis(link),
            None => Counts::Here(Box::default()),
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
            registry.register("rate_limit_enabled", "1 while calls are limited, 0 while not", is_on);
            let help = "Calls that the rate limiter let pass";
            registry.register("rate_limit_allowed", help, limiter.allowed.clone());
            let help = "Calls that it refused, by method";
            registry.register("rate_limit_rejected", help, limiter.rejected.clone());
            let help = "Calls of which it could not know, by what was done with them";
            registry.register("rate_limit_failed", help, limiter.failed.clone());
        });
        limiter
    }

    /// Whether calls are limited.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.settings.is_on
    }

    /// Whether it can be known how often callers have called.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn probe(&self) -> Result<(), String> {
        match &self.counts {
            Counts::InRedis(link) if !link.is_up() => Err("Redis does not answer".to_owned()),
            _ => Ok(()),
        }
    }

    /// Under what name a caller's calls of a method are counted.
    #[must_use]
    pub fn identify<B>(&self, method: &Method, caller: &Caller, request: &Request<B>) -> String {
        if !self.settings.is_on {
            return String::new();
        }
        match (self.settings.of(method).1, caller) {
            (By::User, Caller::User(id)) => format!("user:{id}"),
            (By::User, Caller::Admin(name)) => format!("admin:{name}"),
            _ => {
                let address = address(request, self.settings.trusted_proxies);
                address.map_or_else(|| "unknown".to_owned(), named)
            }
        }
    }

    /// Counts a call, unless it is one too many.
    pub async fn take(&self, method: &Method, identity: &str) -> Verdict {
        let (per_minute, _) = self.settings.of(method);
        let taken = match &self.counts {
            Counts::Nowhere => return Verdict::Admitted,
            Counts::Here(local) => Ok(local.take(method.name, (identity, per_minute))),
            Counts::InRedis(link) => in_redis(link, (method.name, identity), per_minute).await,
        };
        match taken {
            Ok(None) => {
                self.allowed.inc();
                Verdict::Admitted
            }
            Ok(Some(again_in)) => {
                self.rejected.get_or_create(&MethodLabel { method: method.name }).inc();
                Verdict::Refused(again_in)
            }
            Err(Unreachable) => self.unknown(),
        }
    }

    fn unknown(&self) -> Verdict {
        let (decision, verdict) = match self.settings.on_failure {
            OnFailure::Admit => ("admitted", Verdict::Admitted),
            OnFailure::Refuse => ("refused", Verdict::Unknown),
        };
        self.failed.get_or_create(&DecisionLabel { decision }).inc();
        verdict
    }
}

/// One script counts, by the clock of Redis: `None`, or after what time another call will be counted.
async fn in_redis(
    link: &RedisLink,
    (method, identity): (&str, &str),
    per_minute: u32,
) -> Result<Option<Duration>, Unreachable> {
    let key = |run: &str| vec![format!("rate_limit:{run}:{method}:{identity}")];
    let arguments = [per_minute.to_string(), window::STEP_MS.to_string(), window::STEPS.to_string()];
    let arguments: Vec<&[u8]> = arguments.iter().map(String::as_bytes).collect();
    let wait: u64 = link.run(TAKE, key, &arguments).await?;
    Ok((wait > 0).then(|| Duration::from_millis(wait)))
}

/// The other end of the connection; behind proxies that are trusted, whom the outermost of them has seen. What stands
/// before that in `x-forwarded-for` is the caller's own invention.
fn address<B>(request: &Request<B>, trusted_proxies: usize) -> Option<IpAddr> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    if trusted_proxies == 0 {
        return peer;
    }
    let values = request.headers().get_all("x-forwarded-for").iter();
    let entries = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let entries: Vec<&str> = entries.map(str::trim).collect();
    let seen = entries.len().checked_sub(trusted_proxies).and_then(|place| entries[place].parse().ok());
    seen.or(peer)
}

/// Whoever has one address of an IPv6 network has all of them.
fn named(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("ip:{address}"),
        IpAddr::V6(address) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            format!("ip:{network}/64")
        }
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
        named(address(&request(forwarded), trusted_proxies).unwrap())
    }

    #[test]
    fn a_forged_header_is_nobodys_address() {
        assert_eq!(
            seen(&["1.2.3.4"], 0),
            "ip:10.0.0.9",
            "without trusted proxies it is not read; no port either"
        );
        assert_eq!(seen(&["6.6.6.6, 1.2.3.4"], 1), "ip:1.2.3.4");
        assert_eq!(seen(&["6.6.6.6", "1.2.3.4, 10.0.0.1"], 2), "ip:1.2.3.4");
        assert_eq!(seen(&["1.2.3.4"], 2), "ip:10.0.0.9", "fewer than there should be");
        assert_eq!(seen(&["nonsense"], 1), "ip:10.0.0.9");
        assert_eq!(seen(&["::ffff:1.2.3.4"], 1), "ip:1.2.3.4");
        assert_eq!(seen(&["2001:db8:1:2:3:4:5:6"], 1), seen(&["2001:db8:1:2::9"], 1));
    }
}
