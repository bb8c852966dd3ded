//! Objectives of simulated runs, judged as any other run is.

use std::path::Path;

use evidence::memory::MemoryRun;
use evidence::{Claim, Instant, Provenance, Verdict};
use plans::Overrides;
use workload::{FilesInMemory, Objective, Workload};

use crate::Simulation;
use crate::episodes::{EpisodeLength, EpisodeShape, Episodes};
use crate::generator::{self, Offered, Offering};
use crate::question::{GivenVerdict, Limits, Question, Truth as Asked};
use crate::random::Random;
use crate::recording;
use crate::target::{Target, TargetShape};
use crate::truth::{Truth, arrivals, repeated_until, time_limit};

/// How many arrivals the truth is taken from.
const TRUE_ARRIVALS: u32 = 2_000_000;
/// The seed of the truth: none of the runs'.
const TRUE_SEED: u64 = u64::MAX;
/// The true share beyond the bound, as a multiple of the allowed one.
const FACTORS: [(f64, Asked); 3] = [(2.0 / 3.0, Asked::Met), (1.0, Asked::AtBound), (1.5, Asked::Violated)];
const AT_BOUND: f64 = 0.05;
/// At [`FACTORS`] of 0.67 and 1.5 where n / D × allowed share is at least [`MANY`].
const AWAY: f64 = 0.005;
const MANY: f64 = 50.0;
/// Of each end of an interval.
const END: f64 = 0.06;
/// PASS where the true quantile is half its bound and no shorter than a stall, and the sample is as large.
const KEPT: f64 = 0.99;

/// Runs of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunShape {
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) description: &'static str,
    pub(crate) arrivals: Arrivals,
    /// A second; of a closed model about as many.
    pub(crate) rate: u32,
    pub(crate) seconds: u32,
    pub(crate) target: TargetShape,
    pub(crate) stalls: Stalls,
    /// How long a request waits for its response.
    pub(crate) time_limit_ms: u32,
    pub(crate) objectives: &'static [Measured],
    pub(crate) judged: JudgedAt,
}

/// How load arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arrivals {
    /// At equal distances.
    Even,
    /// At random.
    Poisson,
    /// So many users send their next request when the last has ended.
    Closed { users: u32 },
}

/// When a run is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgedAt {
    /// When it is over.
    End,
    /// After each quarter; each objective's first answer counts, as if it were the run's only one.
    Looks,
}

/// What objectives are about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Measured {
    Quantile(f64),
    ErrorRate,
}

/// When the generator's thread does not run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stalls {
    None,
    /// Neighbours take this share of its core, 1 to 50 ms at a time.
    Neighbours {
        share: f64,
    },
    /// For 1 to 3 ms, so many times a second.
    Short {
        per_s: f64,
    },
    /// Its machine runs nothing for 1 to 2.5 s, each two minutes or so.
    Freezes,
}

impl Stalls {
    fn longest_ms(self) -> f64 {
        match self.shape().map(|shape| shape.length) {
            Some(EpisodeLength::LogUniform { longest_s, .. }) => longest_s * 1e3,
            Some(EpisodeLength::Exponential { .. }) => f64::INFINITY,
            None => 0.0,
        }
    }

    fn shape(self) -> Option<EpisodeShape> {
        match self {
            Stalls::None => None,
            Stalls::Neighbours { share } => {
                let length = EpisodeLength::LogUniform { shortest_s: 0.001, longest_s: 0.05 };
                Some(EpisodeShape::sharing(share, length))
            }
            Stalls::Short { per_s } => {
                let length = EpisodeLength::LogUniform { shortest_s: 0.001, longest_s: 0.003 };
                Some(EpisodeShape { gap_s: 1.0 / per_s, length })
            }
            Stalls::Freezes => {
                let length = EpisodeLength::LogUniform { shortest_s: 1.0, longest_s: 2.5 };
                Some(EpisodeShape { gap_s: 120.0, length })
            }
        }
    }
}

impl RunShape {
    pub(crate) fn prepare(self) -> Simulation {
        let truth = Truth::simulate(&self.workload(TRUE_ARRIVALS / self.rate, &[], TRUE_SEED), self.target);
        let objectives: Vec<(String, Question)> =
            self.objectives.iter().flat_map(|measured| self.questions(*measured, &truth)).collect();
        let (texts, mut questions): (Vec<String>, Vec<Question>) = objectives.into_iter().unzip();
        let interval = self.interval(&truth, &mut questions);
        let workload = self.workload(self.seconds, &texts, 0);
        let simulate = move |seed| self.answers(&workload, interval, seed);
        Simulation { questions, simulate: Box::new(simulate) }
    }

