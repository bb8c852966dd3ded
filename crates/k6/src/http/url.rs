//! URLs of scripts, read as k6 reads them: a text that is not a URL has another reason than a URL that no request can be sent to.

use std::fmt;
use std::net::IpAddr;

use super::Failure;

/// A URL, split where requests need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    /// Host and port as written, such as `host:8443` or `[::1]:80`.
    authority: String,
    /// Scheme and server, such as `https://host:8443`, without user and password, in lower case.
    pub(crate) origin: String,
    /// Path and query, as a request has them.
    pub(crate) path: String,
    /// `user:password` that came before the server.
    pub(crate) user: Option<String>,
    /// All of it but the user and password.
    text: String,
}

/// A text that is not a URL, and why not, in k6's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse \"{text}\": {why}")]
pub(crate) struct UrlError {
    text: String,
    why: String,
}

impl Url {
    /// Read a URL. What a path has of characters that a request cannot have is percent-encoded.
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be read.
    pub(crate) fn parse(text: &str) -> Result<Url, UrlError> {
        let wrong = |why: String| UrlError { text: text.to_owned(), why };
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(wrong("net/url: invalid control character in URL".to_owned()));
        }
        let (whole, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
        let (scheme, rest) = scheme_of(whole).map_err(|why| wrong(why.to_owned()))?;
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let (user, server) = match authority.rsplit_once('@') {
            Some((user, server)) => (Some(decoded(user)), server),
            None => (None, authority),
        };
        check_server(server).map_err(wrong)?;
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        check_escapes(path).map_err(wrong)?;
        let mut url = Url {
            origin: format!("{scheme}://{}", server.to_ascii_lowercase()),
            scheme,
            authority: server.to_owned(),
            path: String::new(),
            user,
            text: String::new(),
        };
        url.set_path(&format!("{}{}", encoded(path), query.replace(' ', "%20")), fragment);
        if url.scheme.is_empty() || !rest.starts_with("//") {
            url.text = whole.to_owned();
        }
        Ok(url)
    }

    fn set_path(&mut self, path: &str, fragment: &str) {
        self.text = format!("{}://{}{path}{fragment}", self.scheme, self.authority);
        self.path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    }

    /// The same, whose fragment is this one, without `.` and `..` in its path.
    fn without_dots(mut self, fragment: &str) -> Url {
        if self.path.contains("/.") {
            self.set_path(&without_dots(&self.path), fragment);
        }
        self
    }

    /// The URL without user and password.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL as responses show it: with user and password.
    pub(crate) fn shown(&self) -> String {
        match &self.user {
            Some(user) => self.text.replacen("://", &format!("://{user}@"), 1),
            None => self.text.clone(),
        }
    }

    /// Whether requests for it are encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// The name or address of its server, in lower case and without the port.
    pub(crate) fn host(&self) -> &str {
        let server = self.origin.split_once("://").map_or("", |(_, server)| server);
        split_port(server).0.trim_start_matches('[').trim_end_matches(']')
    }

    /// Host and port.
    pub(crate) fn server(&self) -> String {
        let (host, port) = split_port(&self.authority);
        let usual = if self.is_https() { "443" } else { "80" };
        format!("{host}:{}", port.filter(|port| !port.is_empty()).unwrap_or(usual))
    }

    pub(crate) fn path_alone(&self) -> &str {
        self.path.split('?').next().unwrap_or("/")
    }

