//! Experiments in which two versions share a processor at the same moment, request by request: what queueing hides from times,
//! and what the cost of a request shows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evidence::{ExperimentEnd, ExperimentJudgement, MetricVerdict, PairOrder, Severity, Verdict};
use judge::experiment::{
    Conditions, JudgedPair, Levels, Looks, Rulebook, SlotValue, Together, judge_experiment,
};
use workload::experiment::GateMetric;
use workload::objective::parse_quantity;

use crate::experiments::{ExperimentTally, LEVEL, Promise};
use crate::random::Random;

/// Requests of both versions in a window.
const REQUESTS: usize = 2_400;
/// Parts of a window, for each of which the versions are compared.
const SECONDS: usize = 24;
/// A demand is a sum of so many exponential parts.
const PARTS: u32 = 4;
/// The standard deviation of the logarithm of the machine's speed between windows: its neighbours.
const MACHINE: f64 = 0.03;
/// The same of a start of one version.
const START: f64 = 0.01;
/// The error of a time by its digits alone.
const TIME_ERROR: f64 = 0.000_5;
/// The highest use of the processor: a queue that only grows has no state to compare.
const MOST_USE: f64 = 0.97;

/// How a processor serves two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discipline {
    /// One request after the other.
    Fifo,
    /// All requests at once, each at an equal share.
    Sharing,
}

/// What is counted of the experiments of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Times,
    Cost,
}

/// Experiments of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TogetherKind {
    /// What it is, in a few words.
    pub name: &'static str,
    discipline: Discipline,
    /// The share of the processor's time that is used if both versions are A.
    busy: f64,
    /// How much more of it a request of B needs: 0.05 is 5 %.
    dearer: f64,
    counted: Counted,
    /// Whether windows have 90 or 110 % of the load, so that the demand of a request may show that times do not change.
    is_load_varied: bool,
    pub promise: Promise,
}

/// Every kind that is simulated.
pub fn together() -> Vec<TogetherKind> {
    use Discipline::{Fifo, Sharing};
    let mut kinds = Vec::new();
    let uses = [0.3, 0.5, 0.7, 0.85];
    let all = [Fifo, Sharing].into_iter().flat_map(|discipline| uses.map(|busy| (discipline, busy)));
    for (discipline, busy) in all {
        let kind = |name, dearer, counted, promise| TogetherKind {
            name,
            discipline,
            busy,
            dearer,
            counted,
            is_load_varied: false,
            promise,
        };
        kinds.extend([
            kind("at the same moment, A against A", 0.0, Counted::Times, Promise::AlarmsAtMost(0.01)),
            kind(
                "at the same moment, times of 5 % more CPU",
                0.05,
                Counted::Times,
                Promise::MissedAtMost(0.0),
            ),
            kind("at the same moment, 5 % more CPU", 0.05, Counted::Cost, Promise::FoundAtLeast(0.9)),
        ]);
        let varied = |name, dearer, promise| TogetherKind {
            is_load_varied: true,
            ..kind(name, dearer, Counted::Times, promise)
        };
        kinds.push(varied("load varied, times of 5 % more CPU", 0.05, Promise::MissedAtMost(0.0)));
        if busy > 0.8 {
            // Alone its times are 6 % longer and more.
            kinds.push(varied("load varied, times of 1 % more CPU", 0.01, Promise::MissedAtMost(0.05)));
        }
        if busy < 0.4 {
            kinds.push(varied("load varied, A against A", 0.0, Promise::ClearedAtLeast(0.0)));
        }
    }
    kinds
}

impl TogetherKind {
    /// What is simulated, in one line.
    pub fn description(&self) -> String {
        let discipline = match self.discipline {
            Discipline::Fifo => "first come, first served",
            Discipline::Sharing => "processor sharing",
        };
        format!("{discipline}, {:.0} % of the processor used", self.busy * 100.0)
    }

    /// So many experiments, which begin with this seed. Of costs `regressed` is that of the CPU of a request, else that of any
    /// time; `cleared` is that any time is called equal or not worse.
    pub fn run(&self, experiments: u64, seed: u64) -> ExperimentTally {
        let mut tally = ExperimentTally::default();
        for number in 0..experiments {
            let judgement = self.one(&mut Random::new(seed.wrapping_add(number)));
            let is =
                |at: usize, verdicts: &[MetricVerdict]| verdicts.contains(&judgement.metrics[at].verdict);
            let times = |verdicts: &[MetricVerdict]| is(0, verdicts) || is(1, verdicts);
            let differs = [MetricVerdict::Regressed, MetricVerdict::Improved, MetricVerdict::Invalid];
            let regressed = match self.counted {
                Counted::Times => times(&[MetricVerdict::Regressed]),
                Counted::Cost => is(2, &[MetricVerdict::Regressed]),
            };
            let is_disturbed = judgement.findings.iter().any(|finding| finding.severity == Severity::Invalid);
            tally.experiments += 1;
            tally.alarms += u64::from((0..4).any(|at| is(at, &differs)) || is_disturbed);
            tally.regressed += u64::from(regressed);
            tally.cleared += u64::from(times(&[MetricVerdict::Equivalent, MetricVerdict::NoRegression]));
            tally.pairs += u64::from(judgement.pairs);
        }
        tally
    }

