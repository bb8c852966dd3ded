//! Keys made for one run: an authority that signs one certificate, which coordinator and workers both present. A process with the
//! file belongs to the run; nothing else is trusted, and no name is checked but the one that the certificate has.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::ClusterError;
use crate::handshake::Token;

/// The name in the certificate of every run.
pub(crate) const NAME: &str = "plimsoll-run";

/// By what coordinator and workers recognise each other.
#[derive(Debug, Clone)]
pub enum Secret {
    /// A token, over connections that do not leave the machine.
    Token(Token),
    /// Mutual TLS.
    Keys(RunKeys),
}

impl Secret {
    /// The token of the handshake. Under TLS the certificates have proved everything.
    pub(crate) fn token(&self) -> Option<&Token> {
        match self {
            Secret::Token(token) => Some(token),
            Secret::Keys(_) => None,
        }
    }
}

/// The TLS configurations of both sides.
#[derive(Debug, Clone)]
pub struct RunKeys {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

fn tls(error: impl std::fmt::Display) -> ClusterError {
    ClusterError::Tls(error.to_string())
}

impl RunKeys {
    /// New keys, as the text of a PEM file: authority, certificate, private key. Its owner alone may read it.
    ///
    /// # Errors
    /// [`ClusterError::Tls`] when they cannot be made.
    pub fn make() -> Result<String, ClusterError> {
        let mut authority = CertificateParams::new(Vec::new()).map_err(tls)?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let signing_key = KeyPair::generate().map_err(tls)?;
        let root = authority.self_signed(&signing_key).map_err(tls)?;
        let issuer = Issuer::new(authority, signing_key);
        let mut member = CertificateParams::new(vec![NAME.to_owned()]).map_err(tls)?;
        member.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().map_err(tls)?;
        let certificate = member.signed_by(&key, &issuer).map_err(tls)?;
        Ok(format!("{}{}{}", root.pem(), certificate.pem(), key.serialize_pem()))
    }

    /// The keys in the text of such a file.
    ///
    /// # Errors
    /// [`ClusterError::NotKeys`] or [`ClusterError::Tls`] when it is not one.
    pub fn read(pem: &str) -> Result<RunKeys, ClusterError> {
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().map_err(tls)?;
        let [root, own] = certificates.as_slice() else {
            return Err(ClusterError::NotKeys);
        };
        let key = || PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(tls);
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).map_err(tls)?;
        let roots = Arc::new(roots);
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(tls)?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![own.clone()], key()?)
            .map_err(tls)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls)?
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![own.clone()], key()?)
            .map_err(tls)?;
        Ok(RunKeys { server: Arc::new(server), client: Arc::new(client) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_made_can_be_read_and_others_not() {
        let pem = RunKeys::make().unwrap();
        RunKeys::read(&pem).unwrap();
        assert!(RunKeys::read("").unwrap_err().to_string().contains("--make-keys run.pem"));
        let half = &pem[..pem.find("-----BEGIN PRIVATE KEY").unwrap()];
        assert!(RunKeys::read(half).is_err());
    }
}
