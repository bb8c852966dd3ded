//! Tables by phase, scenario and endpoint: one pass over the run's keys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Missing, Name, Outcome, Run, Scope, Seconds};
use workload::{Flow, Step, Workload};

/// Where a number belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) phase: Name,
    pub(crate) scenario: Name,
    /// Empty for whole iterations.
    pub(crate) endpoint: Name,
}

impl Place {
    /// As the scope of a finding.
    pub(crate) fn scope(&self) -> Scope {
        let some = |name: &Name| (!name.is_empty()).then(|| name.to_string());
        let (phase, scenario) = (some(&self.phase), some(&self.scenario));
        Scope { phase, scenario, endpoint: some(&self.endpoint), ..Scope::default() }
    }

    /// In words: `list` in `steady`, or iterations of `play` in `steady`.
    pub(crate) fn words(&self) -> String {
        match &*self.endpoint {
            "" => format!("iterations of `{}` in `{}`", self.scenario, self.phase),
            endpoint => format!("`{endpoint}` in `{}`", self.phase),
        }
    }
}

/// One endpoint of one scenario in one phase.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) place: Place,
    /// Response times of successes.
    pub(crate) ok: Histogram,
    /// Response times of failures.
    pub(crate) failed: Histogram,
    /// How many responses had each outcome, cancelled ones included.
    pub(crate) outcomes: BTreeMap<Outcome, u64>,
    /// Service times of successes.
    pub(crate) service_ok: Histogram,
    /// How many failures have a service time.
    pub(crate) service_failed: u64,
    /// How many service times there are, whatever the outcome.
    pub(crate) service_all: u64,
    /// Requests begun.
    pub(crate) requests: u64,
    /// Arrivals dropped at the cap that would have come here.
    pub(crate) dropped_cap: u64,
    /// Arrivals dropped late that would have come here.
    pub(crate) dropped_late: u64,
    /// Passed and failed, by check.
    pub(crate) checks: BTreeMap<Name, (u64, u64)>,
}

impl Cell {
    /// Dropped for whatever reason.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped_cap + self.dropped_late
    }

    /// What the target was asked or too slow to be asked: all but what the generator itself gave up.
    pub(crate) fn asked(&self) -> u64 {
        self.ok.count() + self.missed()
    }

    /// What the target failed, or was too slow to be asked.
    pub(crate) fn missed(&self) -> u64 {
        self.failed.count() + self.dropped_cap
    }

    /// Responses of every outcome.
    pub(crate) fn responses(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// One scenario in one phase.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) place: Place,
    pub(crate) scheduled: u64,
    pub(crate) started: u64,
    pub(crate) dropped_cap: u64,
    pub(crate) dropped_late: u64,
    /// Dropped in an imported run, whose source does not say why.
    pub(crate) dropped_unknown: u64,
    pub(crate) done: u64,
    pub(crate) cancelled: u64,
    /// Scheduled and dropped late, by second.
    pub(crate) by_second: BTreeMap<u32, (u64, u64)>,
    pub(crate) start_lag: Histogram,
    /// Whole iterations that succeeded.
    pub(crate) iteration_ok: Histogram,
    /// Whole iterations that failed.
    pub(crate) iteration_failed: Histogram,
}

impl Stretch {
    /// Dropped for whatever reason.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped_cap + self.dropped_late
    }
}

impl Default for Place {
    fn default() -> Self {
        let empty = Name::from("");
        Place { phase: empty.clone(), scenario: empty.clone(), endpoint: empty }
    }
}

/// A phase, as far as there is evidence of it.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) start: Duration,
    /// Its end in the plan; if the run ended earlier, no later than its last second with load.
    pub(crate) end: Duration,
}

impl Span {
    /// How long it is.
    pub(crate) fn length_s(&self) -> f64 {
        self.end.saturating_sub(self.start).as_secs_f64()
    }

    /// The seconds of the run it has a part in.
    pub(crate) fn seconds(&self) -> Seconds {
        let second = |nanos: u128| u32::try_from(nanos).unwrap_or(u32::MAX);
        second(self.start.as_nanos() / 1_000_000_000)..second(self.end.as_nanos().div_ceil(1_000_000_000))
    }
}

