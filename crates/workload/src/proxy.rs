//! HTTP proxies: how one is named by users and their environment, and how a tunnel through it is requested.

use core::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::address::{Origin, Scheme, authority_of, authority_text, percent_decoded};

/// An HTTP proxy. It relays HTTP/1.1 in cleartext request by request; all else goes through a tunnel (`CONNECT`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Credentials for the proxy. Never stored.
    #[serde(skip)]
    pub user: Option<ProxyUser>,
}

/// `name:password`. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUser(String);

impl std::fmt::Debug for ProxyUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyUser(…)")
    }
}

impl Proxy {
    /// Read `http://[user:password@]host[:port]`; the scheme may be left out. The default port is 80.
    ///
    /// # Errors
    /// A message that never contains the password.
    pub fn parse(text: &str) -> Result<Proxy, String> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some((scheme, _)) => {
                return Err(format!(
                    "proxies are used over cleartext HTTP, not over `{scheme}`; write `http://`"
                ));
            }
            None => text,
        };
        let rest = rest.trim_end_matches('/');
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(ProxyUser(percent_decoded(user))), authority),
            None => (None, rest),
        };
        let (host, port) = authority_of(authority, Some(Scheme::Http.default_port()))?;
        Ok(Proxy { host, port, user })
    }

    /// The value of `proxy-authorization` (RFC 7617); none without credentials.
    pub fn authorization(&self) -> Option<String> {
        self.user.as_ref().map(|user| format!("Basic {}", BASE64_STANDARD.encode(&user.0)))
    }

    /// The request for a tunnel to a host, without brackets, and its port (RFC 9110, section 9.3.6).
    pub fn tunnel_request(&self, host: &str, port: u16) -> String {
        let authority = authority_text(host, port);
        let credentials =
            self.authorization().map(|text| format!("proxy-authorization: {text}\r\n")).unwrap_or_default();
        format!("CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n{credentials}\r\n")
    }
}

/// The proxy that the environment names for a target, like curl and Go: `http_proxy` or `https_proxy`, else
/// `all_proxy`, in lower or upper case; none for this machine itself, and for hosts in `no_proxy`.
///
/// # Errors
/// A message that names the variable, if its value is not a proxy.
pub fn from_environment(
    target: &Origin,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    let variable = |names: &[&'static str]| {
        let named = names.iter().map(|name| (*name, env(name)));
        named
            .filter_map(|(name, value)| value.filter(|text| !text.is_empty()).map(|text| (name, text)))
            .next()
    };
    let names: &[&str] = match target.scheme {
        Scheme::Http => &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
        Scheme::Https => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
    };
    let Some((name, text)) = variable(names) else { return Ok(None) };
    let exempt = variable(&["no_proxy", "NO_PROXY"]).map(|(_, text)| text).unwrap_or_default();
    if is_this_machine(&target.host) || exempt.split(',').any(|entry| is_exempt(entry.trim(), target)) {
        return Ok(None);
    }
    Proxy::parse(&text).map(Some).map_err(|why| format!("the environment variable `{name}`: {why}"))
}

