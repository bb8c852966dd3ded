//! The accounting of one loop: every arrival, request and check is counted once, under its key, in its second.

mod by_tag;
mod results;
mod sums;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Instance, Instant, Key, KeyId, Metric, Name, Outcome, Tick};

use crate::exchange::{Attempts, CheckResult, ConnectionSetup, Exchange};
use crate::exemplars::{KeptExchange, redacted};
use crate::index::{
    CheckIndex, CheckNameIndex, EndpointIndex, EndpointPhase, OriginIndex, PhaseIndex, ScenarioIndex,
    ScenarioPhase, grown,
};
use crate::operation::Operation;
use crate::program::{Program, Shape};
use crate::window::LoadWindow;
use by_tag::ByTag;
pub(crate) use results::Ending;
use results::{RequestResult, Results};
use sums::Sums;

/// What a row of the accounting counts: an endpoint's load, or the iterations of a whole scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Endpoint(EndpointIndex),
    Scenario(ScenarioIndex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccountingRow {
    pub(crate) subject: Subject,
    pub(crate) phase: PhaseIndex,
}

impl From<EndpointPhase> for AccountingRow {
    fn from(at: EndpointPhase) -> Self {
        AccountingRow { subject: Subject::Endpoint(at.endpoint), phase: at.phase }
    }
}

impl From<ScenarioPhase> for AccountingRow {
    fn from(at: ScenarioPhase) -> Self {
        AccountingRow { subject: Subject::Scenario(at.scenario), phase: at.phase }
    }
}

/// A row with its position in the lists of key numbers.
#[derive(Debug, Clone, Copy)]
struct PlacedRow {
    row: AccountingRow,
    position: usize,
}

/// An arrival that is due, and the row that it is counted in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueArrival {
    pub(crate) row: AccountingRow,
    pub(crate) due: Instant,
}

/// Why an arrival was not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// No virtual user was free: the target was too slow for the scenario's VU limit.
    VuLimit,
    /// The generator itself was late.
    GeneratorLate,
}

/// What kept a loop from looking at the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StallCause {
    /// The code of a script.
    Script,
    /// Its own work, or the system did not run it.
    Other,
}

const NO_KEY: u32 = u32::MAX;

/// The position of a key number in the list of its metric.
#[inline]
fn cell(row: PlacedRow, outcome: Option<Outcome>) -> usize {
    match outcome {
        None => row.position,
        Some(outcome) => row.position * Outcome::COUNT + outcome.index(),
    }
}

/// The accounting of one loop, kept in the tick that is being filled.
#[derive(Debug)]
pub(crate) struct Accounting {
    program: Arc<Program>,
    instance: Instance,
    tick: Box<Tick>,
    keys: u32,
    scenarios: usize,
    phases: usize,
    /// Key numbers by metric, then row, and outcome where the metric has one; `NO_KEY` until first used.
    grids: [Vec<u32>; Metric::ALL.len()],
    /// Key numbers of what happened in another window than that of the phase in which it was due: requests that began, and
    /// iterations that were done, whose rows differ; and requests that ended. By window, then as in `grids`.
    moved: Vec<[Vec<u32>; 2]>,
    /// Key numbers of checks, by endpoint, then phase, check and result.
    checks: Vec<Vec<u32>>,
    /// Key numbers of checks of iterations, by check, then scenario, phase and result.
    iteration_checks: Vec<u32>,
    /// Key numbers of connection times, by origin: connecting, TLS handshaking.
    connection_times: Vec<[u32; 2]>,
    sums: Sums,
    by_tag: ByTag,
    /// How requests ended, by row.
    results: Results,
    /// What iterations threw, by row.
    thrown: Results,
    /// By [`StallCause`].
    stalls: [Option<KeyId>; 2],
}

impl Accounting {
    pub(crate) fn new(program: Arc<Program>, instance: Instance) -> Self {
        let mut tick = Box::<Tick>::default();
        tick.instance = instance;
        Accounting {
            instance,
            scenarios: program.shape.scenarios.len(),
            phases: program.shape.phases.len(),
            checks: Vec::new(),
            iteration_checks: Vec::new(),
            tick,
            keys: 0,
            grids: [const { Vec::new() }; Metric::ALL.len()],
            moved: Vec::new(),
            connection_times: Vec::new(),
            sums: Sums::default(),
            by_tag: ByTag::default(),
            results: Results::default(),
            thrown: Results::default(),
            stalls: [None; 2],
            program,
        }
    }

