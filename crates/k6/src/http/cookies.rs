//! Cookies of virtual users: which ones responses and scripts set, and which ones a request has (RFC 6265, section 5; without
//! a list of public suffixes, as in k6).

use std::cell::RefCell;
use std::ffi::CStr;
use std::net::IpAddr;

use super::{SetCookie, Url};
use crate::js::Shared;

/// The most cookies that a jar has; the one that was set first is removed for another.
const MOST_COOKIES: usize = 50;
/// The longest cookie: its name, value, domain and path together.
const MOST_COOKIE_BYTES: usize = 4_096;

/// Who says where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    ByScript,
    /// A server: no cookie that was set under TLS is sent in cleartext.
    ByRedirect,
}

/// The cookies of a virtual user, or those that a script keeps apart.
#[derive(Debug, Default)]
pub(crate) struct CookieJar(RefCell<Vec<StoredCookie>>);

impl Shared for CookieJar {
    const CLASS: &'static CStr = c"CookieJar";
}

#[derive(Debug, Clone, PartialEq)]
struct StoredCookie {
    name: String,
    value: String,
    is_quoted: bool,
    domain: String,
    /// Whether it is for this host alone.
    is_of_host: bool,
    path: String,
    secure: bool,
    was_set_under_tls: bool,
    /// Milliseconds since 1970.
    ends_ms: Option<f64>,
}

impl StoredCookie {
    fn is_for(&self, url: &Url, sending: Sending, now_ms: f64) -> bool {
        let host = url.host();
        let is_of_domain = host == self.domain
            || !self.is_of_host && host.strip_suffix(&self.domain).is_some_and(|rest| rest.ends_with('.'));
        let is_below = |path: &str| {
            path.strip_prefix(&self.path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'))
        };
        is_of_domain
            && is_below(url.path_alone())
            && (!self.secure || url.is_https() || url.is_loopback())
            && (sending == Sending::ByScript || !self.was_set_under_tls || url.is_https())
            && self.ends_ms.is_none_or(|end| end > now_ms)
    }
}

impl CookieJar {
    /// Set a cookie as a response for this URL does, or end it. One that is too long is left out.
    pub(crate) fn set(&self, url: &Url, cookie: SetCookie, now_ms: f64) {
        let host = url.host();
        let Some(domain) = domain(host, &cookie.domain) else { return };
        let is_of_host = domain.is_empty();
        let stored = StoredCookie {
            domain: if is_of_host { host.to_owned() } else { domain },
            is_of_host,
            path: if cookie.path.starts_with('/') { cookie.path } else { default_path(url).to_owned() },
            ends_ms: if cookie.max_age == 0 {
                cookie.expires_ms
            } else {
                Some(now_ms + cookie.max_age as f64 * 1e3)
            },
            name: cookie.name,
            value: cookie.value,
            is_quoted: cookie.is_quoted,
            secure: cookie.secure,
            was_set_under_tls: url.is_https(),
        };
        if stored.name.len() + stored.value.len() + stored.domain.len() + stored.path.len()
            > MOST_COOKIE_BYTES
        {
            return;
        }
        let all = &mut *self.0.borrow_mut();
        let is_same = |known: &StoredCookie| {
            known.name == stored.name && known.domain == stored.domain && known.path == stored.path
        };
        let known = all.iter().position(is_same);
        let is_over = stored.ends_ms.is_some_and(|end| end <= now_ms);
        match known {
            Some(at) if is_over => drop(all.remove(at)),
            Some(at) => all[at] = stored,
            None if is_over => {}
            None => {
                if all.len() == MOST_COOKIES {
                    all.remove(0);
                }
                all.push(stored);
            }
        }
    }

    /// Set what the lines of a response say.
    pub(crate) fn set_lines<'a>(&self, url: &Url, lines: impl Iterator<Item = &'a [u8]>, now_ms: f64) {
        for cookie in lines.filter_map(|line| SetCookie::parse(&String::from_utf8_lossy(line))) {
            self.set(url, cookie, now_ms);
        }
    }

    /// End the cookie of this name that a response for the URL could set without a domain and a path.
    pub(crate) fn delete(&self, url: &Url, name: &str) {
        let is_it = |cookie: &StoredCookie| {
            cookie.name == name && cookie.domain == url.host() && cookie.path == default_path(url)
        };
        self.0.borrow_mut().retain(|cookie| !is_it(cookie));
    }

    /// The names and values of the cookies that a request for this URL has: those of longer paths first.
    pub(crate) fn for_url(&self, url: &Url, now_ms: f64) -> Vec<(String, String)> {
        let selected = self.selected(url, Sending::ByScript, now_ms).into_iter();
        selected.map(|cookie| (cookie.name, cookie.value)).collect()
    }

    /// The same, as pairs of the header `Cookie`.
    pub(crate) fn pairs(&self, url: &Url, sending: Sending, now_ms: f64) -> Vec<String> {
        let pair = |cookie: StoredCookie| match cookie.is_quoted {
            true => format!("{}=\"{}\"", cookie.name, cookie.value),
            false => pair(&cookie.name, &cookie.value),
        };
        self.selected(url, sending, now_ms).into_iter().map(pair).collect()
    }

    fn selected(&self, url: &Url, sending: Sending, now_ms: f64) -> Vec<StoredCookie> {
        let jar = self.0.borrow();
        let mut selected: Vec<StoredCookie> =
            jar.iter().filter(|cookie| cookie.is_for(url, sending, now_ms)).cloned().collect();
        selected.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        selected
    }
}

