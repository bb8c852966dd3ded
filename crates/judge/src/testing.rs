//! Runs for tests, made of seconds that are all alike, with books that balance until a test unbalances them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::{
    Ending, Finding, Instant, Judgement, Key, Manifest, Metric, Observed, Outcome, Profile, ProfileKind,
    RunEnd, Sampling, SeriesKey,
};
use workload::{
    Arrivals, Executor, Expect, Flow, Phase, Request, Scenario, Step, Template, Weighted, Workload,
};

use crate::facts::Facts;

/// `warm-up`, then `steady`.
const PHASES: [(&str, u32, u32); 2] = [("warm-up", 0, 10), ("steady", 10, 70)];
const SECONDS: u32 = 70;
/// What [`minutes`] makes, in seconds.
const MINUTES_S: u32 = 300;
const SCENARIO: &str = "play";

/// What happens in one second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) outcome: Outcome,
    pub(crate) cap: u64,
    pub(crate) late: u64,
    pub(crate) us: u64,
    pub(crate) failed_us: u64,
    pub(crate) lag_us: u64,
}

impl Load {
    /// So many answers in about 10 ms, and nothing wrong.
    pub(crate) fn of(ok: u64) -> Load {
        let outcome = Outcome::Http5xx;
        Load { ok, failed: 0, outcome, cap: 0, late: 0, us: 10_000, failed_us: 5_000, lag_us: 50 }
    }
}

/// A run in the making: one open scenario with the endpoints `list` and `claim`.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) run: MemoryRun,
    pub(crate) workload: Workload,
    scheduled: u64,
}

impl Bench {
    /// With a generator that was watched and had little to do.
    pub(crate) fn new() -> Bench {
        let mut bench = Bench::unwatched();
        bench.loop_cpu("loop 0", [(0..SECONDS, 0.2)]);
        bench
    }

    /// Without any series.
    pub(crate) fn unwatched() -> Bench {
        let mut bench = Bench { run: MemoryRun::new(manifest()), workload: workload(), scheduled: 0 };
        bench.run.finish(end(Ending::Completed));
        bench
    }

    /// The same second over and over, through a phase.
    pub(crate) fn offer(mut self, phase: &str, endpoint: &str, load: Load) -> Bench {
        let (_, from, to) = *PHASES.iter().find(|(name, ..)| *name == phase).unwrap();
        for second in from..to {
            self.offer_once(second, endpoint, load);
        }
        self
    }

    /// In one second, besides what else happens in it.
    pub(crate) fn offer_once(&mut self, second: u32, endpoint: &str, load: Load) {
        let (phase, ..) = *PHASES.iter().find(|(_, from, to)| (*from..*to).contains(&second)).unwrap();
        self.offer_in(phase, (second, endpoint), load);
    }

    fn offer_in(&mut self, phase: &str, (second, endpoint): (u32, &str), load: Load) {
        let key = |metric| Key::of(metric).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        let whole = |metric| Key::of(metric).scenario(SCENARIO).phase(phase);
        let started = load.ok + load.failed;
        let due = started + load.cap + load.late;
        let counts = [
            (key(Metric::Scheduled), due),
            (key(Metric::Started), started),
            (key(Metric::Requests), started),
            (key(Metric::DroppedCap), load.cap),
            (key(Metric::DroppedLate), load.late),
            (whole(Metric::IterationsDone), started),
        ];
        for (key, n) in counts.iter().filter(|(_, n)| *n > 0) {
            self.run.add(key, second, *n);
        }
        for (outcome, us, n) in [(Outcome::Ok, load.us, load.ok), (load.outcome, load.failed_us, load.failed)]
        {
            for (metric, key) in [
                (Metric::ResponseTime, key(Metric::ResponseTime)),
                (Metric::ServiceTime, key(Metric::ServiceTime)),
                (Metric::IterationTime, whole(Metric::IterationTime)),
            ] {
                debug_assert_eq!(key.metric, metric);
                self.spread(&key.outcome(outcome), second, (us, n));
            }
        }
        if started > 0 {
            self.run.record(&whole(Metric::StartLag), second, (load.lag_us, started));
        }
        self.scheduled += due;
        let rate = self.scheduled as f64 / f64::from(SECONDS);
        self.plan_rate(rate);
    }

    /// Nine in ten at `us`, the rest a little slower, as answers are.
    fn spread(&mut self, key: &Key, second: u32, (us, n): (u64, u64)) {
        let slower = n / 10;
        for (us, n) in [(us, n - slower), (us + us / 20, slower)] {
            if n > 0 {
                self.run.record(key, second, (us, n));
            }
        }
    }

    /// Plan so many arrivals a second.
    pub(crate) fn plan_rate(&mut self, rate: f64) {
        let duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::ConstantArrivalRate { rate, duration };
    }

    /// A closed model instead, whose virtual users share so many iterations.
    pub(crate) fn plan_iterations(&mut self, iterations: u64) {
        let max_duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::SharedIterations { vus: 1, iterations, max_duration };
    }

    /// A closed model instead, with so many virtual users.
    pub(crate) fn closed(mut self, vus: u32) -> Bench {
        let duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::ConstantVus { vus, duration };
        self.workload.scenarios[0].max_vus = vus;
        self
    }