    /// Keys that are met from now on have numbers from this one on.
    pub(crate) fn number_keys_from(&mut self, first: u32) {
        self.keys = first;
    }

    /// Count what the run's setup has counted of its requests, in the first second. Its one iteration is not load.
    pub(crate) fn add_setup(&mut self) {
        let program = self.program.clone();
        let mut ids: HashMap<KeyId, KeyId> = HashMap::new();
        for tick in &program.steps.setup_ticks {
            for (id, key) in tick.new_keys.iter().filter(|(_, key)| !key.endpoint.is_empty()) {
                let announced = self.announce(key.clone());
                ids.insert(*id, announced);
            }
            for (id, times) in tick.histograms() {
                if let Some(id) = ids.get(&id) {
                    self.tick.merge(*id, times);
                }
            }
            for count in tick.counts() {
                if let Some(id) = ids.get(&count.key) {
                    self.tick.add(*id, 0, count.value);
                }
            }
        }
    }

    /// The second of the tick that is being filled.
    pub(crate) fn second(&self) -> u32 {
        self.tick.second
    }

    pub(crate) fn scheduled(&mut self, arrival: DueArrival) {
        self.count_arrival(Metric::Scheduled, arrival);
    }

    pub(crate) fn started(&mut self, arrival: DueArrival, lag_ns: u64) {
        self.count_arrival(Metric::Started, arrival);
        let scenario = self.scenario_of(arrival.row.subject);
        let row = self.placed(ScenarioPhase { scenario, phase: arrival.row.phase }.into());
        self.record(Metric::StartLag, row, lag_ns);
    }

    /// Something that an iteration does at an instant, such as a step after its think time, was begun this late.
    pub(crate) fn resumed_late(&mut self, at: ScenarioPhase, lag_ns: u64) {
        let row = self.placed(at.into());
        self.record(Metric::StepLag, row, lag_ns);
    }

    pub(crate) fn dropped(&mut self, arrival: DueArrival, reason: DropReason) {
        let metric = match reason {
            DropReason::VuLimit => Metric::DroppedCap,
            DropReason::GeneratorLate => Metric::DroppedLate,
        };
        self.count_arrival(metric, arrival);
    }

    pub(crate) fn request_begun(&mut self, at: EndpointPhase, window: LoadWindow) {
        let row = self.placed(at.into());
        self.sums.row_mut(row).requests += 1;
        if let Some(key) = self.moved_key(window, Metric::MovedRequests, row, None) {
            self.tick.add(key, self.tick.second, 1);
        }
    }

    pub(crate) fn request_ended(&mut self, exchange: &Exchange, window: LoadWindow) {
        let row = self.placed(exchange.at.into());
        let outcome = exchange.outcome;
        self.record_outcome(Metric::ResponseTime, row, outcome, exchange.response_ns);
        if let Some(key) = self.moved_key(window, Metric::MovedResponseTime, row, Some(outcome)) {
            self.tick.record_ns(key, exchange.response_ns);
        }
        if let Some(service_ns) = exchange.service_ns {
            self.record_outcome(Metric::ServiceTime, row, outcome, service_ns);
        }
        let sums = self.sums.row_mut(row);
        sums.bytes_in += exchange.bytes_in;
        sums.bytes_out += exchange.bytes_out;
        if let Some(phases) = &exchange.phases {
            sums.add_phases(phases);
        }
        if let Some(held_back) = exchange.held_back {
            self.held_back(row, held_back);
        }
        if !exchange.deviations.is_empty() {
            self.deviated(row, exchange.deviations);
        }
        if exchange.attempts == Attempts::SentAgain {
            self.count(Metric::Retried, row, 1);
        }
        if exchange.messages.received + exchange.messages.sent > 0 {
            self.messages_exchanged(row, exchange);
        }
    }

    /// The loop leaves the window of a phase with so many requests in flight.
    pub(crate) fn window_left(&mut self, phase: PhaseIndex, in_flight: u32) {
        let key = self.announce(Key::of(Metric::InFlightAtEnd).phase(&self.program.phase(phase).name));
        self.tick.add(key, self.tick.second, u64::from(in_flight));
    }

