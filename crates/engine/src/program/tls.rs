//! Converts a target's TLS settings to a configuration of rustls.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use workload::TlsFiles;
use workload::connection::{Resumption, TlsSettings};

/// The configuration of a target's TLS connections. It also stores the sessions that are resumed.
pub(super) fn client_config(settings: &TlsSettings, files: &TlsFiles) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|e| e.to_string())?;
    let builder = match settings.insecure {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(TrustAnyCertificate(provider))),
        false => builder.with_root_certificates(authorities(settings, files)?),
    };
    let mut config = match client_identity(settings, files)? {
        None => builder.with_no_client_auth(),
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

fn authorities(settings: &TlsSettings, files: &TlsFiles) -> Result<RootCertStore, String> {
    let Some(pem) = &files.ca else { return system_authorities() };
    let path = settings.ca.as_deref().unwrap_or("ca");
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem, path)? {
        store
            .add(certificate)
            .map_err(|e| format!("{path} contains a certificate that cannot be used: {e}"))?;
    }
    Ok(store)
}

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

/// Accepts any certificate, for `insecure`. Signatures are still checked, as TLS requires: the peer must have the
/// key of the certificate that it shows.
#[derive(Debug)]
struct TrustAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