/// A pair of the header `Cookie`, without what a value cannot have; a value with a space or a comma is quoted.
pub(crate) fn pair(name: &str, value: &str) -> String {
    let is_valid = |character: &char| matches!(character, ' '..='~') && !"\";\\".contains(*character);
    let value: String = value.chars().filter(is_valid).collect();
    let name = name.replace(['\r', '\n'], "-");
    if value.contains([' ', ',']) { format!("{name}=\"{value}\"") } else { format!("{name}={value}") }
}

/// The domain that a host may set cookies for, empty for itself alone; none where it may not set this one.
fn domain(host: &str, given: &str) -> Option<String> {
    let domain = given.strip_prefix('.').unwrap_or(given).to_ascii_lowercase();
    let is_address = host.parse::<IpAddr>().is_ok();
    if given.is_empty() || is_address && domain == host {
        return Some(String::new());
    }
    let is_above = domain == host || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'));
    let is_domain = !domain.is_empty() && !domain.starts_with('.') && !domain.ends_with('.');
    (is_domain && is_above && !is_address).then_some(domain)
}

/// The folder of a URL's path.
fn default_path(url: &Url) -> &str {
    let path = url.path_alone();
    &path[..path.rfind('/').unwrap_or(0).max(1)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(jar: &CookieJar, url: &str) -> String {
        jar.pairs(&Url::parse(url).unwrap(), Sending::ByScript, 0.0).join("; ")
    }

    fn set(jar: &CookieJar, url: &str, line: &str) {
        jar.set_lines(&Url::parse(url).unwrap(), [line.as_bytes()].into_iter(), 0.0);
    }

    #[test]
    fn cookies_are_sent_where_they_belong() {
        let jar = CookieJar::default();
        for line in
            ["a=1", "b=2; Path=/sub", "d=\"q z\"; Secure", "e=5; Max-Age=9", "g=7; Domain=example.com"]
        {
            set(&jar, "http://127.0.0.1:1/x", line);
        }
        set(&jar, "http://sub.example.com/a/b", "s=1; Domain=.Example.com; Secure");
        set(&jar, "http://sub.example.com/a/b", "own=1");
        for (url, expected) in [
            ("http://127.0.0.1:2/sub/x", "b=2; a=1; d=\"q z\"; e=5"),
            ("http://127.0.0.1/subs", "a=1; d=\"q z\"; e=5"),
            ("https://other.example.com/a/x", "s=1"),
            ("http://other.example.com/a/x", ""),
            ("https://ample.com/a", ""),
            ("https://sub.example.com/a/c", "s=1; own=1"),
            ("https://x.sub.example.com/a/c", "s=1"),
        ] {
            assert_eq!(sent(&jar, url), expected, "{url}");
        }
    }

    #[test]
    fn a_cookie_is_replaced_ended_and_deleted() {
        let jar = CookieJar::default();
        let url = "http://h/";
        set(&jar, url, "a=1");
        set(&jar, url, "b=1");
        set(&jar, url, "a=2");
        assert_eq!(sent(&jar, url), "a=2; b=1");
        set(&jar, url, "a=3; Max-Age=0");
        set(&jar, url, "b=3; Expires=Wed, 21 Oct 1969 07:28:00 GMT");
        set(&jar, url, "c=1; Path=/c");
        jar.delete(&Url::parse("http://h/c/").unwrap(), "c");
        assert_eq!(sent(&jar, "http://h/x"), "");
        assert_eq!(sent(&jar, "http://h/c/x"), "");
        set(&jar, url, "d=1; Max-Age=10");
        assert!(jar.for_url(&Url::parse(url).unwrap(), 10_000.0).is_empty());
    }

    #[test]
    fn a_redirect_to_cleartext_gets_no_cookie_that_was_set_under_tls() {
        let jar = CookieJar::default();
        set(&jar, "https://h/", "a=1");
        set(&jar, "http://h/", "b=1");
        let redirected =
            |url: &str| jar.pairs(&Url::parse(url).unwrap(), Sending::ByRedirect, 0.0).join("; ");
        assert_eq!((redirected("http://h/"), redirected("https://h/")), ("b=1".into(), "a=1; b=1".into()));
        assert_eq!(sent(&jar, "http://h/"), "a=1; b=1");
    }

    #[test]
    fn a_jar_has_as_many_and_as_long_cookies_as_stated() {
        let jar = CookieJar::default();
        for number in 0..1_000 {
            set(&jar, "http://h/", &format!("c{number}={}", "x".repeat(4_000)));
        }
        set(&jar, "http://h/", &format!("long={}", "x".repeat(4_092)));
        set(&jar, "http://h/", &format!("p=1; Path=/{}", "x".repeat(4_096)));
        let pairs = sent(&jar, "http://h/");
        assert!(pairs.starts_with("c950=x") && !pairs.contains("long="));
        assert_eq!(pairs.split("; ").count(), 50);
        assert_eq!(jar.0.borrow().len(), 50);
    }

    #[test]
    fn values_are_quoted_and_cleaned() {
        for (value, expected) in
            [("c d", "n=\"c d\""), ("x,y", "n=\"x,y\""), ("a;b", "n=ab"), ("\u{e4}", "n=")]
        {
            assert_eq!(pair("n", value), expected);
        }
    }

    proptest! {
        #[test]
        fn no_cookie_breaks_a_request(host in "[a-z.]{1,12}", line in "[a-c=; .,/\"]{0,30}\\PC{0,10}") {
            let jar = CookieJar::default();
            if let Ok(url) = Url::parse(&format!("http://{host}/a/b")) {
                set(&jar, &format!("http://{host}/a/b"), &line);
                prop_assert!(jar.pairs(&url, Sending::ByScript, 0.0).iter().all(|pair| pair.bytes().all(|byte| (b' '..0x7f).contains(&byte))));
            }
        }
    }
}
