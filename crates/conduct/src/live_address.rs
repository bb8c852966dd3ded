//! Where a live page is served.

use std::net::IpAddr;
use std::str::FromStr;

/// Where a live page is served, as `--live=ADDR` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveAddress {
    /// An address of this machine, or a name of one.
    pub host: String,
    /// None: the first that is free of those from [`LiveAddress::FIRST_PORT`] on.
    pub port: Option<u16>,
}

/// An address that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address to serve a page at: expected HOST:PORT, PORT or HOST, such as 127.0.0.1:5665"
)]
pub struct UnusableAddress(String);

impl LiveAddress {
    /// The port of a page for which none is given, unless it is taken.
    pub const FIRST_PORT: u16 = 5665;
    /// How many ports are tried, from that one on.
    pub const PORTS: u16 = 10;

    const LOOPBACK: &str = "127.0.0.1";
}

impl FromStr for LiveAddress {
    type Err = UnusableAddress;

    fn from_str(text: &str) -> Result<LiveAddress, UnusableAddress> {
        let (host, port) = match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() => (text, None),
            // A port alone.
            _ if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) => ("", Some(text)),
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            Some(_) if !text.ends_with(']') => return Err(UnusableAddress(text.to_owned())),
            _ => (text, None),
        };
        let port = port.map(str::parse).transpose().map_err(|_| UnusableAddress(text.to_owned()))?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        // A port with letters behind it is not a name.
        let is_misspelt = host.starts_with(|c: char| c.is_ascii_digit()) && !host.contains(['.', ':', '-']);
        if !host.chars().all(is_name) || is_misspelt {
            return Err(UnusableAddress(text.to_owned()));
        }
        let host = if host.is_empty() { Self::LOOPBACK } else { host };
        Ok(LiveAddress { host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_a_port_or_both() {
        let of = |text: &str| text.parse::<LiveAddress>().map(|of| (of.host, of.port)).ok();
        let read = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(of(""), read("127.0.0.1", None));
        assert_eq!(of(":8080"), read("127.0.0.1", Some(8080)));
        assert_eq!(of("8080"), read("127.0.0.1", Some(8080)));
        assert_eq!(of("0.0.0.0:80"), read("0.0.0.0", Some(80)));
        assert_eq!(of("load.example"), read("load.example", None));
        assert_eq!(of("load.example:0"), read("load.example", Some(0)));
        for v6 in ["::1", "[::1]"] {
            assert_eq!(of(v6), read("::1", None), "{v6}");
        }
        assert_eq!(of("[::1]:80"), read("::1", Some(80)));
        for wrong in [
            "http://127.0.0.1",
            "5665x",
            "localhost:port",
            "localhost:99999",
            "99999",
            "a b:1",
            "::x:1",
            "user@host:1",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
