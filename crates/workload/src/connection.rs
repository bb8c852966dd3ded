//! How connections to a target are made: HTTP version, TLS, number of connections, addresses.

use core::net::IpAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::address::Scheme;
use crate::proxy::Proxy;

/// Which version of HTTP is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Under TLS the version that ALPN selects, in cleartext HTTP/1.1.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http1,
    /// HTTP/2; in cleartext with prior knowledge.
    #[serde(rename = "2")]
    Http2,
}

/// Whose requests a connection carries, and how long it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// Those of one virtual user, until it ends or the peer closes the connection.
    User,
    /// Those of all virtual users in turn, until the peer closes it.
    #[serde(alias = "always")]
    Pool,
    Iteration,
    /// One request.
    Never,
}

/// Which idle connection of a pool is used next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionOrder {
    /// The one that was used last: as few as possible are busy.
    #[default]
    LastUsed,
    /// The one that was idle for the longest time: none is idle for long.
    LeastRecentlyUsed,
}

/// Which failed requests are sent again, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Those that the peer did not process, according to the protocol.
    #[default]
    Unprocessed,
    /// None.
    Never,
}

/// Whether TLS sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// If the target allows it.
    #[default]
    Allowed,
    /// Never: every handshake is a full one.
    Off,
}

/// Which of a name's addresses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dns {
    /// All, one connection after another.
    #[default]
    Spread,
    /// The first that accepts a connection, in the system's order.
    First,
}

/// Which IP version is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IpVersion {
    /// Either.
    #[default]
    #[serde(rename = "any")]
    Any,
    /// IPv4 only.
    #[serde(rename = "4")]
    V4,
    /// IPv6 only.
    #[serde(rename = "6")]
    V6,
}

/// Trusted authorities and the client's certificate under TLS. Paths are relative to the plan's folder; the files'
/// contents are not part of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsSettings {
    /// A file of PEM certificates: the authorities that are trusted instead of the system's.
    pub ca: Option<String>,
    /// A file of PEM certificates: the client's own first.
    pub cert: Option<String>,
    /// A PEM file: the private key of the client's certificate.
    pub key: Option<String>,
    /// Whether any server certificate is accepted.
    pub insecure: bool,
    /// Whether sessions are resumed.
    #[serde(default)]
    pub resumption: Resumption,
}

/// The contents of the files that `[targets.NAME.tls]` names. One of them is a private key: `Debug` shows sizes only.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct TlsFiles {
    /// Trusted authorities, PEM.
    pub ca: Option<Vec<u8>>,
    /// The client's certificates, PEM.
    pub cert: Option<Vec<u8>>,
    /// The client's private key, PEM.
    pub key: Option<Vec<u8>>,
}

impl std::fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = |file: &Option<Vec<u8>>| file.as_ref().map(Vec::len);
        let (ca, cert, key) = (size(&self.ca), size(&self.cert), size(&self.key));
        f.debug_struct("TlsFiles").field("ca", &ca).field("cert", &cert).field("key", &key).finish()
    }
}

/// How connections to a target are made. The default suits most targets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Connecting {
    /// Which version of HTTP is used for its `url`.
    pub http: HttpVersion,
    /// Of each loop: over how many connections requests are spread (HTTP/2), or how many there may be (HTTP/1.1).
    pub connections: Option<u32>,
    /// Whose requests a connection carries, and how long it is used; none: the default.
    pub reuse: Option<Reuse>,
    /// Which idle connection is used next.
    pub connection_order: ConnectionOrder,
    /// Which failed requests are sent again.
    pub retry: Retry,
    /// Trusted authorities and the client's certificate.
    pub tls: TlsSettings,
    /// Connect to this host and port instead; requests and certificate checks still use the target's name.
    pub connect_to: Option<(String, u16)>,
    /// Connect to this Unix socket instead.
    pub unix: Option<String>,
    /// Connect through this proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Connect from these addresses of this machine, in turn; none: from the system's choice.
    #[serde(rename = "local_address", with = "one_or_several")]
    pub local_addresses: Vec<IpAddr>,
    /// Which of a name's addresses are used.
    pub dns: Dns,
    /// For how long the addresses of a name are used before it is looked up again; none: [`Connecting::DNS_TTL`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_ttl: Option<Duration>,
    /// Which IP version is used.
    pub ip: IpVersion,
}

/// A list as older versions wrote it where it has at most one element: the element, or `null`.
mod one_or_several {
    use core::net::IpAddr;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        None,
        One(IpAddr),
        Several(Vec<IpAddr>),
    }

    pub(super) fn serialize<S: Serializer>(list: &[IpAddr], to: S) -> Result<S::Ok, S::Error> {
        let form = match list {
            [] => Form::None,
            [one] => Form::One(*one),
            several => Form::Several(several.to_vec()),
        };
        form.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<IpAddr>, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::None => Vec::new(),
            Form::One(one) => vec![one],
            Form::Several(several) => several,
        })
    }
}

impl Connecting {
    /// For how long the addresses of a name are used where nothing else is set. The system's resolver does not say how long
    /// they are valid.
    pub const DNS_TTL: Duration = Duration::from_secs(30);

    /// For how long the addresses of a name are used before it is looked up again.
    pub fn dns_ttl(&self) -> Duration {
        self.dns_ttl.unwrap_or(Connecting::DNS_TTL)
    }

    /// Whether every option has its default.
    pub fn is_default(&self) -> bool {
        *self == Connecting::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_local_address_is_written_as_before_there_could_be_several() {
        let stored = |local_addresses: &[&str]| {
            let local_addresses = local_addresses.iter().map(|address| address.parse().unwrap()).collect();
            let connecting = Connecting { local_addresses, ..Connecting::default() };
            let json = serde_json::to_value(&connecting).unwrap();
            assert_eq!(serde_json::from_value::<Connecting>(json.clone()).unwrap(), connecting);
            json["local_address"].to_string()
        };
        assert_eq!(stored(&[]), "null");
        assert_eq!(stored(&["::1"]), "\"::1\"");
        assert_eq!(stored(&["10.0.0.1", "10.0.0.2"]), "[\"10.0.0.1\",\"10.0.0.2\"]");
    }
}
