//! Where a server is: scheme, host and port, and how they are read from text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::secret_address::shown;

/// Whether a connection is under TLS.
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
    /// The scheme as in a URL, without `://`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port of a URL without a port.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// An origin (RFC 6454): scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Under TLS or not.
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Origin {
    /// Read `host:port`, which is in cleartext, or a URL without a path.
    ///
    /// # Errors
    /// A message, if the text has no valid host, or no port and no scheme.
    pub fn parse(text: &str) -> Result<Origin, String> {
        let (scheme, rest) = scheme_of(text).unwrap_or((Scheme::Http, text));
        let default_port = (rest.len() < text.len()).then(|| scheme.default_port());
        let (host, port) = authority_of(rest.trim_end_matches('/'), default_port)?;
        Ok(Origin { scheme, host, port })
    }

    /// `HOST:PORT` as in a URL: an IPv6 address in brackets.
    pub fn authority(&self) -> String {
        authority_text(&self.host, self.port)
    }
}

/// `HOST:PORT` as in a URL: an IPv6 address in brackets.
pub(crate) fn authority_text(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The scheme of a URL and the text after `://`; none for another scheme or for a text without a scheme.
pub fn scheme_of(text: &str) -> Option<(Scheme, &str)> {
    [Scheme::Http, Scheme::Https]
        .into_iter()
        .find_map(|scheme| Some((scheme, text.strip_prefix(scheme.name())?.strip_prefix("://")?)))
}

/// An address in which `:8000` is short for that port of this machine.
pub fn with_local_host(address: &str) -> Cow<'_, str> {
    match address.strip_prefix(':') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("127.0.0.1{address}").into(),
        _ => address.into(),
    }
}

/// Host (without brackets) and port of `host:port`.
///
/// # Errors
/// A message, if the text is neither a name nor an address, or has no port and there is no default.
pub fn authority_of(text: &str, default_port: Option<u16>) -> Result<(String, u16), String> {
    let form = || {
        let port = text.rsplit_once(':').map_or("", |(_, port)| port);
        let is_number = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
        match text.trim_end_matches(':') {
            "http" | "https" => {
                format!("`{text}` is not a host; two slashes follow it: `{text}//127.0.0.1:8000/`")
            }
            _ if is_number => {
                wrong_address(text, "is not a host and port; a port is 1 to 65535: write `127.0.0.1:8000`")
            }
            _ => wrong_address(text, "is not a host and port; write `127.0.0.1:8000`"),
        }
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(form)?;
            (host, port.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match (port, default_port) {
        (Some(port), _) => port.parse::<u16>().ok().filter(|p| *p > 0).ok_or_else(form)?,
        (None, Some(port)) => port,
        (None, None) => return Err(form()),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    if host.is_empty() || !host.chars().all(is_host) || (host.contains(':') && !text.starts_with('[')) {
        return Err(form());
    }
    Ok((host.to_owned(), port))
}

/// What is wrong with an address, which is shown without its secrets.
pub fn wrong_address(address: &str, why: &str) -> String {
    let shown = shown(address);
    let hint = match shown == address {
        true => "",
        false => {
            "; `/`, `?`, `#` and `@` in a password are percent-encoded, and a user may belong into `auth`"
        }
    };
    format!("`{shown}` {why}{hint}")
}

/// Whether a part of a URL can be sent unchanged: visible ASCII only.
pub fn is_visible_ascii(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic())
}

/// The text with its percent-encoding (RFC 3986, section 2.1) decoded; an invalid escape is kept as text.
pub fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