    /// Count how a request ended: by its status, and why it failed.
    pub(crate) fn resulted(&mut self, exchange: &Exchange, ending: Ending<'_>, operation: &Operation) {
        let row = self.placed(exchange.at.into());
        let result = RequestResult { outcome: exchange.outcome, ending };
        let key = match self.results.known(row.position, result) {
            Some(key) => key,
            None => self.new_result(row, result, exchange, operation),
        };
        self.tick.add(key, self.tick.second, 1);
    }

    /// The key of a result that is met for the first time, or is folded into others.
    #[cold]
    fn new_result(
        &mut self,
        row: PlacedRow,
        result: RequestResult<'_>,
        exchange: &Exchange,
        operation: &Operation,
    ) -> KeyId {
        let result = self.results.folded(row.position, result);
        if let Some(known) = self.results.known(row.position, result) {
            return known;
        }
        let mut key = self.describe(Metric::Results, row.row, Some(result.outcome));
        if let Some(status) = result.ending.status {
            key = key.tag(Key::STATUS, &status.to_string());
        }
        if !result.ending.reason.is_empty() {
            let Operation { draft, response, .. } = operation;
            let kept = KeptExchange { draft, response, exchange, detail: result.ending.reason };
            key = key.tag(Key::REASON, &results::shown(&redacted(&self.program, &kept)));
        }
        let id = self.announce(key);
        self.results.add(row.position, result, id);
        id
    }

    fn messages_exchanged(&mut self, row: PlacedRow, exchange: &Exchange) {
        if let Some(ns) = exchange.first_message_ns {
            self.record_outcome(Metric::FirstMessageTime, row, exchange.outcome, ns);
        }
        self.count(Metric::MessagesIn, row, exchange.messages.received);
        self.count(Metric::MessagesOut, row, exchange.messages.sent);
    }

    /// A connection to this origin was opened.
    pub(crate) fn connected(&mut self, origin: OriginIndex, setup: ConnectionSetup) {
        let handshake = (setup.tls_handshaking_ns > 0).then_some(setup.tls_handshaking_ns);
        let times = [(Metric::Connecting, Some(setup.connecting_ns)), (Metric::TlsHandshaking, handshake)];
        for (nth, (metric, ns)) in times.into_iter().enumerate() {
            let Some(ns) = ns else { continue };
            let key = match grown(&mut self.connection_times, origin.0, [NO_KEY; 2])[nth] {
                NO_KEY => {
                    let key = Key::of(metric).tag("target", &self.program.origin(origin).target);
                    self.announce(key)
                }
                known => KeyId(known),
            };
            self.connection_times[origin.0][nth] = key.0;
            self.tick.record_ns(key, ns);
        }
    }

    pub(crate) fn checked(&mut self, at: EndpointPhase, check: CheckIndex, result: CheckResult) {
        let checks = &self.program.endpoint(at.endpoint).checks;
        let Some(name) = checks.get(usize::from(check.0)) else { return };
        let has_passed = result == CheckResult::Passed;
        let cell = (at.phase.0 as usize * checks.len() + usize::from(check.0)) * 2 + usize::from(has_passed);
        let known = *grown(grown(&mut self.checks, at.endpoint.0, Vec::new()), cell, NO_KEY);
        let id = if known == NO_KEY {
            let metric = if has_passed { Metric::CheckPassed } else { Metric::CheckFailed };
            let key = self.describe(metric, at.into(), None).tag(Key::CHECK, name);
            let id = self.announce(key);
            self.checks[at.endpoint.0][cell] = id.0;
            id
        } else {
            KeyId(known)
        };
        self.tick.add(id, self.tick.second, 1);
    }

    pub(crate) fn checked_iteration(
        &mut self,
        at: ScenarioPhase,
        check: CheckNameIndex,
        result: CheckResult,
    ) {
        let metric = match result {
            CheckResult::Passed => Metric::CheckPassed,
            CheckResult::Failed => Metric::CheckFailed,
        };
        let Shape { scenarios, phases, .. } = &self.program.shape;
        let row = (check.0 * scenarios.len() + at.scenario.0) * phases.len() + at.phase.0 as usize;
        let cell = row * 2 + usize::from(result == CheckResult::Passed);
        let id = match *grown(&mut self.iteration_checks, cell, NO_KEY) {
            NO_KEY => {
                let name = self.program.directory.check(check);
                let key = self.describe(metric, at.into(), None).tag(Key::CHECK, name);
                let id = self.announce(key);
                self.iteration_checks[cell] = id.0;
                id
            }
            known => KeyId(known),
        };
        self.tick.add(id, self.tick.second, 1);
    }

