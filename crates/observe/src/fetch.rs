//! Fetches a document over HTTP, within bounds of time and size.

#[cfg_attr(not(feature = "full"), path = "fetch/without_tls.rs")]
mod tls;

use std::io::{self, Read as _};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use ureq::{Agent, Body, Error};

/// Fetches over kept connections. Its errors never show a URL, which may contain a password.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher {
    agent: Agent,
    patience: Duration,
}

impl Fetcher {
    /// Each document may take `patience` from the first byte sent to the last received.
    pub(crate) fn new(patience: Duration) -> Fetcher {
        let config = Agent::config_builder()
            .timeout_global(Some(patience))
            .http_status_as_error(false)
            // The user has named one host: another is not asked because that one says so.
            .max_redirects(0)
            .proxy(None)
            .user_agent("plimsoll");
        Fetcher { agent: tls::trusting_system(config).build().new_agent(), patience }
    }

    /// The body of `url`, of at most `most_bytes` once it is inflated; `accept` is the media type that is requested.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn whole(&self, url: &str, accept: &str, most_bytes: u64) -> Result<Vec<u8>, String> {
        let body = self.get(url, accept)?;
        let mut read = Vec::new();
        // The body's own limit is on what it is before it is inflated.
        let whole = body.into_reader().take(most_bytes + 1).read_to_end(&mut read);
        whole.map_err(|error| self.words(&Error::from(error)))?;
        match read.len() as u64 > most_bytes {
            true => Err(format!("its answer is larger than {most_bytes} bytes")),
            false => Ok(read),
        }
    }

    /// The first `most_bytes` of the body of `url`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn beginning(&self, url: &str, most_bytes: u64) -> Result<Vec<u8>, String> {
        let body = self.get(url, "*/*")?;
        let mut read = Vec::new();
        body.into_reader().take(most_bytes).read_to_end(&mut read).map_err(|error| self.broken(&error))?;
        Ok(read)
    }

    fn get(&self, url: &str, accept: &str) -> Result<Body, String> {
        let (url, credentials) = without_user(url);
        let mut request = self.agent.get(url).header("accept", accept);
        if let Some(credentials) = credentials {
            request =
                request.header("authorization", format!("Basic {}", BASE64_STANDARD.encode(credentials)));
        }
        let response = request.call().map_err(|error| self.words(&error))?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            status => Err(format!("it answers with status {status}")),
        }
    }

    fn words(&self, error: &Error) -> String {
        match error {
            Error::Timeout(_) => format!("no answer within {:.0?}", self.patience),
            Error::Io(error) => self.broken(error),
            Error::BadUri(_) | Error::Http(_) => "its URL is invalid".to_owned(),
            other => other.to_string(),
        }
    }

    fn broken(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                format!("no answer within {:.0?}", self.patience)
            }
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            _ => format!("the connection broke: {error}"),
        }
    }
}

/// A URL without its user, and `USER:PASSWORD`, percent-decoded, which the agent would send as it is written.
fn without_user(url: &str) -> (String, Option<Vec<u8>>) {
    let plain = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.split_once("://") else { return plain() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((user, host)) = authority.rsplit_once('@') else { return plain() };
    let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
    let credentials = percent_decode_str(&user).collect();
    (format!("{scheme}://{host}{path}"), Some(credentials))
}

/// Check that a document can be fetched from `url`.
///
/// # Errors
/// That its scheme is missing in this program.
pub(crate) fn require_scheme(url: &str) -> io::Result<()> {
    if url.starts_with("https://") { tls::require() } else { Ok(()) }
}
