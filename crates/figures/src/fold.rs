//! The one pass over a run's keys.

use std::collections::{BTreeMap, btree_map::Entry};

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Name, Outcome, PhaseSpan, Run, Windows};
use workload::Workload;

use crate::arrivals::Arrivals;
use crate::ended::EndedCounts;
use crate::figures::Figures;
use crate::generator::{ConnectionTimes, GeneratorFigures};
use crate::row::{CheckCounts, Row};
use crate::row_key::RowKey;
use crate::scenario_phase::ScenarioPhase;
use crate::second::SecondCounts;
use crate::window::{self, WindowCounts};

impl Figures {
    /// The figures of `run`, which offered `workload`.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn fold(run: &dyn Run, workload: &Workload) -> Result<Figures, ReadError> {
        let mut fold = Fold::read(run, workload)?;
        for (id, key) in run.keys() {
            fold.add(run, *id, key)?;
        }
        fold.add_drops_to_steps(workload);
        let in_window = fold.in_windows(run);
        let mut rows: Vec<Row> = fold.rows.into_values().collect();
        rows.sort_by_key(|row| row.key.position(workload));
        let mut scenario_phases: Vec<ScenarioPhase> = fold.scenario_phases.into_values().collect();
        scenario_phases.sort_by_key(|scenario_phase| scenario_phase.key.position(workload));
        Ok(Figures {
            phases: window::of_phases(run, workload, &scenario_phases)?,
            rows,
            ended: fold.ended,
            scenario_phases,
            in_window,
            seconds: fold.seconds,
            generator: fold.generator,
            connections: fold.connections,
            missing: run.manifest().source.as_ref().map(|source| source.missing.clone()).unwrap_or_default(),
        })
    }
}

/// What has been counted so far.
struct Fold {
    windows: Windows,
    rows: BTreeMap<RowKey, Row>,
    ended: BTreeMap<RowKey, EndedCounts>,
    scenario_phases: BTreeMap<RowKey, ScenarioPhase>,
    /// How many requests each key of requests and of response times counts, and those of what moved.
    requests: BTreeMap<KeyId, u64>,
    in_flight_at_end: BTreeMap<Name, u64>,
    seconds: Vec<SecondCounts>,
    generator: GeneratorFigures,
    connections: BTreeMap<Name, ConnectionTimes>,
}

impl Fold {
    fn read(run: &dyn Run, workload: &Workload) -> Result<Fold, ReadError> {
        Ok(Fold {
            windows: workload.windows(run)?,
            rows: BTreeMap::new(),
            ended: BTreeMap::new(),
            scenario_phases: BTreeMap::new(),
            requests: BTreeMap::new(),
            in_flight_at_end: BTreeMap::new(),
            seconds: vec![SecondCounts::default(); run.seconds() as usize],
            generator: GeneratorFigures::default(),
            connections: BTreeMap::new(),
        })
    }

    fn add(&mut self, run: &dyn Run, id: KeyId, key: &Key) -> Result<(), ReadError> {
        let whole = || run.histogram(id, run.whole());
        let is_success = key.outcome.is_none_or(|outcome| outcome == Outcome::Ok);
        match key.metric {
            Metric::ResponseTime => {
                let by_second = run.histograms(id, run.whole())?;
                by_second.iter().for_each(|(second, times)| self.add_answers(key, *second, times.count()));
                let all = self.add_all_ended(key, &by_second);
                self.requests.insert(id, all.count());
                self.add_response_times(key, &all);
            }
            Metric::MovedResponseTime => {
                let moved = self.add_all_ended(key, &run.histograms(id, run.whole())?);
                self.requests.insert(id, moved.count());
            }
            Metric::IterationTime => {
                let all = self.add_all_ended(key, &run.histograms(id, run.whole())?);
                self.add_iteration_times(key, &all);
            }
            Metric::ServiceTime => self.add_service_times(key, &whole()?),
            Metric::FirstMessageTime if is_success => self.row(key).first_message.merge(&whole()?),
            Metric::PlaceWait => {
                let limit = tag(key, "limit");
                self.row(key).place_waits.entry(limit).or_default().merge(&whole()?);
            }
            Metric::Connecting => self.connection(key).connecting.merge(&whole()?),
            Metric::TlsHandshaking => self.connection(key).tls_handshaking.merge(&whole()?),
            Metric::StartLag | Metric::StepLag => self.generator.start_lag.merge(&whole()?),
            Metric::LoopStall => self.generator.loop_stall.merge(&whole()?),
            Metric::PerturbedResponseTime if key.outcome != Some(Outcome::Cancelled) => {
                self.generator.perturbed_requests += whole()?.count();
            }
            Metric::PerturbedResponseTime
            | Metric::PerturbedIterationTime
            | Metric::FirstMessageTime
            | Metric::InFlightAge
            | Metric::CutIterationAge => {}
            _ => self.add_counts(id, key, &run.counts(id, run.whole())?),
        }
        Ok(())
    }

    fn row(&mut self, key: &Key) -> &mut Row {
        self.row_of(key.into())
    }