    pub(crate) fn iteration_done(
        &mut self,
        at: ScenarioPhase,
        outcome: Outcome,
        ns: u64,
        window: LoadWindow,
    ) {
        let row = self.placed(at.into());
        self.sums.row_mut(row).iterations_done += 1;
        if let Some(key) = self.moved_key(window, Metric::MovedIterationsDone, row, None) {
            self.tick.add(key, self.tick.second, 1);
        }
        self.record_outcome(Metric::IterationTime, row, outcome, ns);
    }

    /// An iteration has thrown this. It is counted as done, too.
    pub(crate) fn iteration_threw(&mut self, at: ScenarioPhase, what: &str) {
        let row = self.placed(at.into());
        // Exceptions differ by their text alone: their outcome is the same.
        let thrown =
            |reason| RequestResult { outcome: Outcome::Check, ending: Ending { status: None, reason } };
        let key = self.thrown.known(row.position, thrown(what)).unwrap_or_else(|| {
            let folded = self.thrown.folded(row.position, thrown(what));
            self.thrown.known(row.position, folded).unwrap_or_else(|| {
                let mut key = self.describe(Metric::IterationsThrew, row.row, None);
                if !folded.ending.reason.is_empty() {
                    let redacted = self.program.redactor().text(folded.ending.reason);
                    key = key.tag(Key::REASON, &results::shown(&redacted));
                }
                let id = self.announce(key);
                self.thrown.add(row.position, folded, id);
                id
            })
        });
        self.tick.add(key, self.tick.second, 1);
    }

    pub(crate) fn iteration_cancelled(&mut self, at: ScenarioPhase, age: Duration) {
        let row = self.placed(at.into());
        self.count(Metric::IterationsCancelled, row, 1);
        self.record_outcome(Metric::CutIterationAge, row, Outcome::Cancelled, age.as_nanos() as u64);
    }

    /// A request or an iteration is under way at the end of the run.
    pub(crate) fn left_in_flight(&mut self, at: AccountingRow, age: Duration) {
        let row = self.placed(at);
        self.record(Metric::InFlightAge, row, age.as_nanos() as u64);
    }

    /// A request that was counted as ended was under way while the generator stalled, or during the effect of that.
    pub(crate) fn perturbed_request(&mut self, exchange: &Exchange) {
        let row = self.placed(exchange.at.into());
        self.record_outcome(Metric::PerturbedResponseTime, row, exchange.outcome, exchange.response_ns);
    }

    /// The same of an iteration that was counted as done.
    pub(crate) fn perturbed_iteration(&mut self, at: ScenarioPhase, outcome: Outcome, ns: u64) {
        let row = self.placed(at.into());
        self.record_outcome(Metric::PerturbedIterationTime, row, outcome, ns);
    }

    /// A turn of the loop took so long, or a part of it for this cause.
    pub(crate) fn stalled(&mut self, cause: StallCause, took: Duration) {
        let key = match self.stalls[cause as usize] {
            Some(key) => key,
            None => {
                let key = Key::of(Metric::LoopStall).instance(self.instance);
                let key = self.announce(match cause {
                    StallCause::Script => key.tag(Key::CAUSE, Key::SCRIPT),
                    StallCause::Other => key,
                });
                *self.stalls[cause as usize].insert(key)
            }
        };
        self.tick.record_ns(key, took.as_nanos() as u64);
    }

    pub(crate) fn add_exemplars(&mut self, exemplars: Vec<Exemplar>) {
        self.tick.exemplars.extend(exemplars);
    }

    /// Close the tick with the state of the loop, and take it out. [`Accounting::open`] must follow.
    pub(crate) fn close(&mut self, state: LoopState, scenarios: Vec<ScenarioState>) -> Box<Tick> {
        self.close_sums();
        let mut tick = std::mem::take(&mut self.tick);
        tick.state = state;
        tick.scenarios = scenarios;
        tick
    }

    /// Continue in `tick`, for `second`.
    pub(crate) fn open(&mut self, mut tick: Box<Tick>, second: u32) {
        tick.instance = self.instance;
        tick.second = second;
        self.tick = tick;
    }

