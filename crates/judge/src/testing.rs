//! Runs for tests, made of identical seconds. Their counts add up unless a test adds one that does not.

mod fixtures;

use std::ops::Range;
use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::sink::Sink as _;
use evidence::{
    Ending, Finding, Instance, Instant, Judgement, Key, Manifest, Metric, Notice, NoticeKind, Observed,
    Outcome, Profile, ProfileKind, Provenance, Sampling, SeriesKey,
};
use workload::{Executor, Flow, Phase, Workload};

use crate::facts::Facts;

use fixtures::{copy_of, end, manifest, steps};
pub(crate) use fixtures::{over_two_workers, with_lost_worker, worker, workload};

/// Name, first second and end of each phase.
const PHASES: [(&str, u32, u32); 2] = [("warm-up", 0, 10), ("steady", 10, 70)];
const SECONDS: u32 = 70;
const FIVE_MINUTES_S: u32 = 300;
pub(crate) const SCENARIO: &str = "play";

/// The requests of one second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) outcome: Outcome,
    pub(crate) dropped_vu_limit: u64,
    pub(crate) dropped_generator_late: u64,
    pub(crate) us: u64,
    pub(crate) failed_us: u64,
    pub(crate) lag_us: u64,
}

impl Load {
    /// So many successes in about 10 ms, and no failure.
    pub(crate) fn ok(ok: u64) -> Load {
        Load {
            ok,
            failed: 0,
            outcome: Outcome::Http5xx,
            dropped_vu_limit: 0,
            dropped_generator_late: 0,
            us: 10_000,
            failed_us: 5_000,
            lag_us: 50,
        }
    }
}

/// Builds a run: one open scenario with the endpoints `list` and `claim`.
#[derive(Debug, Clone)]
pub(crate) struct TestRun {
    pub(crate) run: MemoryRun,
    pub(crate) workload: Workload,
    scheduled: u64,
}

impl TestRun {
    /// With a generator that was observed and had low CPU use.
    pub(crate) fn new() -> TestRun {
        let mut test_run = TestRun::unobserved();
        test_run.loop_cpu(0, [(0..SECONDS, 0.2)]);
        test_run
    }

    /// Without any series.
    pub(crate) fn unobserved() -> TestRun {
        let mut test_run = TestRun { run: MemoryRun::new(manifest()), workload: workload(), scheduled: 0 };
        test_run.run.finish(end(Ending::Completed));
        test_run
    }

    /// The same load in each second of a phase.
    pub(crate) fn offer(mut self, phase: &str, endpoint: &str, load: Load) -> TestRun {
        let (_, from, to) = *PHASES.iter().find(|(name, ..)| *name == phase).unwrap();
        for second in from..to {
            self.offer_once(second, endpoint, load);
        }
        self
    }

    /// Load in one second, in addition to any other.
    pub(crate) fn offer_once(&mut self, second: u32, endpoint: &str, load: Load) {
        let (phase, ..) = *PHASES.iter().find(|(_, from, to)| (*from..*to).contains(&second)).unwrap();
        self.offer_in(phase, second, endpoint, load);
    }

