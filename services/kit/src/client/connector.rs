//! How connections are made: over TCP, and TLS where the destination asks for it.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};

use super::ClientError;

/// Makes connections.
pub(super) type Connector = HttpsConnector<HttpConnector>;

/// Connecting gets half of the whole timeout, so that a destination that drops packets is reported as "nothing was
/// sent".
pub(super) fn connector(destination: &Uri, timeout: Duration) -> Result<Connector, ClientError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout / 2));
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let builder = HttpsConnectorBuilder::new();
    let builder = match destination.scheme_str() {
        Some("https") => builder
            .with_provider_and_native_roots(provider)
            .map_err(|error| ClientError::NoAuthorities(error.to_string()))?
            .https_only(),
        Some("http") => builder.with_tls_config(without_authorities(provider)?).https_or_http(),
        _ => return Err(ClientError::Destination),
    };
    Ok(builder.enable_http1().wrap_connector(tcp))
}

/// TLS that trusts the system's certificate authorities, for connections that are not HTTP. `SSL_CERT_FILE` names other
/// authorities.
///
/// # Errors
/// When the system has none.
pub(crate) fn tls() -> Result<ClientConfig, ClientError> {
    let none = |error: &dyn std::error::Error| ClientError::NoAuthorities(error.to_string());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| none(&error))?.with_native_roots().map_err(|error| none(&error))?;
    Ok(builder.with_no_client_auth())
}

/// Calls without TLS, as inside a cluster, need no certificate authorities, and a system may have none.
fn without_authorities(provider: CryptoProvider) -> Result<ClientConfig, ClientError> {
    let builder =
        ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| ClientError::NoAuthorities(error.to_string()))?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
