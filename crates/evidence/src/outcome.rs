//! How an operation ended, in one word.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a request ended. A failing target is data: every one of these is recorded, none is an error.
///
/// Precedence when several apply: transport, protocol, status (unless the step expects it), check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Complete, with an expected status, and every check held.
    Ok,
    /// Complete, but a check on the response did not hold.
    Check,
    /// An unexpected HTTP status from 400 to 499 other than 429.
    Http4xx,
    /// HTTP 429: refused by a rate limiter.
    Http429,
    /// An unexpected HTTP status from 500 to 599 other than 503.
    Http5xx,
    /// HTTP 503: refused for overload or unreadiness.
    Http503,
    /// An unexpected gRPC status.
    Grpc(GrpcCode),
    /// No complete response within the step's time limit.
    Timeout,
    /// The name of the host was not found.
    Dns,
    /// The connection was refused.
    Refused,
    /// The connection was reset or closed before the response was complete.
    Reset,
    /// TLS failed: chiefly its handshake.
    Tls,
    /// The peer violated the protocol.
    Protocol,
    /// Given up by the generator itself: at the end of the run or on Ctrl-C.
    Cancelled,
}

impl Outcome {
    /// Every outcome but the gRPC ones, in the order in which tables show them.
    pub const PLAIN: [Outcome; 13] = [
        Outcome::Ok,
        Outcome::Check,
        Outcome::Http4xx,
        Outcome::Http429,
        Outcome::Http5xx,
        Outcome::Http503,
        Outcome::Timeout,
        Outcome::Dns,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::Tls,
        Outcome::Protocol,
        Outcome::Cancelled,
    ];
    /// How many different outcomes there are; [`Outcome::index`] is below it.
    pub const COUNT: usize = Self::PLAIN.len() + GrpcCode::COUNT;

    /// A dense number below [`Outcome::COUNT`], for tables on the hot path.
    pub fn index(self) -> usize {
        match self {
            Outcome::Ok => 0,
            Outcome::Check => 1,
            Outcome::Http4xx => 2,
            Outcome::Http429 => 3,
            Outcome::Http5xx => 4,
            Outcome::Http503 => 5,
            Outcome::Timeout => 6,
            Outcome::Dns => 7,
            Outcome::Refused => 8,
            Outcome::Reset => 9,
            Outcome::Tls => 10,
            Outcome::Protocol => 11,
            Outcome::Cancelled => 12,
            Outcome::Grpc(code) => Self::PLAIN.len() + code.0 as usize,
        }
    }

    /// Whether the operation counts as a failure of the target. `Cancelled` is neither: the generator
    /// gave up, so the request says nothing about the target.
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Cancelled)
    }

    /// Whether requests that a generator sends at once, after it stalled, may cause it in a target that would have answered
    /// them one after the other.
    pub fn may_follow_a_burst(self) -> bool {
        use Outcome::{Grpc, Http429, Http503, Refused, Reset, Timeout, Tls};
        match self {
            Timeout | Refused | Reset | Tls | Http429 | Http503 => true,
            Grpc(code) => GrpcCode::OF_OVERLOAD.contains(&code),
            _ => false,
        }
    }

    /// Whether the server answered that it failed, whatever was asked.
    pub fn is_server_error(self) -> bool {
        match self {
            Outcome::Http5xx | Outcome::Http503 => true,
            Outcome::Grpc(code) => GrpcCode::OF_SERVER.contains(&code),
            _ => false,
        }
    }

    /// Whether a complete response came, whatever it said.
    pub fn is_answer(self) -> bool {
        use Outcome::{Check, Grpc, Http4xx, Http5xx, Http429, Http503, Ok};
        matches!(self, Ok | Check | Http4xx | Http429 | Http5xx | Http503 | Grpc(_))
    }

    /// The outcome of an unexpected HTTP status; statuses below 400 are a failed check.
    pub fn of_http_status(status: u16) -> Outcome {
        match status {
            429 => Outcome::Http429,
            400..=499 => Outcome::Http4xx,
            503 => Outcome::Http503,
            500..=599 => Outcome::Http5xx,
            _ => Outcome::Check,
        }
    }

    fn plain_name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Check => "check",
            Outcome::Http4xx => "http_4xx",
            Outcome::Http429 => "http_429",
            Outcome::Http5xx => "http_5xx",
            Outcome::Http503 => "http_503",
            Outcome::Grpc(_) => "grpc",
            Outcome::Timeout => "timeout",
            Outcome::Dns => "dns",
            Outcome::Refused => "refused",
            Outcome::Reset => "reset",
            Outcome::Tls => "tls",
            Outcome::Protocol => "protocol",
            Outcome::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Grpc(code) => write!(f, "grpc:{code}"),
            other => f.write_str(other.plain_name()),
        }
    }
}

