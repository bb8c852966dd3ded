//! Where requests go, and how they get there.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use wire::Scheme;
use workload::connection::{Connecting, HttpVersion, Reuse};
use workload::model::Target;
use workload::proxy::Proxy;

use super::compile::CompileError;
use super::resolve::{Host, resolve};

/// How many connections HTTP/2 requests are spread over, unless a plan says otherwise.
const SHARED_CONNECTIONS: usize = 4;

/// Whether an origin is called or asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Http,
    Grpc,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Http => "HTTP",
            Kind::Grpc => "gRPC",
        }
    }
}

/// Which protocol a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

/// What a TLS client needs to know of a peer.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    /// With what it offers by ALPN.
    pub(crate) config: Arc<ClientConfig>,
    /// Whose certificate the peer must show.
    pub(crate) name: ServerName<'static>,
}

/// Where connections go.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// To these addresses, at least one, from an address of this machine if one is named.
    Tcp { addresses: Vec<SocketAddr>, local: Option<IpAddr> },
    /// To a Unix socket.
    Unix(PathBuf),
}

impl Route {
    /// How many places there are to connect to.
    pub(crate) fn addresses(&self) -> usize {
        match self {
            Route::Tcp { addresses, .. } => addresses.len(),
            Route::Unix(_) => 1,
        }
    }
}

/// What stands between us and the peer.
#[derive(Debug, Clone)]
pub(crate) enum Via {
    /// Nothing.
    Nobody,
    /// A proxy that is given each request, with this for it.
    Relay { authorization: Option<String> },
    /// A proxy that is first asked, so, to make a tunnel.
    Tunnel(Arc<[u8]>),
}

impl Via {
    fn of(proxy: Option<&Proxy>, (host, port): (&str, u16), is_relayed: bool) -> Via {
        let Some(proxy) = proxy else { return Via::Nobody };
        match is_relayed {
            true => Via::Relay { authorization: proxy.authorization() },
            false => Via::Tunnel(proxy.tunnel_request(host, port).into_bytes().into()),
        }
    }
}

/// Somewhere requests go.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) target: String,
    pub(crate) kind: Kind,
    pub(crate) scheme: Scheme,
    /// None: what the peer chooses in the TLS handshake.
    pub(crate) speaks: Option<Speaks>,
    pub(crate) tls: Option<Tls>,
    pub(crate) route: Route,
    pub(crate) via: Via,
    /// As it stands in `host` and `:authority`.
    pub(crate) authority: String,
    /// The plan's number of connections.
    pub(crate) connections: Option<usize>,
    pub(crate) reuse: Reuse,
    /// Whether virtual users keep the cookies that it sets.
    pub(crate) cookies: bool,
}

impl Origin {
    /// The most connections that a loop opens to it, when they speak this protocol.
    pub(crate) fn most_connections(&self, speaks: Speaks) -> usize {
        let unless_said = match speaks {
            Speaks::Http2 if self.reuse == Reuse::Always => SHARED_CONNECTIONS,
            _ => usize::MAX,
        };
        self.connections.unwrap_or(unless_said)
    }

    /// The URL of a path there.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.scheme == Scheme::Https { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority)
    }

    /// Describe the origin of one kind of a target; none when the target has none.
    pub(super) fn of(
        target: (&str, &Target),
        kind: Kind,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Option<Origin>, CompileError> {
        let (name, described) = target;
        let place = match kind {
            Kind::Http => described.http.as_ref().map(|o| (o.scheme, &o.host, o.port)),
            Kind::Grpc => described.grpc.as_ref().map(|o| (o.scheme, &o.host, o.port)),
        };
        let Some((scheme, host, port)) = place else { return Ok(None) };
        let connecting = &described.connecting;
        let is_secure = scheme == workload::Scheme::Https;
        let speaks = match (kind, connecting.http) {
            (Kind::Grpc, _) | (_, HttpVersion::Http2) => Some(Speaks::Http2),
            (_, HttpVersion::Auto) if is_secure => None,
            (_, HttpVersion::Auto | HttpVersion::Http1) => Some(Speaks::Http1),
        };
        let tls = match tls.filter(|_| is_secure) {
            Some(config) => Some(Tls::new(config, (name, host), speaks)?),
            None => None,
        };
        let written = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let is_default = port == scheme.default_port();
        let authority = if is_default { written } else { format!("{written}:{port}") };
        let connections = match (kind, &described.grpc) {
            (Kind::Grpc, Some(grpc)) if connecting.reuse == Reuse::Always => Some(grpc.connections),
            _ => connecting.connections,
        };
        Ok(Some(Origin {
            target: name.to_owned(),
            kind,
            scheme: if is_secure { Scheme::Https } else { Scheme::Http },
            speaks,
            tls,
            route: route(name, (host, port), connecting)?,
            via: Via::of(
                connecting.proxy.as_ref(),
                (host, port),
                !is_secure && speaks == Some(Speaks::Http1),
            ),
            authority,
            connections: connections.map(|n| n.max(1) as usize),
            reuse: connecting.reuse,
            cookies: described.cookies && kind == Kind::Http,
        }))
    }
}

impl Tls {
    fn new(
        config: &Arc<ClientConfig>,
        (target, host): (&str, &str),
        speaks: Option<Speaks>,
    ) -> Result<Tls, CompileError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| CompileError::Tls {
            target: target.to_owned(),
            what: format!("`{host}` is no name that a certificate can be for"),
        })?;
        let mut config = ClientConfig::clone(config);
        let (h2, http1) = (b"h2".to_vec(), b"http/1.1".to_vec());
        config.alpn_protocols = match speaks {
            Some(Speaks::Http1) => vec![http1],
            Some(Speaks::Http2) => vec![h2],
            None => vec![h2, http1],
        };
        Ok(Tls { config: Arc::new(config), name })
    }
}

fn route(target: &str, (host, port): (&str, u16), connecting: &Connecting) -> Result<Route, CompileError> {
    if let Some(path) = &connecting.unix {
        return Ok(Route::Unix(path.into()));
    }
    let (name, port) = match (&connecting.proxy, &connecting.connect_to) {
        (Some(proxy), _) => (proxy.host.as_str(), proxy.port),
        (None, Some((host, port))) => (host.as_str(), *port),
        (None, None) => (host, port),
    };
    let host = Host { name, port, dns: connecting.dns, ip: connecting.ip, from: connecting.local_address };
    let addresses = resolve(host).map_err(|source| CompileError::Dns {
        target: target.to_owned(),
        host: name.to_owned(),
        source,
    })?;
    Ok(Route::Tcp { addresses, local: connecting.local_address })
}
