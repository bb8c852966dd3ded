//! Certificates with which the client identifies itself.

use std::sync::Arc;

use memchr::memmem;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, SignatureScheme};

use super::certificates;
use crate::tls_offer::TlsIdentity;

/// Those that the client has: a server gets the first that it accepts.
#[derive(Debug)]
pub(super) struct Identities(Vec<Arc<CertifiedKey>>);

impl Identities {
    pub(super) fn new(all: &[TlsIdentity], provider: &CryptoProvider) -> Result<Identities, String> {
        let certified = |identity: &TlsIdentity| {
            let chain = certificates(&identity.certificates, "the client certificate")?;
            let key = PrivateKeyDer::from_pem_slice(&identity.key)
                .map_err(|error| format!("the key of the client certificate cannot be read: {error}"))?;
            let unusable = |error: rustls::Error| format!("the client certificate cannot be used: {error}");
            let key = provider.key_provider.load_private_key(key).map_err(unusable)?;
            let certified = CertifiedKey::new(chain, key);
            match certified.keys_match() {
                // What else is wrong with the certificate is for the server to say.
                Err(error @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                    Err(unusable(error))
                }
                _ => Ok(Arc::new(certified)),
            }
        };
        all.iter().map(certified).collect::<Result<_, String>>().map(Identities)
    }
}

impl ResolvesClientCert for Identities {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        // A certificate contains the name of its issuer, encoded as the server encodes it.
        let is_by = |certified: &CertifiedKey, issuer: &[u8]| {
            certified.cert.iter().any(|certificate| memmem::find(certificate, issuer).is_some())
        };
        let is_accepted = |certified: &Arc<CertifiedKey>| {
            let is_issuer_accepted =
                issuers.is_empty() || issuers.iter().any(|issuer| is_by(certified, issuer));
            is_issuer_accepted && certified.key.choose_scheme(schemes).is_some()
        };
        self.0.iter().find(|certified| is_accepted(certified)).cloned()
    }

    fn has_certs(&self) -> bool {
        !self.0.is_empty()
    }
}
