//! The cookies of one virtual user: those that targets set, and those that are sent back (RFC 6265: domains, paths and
//! expiry).

use std::time::Duration;

use evidence::Instant;
use jiff::Unit;
use jiff::civil::{Date, date};
use wire::Scheme;

use super::PlanIteration;
use crate::exchange::{RequestDraft, Response};
use crate::iteration::Context;
use crate::program::Origin;

/// The most cookies that a virtual user keeps; the oldest are dropped.
const MAX_COOKIES: usize = 50;
/// The longest cookie, name, value and attributes together.
const MAX_COOKIE_BYTES: usize = 4096;

/// The cookies of one virtual user.
#[derive(Debug, Clone, Default)]
pub(super) struct CookieJar {
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    /// In lower case.
    domain: String,
    scope: DomainScope,
    path: String,
    is_secure: bool,
    /// None: it does not expire.
    expires: Option<Instant>,
    /// It ends with the iteration in which it was set.
    is_of_iteration: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DomainScope {
    HostOnly,
    /// Subdomains get the cookie too.
    WithSubdomains,
}

/// The parts of a request's URL that decide about cookies.
#[derive(Debug, Clone, Copy)]
struct CookieUrl<'a> {
    host: &'a str,
    path: &'a str,
    scheme: Scheme,
}

/// An instant of the run, which can be compared with dates.
#[derive(Debug, Clone, Copy)]
struct DatedInstant {
    at: Instant,
    /// The time of day then, in nanoseconds since 1970.
    unix_ns: i128,
}

impl PlanIteration {
    /// Store the cookies that the response to the current request sets, if the plan keeps its target's cookies.
    pub(super) fn store_cookies(&mut self, response: &Response, context: &Context<'_>) {
        let Some(draft) = context.completed_draft() else { return };
        let origin = self.program.origin(draft.origin);
        if !origin.cookies {
            return;
        }
        let path = String::from_utf8_lossy(&draft.path).into_owned();
        let now = DatedInstant { at: context.now, unix_ns: context.clock.unix_ns(context.now) };
        let set = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        for (_, line) in set {
            self.cookies.set(line, cookie_url(origin, &path), now, origin.fresh_cookies);
        }
    }

    /// Add the cookies for a request to those of its step, in one header (section 5.4), the last. Returns the value of the
    /// step's own header; none when there are no cookies to add.
    pub(super) fn add_cookies(&self, draft: &mut RequestDraft, now: Instant) -> Option<Vec<u8>> {
        let origin = self.program.origin(draft.origin);
        if !origin.cookies {
            return None;
        }
        let path = String::from_utf8_lossy(&draft.path).into_owned();
        let due = self.cookies.due(cookie_url(origin, &path), now);
        if due.is_empty() {
            return None;
        }
        let mut own = Vec::new();
        let is_cookie = |name: &[u8]| name.eq_ignore_ascii_case(b"cookie");
        for (_, value) in draft.headers.iter().filter(|(name, _)| is_cookie(name)) {
            append(&mut own, value);
        }
        draft.headers.retain(|name| !is_cookie(name));
        draft.headers.push(b"cookie", &line(&own, &due));
        draft.constant = None;
        Some(own)
    }
}

/// The value of a `cookie` header: a step's own cookies, then `due`. Of two with one name, that of the target is sent.
fn line(own: &[u8], due: &[&Cookie]) -> Vec<u8> {
    let mut line = Vec::new();
    for pair in own.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty()) {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        if due.iter().all(|cookie| cookie.name != name) {
            append(&mut line, pair);
        }
    }
    for cookie in due {
        append(&mut line, &cookie.name);
        line.push(b'=');
        line.extend_from_slice(&cookie.value);
    }
    line
}

/// Append a cookie, behind a separator if it is not the first.
fn append(line: &mut Vec<u8>, cookie: &[u8]) {
    if !line.is_empty() {
        line.extend_from_slice(b"; ");
    }
    line.extend_from_slice(cookie);
}

fn cookie_url<'a>(origin: &'a Origin, path: &'a str) -> CookieUrl<'a> {
    let authority = &origin.authority;
    let host = match authority.rfind(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or_default(),
    };
    let path = path.split('?').next().unwrap_or_default();
    CookieUrl { host, path, scheme: origin.scheme }
}

impl CookieJar {
    /// Store the cookie of a `set-cookie` line. A malformed line, or one that the host may not set, is ignored.
    fn set(&mut self, line: &[u8], from: CookieUrl<'_>, now: DatedInstant, is_of_iteration: bool) {
        let Some(cookie) = Cookie::parse(line, from, now) else { return };
        let cookie = Cookie { is_of_iteration, ..cookie };
        let is_same =
            |c: &Cookie| c.name == cookie.name && c.domain == cookie.domain && c.path == cookie.path;
        self.cookies.retain(|known| !is_same(known) && known.is_alive(now.at));
        if !cookie.is_alive(now.at) {
            return;
        }
        if self.cookies.len() == MAX_COOKIES {
            self.cookies.remove(0);
        }
        self.cookies.push(cookie);
    }

