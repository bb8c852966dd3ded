//! What a target's log says of each request, and between which instants the rest must lie.

use std::collections::HashMap;

use testbed::{Outcome, Served, Target};

/// A request with what is certain of it. Instants are those of [`testbed::now_ns`].
#[derive(Debug, Clone)]
pub(super) struct LoggedRequest {
    pub(super) served: Served,
    /// When it was due by the schedule, in nanoseconds from the beginning of the load; none in a closed model.
    pub(super) due_ns: Option<u64>,
    /// It was not sent before: the response to the request before it on its connection; none of the first one.
    pub(super) sent_after_ns: Option<u64>,
    /// The generator had its response by then: when the next request came on its connection, or the command had ended.
    pub(super) ended_by_ns: u64,
}

/// A range that contains the true value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The log of one load.
#[derive(Debug)]
pub(super) struct TargetLog {
    /// In the order in which they were read.
    pub(super) requests: Vec<LoggedRequest>,
    /// The latest instant at which the load can have begun: no request can have been read before it was due.
    began_by_ns: u64,
    /// The earliest: it was as late in sending the promptest request as the median one, at most.
    began_after_ns: u64,
}

impl TargetLog {
    /// The log of `target` after a command that had ended at `ended_ns`. `due_ns` gives when a request was due.
    pub(super) fn of(target: &Target, ended_ns: u64, due_ns: impl Fn(&Served) -> Option<u64>) -> TargetLog {
        let mut requests: Vec<LoggedRequest> = Vec::new();
        let mut latest: HashMap<u64, usize> = HashMap::new();
        for served in target.log() {
            let before = latest.insert(served.connection, requests.len());
            if let Some(before) = before {
                requests[before].ended_by_ns = served.received_ns;
            }
            requests.push(LoggedRequest {
                due_ns: due_ns(&served),
                sent_after_ns: before.and_then(|before| requests[before].served.answered_ns),
                ended_by_ns: ended_ns,
                served,
            });
        }
        let is_first = |request: &&LoggedRequest| request.due_ns.is_some() || request.sent_after_ns.is_none();
        let begun = |request: &LoggedRequest| request.served.received_ns - request.due_ns.unwrap_or(0);
        let mut began: Vec<u64> = requests.iter().filter(is_first).map(begun).collect();
        began.sort_unstable();
        let began_by_ns = began[0];
        let began_after_ns = began_by_ns - (began[began.len() / 2] - began_by_ns);
        TargetLog { requests, began_by_ns, began_after_ns }
    }

    /// Those of one endpoint and phase, as a log of their own.
    pub(super) fn select(&self, is_its: impl Fn(&LoggedRequest) -> bool) -> TargetLog {
        let requests = self.requests.iter().filter(|request| is_its(request)).cloned().collect();
        TargetLog { requests, ..*self }
    }

    /// Whether a request was read within so many seconds of the beginning.
    pub(super) fn is_within(&self, request: &LoggedRequest, seconds: u64) -> bool {
        request.served.received_ns < self.began_by_ns + seconds * 1_000_000_000
    }

    pub(super) fn count(&self, is_its: impl Fn(&LoggedRequest) -> bool) -> u64 {
        self.requests.iter().filter(|request| is_its(request)).count() as u64
    }

    pub(super) fn len(&self) -> u64 {
        self.requests.len() as u64
    }

    /// How many ended between two instants, in nanoseconds from the beginning of the load.
    pub(super) fn ended_within(
        &self,
        from_ns: u64,
        to_ns: u64,
        is_its: impl Fn(&LoggedRequest) -> bool,
    ) -> Bounds {
        let ended = |request: &LoggedRequest| Some((request.served.answered_ns?, request.ended_by_ns));
        let its = self.requests.iter().filter(|request| is_its(request));
        self.between(its.filter_map(ended), from_ns, to_ns)
    }

    /// How many were begun between two instants.
    pub(super) fn begun_within(&self, from_ns: u64, to_ns: u64) -> Bounds {
        let begun = |request: &LoggedRequest| {
            let first_ns = match request.due_ns {
                Some(due_ns) => self.began_after_ns + due_ns,
                None => request.sent_after_ns.unwrap_or(self.began_after_ns),
            };
            (first_ns, request.served.received_ns)
        };
        self.between(self.requests.iter().map(begun), from_ns, to_ns)
    }