/// What was counted, by place; in the plan's order.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) cells: Vec<Cell>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) spans: Vec<Span>,
    /// What the source of an imported run did not keep.
    pub(crate) missing: BTreeSet<Missing>,
}

#[derive(Default)]
struct Draft {
    cells: BTreeMap<Place, Cell>,
    stretches: BTreeMap<Place, Stretch>,
}

impl Tables {
    pub(crate) fn of(run: &dyn Run, workload: &Workload) -> Result<Tables, ReadError> {
        let mut draft = Draft::default();
        for (id, key) in run.keys() {
            draft.enter(run, (*id, key))?;
        }
        draft.hand_down_drops(workload);
        let order = |place: &Place| {
            let phase = workload.phases.iter().position(|p| *p.name == *place.phase);
            let scenario = workload.scenarios.iter().position(|s| *s.name == *place.scenario);
            let step = scenario
                .and_then(|s| workload.scenarios[s].steps().position(|step| *step.name == *place.endpoint));
            (phase.unwrap_or(usize::MAX), scenario.unwrap_or(usize::MAX), step.unwrap_or(usize::MAX))
        };
        let mut cells: Vec<Cell> = draft.cells.into_values().collect();
        cells.sort_by_key(|cell| order(&cell.place));
        let mut stretches: Vec<Stretch> = draft.stretches.into_values().collect();
        stretches.sort_by_key(|stretch| order(&stretch.place));
        let spans = spans(run, workload, &stretches);
        let missing = run.manifest().source.as_ref().map(|source| source.missing.clone()).unwrap_or_default();
        Ok(Tables { cells, stretches, spans, missing })
    }
}

/// The phases. Those of a run that did not run its course end with the last whole second in which anything
/// was due: what it did not get to do must not count as slowness. A run that ends when its iterations are made
/// ends with the last second in which anything was due, whole or not: nothing of what was asked is missing. The
/// phase of an imported run was made from its evidence.
fn spans(run: &dyn Run, workload: &Workload, stretches: &[Stretch]) -> Vec<Span> {
    let is_complete = run.end().is_some_and(|end| end.ending == evidence::Ending::Completed);
    let last_due =
        stretches.iter().filter_map(|s| s.by_second.last_key_value().map(|(second, _)| *second)).max();
    let last_due = Duration::from_secs(u64::from(last_due.unwrap_or(0)));
    let over = last_due + Duration::from_secs(1);
    let ends_when_done = workload.scenarios.iter().any(|s| s.executor.iterations().is_some());
    let is_imported = run.manifest().source.is_some();
    let cut = |at: Duration| match is_complete {
        _ if is_imported || at <= over => at,
        true if ends_when_done => over,
        true => at,
        false => last_due,
    };
    let span = |phase: &workload::Phase| Span {
        name: phase.name.clone(),
        start: cut(phase.start),
        // A run that ended before this phase began has nothing of it, and no less than nothing.
        end: cut(phase.end).max(cut(phase.start)),
    };
    workload.phases.iter().map(span).collect()
}

/// The steps a dropped arrival of this scenario would have made, where its key does not say so.
pub(crate) fn steps_of_sequence<'a>(workload: &'a Workload, scenario: &str) -> &'a [Step] {
    match workload.scenarios.iter().find(|s| s.name == scenario).map(|s| &s.flow) {
        Some(Flow::Sequence(steps)) => steps,
        Some(Flow::Mix(_) | Flow::InTurn { .. }) | None => &[],
    }
}

impl Draft {
    fn cell(&mut self, key: &Key) -> &mut Cell {
        let place = Place {
            phase: key.phase.clone(),
            scenario: key.scenario.clone(),
            endpoint: key.endpoint.clone(),
        };
        self.cells.entry(place.clone()).or_insert_with(|| Cell { place, ..Cell::default() })
    }

    fn stretch(&mut self, key: &Key) -> &mut Stretch {
        let place = Place { phase: key.phase.clone(), scenario: key.scenario.clone(), ..Place::default() };
        self.stretches.entry(place.clone()).or_insert_with(|| Stretch { place, ..Stretch::default() })
    }

