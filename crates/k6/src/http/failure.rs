//! Why a request failed, in k6's codes.

use evidence::Outcome;

use crate::network::refusal;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// k6's `error_code`.
    pub(crate) code: u16,
    /// k6's `error`; empty of a response whose status says it.
    pub(crate) text: String,
}

impl Failure {
    /// Of a request that ended without a complete response; `detail` says more where more is known.
    pub(crate) fn of_transport(outcome: Outcome, detail: &str) -> Failure {
        if let Some((code, text)) = refusal(detail) {
            return Failure { code, text: text.to_owned() };
        }
        let (code, text) = match outcome {
            Outcome::Timeout => (1050, "request timeout"),
            Outcome::Dns => (1101, "lookup: no such host"),
            Outcome::Refused => (1212, "dial: connection refused"),
            Outcome::Reset => (1220, "read: connection reset by peer"),
            Outcome::Tls => (1300, "tls: the handshake failed"),
            Outcome::Protocol => (1000, "malformed response"),
            _ => (1000, "the request was not completed"),
        };
        let text = if detail.is_empty() { text.to_owned() } else { format!("{text} ({detail})") };
        Failure { code, text }
    }

    /// Of a response; none where its status is below 400.
    pub(crate) fn of_status(status: u16) -> Option<Failure> {
        (400..600).contains(&status).then(|| Failure { code: 1000 + status, text: String::new() })
    }
}
