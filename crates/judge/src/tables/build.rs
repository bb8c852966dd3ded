//! Builds the tables from a run's keys.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Name, Outcome, PhaseSpan, Run, Windows};
use workload::Workload;

use super::{
    CheckCounts, EndpointStats, PhaseWindow, ScenarioPhaseStats, StatsKey, Tables, WindowCounts,
    steps_of_sequence,
};

impl Tables {
    /// The tables of a run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(crate) fn of(run: &dyn Run, workload: &Workload) -> Result<Tables, ReadError> {
        let mut draft = Draft::default();
        for (id, key) in run.keys() {
            draft.add(run, *id, key)?;
        }
        draft.add_drops_to_steps(workload);
        let in_window = draft.in_windows(run, &workload.windows(run)?);
        let order = |key: &StatsKey| {
            let phase = workload.phases.iter().position(|p| *p.name == *key.phase);
            let scenario = workload.scenarios.iter().position(|s| *s.name == *key.scenario);
            let step = scenario
                .and_then(|s| workload.scenarios[s].steps().position(|step| *step.name == *key.endpoint));
            (phase.unwrap_or(usize::MAX), scenario.unwrap_or(usize::MAX), step.unwrap_or(usize::MAX))
        };
        let mut endpoints: Vec<EndpointStats> = draft.endpoints.into_values().collect();
        endpoints.sort_by_key(|endpoint| order(&endpoint.key));
        let mut scenario_phases: Vec<ScenarioPhaseStats> = draft.scenario_phases.into_values().collect();
        scenario_phases.sort_by_key(|scenario_phase| order(&scenario_phase.key));
        let phases = phase_windows(run, workload, &scenario_phases)?;
        let missing = run.manifest().source.as_ref().map(|source| source.missing.clone()).unwrap_or_default();
        Ok(Tables { endpoints, scenario_phases, phases, in_window, missing })
    }
}

/// The phases. Those of a run that was cut short end with the last whole second in which anything was due: what the run
/// did not reach must not count as slowness. A run that ends when its iterations are done ends with the last second in
/// which anything was due, whole or not: nothing is missing from it. The phase of an imported run was made from its
/// evidence.
fn phase_windows(
    run: &dyn Run,
    workload: &Workload,
    scenario_phases: &[ScenarioPhaseStats],
) -> Result<Vec<PhaseWindow>, ReadError> {
    let load = evidence::run::load_end(run)?;
    let is_complete = run.end().is_some_and(|end| end.ending == evidence::Ending::Completed);
    let last_due =
        scenario_phases.iter().filter_map(|s| s.by_second.last_key_value().map(|(second, _)| *second)).max();
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
    let window = |phase: &workload::Phase| PhaseWindow {
        name: phase.name.clone(),
        start: cut(phase.start),
        // A phase that the run did not reach is empty; its length must not be negative.
        end: cut(phase.end).max(cut(phase.start)),
        offered: workload.offered_of(phase, load),
    };
    Ok(workload.phases.iter().map(window).collect())
}

impl Draft {
    /// What began and ended in the window of each phase.
    fn in_windows(&self, run: &dyn Run, windows: &Windows) -> Vec<WindowCounts> {
        if !run.manifest().counts_windows() {
            return Vec::new();
        }
        let of_phase = |span: &PhaseSpan| {
            let in_flight_at_end = self.in_flight_at_end.get(&span.name).copied();
            WindowCounts { in_flight_at_end, ..WindowCounts::default() }
        };
        let mut all: Vec<WindowCounts> = windows.spans().iter().map(of_phase).collect();
        let mut counted: Vec<(&Key, &u64)> =
            run.keys().iter().filter_map(|(id, key)| Some((key, self.requests.get(id)?))).collect();
        counted.sort_by_key(|(key, _)| key.tags.contains_key(Key::WINDOW));
        for (key, count) in counted {
            for (window, sign) in windows.signs(key) {
                let counted = match (key.metric, key.outcome) {
                    (Metric::Requests | Metric::MovedRequests, _) => &mut all[window].begun,
                    (_, Some(Outcome::Cancelled)) => &mut all[window].cancelled,
                    _ => &mut all[window].completed,
                };
                // What moved from a window was counted in it.
                *counted = if sign > 0 { *counted + count } else { counted.saturating_sub(*count) };
            }
        }
        all
    }
}

#[derive(Default)]
struct Draft {
    endpoints: BTreeMap<StatsKey, EndpointStats>,
    scenario_phases: BTreeMap<StatsKey, ScenarioPhaseStats>,
    /// How many requests each key of requests and of response times counts, and those of what moved.
    requests: BTreeMap<KeyId, u64>,
    in_flight_at_end: BTreeMap<Name, u64>,
}

impl Draft {
    fn endpoint(&mut self, key: StatsKey) -> &mut EndpointStats {
        self.endpoints.entry(key.clone()).or_insert_with(|| EndpointStats { key, ..EndpointStats::default() })
    }

    fn scenario_phase(&mut self, key: &Key) -> &mut ScenarioPhaseStats {
        let key = StatsKey::from(key).with_endpoint("");
        self.scenario_phases
            .entry(key.clone())
            .or_insert_with(|| ScenarioPhaseStats { key, ..ScenarioPhaseStats::default() })
    }

    /// The counts of a check, of an endpoint or of whole iterations.
    fn check(&mut self, key: &Key) -> &mut CheckCounts {
        let name = key.tags.get("check").cloned().unwrap_or_else(|| Name::from(""));
        let checks = match key.endpoint.is_empty() {
            true => &mut self.scenario_phase(key).checks,
            false => &mut self.endpoint(key.into()).checks,
        };
        checks.entry(name).or_default()
    }

