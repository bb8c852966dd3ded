//! URLs of others: where they go, and what of them can be written into a plan.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use workload::HttpOrigin;
use workload::address::with_local_host;

/// What no URL contains as it is.
const UNSAFE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'\\');
/// What a value within a path, a query or a form contains as it is: the unreserved characters of RFC 3986, section 2.3.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitUrl {
    /// Scheme, host and port, the port only where it is not the scheme's own.
    pub(crate) origin: String,
    /// Host name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query as they are sent, beginning with `/`; without the fragment.
    pub(crate) path: String,
    /// `user` or `user:password`, decoded.
    pub(crate) user: Option<String>,
}

/// Split a URL of HTTP; without a scheme it is `http://`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn split(url: &str) -> Result<SplitUrl, String> {
    let url = with_local_host(url);
    let whole: Cow<'_, str> = if url.contains("://") { url } else { format!("http://{url}").into() };
    let start = whole.find("://").map_or(0, |at| at + 3);
    let end = whole[start..].find(['/', '?', '#']).map_or(whole.len(), |at| start + at);
    let (user, authority) = match whole[start..end].rsplit_once('@') {
        Some((user, authority)) => (Some(decoded(user)), authority),
        None => (None, &whole[start..end]),
    };
    let scheme = whole[..start].to_ascii_lowercase();
    let origin = HttpOrigin::parse(&format!("{scheme}{authority}"))?;
    let host = match origin.host.contains(':') {
        true => format!("[{}]", origin.host),
        false => origin.host.clone(),
    };
    let port = match origin.port == origin.scheme.default_port() {
        true => String::new(),
        false => format!(":{}", origin.port),
    };
    let path = whole[end..].split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(SplitUrl {
        origin: format!("{scheme}{host}{port}"),
        host: origin.host,
        port: origin.port,
        path: format!("{slash}{}", as_sent(path)),
        user,
    })
}

/// Path and query with what no URL contains encoded.
pub(crate) fn as_sent(path: &str) -> String {
    utf8_percent_encode(path, UNSAFE).to_string()
}

/// A value within a path, a query or a form, encoded.
pub(crate) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, VALUE).to_string()
}

pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// A path without its segments `.` and `..` (RFC 3986, section 5.2.4); the query stays.
pub(crate) fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let segments: Vec<&str> = path.split('/').collect();
    let mut kept: Vec<&str> = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." && kept.len() > 1 {
                    kept.pop();
                }
                kept.extend(is_last.then_some(""));
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/") + query
}

/// A name or value of a form or a query, in which `+` is a blank.
pub(crate) fn decoded_form(text: &str) -> String {
    decoded(&text.replace('+', " "))
}

/// The path that all URLs of a target begin with.
pub(crate) fn base_path(url: &str) -> String {
    let path = split(url).map(|parts| parts.path).unwrap_or_default();
    path.trim_end_matches('/').to_owned()
}

/// Whether a host is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_what_a_plan_needs() {
        let url = split("HTTPS://me:p%40ss@api.example.com:8443/a b?q=1#top").unwrap();
        assert_eq!(
            (url.origin.as_str(), url.host.as_str()),
            ("https://api.example.com:8443", "api.example.com")
        );
        assert_eq!((url.path.as_str(), url.user.as_deref()), ("/a%20b?q=1", Some("me:p@ss")));
        assert_eq!(split("localhost:80").unwrap().origin, "http://localhost");
        assert_eq!(split("http://[::1]:8000?x").unwrap().path, "/?x");
        for wrong in ["", "ftp://h/", "http://", "http://h:99999/", "http://a b/"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn dots_in_a_path_are_resolved() {
        for (path, expected) in [
            ("/a/../b/./c", "/b/c"),
            ("/../x?a=/../b", "/x?a=/../b"),
            ("/a/..", "/"),
            ("/a/b/.", "/a/b/"),
            ("/", "/"),
        ] {
            assert_eq!(without_dots(path), expected);
        }
    }
}
