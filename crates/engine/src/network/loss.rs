//! Why a connection was lost, or could not be opened.

use std::io;
use std::sync::Arc;

use evidence::Outcome;
use rustls::CertificateError;

use super::EndedOperation;
use super::exhausted::outcome_of;
use crate::operation::{Operation, OperationPlace, OperationToken};

/// How the requests on a lost connection end.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLoss {
    pub(super) outcome: Outcome,
    /// The reason, where it is more than the outcome.
    pub(super) reason: Option<Arc<str>>,
}

impl ConnectionLoss {
    /// End an operation with it.
    pub(super) fn end(&self, token: OperationToken, operation: &mut Operation) -> EndedOperation {
        operation.place = OperationPlace::Nowhere;
        operation.connection_error.clone_from(&self.reason);
        EndedOperation::new(token, Some(self.outcome))
    }

    /// TLS failed for this reason.
    pub(super) fn tls(reason: &str) -> ConnectionLoss {
        ConnectionLoss { outcome: Outcome::Tls, reason: Some(reason.into()) }
    }

    pub(super) fn ended_in_handshake() -> ConnectionLoss {
        ConnectionLoss::tls("the peer ended the connection during the TLS handshake")
    }
}

impl From<Outcome> for ConnectionLoss {
    fn from(outcome: Outcome) -> ConnectionLoss {
        ConnectionLoss { outcome, reason: None }
    }
}

impl From<&io::Error> for ConnectionLoss {
    fn from(error: &io::Error) -> ConnectionLoss {
        ConnectionLoss { outcome: outcome_of(error), reason: None }
    }
}

impl From<&rustls::Error> for ConnectionLoss {
    fn from(error: &rustls::Error) -> ConnectionLoss {
        let reason = match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                "the certificate's issuer is unknown; trust it with `tls = { ca = \"FILE\" }`".to_owned()
            }
            rustls::Error::InvalidMessage(_) => format!("what the peer sends is not TLS ({error})"),
            other => format!("TLS failed: {other}"),
        };
        ConnectionLoss::tls(&reason)
    }
}
