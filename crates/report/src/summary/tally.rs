//! One pass over a run's keys, which every table and plot is made from.

use std::collections::BTreeMap;

use evidence::key::{Key, KeyId, Name};
use evidence::run::ReadError;
use evidence::{Histogram, Metric, Missing, Outcome, Run, RunEnd};
use workload::Workload;

use super::bins::Bins;
use super::cost::AnswersBySecond;
use super::counts::{Arrivals, Check, Outcomes};
use super::endpoint_tally::{EndpointKey, EndpointTally, fold_single_steps};
use super::in_window::InWindow;
use super::labels::Labels;
use super::results::ResultCounts;
use super::{Connections, Generator, Times};

/// A check of an endpoint.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CheckKey {
    scenario: Name,
    endpoint: Name,
    name: Name,
}

/// How many responses passed and failed a check.
#[derive(Debug, Default)]
struct CheckCounts {
    passed: u64,
    failed: u64,
}

/// How long opening the connections to one target took.
#[derive(Debug, Default)]
struct ConnectionTimes {
    connecting: Histogram,
    tls_handshaking: Histogram,
}

/// The result of one pass over the keys of a run.
#[derive(Debug)]
pub(super) struct RunTally {
    pub endpoints: BTreeMap<EndpointKey, EndpointTally>,
    /// By the phase in which requests ended, not the one in which they were due.
    pub in_window: InWindow,
    pub bins: Bins,
    pub answers: AnswersBySecond,
    pub labels: Labels,
    checks: BTreeMap<CheckKey, CheckCounts>,
    connections: BTreeMap<Name, ConnectionTimes>,
    start_lag: Histogram,
    loop_stall: Histogram,
    bytes_in: Option<u64>,
    bytes_out: Option<u64>,
    perturbed_requests: Option<u64>,
    /// Whether the source of an imported run does not record how requests ended.
    lacks_outcomes: bool,
}

/// Everything that `run`, which offered `workload`, has counted.
pub(super) fn of(run: &dyn Run, workload: &Workload) -> Result<RunTally, ReadError> {
    let mut tally = RunTally {
        endpoints: BTreeMap::new(),
        in_window: InWindow::of(run, workload)?,
        bins: Bins::of(run),
        answers: AnswersBySecond::of(run.seconds()),
        labels: Labels::default(),
        checks: BTreeMap::new(),
        connections: BTreeMap::new(),
        start_lag: Histogram::new(),
        loop_stall: Histogram::new(),
        bytes_in: None,
        bytes_out: None,
        perturbed_requests: counts_perturbed(run).then_some(0),
        lacks_outcomes: lacks_outcomes(run),
    };
    for (id, key) in run.keys() {
        tally.add(run, *id, key)?;
    }
    tally.add_moved(run)?;
    fold_single_steps(&mut tally.endpoints, workload);
    for (key, counts) in &mut tally.endpoints {
        counts.complete(key);
        if counts.has_content(key) {
            tally.labels.add(&key.scenario, &key.endpoint);
        }
    }
    tally.checks.keys().for_each(|check| tally.labels.add(&check.scenario, &check.endpoint));
    Ok(tally)
}

