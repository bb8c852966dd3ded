//! The books of one loop: every arrival, request and check, entered once, under its key, in its second.

use std::sync::Arc;

use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Instant, Key, KeyId, Metric, Name, Outcome, Tick};

use crate::operation::{Opening, Phases};
use crate::program::Program;

/// What a row of the books is about: an endpoint, or a whole scenario's iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Endpoint(usize),
    Scenario(usize),
}

/// Which drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drop {
    /// No virtual user was free: the target was too slow for the cap.
    Cap,
    /// The generator itself was late.
    Late,
}

/// How one request ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) endpoint: usize,
    pub(crate) phase: usize,
    pub(crate) outcome: Outcome,
    pub(crate) response_ns: u64,
    /// None when nothing was sent.
    pub(crate) service_ns: Option<u64>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// When the first message of a stream had come, counted from when it was due.
    pub(crate) first_message_ns: Option<u64>,
    /// Messages of a stream that came, and that were sent; none of a call that has no stream.
    pub(crate) messages: (u64, u64),
    /// None when no complete response came.
    pub(crate) phases: Option<Phases>,
}

const NO_KEY: u32 = u32::MAX;

/// The books of one loop, kept in the tick that is being filled.
#[derive(Debug)]
pub(crate) struct Accounting {
    program: Arc<Program>,
    tick: Box<Tick>,
    keys: u32,
    /// Key numbers by metric, then subject, phase and outcome; `NO_KEY` until first used.
    grids: [Vec<u32>; Metric::ALL.len()],
    /// Key numbers of checks, by endpoint, then phase, check, and whether it held.
    checks: Vec<Vec<u32>>,
    /// Key numbers of connection times, by origin: connecting, TLS handshaking.
    openings: Vec<[u32; 2]>,
    stall: Option<KeyId>,
}

impl Accounting {
    pub(crate) fn new(program: Arc<Program>, loop_index: u16) -> Self {
        let per_endpoint =
            |e: &crate::program::Endpoint| vec![NO_KEY; program.phases.len() * e.checks.len() * 2];
        let mut tick = Box::<Tick>::default();
        tick.loop_index = loop_index;
        Accounting {
            checks: program.endpoints.iter().map(per_endpoint).collect(),
            tick,
            keys: 0,
            grids: [const { Vec::new() }; Metric::ALL.len()],
            openings: vec![[NO_KEY; 2]; program.origins.len()],
            stall: None,
            program,
        }
    }

    /// The second the open tick stands for.
    pub(crate) fn second(&self) -> u32 {
        self.tick.second
    }

    pub(crate) fn scheduled(&mut self, subject: Subject, (phase, due): (usize, Instant)) {
        self.count(Metric::Scheduled, (subject, phase), (due.second(), 1));
    }

    pub(crate) fn started(&mut self, subject: Subject, (phase, due): (usize, Instant), lag_ns: u64) {
        self.count(Metric::Started, (subject, phase), (due.second(), 1));
        let scenario = Subject::Scenario(self.scenario_of(subject));
        let key = self.key(Metric::StartLag, (scenario, phase), None);
        self.tick.record_ns(key, lag_ns);
    }

    pub(crate) fn dropped(&mut self, subject: Subject, (phase, due): (usize, Instant), drop: Drop) {
        let metric = match drop {
            Drop::Cap => Metric::DroppedCap,
            Drop::Late => Metric::DroppedLate,
        };
        self.count(metric, (subject, phase), (due.second(), 1));
    }

    pub(crate) fn request_begun(&mut self, endpoint: usize, phase: usize) {
        let second = self.second();
        self.count(Metric::Requests, (Subject::Endpoint(endpoint), phase), (second, 1));
    }

    pub(crate) fn request_ended(&mut self, exchange: &Exchange) {
        let place = (Subject::Endpoint(exchange.endpoint), exchange.phase);
        let key = self.key(Metric::ResponseTime, place, Some(exchange.outcome));
        self.tick.record_ns(key, exchange.response_ns);
        if let Some(service_ns) = exchange.service_ns {
            let key = self.key(Metric::ServiceTime, place, Some(exchange.outcome));
            self.tick.record_ns(key, service_ns);
        }
        let second = self.second();
        self.count(Metric::BytesIn, place, (second, exchange.bytes_in));
        self.count(Metric::BytesOut, place, (second, exchange.bytes_out));
        if let Some(phases) = exchange.phases {
            self.phases(place, (second, &phases));
        }
        if exchange.messages != (0, 0) {
            self.messages_exchanged(exchange, place);
        }
    }

    fn messages_exchanged(&mut self, exchange: &Exchange, place: (Subject, usize)) {
        if let Some(ns) = exchange.first_message_ns {
            let key = self.key(Metric::FirstMessageTime, place, Some(exchange.outcome));
            self.tick.record_ns(key, ns);
        }
        let second = self.second();
        self.count(Metric::MessagesIn, place, (second, exchange.messages.0));
        self.count(Metric::MessagesOut, place, (second, exchange.messages.1));
    }

    /// Most requests over connections that are open already have two phases worth a number.
    fn phases(&mut self, place: (Subject, usize), (second, phases): (u32, &Phases)) {
        let sums = [
            (Metric::BlockedNs, phases.blocked_ns),
            (Metric::ConnectingNs, phases.opening.connecting_ns),
            (Metric::TlsHandshakingNs, phases.opening.tls_handshaking_ns),
            (Metric::SendingNs, phases.sending_ns),
            (Metric::WaitingNs, phases.waiting_ns),
            (Metric::ReceivingNs, phases.receiving_ns),
        ];
        for (metric, ns) in sums.into_iter().filter(|(_, ns)| *ns > 0) {
            self.count(metric, place, (second, ns));
        }
    }