    fn row_of(&mut self, key: RowKey) -> &mut Row {
        match self.rows.entry(key) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(place) => {
                let key = place.key().clone();
                place.insert(Row { key, ..Row::default() })
            }
        }
    }

    fn scenario_phase(&mut self, key: &Key) -> &mut ScenarioPhase {
        let key = RowKey::from(key).with_endpoint("");
        self.scenario_phases
            .entry(key.clone())
            .or_insert_with(|| ScenarioPhase { key, ..ScenarioPhase::default() })
    }

    fn connection(&mut self, key: &Key) -> &mut ConnectionTimes {
        self.connections.entry(tag(key, "target")).or_default()
    }

    fn check(&mut self, key: &Key) -> &mut CheckCounts {
        self.row(key).checks.entry(tag(key, "check")).or_default()
    }

    /// Counts what ended in the window of each phase, as far as `key` counts it.
    fn add_ended(&mut self, key: &Key, second: u32, count: u64) {
        for (window, share) in self.windows.shares(key, second) {
            let phase = self.windows.spans()[window].name.clone();
            let ended = self.ended.entry(RowKey { phase, ..RowKey::from(key) }).or_default();
            ended.add(key, count as f64 * share);
        }
    }

    /// Counts times of each second as what ended; all of them together.
    fn add_all_ended(&mut self, key: &Key, by_second: &[(u32, Histogram)]) -> Histogram {
        let mut all = Histogram::new();
        for (second, times) in by_second {
            all.merge(times);
            self.add_ended(key, *second, times.count());
        }
        all
    }

    /// Counts responses by second. Evidence after the last second of a run cannot come from a sound archive and is ignored.
    fn add_answers(&mut self, key: &Key, second: u32, count: u64) {
        let Some(counts) = self.seconds.get_mut(second as usize) else { return };
        match key.outcome.unwrap_or(Outcome::Ok) {
            Outcome::Ok => counts.ok += count,
            outcome if outcome.is_failure() => counts.failed += count,
            _ => {}
        }
    }

    fn add_iteration_times(&mut self, key: &Key, times: &Histogram) {
        self.row(key).iteration.merge(times);
        match key.outcome.unwrap_or(Outcome::Ok) {
            Outcome::Ok => self.scenario_phase(key).iteration_ok.merge(times),
            outcome if outcome.is_failure() => self.scenario_phase(key).iteration_failed.merge(times),
            _ => {}
        }
    }

    fn add_response_times(&mut self, key: &Key, times: &Histogram) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        let row = self.row(key);
        *row.outcomes.entry(outcome).or_default() += times.count();
        match outcome {
            Outcome::Ok => row.ok.merge(times),
            Outcome::Cancelled => {}
            _ => row.failed.merge(times),
        }
    }

    fn add_service_times(&mut self, key: &Key, times: &Histogram) {
        let row = self.row(key);
        row.service_all += times.count();
        match key.outcome.unwrap_or(Outcome::Ok) {
            Outcome::Ok => row.service_ok.merge(times),
            Outcome::Cancelled => {}
            _ => row.service_failed += times.count(),
        }
    }

    fn add_counts(&mut self, id: KeyId, key: &Key, counts: &[(u32, u64)]) {
        let sum: u64 = counts.iter().map(|(_, n)| n).sum();
        for (second, n) in counts {
            if EndedCounts::counts(key.metric) {
                self.add_ended(key, *second, *n);
            }
            if is_arrival(key.metric) {
                self.add_arrivals_of_second(key, *second, *n);
            }
        }
        match key.metric {
            metric if is_arrival(metric) => self.add_arrivals(key, sum),
            Metric::Requests | Metric::MovedRequests => {
                self.requests.insert(id, sum);
                if key.metric == Metric::Requests {
                    add(&mut self.row(key).requests, sum);
                }
            }
            Metric::InFlightAtEnd => *self.in_flight_at_end.entry(key.phase.clone()).or_default() += sum,
            Metric::CheckPassed => self.check(key).passed += sum,
            Metric::CheckFailed => self.check(key).failed += sum,
            Metric::Dropped
            | Metric::IterationsDone
            | Metric::IterationsThrew
            | Metric::IterationsCancelled => {
                self.add_iterations(key, sum);
            }
            _ => self.add_to_row(key, sum),
        }
    }

    fn add_iterations(&mut self, key: &Key, sum: u64) {
        let scenario_phase = self.scenario_phase(key);
        match key.metric {
            Metric::Dropped => scenario_phase.dropped_unknown += sum,
            Metric::IterationsDone => {
                scenario_phase.done += sum;
                add(&mut self.row(key).iterations_done, sum);
            }
            Metric::IterationsThrew => *scenario_phase.threw.entry(tag(key, Key::REASON)).or_default() += sum,
            _ => {
                scenario_phase.cancelled += sum;
                add(&mut self.row(key).iterations_cancelled, sum);
            }
        }
    }

    fn add_to_row(&mut self, key: &Key, sum: u64) {
        match key.metric {
            Metric::Results => self.row(key).results.add(key, sum),
            Metric::Retried => self.row(key).retried += sum,
            Metric::Deviations => {
                *self.row(key).deviations.entry(tag(key, Key::DEVIATION)).or_default() += sum;
            }
            Metric::MessagesIn => self.row(key).messages_in += sum,
            Metric::MessagesOut => self.row(key).messages_out += sum,
            Metric::BytesIn => {
                add(&mut self.generator.bytes_in, sum);
                add(&mut self.row(key).bytes_in, sum);
            }
            Metric::BytesOut => {
                add(&mut self.generator.bytes_out, sum);
                add(&mut self.row(key).bytes_out, sum);
            }
            Metric::BlockedNs
            | Metric::ResolvingNs
            | Metric::ConnectingNs
            | Metric::TlsHandshakingNs
            | Metric::SendingNs
            | Metric::WaitingNs
            | Metric::ReceivingNs => {
                let part = self.row(key).part_ns.entry(key.metric).or_default();
                *part = part.saturating_add(sum);
            }
            _ => {}
        }
    }

    fn add_arrivals_of_second(&mut self, key: &Key, second: u32, n: u64) {
        if let Some(counts) = self.seconds.get_mut(second as usize) {
            match key.metric {
                Metric::Scheduled => counts.scheduled += n,
                Metric::Started => counts.started += n,
                _ => counts.dropped += n,
            }
        }
        match key.metric {
            Metric::Scheduled => {
                self.scenario_phase(key).by_second.entry(second).or_default().scheduled += n;
            }
            Metric::DroppedLate => {
                self.scenario_phase(key).by_second.entry(second).or_default().dropped_generator_late += n;
            }
            _ => {}
        }
    }

    fn add_arrivals(&mut self, key: &Key, sum: u64) {
        let scenario_phase = self.scenario_phase(key);
        match key.metric {
            Metric::Scheduled => scenario_phase.scheduled += sum,
            Metric::Started => scenario_phase.started += sum,
            Metric::DroppedCap => scenario_phase.dropped_vu_limit += sum,
            _ => {
                scenario_phase.dropped_generator_late += sum;
                if let Some(instance) = key.instance {
                    *scenario_phase.late_by_instance.entry(instance).or_default() += sum;
                }
            }
        }
        let row = self.row(key);
        let arrivals = row.arrivals.get_or_insert_with(Arrivals::default);
        match key.metric {
            Metric::Scheduled => arrivals.scheduled += sum,
            Metric::Started => arrivals.started += sum,
            Metric::DroppedCap => {
                arrivals.dropped_cap += sum;
                row.dropped_vu_limit += sum;
            }
            _ => {
                arrivals.dropped_late += sum;
                row.dropped_generator_late += sum;
            }
        }
    }

    /// A dropped arrival of a sequence would have requested every step of it: count it for each.
    fn add_drops_to_steps(&mut self, workload: &Workload) {
        let dropped = |row: &&Row| row.key.endpoint.is_empty() && row.dropped() > 0;
        let drops: Vec<(RowKey, u64, u64)> = (self.rows.values().filter(dropped))
            .map(|row| (row.key.clone(), row.dropped_vu_limit, row.dropped_generator_late))
            .collect();
        for (key, vu_limit, generator_late) in drops {
            for step in workload.steps_of_sequence(&key.scenario) {
                let row = self.row_of(key.with_endpoint(&step.name));
                row.dropped_vu_limit += vu_limit;
                row.dropped_generator_late += generator_late;
            }
        }
    }

    /// What began and ended in the window of each phase.
    fn in_windows(&self, run: &dyn Run) -> Vec<WindowCounts> {
        if !run.manifest().counts_windows() {
            return Vec::new();
        }
        let of_phase = |span: &PhaseSpan| {
            let in_flight_at_end = self.in_flight_at_end.get(&span.name).copied();
            WindowCounts { in_flight_at_end, ..WindowCounts::default() }
        };
        let mut all: Vec<WindowCounts> = self.windows.spans().iter().map(of_phase).collect();
        let mut counted: Vec<(&Key, &u64)> =
            run.keys().iter().filter_map(|(id, key)| Some((key, self.requests.get(id)?))).collect();
        counted.sort_by_key(|(key, _)| key.tags.contains_key(Key::WINDOW));
        for (key, count) in counted {
            for (window, sign) in self.windows.signs(key) {
                if key.metric == Metric::MovedRequests {
                    let of = &mut all[window];
                    *(if sign > 0 { &mut of.begun_by_earlier } else { &mut of.begun_after }) += count;
                }
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

/// Whether a metric counts arrivals.
fn is_arrival(metric: Metric) -> bool {
    matches!(metric, Metric::Scheduled | Metric::Started | Metric::DroppedCap | Metric::DroppedLate)
}

fn add(to: &mut Option<u64>, n: u64) {
    *to = Some(to.unwrap_or(0) + n);
}

/// The value of a key's tag; empty without it.
fn tag(key: &Key, name: &str) -> Name {
    key.tags.get(name).cloned().unwrap_or_else(|| "".into())
}

#[cfg(test)]
mod tests;
