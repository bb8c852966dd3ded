//! TLS of the documents that are fetched: the system's authorities are trusted.

use std::io;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

pub(super) fn trusting_system(config: ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope> {
    let found = rustls_native_certs::load_native_certs();
    let roots: Vec<Certificate<'static>> =
        found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    config.tls_config(tls)
}

/// Check that there is TLS, which there is.
pub(super) fn require() -> io::Result<()> {
    Ok(())
}
