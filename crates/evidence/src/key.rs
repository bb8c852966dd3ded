//! What a number is about: metric, scenario, endpoint, phase, outcome and tags.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::outcome::Outcome;

/// A shared name: of a scenario, an endpoint, a phase, a tag.
pub type Name = Arc<str>;

/// The number by which everything else refers to a [`Key`]; dense, from 0, in one loop or one archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(pub u32);

/// What is measured or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Histogram, µs: due instant → last byte received, by outcome. What a user waits.
    ResponseTime,
    /// Histogram, µs: first byte sent → last byte received, by outcome.
    ServiceTime,
    /// Histogram, µs: due instant → end of a whole iteration.
    IterationTime,
    /// Histogram, µs: actual start − due instant of an arrival, by instance: the generator's debt.
    StartLag,
    /// Histogram, µs: the same of what an iteration does at an instant: a step after its think time, a message of a
    /// stream.
    StepLag,
    /// Histogram, µs: how long one turn of the loop kept it from looking at the clock, or woke too late, by instance. In a turn
    /// in which scripts took longer than [`crate::STALL`], what they took has a key of its own, with the tag [`Key::CAUSE`].
    LoopStall,
    /// Histogram, µs: how long a connection took to be established, by the tag `target`.
    Connecting,
    /// Histogram, µs: how long its TLS handshake took, by the tag `target`.
    TlsHandshaking,
    /// Counter, ns: of answered requests, from their begin until a connection took them, less the next three.
    BlockedNs,
    /// Counter, ns: of answered requests, while the address of their host was looked up.
    ResolvingNs,
    /// Counter, ns: of answered requests for which a connection was opened, until it was established.
    ConnectingNs,
    /// Counter, ns: the same, from there to the end of the TLS handshake.
    TlsHandshakingNs,
    /// Counter, ns: of answered requests, from the first to the last byte sent; bytes that the peer's HTTP/2 windows hold back
    /// count as waiting.
    SendingNs,
    /// Counter, ns: of answered requests, from the last byte sent to the head of the response.
    WaitingNs,
    /// Counter, ns: of answered requests, from there to the last byte received.
    ReceivingNs,
    /// Counter: arrivals due, in the second and phase they were due.
    Scheduled,
    /// Counter: arrivals whose iteration was started, in the second they were due.
    Started,
    /// Counter: arrivals due and never started because the cap on virtual users was reached.
    DroppedCap,
    /// Counter: arrivals due and never started through the generator's own fault, by instance.
    DroppedLate,
    /// Counter: arrivals never started, in imported runs whose source does not say why.
    Dropped,
    /// Counter: iterations that ran to their end.
    IterationsDone,
    /// Counter: of the iterations that ran to their end those of scripts that threw, by what they threw (the tag
    /// [`Key::REASON`]).
    IterationsThrew,
    /// Counter: iterations given up by the generator at the end of the run or on Ctrl-C.
    IterationsCancelled,
    /// Counter: requests begun; each ends in exactly one outcome of `ResponseTime`.
    Requests,
    /// Histogram, µs: how long a request waited in the generator because no connection could take it and no further one
    /// could be opened, by what limited it (the tag `limit`).
    PlaceWait,
    /// Counter: requests that ended, by outcome, by the tag [`Key::STATUS`] (the status of the response, where one had begun)
    /// and, of those that failed, by the tag [`Key::REASON`]. Together they are all of `ResponseTime`.
    Results,
    /// Counter: requests that were sent again because the peer had not processed them.
    Retried,
    /// Counter: responses that departed from the standards of HTTP in a way that clients understand, by the tag
    /// [`Key::DEVIATION`].
    Deviations,
    /// Counter: bytes received, framing included, in the second the request completed.
    BytesIn,
    /// Counter: bytes sent, framing included, in the second the request completed.
    BytesOut,
    /// Histogram, µs: due instant → first message of a stream received, by outcome.
    FirstMessageTime,
    /// Counter: messages of streams received, in the second the call completed.
    MessagesIn,
    /// Counter: messages of streams sent, in the second the call completed.
    MessagesOut,
    /// Counter: responses for which the check named by the tag `check` held.
    CheckPassed,
    /// Counter: responses for which the check named by the tag `check` did not hold.
    CheckFailed,
    /// Histogram, µs: of the requests in `ResponseTime` those that were under way while the generator stalled or until what
    /// it had in flight was back at its number before, by outcome.
    PerturbedResponseTime,
    /// Histogram, µs: the same of `IterationTime`.
    PerturbedIterationTime,
    /// Histogram, µs: due instant → end of the run, of requests and iterations that were in flight then.
    InFlightAge,
    /// Histogram, µs: due instant → the moment at which the generator cancelled an iteration. Requests that were cancelled are
    /// in `ResponseTime`.
    CutIterationAge,
    /// Counter: of the requests in `Requests` those that began in the window of another phase than the one in which they were
    /// due, by the tag [`Key::WINDOW`].
    MovedRequests,
    /// Histogram, µs: the same of those in `ResponseTime` that ended in another window, by outcome.
    MovedResponseTime,
    /// Counter: the same of the iterations in `IterationsDone`.
    MovedIterationsDone,
    /// Counter: requests in flight at the end of the window of the key's phase, or when the load was stopped within it. Each
    /// loop counts its own once, in the second in which it left the window.
    InFlightAtEnd,
}

