//! Where requests are sent, and over which connections.

use std::sync::Arc;

use wire::{Scheme, WireProtocol};
use workload::connection::{Connecting, ConnectionOrder, HttpVersion, Retry, Reuse};
use workload::model::Target;

use super::error::CompileError;
use super::host_lookup::HostLookup;
use super::origin_rules::OriginRules;
use super::resolve::Address;
use super::tls::{ClientConfig, TlsPeer};

/// How many connections HTTP/2 requests of all virtual users are spread over, unless the plan sets a number.
const SPREAD_CONNECTIONS: usize = 4;
/// How many requests at once an HTTP/2 connection is expected to carry.
pub(crate) const EXPECTED_STREAMS: usize = wire::h2::MAX_OPEN_REQUESTS as usize;
/// To how many such connections a pool grows when those are not enough, unless the plan sets a number.
const MOST_SHARED_CONNECTIONS: usize = 64;

/// The kind of requests of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum OriginKind {
    Http,
    Grpc,
    WebSocket,
}

impl OriginKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            OriginKind::Http => "HTTP",
            OriginKind::Grpc => "gRPC",
            OriginKind::WebSocket => "WebSocket",
        }
    }
}

/// How requests reach the peer.
#[derive(Debug, Clone)]
pub(crate) enum ProxyMode {
    /// Without a proxy.
    Direct,
    /// A proxy gets each request, with its `proxy-authorization`, and relays it.
    Relay { authorization: Option<String> },
    /// A proxy opens a tunnel in answer to this `CONNECT` request.
    Tunnel(Arc<[u8]>),
}

/// The host and port of an origin.
#[derive(Debug, Clone, Copy)]
struct HostPort<'a> {
    host: &'a str,
    port: u16,
}

/// Whether a scenario's arrivals depend on the responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadModel {
    Open,
    Closed,
}

/// How many connections a pool may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolLimits {
    /// None: what the peer chooses.
    pub(crate) protocol: Option<WireProtocol>,
    pub(crate) order: ConnectionOrder,
    /// Over how many connections requests are spread where one carries many at once.
    pub(crate) min_multiplexed: usize,
    /// The most connections of that kind.
    pub(crate) max_multiplexed: usize,
    /// The most connections that carry one request at a time.
    pub(crate) max_http1: usize,
    /// The most of those that are kept while they have no request.
    pub(crate) max_idle: usize,
}

impl PoolLimits {
    /// How many connections of the multiplexing kind so many requests at once need, if the peer allows as many on each
    /// as servers should.
    pub(crate) fn needed_for(&self, requests: u64) -> usize {
        let needed = requests.div_ceil(EXPECTED_STREAMS as u64);
        usize::try_from(needed)
            .unwrap_or(usize::MAX)
            .clamp(self.min_multiplexed.min(self.max_multiplexed), self.max_multiplexed)
    }
}

/// A server that requests are sent to.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) target: String,
    pub(crate) kind: OriginKind,
    pub(crate) scheme: Scheme,
    /// None: what the peer chooses in the TLS handshake.
    pub(crate) protocol: Option<WireProtocol>,
    pub(crate) tls: Option<TlsPeer>,
    pub(crate) address: Arc<Address>,
    pub(crate) proxy: ProxyMode,
    /// The value of `host` and `:authority`.
    pub(crate) authority: String,
    /// The plan's number of connections.
    pub(crate) connections: Option<usize>,
    /// How many connections without a request a pool keeps, for one request at a time each.
    pub(crate) max_idle: usize,
    /// Whether requests over HTTP/1.1 say that they are the last of their connection, because each has one of its own.
    pub(crate) announces_close: bool,
    /// Whether virtual users share no connections, however often each is used.
    pub(crate) has_own_pools: bool,
    /// The plan's; none: the default of each model.
    pub(crate) reuse: Option<Reuse>,
    pub(crate) order: ConnectionOrder,
    pub(crate) retry: Retry,
    /// Whether virtual users keep the cookies that it sets.
    pub(crate) cookies: bool,
    /// Whether an iteration begins without those that iterations before it were sent.
    pub(crate) fresh_cookies: bool,
}

impl Origin {
    /// Whose requests a connection carries, in scenarios of this model. Unless the plan sets it, virtual users of a
    /// closed model have connections of their own, as browsers have, except where the plan sets their number.
    pub(crate) fn reuse_in(&self, model: LoadModel) -> Reuse {
        let default = match model {
            LoadModel::Closed if self.connections.is_none() => Reuse::User,
            LoadModel::Open | LoadModel::Closed => Reuse::Pool,
        };
        self.reuse.unwrap_or(default)
    }

