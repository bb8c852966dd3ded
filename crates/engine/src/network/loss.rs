//! Why a connection was lost, or could not be opened.

use std::io;
use std::sync::Arc;

use evidence::Outcome;
use wire::WireError;

use super::exhausted::outcome_of;
use super::{EndedOperation, Repetition};
use crate::exchange::PeerEnd;
use crate::operation::{Operation, OperationPlace, OperationToken};

/// How the requests on a lost connection end.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLoss {
    pub(super) outcome: Outcome,
    /// The reason, where it is more than the outcome.
    pub(super) reason: Option<Arc<str>>,
    /// How the peer ended it, if it did.
    pub(super) peer_end: Option<PeerEnd>,
    /// Whether requests that waited for the connection may be sent on another one.
    repetition: Repetition,
}

impl ConnectionLoss {
    pub(super) fn end(&self, token: OperationToken, operation: &mut Operation) -> EndedOperation {
        operation.place = OperationPlace::Nowhere;
        operation.transport_error.clone_from(&self.reason);
        operation.peer_end = self.peer_end;
        EndedOperation { repetition: self.repetition, ..EndedOperation::new(token, Some(self.outcome)) }
    }

    pub(super) fn because(outcome: Outcome, reason: impl Into<Arc<str>>) -> ConnectionLoss {
        ConnectionLoss { reason: Some(reason.into()), ..ConnectionLoss::from(outcome) }
    }

    /// TLS failed for this reason.
    pub(super) fn tls(reason: &str) -> ConnectionLoss {
        ConnectionLoss::because(Outcome::Tls, reason)
    }

    /// The connection is open, and the peer takes no request on it.
    pub(super) fn accepts_no_request() -> ConnectionLoss {
        let why =
            "the peer takes no request on a new connection (GOAWAY, or SETTINGS_MAX_CONCURRENT_STREAMS of 0)";
        ConnectionLoss { repetition: Repetition::Unsent, ..ConnectionLoss::because(Outcome::Reset, why) }
    }

    pub(super) fn ended_in_handshake() -> ConnectionLoss {
        ConnectionLoss::tls("the peer ended the connection during the TLS handshake")
    }

    /// The same, where the peer closed the connection.
    pub(super) fn closed_by_peer(self) -> ConnectionLoss {
        ConnectionLoss { peer_end: Some(PeerEnd::Closed), ..self }
    }
}

impl From<Outcome> for ConnectionLoss {
    fn from(outcome: Outcome) -> ConnectionLoss {
        ConnectionLoss { outcome, reason: None, peer_end: None, repetition: Repetition::Forbidden }
    }
}

impl From<WireError> for ConnectionLoss {
    #[cold]
    fn from(error: WireError) -> ConnectionLoss {
        match error.outcome() {
            // What the peer said that cannot be understood.
            Outcome::Protocol => ConnectionLoss::because(Outcome::Protocol, error.to_string()),
            outcome => outcome.into(),
        }
    }
}

impl From<&io::Error> for ConnectionLoss {
    fn from(error: &io::Error) -> ConnectionLoss {
        outcome_of(error).into()
    }
}
