//! What is offered in TLS handshakes, and the names of what they agree on.

#[cfg(feature = "tls")]
pub(crate) use rustls::CipherSuite;

/// A cipher suite: there is none.
#[cfg(not(feature = "tls"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CipherSuite {}

/// What the client offers in TLS handshakes; by default all that there is, and no certificate.
#[derive(Debug, Clone, Default)]
pub struct TlsOffer {
    /// The versions; none: all.
    pub versions: Option<Vec<TlsVersion>>,
    /// The cipher suites of TLS 1.2, by their names at IANA; none: all. Those of TLS 1.3 are always offered.
    pub cipher_suites: Option<Vec<String>>,
    /// Certificates of the client, beside the one of a plan's target: a server gets the first that it accepts.
    pub identities: Vec<TlsIdentity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// A certificate of the client, with its private key; `Debug` shows neither.
#[derive(Clone)]
pub struct TlsIdentity {
    /// The certificate first, then those of its issuers; PEM.
    pub certificates: Vec<u8>,
    /// Its private key, not encrypted; PEM.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

/// The name at IANA of a cipher suite, which rustls shortens for those of TLS 1.3.
pub(crate) fn suite_name(suite: CipherSuite) -> String {
    let name = format!("{suite:?}");
    name.strip_prefix("TLS13_").map_or(name.clone(), |rest| format!("TLS_{rest}"))
}
