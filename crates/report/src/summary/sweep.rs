//! One pass over a run's keys: what every table and plot is made of.

use std::collections::BTreeMap;

use evidence::key::{Key, KeyId, Name};
use evidence::run::ReadError;
use evidence::{Histogram, Metric, Outcome, Run, RunEnd};

use super::phases::PhaseSums;
use super::rows::{Arrivals, Check, Outcomes};
use super::streams::StreamTally;
use super::timeline::Bins;
use super::{Connections, Generator, Times};

/// Where a row's numbers belong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub phase: Name,
    pub scenario: Name,
    pub endpoint: Name,
}

/// What was counted at one place.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub arrivals: Option<Arrivals>,
    pub outcomes: Outcomes,
    pub iterations_done: Option<u64>,
    pub iterations_cancelled: Option<u64>,
    pub bytes_in: Option<u64>,
    pub bytes_out: Option<u64>,
    /// Response times of successes.
    pub response: Histogram,
    /// Service times of successes.
    pub service: Histogram,
    pub iteration: Histogram,
    /// Phases of answered requests.
    pub phases: PhaseSums,
    pub streams: StreamTally,
}

/// A check, by scenario, endpoint and name.
type CheckName = (Name, Name, Name);

/// Everything that one pass over the keys yields.
#[derive(Debug)]
pub(super) struct Sweep {
    pub places: BTreeMap<Place, Tally>,
    pub bins: Bins,
    checks: BTreeMap<CheckName, (u64, u64)>,
    /// How long connections took to be established, and their TLS handshakes, by target.
    openings: BTreeMap<Name, (Histogram, Histogram)>,
    start_lag: Histogram,
    loop_stall: Histogram,
    bytes_in: Option<u64>,
    bytes_out: Option<u64>,
}

pub(super) fn of(run: &dyn Run) -> Result<Sweep, ReadError> {
    let mut sweep = Sweep {
        places: BTreeMap::new(),
        bins: Bins::of(run.seconds()),
        checks: BTreeMap::new(),
        openings: BTreeMap::new(),
        start_lag: Histogram::new(),
        loop_stall: Histogram::new(),
        bytes_in: None,
        bytes_out: None,
    };
    for (id, key) in run.keys() {
        match key.metric {
            Metric::StartLag => sweep.start_lag.merge(&run.histogram(*id, run.whole())?),
            Metric::LoopStall => sweep.loop_stall.merge(&run.histogram(*id, run.whole())?),
            Metric::ResponseTime => sweep.response_times(run, (*id, key))?,
            Metric::ServiceTime if key.outcome.is_none_or(|o| o == Outcome::Ok) => {
                let histogram = run.histogram(*id, run.whole())?;
                sweep.at(key).service.merge(&histogram);
            }
            Metric::ServiceTime => {}
            Metric::Connecting | Metric::TlsHandshaking => {
                let target = key.tags.get("target").cloned().unwrap_or_else(|| "".into());
                let histogram = run.histogram(*id, run.whole())?;
                let (connecting, handshaking) = sweep.openings.entry(target).or_default();
                let to = if key.metric == Metric::Connecting { connecting } else { handshaking };
                to.merge(&histogram);
            }
            Metric::IterationTime => {
                let histogram = run.histogram(*id, run.whole())?;
                sweep.at(key).iteration.merge(&histogram);
            }
            Metric::FirstMessageTime if key.outcome.is_none_or(|o| o == Outcome::Ok) => {
                let histogram = run.histogram(*id, run.whole())?;
                sweep.at(key).streams.first.merge(&histogram);
            }
            Metric::FirstMessageTime => {}
            _ => sweep.counter(key, run.counts(*id, run.whole())?),
        }
    }
    Ok(sweep)
}

impl Sweep {
    fn at(&mut self, key: &Key) -> &mut Tally {
        let place = Place {
            phase: key.phase.clone(),
            scenario: key.scenario.clone(),
            endpoint: key.endpoint.clone(),
        };
        self.places.entry(place).or_default()
    }

