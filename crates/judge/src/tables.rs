//! Statistics by phase, scenario and endpoint, built in one pass over the run's keys.

mod build;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evidence::{Histogram, Instance, Instant, Key, Missing, Name, Outcome, Scope, Seconds, Window};
use workload::{Filter, Flow, Measure, Step, Workload};

/// The phase, scenario and endpoint that a row of statistics belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StatsKey {
    pub(crate) phase: Name,
    pub(crate) scenario: Name,
    /// Empty for whole iterations.
    pub(crate) endpoint: Name,
}

impl StatsKey {
    /// The scope of a finding about this row.
    pub(crate) fn scope(&self) -> Scope {
        let some = |name: &Name| (!name.is_empty()).then(|| name.to_string());
        let (phase, scenario) = (some(&self.phase), some(&self.scenario));
        Scope { phase, scenario, endpoint: some(&self.endpoint), ..Scope::default() }
    }

    /// In words: `list` in `steady`, or iterations of `play` in `steady`.
    pub(crate) fn describe(&self) -> String {
        match &*self.endpoint {
            "" => format!("iterations of `{}` in `{}`", self.scenario, self.phase),
            endpoint => format!("`{endpoint}` in `{}`", self.phase),
        }
    }

    /// The same phase and scenario, with another endpoint.
    pub(crate) fn with_endpoint(&self, endpoint: &str) -> StatsKey {
        StatsKey { endpoint: endpoint.into(), ..self.clone() }
    }

    /// Whether an objective with this filter counts the row. The run's setup and its teardown are no load.
    pub(crate) fn matches(&self, filter: &Filter) -> bool {
        is_any_or(filter.phase.as_ref(), &self.phase)
            && !Key::is_beside_load(&self.phase)
            && is_any_or(filter.scenario.as_ref(), &self.scenario)
            && is_any_or(filter.endpoint.as_ref(), &self.endpoint)
    }

    /// Whether a finding of this scope applies to the row. Whole iterations are in the scope of each endpoint.
    pub(crate) fn is_in(&self, scope: &Scope) -> bool {
        is_any_or(scope.phase.as_ref(), &self.phase)
            && is_any_or(scope.scenario.as_ref(), &self.scenario)
            && (self.endpoint.is_empty() || is_any_or(scope.endpoint.as_ref(), &self.endpoint))
    }
}

impl From<&Key> for StatsKey {
    fn from(key: &Key) -> StatsKey {
        StatsKey { phase: key.phase.clone(), scenario: key.scenario.clone(), endpoint: key.endpoint.clone() }
    }
}

impl Default for StatsKey {
    fn default() -> Self {
        let empty = Name::from("");
        StatsKey { phase: empty.clone(), scenario: empty.clone(), endpoint: empty }
    }
}

/// Whether `name` is the selected one, or none is selected.
pub(crate) fn is_any_or(selected: Option<&String>, name: &str) -> bool {
    selected.is_none_or(|selected| selected == name)
}

/// How often a check passed and failed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CheckCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

/// One endpoint of one scenario in one phase.
#[derive(Debug, Default)]
pub(crate) struct EndpointStats {
    pub(crate) key: StatsKey,
    /// Response times of successes.
    pub(crate) ok: Histogram,
    /// Response times of failures.
    pub(crate) failed: Histogram,
    /// Responses by outcome, cancelled ones included.
    pub(crate) outcomes: BTreeMap<Outcome, u64>,
    /// Service times of successes.
    pub(crate) service_ok: Histogram,
    /// Failures that have a service time.
    pub(crate) service_failed: u64,
    /// Service times of every outcome.
    pub(crate) service_all: u64,
    /// Requests begun.
    pub(crate) requests: u64,
    /// Of these, sent again.
    pub(crate) retried: u64,
    /// How long requests waited for a connection, by what limited it.
    pub(crate) place_waits: BTreeMap<Name, Histogram>,
    /// Arrivals for this endpoint that were dropped at the VU limit.
    pub(crate) dropped_vu_limit: u64,
    /// Arrivals for this endpoint that were dropped because the generator was late.
    pub(crate) dropped_generator_late: u64,
    /// By name of the check.
    pub(crate) checks: BTreeMap<Name, CheckCounts>,
}

/// Requests that began and ended in the window of a phase, whenever they were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WindowCounts {
    pub(crate) begun: u64,
    /// In success or failure.
    pub(crate) completed: u64,
    /// By the generator.
    pub(crate) cancelled: u64,
    /// In flight at its end, over all loops; none where that was not counted.
    pub(crate) in_flight_at_end: Option<u64>,
}

impl EndpointStats {
    /// Arrivals dropped for whatever reason.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped_vu_limit + self.dropped_generator_late
    }

    /// Successes and what the target failed: everything except what the generator itself gave up.
    pub(crate) fn attempted(&self) -> u64 {
        self.ok.count() + self.failed_by_target()
    }

    /// Failed requests, and arrivals that were dropped because the target was too slow for the VU limit.
    pub(crate) fn failed_by_target(&self) -> u64 {
        self.failed.count() + self.dropped_vu_limit
    }

    /// Failed requests and dropped arrivals: a quantile counts them as infinitely slow.
    pub(crate) fn infinitely_slow(&self) -> u64 {
        self.failed.count() + self.dropped()
    }

    /// Responses of every outcome.
    pub(crate) fn responses(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// Arrivals of one second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArrivalCounts {
    pub(crate) scheduled: u64,
    /// Dropped because the generator was late.
    pub(crate) dropped_generator_late: u64,
}