    pub(crate) fn offer_in(&mut self, phase: &str, second: u32, endpoint: &str, load: Load) {
        let key = |metric| Key::of(metric).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        let whole = |metric| Key::of(metric).scenario(SCENARIO).phase(phase);
        let started = load.ok + load.failed;
        let due = started + load.dropped_vu_limit + load.dropped_generator_late;
        let counts = [
            (key(Metric::Scheduled), due),
            (key(Metric::Started), started),
            (key(Metric::Requests), started),
            (key(Metric::DroppedCap), load.dropped_vu_limit),
            (key(Metric::DroppedLate), load.dropped_generator_late),
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
                self.record_times(&key.outcome(outcome), second, us, n);
            }
        }
        if started > 0 {
            self.run.record(&whole(Metric::StartLag), second, load.lag_us, started);
        }
        self.scheduled += due;
        let rate = self.scheduled as f64 / f64::from(SECONDS);
        self.plan_rate(rate);
    }

    /// Nine in ten times are `us`, the rest is 5 % longer.
    fn record_times(&mut self, key: &Key, second: u32, us: u64, n: u64) {
        let slower = n / 10;
        for (us, n) in [(us, n - slower), (us + us / 20, slower)] {
            if n > 0 {
                self.run.record(key, second, us, n);
            }
        }
    }

    /// Plans so many arrivals a second.
    pub(crate) fn plan_rate(&mut self, rate: f64) {
        let duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::ConstantArrivalRate { rate, duration };
    }

    /// Plans a closed model whose virtual users share so many iterations.
    pub(crate) fn plan_iterations(&mut self, iterations: u64) {
        let max_duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::SharedIterations { vus: 1, iterations, max_duration };
    }

    /// Plans a closed model with so many virtual users.
    pub(crate) fn closed(mut self, vus: u32) -> TestRun {
        let duration = Duration::from_secs(u64::from(SECONDS));
        self.workload.scenarios[0].executor = Executor::ConstantVus { vus, duration };
        self.workload.scenarios[0].max_vus = vus;
        self
    }

    /// Plans a sequence of the steps instead of a mix.
    pub(crate) fn sequence(mut self) -> TestRun {
        self.workload.scenarios[0].flow = Flow::Sequence(steps());
        self
    }

    /// Adds an objective.
    pub(crate) fn with_objective(mut self, name: &str, objective: &str) -> TestRun {
        let objective = workload::objective::parse(name, objective).unwrap();
        self.workload.objectives.push(objective);
        self
    }

    /// Killed, so that it has no end.
    pub(crate) fn killed(mut self) -> TestRun {
        use evidence::Run;
        self.run = copy_of(&self.run, self.run.manifest().clone());
        self
    }

    /// Interrupted by the user.
    pub(crate) fn interrupted(mut self) -> TestRun {
        self.run.finish(end(Ending::Interrupted));
        self
    }

    /// Ended early by the stop rule of this objective, which was drained.
    pub(crate) fn stopped_by(self, objective: &str, at_ms: u64) -> TestRun {
        self.ended(Ending::Stopped(objective.to_owned()), at_ms)
    }

    /// Ended early in this way, and drained.
    pub(crate) fn ended(mut self, ending: Ending, at_ms: u64) -> TestRun {
        let at = Instant::from_nanos(at_ms * 1_000_000);
        let (observer, text) = ("generator".to_owned(), "ended early".to_owned());
        let notice = Notice { at, observer, instance: None, kind: NoticeKind::Stopped, text };
        let observed = Observed { notices: vec![notice], ..Observed::default() };
        self.run.observed(&observed).unwrap();
        self.run.finish(end(ending));
        self
    }

    /// Imported from another tool, without its plan.
    pub(crate) fn import(&mut self, source: evidence::Source) {
        self.import_with_plan(source);
        self.workload.scenarios.clear();
    }

    /// Imported from another tool, with its plan.
    pub(crate) fn import_with_plan(&mut self, source: evidence::Source) {
        self.run.imported_from(source);
    }

    /// A count that nothing else matches.
    pub(crate) fn count(&mut self, metric: Metric, phase: &str, endpoint: &str, n: u64) {
        let key = Key::of(metric).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        self.run.add(&key, 30, n);
    }

    /// Requests that were due in the warm-up and end in `second`.
    pub(crate) fn end_from_warm_up(&mut self, second: u32, n: u64) {
        let key = Key::of(Metric::ResponseTime).scenario(SCENARIO).phase("warm-up").endpoint("list");
        let moved = Key { metric: Metric::MovedResponseTime, ..key.clone() }.tag(Key::WINDOW, "steady");
        if n > 0 {
            for key in [key, moved] {
                self.run.record(&key.outcome(Outcome::Ok), second, 3_000_000, n);
            }
        }
    }

    /// So many requests were in flight at the end of a phase's window.
    pub(crate) fn in_flight_at_end(&mut self, phase: &str, n: u64) {
        let (.., end) = *PHASES.iter().find(|(name, ..)| *name == phase).unwrap();
        self.run.add(&Key::of(Metric::InFlightAtEnd).phase(phase), end - 1, n);
    }

    /// Requests of `list`, due in a steady phase that offers `offered` a second, of which the target answers `answered` a
    /// second; the rest ends after the load.
    pub(crate) fn overloaded(offered: u64, answered: u64) -> TestRun {
        let mut test_run = TestRun::new().offer("warm-up", "list", Load::ok(offered));
        let key = |metric| Key::of(metric).scenario(SCENARIO).phase("steady").endpoint("list");
        let whole = |metric| Key::of(metric).scenario(SCENARIO).phase("steady");
        let (_, from, to) = PHASES[1];
        for second in from..to {
            for metric in [Metric::Scheduled, Metric::Started, Metric::Requests] {
                test_run.run.add(&key(metric), second, offered);
            }
            // A target is not that even.
            let its = (answered + u64::from(second % 2) - u64::from(second % 3 == 0)).min(offered);
            let waited_us = 10_000 + u64::from(second - from) * 1_000_000 * (offered - answered) / offered;
            test_run.run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, waited_us, its);
        }
        let left = offered * 60 - test_run.ended_in_steady();
        for late in [key(Metric::ResponseTime), key(Metric::MovedResponseTime).tag(Key::WINDOW, "")] {
            test_run.run.record(&late.outcome(Outcome::Ok), to, 20_000_000, left);
        }
        test_run.run.add(&whole(Metric::IterationsDone), to, offered * 60);
        test_run.in_flight_at_end("warm-up", 0);
        test_run.in_flight_at_end("steady", left);
        test_run.scheduled += offered * 60;
        let rate = test_run.scheduled as f64 / f64::from(SECONDS);
        test_run.plan_rate(rate);
        test_run
    }

    fn ended_in_steady(&self) -> u64 {
        use evidence::Run;
        let is_it = |key: &Key| key.metric == Metric::ResponseTime && &*key.phase == "steady";
        let ids = self.run.keys().iter().filter(|(_, key)| is_it(key)).map(|(id, _)| *id);
        ids.map(|id| self.run.histogram(id, self.run.whole()).unwrap().count()).sum()
    }

    /// Requests that begin in `second` and never end.
    pub(crate) fn begin_without_end(&mut self, second: u32, n: u64) {
        let key = Key::of(Metric::Requests).scenario(SCENARIO).phase("steady").endpoint("list");
        self.run.add(&key, second, n);
    }

    /// Responses that no request matches.
    pub(crate) fn respond(&mut self, phase: &str, endpoint: &str, outcome: Outcome, n: u64) {
        let key = Key::of(Metric::ResponseTime).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        self.run.record(&key.outcome(outcome), 30, 10_000, n);
    }

    /// CPU use of one of the generator's loops over time.
    pub(crate) fn loop_cpu<const N: usize>(&mut self, loop_index: u16, cores: [(Range<u32>, f64); N]) {
        let series = SeriesKey::new("loop_cpu", SeriesKey::GENERATOR, "cores");
        let series = series.instance(Instance::of_loop(loop_index));
        for (seconds, cores) in cores {
            self.observe(&series, seconds, cores);
        }
    }

    /// Stalls of the loop.
    pub(crate) fn stall(&mut self, seconds: Range<u32>, us: u64) {
        for second in seconds {
            self.run.record(&Key::of(Metric::LoopStall).instance(Instance::default()), second, us, 100);
        }
    }

    /// 100 pieces of a script in each second that held the loop for so long.
    pub(crate) fn held_by_script(&mut self, seconds: Range<u32>, us: u64) {
        let key = Key::of(Metric::LoopStall).instance(Instance::default()).tag(Key::CAUSE, Key::SCRIPT);
        seconds.for_each(|second| self.run.record(&key, second, us, 100));
    }

    /// Counts this load, which was offered in `second`, as under way during a stall.
    pub(crate) fn perturb(&mut self, second: u32, endpoint: &str, load: Load) {
        let (phase, ..) =
            *PHASES.iter().find(|(_, from, to)| (*from..*to).contains(&second)).unwrap_or(&PHASES[1]);
        let key = Key::of(Metric::PerturbedResponseTime).scenario(SCENARIO).phase(phase).endpoint(endpoint);
        self.record_times(&key.clone().outcome(Outcome::Ok), second, load.us, load.ok);
        self.record_times(&key.outcome(load.outcome), second, load.failed_us, load.failed);
    }

    /// Share of each second that the scenario was at its VU limit.
    pub(crate) fn at_vu_limit(&mut self, seconds: Range<u32>, share: f64) {
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

    /// Changes the manifest and keeps the evidence.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Manifest)) {
        use evidence::Run;
        let mut manifest = self.run.manifest().clone();
        change(&mut manifest);
        let end = self.run.end().cloned();
        self.run = copy_of(&self.run, manifest);
        if let Some(end) = end {
            self.run.finish(end);
        }
    }

    /// A profile over a window.
    pub(crate) fn profile(&mut self, kind: ProfileKind, sampling: Sampling, window: Range<u32>) {
        let mark = format!("{}s", window.start);
        self.add_profile(kind, sampling, window, mark);
    }

    /// The snapshot at the beginning of a window.
    pub(crate) fn profile_at_begin(&mut self, kind: ProfileKind, sampling: Sampling, second: u32) {
        self.add_profile(kind, sampling, second..second, format!("{second}s"));
    }

    fn add_profile(&mut self, kind: ProfileKind, sampling: Sampling, window: Range<u32>, mark: String) {
        use evidence::Sink;
        let [begin, end] =
            [window.start, window.end].map(|second| Instant::from_nanos(u64::from(second) * 1_000_000_000));
        let target = "web".to_owned();
        let profile = Profile { target, kind, mark, begin, end, sampling, bytes: Vec::new() };
        let observed = Observed { profiles: vec![profile], ..Observed::default() };
        self.run.observed(&observed).unwrap();
    }

    /// The findings of one rule, a line each.
    pub(crate) fn findings(&self, rule: fn(&Facts<'_>) -> Vec<Finding>) -> String {
        lines(&rule(&Facts::read(&self.run, &self.workload, Provenance::Intact).unwrap()))
    }

    /// The findings of the rule of this id when the whole run is judged, a line each.
    pub(crate) fn findings_of(&self, rule: &str) -> String {
        let findings = self.judge().findings;
        lines(&findings.into_iter().filter(|f| f.rule.to_string() == rule).collect::<Vec<_>>())
    }

    pub(crate) fn judge(&self) -> Judgement {
        crate::judge(&self.run, &self.workload, Provenance::Intact).unwrap()
    }

    /// The verdict, then each claim with its reasons.
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

/// Five minutes in one phase, `steady`, with one endpoint, `list`.
pub(crate) fn five_minutes(load: impl Fn(u32) -> Load) -> TestRun {
    let mut test_run = TestRun::unobserved();
    test_run.workload.phases = vec![Phase {
        name: "steady".to_owned(),
        start: Duration::ZERO,
        end: Duration::from_secs(u64::from(FIVE_MINUTES_S)),
    }];
    for second in 0..FIVE_MINUTES_S {
        test_run.offer_in("steady", second, "list", load(second));
    }
    let rate = test_run.scheduled as f64 / f64::from(FIVE_MINUTES_S);
    let duration = Duration::from_secs(u64::from(FIVE_MINUTES_S));
    test_run.workload.scenarios[0].executor = Executor::ConstantArrivalRate { rate, duration };
    test_run
}

/// How long each level of [`stairs`] is offered.
pub(crate) const STAIR_S: u32 = 30;

/// Levels of load, one after the other in phases of their own, with one endpoint, `list`.
pub(crate) fn stairs(levels: &[Load]) -> TestRun {
    let mut test_run = TestRun::unobserved();
    test_run.workload.phases.clear();
    for (at, load) in (0u32..).zip(levels) {
        let seconds = at * STAIR_S..(at + 1) * STAIR_S;
        let [start, end] = [seconds.start, seconds.end].map(|second| Duration::from_secs(second.into()));
        let name = format!("level-{at}");
        test_run.workload.phases.push(Phase { name: name.clone(), start, end });
        seconds.for_each(|second| test_run.offer_in(&name, second, "list", *load));
    }
    let seconds = STAIR_S * levels.len() as u32;
    let rate = test_run.scheduled as f64 / f64::from(seconds);
    let duration = Duration::from_secs(seconds.into());
    test_run.workload.scenarios[0].executor = Executor::ConstantArrivalRate { rate, duration };
    test_run.run.finish(evidence::RunEnd::new(Ending::Completed, seconds - 1));
    test_run
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