    /// Forget the cookies of the iteration before; of those that end with it, the ones of `setup` are as they were.
    pub(super) fn begin_iteration(&mut self, setup: &CookieJar) {
        if self.cookies.iter().any(|cookie| cookie.is_of_iteration) {
            self.cookies.retain(|cookie| !cookie.is_of_iteration);
        }
        self.cookies.extend(setup.cookies.iter().filter(|cookie| cookie.is_of_iteration).cloned());
    }

    /// The cookies of a request: longer paths first, then older cookies (section 5.4).
    fn due(&self, to: CookieUrl<'_>, now: Instant) -> Vec<&Cookie> {
        let mut due: Vec<&Cookie> =
            self.cookies.iter().filter(|c| c.is_alive(now) && c.matches(to)).collect();
        due.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        due
    }
}

impl Cookie {
    /// Section 5.2 and 5.3.
    fn parse(line: &[u8], from: CookieUrl<'_>, now: DatedInstant) -> Option<Cookie> {
        if line.len() > MAX_COOKIE_BYTES || line.iter().any(|byte| byte.is_ascii_control()) {
            return None;
        }
        let mut parts = line.split(|byte| *byte == b';');
        let pair = parts.next()?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        if name.is_empty() {
            return None;
        }
        let host = from.host.to_ascii_lowercase();
        let mut cookie = Cookie {
            name: name.to_vec(),
            value: value.to_vec(),
            domain: host.clone(),
            scope: DomainScope::HostOnly,
            path: default_path(from.path).to_owned(),
            // What came under TLS is not sent in cleartext, with or without the attribute.
            is_secure: from.scheme == Scheme::Https,
            expires: None,
            is_of_iteration: false,
        };
        let mut max_age = None;
        for part in parts {
            let part = str::from_utf8(part).ok()?;
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => cookie.set_domain(value, &host)?,
                "path" if value.starts_with('/') => cookie.path = value.to_owned(),
                "secure" => cookie.is_secure = true,
                "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
                "expires" => cookie.expires = unix_seconds(value).map(|unix_s| now.instant_of(unix_s)),
                _ => {}
            }
        }
        if let Some(seconds) = max_age {
            let max_age = Duration::from_secs(seconds.max(0) as u64);
            cookie.expires = Some(if seconds > 0 { now.at + max_age } else { Instant::EPOCH });
        }
        Some(cookie)
    }

    /// Set the domain attribute. None when this host may not set cookies for that domain.
    fn set_domain(&mut self, domain: &str, host: &str) -> Option<()> {
        let domain = domain.trim_start_matches('.').to_ascii_lowercase();
        if domain.is_empty() || domain == host {
            self.scope = match domain.is_empty() {
                true => DomainScope::HostOnly,
                false => DomainScope::WithSubdomains,
            };
            return Some(());
        }
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        // A domain without a dot is a public suffix.
        if is_address || !domain.contains('.') || !is_subdomain(host, &domain) {
            return None;
        }
        self.domain = domain;
        self.scope = DomainScope::WithSubdomains;
        Some(())
    }

    fn is_alive(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    fn matches(&self, to: CookieUrl<'_>) -> bool {
        let is_host = to.host.eq_ignore_ascii_case(&self.domain);
        let is_domain = is_host
            || (self.scope == DomainScope::WithSubdomains
                && is_subdomain(&to.host.to_ascii_lowercase(), &self.domain));
        let is_on_path = to
            .path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        is_domain && is_on_path && (!self.is_secure || to.scheme == Scheme::Https)
    }
}

fn is_subdomain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Section 5.1.4.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(slash) if slash > 0 => &path[..slash],
        _ => "/",
    }
}

impl DatedInstant {
    fn instant_of(self, unix_s: i64) -> Instant {
        let ns = i128::from(unix_s) * 1_000_000_000 - self.unix_ns + i128::from(self.at.as_nanos());
        Instant::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX - 1))
    }
}

/// Seconds since 1970 of a cookie's expiry date: `Sun, 06 Nov 1994 08:49:37 GMT`, also with dashes.
fn unix_seconds(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut parts = text.split([' ', '-']).filter(|part| !part.is_empty());
    let day: i64 = parts.next()?.parse().ok()?;
    let month = parts.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|known| *known == month)? as i8 + 1;
    let year: i16 = parts.next()?.parse().ok()?;
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let mut time = parts.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_valid = (1..=31).contains(&day) && (1601..=9999).contains(&year);
    if !is_valid || !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..61).contains(&second) {
        return None;
    }
    // Day 31 of a shorter month counts on into the next.
    let month_begins = Date::new(year, month, 1).ok()?.since((Unit::Day, date(1970, 1, 1))).ok()?;
    let days = i64::from(month_begins.get_days()) + day - 1;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests;