    fn add(&mut self, run: &dyn Run, id: KeyId, key: &Key) -> Result<(), ReadError> {
        match key.metric {
            Metric::ResponseTime | Metric::ServiceTime | Metric::IterationTime | Metric::PlaceWait => {
                let histogram = run.histogram(id, run.whole())?;
                if key.metric == Metric::ResponseTime {
                    self.requests.insert(id, histogram.count());
                }
                self.add_times(key, &histogram);
            }
            Metric::MovedResponseTime => {
                self.requests.insert(id, run.histogram(id, run.whole())?.count());
            }
            Metric::Scheduled | Metric::DroppedLate => {
                let counts = run.counts(id, run.whole())?;
                self.add_by_second(key, &counts);
                self.add_sum(key, counts.iter().map(|(_, n)| n).sum());
            }
            Metric::StartLag
            | Metric::StepLag
            | Metric::LoopStall
            | Metric::PerturbedResponseTime
            | Metric::PerturbedIterationTime
            | Metric::InFlightAge
            | Metric::CutIterationAge
            | Metric::BytesIn
            | Metric::BytesOut
            | Metric::FirstMessageTime
            | Metric::MessagesIn
            | Metric::MessagesOut
            | Metric::Connecting
            | Metric::TlsHandshaking
            | Metric::BlockedNs
            | Metric::ResolvingNs
            | Metric::ConnectingNs
            | Metric::TlsHandshakingNs
            | Metric::SendingNs
            | Metric::WaitingNs
            | Metric::ReceivingNs => {}
            _ => {
                let sum = run.total(id)?;
                if matches!(key.metric, Metric::Requests | Metric::MovedRequests) {
                    self.requests.insert(id, sum);
                }
                self.add_sum(key, sum);
            }
        }
        Ok(())
    }

    fn add_times(&mut self, key: &Key, histogram: &Histogram) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        match key.metric {
            Metric::IterationTime if outcome == Outcome::Ok => {
                self.scenario_phase(key).iteration_ok.merge(histogram);
            }
            Metric::IterationTime if outcome.is_failure() => {
                self.scenario_phase(key).iteration_failed.merge(histogram);
            }
            Metric::PlaceWait => {
                let limit = key.tags.get("limit").cloned().unwrap_or_else(|| Name::from(""));
                self.endpoint(key.into()).place_waits.entry(limit).or_default().merge(histogram);
            }
            Metric::ServiceTime => {
                let endpoint = self.endpoint(key.into());
                endpoint.service_all += histogram.count();
                match outcome {
                    Outcome::Ok => endpoint.service_ok.merge(histogram),
                    Outcome::Cancelled => {}
                    _ => endpoint.service_failed += histogram.count(),
                }
            }
            Metric::ResponseTime => {
                let endpoint = self.endpoint(key.into());
                *endpoint.outcomes.entry(outcome).or_default() += histogram.count();
                match outcome {
                    Outcome::Ok => endpoint.ok.merge(histogram),
                    Outcome::Cancelled => {}
                    _ => endpoint.failed.merge(histogram),
                }
            }
            _ => {}
        }
    }

    fn add_by_second(&mut self, key: &Key, counts: &[(u32, u64)]) {
        let scenario_phase = self.scenario_phase(key);
        for (second, n) in counts {
            let arrivals = scenario_phase.by_second.entry(*second).or_default();
            if key.metric == Metric::Scheduled {
                arrivals.scheduled += n;
            } else {
                arrivals.dropped_generator_late += n;
            }
        }
    }

    fn add_sum(&mut self, key: &Key, sum: u64) {
        match key.metric {
            Metric::Scheduled => self.scenario_phase(key).scheduled += sum,
            Metric::Started => self.scenario_phase(key).started += sum,
            Metric::Dropped => self.scenario_phase(key).dropped_unknown += sum,
            Metric::IterationsDone => self.scenario_phase(key).done += sum,
            Metric::IterationsThrew => {
                let what = key.tags.get(Key::REASON).cloned().unwrap_or_else(|| Name::from(""));
                *self.scenario_phase(key).threw.entry(what).or_default() += sum;
            }
            Metric::IterationsCancelled => self.scenario_phase(key).cancelled += sum,
            Metric::DroppedCap => {
                self.scenario_phase(key).dropped_vu_limit += sum;
                self.endpoint(key.into()).dropped_vu_limit += sum;
            }
            Metric::DroppedLate => {
                let row = self.scenario_phase(key);
                row.dropped_generator_late += sum;
                if let Some(instance) = key.instance {
                    *row.late_by_instance.entry(instance).or_default() += sum;
                }
                self.endpoint(key.into()).dropped_generator_late += sum;
            }
            Metric::Requests => self.endpoint(key.into()).requests += sum,
            Metric::InFlightAtEnd => {
                *self.in_flight_at_end.entry(key.phase.clone()).or_default() += sum;
            }
            Metric::Retried => self.endpoint(key.into()).retried += sum,
            Metric::CheckPassed => self.check(key).passed += sum,
            Metric::CheckFailed => self.check(key).failed += sum,
            _ => {}
        }
    }

    /// A dropped arrival of a sequence would have requested every step of it: count it for each.
    fn add_drops_to_steps(&mut self, workload: &Workload) {
        let (whole, parts): (BTreeMap<StatsKey, EndpointStats>, _) =
            std::mem::take(&mut self.endpoints).into_iter().partition(|(key, _)| key.endpoint.is_empty());
        self.endpoints = parts;
        for (key, drops) in whole {
            for step in steps_of_sequence(workload, &key.scenario) {
                let endpoint = self.endpoint(key.with_endpoint(&step.name));
                endpoint.dropped_vu_limit += drops.dropped_vu_limit;
                endpoint.dropped_generator_late += drops.dropped_generator_late;
            }
        }
    }
}