    /// The objectives' texts, and what is true of them.
    fn questions(&self, measured: Measured, truth: &Truth) -> Vec<(String, Question)> {
        let n = f64::from(self.rate * self.seconds);
        let mut questions = Vec::new();
        for (factor, asked) in FACTORS {
            let (text, allowed, bound_ms) = match measured {
                Measured::Quantile(q) => {
                    let ms = truth.exceeded_by(factor * (1.0 - q));
                    (format!("p{}(all) < {ms:.3}ms", q * 100.0), 1.0 - q, ms)
                }
                Measured::ErrorRate => {
                    let allowed = truth.failed() / factor;
                    (format!("error_rate(all) < {allowed:.6}"), allowed, f64::MAX)
                }
            };
            let is_large = n / truth.design_effect(bound_ms) * allowed >= MANY;
            let wrong = if asked != Asked::AtBound && is_large { AWAY } else { AT_BOUND };
            let limits = Limits { wrong, kept: None };
            let shown = match measured {
                Measured::Quantile(q) => format!("p{}, true share {factor:.2} × allowed", q * 100.0),
                Measured::ErrorRate => format!("error rate, true share {factor:.2} × allowed"),
            };
            questions.push((text, Question { text: shown, truth: asked, limits }));
        }
        if let Measured::Quantile(q) = measured {
            let quantile_ms = truth.exceeded_by(1.0 - q);
            let text = format!("p{}(all) < {:.3}ms", q * 100.0, 2.0 * quantile_ms);
            let is_large = n / truth.design_effect(quantile_ms) * (1.0 - q) >= MANY;
            let is_kept = is_large && self.stalls.longest_ms() <= quantile_ms;
            let limits = Limits { wrong: 1.0 - KEPT, kept: is_kept.then_some(KEPT) };
            let shown = format!("p{}, truth at half the bound", q * 100.0);
            questions.push((text, Question { text: shown, truth: Asked::Met, limits }));
        }
        questions
    }

    /// Asks about the interval beside the quantile of a run that is judged once, if the last question is about one: its bound
    /// is far from the truth, so that nothing but the interval's own limits places the ends.
    fn interval(&self, truth: &Truth, questions: &mut Vec<Question>) -> Option<IntervalOf> {
        let (Some(Measured::Quantile(q)), JudgedAt::End) = (self.objectives.last(), self.judged) else {
            return None;
        };
        let claim = questions.len().checked_sub(1)?;
        questions.push(Question {
            text: format!("p{}, interval beside it", q * 100.0),
            truth: Asked::AtBound,
            limits: Limits { wrong: END, kept: None },
        });
        Some(IntervalOf { claim, true_ms: truth.exceeded_by(1.0 - q) })
    }

    fn answers(&self, workload: &Workload, interval: Option<IntervalOf>, seed: u64) -> Vec<GivenVerdict> {
        let workload = Workload { seed, ..workload.clone() };
        let offered = self.offer(&workload);
        let looks = workload.until_decided.iter().flat_map(|until| &until.looks);
        let mut decided = vec![GivenVerdict::Undecided; workload.objectives.len()];
        let mut before = decided.clone();
        for at in looks {
            let now = looked_at(&workload, &recording::record_until(&workload, &offered, Instant::at(*at)));
            // A pass needs two looks in turn.
            let is_decision = |now, before| now == GivenVerdict::Fail || now == before;
            for ((decided, now), before) in decided.iter_mut().zip(&now).zip(&before) {
                if *decided == GivenVerdict::Undecided && is_decision(*now, *before) {
                    *decided = *now;
                }
            }
            before = now;
        }
        let at_end = given(&workload, &recording::record(&workload, &offered), interval);
        let first = |(before, end)| if before == GivenVerdict::Undecided { end } else { before };
        let decided = decided.into_iter().chain(interval.map(|_| GivenVerdict::Undecided));
        decided.zip(at_end).map(first).collect()
    }

    /// The load of one run, and what became of it.
    fn offer(&self, workload: &Workload) -> Offered {
        let random = Random::new(workload.seed);
        let mut target = Target::new(self.target, &random);
        let stalls = Episodes::new(self.stalls.shape(), random.fork(0));
        let scenario = &workload.scenarios[0];
        let end = Instant::at(scenario.executor.duration() + scenario.graceful_stop);
        let repeated_until = repeated_until(workload);
        let offering = Offering { repeated_until, stalls, time_limit: time_limit(workload), end };
        generator::offer(&arrivals(workload), &mut target, offering)
    }