    /// Arrivals count in the second in which they are due, everything else in that of the open tick.
    fn count_arrival(&mut self, metric: Metric, arrival: DueArrival) {
        let row = self.placed(arrival.row);
        let key = self.key(metric, row, None);
        self.tick.add(key, arrival.due.second(), 1);
    }

    #[inline]
    fn count(&mut self, metric: Metric, row: PlacedRow, value: u64) {
        let key = self.key(metric, row, None);
        self.tick.add(key, self.tick.second, value);
    }

    #[inline]
    fn record(&mut self, metric: Metric, row: PlacedRow, ns: u64) {
        let key = self.key(metric, row, None);
        self.tick.record_ns(key, ns);
    }

    #[inline]
    fn record_outcome(&mut self, metric: Metric, row: PlacedRow, outcome: Outcome, ns: u64) {
        let key = self.key(metric, row, Some(outcome));
        self.tick.record_ns(key, ns);
    }

    #[inline]
    fn placed(&self, row: AccountingRow) -> PlacedRow {
        // Endpoints come last: their number grows.
        let subject = match row.subject {
            Subject::Scenario(scenario) => scenario.0,
            Subject::Endpoint(endpoint) => self.scenarios + endpoint.0,
        };
        PlacedRow { row, position: subject * self.phases + row.phase.0 as usize }
    }

    #[inline]
    fn key(&mut self, metric: Metric, row: PlacedRow, outcome: Option<Outcome>) -> KeyId {
        let cell = cell(row, outcome);
        match self.grids[metric as usize].get(cell) {
            Some(&known) if known != NO_KEY => KeyId(known),
            _ => self.new_key(metric, row.row, outcome, cell),
        }
    }

    /// The key of what happened in another window than that of the phase in which it was due; none of anything else.
    #[inline]
    fn moved_key(
        &mut self,
        window: LoadWindow,
        metric: Metric,
        row: PlacedRow,
        outcome: Option<Outcome>,
    ) -> Option<KeyId> {
        if window == LoadWindow::Phase(row.row.phase) {
            return None;
        }
        let index = match window {
            LoadWindow::After => 0,
            LoadWindow::Phase(phase) => phase.0 as usize + 1,
        };
        let list = usize::from(outcome.is_some());
        let cell = cell(row, outcome);
        match self.moved.get(index).and_then(|lists| lists[list].get(cell)) {
            Some(&known) if known != NO_KEY => Some(KeyId(known)),
            _ => {
                let name = match window {
                    LoadWindow::After => Name::from(""),
                    LoadWindow::Phase(phase) => self.program.phase(phase).name.clone(),
                };
                let id = self.announce(self.describe(metric, row.row, outcome).tag(Key::WINDOW, &name));
                let lists = grown(&mut self.moved, index, [const { Vec::new() }; 2]);
                *grown(&mut lists[list], cell, NO_KEY) = id.0;
                Some(id)
            }
        }
    }

    #[cold]
    fn new_key(
        &mut self,
        metric: Metric,
        row: AccountingRow,
        outcome: Option<Outcome>,
        cell: usize,
    ) -> KeyId {
        let id = self.announce(self.describe(metric, row, outcome));
        *grown(&mut self.grids[metric as usize], cell, NO_KEY) = id.0;
        id
    }

    fn announce(&mut self, key: Key) -> KeyId {
        let id = KeyId(self.keys);
        self.keys += 1;
        self.tick.new_keys.push((id, key));
        id
    }

    fn describe(&self, metric: Metric, row: AccountingRow, outcome: Option<Outcome>) -> Key {
        let scenario = self.program.scenario(self.scenario_of(row.subject));
        let endpoint = match row.subject {
            Subject::Endpoint(endpoint) => self.program.endpoint(endpoint).name.clone(),
            Subject::Scenario(_) => Name::from(""),
        };
        Key {
            metric,
            scenario: scenario.name.clone(),
            endpoint,
            phase: self.program.phase(row.phase).name.clone(),
            outcome,
            tags: scenario.tags.clone(),
            instance: metric.is_of_the_generator().then_some(self.instance),
        }
    }

    fn scenario_of(&self, subject: Subject) -> ScenarioIndex {
        match subject {
            Subject::Scenario(scenario) => scenario,
            Subject::Endpoint(endpoint) => self.program.endpoint(endpoint).scenario,
        }
    }
}