    /// Window after window, until it is decided.
    fn one(&self, random: &mut Random) -> ExperimentJudgement {
        let metrics =
            ["p50(list)", "p95(list)", "cpu_per_request(target = web)", "error_rate(all)"].map(metric);
        let looks = Looks::default();
        let levels = Levels::for_alarm(LEVEL);
        let together = Together { is_load_varied: self.is_load_varied, ..Together::default() };
        let rules =
            Rulebook { metrics: &metrics, looks: &looks, levels, accept: &[], bad_starts: None, together };
        let mut pairs = Vec::new();
        loop {
            pairs.push(self.window(pairs.len() as u32 + 1, random));
            let made = pairs.len() as u32;
            if made == looks.last() {
                return judge_experiment(&rules, &pairs, ExperimentEnd::LastLook);
            }
            if looks.at().contains(&made) {
                let judgement = judge_experiment(&rules, &pairs, ExperimentEnd::Decided);
                if judgement.verdict != Verdict::Inconclusive {
                    return judgement;
                }
            }
        }
    }

    fn window(&self, number: u32, random: &mut Random) -> JudgedPair {
        let shares = shares(number, random);
        let machine = (MACHINE * random.normal()).exp();
        let demands =
            [1.0, 1.0 + self.dearer].map(|demand| demand * machine * (START * random.normal()).exp());
        // Of each two windows one has less and one more.
        let load = match (self.is_load_varied, number % 2 == 1) {
            (false, _) => 1.0,
            (true, true) => 0.9,
            (true, false) => 1.1,
        };
        let requests = self.requests(shares, load, demands, random);
        let responses = match self.discipline {
            Discipline::Fifo => first_come_first_served(&requests),
            Discipline::Sharing => processor_sharing(&requests),
        };
        let by_second = |q: f64, seconds: usize| {
            let mut ratios = Vec::new();
            for second in (0..REQUESTS).collect::<Vec<_>>().chunks(REQUESTS / seconds) {
                let of = |is_b: bool| {
                    let own = second.iter().filter(|at| requests[**at].is_of_b == is_b);
                    stats::quantile(&own.map(|at| responses[*at]).collect::<Vec<_>>(), q)
                };
                ratios.extend(of(true).zip(of(false)).map(|(b, a)| (b / a).ln()));
            }
            stats::quantile(&ratios, 0.5)
        };
        let of = |is_b: bool| -> [SlotValue; 3] {
            let own = requests.iter().zip(&responses).filter(|(request, _)| request.is_of_b == is_b);
            let (demands, times): (Vec<f64>, Vec<f64>) =
                own.map(|(request, time)| (request.demand, *time)).unzip();
            let quantile = |q| stats::quantile(&times, q).unwrap_or_default();
            [quantile(0.5), quantile(0.95), stats::mean(&demands).unwrap_or_default()].map(known)
        };
        let ([p50_a, p95_a, cpu_a], [p50_b, p95_b, cpu_b]) = (of(false), of(true));
        // None of either fails: their error is by counting alone.
        let failed = || SlotValue::Known { value: 0.0, error: 0.000_2, lag: 0.0 };
        JudgedPair {
            number,
            order: if number % 2 == 1 { PairOrder::Ab } else { PairOrder::Ba },
            values: vec![[p50_a, p50_b], [p95_a, p95_b], [cpu_a, cpu_b], [failed(), failed()]],
            probe: Vec::new(),
            by_second: vec![by_second(0.5, SECONDS), by_second(0.95, SECONDS / 2), None, None],
            others: Vec::new(),
            costs: Vec::new(),
            conditions: [Conditions::default(); 2],
            share_of_b: Some(f64::from(shares[1]) / f64::from(shares[0] + shares[1])),
            load: Some(load),
            findings: Vec::new(),
        }
    }

    /// The requests of a window in the order of their arrival, which is random.
    fn requests(&self, shares: [u32; 2], load: f64, demands: [f64; 2], random: &mut Random) -> Vec<Request> {
        let mean = f64::midpoint(demands[0], demands[1]);
        let gap = (1.0 / self.busy / load).max(mean / MOST_USE);
        let (mut at, mut left) = (0.0, [0, 0]);
        let mut request = |_| {
            if left == [0, 0] {
                left = shares;
            }
            let is_of_b = random.uniform() * f64::from(left[0] + left[1]) < f64::from(left[1]);
            left[usize::from(is_of_b)] -= 1;
            at += random.exponential(gap);
            let part = demands[usize::from(is_of_b)] / f64::from(PARTS);
            let demand = (0..PARTS).map(|_| random.exponential(part)).sum();
            Request { at, demand, is_of_b }
        };
        (0..REQUESTS).map(&mut request).collect()
    }
}

