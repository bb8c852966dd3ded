//! Everything that is simulated.

use crate::Simulation;
use crate::episodes::{EpisodeLength, EpisodeShape};
use crate::leaks::{LeakShape, SeriesTrend, Steps};
use crate::question::{Limits, Truth};
use crate::steady::SteadyShape;
use crate::target::{Admission, Demand, FIFO, Server, TargetShape, Wander};
use crate::verdicts::{Arrivals, JudgedAt, Measured, RunShape, Stalls};

/// A kind of runs or series, not yet simulated.
#[derive(Debug, Clone, Copy)]
pub struct Subject(Shape);

#[derive(Debug, Clone, Copy)]
enum Shape {
    Run(RunShape),
    Steady(SteadyShape),
    Leak(LeakShape),
}

impl Subject {
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Shape::Run(shape) => shape.name,
            Shape::Steady(shape) => shape.name,
            Shape::Leak(shape) => shape.name,
        }
    }

    /// What it is, in one line.
    pub fn description(&self) -> &'static str {
        match &self.0 {
            Shape::Run(shape) => shape.description,
            Shape::Steady(shape) => shape.description,
            Shape::Leak(shape) => shape.description,
        }
    }

    /// Find out what is true of it.
    pub fn prepare(self) -> Simulation {
        match self.0 {
            Shape::Run(shape) => shape.prepare(),
            Shape::Steady(shape) => shape.prepare(),
            Shape::Leak(shape) => shape.prepare(),
        }
    }
}

/// All of them, in the order in which they are shown.
pub fn catalogue() -> Vec<Subject> {
    let runs = RUNS.iter().copied().map(Shape::Run);
    let steady = STEADY.iter().copied().map(Shape::Steady);
    let leaks = LEAKS.iter().copied().map(Shape::Leak);
    runs.chain(steady).chain(leaks).map(Subject).collect()
}

/// A second now and then, dozens in a run.
const NOW_AND_THEN: EpisodeShape =
    EpisodeShape { gap_s: 8.0, length: EpisodeLength::Exponential { mean_s: 0.3 } };

/// For 3 to 9 s, each minute or so.
const FROZEN: EpisodeShape =
    EpisodeShape { gap_s: 50.0, length: EpisodeLength::LogUniform { shortest_s: 3.0, longest_s: 9.0 } };

const FEW_STALLS: Stalls = Stalls::Neighbours { share: 0.05 };
const HALF: Stalls = Stalls::Neighbours { share: 0.5 };

const P95: &[Measured] = &[Measured::Quantile(0.95)];
const P95_AND_ERRORS: &[Measured] = &[Measured::Quantile(0.95), Measured::ErrorRate];

const QUIET: RunShape = RunShape {
    name: "one worker, FIFO",
    description: "100 arrivals a second at random, 6 ms each of one worker, which is busy for 60 % of the time",
    arrivals: Arrivals::Poisson,
    rate: 100,
    seconds: 120,
    target: FIFO,
    stalls: Stalls::None,
    time_limit_ms: 30_000,
    objectives: P95,
    judged: JudgedAt::End,
};

/// Half as fast, half the load, twice as long: stalls are short beside its times.
const SLOWER_FIFO: TargetShape = TargetShape { service_ms: 12.0, ..FIFO };
const SLOWER: RunShape = RunShape { rate: 50, seconds: 240, target: SLOWER_FIFO, ..QUIET };

/// Twice as long, so that its first quarter shows how arrivals cluster.
const LOOKED_AT: RunShape = RunShape { seconds: 240, judged: JudgedAt::Looks, ..QUIET };

/// Requests that wait for nothing, and whose times all have the same distribution.
const INDEPENDENT: TargetShape =
    TargetShape { server: Server::Unbounded, demand: Demand::LogNormal { deviation: 0.5 }, ..FIFO };
