//! The cookies of one virtual user: what targets set, and what is sent back (the part of RFC 6265 that tells
//! whose cookie goes where, and until when).

use std::time::Duration;

use evidence::Instant;
use wire::Scheme;

use super::PlanIteration;
use crate::iteration::Context;
use crate::operation::{Draft, Response};
use crate::program::Origin;

/// The most cookies that a virtual user keeps; the oldest give way.
const MAX_COOKIES: usize = 50;
/// The longest cookie, name, value and attributes together.
const MAX_COOKIE_BYTES: usize = 4096;

/// The cookies of one virtual user.
#[derive(Debug, Default)]
pub(super) struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    /// In lower case.
    domain: String,
    /// Whether hosts below the domain get it too.
    reach: Reach,
    path: String,
    is_secure: bool,
    /// None: as long as the virtual user lives.
    until: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Host,
    Below,
}

/// Where a request goes, as cookies see it.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    host: &'a str,
    path: &'a str,
    scheme: Scheme,
}

/// Now, on the run's clock and on everybody's.
#[derive(Debug, Clone, Copy)]
struct Now {
    at: Instant,
    /// Nanoseconds since 1970 at the run's epoch.
    epoch_unix_ns: i128,
}

impl PlanIteration {
    /// Keep what the response to the current request sets, where its target's cookies are kept.
    pub(super) fn jar_in(&mut self, response: &Response, context: &Context<'_>) {
        let Some(draft) = context.completed_draft() else { return };
        let origin = &self.program.origins[draft.origin];
        if !origin.cookies {
            return;
        }
        let path = String::from_utf8_lossy(&draft.path).into_owned();
        let now = Now { at: context.now, epoch_unix_ns: self.program.epoch_unix_ns };
        let set = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        for (_, line) in set {
            self.jar.set(line, place(origin, &path), now);
        }
    }

    /// Add what the jar holds for a request.
    pub(super) fn jar_out(&self, draft: &mut Draft, now: Instant) {
        let origin = &self.program.origins[draft.origin];
        if !origin.cookies || self.jar.cookies.is_empty() {
            return;
        }
        let path = String::from_utf8_lossy(&draft.path).into_owned();
        let mut line = Vec::new();
        self.jar.write(place(origin, &path), now, &mut line);
        if !line.is_empty() {
            draft.headers.push(b"cookie", &line);
        }
    }
}

fn place<'a>(origin: &'a Origin, path: &'a str) -> Place<'a> {
    let authority = &origin.authority;
    let host = match authority.rfind(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or_default(),
    };
    let path = path.split('?').next().unwrap_or_default();
    Place { host, path, scheme: origin.scheme }
}

impl Jar {
    /// Take in a `set-cookie` line; one that is none, or not the host's to set, is passed over.
    fn set(&mut self, line: &[u8], from: Place<'_>, now: Now) {
        let Some(cookie) = Cookie::parse(line, from, now) else { return };
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

    /// Append the value of a `cookie` header: longer paths first, then older cookies (section 5.4).
    fn write(&self, to: Place<'_>, now: Instant, out: &mut Vec<u8>) {
        let mut due: Vec<&Cookie> =
            self.cookies.iter().filter(|c| c.is_alive(now) && c.goes_to(to)).collect();
        due.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for cookie in due {
            if !out.is_empty() {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
    }
}

impl Cookie {
    /// Section 5.2 and 5.3.
    fn parse(line: &[u8], from: Place<'_>, now: Now) -> Option<Cookie> {
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
            reach: Reach::Host,
            path: default_path(from.path).to_owned(),
            is_secure: false,
            until: None,
        };
        let mut max_age = None;
        for part in parts {
            let part = str::from_utf8(part).ok()?;
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => cookie.widen(value, &host)?,
                "path" if value.starts_with('/') => cookie.path = value.to_owned(),
                "secure" => cookie.is_secure = true,
                "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
                "expires" => cookie.until = date(value).map(|unix_s| now.instant_of(unix_s)),
                _ => {}
            }
        }
        if let Some(seconds) = max_age {
            let life = Duration::from_secs(seconds.max(0) as u64);
            cookie.until = Some(if seconds > 0 { now.at + life } else { Instant::EPOCH });
        }
        Some(cookie)
    }

    /// Give it to hosts below `domain` too. None when it is not this host's to give.
    fn widen(&mut self, domain: &str, host: &str) -> Option<()> {
        let domain = domain.trim_start_matches('.').to_ascii_lowercase();
        if domain.is_empty() || domain == host {
            self.reach = if domain.is_empty() { Reach::Host } else { Reach::Below };
            return Some(());
        }
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        // A domain without a dot is everybody's.
        if is_address || !domain.contains('.') || !is_below(host, &domain) {
            return None;
        }
        self.domain = domain;
        self.reach = Reach::Below;
        Some(())
    }

    fn is_alive(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    fn goes_to(&self, to: Place<'_>) -> bool {
        let is_host = to.host.eq_ignore_ascii_case(&self.domain);
        let is_theirs =
            is_host || (self.reach == Reach::Below && is_below(&to.host.to_ascii_lowercase(), &self.domain));
        let is_on_path = to
            .path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        is_theirs && is_on_path && (!self.is_secure || to.scheme == Scheme::Https)
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Section 5.1.4.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(slash) if slash > 0 => &path[..slash],
        _ => "/",
    }
}

impl Now {
    fn instant_of(self, unix_s: i64) -> Instant {
        let ns = i128::from(unix_s) * 1_000_000_000 - self.epoch_unix_ns;
        Instant::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX - 1))
    }
}

/// Seconds since 1970 of a date as servers write it: `Sun, 06 Nov 1994 08:49:37 GMT`, also with dashes.
fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut parts = text.split([' ', '-']).filter(|part| !part.is_empty());
    let day: i64 = parts.next()?.parse().ok()?;
    let month = parts.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|known| *known == month)? as i64 + 1;
    let year: i64 = parts.next()?.parse().ok()?;
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let mut time = parts.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_sound = (1..=31).contains(&day) && (1601..=9999).contains(&year);
    if !is_sound || !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..61).contains(&second) {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days since 1970, by H. Hinnant's algorithm,
/// <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests;