fn metric(text: &str) -> GateMetric {
    let quantity = parse_quantity(text, &|_| true).expect("the text of a metric is a measure");
    GateMetric::new(text, text, quantity)
}

fn known(value: f64) -> SlotValue {
    SlotValue::Known { value, error: TIME_ERROR, lag: 0.0 }
}

/// Of each three times two windows the first two are split unevenly, once in favour of each.
fn shares(number: u32, random: &mut Random) -> [u32; 2] {
    // It is drawn for every window, so that each has as many draws.
    let is_first_larger = random.uniform() < 0.5;
    match (number - 1) % 6 {
        0 | 1 if (number % 2 == 1) == is_first_larger => [3, 2],
        0 | 1 => [2, 3],
        _ => [1, 1],
    }
}

struct Request {
    at: f64,
    /// The time of the processor that it needs.
    demand: f64,
    is_of_b: bool,
}

/// The response times where one request is served after the other (Lindley's recursion).
fn first_come_first_served(requests: &[Request]) -> Vec<f64> {
    let mut free_at = 0.0_f64;
    let mut response = |request: &Request| {
        free_at = free_at.max(request.at) + request.demand;
        free_at - request.at
    };
    requests.iter().map(&mut response).collect()
}

/// The response times where all requests are served at once, each at an equal share. In the time in which each of those there
/// gets one unit of service, the order in which they end is that of what they need beyond those that came before.
fn processor_sharing(requests: &[Request]) -> Vec<f64> {
    let mut responses = vec![0.0; requests.len()];
    let mut there: BinaryHeap<Reverse<(Service, usize)>> = BinaryHeap::new();
    let (mut now, mut served) = (0.0, 0.0);
    let mut until = |at: f64, there: &mut BinaryHeap<Reverse<(Service, usize)>>, served: &mut f64| {
        while let Some(Reverse((Service(ends), index))) = there.peek().copied() {
            let left = (ends - *served) * there.len() as f64;
            if now + left > at {
                break;
            }
            now += left;
            *served = ends;
            there.pop();
            responses[index] = now - requests[index].at;
        }
        if !there.is_empty() && at.is_finite() {
            *served += (at - now) / there.len() as f64;
        }
        now = at;
    };
    for (index, request) in requests.iter().enumerate() {
        until(request.at, &mut there, &mut served);
        there.push(Reverse((Service(served + request.demand), index)));
    }
    until(f64::INFINITY, &mut there, &mut served);
    responses
}

/// An amount of service; finite.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Service(f64);

impl Eq for Service {}

impl PartialOrd for Service {
    fn partial_cmp(&self, other: &Service) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Service {
    fn cmp(&self, other: &Service) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few, so that tests are fast: the published table has many.
    const EXPERIMENTS: u64 = 12;

    #[test]
    fn experiments_at_the_same_moment_keep_their_promises() {
        for kind in together() {
            let tally = kind.run(EXPERIMENTS, 1);
            assert!(tally.keeps(kind.promise), "{} ({}): {tally:?}", kind.name, kind.description());
        }
    }

    /// By hand: a request of 3 begins alone; from 1 on two of 2 and 1 share with it.
    #[test]
    fn queues_are_those_on_paper() {
        let request = |at, demand| Request { at, demand, is_of_b: false };
        let requests = [request(0.0, 3.0), request(1.0, 2.0), request(1.0, 1.0), request(10.0, 1.0)];
        assert_eq!(first_come_first_served(&requests), [3.0, 4.0, 5.0, 1.0]);
        assert_eq!(processor_sharing(&requests), [6.0, 5.0, 3.0, 1.0]);
    }

    /// Alone, a version that needs 5 % more of a processor that is used to 85 % is far slower than the margin of 5 %; beside
    /// the other it is not.
    #[test]
    fn what_is_called_not_shown_is_a_change_far_beyond_the_margin() {
        let kind =
            together().into_iter().find(|kind| kind.discipline == Discipline::Fifo && kind.busy == 0.85);
        let kind = kind.unwrap();
        assert_eq!(kind.description(), "first come, first served, 85 % of the processor used");
        let mut random = Random::new(1);
        let mut p50 = |demands: [f64; 2], is_of_b: bool| {
            let requests: Vec<Request> =
                (0..20).flat_map(|_| kind.requests([1, 1], 1.0, demands, &mut random)).collect();
            let mut times = Vec::new();
            for window in requests.chunks(REQUESTS) {
                let responses = first_come_first_served(window);
                let own = window.iter().zip(responses).filter(|(request, _)| request.is_of_b == is_of_b);
                times.extend(own.map(|(_, time)| time));
            }
            stats::quantile(&times, 0.5).unwrap()
        };
        let alone = p50([1.05; 2], true) / p50([1.0; 2], true);
        let beside = p50([1.0, 1.05], true) / p50([1.0, 1.05], false);
        assert!(alone > 1.15, "{alone}");
        assert!(beside < 1.05, "{beside}");
    }
}