    /// A connection to this origin was opened.
    pub(crate) fn connected(&mut self, origin: usize, opening: Opening) {
        let handshake = (opening.tls_handshaking_ns > 0).then_some(opening.tls_handshaking_ns);
        let times = [(Metric::Connecting, Some(opening.connecting_ns)), (Metric::TlsHandshaking, handshake)];
        for (nth, (metric, ns)) in times.into_iter().enumerate() {
            let Some(ns) = ns else { continue };
            let key = match self.openings[origin][nth] {
                NO_KEY => {
                    let target = &self.program.origins[origin].target;
                    self.announce(Key::of(metric).tag("target", target))
                }
                known => KeyId(known),
            };
            self.openings[origin][nth] = key.0;
            self.tick.record_ns(key, ns);
        }
    }

    pub(crate) fn checked(&mut self, (endpoint, phase): (usize, usize), check: u16, held: bool) {
        let described = &self.program.endpoints[endpoint];
        let Some(name) = described.checks.get(usize::from(check)) else { return };
        let at = (phase * described.checks.len() + usize::from(check)) * 2 + usize::from(held);
        let known = self.checks[endpoint][at];
        let id = if known == NO_KEY {
            let metric = if held { Metric::CheckPassed } else { Metric::CheckFailed };
            let key = self.describe(metric, (Subject::Endpoint(endpoint), phase), None).tag("check", name);
            let id = self.announce(key);
            self.checks[endpoint][at] = id.0;
            id
        } else {
            KeyId(known)
        };
        self.tick.add(id, self.tick.second, 1);
    }

    pub(crate) fn iteration_done(
        &mut self,
        (scenario, phase): (usize, usize),
        (outcome, ns): (Outcome, u64),
    ) {
        let second = self.second();
        let place = (Subject::Scenario(scenario), phase);
        self.count(Metric::IterationsDone, place, (second, 1));
        let key = self.key(Metric::IterationTime, place, Some(outcome));
        self.tick.record_ns(key, ns);
    }

    pub(crate) fn iteration_cancelled(&mut self, scenario: usize, phase: usize) {
        let second = self.second();
        self.count(Metric::IterationsCancelled, (Subject::Scenario(scenario), phase), (second, 1));
    }

    pub(crate) fn stalled(&mut self, ns: u64) {
        let key = match self.stall {
            Some(key) => key,
            None => {
                let key = self.announce(Key::of(Metric::LoopStall));
                *self.stall.insert(key)
            }
        };
        self.tick.record_ns(key, ns);
    }

    pub(crate) fn keep(&mut self, exemplar: Exemplar) {
        self.tick.exemplars.push(exemplar);
    }

    /// Close the tick: say how the loop stood, and take it out. [`Accounting::open`] must follow.
    pub(crate) fn close(&mut self, state: LoopState, scenarios: Vec<ScenarioState>) -> Box<Tick> {
        let mut tick = std::mem::take(&mut self.tick);
        tick.state = state;
        tick.scenarios = scenarios;
        tick
    }

    /// Go on in `tick`, for `second`.
    pub(crate) fn open(&mut self, mut tick: Box<Tick>, (loop_index, second): (u16, u32)) {
        tick.loop_index = loop_index;
        tick.second = second;
        self.tick = tick;
    }

    fn count(&mut self, metric: Metric, place: (Subject, usize), (second, value): (u32, u64)) {
        let key = self.key(metric, place, None);
        self.tick.add(key, second, value);
    }

    fn key(&mut self, metric: Metric, (subject, phase): (Subject, usize), outcome: Option<Outcome>) -> KeyId {
        let endpoints = self.program.endpoints.len();
        let row = match subject {
            Subject::Endpoint(place) => place,
            Subject::Scenario(place) => endpoints + place,
        };
        let width = if outcome.is_some() { Outcome::COUNT } else { 1 };
        let phases = self.program.phases.len();
        let at = (row * phases + phase) * width + outcome.map_or(0, Outcome::index);
        let grid = &mut self.grids[metric as usize];
        if grid.is_empty() {
            grid.resize((endpoints + self.program.scenarios.len()) * phases * width, NO_KEY);
        }
        match grid[at] {
            NO_KEY => {
                let key = self.describe(metric, (subject, phase), outcome);
                let id = self.announce(key);
                self.grids[metric as usize][at] = id.0;
                id
            }
            known => KeyId(known),
        }
    }

    fn announce(&mut self, key: Key) -> KeyId {
        let id = KeyId(self.keys);
        self.keys += 1;
        self.tick.new_keys.push((id, key));
        id
    }

    fn describe(&self, metric: Metric, (subject, phase): (Subject, usize), outcome: Option<Outcome>) -> Key {
        let scenario = &self.program.scenarios[self.scenario_of(subject)];
        let endpoint = match subject {
            Subject::Endpoint(place) => self.program.endpoints[place].name.clone(),
            Subject::Scenario(_) => Name::from(""),
        };
        Key {
            metric,
            scenario: scenario.name.clone(),
            endpoint,
            phase: self.program.phases[phase].name.clone(),
            outcome,
            tags: scenario.tags.clone(),
        }
    }

    fn scenario_of(&self, subject: Subject) -> usize {
        match subject {
            Subject::Scenario(place) => place,
            Subject::Endpoint(place) => self.program.endpoints[place].scenario,
        }
    }
}