impl RunTally {
    fn add(&mut self, run: &dyn Run, id: KeyId, key: &Key) -> Result<(), ReadError> {
        let is_success = key.outcome.is_none_or(|outcome| outcome == Outcome::Ok);
        let histogram = || run.histogram(id, run.whole());
        match key.metric {
            Metric::StartLag | Metric::StepLag => self.start_lag.merge(&histogram()?),
            Metric::LoopStall => self.loop_stall.merge(&histogram()?),
            Metric::PerturbedResponseTime if key.outcome != Some(Outcome::Cancelled) => {
                let perturbed = histogram()?.count();
                self.perturbed_requests = self.perturbed_requests.map(|all| all + perturbed);
            }
            Metric::ResponseTime => self.response_times(run, id, key)?,
            Metric::ServiceTime if is_success => self.endpoint(key).service.merge(&histogram()?),
            Metric::FirstMessageTime if is_success => self.endpoint(key).streams.first.merge(&histogram()?),
            Metric::ServiceTime | Metric::FirstMessageTime => {}
            Metric::PlaceWait => self.endpoint(key).place_wait.merge(&histogram()?),
            Metric::Connecting => self.connection(key).connecting.merge(&histogram()?),
            Metric::TlsHandshaking => self.connection(key).tls_handshaking.merge(&histogram()?),
            Metric::IterationTime => {
                for (second, times) in run.histograms(id, run.whole())? {
                    self.in_window.add(key, second, times.count());
                    self.endpoint(key).iteration.merge(&times);
                }
            }
            Metric::MovedResponseTime | Metric::MovedRequests | Metric::MovedIterationsDone => {}
            _ => self.counter(key, run.counts(id, run.whole())?),
        }
        Ok(())
    }