/// Whether a metric is a distribution or a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One histogram a second, in microseconds.
    Histogram,
    /// One sum a second.
    Counter,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 43] = [
        Metric::ResponseTime,
        Metric::ServiceTime,
        Metric::IterationTime,
        Metric::StartLag,
        Metric::StepLag,
        Metric::LoopStall,
        Metric::Connecting,
        Metric::TlsHandshaking,
        Metric::BlockedNs,
        Metric::ResolvingNs,
        Metric::ConnectingNs,
        Metric::TlsHandshakingNs,
        Metric::SendingNs,
        Metric::WaitingNs,
        Metric::ReceivingNs,
        Metric::Scheduled,
        Metric::Started,
        Metric::DroppedCap,
        Metric::DroppedLate,
        Metric::Dropped,
        Metric::IterationsDone,
        Metric::IterationsThrew,
        Metric::IterationsCancelled,
        Metric::Requests,
        Metric::PlaceWait,
        Metric::Results,
        Metric::Retried,
        Metric::Deviations,
        Metric::BytesIn,
        Metric::BytesOut,
        Metric::FirstMessageTime,
        Metric::MessagesIn,
        Metric::MessagesOut,
        Metric::CheckPassed,
        Metric::CheckFailed,
        Metric::PerturbedResponseTime,
        Metric::PerturbedIterationTime,
        Metric::InFlightAge,
        Metric::CutIterationAge,
        Metric::MovedRequests,
        Metric::MovedResponseTime,
        Metric::MovedIterationsDone,
        Metric::InFlightAtEnd,
    ];

    /// Its name in archives and tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::ResponseTime => "response_time",
            Metric::ServiceTime => "service_time",
            Metric::IterationTime => "iteration_time",
            Metric::StartLag => "start_lag",
            Metric::StepLag => "step_lag",
            Metric::LoopStall => "loop_stall",
            Metric::Connecting => "connecting",
            Metric::TlsHandshaking => "tls_handshaking",
            Metric::BlockedNs => "blocked_ns",
            Metric::ResolvingNs => "resolving_ns",
            Metric::ConnectingNs => "connecting_ns",
            Metric::TlsHandshakingNs => "tls_handshaking_ns",
            Metric::SendingNs => "sending_ns",
            Metric::WaitingNs => "waiting_ns",
            Metric::ReceivingNs => "receiving_ns",
            Metric::Scheduled => "scheduled",
            Metric::Started => "started",
            Metric::DroppedCap => "dropped_cap",
            Metric::DroppedLate => "dropped_late",
            Metric::Dropped => "dropped",
            Metric::IterationsDone => "iterations_done",
            Metric::IterationsThrew => "iterations_threw",
            Metric::IterationsCancelled => "iterations_cancelled",
            Metric::Requests => "requests",
            Metric::PlaceWait => "place_wait",
            Metric::Results => "results",
            Metric::Retried => "retried",
            Metric::Deviations => "deviations",
            Metric::BytesIn => "bytes_in",
            Metric::BytesOut => "bytes_out",
            Metric::FirstMessageTime => "first_message_time",
            Metric::MessagesIn => "messages_in",
            Metric::MessagesOut => "messages_out",
            Metric::CheckPassed => "check_passed",
            Metric::CheckFailed => "check_failed",
            Metric::PerturbedResponseTime => "perturbed_response_time",
            Metric::PerturbedIterationTime => "perturbed_iteration_time",
            Metric::InFlightAge => "in_flight_age",
            Metric::CutIterationAge => "cut_iteration_age",
            Metric::MovedRequests => "moved_requests",
            Metric::MovedResponseTime => "moved_response_time",
            Metric::MovedIterationsDone => "moved_iterations_done",
            Metric::InFlightAtEnd => "in_flight_at_end",
        }
    }

    /// Whether it is a sum of nanoseconds that requests spent.
    pub fn is_in_ns(self) -> bool {
        self.name().ends_with("_ns")
    }

    /// Whether it is about a part of the generator, and each part has keys of its own.
    pub fn is_of_the_generator(self) -> bool {
        matches!(self, Metric::StartLag | Metric::StepLag | Metric::LoopStall | Metric::DroppedLate)
    }

    /// Distribution or sum.
    pub fn shape(self) -> Shape {
        match self {
            Metric::ResponseTime
            | Metric::ServiceTime
            | Metric::IterationTime
            | Metric::StartLag
            | Metric::StepLag
            | Metric::LoopStall
            | Metric::Connecting
            | Metric::TlsHandshaking
            | Metric::PlaceWait
            | Metric::FirstMessageTime
            | Metric::PerturbedResponseTime
            | Metric::PerturbedIterationTime
            | Metric::InFlightAge
            | Metric::CutIterationAge
            | Metric::MovedResponseTime => Shape::Histogram,
            _ => Shape::Counter,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric")]
pub struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|m| m.name() == text).ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}

