//! TLS to a server, as the URL's `sslmode` and `sslrootcert` ask for it, by libpq's meaning of them.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a URL asks of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TlsRequest {
    /// The URL as the driver understands it.
    pub(super) url: String,
    /// Whether the server's certificate must prove its name.
    is_verified: bool,
    /// The authorities that are trusted; none are the system's.
    authorities: Option<String>,
}

impl TlsRequest {
    /// `verify-ca` and `verify-full` both verify the name too; the driver itself has neither.
    pub(super) fn from_url(url: &str) -> TlsRequest {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut asked = TlsRequest { url: String::new(), is_verified: false, authorities: None };
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-ca" | "verify-full")) => {
                    asked.is_verified = true;
                    rest.push("sslmode=require");
                }
                // There are no weaker ones between.
                Some(("sslmode", "allow")) => rest.push("sslmode=prefer"),
                Some(("sslrootcert", path)) => {
                    asked.authorities = Some(path.replace("%2F", "/")).filter(|path| path != "system");
                }
                _ => rest.push(pair),
            }
        }
        let mark = if rest.is_empty() { "" } else { "?" };
        asked.url = format!("{base}{mark}{}", rest.join("&"));
        asked
    }

    /// What makes handshakes.
    ///
    /// # Errors
    /// In words, when the authorities cannot be read.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match self.is_verified {
            true => builder.with_root_certificates(self.roots()?),
            false => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
            }
        };
        Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut store = RootCertStore::empty();
        let Some(path) = &self.authorities else {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(store);
        };
        let unreadable = |why: String| format!("`sslrootcert` {path} cannot be used: {why}");
        let pem =
            CertificateDer::pem_file_iter(Path::new(path)).map_err(|error| unreadable(error.to_string()))?;
        for certificate in pem {
            let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
            store.add(certificate).map_err(|error| unreadable(error.to_string()))?;
        }
        if store.is_empty() { Err(unreadable("it holds no certificate".to_owned())) } else { Ok(store) }
    }
}

/// Takes any certificate, as `sslmode=require` does: it hides what is said from who listens, and not from who answers
/// in the server's place. Signatures are still checked.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_does_not_know_is_taken_out_of_the_url() {
        let asked = |url: &str| {
            let asked = TlsRequest::from_url(url);
            (asked.url, asked.is_verified, asked.authorities)
        };
        assert_eq!(asked("postgresql://a@b/c"), ("postgresql://a@b/c".to_owned(), false, None));
        let url = "postgresql://a@b/c?sslrootcert=/x/ca.pem&sslmode=verify-full&connect_timeout=1";
        let kept = "postgresql://a@b/c?sslmode=require&connect_timeout=1".to_owned();
        assert_eq!(asked(url), (kept, true, Some("/x/ca.pem".to_owned())));
        let system = asked("postgresql://b?sslmode=verify-ca&sslrootcert=system");
        assert_eq!(system, ("postgresql://b?sslmode=require".to_owned(), true, None));
        assert_eq!(asked("postgresql://b?sslmode=disable").0, "postgresql://b?sslmode=disable");
    }

    #[test]
    fn authorities_that_cannot_be_read_are_named() {
        let asked = TlsRequest::from_url("postgresql://b?sslmode=verify-full&sslrootcert=/no/such/file.pem");
        assert!(asked.connector().err().unwrap().contains("/no/such/file.pem"));
    }
}