    /// What ended in another window than the one in which it was due.
    fn add_moved(&mut self, run: &dyn Run) -> Result<(), ReadError> {
        for (id, key) in run.keys() {
            match key.metric {
                Metric::MovedResponseTime => {
                    for (second, times) in run.histograms(*id, run.whole())? {
                        self.in_window.add(key, second, times.count());
                    }
                }
                Metric::MovedRequests | Metric::MovedIterationsDone => {
                    for (second, count) in run.counts(*id, run.whole())? {
                        self.in_window.add(key, second, count);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn endpoint(&mut self, key: &Key) -> &mut EndpointTally {
        let key = EndpointKey {
            phase: key.phase.clone(),
            scenario: key.scenario.clone(),
            endpoint: key.endpoint.clone(),
        };
        self.endpoints.entry(key).or_default()
    }

    fn connection(&mut self, key: &Key) -> &mut ConnectionTimes {
        self.connections.entry(tag(key, "target")).or_default()
    }

    fn check(&mut self, key: &Key) -> &mut CheckCounts {
        let key = CheckKey {
            scenario: key.scenario.clone(),
            endpoint: key.endpoint.clone(),
            name: tag(key, "check"),
        };
        self.checks.entry(key).or_default()
    }

    fn response_times(&mut self, run: &dyn Run, id: KeyId, key: &Key) -> Result<(), ReadError> {
        let outcome = known_outcome(run, key);
        for (second, histogram) in run.histograms(id, run.whole())? {
            let n = histogram.count();
            self.bins.add_responses(second, outcome, n);
            self.in_window.add(key, second, n);
            if outcome != Some(Outcome::Cancelled) {
                self.answers.add(second, n);
            }
            let endpoint = self.endpoint(key);
            endpoint.outcomes.count(outcome, n);
            if outcome.is_none_or(|outcome| outcome == Outcome::Ok) {
                endpoint.response.merge(&histogram);
            }
        }
        Ok(())
    }

    fn counter(&mut self, key: &Key, counts: Vec<(u32, u64)>) {
        for (second, value) in &counts {
            self.bins.add_count(key.metric, *second, *value);
            self.in_window.add(key, *second, *value);
        }
        let total: u64 = counts.iter().map(|(_, value)| value).sum();
        let add = |to: &mut Option<u64>| *to = Some(to.unwrap_or(0) + total);
        match key.metric {
            Metric::Scheduled => self.endpoint(key).arrivals_mut().scheduled += total,
            Metric::Started => self.endpoint(key).arrivals_mut().started += total,
            Metric::DroppedCap => self.endpoint(key).arrivals_mut().dropped_cap += total,
            Metric::DroppedLate => self.endpoint(key).arrivals_mut().dropped_late += total,
            Metric::IterationsDone => add(&mut self.endpoint(key).iterations_done),
            Metric::IterationsCancelled => add(&mut self.endpoint(key).iterations_cancelled),
            Metric::Requests => add(&mut self.endpoint(key).outcomes.requests),
            Metric::Results => self.endpoint(key).results.add(key, total),
            Metric::Retried => self.endpoint(key).outcomes.retried += total,
            Metric::MessagesIn => self.endpoint(key).streams.received += total,
            Metric::MessagesOut => self.endpoint(key).streams.sent += total,
            Metric::BytesIn => {
                add(&mut self.bytes_in);
                add(&mut self.endpoint(key).bytes_in);
            }
            Metric::BytesOut => {
                add(&mut self.bytes_out);
                add(&mut self.endpoint(key).bytes_out);
            }
            Metric::BlockedNs
            | Metric::ResolvingNs
            | Metric::ConnectingNs
            | Metric::TlsHandshakingNs
            | Metric::SendingNs
            | Metric::WaitingNs
            | Metric::ReceivingNs => self.endpoint(key).phases.add(key.metric, total),
            Metric::CheckPassed => self.check(key).passed += total,
            Metric::CheckFailed => self.check(key).failed += total,
            _ => {}
        }
    }

    /// Outcomes of the whole run.
    pub(super) fn outcomes(&self) -> Outcomes {
        let requests = self.arrivals().map(|_| 0);
        let mut all = Outcomes { requests, unknown: self.lacks_outcomes.then_some(0), ..Outcomes::default() };
        for endpoint in self.endpoints.values() {
            all.add(&endpoint.outcomes);
        }
        all
    }

    /// Requests of the whole run by outcome, status and reason.
    pub(super) fn results(&self) -> ResultCounts {
        let mut all = ResultCounts::default();
        self.endpoints.values().for_each(|endpoint| all.merge(&endpoint.results));
        all
    }

    /// Arrivals of the whole run.
    pub(super) fn arrivals(&self) -> Option<Arrivals> {
        self.endpoints.values().filter_map(|endpoint| endpoint.arrivals).reduce(Arrivals::plus)
    }

    /// The counts of every check.
    pub(super) fn checks(&self) -> Vec<Check> {
        let check = |(key, counts): (&CheckKey, &CheckCounts)| Check {
            scenario: key.scenario.to_string(),
            endpoint: key.endpoint.to_string(),
            name: key.name.to_string(),
            label: self.labels.of(&key.scenario, &key.endpoint),
            passed: counts.passed,
            failed: counts.failed,
        };
        self.checks.iter().map(check).collect()
    }

    /// The connections that were opened to each target.
    pub(super) fn connections(&self) -> Vec<Connections> {
        let connections = |(target, times): (&Name, &ConnectionTimes)| Connections {
            target: target.to_string(),
            connecting: Times::of(&times.connecting),
            tls_handshaking: Times::of(&times.tls_handshaking),
        };
        self.connections.iter().map(connections).collect()
    }

    /// Numbers of the generator itself.
    pub(super) fn generator(&self, end: Option<&RunEnd>) -> Generator {
        Generator {
            start_lag: Times::of(&self.start_lag),
            loop_stall: Times::of(&self.loop_stall),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            perturbed_requests: self.perturbed_requests,
            folded_ticks: end.map(|e| e.folded_ticks),
            folded_endpoints: end.map(|e| e.folded_endpoints),
        }
    }
}

/// How the requests of a key ended; none where the source of an imported run does not record it.
pub(super) fn known_outcome(run: &dyn Run, key: &Key) -> Option<Outcome> {
    key.outcome.filter(|_| !lacks_outcomes(run))
}

fn counts_perturbed(run: &dyn Run) -> bool {
    run.manifest().source.is_none() && run.manifest().counts_perturbed()
}

fn lacks_outcomes(run: &dyn Run) -> bool {
    run.manifest().source.as_ref().is_some_and(|source| source.lacks(Missing::Outcomes))
}

/// The value of a key's tag; empty without it.
fn tag(key: &Key, name: &str) -> Name {
    key.tags.get(name).cloned().unwrap_or_else(|| "".into())
}
