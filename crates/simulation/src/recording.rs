//! A simulated run as the recorder keeps it.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Ending, Instant, Key, KeyId, Manifest, Metric, Outcome, RunEnd, Sink as _, Tick};
use workload::Workload;

use crate::generator::{Offered, Perturbed, SimulatedRequest};

const SECOND_NS: u64 = 1_000_000_000;
/// Of one core: simulated stalls are the neighbours'.
const LOOP_CPU: f64 = 0.05;

/// The run that offered this load by this workload, which has one scenario with one step.
pub(crate) fn record(workload: &Workload, offered: &Offered) -> MemoryRun {
    let end = workload.phases.last().map_or(Instant::EPOCH, |phase| Instant::at(phase.end));
    record_to(workload, offered, LoadEnd { at: end, is_over: true })
}

/// What there is of the run at this time, while it goes on.
pub(crate) fn record_until(workload: &Workload, offered: &Offered, at: Instant) -> MemoryRun {
    let is_due = |request: &&SimulatedRequest| request.due < at;
    let so_far = |request: &SimulatedRequest| SimulatedRequest {
        ended: request.ended.filter(|ended| *ended < at),
        ..*request
    };
    let requests: Vec<SimulatedRequest> = offered.requests.iter().filter(is_due).map(so_far).collect();
    let offered = Offered { requests, stalls: offered.stalls.clone() };
    record_to(workload, &offered, LoadEnd { at, is_over: false })
}

/// Until when arrivals were due.
struct LoadEnd {
    at: Instant,
    /// Whether the run ended then, and waited for what was in flight.
    is_over: bool,
}

fn record_to(workload: &Workload, offered: &Offered, end: LoadEnd) -> MemoryRun {
    let LoadEnd { at: end, is_over } = end;
    let last = offered.requests.iter().filter_map(|request| request.ended).max().unwrap_or(end).max(end);
    let mut recorder = Recorder::new(workload);
    let seconds = Second::all_of(offered, last);
    recorder.load_end = end;
    for (number, second) in (0..).zip(&seconds) {
        recorder.tick.second = number;
        let in_flight_until = is_over.then_some(last);
        second.due.iter().for_each(|request| recorder.due(request, in_flight_until));
        second.sent.iter().for_each(|request| recorder.sent(request));
        second.ended.iter().for_each(|request| recorder.ended(request));
        for late in &second.stalls {
            recorder.time(Metric::LoopStall, None, *late);
        }
        recorder.hand_over();
    }
    if is_over {
        let in_flight = recorder.left;
        recorder.run.finish(RunEnd {
            requests_in_flight: in_flight,
            iterations_in_flight: in_flight,
            ..RunEnd::new(Ending::Completed, last.second())
        });
    }
    recorder.run
}

/// What happened in one second.
#[derive(Debug, Clone, Default)]
struct Second<'o> {
    due: Vec<&'o SimulatedRequest>,
    sent: Vec<&'o SimulatedRequest>,
    ended: Vec<&'o SimulatedRequest>,
    stalls: Vec<Duration>,
}

impl<'o> Second<'o> {
    fn all_of(offered: &'o Offered, last: Instant) -> Vec<Second<'o>> {
        let mut seconds = vec![Second::default(); last.second() as usize + 1];
        for request in &offered.requests {
            seconds[request.due.second() as usize].due.push(request);
            if let Some(sent) = request.sent {
                seconds[sent.second() as usize].sent.push(request);
            }
            if let Some(ended) = request.ended {
                seconds[ended.second() as usize].ended.push(request);
            }
        }
        for (at, late) in offered.stalls.iter().filter(|(at, _)| *at <= last) {
            seconds[at.second() as usize].stalls.push(*late);
        }
        seconds
    }
}

/// The manifest of a simulated run.
pub(crate) fn manifest(name: &str, seed: u64) -> Manifest {
    Manifest { seed, ..Manifest::named(name) }
}

struct Recorder<'w> {
    workload: &'w Workload,
    run: MemoryRun,
    tick: Tick,
    keys: BTreeMap<(Metric, Option<Outcome>), KeyId>,
    /// Requests in flight, summed over the time of each second, in nanoseconds.
    in_flight_ns: Vec<u64>,
    /// Requests that were in flight at the end.
    left: u64,
    /// When the window of the phase ends.
    load_end: Instant,
}

