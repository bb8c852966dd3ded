//! URLs of scripts.

use std::fmt;

/// A URL, split where requests need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// Scheme and server, such as `https://host:8443`, without user and password.
    pub(crate) origin: String,
    /// Path and query, in ASCII.
    pub(crate) path: String,
    /// `user:password` that came before the server.
    pub(crate) user: Option<String>,
    /// Origin and path.
    text: String,
}

/// A text that is no URL of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid URL: \"{0}\" needs to be like http://host:port/path")]
pub(crate) struct UrlError(String);

impl Url {
    /// Read a URL. What it has of characters that a request cannot have is percent-encoded.
    ///
    /// # Errors
    /// [`UrlError`] when it has no scheme of HTTP or no server.
    pub(crate) fn parse(text: &str) -> Result<Url, UrlError> {
        let text = text.trim();
        let wrong = || UrlError(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(wrong());
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (user, server) = match authority.rsplit_once('@') {
            Some((user, server)) => (Some(decoded(user)), server),
            None => (None, authority),
        };
        if server.is_empty() || server.starts_with(':') {
            return Err(wrong());
        }
        Ok(Url::of(format!("{scheme}://{}", server.to_ascii_lowercase()), encoded(path), user))
    }

    fn of(origin: String, path: String, user: Option<String>) -> Url {
        Url { text: format!("{origin}{path}"), origin, path, user }
    }

    /// The URL without user and password.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL that a `location` means, as an answer to a request for this one (RFC 3986, section 5.2).
    ///
    /// # Errors
    /// [`UrlError`] when it is a URL of something else than a server.
    pub(crate) fn join(&self, reference: &str) -> Result<Url, UrlError> {
        let reference = reference.trim().split('#').next().unwrap_or_default();
        if let Some(rest) = reference.strip_prefix("//") {
            let scheme = self.origin.split("://").next().unwrap_or("http");
            return Url::parse(&format!("{scheme}://{rest}"));
        }
        let is_absolute = reference.split(['/', '?']).next().is_some_and(|first| first.contains(':'));
        if is_absolute {
            return Url::parse(reference);
        }
        let base = self.path.split('?').next().unwrap_or("/");
        let path = match reference.chars().next() {
            None => self.path.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{base}{reference}"),
            Some(_) => format!("{}{reference}", &base[..=base.rfind('/').unwrap_or(0)]),
        };
        Ok(Url::of(self.origin.clone(), encoded(&without_dots(&path)), None))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Path and query with what is not visible ASCII as `%` and two digits; `/` where there is no path.
fn encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len() + 1);
    if !path.starts_with('/') {
        encoded.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii_graphic()
            && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
        {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// A text with `%` and two digits read as bytes.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[at], digits) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A path without `.` and `..` (RFC 3986, section 5.2.4); the query stays as it is.
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let is_folder = path.ends_with("/.") || path.ends_with("/..");
    let end = if is_folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}{query}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_split_and_encoded() {
        for (text, expected) in [
            ("http://h:1", "http://h:1/"),
            ("HTTP://H:1/a b?c=ä&d=[1]#e", "http://h:1/a%20b?c=%C3%A4&d=[1]"),
            ("https://u:p%40@h/x", "https://h/x"),
            ("http://h?q", "http://h/?q"),
            ("http://[::1]:80/a%20b", "http://[::1]:80/a%20b"),
        ] {
            assert_eq!(Url::parse(text).unwrap().to_string(), expected);
        }
        assert_eq!(Url::parse("https://u:p%40@h/x").unwrap().user.unwrap(), "u:p@");
        for wrong in ["", "h/x", "ftp://h", "http://", "http://:80", "//h"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn locations_are_joined_as_browsers_do() {
        let base = Url::parse("http://h:1/a/b?q=1").unwrap();
        for (location, expected) in [
            ("/x?y#z", "http://h:1/x?y"),
            ("c", "http://h:1/a/c"),
            ("../../c", "http://h:1/c"),
            ("c/..", "http://h:1/a/"),
            ("?q=2", "http://h:1/a/b?q=2"),
            ("", "http://h:1/a/b?q=1"),
            ("//other/x", "http://other/x"),
            ("https://u:p@other:8443", "https://other:8443/"),
        ] {
            assert_eq!(base.join(location).unwrap().to_string(), expected, "{location}");
        }
        assert!(base.join("mailto:x").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_that_a_request_can_have_or_none(text in "\\PC{0,40}", location in "\\PC{0,20}") {
            if let Ok(url) = Url::parse(&format!("http://h{text}")) {
                prop_assert!(url.path.starts_with('/') && url.path.bytes().all(|byte| byte.is_ascii_graphic()));
                if let Ok(joined) = url.join(&location) {
                    prop_assert!(joined.path.starts_with('/') && joined.path.bytes().all(|byte| byte.is_ascii_graphic()));
                }
            }
        }
    }
}