    /// A sequence of its steps instead of a mix.
    pub(crate) fn sequence(mut self) -> Bench {
        self.workload.scenarios[0].flow = Flow::Sequence(steps());
        self
    }

    /// Ask for an objective.
    pub(crate) fn asks(mut self, name: &str, objective: &str) -> Bench {
        let objective = workload::objective::parse(name, objective).unwrap();
        self.workload.objectives.push(objective);
        self
    }

    /// Without an end.
    pub(crate) fn killed(mut self) -> Bench {
        let mut run = MemoryRun::new(manifest());
        std::mem::swap(&mut run, &mut self.run);
        self.run = without_end(run);
        self
    }

    /// Stopped by hand.
    pub(crate) fn interrupted(mut self) -> Bench {
        self.run.finish(end(Ending::Interrupted));
        self
    }

    /// Made by another tool, whose plan nobody knows.
    pub(crate) fn import(&mut self, source: evidence::Source) {
        self.run.imported_from(source);
        self.workload.scenarios.clear();
    }

    /// An entry in the books that nothing matches.
    pub(crate) fn count(&mut self, metric: Metric, phase: &str, endpoint: &str, n: u64) {
        let key = Key::of(metric).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        self.run.add(&key, 30, n);
    }

    /// Requests of the warm-up that end as late as in `second`.
    pub(crate) fn end_late(&mut self, second: u32, n: u64) {
        let key = Key::of(Metric::ResponseTime).scenario(SCENARIO).phase("warm-up").endpoint("list");
        if n > 0 {
            self.run.record(&key.outcome(Outcome::Ok), second, (3_000_000, n));
        }
    }

    /// Responses that nothing matches.
    pub(crate) fn respond(&mut self, phase: &str, endpoint: &str, outcome: Outcome, n: u64) {
        let key = Key::of(Metric::ResponseTime).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        self.run.record(&key.outcome(outcome), 30, (10_000, n));
    }

    /// What one of the generator's loops used of a core, over time.
    pub(crate) fn loop_cpu<const N: usize>(&mut self, part: &str, cores: [(Range<u32>, f64); N]) {
        let series = SeriesKey::new("loop_cpu", SeriesKey::GENERATOR, "cores").part(part);
        for (seconds, cores) in cores {
            self.observe(&series, seconds, cores);
        }
    }

    /// Stalls of the loop.
    pub(crate) fn stall(&mut self, seconds: Range<u32>, us: u64) {
        for second in seconds {
            self.run.record(&Key::of(Metric::LoopStall), second, (us, 100));
        }
    }

    /// Share of each second that was spent at the cap.
    pub(crate) fn at_cap(&mut self, seconds: Range<u32>, share: f64) {
        let series = SeriesKey::new("at_cap", SeriesKey::GENERATOR, "1").part(SCENARIO);
        self.observe(&series, 0..seconds.start, 0.0);
        self.observe(&series, seconds.clone(), share);
        self.observe(&series, seconds.end..SECONDS, 0.0);
    }

    /// A value of a series in each of these seconds.
    pub(crate) fn observe(&mut self, series: &SeriesKey, seconds: Range<u32>, value: f64) {
        for second in seconds {
            self.run.observe(series, second, value);
        }
    }

    /// Another manifest, under the same evidence.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Manifest)) {
        use evidence::Run;
        let mut manifest = self.run.manifest().clone();
        change(&mut manifest);
        let end = self.run.end().cloned();
        self.run = copied(&self.run, manifest);
        if let Some(end) = end {
            self.run.finish(end);
        }
    }

    /// A profile over a window.
    pub(crate) fn profile(&mut self, what: (ProfileKind, Sampling), window: Range<u32>) {
        let mark = format!("{}s", window.start);
        self.keep_profile(what, window, mark);
    }

    /// What was captured at the beginning of a window.
    pub(crate) fn profile_at_begin(&mut self, what: (ProfileKind, Sampling), second: u32) {
        self.keep_profile(what, second..second, format!("{second}s"));
    }

    fn keep_profile(&mut self, (kind, sampling): (ProfileKind, Sampling), window: Range<u32>, mark: String) {
        use evidence::Sink;
        let [begin, end] =
            [window.start, window.end].map(|second| Instant::from_nanos(u64::from(second) * 1_000_000_000));
        let target = "web".to_owned();
        let profile = Profile { target, kind, mark, begin, end, sampling, bytes: Vec::new() };
        let observed = Observed { profiles: vec![profile], ..Observed::default() };
        self.run.observed(&observed).unwrap();
    }

    /// What one rule finds, a line each.
    pub(crate) fn findings(&self, rule: fn(&Facts<'_>) -> Vec<Finding>) -> String {
        lines(&rule(&Facts::of(&self.run, &self.workload).unwrap()))
    }

    /// What the rule of this name finds when the whole run is judged, a line each.
    pub(crate) fn findings_of(&self, rule: &str) -> String {
        let findings = self.judge().findings;
        lines(&findings.into_iter().filter(|f| f.rule == rule).collect::<Vec<_>>())
    }

    pub(crate) fn judge(&self) -> Judgement {
        crate::judge(&self.run, &self.workload).unwrap()
    }

    /// Verdict, then each claim with its reasons.
    pub(crate) fn verdict(&self) -> String {
        let judgement = self.judge();
        let mut text = format!("{}: {}\n", judgement.verdict, judgement.because);
        for claim in &judgement.claims {
            text += &format!("{} {}\n", claim.verdict, claim.name);
            text.extend(claim.reasons.iter().map(|reason| format!("  {reason}\n")));
        }
        text
    }
}