    fn enter(&mut self, run: &dyn Run, (id, key): (KeyId, &Key)) -> Result<(), ReadError> {
        match key.metric {
            Metric::ResponseTime | Metric::ServiceTime | Metric::IterationTime | Metric::StartLag => {
                let histogram = run.histogram(id, run.whole())?;
                self.enter_times(key, &histogram);
            }
            Metric::Scheduled | Metric::DroppedLate => {
                let counts = run.counts(id, run.whole())?;
                self.enter_by_second(key, &counts);
                self.enter_sum(key, counts.iter().map(|(_, n)| n).sum());
            }
            Metric::LoopStall
            | Metric::BytesIn
            | Metric::BytesOut
            | Metric::FirstMessageTime
            | Metric::MessagesIn
            | Metric::MessagesOut
            | Metric::Connecting
            | Metric::TlsHandshaking
            | Metric::BlockedNs
            | Metric::ConnectingNs
            | Metric::TlsHandshakingNs
            | Metric::SendingNs
            | Metric::WaitingNs
            | Metric::ReceivingNs => {}
            _ => {
                let sum = run.total(id)?;
                self.enter_sum(key, sum);
            }
        }
        Ok(())
    }

    fn enter_times(&mut self, key: &Key, histogram: &Histogram) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        match key.metric {
            Metric::StartLag => self.stretch(key).start_lag.merge(histogram),
            Metric::IterationTime if outcome == Outcome::Ok => {
                self.stretch(key).iteration_ok.merge(histogram)
            }
            Metric::IterationTime if outcome.is_failure() => {
                self.stretch(key).iteration_failed.merge(histogram)
            }
            Metric::ServiceTime => {
                let cell = self.cell(key);
                cell.service_all += histogram.count();
                match outcome {
                    Outcome::Ok => cell.service_ok.merge(histogram),
                    Outcome::Cancelled => {}
                    _ => cell.service_failed += histogram.count(),
                }
            }
            Metric::ResponseTime => {
                let cell = self.cell(key);
                *cell.outcomes.entry(outcome).or_default() += histogram.count();
                match outcome {
                    Outcome::Ok => cell.ok.merge(histogram),
                    Outcome::Cancelled => {}
                    _ => cell.failed.merge(histogram),
                }
            }
            _ => {}
        }
    }

    fn enter_by_second(&mut self, key: &Key, counts: &[(u32, u64)]) {
        let stretch = self.stretch(key);
        for (second, n) in counts {
            let (scheduled, late) = stretch.by_second.entry(*second).or_default();
            *if key.metric == Metric::Scheduled { scheduled } else { late } += n;
        }
    }

    fn enter_sum(&mut self, key: &Key, sum: u64) {
        let check = || key.tags.get("check").cloned().unwrap_or_else(|| Name::from(""));
        match key.metric {
            Metric::Scheduled => self.stretch(key).scheduled += sum,
            Metric::Started => self.stretch(key).started += sum,
            Metric::Dropped => self.stretch(key).dropped_unknown += sum,
            Metric::IterationsDone => self.stretch(key).done += sum,
            Metric::IterationsCancelled => self.stretch(key).cancelled += sum,
            Metric::DroppedCap => {
                self.stretch(key).dropped_cap += sum;
                self.cell(key).dropped_cap += sum;
            }
            Metric::DroppedLate => {
                self.stretch(key).dropped_late += sum;
                self.cell(key).dropped_late += sum;
            }
            Metric::Requests => self.cell(key).requests += sum,
            Metric::CheckPassed => self.cell(key).checks.entry(check()).or_default().0 += sum,
            Metric::CheckFailed => self.cell(key).checks.entry(check()).or_default().1 += sum,
            _ => {}
        }
    }

    /// A dropped arrival of a sequence was missed by every step of it: enter it there.
    fn hand_down_drops(&mut self, workload: &Workload) {
        let (whole, parts) =
            std::mem::take(&mut self.cells).into_iter().partition(|(p, _)| p.endpoint.is_empty());
        self.cells = parts;
        let whole: BTreeMap<Place, Cell> = whole;
        for (place, drops) in whole {
            for step in steps_of_sequence(workload, &place.scenario) {
                let place = Place { endpoint: step.name.as_str().into(), ..place.clone() };
                let cell =
                    self.cells.entry(place.clone()).or_insert_with(|| Cell { place, ..Cell::default() });
                cell.dropped_cap += drops.dropped_cap;
                cell.dropped_late += drops.dropped_late;
            }
        }
    }
}