    /// How many connections a pool to it may have whose connections are used so.
    pub(crate) fn pool_limits(&self, reuse: Reuse) -> PoolLimits {
        let (min_multiplexed, max_multiplexed) = match reuse {
            Reuse::Pool => (self.connections.unwrap_or(SPREAD_CONNECTIONS), MOST_SHARED_CONNECTIONS),
            Reuse::User | Reuse::Iteration => (1, MOST_SHARED_CONNECTIONS),
            Reuse::Never => (usize::MAX, usize::MAX),
        };
        PoolLimits {
            protocol: self.protocol,
            order: self.order,
            min_multiplexed,
            max_multiplexed: self.connections.unwrap_or(max_multiplexed),
            max_http1: self.connections.unwrap_or(usize::MAX),
            max_idle: self.max_idle,
        }
    }

    /// The URL of a path of this origin.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.scheme == Scheme::Https { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority)
    }

    /// The same, whose addresses are chosen by these rules.
    pub(super) fn with_rules(self, rules: Arc<dyn OriginRules>) -> Origin {
        let has_own_pools = !rules.local_addresses().is_empty();
        Origin { address: Arc::new(self.address.with_rules(rules)), has_own_pools, ..self }
    }

    /// The same; its requests fail for this reason.
    pub(super) fn refused(self, why: String) -> Origin {
        Origin { address: Arc::new(Address::refused(why)), ..self }
    }

    /// Look up where it is, before the load.
    pub(super) fn look_up(&self) -> Result<(), CompileError> {
        self.address.look_up().map_err(|error| CompileError::Dns {
            target: self.target.clone(),
            host: self.address.host().to_owned(),
            source: error.into(),
        })
    }

    /// The origin of one kind of a target; none when the target has none of that kind. Where it is may be unknown yet.
    pub(super) fn new(
        target: &str,
        described: &Target,
        kind: OriginKind,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Option<Origin>, CompileError> {
        let authority = match kind {
            OriginKind::Http | OriginKind::WebSocket => {
                described.http.as_ref().map(|o| (o.scheme, &o.host, o.port))
            }
            OriginKind::Grpc => described.grpc.as_ref().map(|o| (o.scheme, &o.host, o.port)),
        };
        let Some((scheme, host, port)) = authority else { return Ok(None) };
        let address = HostPort { host, port };
        let connecting = &described.connecting;
        let is_secure = scheme == workload::Scheme::Https;
        let protocol = match (kind, connecting.http) {
            (OriginKind::WebSocket, _) => Some(WireProtocol::Http1),
            (OriginKind::Grpc, _) | (_, HttpVersion::Http2) => Some(WireProtocol::Http2),
            (_, HttpVersion::Auto) if is_secure => None,
            (_, HttpVersion::Auto | HttpVersion::Http1) => Some(WireProtocol::Http1),
        };
        let tls = match tls.filter(|_| is_secure) {
            Some(config) => Some(TlsPeer::new(config, target, host, protocol)?),
            None => None,
        };
        let written = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let is_default = port == scheme.default_port();
        let authority = if is_default { written } else { format!("{written}:{port}") };
        let proxy = match &connecting.proxy {
            None => ProxyMode::Direct,
            Some(proxy) if !is_secure && protocol == Some(WireProtocol::Http1) => {
                ProxyMode::Relay { authorization: proxy.authorization() }
            }
            Some(proxy) => ProxyMode::Tunnel(proxy.tunnel_request(host, port).into_bytes().into()),
        };
        Ok(Some(Origin {
            target: target.to_owned(),
            kind,
            scheme: if is_secure { Scheme::Https } else { Scheme::Http },
            protocol,
            tls,
            address: Arc::new(address_of(address, connecting)),
            proxy,
            authority,
            connections: connecting.connections.map(|n| n.max(1) as usize),
            max_idle: usize::MAX,
            announces_close: connecting.reuse == Some(Reuse::Never),
            has_own_pools: false,
            reuse: connecting.reuse,
            order: connecting.connection_order,
            retry: connecting.retry,
            cookies: described.cookies && kind == OriginKind::Http,
            fresh_cookies: described.fresh_cookies,
        }))
    }
}

fn address_of(address: HostPort<'_>, connecting: &Connecting) -> Address {
    if let Some(path) = &connecting.unix {
        return Address::unix(path.into());
    }
    let (name, port) = match (&connecting.proxy, &connecting.connect_to) {
        (Some(proxy), _) => (proxy.host.as_str(), proxy.port),
        (None, Some((host, port))) => (host.as_str(), *port),
        (None, None) => (address.host, address.port),
    };
    let Connecting { dns, ip, .. } = *connecting;
    let (name, ttl) = (name.to_owned(), connecting.dns_ttl());
    let from = connecting.local_addresses.clone();
    Address::by_name(HostLookup { name, port, dns, ip, from, ttl, rules: None })
}
