//! Which certificates of servers are accepted. Signatures are checked in any case, as TLS requires: the peer must have the key
//! of the certificate that it shows.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The certificates that a target may show.
#[derive(Debug)]
pub(super) struct Trust {
    accepted: Accepted,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
enum Accepted {
    /// Any, for `insecure`.
    Any,
    /// Those of these authorities, and these themselves.
    Listed { authorities: Arc<WebPkiServerVerifier>, certificates: Vec<CertificateDer<'static>> },
}

impl Trust {
    /// Any certificate.
    pub(super) fn any(provider: Arc<CryptoProvider>) -> Trust {
        Trust { accepted: Accepted::Any, provider }
    }

    /// What these certificates vouch for. One that a server shows itself, as one made by `openssl req -x509`, must be valid for
    /// the server's name; its dates are not checked.
    pub(super) fn in_certificates(
        certificates: Vec<CertificateDer<'static>>,
        path: &str,
        provider: Arc<CryptoProvider>,
    ) -> Result<Trust, String> {
        let unusable = |e: Error| format!("{path} contains a certificate that cannot be used: {e}");
        let mut store = RootCertStore::empty();
        certificates.iter().try_for_each(|one| store.add(one.clone())).map_err(unusable)?;
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone());
        let authorities = builder.build().map_err(|e| format!("{path} cannot be used: {e}"))?;
        Ok(Trust { accepted: Accepted::Listed { authorities, certificates }, provider })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Accepted::Listed { authorities, certificates } = &self.accepted else {
            return Ok(ServerCertVerified::assertion());
        };
        match authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(CertificateError::Other(_) | CertificateError::UnknownIssuer))
                if certificates.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
