//! Who may ask for the page. On loopback the header Host keeps out pages of other sites whose names lead here (DNS rebinding), and
//! the header Origin what those pages send. Elsewhere a token is needed as well.

use std::net::{IpAddr, SocketAddr};

use cluster::Token;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{StatusCode, Uri};

/// Who may ask.
pub(super) struct Access {
    at: SocketAddr,
    /// Names under which this machine is asked.
    names: Vec<String>,
    /// None on loopback.
    token: Option<Token>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) why: &'static str,
}

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    AsItIs,
    /// It has the token in its URL: the answer is this cookie, so that the token leaves the URL.
    WithCookie(String),
}

impl Access {
    /// Of a page that is served at `at`, which was given as `host`; with a token if one is needed.
    pub(super) fn new(host: &str, at: SocketAddr, token: Option<Token>) -> Access {
        let mut names = vec!["localhost".to_owned()];
        if host.parse::<IpAddr>().is_err() {
            names.push(host.to_owned());
        }
        if !at.ip().is_loopback() {
            names.extend(machine_name());
        }
        Access { at, names, token }
    }

    /// Where the page is, with the token.
    pub(super) fn url(&self) -> String {
        let port = self.at.port();
        let host = match self.at.ip() {
            ip if ip.is_unspecified() => machine_name().unwrap_or_else(|| "localhost".to_owned()),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        match &self.token {
            None => format!("http://{host}:{port}/"),
            Some(token) => format!("http://{host}:{port}/?token={}", token.text()),
        }
    }

    /// Whether a request with this address and these headers is answered.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Allowed, Refused> {
        let host = self.host(uri, headers)?;
        if let Some(origin) = single(headers, &ORIGIN)? {
            let of_origin = origin.split_once("://").map(|(_, host)| host);
            if of_origin != Some(host) {
                return Err(refused(StatusCode::FORBIDDEN, "pages of other sites may not ask"));
            }
        }
        let Some(token) = &self.token else { return Ok(Allowed::AsItIs) };
        let bearer = single(headers, &AUTHORIZATION)?.and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies =
            cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let name = self.cookie_name();
        let of_page = cookies.filter(|(found, _)| *found == name).map(|(_, value)| value);
        if bearer.into_iter().chain(of_page).any(|presented| token.is(presented)) {
            return Ok(Allowed::AsItIs);
        }
        let parameters = uri.query().unwrap_or_default().split('&');
        match parameters.filter_map(|pair| pair.strip_prefix("token=")).any(|given| token.is(given)) {
            true => {
                let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", token.text());
                Ok(Allowed::WithCookie(cookie))
            }
            false => Err(refused(
                StatusCode::UNAUTHORIZED,
                "the token is missing: use the address that plimsoll has printed, or the header Authorization: Bearer TOKEN",
            )),
        }
    }

    /// Cookies are of all ports of a machine: each page has its own.
    fn cookie_name(&self) -> String {
        format!("plimsoll-{}", self.at.port())
    }

    /// The host that is asked, with its port, if that can be this page.
    fn host<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> Result<&'a str, Refused> {
        let other = refused(
            StatusCode::MISDIRECTED_REQUEST,
            "this page is not of that host; ask by an IP address of this machine, or by the name given in --live=NAME:PORT",
        );
        let Some(text) = single(headers, &HOST)? else {
            return Err(refused(StatusCode::BAD_REQUEST, "the header Host is missing"));
        };
        let is_whole = |uri: &Uri| uri.authority().is_none_or(|authority| authority.as_str() == text);
        match text.parse::<Authority>() {
            Ok(host) if is_whole(uri) && !text.contains('@') && self.is_own(host.host()) => Ok(text),
            _ => Err(other),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match literal.parse::<IpAddr>() {
            // A site that leads its name here has no use of addresses. Those beyond loopback reach no page that listens there.
            Ok(ip) => ip.is_loopback() || ip == self.at.ip() || self.token.is_some(),
            Err(_) => self.names.iter().any(|name| name.eq_ignore_ascii_case(host)),
        }
    }
}

