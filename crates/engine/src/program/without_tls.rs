//! A program that was built without TLS: no target can ask for it, so that there are no configurations and no peers.

use std::sync::Arc;

use wire::WireProtocol;
use workload::TlsFiles;
use workload::connection::TlsSettings;

use super::error::CompileError;
use crate::tls_offer::TlsOffer;

/// The configuration of TLS connections: there is none.
#[derive(Debug, Clone)]
pub enum ClientConfig {}

/// The TLS settings for a peer: there are none.
#[derive(Debug, Clone)]
pub(crate) enum TlsPeer {}

impl TlsPeer {
    pub(super) fn new(
        config: &Arc<ClientConfig>,
        _target: &str,
        _host: &str,
        _protocol: Option<WireProtocol>,
    ) -> Result<TlsPeer, CompileError> {
        match **config {}
    }
}

/// The names at IANA of the cipher suites of TLS 1.2 that can be offered: none.
pub fn tls12_cipher_suites() -> Vec<String> {
    Vec::new()
}

/// The configuration of a target's TLS connections.
pub(super) fn client_config(
    _settings: &TlsSettings,
    _files: &TlsFiles,
    _offer: &TlsOffer,
) -> Result<ClientConfig, String> {
    Err("this program was built without TLS, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one that has it"
        .to_owned())
}