    /// Why no request can be sent to it.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        if !matches!(self.scheme.as_str(), "http" | "https") {
            return Some(Failure::new(1000, format!("unsupported protocol scheme \"{}\"", self.scheme)));
        }
        let (host, port) = split_port(&self.authority);
        if self.authority.is_empty() {
            return Some(Failure::new(1000, "http: no Host in request URL".to_owned()));
        }
        if host.is_empty() {
            return Some(Failure::new(1101, "lookup: no such host".to_owned()));
        }
        let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
        let port = port.filter(|port| !is_port(port))?;
        Some(Failure::new(1210, format!("dial tcp: address {port}: invalid port")))
    }

    /// The URL that a `location` means, in a response to a request for this one (RFC 3986, section 5.2).
    ///
    /// # Errors
    /// [`UrlError`] when it cannot be read.
    pub(crate) fn join(&self, reference: &str) -> Result<Url, UrlError> {
        let (reference, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
        if reference.starts_with("//") {
            let text = format!("{}:{reference}{fragment}", self.scheme);
            return Ok(Url::parse(&text)?.without_dots(fragment));
        }
        let (scheme, _) = scheme_of(reference)
            .map_err(|why| UrlError { text: reference.to_owned(), why: why.to_owned() })?;
        if !scheme.is_empty() {
            return Ok(Url::parse(&format!("{reference}{fragment}"))?.without_dots(fragment));
        }
        let (path, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
        check_escapes(path).map_err(|why| UrlError { text: reference.to_owned(), why })?;
        // As Go does: a path that becomes another by this may have further dots.
        let reference = format!("{}{query}", encoded(path));
        let base = self.path_alone();
        let path = match reference.chars().next() {
            None => self.path.clone(),
            Some('/') => reference,
            Some('?') => format!("{base}{reference}"),
            Some(_) => format!("{}{reference}", &base[..=base.rfind('/').unwrap_or(0)]),
        };
        let text = format!("{}://{}{}{fragment}", self.scheme, self.authority, without_dots(&path));
        Ok(Url { user: self.user.clone(), ..Url::parse(&text)? })
    }

    /// Whether a reference names its scheme, and by that all that it leads to.
    pub(crate) fn is_absolute(reference: &str) -> bool {
        scheme_of(reference).is_ok_and(|(scheme, _)| !scheme.is_empty())
    }

    /// Whether its server is this computer, so that what is sent there cannot be read on the way.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The scheme in lower case, empty where there is none, and what follows its colon.
fn scheme_of(text: &str) -> Result<(String, &str), &'static str> {
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let end = text.bytes().position(|byte| !is_of_scheme(byte)).unwrap_or(text.len());
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic());
    match text.as_bytes().get(end) {
        Some(b':') if end == 0 => Err("missing protocol scheme"),
        Some(b':') if starts_well => Ok((text[..end].to_ascii_lowercase(), &text[end + 1..])),
        _ if text.split('/').next().is_some_and(|first| first.contains(':')) => {
            Err("first path segment in URL cannot contain colon")
        }
        _ => Ok((String::new(), text)),
    }
}

/// Host and port; the port is what follows the last colon that is outside of brackets.
fn split_port(server: &str) -> (&str, Option<&str>) {
    let after_address = server.rfind(']').map_or(0, |at| at + 1);
    match server[after_address..].rfind(':') {
        Some(colon) => (&server[..after_address + colon], Some(&server[after_address + colon + 1..])),
        None => (server, None),
    }
}

fn check_server(server: &str) -> Result<(), String> {
    if server.starts_with('[') && !server.contains(']') {
        return Err("missing ']' in host".to_owned());
    }
    let (host, port) = split_port(server);
    if let Some(port) = port.filter(|port| !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(format!("invalid port \":{port}\" after host"));
    }
    check_escapes(host)?;
    let is_invalid = |character: &char| character.is_ascii() && " \"<>\\^`{|}".contains(*character);
    match host.chars().find(is_invalid) {
        Some(character) => Err(format!("invalid character {:?} in host name", character.to_string())),
        None => Ok(()),
    }
}

/// That two digits follow each `%`.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(format!("invalid URL escape {:?}", text[at..].chars().take(3).collect::<String>()));
        }
    }
    Ok(())
}

/// A path as it is where a request can have it; else all of it with what is not plain as `%` and two digits.
fn encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
    if path.bytes().all(|byte| is_plain(byte) || b"!'()*[]%".contains(&byte)) {
        return path.to_owned();
    }
    let mut encoded = String::with_capacity(path.len() * 2);
    for byte in bytes_of(path) {
        if is_plain(byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// A text with `%` and two digits read as bytes.
fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&bytes_of(text)).into_owned()
}