/// The same at a level that changes from second to second.
const fn wandering(correlation: f64) -> TargetShape {
    TargetShape { wander: Some(Wander { correlation, deviation: 0.3 }), ..INDEPENDENT }
}
const BUSY_80: TargetShape = TargetShape { service_ms: 8.0, ..FIFO };
const BUSY_90: TargetShape = TargetShape { service_ms: 9.0, ..FIFO };
/// A second of ten.
const SECONDS_APART: EpisodeShape =
    EpisodeShape { gap_s: 9.0, length: EpisodeLength::Exponential { mean_s: 1.0 } };
/// A second of half a minute.
const HALF_A_MINUTE_APART: EpisodeShape =
    EpisodeShape { gap_s: 30.0, length: EpisodeLength::Exponential { mean_s: 1.0 } };

const RUNS: &[RunShape] = &[
    QUIET,
    RunShape {
        name: "10 s, independent requests",
        description: "100 arrivals a second that wait for nothing",
        seconds: 10,
        target: INDEPENDENT,
        ..QUIET
    },
    RunShape {
        name: "10 s, one worker, 60 % busy",
        description: "the shortest run of a queue",
        seconds: 10,
        ..QUIET
    },
    RunShape {
        name: "15 s, one worker, 80 % busy",
        description: "a quarter of a minute of a queue that forms and goes: 8 ms a request",
        seconds: 15,
        target: BUSY_80,
        ..QUIET
    },
    RunShape {
        name: "30 s, independent requests, 20 a second",
        description: "600 requests that wait for nothing",
        rate: 20,
        seconds: 30,
        target: INDEPENDENT,
        ..QUIET
    },
    RunShape {
        name: "30 s, one worker, 80 % busy",
        description: "100 arrivals a second that take 8 ms each",
        seconds: 30,
        target: BUSY_80,
        ..QUIET
    },
    RunShape {
        name: "30 s, one worker, 90 % busy",
        description: "100 arrivals a second that take 9 ms each",
        seconds: 30,
        target: BUSY_90,
        ..QUIET
    },
    RunShape {
        name: "30 s, level of seconds, lag-1 correlation 0.3",
        description: "what requests take changes by 30 % from second to second, a little like the second before",
        seconds: 30,
        target: wandering(0.3),
        ..QUIET
    },
    RunShape {
        name: "30 s, independent failures",
        description: "five of a hundred requests fail, whatever the others do",
        seconds: 30,
        target: TargetShape { failing: 0.05, ..INDEPENDENT },
        objectives: &[Measured::ErrorRate],
        ..QUIET
    },
    RunShape {
        name: "50 s, one worker, 90 % busy",
        description: "the same for 50 s: long queues come and go within a batch",
        seconds: 50,
        target: BUSY_90,
        ..QUIET
    },
    RunShape {
        name: "60 s, level of seconds, lag-1 correlation 0.8",
        description: "what requests take changes by 30 % over some seconds",
        seconds: 60,
        target: wandering(0.8),
        ..QUIET
    },
    RunShape {
        name: "60 s, slow for a second of ten",
        description: "now and then everything takes ten times as long, for a second",
        seconds: 60,
        target: TargetShape { slow: Some(SECONDS_APART), ..INDEPENDENT },
        ..QUIET
    },
    RunShape {
        name: "120 s, heavy tails",
        description: "one worker, 60 % busy with requests of a Pareto distribution (exponent 2.2)",
        target: TargetShape { demand: Demand::Pareto { exponent: 2.2 }, ..FIFO },
        objectives: &[Measured::Quantile(0.99)],
        ..QUIET
    },
    RunShape {
        name: "300 s, closed model, failures come back at once",
        description: "ten users, 100 ms a request; for a second each half minute all fail within 1 ms, and the users are back",
        arrivals: Arrivals::Closed { users: 10 },
        seconds: 300,
        target: TargetShape {
            service_ms: 100.0,
            demand: Demand::Exponential,
            outages: Some(HALF_A_MINUTE_APART),
            ..INDEPENDENT
        },
        objectives: &[Measured::ErrorRate],
        ..QUIET
    },
    RunShape {
        name: "ten minutes, level of a minute, lag-1 correlation 0.95",
        description: "what requests take changes by 30 % over a minute, 20 a second",
        rate: 20,
        seconds: 600,
        target: wandering(0.95),
        ..QUIET
    },
    RunShape {
        name: "one worker, constant arrivals",
        description: "the same worker, and an arrival exactly every 10 ms",
        arrivals: Arrivals::Even,
        ..QUIET
    },
    RunShape {
        name: "eight workers, 80 % busy",
        description: "400 arrivals a second, of which each takes 16 ms of one of eight workers",
        rate: 400,
        seconds: 60,
        target: TargetShape { server: Server::Fifo { workers: 8 }, service_ms: 16.0, ..FIFO },
        objectives: &[Measured::Quantile(0.95), Measured::Quantile(0.99)],
        ..QUIET
    },
    RunShape {
        name: "one worker, 90 % busy",
        description: "100 arrivals a second that take 9 ms each: long queues come and go, so that times cluster",
        target: TargetShape { service_ms: 9.0, ..FIFO },
        ..QUIET
    },
    RunShape {
        name: "processor sharing",
        description: "one worker that works on all its requests at once, 6 ms each",
        target: TargetShape { server: Server::Sharing, ..FIFO },
        ..QUIET
    },
    RunShape {
        name: "slow times, ten times as long",
        description: "32 workers, so that nothing waits; for 0.3 s each 8 s or so, everything takes ten times as long",
        target: TargetShape { server: Server::Fifo { workers: 32 }, slow: Some(NOW_AND_THEN), ..FIFO },
        ..QUIET
    },
    RunShape {
        name: "independent failures",
        description: "one worker; one request in a hundred fails, whatever the others do",
        target: TargetShape { failing: 0.01, ..FIFO },
        objectives: P95_AND_ERRORS,
        ..QUIET
    },
    RunShape {
        name: "failures in bursts",
        description: "one worker; for 0.3 s each 8 s or so, every request fails",
        seconds: 300,
        target: TargetShape { outages: Some(NOW_AND_THEN), ..FIFO },
        objectives: &[Measured::ErrorRate],
        ..QUIET
    },
    RunShape {
        name: "rate limit just above the load",
        description: "one worker behind a limit of 110 requests a second, beyond which it answers 429",
        target: TargetShape { admission: Admission::Limited { per_s: 110.0, burst: 15.0 }, ..FIFO },
        objectives: P95_AND_ERRORS,
        ..QUIET
    },
    RunShape {
        name: "shedding on a full queue",
        description: "one worker, 80 % busy, that answers 503 where twelve requests wait or are worked on",
        target: TargetShape { service_ms: 8.0, admission: Admission::Queue { places: 12 }, ..FIFO },
        objectives: P95_AND_ERRORS,
        ..QUIET
    },
    RunShape {
        name: "neighbours take 5 %",
        description: "one worker, 60 % busy; the generator's thread does not run for 5 % of the time, 1 to 50 ms each",
        stalls: FEW_STALLS,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half",
        description: "one worker, 60 % busy; the generator's thread does not run for half of the time",
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, constant arrivals",
        description: "the same with an arrival due every 20 ms",
        arrivals: Arrivals::Even,
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, eight workers, 80 % busy",
        description: "eight workers, 32 ms a request; the generator runs for half of the time",
        rate: 200,
        seconds: 120,
        target: TargetShape { server: Server::Fifo { workers: 8 }, service_ms: 32.0, ..SLOWER_FIFO },
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, slow target",
        description: "32 workers, 100 ms a request, longer than any stall; the generator runs for half of the time",
        rate: 20,
        seconds: 600,
        target: TargetShape { server: Server::Fifo { workers: 32 }, service_ms: 100.0, ..SLOWER_FIFO },
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, processor sharing",
        description: "one worker that works on all requests at once; the generator runs for half of the time",
        target: TargetShape { server: Server::Sharing, ..SLOWER_FIFO },
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, slow times",
        description: "everything takes ten times as long now and then; the generator runs for half of the time",
        target: TargetShape { server: Server::Fifo { workers: 32 }, slow: Some(NOW_AND_THEN), ..SLOWER_FIFO },
        stalls: HALF,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, failures in bursts",
        description: "every request fails now and then; the generator runs for half of the time",
        seconds: 300,
        target: TargetShape { outages: Some(NOW_AND_THEN), ..SLOWER_FIFO },
        stalls: HALF,
        objectives: &[Measured::ErrorRate],
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, rate limit just above the load",
        description: "429 beyond 55 requests a second; the generator runs for half of the time, and sends in bunches",
        target: TargetShape { admission: Admission::Limited { per_s: 55.0, burst: 15.0 }, ..SLOWER_FIFO },
        stalls: HALF,
        objectives: P95_AND_ERRORS,
        ..SLOWER
    },
    RunShape {
        name: "neighbours take half, shedding on a full queue",
        description: "503 where twelve requests wait or are worked on; the generator runs for half of the time, and sends in bunches",
        target: TargetShape { service_ms: 16.0, admission: Admission::Queue { places: 12 }, ..SLOWER_FIFO },
        stalls: HALF,
        objectives: P95_AND_ERRORS,
        ..SLOWER
    },
    RunShape {
        name: "the machine freezes for a second or two",
        description: "one worker, 60 % busy; each two minutes or so the generator does not run for 1 to 2.5 s",
        stalls: Stalls::Freezes,
        ..SLOWER
    },
    RunShape {
        name: "short stalls, time limit",
        description: "32 workers, 256 ms a request; a few need more than 1 s and time out; five times a second the \
                      generator does not run for 1 to 3 ms",
        seconds: 240,
        target: TargetShape { server: Server::Fifo { workers: 32 }, service_ms: 256.0, ..FIFO },
        stalls: Stalls::Short { per_s: 5.0 },
        time_limit_ms: 1_000,
        objectives: P95_AND_ERRORS,
        ..QUIET
    },
    RunShape {
        name: "short stalls, outages of seconds",
        description: "for 3 to 9 s a minute nothing is answered, and requests wait for 1 s; thirty times a second the \
                      generator does not run for 1 to 3 ms",
        rate: 10,
        seconds: 3_000,
        target: TargetShape { service_ms: 1.0, frozen: Some(FROZEN), ..FIFO },
        stalls: Stalls::Short { per_s: 30.0 },
        time_limit_ms: 1_000,
        objectives: &[Measured::ErrorRate],
        ..QUIET
    },
    RunShape {
        name: "until decided: one worker, constant arrivals",
        description: "one worker, 60 % busy; the run is judged after each quarter, and its first answer counts",
        arrivals: Arrivals::Even,
        ..LOOKED_AT
    },
    RunShape {
        name: "until decided: one worker, 90 % busy",
        description: "queues come and go; judged after each quarter",
        target: BUSY_90,
        ..LOOKED_AT
    },
    RunShape {
        name: "until decided: level of seconds, lag-1 correlation 0.8",
        description: "what requests take changes by 30 % over some seconds; judged after each quarter",
        target: wandering(0.8),
        ..LOOKED_AT
    },
    RunShape {
        name: "until decided: independent failures",
        description: "one request in a hundred fails; judged after each quarter",
        target: TargetShape { failing: 0.01, ..FIFO },
        objectives: &[Measured::ErrorRate],
        ..LOOKED_AT
    },
    RunShape {
        name: "until decided: failures in bursts",
        description: "every request fails for 0.3 s each 8 s or so; judged after each quarter",
        target: TargetShape { outages: Some(NOW_AND_THEN), ..FIFO },
        objectives: &[Measured::ErrorRate],
        ..LOOKED_AT
    },
];

