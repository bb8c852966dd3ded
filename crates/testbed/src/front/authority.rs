//! Certificates for tests: an authority of one's own, and what it vouches for.

use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// When a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// For decades.
    Now,
    /// No longer.
    Expired,
}

/// A private certificate authority, trusted only where it is configured.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// A certificate and its private key.
#[derive(Debug)]
pub struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
    pem: (String, String),
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Identity { chain: self.chain.clone(), key: self.key.clone_key(), pem: self.pem.clone() }
    }
}

impl Authority {
    #[expect(clippy::new_without_default, reason = "making a key is not a default")]
    pub fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let nth = MADE.fetch_add(1, Ordering::Relaxed);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("testbed authority {nth}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("the machine has randomness");
        let certificate = params.self_signed(&key).expect("the parameters are sound");
        Authority { issuer: Issuer::new(params, key), certificate }
    }

    /// Its certificate as a PEM file holds it.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    pub(super) fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// An authority that is itself the identity of a server, as `openssl req -x509` makes them.
    pub fn self_signed(names: &[&str]) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names of tests are sound");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("the machine has randomness");
        let certificate = params.self_signed(&key).expect("the parameters are sound");
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
            pem: (certificate.pem(), key.serialize_pem()),
        }
    }

    /// An identity for these names and addresses.
    pub fn vouch_for(&self, names: &[&str], validity: Validity) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names of tests are sound");
        params.distinguished_name.push(DnType::CommonName, "testbed");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if validity == Validity::Expired {
            (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        }
        let key = KeyPair::generate().expect("the machine has randomness");
        let certificate = params.signed_by(&key, &self.issuer).expect("the parameters are sound");
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
            pem: (certificate.pem(), key.serialize_pem()),
        }
    }
}

impl Identity {
    /// The certificate and the key as PEM files hold them.
    pub fn pem(&self) -> (&str, &str) {
        (&self.pem.0, &self.pem.1)
    }
}