fn bytes_of(text: &str) -> Vec<u8> {
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
    decoded
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
    fn urls_are_shown_and_sent_as_k6_does() {
        for (text, shown, path) in [
            ("http://h:1", "http://h:1", "/"),
            ("HTTP://H:1/a b?c=ä&d=[1]#e", "http://H:1/a%20b?c=ä&d=[1]#e", "/a%20b?c=ä&d=[1]"),
            ("https://u:p%40@h/x", "https://h/x", "/x"),
            ("http://h?q", "http://h?q", "/?q"),
            ("http://[::1]:80/a%20b", "http://[::1]:80/a%20b", "/a%20b"),
            ("http://h/a/../[b]!", "http://h/a/../[b]!", "/a/../[b]!"),
            ("http://h/ä[b]%20", "http://h/%C3%A4%5Bb%5D%20", "/%C3%A4%5Bb%5D%20"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.as_str(), url.path.as_str()), (shown, path), "{text}");
            assert_eq!(url.refusal(), None, "{text}");
        }
        let url = Url::parse("https://u:p%40@H:8443/x").unwrap();
        assert_eq!((url.host(), url.server().as_str(), url.user.as_deref()), ("h", "H:8443", Some("u:p@")));
        assert_eq!(Url::parse("http://[::1]:1/").unwrap().host(), "::1");
    }

    #[test]
    fn what_is_no_url_has_the_reason_of_k6() {
        for (text, why) in [
            ("://x", "missing protocol scheme"),
            ("http://a b/", "invalid character \" \" in host name"),
            ("http://127.0.0.1:port/", "invalid port \":port\" after host"),
            ("http://[::1/", "missing ']' in host"),
            ("http://x%zz/", "invalid URL escape \"%zz\""),
            ("http://h/a%zz", "invalid URL escape \"%zz\""),
            (" http://h/", "first path segment in URL cannot contain colon"),
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("parse \"{text}\": {why}"));
        }
        for (text, code, why) in [
            ("ftp://h/", 1000, "unsupported protocol scheme \"ftp\""),
            ("mailto:x", 1000, "unsupported protocol scheme \"mailto\""),
            ("nonsense", 1000, "unsupported protocol scheme \"\""),
            ("", 1000, "unsupported protocol scheme \"\""),
            ("//h/x", 1000, "unsupported protocol scheme \"\""),
            ("http://", 1000, "http: no Host in request URL"),
            ("http:///x", 1000, "http: no Host in request URL"),
            ("http://:80", 1101, "lookup: no such host"),
            ("http://h:99999/", 1210, "dial tcp: address 99999: invalid port"),
        ] {
            let refusal = Url::parse(text).unwrap().refusal().unwrap();
            assert_eq!((refusal.code, refusal.text.as_str()), (code, why), "{text}");
        }
    }

    #[test]
    fn locations_are_joined_as_browsers_do() {
        let base = Url::parse("http://h:1/a/b?q=1").unwrap();
        for (location, expected) in [
            ("/x?y#z", "http://h:1/x?y#z"),
            ("c", "http://h:1/a/c"),
            ("../../c", "http://h:1/c"),
            ("c/..", "http://h:1/a/"),
            ("?q=2", "http://h:1/a/b?q=2"),
            ("", "http://h:1/a/b?q=1"),
            ("//other/x/../y", "http://other/y"),
            ("https://u:p@other:8443", "https://other:8443"),
            // As Go's net/url joins them.
            ("%2F./\u{e4}?d", "http://h:1/%C3%A4?d"),
            ("x%2F../\u{e4}", "http://h:1/a/%C3%A4"),
            ("%2F./x", "http://h:1/a/%2F./x"),
            ("x%2F../b c", "http://h:1/a/b%20c"),
        ] {
            assert_eq!(base.join(location).unwrap().to_string(), expected, "{location}");
        }
        assert!(base.join("mailto:x").unwrap().refusal().is_some());
        assert!(base.join("http://[bad").is_err());
        assert!(base.join("%zz\u{e4}").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_that_a_request_can_have_or_none(text in "\\PC{0,40}", location in "\\PC{0,20}") {
            if let Ok(url) = Url::parse(&format!("http://h{text}")) {
                let is_sendable = |url: &Url| url.path.starts_with('/') && !url.path.contains(char::is_control) && !url.path.contains(' ');
                prop_assert!(is_sendable(&url));
                if let Ok(joined) = url.join(&location) {
                    prop_assert!(is_sendable(&joined));
                }
            }
        }
    }
}