/// A word that names no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an outcome")]
pub struct UnknownOutcome(String);

impl FromStr for Outcome {
    type Err = UnknownOutcome;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownOutcome(text.to_owned());
        if let Some(code) = text.strip_prefix("grpc:") {
            return GrpcCode::from_name(code).map(Outcome::Grpc).ok_or_else(unknown);
        }
        Self::PLAIN.into_iter().find(|o| o.plain_name() == text).ok_or_else(unknown)
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A gRPC status code, 0 to 16. Codes outside that range are `UNKNOWN`, as the specification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrpcCode(u8);

impl GrpcCode {
    /// How many codes there are.
    pub const COUNT: usize = 17;
    /// The call succeeded.
    pub const OK: GrpcCode = GrpcCode(0);
    /// The peer does not know the method.
    pub const UNIMPLEMENTED: GrpcCode = GrpcCode(12);
    /// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED and UNAVAILABLE.
    const OF_OVERLOAD: [GrpcCode; 3] = [GrpcCode(4), GrpcCode(8), GrpcCode(14)];
    /// UNKNOWN, INTERNAL, UNAVAILABLE and DATA_LOSS.
    const OF_SERVER: [GrpcCode; 4] = [GrpcCode(2), GrpcCode(13), GrpcCode(14), GrpcCode(15)];
    const NAMES: [&'static str; Self::COUNT] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];

    /// From the number on the wire.
    pub fn from_number(number: u32) -> Self {
        u8::try_from(number).ok().filter(|&n| (n as usize) < Self::COUNT).map_or(GrpcCode(2), GrpcCode)
    }

    /// From the name, such as `NOT_FOUND`.
    pub fn from_name(name: &str) -> Option<Self> {
        let position = Self::NAMES.iter().position(|n| *n == name)?;
        u8::try_from(position).ok().map(GrpcCode)
    }

    /// The number on the wire, 0 to 16.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[self.0 as usize])
    }
}

/// The status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResponseStatus {
    /// Of an HTTP response, such as 503.
    Http(u16),
    /// Of a gRPC response.
    Grpc(GrpcCode),
}

impl fmt::Display for ResponseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResponseStatus::Http(status) => write!(f, "{status}"),
            ResponseStatus::Grpc(code) => write!(f, "{code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Outcome> {
        let grpc = (0..GrpcCode::COUNT as u32).map(|n| Outcome::Grpc(GrpcCode::from_number(n)));
        Outcome::PLAIN.into_iter().chain(grpc)
    }

    #[test]
    fn every_outcome_has_its_own_index_and_survives_its_name() {
        for (expected, outcome) in all().enumerate() {
            assert_eq!(outcome.index(), expected);
            assert_eq!(outcome.to_string().parse(), Ok(outcome));
        }
        assert_eq!(all().count(), Outcome::COUNT);
    }

    #[test]
    fn statuses_map_to_their_class() {
        let seen = [204, 302, 404, 429, 500, 503].map(|s| Outcome::of_http_status(s).to_string());
        assert_eq!(seen, ["check", "check", "http_4xx", "http_429", "http_5xx", "http_503"]);
    }

    #[test]
    fn overload_and_failed_connections_may_follow_a_burst() {
        let excused: Vec<String> =
            all().filter(|outcome| outcome.may_follow_a_burst()).map(|outcome| outcome.to_string()).collect();
        let grpc = ["grpc:DEADLINE_EXCEEDED", "grpc:RESOURCE_EXHAUSTED", "grpc:UNAVAILABLE"];
        assert_eq!(excused[..6], ["http_429", "http_503", "timeout", "refused", "reset", "tls"]);
        assert_eq!(excused[6..], grpc);
    }

    #[test]
    fn a_code_outside_the_specification_is_unknown() {
        assert_eq!(GrpcCode::from_number(99).to_string(), "UNKNOWN");
        assert!("grpc:NOPE".parse::<Outcome>().is_err());
    }
}