fn refused(status: StatusCode, why: &'static str) -> Refused {
    Refused { status, why }
}

/// The value of a header; one that comes twice, or is not text, may be read in two ways.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) if value.to_str().is_ok() => Ok(value.to_str().ok()),
        _ => Err(refused(StatusCode::BAD_REQUEST, "a header comes twice, or is not text")),
    }
}

/// The name that this machine gives itself.
fn machine_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    (!name.is_empty() && name != "(none)").then_some(name)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn status(access: &Access, uri: &str, of: &[(&'static str, &str)]) -> u16 {
        match access.check(&uri.parse().unwrap(), &headers(of)) {
            Ok(Allowed::AsItIs) => 200,
            Ok(Allowed::WithCookie(_)) => 303,
            Err(refused) => refused.status.as_u16(),
        }
    }

    #[test]
    fn on_loopback_only_names_of_loopback_and_pages_from_there_are_answered() {
        let access = Access::new("127.0.0.1", "127.0.0.1:5665".parse().unwrap(), None);
        assert_eq!(access.url(), "http://127.0.0.1:5665/");
        // Another port is that of a forwarding, as `ssh -L 8000:127.0.0.1:5665` makes one.
        for host in ["127.0.0.1:5665", "localhost:5665", "LOCALHOST", "[::1]:5665", "127.0.0.1:8000"] {
            assert_eq!(status(&access, "/", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:5665",
            "127.0.0.1.evil.example",
            "localhost@evil.example",
            "localhost.evil.example",
            "192.0.2.1:5665",
            "a b",
            "",
        ] {
            assert_eq!(status(&access, "/", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status(&access, "/", &[]), 400);
        assert_eq!(status(&access, "/", &[("host", "localhost"), ("host", "evil.example")]), 400);
        assert_eq!(status(&access, "http://evil.example/", &[("host", "localhost")]), 421);
        let from = |origin| status(&access, "/marks", &[("host", "localhost:5665"), ("origin", origin)]);
        assert_eq!(from("http://localhost:5665"), 200);
        for origin in ["http://evil.example", "http://localhost:8000", "http://127.0.0.1:5665", "null", ""] {
            assert_eq!(from(origin), 403, "{origin}");
        }
    }

    #[test]
    fn off_loopback_a_token_is_needed_and_leaves_the_url() {
        let token = Token::given("a-token-of-a-page").unwrap();
        let access = Access::new("load.example", "192.0.2.7:80".parse().unwrap(), Some(token));
        assert_eq!(access.url(), "http://192.0.2.7:80/?token=a-token-of-a-page");
        let host = ("host", "load.example");
        assert_eq!(status(&access, "/", &[host]), 401);
        assert_eq!(status(&access, "/?token=a-token-of-b-page", &[host]), 401);
        assert_eq!(status(&access, "/?token=", &[host]), 401);
        assert_eq!(status(&access, "/?a=b&token=a-token-of-a-page", &[host]), 303);
        let with = |name, value| status(&access, "/", &[host, (name, value)]);
        assert_eq!(with("authorization", "Bearer a-token-of-a-page"), 200);
        assert_eq!(with("authorization", "a-token-of-a-page"), 401);
        assert_eq!(with("cookie", "x=y; plimsoll-80=a-token-of-a-page"), 200);
        assert_eq!(with("cookie", "plimsoll-81=a-token-of-a-page"), 401);
        // The token is no reason to answer for another name or another site.
        let whole = ("authorization", "Bearer a-token-of-a-page");
        assert_eq!(status(&access, "/", &[("host", "evil.example"), whole]), 421);
        assert_eq!(status(&access, "/", &[host, whole, ("origin", "http://evil.example")]), 403);
    }
}