/// Five minutes in one phase, `steady`, of one endpoint, `list`.
pub(crate) fn minutes(load: impl Fn(u32) -> Load) -> Bench {
    let mut bench = Bench::unwatched();
    bench.workload.phases = vec![Phase {
        name: "steady".to_owned(),
        start: Duration::ZERO,
        end: Duration::from_secs(u64::from(MINUTES_S)),
    }];
    for second in 0..MINUTES_S {
        bench.offer_in("steady", (second, "list"), load(second));
    }
    let rate = bench.scheduled as f64 / f64::from(MINUTES_S);
    let duration = Duration::from_secs(u64::from(MINUTES_S));
    bench.workload.scenarios[0].executor = Executor::ConstantArrivalRate { rate, duration };
    bench
}

fn lines(findings: &[Finding]) -> String {
    let line = |f: &Finding| {
        let scope = [&f.scope.phase, &f.scope.scenario, &f.scope.endpoint, &f.scope.objective];
        let scope: Vec<&str> = scope.into_iter().flatten().map(String::as_str).collect();
        let figures: Vec<String> =
            f.figures.iter().map(|f| format!("{} {:?} {}", f.name, f.value, f.unit)).collect();
        format!("{} [{}] {}\n  {}\n", f.severity, scope.join("/"), f.what, figures.join(", "))
    };
    let text: String = findings.iter().map(line).collect();
    if text.is_empty() { "nothing".to_owned() } else { text }
}

/// The same run as a kill would have left it.
fn without_end(run: MemoryRun) -> MemoryRun {
    use evidence::Run;
    copied(&run, run.manifest().clone())
}

fn copied(run: &MemoryRun, manifest: Manifest) -> MemoryRun {
    use evidence::Run;
    let mut copy = MemoryRun::new(manifest);
    for (id, key) in run.keys() {
        for (second, n) in run.counts(*id, run.whole()).unwrap() {
            copy.add(key, second, n);
        }
        for (second, histogram) in run.histograms(*id, run.whole()).unwrap() {
            histogram.buckets().for_each(|(low, _, n)| copy.record(key, second, (low, n)));
        }
    }
    for series in run.series() {
        for sample in run.samples(series, run.whole()).unwrap() {
            copy.observe(series, sample.at.second(), sample.value);
        }
    }
    copy
}

fn end(ending: Ending) -> RunEnd {
    RunEnd {
        ending,
        last_second: SECONDS - 1,
        requests_in_flight: 0,
        iterations_in_flight: 0,
        folded_endpoints: 0,
        folded_ticks: 0,
    }
}

fn manifest() -> Manifest {
    Manifest {
        schema_version: evidence::manifest::SCHEMA_VERSION,
        name: "test".to_owned(),
        workload: serde_json::Value::Null,
        workload_digest: String::new(),
        seed: 1,
        started_at: String::new(),
        targets: BTreeMap::new(),
        environment: BTreeMap::new(),
        generator: BTreeMap::new(),
        source: None,
    }
}

fn steps() -> Vec<Step> {
    let empty = || Template::parse("").unwrap();
    let step = |name: &str| Step {
        name: name.to_owned(),
        request: Request::Http {
            target: "web".to_owned(),
            method: "GET".to_owned(),
            path: empty(),
            headers: Vec::new(),
            body: empty(),
            options: Default::default(),
        },
        timeout: Duration::from_secs(10),
        think: Duration::ZERO,
        expect: Expect::default(),
        extract: Vec::new(),
    };
    ["list", "claim"].map(step).into()
}

fn workload() -> Workload {
    let phase = |(name, from, to): (&str, u32, u32)| Phase {
        name: name.to_owned(),
        start: Duration::from_secs(u64::from(from)),
        end: Duration::from_secs(u64::from(to)),
    };
    let scenario = Scenario {
        name: SCENARIO.to_owned(),
        executor: Executor::ConstantArrivalRate { rate: 0.0, duration: Duration::ZERO },
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 100_000,
        arrivals: Arrivals::Even,
        graceful_stop: Duration::from_secs(30),
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Mix(steps().into_iter().map(|step| Weighted { weight: 1, step }).collect()),
    };
    Workload {
        name: "test".to_owned(),
        seed: 1,
        targets: BTreeMap::new(),
        data: BTreeMap::new(),
        phases: PHASES.map(phase).into(),
        scenarios: vec![scenario],
        setup: Vec::new(),
        objectives: Vec::new(),
        profiles: Vec::new(),
        precheck: false,
        traceparent: false,
        secrets: Vec::new(),
    }
}