const STEADY: &[SteadyShape] = &[
    SteadyShape {
        name: "steady state: noise without trend",
        description: "five minutes around one level, values of neighbouring seconds a little alike",
        correlation: 0.5,
        level: |_| 0.0,
        truth: Truth::Met,
        wrong: 0.05,
    },
    SteadyShape {
        name: "steady state: noise that wanders, lag-1 correlation 0.9",
        description: "five minutes around one level, which each value leaves for several seconds",
        correlation: 0.9,
        level: |_| 0.0,
        truth: Truth::Met,
        wrong: 0.05,
    },
    SteadyShape {
        name: "steady state: drift of 30 %",
        description: "five minutes in which the level rises by 30 %",
        correlation: 0.5,
        level: |at| 0.3 * at / 300.0,
        truth: Truth::Violated,
        wrong: 0.05,
    },
    SteadyShape {
        name: "steady state: drift of 30 % under a cycle of 50 s",
        description: "the same rise, under waves as high as it is",
        correlation: 0.5,
        level: |at| 0.3 * at / 300.0 + 0.3 * (at / 50.0 * std::f64::consts::TAU).sin(),
        truth: Truth::Violated,
        wrong: 0.01,
    },
    SteadyShape {
        name: "steady state: slower from 220 s of 300 s on",
        description: "one level, then one 20 % higher for the last 80 s",
        correlation: 0.5,
        level: |at| if at < 220.0 { 0.0 } else { 0.2 },
        truth: Truth::Violated,
        wrong: 0.05,
    },
];

