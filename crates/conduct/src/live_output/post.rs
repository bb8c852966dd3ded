//! Sends batches over HTTP, within a bound of time.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends batches to one URL.
pub(super) struct Poster {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
}

impl Poster {
    pub(super) fn new(url: String, headers: Vec<(String, String)>) -> Poster {
        let found = rustls_native_certs::load_native_certs();
        let roots: Vec<Certificate<'static>> =
            found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots))
            .build();
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        Poster { agent: config.new_agent(), url, headers }
    }

    /// Send one batch. Errors are in words, without the URL, which may contain a password.
    pub(super) fn send(&self, body: &[u8]) -> Result<(), String> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request.send(body).map_err(|error| match error {
            ureq::Error::Timeout(_) => format!("no answer within {PATIENCE:?}"),
            ureq::Error::Io(error) => error.kind().to_string(),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => "its URL or a header is invalid".to_owned(),
            other => other.to_string(),
        })?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => {
                let text =
                    response.body_mut().with_config().limit(4_096).read_to_string().unwrap_or_default();
                let line: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
                Err(format!("it answers with status {status}: {line}"))
            }
        }
    }
}