/// What a histogram or a counter is about. A row of the archive's `keys` table.
///
/// For a mix, an arrival's endpoint is the step that was drawn, so a dropped arrival has one too. For a
/// sequence the arrival belongs to the whole iteration: `endpoint` is then empty, and a dropped one was
/// missed by every step of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// What is measured.
    pub metric: Metric,
    /// The scenario's name; empty for what concerns the whole loop.
    pub scenario: Name,
    /// The step's name; empty for what concerns the whole iteration or loop.
    pub endpoint: Name,
    /// The phase in which the observation was due; [`Key::SETUP`] before the first, [`Key::TEARDOWN`] after the last, empty for
    /// the whole loop.
    pub phase: Name,
    /// How it ended, for metrics that are kept by outcome.
    pub outcome: Option<Outcome>,
    /// Further dimensions, such as `check`.
    pub tags: BTreeMap<Name, Name>,
    /// The part of the generator that it is about; none for what is the same whichever part of it measured it.
    pub instance: Option<Instance>,
}

impl Key {
    /// The tag that names the status of a response: an HTTP status such as `503`, or a gRPC code such as `NOT_FOUND`.
    pub const STATUS: &str = "status";
    /// The tag that says in words why a request failed, or what an iteration threw.
    pub const REASON: &str = "reason";
    /// The tag that names the phase in whose window something began or ended that was due in another one; empty after the
    /// last phase, and after the load was stopped.
    pub const WINDOW: &str = "window";
    /// The tag that names a departure from a standard.
    pub const DEVIATION: &str = "deviation";
    /// The tag that names a check.
    pub const CHECK: &str = "check";
    /// The phase of the run's setup, before the load.
    pub const SETUP: &str = "setup";
    /// The phase of the run's teardown, after the load.
    pub const TEARDOWN: &str = "teardown";
    /// The tag that says what caused a part of [`Metric::LoopStall`]; it is missing where that is not known.
    pub const CAUSE: &str = "cause";
    /// The [`Key::CAUSE`] of what the code of a script took.
    pub const SCRIPT: &str = "script";

    /// Whether a phase of this name is the run's setup or teardown, which are not load and which no plan can have.
    pub fn is_beside_load(phase: &str) -> bool {
        [Key::SETUP, Key::TEARDOWN].contains(&phase)
    }

    /// A key of the whole loop, without scenario, endpoint, phase or outcome.
    pub fn of(metric: Metric) -> Key {
        let empty: Name = Name::from("");
        Key {
            metric,
            scenario: empty.clone(),
            endpoint: empty.clone(),
            phase: empty,
            outcome: None,
            tags: BTreeMap::new(),
            instance: None,
        }
    }

    /// The same key in another scenario.
    pub fn scenario(self, scenario: &str) -> Key {
        Key { scenario: scenario.into(), ..self }
    }

    /// The same key for another endpoint.
    pub fn endpoint(self, endpoint: &str) -> Key {
        Key { endpoint: endpoint.into(), ..self }
    }

    /// The same key in another phase.
    pub fn phase(self, phase: &str) -> Key {
        Key { phase: phase.into(), ..self }
    }

    /// The same key with an outcome.
    pub fn outcome(self, outcome: Outcome) -> Key {
        Key { outcome: Some(outcome), ..self }
    }

    /// The same key of one part of the generator.
    pub fn instance(self, instance: Instance) -> Key {
        Key { instance: Some(instance), ..self }
    }

    /// The same key with one more tag.
    pub fn tag(mut self, name: &str, value: &str) -> Key {
        self.tags.insert(name.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_survives_its_name() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        assert!("latency".parse::<Metric>().is_err());
    }
}