/// One scenario in one phase.
#[derive(Debug, Default)]
pub(crate) struct ScenarioPhaseStats {
    pub(crate) key: StatsKey,
    pub(crate) scheduled: u64,
    pub(crate) started: u64,
    pub(crate) dropped_vu_limit: u64,
    pub(crate) dropped_generator_late: u64,
    /// The same by the part of the generator, where that was recorded.
    pub(crate) late_by_instance: BTreeMap<Instance, u64>,
    /// Dropped in an imported run whose source does not give the reason.
    pub(crate) dropped_unknown: u64,
    pub(crate) done: u64,
    /// Of those that are done the iterations of a script that threw, by what they threw; an empty name where there was too
    /// much of it.
    pub(crate) threw: BTreeMap<Name, u64>,
    pub(crate) cancelled: u64,
    pub(crate) by_second: BTreeMap<u32, ArrivalCounts>,
    /// Whole iterations that succeeded.
    pub(crate) iteration_ok: Histogram,
    /// Whole iterations that failed.
    pub(crate) iteration_failed: Histogram,
    /// Checks of iterations, by name.
    pub(crate) checks: BTreeMap<Name, CheckCounts>,
}

impl ScenarioPhaseStats {
    /// Arrivals dropped for whatever reason.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped_vu_limit + self.dropped_generator_late
    }
}

/// A phase, as far as there is evidence of it.
#[derive(Debug, Clone)]
pub(crate) struct PhaseWindow {
    pub(crate) name: String,
    pub(crate) start: Duration,
    /// Its end in the plan; if the run ended earlier, no later than its last second with load.
    pub(crate) end: Duration,
    /// How much of it was offered: what counts are divided by.
    pub(crate) offered: Duration,
}

impl PhaseWindow {
    /// How much of it was offered, in seconds.
    pub(crate) fn length_s(&self) -> f64 {
        self.offered.as_secs_f64()
    }

    /// The seconds of the run that it overlaps.
    pub(crate) fn seconds(&self) -> Seconds {
        let second = |nanos: u128| u32::try_from(nanos).unwrap_or(u32::MAX);
        second(self.start.as_nanos() / 1_000_000_000)..second(self.end.as_nanos().div_ceil(1_000_000_000))
    }

    /// The window of its samples.
    pub(crate) fn window(&self) -> Window {
        Window { begin: Instant::at(self.start), end: Instant::at(self.end) }
    }
}

/// Everything that was counted, in the plan's order.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) endpoints: Vec<EndpointStats>,
    pub(crate) scenario_phases: Vec<ScenarioPhaseStats>,
    pub(crate) phases: Vec<PhaseWindow>,
    /// By phase; empty where the run file does not say in which phase requests ended.
    pub(crate) in_window: Vec<WindowCounts>,
    /// What the source of an imported run did not record.
    pub(crate) missing: BTreeSet<Missing>,
}

/// Observations of one row: those with a time, and those without one.
pub(crate) struct TimeGroup<'a> {
    pub(crate) key: &'a StatsKey,
    /// Times of successes.
    pub(crate) times: &'a Histogram,
    /// Failed requests and dropped arrivals.
    pub(crate) infinitely_slow: u64,
}

impl TimeGroup<'_> {
    /// How many observations it has.
    pub(crate) fn count(&self) -> u64 {
        self.times.count() + self.infinitely_slow
    }

    /// Share of failed requests and dropped arrivals; 0 for an empty group.
    pub(crate) fn infinitely_slow_share(&self) -> f64 {
        self.infinitely_slow as f64 / self.count().max(1) as f64
    }
}

impl Tables {
    /// The observations that a measure of times with this filter counts, by row; empty for other measures.
    pub(crate) fn time_groups(&self, measure: &Measure, filter: &Filter) -> Vec<TimeGroup<'_>> {
        let endpoints = self.endpoints.iter().filter(|endpoint| endpoint.key.matches(filter));
        let all: Vec<TimeGroup<'_>> = match measure {
            Measure::ResponseTime(_) => endpoints
                .map(|e| TimeGroup { key: &e.key, times: &e.ok, infinitely_slow: e.infinitely_slow() })
                .collect(),
            Measure::ServiceTime(_) => endpoints
                .map(|e| TimeGroup { key: &e.key, times: &e.service_ok, infinitely_slow: e.service_failed })
                .collect(),
            Measure::IterationTime(_) => {
                let iterations = self.scenario_phases.iter().filter(|s| s.key.matches(filter));
                iterations
                    .map(|s| TimeGroup {
                        key: &s.key,
                        times: &s.iteration_ok,
                        infinitely_slow: s.iteration_failed.count() + s.dropped(),
                    })
                    .collect()
            }
            _ => Vec::new(),
        };
        all.into_iter().filter(|group| group.count() > 0).collect()
    }
}

/// The steps that a dropped arrival of this scenario would have made, where its key does not name one.
pub(crate) fn steps_of_sequence<'a>(workload: &'a Workload, scenario: &str) -> &'a [Step] {
    match workload.scenarios.iter().find(|s| s.name == scenario).map(|s| &s.flow) {
        Some(Flow::Sequence(steps)) => steps,
        Some(Flow::Mix(_) | Flow::InTurn { .. } | Flow::Script { .. }) | None => &[],
    }
}
