//! Why a request failed, in k6's codes and words.

use engine::exchange::{CompletedTimes, PeerEnd};
use evidence::Outcome;

use super::tls_alert::alert_text;
use crate::network::refusal;

const RESET: &str = "read: connection reset by peer";

/// What TLS says of a certificate that is refused, with k6's code, its text and its longer text.
const TLS_REASONS: &[(&str, u16, &str)] = &[
    ("ended the connection during the TLS handshake", 1220, RESET),
    ("not TLS", 1301, "tls: first record does not look like a TLS handshake"),
    ("issuer is unknown", 1310, "x509: unknown authority"),
    ("certificate is self-signed", 1310, "x509: unknown authority"),
    ("not valid for name", 1311, "x509: certificate doesn't match hostname"),
    ("NotValidForName", 1311, "x509: certificate doesn't match hostname"),
];

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// k6's `error_code`.
    pub(crate) code: u16,
    /// k6's `error`; empty of a response whose status says it.
    pub(crate) text: String,
    /// What the log says of it, where that is more than the text.
    in_log: Option<String>,
    /// Whether the log names the request before it.
    names_request: bool,
}

impl Failure {
    pub(crate) fn new(code: u16, text: String) -> Failure {
        Failure { code, text, in_log: None, names_request: true }
    }

    /// Of a request to a server such as `host:80` that ended without a complete response.
    pub(crate) fn of_transport(outcome: Outcome, times: &CompletedTimes, server: &str) -> Failure {
        let reason = times.reason.as_deref().unwrap_or_default();
        if let Some((code, text)) = refusal(reason) {
            return Failure { in_log: Some(reason.to_owned()), ..Failure::new(code, text.to_owned()) };
        }
        if let Some(failure) = Failure::of_peer_end(outcome, times) {
            return failure;
        }
        let (code, text) = match outcome {
            Outcome::Timeout => (1050, "request timeout"),
            Outcome::Dns => (1101, "lookup: no such host"),
            Outcome::Refused => (1212, "dial: connection refused"),
            Outcome::Reset => (1220, RESET),
            Outcome::Tls => TLS_REASONS
                .iter()
                .find(|(known, _, _)| reason.contains(known))
                .map_or((1300, "tls: the handshake failed"), |(_, code, text)| (*code, *text)),
            Outcome::Protocol => (1000, "malformed HTTP response"),
            _ => (1000, "the request was not completed"),
        };
        let in_log = match outcome {
            Outcome::Refused => format!("dial tcp {server}: connect: connection refused"),
            Outcome::Dns => {
                let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
                format!("lookup {host}: no such host")
            }
            _ if reason.is_empty() => text.to_owned(),
            _ => format!("{text} ({reason})"),
        };
        Failure { code, text: text.to_owned(), in_log: Some(in_log), names_request: true }
    }

    /// Of a request whose connection the server ended, unless that says less than the outcome.
    fn of_peer_end(outcome: Outcome, times: &CompletedTimes) -> Option<Failure> {
        match times.peer_end? {
            PeerEnd::TlsAlert(number) => Some(Failure::new(1010, alert_text(number))),
            PeerEnd::Closed if !matches!(outcome, Outcome::Reset | Outcome::Tls) => None,
            PeerEnd::Closed if times.bytes_in > 0 => Some(Failure::new(1000, "unexpected EOF".to_owned())),
            PeerEnd::Closed => Some(Failure::new(1000, "EOF".to_owned())),
        }
    }

    /// Of a response; none where its status is below 400.
    pub(crate) fn of_status(status: u16) -> Option<Failure> {
        (400..600).contains(&status).then(|| Failure::new(1000 + status, String::new()))
    }

    /// Of a body that was received in part, or is not in its coding: the log does not name its request.
    pub(crate) fn of_body(code: u16, text: String) -> Failure {
        Failure { code, text, in_log: None, names_request: false }
    }

    /// The same with what the log says of it, after a request such as `Get "http://h/"`.
    pub(crate) fn of_request(self, request: &str) -> Failure {
        if !self.names_request {
            return self;
        }
        let in_log = Some(format!("{request}: {}", self.log_text()));
        Failure { in_log, ..self }
    }

    /// What the log and exceptions say of it.
    pub(crate) fn log_text(&self) -> &str {
        self.in_log.as_deref().unwrap_or(&self.text)
    }
}