    fn response_times(&mut self, run: &dyn Run, (id, key): (KeyId, &Key)) -> Result<(), ReadError> {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        for (second, histogram) in run.histograms(id, run.whole())? {
            self.bins.answers(second, outcome, histogram.count());
            let tally = self.at(key);
            *tally.outcomes.by_outcome.entry(outcome).or_default() += histogram.count();
            if outcome == Outcome::Ok {
                tally.response.merge(&histogram);
            }
        }
        Ok(())
    }

    fn counter(&mut self, key: &Key, counts: Vec<(u32, u64)>) {
        for (second, value) in &counts {
            self.bins.counter(key.metric, *second, *value);
        }
        let total: u64 = counts.iter().map(|(_, value)| value).sum();
        let add = |to: &mut Option<u64>| *to = Some(to.unwrap_or(0) + total);
        match key.metric {
            Metric::Scheduled => self.at(key).arrivals_mut().scheduled += total,
            Metric::Started => self.at(key).arrivals_mut().started += total,
            Metric::DroppedCap => self.at(key).arrivals_mut().dropped_cap += total,
            Metric::DroppedLate => self.at(key).arrivals_mut().dropped_late += total,
            Metric::IterationsDone => add(&mut self.at(key).iterations_done),
            Metric::IterationsCancelled => add(&mut self.at(key).iterations_cancelled),
            Metric::Requests => add(&mut self.at(key).outcomes.requests),
            Metric::MessagesIn => self.at(key).streams.received += total,
            Metric::MessagesOut => self.at(key).streams.sent += total,
            Metric::BytesIn => {
                add(&mut self.bytes_in);
                add(&mut self.at(key).bytes_in);
            }
            Metric::BytesOut => {
                add(&mut self.bytes_out);
                add(&mut self.at(key).bytes_out);
            }
            Metric::BlockedNs
            | Metric::ConnectingNs
            | Metric::TlsHandshakingNs
            | Metric::SendingNs
            | Metric::WaitingNs
            | Metric::ReceivingNs => self.at(key).phases.add(key.metric, total),
            Metric::CheckPassed => self.check(key).0 += total,
            Metric::CheckFailed => self.check(key).1 += total,
            _ => {}
        }
    }

    fn check(&mut self, key: &Key) -> &mut (u64, u64) {
        let name = key.tags.get("check").cloned().unwrap_or_else(|| "".into());
        self.checks.entry((key.scenario.clone(), key.endpoint.clone(), name)).or_default()
    }

    /// The books of the whole run.
    pub(super) fn outcomes(&self) -> Outcomes {
        let mut all = Outcomes::default();
        for tally in self.places.values() {
            all.add(&tally.outcomes);
        }
        all
    }

    /// Arrivals of the whole run.
    pub(super) fn arrivals(&self) -> Option<Arrivals> {
        self.places.values().filter_map(|tally| tally.arrivals).reduce(Arrivals::plus)
    }

    /// Pass rates of every check.
    pub(super) fn checks(&self) -> Vec<Check> {
        let check = |((scenario, endpoint, name), (passed, failed)): (&CheckName, &(u64, u64))| Check {
            scenario: scenario.to_string(),
            endpoint: endpoint.to_string(),
            name: name.to_string(),
            passed: *passed,
            failed: *failed,
        };
        self.checks.iter().map(check).collect()
    }

    /// The connections that were opened to each target.
    pub(super) fn connections(&self) -> Vec<Connections> {
        let one = |(target, (connecting, handshaking)): (&Name, &(Histogram, Histogram))| Connections {
            target: target.to_string(),
            connecting: Times::of(connecting),
            tls_handshaking: Times::of(handshaking),
        };
        self.openings.iter().map(one).collect()
    }

    /// How the generator itself did.
    pub(super) fn generator(&self, end: Option<&RunEnd>) -> Generator {
        Generator {
            start_lag: Times::of(&self.start_lag),
            loop_stall: Times::of(&self.loop_stall),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            folded_ticks: end.map(|e| e.folded_ticks),
            folded_endpoints: end.map(|e| e.folded_endpoints),
        }
    }
}

impl Tally {
    fn arrivals_mut(&mut self) -> &mut Arrivals {
        self.arrivals.get_or_insert_default()
    }
}