/// 1 % an hour of the median level over two hours.
const AT_MARGIN: f64 = 10.1;
const FALSE_LEAKS: Limits = Limits { wrong: 0.01, kept: None };

const LEAKS: &[LeakShape] = &[
    LeakShape {
        name: "leak: growth at the margin",
        description: "two hours of memory that grows by exactly as much as is allowed, under noise",
        trend: SeriesTrend::Growth { mib_per_hour: AT_MARGIN, correlation: 0.0 },
        truth: Truth::AtBound,
        limits: Limits { wrong: 0.05, kept: None },
    },
    LeakShape {
        name: "leak: growth at the margin, correlated noise",
        description: "the same under noise whose neighbouring values are alike",
        trend: SeriesTrend::Growth { mib_per_hour: AT_MARGIN, correlation: 0.5 },
        truth: Truth::AtBound,
        limits: Limits { wrong: 0.05, kept: None },
    },
    LeakShape {
        name: "leak: steps of 4 MiB at the margin, to be excluded",
        description: "three hours of memory that grows by exactly as much as is allowed, in steps at random; `--step 4MiB`",
        trend: SeriesTrend::Steps {
            mib_per_hour: AT_MARGIN,
            step_mib: 4.0,
            hours: 3,
            asked: Steps::Excluded,
        },
        truth: Truth::AtBound,
        limits: Limits { wrong: 0.05, kept: None },
    },
    LeakShape {
        name: "leak: steps of 20 MiB at the margin, not to be excluded",
        description: "an hour of the same in larger steps, without `--step`: the answer says which steps it does not exclude",
        trend: SeriesTrend::Steps {
            mib_per_hour: AT_MARGIN,
            step_mib: 20.0,
            hours: 1,
            asked: Steps::NotExcluded,
        },
        truth: Truth::AtBound,
        limits: Limits { wrong: 1.0, kept: None },
    },
    LeakShape {
        name: "leak: no growth",
        description: "two hours of memory that does not grow, under noise",
        trend: SeriesTrend::Growth { mib_per_hour: 0.0, correlation: 0.0 },
        truth: Truth::Met,
        limits: Limits { wrong: 0.01, kept: Some(0.8) },
    },
    LeakShape {
        name: "leak: idle floors of 14 series that scatter by 5 %",
        description: "five cycles of load and rest; what is in use at rest differs by 5 % from cycle to cycle",
        trend: SeriesTrend::ScatteredFloors { deviation: 0.05 },
        truth: Truth::Met,
        limits: FALSE_LEAKS,
    },
    LeakShape {
        name: "leak: idle floors of 14 series that saturate after 20 min",
        description: "what is in use at rest rises like a cache that fills, quickly",
        trend: SeriesTrend::SaturatingFloors { minutes: 20.0 },
        truth: Truth::Met,
        limits: FALSE_LEAKS,
    },
    LeakShape {
        name: "leak: idle floors of 14 series that saturate after 60 min",
        description: "what is in use at rest rises like a cache that fills, slowly",
        trend: SeriesTrend::SaturatingFloors { minutes: 60.0 },
        truth: Truth::Met,
        limits: FALSE_LEAKS,
    },
];
