//! Converts a target's TLS settings to a configuration of rustls.

mod identities;
mod trust;

use std::sync::{Arc, OnceLock};

pub use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, RootCertStore, SupportedCipherSuite, SupportedProtocolVersion};
use wire::WireProtocol;
use workload::TlsFiles;
use workload::connection::{Resumption, TlsSettings};

use super::error::CompileError;
use crate::tls_offer::{TlsOffer, TlsVersion, suite_name};
use identities::Identities;
use trust::Trust;

/// Of a peer that answers a handshake with something else, and what to do.
pub const NOT_TLS: &str =
    "what the peer sends is not TLS: if this port speaks plain HTTP, write `http://` instead of `https://`";

/// The TLS settings for a peer.
#[derive(Debug, Clone)]
pub(crate) struct TlsPeer {
    /// Includes the protocols offered by ALPN.
    pub(crate) config: Arc<ClientConfig>,
    /// The name that the peer's certificate must be valid for.
    pub(crate) name: ServerName<'static>,
}

impl TlsOffer {
    fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let Some(versions) = &self.versions else { return ALL_VERSIONS.to_vec() };
        let supported = |version: &TlsVersion| match version {
            TlsVersion::Tls12 => &TLS12,
            TlsVersion::Tls13 => &TLS13,
        };
        versions.iter().map(supported).collect()
    }

    fn provider(&self) -> CryptoProvider {
        let mut provider = aws_lc_rs::default_provider();
        if let Some(names) = &self.cipher_suites {
            let is_offered = |suite: &SupportedCipherSuite| {
                suite.tls13().is_some() || names.iter().any(|name| *name == suite_name(suite.suite()))
            };
            provider.cipher_suites.retain(is_offered);
        }
        provider
    }
}

impl TlsPeer {
    pub(super) fn new(
        config: &Arc<ClientConfig>,
        target: &str,
        host: &str,
        protocol: Option<WireProtocol>,
    ) -> Result<TlsPeer, CompileError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| CompileError::Tls {
            target: target.to_owned(),
            what: format!("`{host}` is not a name that a certificate can be valid for"),
        })?;
        let mut config = ClientConfig::clone(config);
        let (h2, http1) = (b"h2".to_vec(), b"http/1.1".to_vec());
        config.alpn_protocols = match protocol {
            Some(WireProtocol::Http1) => vec![http1],
            Some(WireProtocol::Http2) => vec![h2],
            None => vec![h2, http1],
        };
        Ok(TlsPeer { config: Arc::new(config), name })
    }
}

/// The names at IANA of the cipher suites of TLS 1.2 that can be offered.
pub fn tls12_cipher_suites() -> Vec<String> {
    let suites = aws_lc_rs::default_provider().cipher_suites;
    suites.iter().filter(|suite| suite.tls13().is_none()).map(|suite| suite_name(suite.suite())).collect()
}

/// The configuration of a target's TLS connections. It also stores the sessions that are resumed.
pub(super) fn client_config(
    settings: &TlsSettings,
    files: &TlsFiles,
    offer: &TlsOffer,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(offer.provider());
    let identities = Identities::new(&offer.identities, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&offer.versions()).map_err(|e| e.to_string())?;
    let builder = match (settings.insecure, &files.ca) {
        (true, _) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Trust::any(provider))),
        (false, Some(pem)) => {
            let path = settings.ca.as_deref().unwrap_or("ca");
            let trust = Trust::in_certificates(certificates(pem, path)?, path, provider)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(trust))
        }
        (false, None) => builder.with_root_certificates(system_authorities()?),
    };
    let mut config = match client_identity(settings, files)? {
        None => builder.with_client_cert_resolver(Arc::new(identities)),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|e| format!("the client certificate cannot be used: {e}"))?,
    };
    if settings.resumption == Resumption::Off {
        config.resumption = rustls::client::Resumption::disabled();
    }
    Ok(config)
}

/// The client's certificates and its private key, where the plan has them.
fn client_identity(settings: &TlsSettings, files: &TlsFiles) -> Result<Option<ClientIdentity>, String> {
    let (Some(cert), Some(key)) = (&files.cert, &files.key) else { return Ok(None) };
    let chain = certificates(cert, settings.cert.as_deref().unwrap_or("cert"))?;
    let path = settings.key.as_deref().unwrap_or("key");
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|e| format!("{path} contains no private key: {e}"))?;
    Ok(Some((chain, key)))
}

type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The system's authorities, or those of the file that `SSL_CERT_FILE` names.
fn system_authorities() -> Result<RootCertStore, String> {
    static SYSTEM: OnceLock<RootCertStore> = OnceLock::new();
    let store = SYSTEM.get_or_init(|| {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        store
    });
    if store.is_empty() {
        return Err(
            "this system has no certificate authorities; set some with `tls = { ca = \"FILE\" }`, or \
                    with SSL_CERT_FILE"
                .to_owned(),
        );
    }
    Ok(store.clone())
}

fn certificates(pem: &[u8], path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|e| format!("{path} is not a file of PEM certificates: {e}"))?;
    if all.is_empty() { Err(format!("{path} contains no certificate")) } else { Ok(all) }
}