    /// The plan of these runs, with these objectives.
    fn workload(&self, seconds: u32, objectives: &[String], seed: u64) -> Workload {
        let open = |arrivals: &str| {
            let rate = self.rate;
            format!(
                "executor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\narrivals = \"{arrivals}\"\nmax_vus = 100000\n"
            )
        };
        let executor = match self.arrivals {
            Arrivals::Even => open("even"),
            Arrivals::Poisson => open("poisson"),
            Arrivals::Closed { users } => format!("executor = \"constant-vus\"\nvus = {users}\n"),
        };
        let mut plan = format!(
            "version = 1\nseed = {seed}\n[targets.web]\nurl = \"http://127.0.0.1:1\"\n[[scenarios]]\nname = \"load\"\n\
             {executor}duration = \"{seconds}s\"\n[[scenarios.steps]]\nname = \"get\"\nget = \"${{web.url}}/\"\n\
             timeout = \"{}ms\"\n[objectives]\n",
            self.time_limit_ms
        );
        if self.judged == JudgedAt::Looks && !objectives.is_empty() {
            plan.insert_str(0, "until_decided = true\n");
        }
        for (number, objective) in objectives.iter().enumerate() {
            plan.push_str(&format!("objective_{number} = \"{objective}\"\n"));
        }
        workload_of(&plan)
    }
}

/// The workload of a plan.
pub(crate) fn workload_of(plan: &str) -> Workload {
    let loaded = plans::load(
        Path::new("simulated.toml"),
        &FilesInMemory::one("simulated.toml", plan.to_owned()),
        &|_| None,
        &Overrides::default(),
    );
    loaded.expect("plans of simulations are valid").workload
}

/// The interval of a claim, and what it should contain.
#[derive(Debug, Clone, Copy)]
struct IntervalOf {
    claim: usize,
    true_ms: f64,
}

impl IntervalOf {
    fn answer(self, claims: &[Claim]) -> GivenVerdict {
        match claims[self.claim].interval {
            Some((_, Some(high))) if high < self.true_ms => GivenVerdict::Pass,
            Some((low, _)) if low > self.true_ms => GivenVerdict::Fail,
            _ => GivenVerdict::Undecided,
        }
    }
}

/// The verdicts on the objectives of a run, and where the interval lies that is asked about.
fn given(workload: &Workload, run: &MemoryRun, interval: Option<IntervalOf>) -> Vec<GivenVerdict> {
    let judgement = judge::judge(run, workload, Provenance::Intact).expect("memory can be read");
    let answer = |verdict| match verdict {
        Verdict::Pass => GivenVerdict::Pass,
        Verdict::Fail => GivenVerdict::Fail,
        Verdict::Inconclusive | Verdict::Invalid | Verdict::Measured => GivenVerdict::Undecided,
    };
    let verdicts = judgement.claims.iter().map(|claim| answer(claim.verdict));
    verdicts.chain(interval.map(|interval| interval.answer(&judgement.claims))).collect()
}

/// The answers on the objectives of a run under way.
fn looked_at(workload: &Workload, run: &MemoryRun) -> Vec<GivenVerdict> {
    let judge::Look { violated, undecided } = judge::look(run, workload).expect("memory can be read");
    let answer = |objective: &Objective| match &objective.name {
        name if violated.contains(name) => GivenVerdict::Fail,
        name if undecided.contains(name) => GivenVerdict::Undecided,
        _ => GivenVerdict::Pass,
    };
    workload.objectives.iter().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Admission, FIFO};

    #[test]
    fn the_counts_of_a_simulated_run_add_up() {
        let target = TargetShape { admission: Admission::Queue { places: 4 }, failing: 0.01, ..FIFO };
        let shape = RunShape {
            name: "shedding",
            description: "",
            arrivals: Arrivals::Poisson,
            rate: 100,
            seconds: 60,
            target,
            stalls: Stalls::Freezes,
            time_limit_ms: 10_000,
            objectives: &[],
            judged: JudgedAt::End,
        };
        let workload = shape.workload(60, &[], 3);
        let run = recording::record(&workload, &shape.offer(&workload));
        let judgement = judge::judge(&run, &workload, Provenance::Intact).unwrap();
        let of = |rule: &str| judgement.findings.iter().find(|finding| finding.rule.to_string() == rule);
        assert_eq!((of("L5"), of("L6")), (None, None));
    }
}
