//! Why a connection is of no use any more.

use std::io;
use std::sync::Arc;

use evidence::Outcome;

use super::exhausted::outcome_of;

/// How the requests on a lost connection end.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    pub(super) outcome: Outcome,
    /// What the outcome alone does not say.
    pub(super) reason: Option<Arc<str>>,
}

impl Lost {
    /// Over TLS nothing can be said, because of this.
    pub(super) fn tls(reason: &str) -> Lost {
        Lost { outcome: Outcome::Tls, reason: Some(reason.into()) }
    }
}

impl From<Outcome> for Lost {
    fn from(outcome: Outcome) -> Lost {
        Lost { outcome, reason: None }
    }
}

impl From<&io::Error> for Lost {
    fn from(error: &io::Error) -> Lost {
        Lost { outcome: outcome_of(error), reason: None }
    }
}

impl From<&rustls::Error> for Lost {
    fn from(error: &rustls::Error) -> Lost {
        use rustls::CertificateError as Wrong;
        let text = match error {
            rustls::Error::InvalidCertificate(Wrong::UnknownIssuer) => {
                "the certificate's issuer is unknown; trust it with `tls = { ca = \"FILE\" }`".to_owned()
            }
            rustls::Error::InvalidMessage(_) => format!("what the peer sends is no TLS ({error})"),
            other => format!("TLS failed: {other}"),
        };
        Lost::tls(&text)
    }
}