fn is_this_machine(host: &str) -> bool {
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

/// Whether an entry of `no_proxy` names the target's host: `*`, a domain with its subdomains, an address, or a range
/// of addresses; an entry with a port applies to that port only.
fn is_exempt(entry: &str, target: &Origin) -> bool {
    if entry == "*" {
        return true;
    }
    if let (Some((network, bits)), Ok(address)) = (entry.split_once('/'), target.host.parse::<IpAddr>()) {
        return network.parse().is_ok_and(|network| is_within(address, network, bits));
    }
    let named = match entry.rsplit_once(':') {
        Some((name, number)) if !name.contains(':') && number.parse() == Ok(target.port) => name,
        Some((name, number)) if !name.contains(':') && number.parse::<u16>().is_ok() => return false,
        _ => entry,
    };
    let named = named.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
    let host = target.host.to_ascii_lowercase();
    !named.is_empty()
        && (host == named || host.strip_suffix(&named).is_some_and(|front| front.ends_with('.')))
}

/// Whether the first `bits` bits of `address` are those of `network`.
fn is_within(address: IpAddr, network: IpAddr, bits: &str) -> bool {
    let Ok(bits) = bits.parse::<u32>() else { return false };
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let shift = 32 - bits;
            u64::from(address.to_bits()) >> shift == u64::from(network.to_bits()) >> shift
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            let differing = address.to_bits() ^ network.to_bits();
            bits == 0 || differing >> (128 - bits) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_with_their_user_and_shown_without() {
        let proxy = Proxy::parse("http://ann:p%40ss@proxy.example:3128/").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        assert_eq!(proxy.authorization().as_deref(), Some("Basic YW5uOnBAc3M="));
        let tunnel = "CONNECT [::1]:443 HTTP/1.1\r\nhost: [::1]:443\r\nproxy-authorization: Basic YW5uOnBAc3M=\r\n\r\n";
        assert_eq!(proxy.tunnel_request("::1", 443), tunnel);
        assert!(!format!("{proxy:?}{}", serde_json::to_string(&proxy).unwrap()).contains("p@ss"));
        assert_eq!(Proxy::parse("[::1]:8080").unwrap().host, "::1");
        assert_eq!(Proxy::parse("proxy").unwrap().port, 80);
        let refused = Proxy::parse("socks5://ann:secret@h:1").unwrap_err();
        assert!(refused.contains("socks5") && !refused.contains("secret"), "{refused}");
        assert!(!Proxy::parse("http://ann:secret@h:x").unwrap_err().contains("secret"));
    }

    fn http(host: &str, port: u16) -> Origin {
        Origin { scheme: Scheme::Http, host: host.to_owned(), port }
    }

    fn chosen(target: &Origin, variables: &[(&str, &str)]) -> Option<String> {
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        from_environment(target, &env).unwrap().map(|proxy| proxy.host)
    }

    #[test]
    fn the_environment_names_a_proxy_by_scheme() {
        let all = [("HTTP_PROXY", "http://a:1"), ("https_proxy", "http://b:1"), ("ALL_PROXY", "http://c:1")];
        let secure = Origin { scheme: Scheme::Https, ..http("x.example", 443) };
        assert_eq!(chosen(&http("x.example", 80), &all).as_deref(), Some("a"));
        assert_eq!(chosen(&secure, &all).as_deref(), Some("b"));
        assert_eq!(chosen(&secure, &all[2..]).as_deref(), Some("c"));
        assert_eq!(chosen(&http("x.example", 80), &[("HTTP_PROXY", "")]), None);
        for own in ["localhost", "127.0.0.1", "127.9.9.9", "::1"] {
            assert_eq!(chosen(&http(own, 80), &all), None, "{own}");
        }
    }

    #[test]
    fn hosts_in_no_proxy_are_reached_directly() {
        let list = "internal.example, .corp.example,10.0.0.0/8,192.0.2.7,only.example:8080,fd00::/8";
        let of = |host: &str, port| chosen(&http(host, port), &[("http_proxy", "p:1"), ("NO_PROXY", list)]);
        for direct in
            ["internal.example", "a.INTERNAL.example", "a.corp.example", "10.1.2.3", "192.0.2.7", "fd12::1"]
        {
            assert_eq!(of(direct, 80), None, "{direct}");
        }
        for proxied in ["notinternal.example", "internal.example.org", "11.0.0.1", "192.0.2.8", "fe80::1"] {
            assert_eq!(of(proxied, 80).as_deref(), Some("p"), "{proxied}");
        }
        assert_eq!((of("only.example", 8080), of("only.example", 80).as_deref()), (None, Some("p")));
        assert_eq!(chosen(&http("any.example", 1), &[("http_proxy", "p:1"), ("no_proxy", "*")]), None);
    }
}
