//! How this process itself sends requests over HTTP: with the system's root certificates, within a bound of time.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::config::{Config, ConfigBuilder};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

/// How long the download of a text may take.
const DOWNLOAD_TIME: Duration = Duration::from_secs(30);
/// The longest text that is downloaded, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;
const MAX_REDIRECTS: u32 = 10;

/// An agent whose requests take at most this long. A status such as 404 is not an error.
pub(crate) fn configured(patience: Duration) -> ConfigBuilder<AgentScope> {
    let found = rustls_native_certs::load_native_certs();
    let roots: Vec<Certificate<'static>> =
        found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .build();
    Agent::config_builder()
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
}

/// Why a request got no answer, in words, without its URL, which may contain a password.
pub(crate) fn why_unanswered(error: &ureq::Error, patience: Duration) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no answer within {patience:?}"),
        ureq::Error::Io(error) => error.kind().to_string(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "its URL or a header is invalid".to_owned(),
        other => other.to_string(),
    }
}

/// Why a text was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("{0}")]
    Unanswered(String),
    #[error("its server answers with status {0}")]
    Status(u16),
    #[error("it is longer than {} MiB", MAX_TEXT_BYTES >> 20)]
    TooLong,
    #[error("it is not UTF-8")]
    NotText,
}

/// Downloads texts.
pub struct Downloader {
    any: Agent,
    https_only: Agent,
}

impl Default for Downloader {
    fn default() -> Downloader {
        let agent = |is_https_only| -> Agent {
            let config: Config =
                configured(DOWNLOAD_TIME).max_redirects(MAX_REDIRECTS).https_only(is_https_only).build();
            config.new_agent()
        };
        Downloader { any: agent(false), https_only: agent(true) }
    }
}

impl Downloader {
    /// The text at a URL. From `https://` no redirect leads to `http://`.
    ///
    /// # Errors
    /// [`DownloadError`], without the URL, which may contain a password.
    pub fn text(&self, url: &str) -> Result<String, DownloadError> {
        let failure = |error| match error {
            ureq::Error::BodyExceedsLimit(_) => DownloadError::TooLong,
            other => DownloadError::Unanswered(why_unanswered(&other, DOWNLOAD_TIME)),
        };
        let agent = if url.starts_with("https://") { &self.https_only } else { &self.any };
        let mut response = agent.get(url).call().map_err(failure)?;
        let status = response.status();
        if !status.is_success() {
            return Err(DownloadError::Status(status.as_u16()));
        }
        let bytes = response.body_mut().with_config().limit(MAX_TEXT_BYTES).read_to_vec().map_err(failure)?;
        String::from_utf8(bytes).map_err(|_| DownloadError::NotText)
    }
}
