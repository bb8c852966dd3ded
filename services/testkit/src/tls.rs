//! A certificate for `localhost` that only the tests' own authority signed.

use std::path::PathBuf;

/// The folder of `authority.pem`, `localhost.pem` and `localhost.key`.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tls")
}

/// The authority's certificate, for `SSL_CERT_FILE`.
pub fn authority() -> String {
    folder().join("authority.pem").display().to_string()
}