    /// How many of the instants, each within a range, are between two others.
    fn between(&self, ranges: impl Iterator<Item = (u64, u64)>, from_ns: u64, to_ns: u64) -> Bounds {
        let ranges: Vec<(u64, u64)> = ranges.collect();
        let is_certain = |(first, last): &&(u64, u64)| {
            *first >= self.began_by_ns + from_ns && *last < self.began_after_ns + to_ns
        };
        let is_possible = |(first, last): &&(u64, u64)| {
            *last >= self.began_after_ns + from_ns && *first < self.began_by_ns + to_ns
        };
        Bounds {
            low: ranges.iter().filter(is_certain).count() as f64,
            high: ranges.iter().filter(is_possible).count() as f64,
        }
    }

    /// From the instant at which a request was due, or its virtual user was ready, to its last byte; in milliseconds.
    pub(super) fn response_ms(&self, request: &LoggedRequest) -> Option<Bounds> {
        let answered_ns = request.served.answered_ns?;
        let (low_ns, high_ns) = match request.due_ns {
            Some(due_ns) => (
                answered_ns.saturating_sub(self.began_by_ns + due_ns),
                request.ended_by_ns - (self.began_after_ns + due_ns),
            ),
            None => {
                let ready_ns = request.sent_after_ns.unwrap_or(self.began_after_ns);
                (answered_ns - request.served.received_ns, request.ended_by_ns - ready_ns)
            }
        };
        Some(Bounds::of_ns(low_ns, high_ns))
    }

    /// From the first byte sent to the last one received, in milliseconds.
    pub(super) fn service_ms(&self, request: &LoggedRequest) -> Option<Bounds> {
        let held_ns = request.served.answered_ns? - request.served.received_ns;
        let due_ns = self.began_after_ns + request.due_ns.unwrap_or(0);
        let sent_ns = request.sent_after_ns.unwrap_or(0).max(due_ns);
        Some(Bounds::of_ns(held_ns, request.ended_by_ns - sent_ns))
    }

    /// From the beginning of the load to the last response, in milliseconds.
    pub(super) fn elapsed_ms(&self) -> Bounds {
        let last_ns =
            self.requests.iter().filter_map(|request| request.served.answered_ns).max().unwrap_or(0);
        let by_ns = self.requests.iter().map(|request| request.ended_by_ns).max().unwrap_or(0);
        Bounds::of_ns(last_ns - self.began_by_ns, by_ns - self.began_after_ns)
    }

    /// The time that requests were in flight, summed over all, in seconds.
    pub(super) fn in_flight_s(&self) -> Bounds {
        let times = self.requests.iter().filter_map(|request| self.service_ms(request));
        times.fold(Bounds::exactly(0.0), |sum, one| Bounds {
            low: sum.low + one.low / 1e3,
            high: sum.high + one.high / 1e3,
        })
    }

    /// The most requests that were in flight at once.
    pub(super) fn most_in_flight(&self) -> Bounds {
        let most = |times: &dyn Fn(&LoggedRequest) -> (u64, u64)| {
            let times = self.requests.iter().map(times);
            let mut changes: Vec<(u64, i64)> = times.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
            changes.sort_unstable();
            let mut now = 0;
            let numbers = changes.iter().map(|(_, change)| {
                now += change;
                now
            });
            numbers.max().unwrap_or(0) as f64
        };
        let at_target = |request: &LoggedRequest| {
            let received_ns = request.served.received_ns;
            (received_ns, request.served.answered_ns.unwrap_or(received_ns))
        };
        let at_most = |request: &LoggedRequest| {
            let due_ns = self.began_after_ns + request.due_ns.unwrap_or(0);
            (request.sent_after_ns.unwrap_or(0).max(due_ns), request.ended_by_ns)
        };
        Bounds { low: most(&at_target), high: most(&at_most) }
    }
}

impl LoggedRequest {
    pub(super) fn is_ok(&self) -> bool {
        self.served.outcome == Outcome::Answered && self.served.status.is_some_and(|status| status < 400)
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.is_ok()
    }
}

impl Bounds {
    pub(super) fn exactly(value: f64) -> Bounds {
        Bounds { low: value, high: value }
    }

    fn of_ns(low: u64, high: u64) -> Bounds {
        Bounds { low: low as f64 / 1e6, high: high as f64 / 1e6 }
    }

    pub(super) fn per(self, length: f64) -> Bounds {
        Bounds { low: self.low / length, high: self.high / length }
    }
}
