//! TLS of all connections: versions, cipher suites, certificates of the client.

use serde_json::Value;

use super::dns::one_of;
use super::fields::{Fields, FromJson, fields, is_null_or_empty};
use super::hosts::HostPattern;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.0.
    Tls10,
    /// TLS 1.1.
    Tls11,
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

const VERSIONS: [(&str, TlsVersion); 4] = [
    ("tls1.0", TlsVersion::Tls10),
    ("tls1.1", TlsVersion::Tls11),
    ("tls1.2", TlsVersion::Tls12),
    ("tls1.3", TlsVersion::Tls13),
];

fields! {
    /// The versions of TLS that may be used.
    pub struct TlsVersions {
        min: TlsVersion = "min";
        max: TlsVersion = "max";
    }
}

fields! {
    /// A certificate with which the client identifies itself.
    pub struct TlsAuth {
        /// The hosts that it is for; none: all.
        domains: Vec<HostPattern> = "domains";
        /// The certificate, in PEM.
        cert: String = "cert";
        /// The private key, in PEM.
        key: String = "key";
        /// The password of the private key.
        password: String = "password";
    }
}

impl FromJson for TlsVersion {
    fn from_json(value: &Value) -> Result<TlsVersion, String> {
        one_of(&VERSIONS, value)
    }
}

/// One version, or an object with the lowest and the highest.
impl FromJson for TlsVersions {
    fn from_json(value: &Value) -> Result<TlsVersions, String> {
        if !value.is_object() {
            let only = Some(TlsVersion::from_json(value)?);
            return Ok(TlsVersions { min: only, max: only });
        }
        let mut versions = TlsVersions::default();
        match versions.set_all(value)? {
            Some(unknown) => Err(format!("there is no {unknown:?}; it has min and max")),
            None => Ok(versions),
        }
    }

    fn is_unset(value: &Value) -> bool {
        is_null_or_empty(value)
    }
}

impl FromJson for TlsAuth {
    fn from_json(value: &Value) -> Result<TlsAuth, String> {
        let mut auth = TlsAuth::default();
        match auth.set_all(value)? {
            Some(unknown) => Err(format!("there is no {unknown:?}; it has domains, cert, key and password")),
            None => Ok(auth),
        }
    }
}