impl<'w> Recorder<'w> {
    fn new(workload: &'w Workload) -> Recorder<'w> {
        Recorder {
            workload,
            run: MemoryRun::new(manifest(&workload.name, workload.seed)),
            tick: Tick::default(),
            keys: BTreeMap::new(),
            in_flight_ns: Vec::new(),
            left: 0,
            load_end: Instant::NEVER,
        }
    }

    fn key(&mut self, metric: Metric, outcome: Option<Outcome>) -> KeyId {
        let next = KeyId(self.keys.len() as u32);
        if let Some(known) = self.keys.get(&(metric, outcome)) {
            return *known;
        }
        let (scenario, phase) = (&self.workload.scenarios[0], &self.workload.phases[0]);
        let key = match metric {
            Metric::LoopStall => Key::of(metric).instance(self.tick.instance),
            Metric::StartLag
            | Metric::IterationTime
            | Metric::PerturbedIterationTime
            | Metric::IterationsDone => Key::of(metric).scenario(&scenario.name).phase(&phase.name),
            _ => {
                let step = scenario.flow.steps().next().map_or("", |step| &step.name);
                Key::of(metric).scenario(&scenario.name).phase(&phase.name).endpoint(step)
            }
        };
        let key = Key { outcome, ..key };
        let key = if metric == Metric::MovedResponseTime { key.tag(Key::WINDOW, "") } else { key };
        self.keys.insert((metric, outcome), next);
        self.tick.new_keys.push((next, key));
        next
    }

    fn count(&mut self, metric: Metric) {
        let key = self.key(metric, None);
        self.tick.add(key, self.tick.second, 1);
    }

    fn time(&mut self, metric: Metric, outcome: Option<Outcome>, took: Duration) {
        let key = self.key(metric, outcome);
        self.tick.record_ns(key, took.as_nanos() as u64);
    }

    fn due(&mut self, request: &SimulatedRequest, run_end: Option<Instant>) {
        self.count(Metric::Scheduled);
        let Some(sent) = request.sent else {
            self.count(Metric::DroppedLate);
            return;
        };
        self.count(Metric::Started);
        self.count(Metric::Requests);
        self.add_in_flight(sent, request.ended.or(run_end).unwrap_or(self.load_end));
        if let (None, Some(run_end)) = (request.ended, run_end) {
            self.left += 1;
            self.time(Metric::InFlightAge, None, run_end.since(request.due));
        }
    }

    fn sent(&mut self, request: &SimulatedRequest) {
        if let Some(sent) = request.sent {
            self.time(Metric::StartLag, None, sent.since(request.due));
        }
    }

    fn ended(&mut self, request: &SimulatedRequest) {
        let (Some(sent), Some(ended)) = (request.sent, request.ended) else { return };
        let (outcome, response) = (Some(request.outcome), ended.since(request.due));
        self.time(Metric::ResponseTime, outcome, response);
        self.time(Metric::IterationTime, outcome, response);
        self.time(Metric::ServiceTime, outcome, ended.since(sent));
        if ended >= self.load_end {
            self.time(Metric::MovedResponseTime, outcome, response);
        }
        if request.perturbed == Perturbed::Yes {
            self.time(Metric::PerturbedResponseTime, outcome, response);
            self.time(Metric::PerturbedIterationTime, outcome, response);
        }
        self.count(Metric::IterationsDone);
    }

    fn add_in_flight(&mut self, from: Instant, to: Instant) {
        let seconds = to.second() as usize + 1;
        if self.in_flight_ns.len() < seconds {
            self.in_flight_ns.resize(seconds, 0);
        }
        for second in from.second()..=to.second() {
            let begin = u64::from(second) * SECOND_NS;
            let (low, high) = (from.as_nanos().max(begin), to.as_nanos().min(begin + SECOND_NS));
            self.in_flight_ns[second as usize] += high - low;
        }
    }

    fn hand_over(&mut self) {
        let second = self.tick.second as usize;
        let in_flight = self.in_flight_ns.get(second).copied().unwrap_or(0) as f64 / SECOND_NS as f64;
        let scenario = &self.workload.scenarios[0];
        self.tick.state = LoopState {
            in_flight_mean: in_flight,
            cpu_ns: (LOOP_CPU * SECOND_NS as f64) as u64,
            covered_ns: SECOND_NS,
            ..LoopState::default()
        };
        self.tick.scenarios = vec![ScenarioState {
            scenario: scenario.name.as_str().into(),
            active_mean: in_flight,
            active_max: in_flight.ceil() as u32,
            cap: scenario.max_vus,
            at_cap: 0.0,
        }];
        // In memory nothing can fail: every key was announced by `key`.
        let _ = self.run.tick(&self.tick);
        self.tick.clear();
    }
}
