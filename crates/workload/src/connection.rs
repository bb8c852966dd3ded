//! How a target is connected to: as which protocol, under TLS or not, over how many connections, and where.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::proxy::Proxy;

/// Whether what is said goes under TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Cleartext.
    #[default]
    Http,
    /// Under TLS.
    Https,
}

impl Scheme {
    /// As a URL begins with it, without `://`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Which version of HTTP an HTTP target is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Under TLS what is agreed on by ALPN, in cleartext HTTP/1.1.
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

/// For how long a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// As long as the peer keeps it open, by every virtual user in turn.
    #[default]
    Always,
    /// For one request.
    Never,
    /// For the requests of one iteration.
    Iteration,
}

/// Which of the addresses of a name are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dns {
    /// All, one connection after another.
    #[default]
    Spread,
    /// The first that answers, in the system's order.
    First,
}

/// Which kind of addresses is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IpVersion {
    /// Either.
    #[default]
    #[serde(rename = "any")]
    Any,
    /// IPv4 alone.
    #[serde(rename = "4")]
    V4,
    /// IPv6 alone.
    #[serde(rename = "6")]
    V6,
}

/// Whom to trust under TLS, and who we are. Paths are relative to the plan's folder; what is in the files is
/// kept out of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsSettings {
    /// The authorities that are trusted instead of the system's: a file of PEM certificates.
    pub ca: Option<String>,
    /// The certificate we show: a file of PEM certificates, ours first.
    pub cert: Option<String>,
    /// Its private key: a PEM file.
    pub key: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// How a target is connected to. The default is what most targets need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Connecting {
    /// Which version of HTTP is spoken to its `url`.
    pub http: HttpVersion,
    /// How many connections requests are spread over (HTTP/2), or may use at most (HTTP/1.1); of each loop.
    pub connections: Option<u32>,
    /// For how long a connection is used.
    pub reuse: Reuse,
    /// Whom to trust under TLS.
    pub tls: TlsSettings,
    /// Connect here instead, host and port; requests and certificates still name the target.
    pub connect_to: Option<(String, u16)>,
    /// Connect to this Unix socket instead.
    pub unix: Option<String>,
    /// Go through this proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Connect from this address of this machine.
    pub local_address: Option<IpAddr>,
    /// Which of the addresses of a name are used.
    pub dns: Dns,
    /// Which kind of addresses is used.
    pub ip: IpVersion,
}

impl Connecting {
    /// Whether this is what most targets need.
    pub fn is_default(&self) -> bool {
        *self == Connecting::default()
    }
}
