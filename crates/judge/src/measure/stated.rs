//! What the figures of an imported source say of an objective. A count and quantiles bound the share of requests beyond a
//! limit; the objective is decided where the binomial limits of these bounds are on one side of what is allowed.

use evidence::manifest::{RequestSummary, TimesSummary};
use evidence::{ClaimShare, Source, UnknownCount, UnknownSubject, Verdict, Widening, WideningCause};
use stats::{Proportion, ShareLimits};
use workload::{Comparison, Filter, Measure, Objective, Statistic, Workload};

use super::{Measurement, Value};
use crate::shares::{BeyondCounts, CONFIDENCE, Cut, CutPlace, ShareAnswer, ShareDecision, ShareQuestion};
use figures::number::brief;

/// Shares such as 1 − 0.95 are not exact in binary.
const SHARE_ERROR: f64 = 1e-9;

/// The verdict on an objective by figures of the source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatedAnswer {
    pub(crate) verdict: Verdict,
    /// The figures and their limits, as a sentence.
    pub(crate) sentence: String,
    /// The share that decides it; none of a maximum, nor where the figures contradict each other.
    pub(crate) share: Option<ClaimShare>,
}

/// What `source` states of `objective`; none for measures that its figures are not about.
pub(super) fn observe(source: &Source, workload: &Workload, objective: &Objective) -> Option<Measurement> {
    let is_about_shares = matches!(
        objective.measure,
        Measure::ErrorRate
            | Measure::CheckRate { check: None }
            | Measure::ResponseTime(Statistic::Quantile(_) | Statistic::Max)
    );
    if !is_about_shares || source.summaries.is_empty() {
        return None;
    }
    let summary = match summary(source, workload, &objective.filter) {
        Ok(summary) => summary,
        Err(why) => return Some(Measurement::new(Value::Missing(why), objective.measure.unit(), 0)),
    };
    let unit = objective.measure.unit();
    let of = match objective.measure {
        Measure::CheckRate { .. } => UnknownSubject::Checks,
        _ => UnknownSubject::Requests,
    };
    let unread = source.unknown_records(of, &summary.scenario, &summary.endpoint);
    let query = match objective.measure {
        Measure::ErrorRate => failures(summary, objective),
        Measure::CheckRate { .. } => checks(summary, objective),
        Measure::ResponseTime(Statistic::Quantile(q)) => beyond(summary, objective, q),
        _ => return maximum(summary, objective, &source.tool, unread),
    };
    Some(match query.filter(|query| query.all > 0).map(|query| query.with(unread)) {
        Some(query) => Measurement {
            stated: Some(query.answer(&source.tool, Clusters::of(summary, query.all))),
            ..Measurement::new(query.value, unit, query.all)
        },
        None => {
            let why = format!(
                "{} states too little of these requests: how many there were and how many failed, for an objective on \
                 times with quantiles.",
                source.tool
            );
            Measurement::new(Value::Missing(why), unit, 0)
        }
    })
}

/// The maximum that is stated, of successes if it is; nothing is inferred from a sample.
fn maximum(
    summary: &RequestSummary,
    objective: &Objective,
    tool: &str,
    unread: UnknownCount,
) -> Option<Measurement> {
    let bound = TimeBound::from_objective(objective)?;
    let of_successes = summary.times.iter().filter(|times| times.failed == Some(0));
    let mut times = of_successes.chain(&summary.times).filter(|times| times.count > 0);
    let highest =
        |times: &TimesSummary| times.quantiles.iter().find(|stated| stated.q >= 1.0).map(|max| max.ms);
    let (times, ms) = times.find_map(|times| Some((times, highest(times)?)))?;
    let of_failures = times.failed != Some(0);
    let verdict = if !bound.is_beyond(ms * (1.0 + times.rounding)) && unread.is_zero() {
        Verdict::Pass
    } else if bound.is_beyond(ms * (1.0 - times.rounding)) && !of_failures && unread.doubtful == 0 {
        Verdict::Fail
    } else {
        Verdict::Inconclusive
    };
    let included = if of_failures { ", those that failed included" } else { "" };
    let (count, time) = (brief::counted(times.count, "request"), brief::ms(ms));
    let sentence = format!("By the figures of {tool}, the slowest of {count} took {time}{included}.");
    let stated = Some(StatedAnswer { verdict, sentence, share: None });
    Some(Measurement { stated, ..Measurement::new(Value::Finite(ms), objective.measure.unit(), times.count) })
}

/// The summary of the requests that an objective counts.
fn summary<'s>(
    source: &'s Source,
    workload: &Workload,
    filter: &Filter,
) -> Result<&'s RequestSummary, String> {
    let selected = |name: &Option<String>| name.clone().unwrap_or_default();
    let (scenario, endpoint) = (selected(&filter.scenario), selected(&filter.endpoint));
    if filter.phase.is_some() && workload.phases.len() > 1 {
        return Err(format!("{} states figures of the whole run only, not of its phases.", source.tool));
    }
    let found = source.summaries.iter().find(|s| (&s.scenario, &s.endpoint) == (&scenario, &endpoint));
    found.ok_or_else(|| {
        let name = |summary: &RequestSummary| match (&*summary.scenario, &*summary.endpoint) {
            ("", "") => "all requests".to_owned(),
            (scenario, "") => format!("scenario `{scenario}`"),
            ("", endpoint) => format!("`{endpoint}`"),
            (scenario, endpoint) => format!("`{endpoint}` of `{scenario}`"),
        };
        let names: Vec<String> = source.summaries.iter().take(20).map(name).collect();
        format!(
            "{} states no figures of these requests alone; it states those of {}.",
            source.tool,
            names.join(", ")
        )
    })
}

/// A share that an objective bounds, as far as it is known.
struct ShareQuery {
    /// What is counted, as in `12 of 100 requests failed`.
    what: String,
    least: u64,
    most: u64,
    all: u64,
    /// Those of all that were dropped, for a reason that the source does not say.
    dropped: u64,
    /// Those of all that figures of the source contradict.
    unread: u64,
    /// What the objective allows.
    allowed: f64,
    comparison: Comparison,
    value: Value,
}

fn failures(summary: &RequestSummary, objective: &Objective) -> Option<ShareQuery> {
    let (requests, failed) = (summary.requests?, summary.failed?);
    Some(ShareQuery {
        what: "requests failed".to_owned(),
        least: failed,
        most: failed + summary.dropped,
        all: requests + summary.dropped,
        dropped: summary.dropped,
        unread: 0,
        allowed: objective.bound,
        comparison: objective.comparison,
        value: Value::Finite(failed as f64 / requests.max(1) as f64),
    })
}

fn checks(summary: &RequestSummary, objective: &Objective) -> Option<ShareQuery> {
    let (passed, failed) = (summary.checks_passed?, summary.checks_failed?);
    let all = passed + failed;
    Some(ShareQuery {
        what: "checks passed".to_owned(),
        least: passed,
        most: passed,
        all,
        dropped: 0,
        unread: 0,
        allowed: objective.bound,
        comparison: objective.comparison,
        value: Value::Finite(passed as f64 / all.max(1) as f64),
    })
}

/// Requests that took longer than the bound. Failed ones count as infinitely slow, dropped ones may be.
fn beyond(summary: &RequestSummary, objective: &Objective, q: f64) -> Option<ShareQuery> {
    let bound = TimeBound::from_objective(objective)?;
    let requests = summary.requests?;
    let failed = summary.failed.unwrap_or(0);
    let slow_successes = summary.times.iter().map(|times| bound.least_beyond(times)).max().unwrap_or(0);
    let most = match summary.failed {
        None => requests,
        Some(failed) => {
            let others = requests - failed.min(requests);
            summary.times.iter().map(|times| bound.most_beyond(times)).min().unwrap_or(others).min(others)
                + failed
        }
    };
    let all = requests + summary.dropped;
    let stated = summary
        .times
        .iter()
        .flat_map(|times| &times.quantiles)
        .find(|stated| (stated.q - q).abs() < SHARE_ERROR);
    let value = match stated {
        _ if failed as f64 > (1.0 - q + SHARE_ERROR) * requests as f64 => Value::Infinite,
        Some(stated) => Value::Finite(stated.ms),
        None => Value::Missing("This quantile is not stated.".to_owned()),
    };
    Some(ShareQuery {
        what: format!("requests failed or took {} or longer", brief::ms(objective.bound)),
        least: (failed + slow_successes).min(requests),
        most: most + summary.dropped,
        all,
        dropped: summary.dropped,
        unread: 0,
        allowed: 1.0 - q,
        comparison: Comparison::AtMost,
        value,
    })
}

/// The bound of an objective on times.
struct TimeBound {
    ms: f64,
    /// Whether a time that equals the bound is beyond it.
    is_strict: bool,
}

impl TimeBound {
    /// None for a lower bound.
    fn from_objective(objective: &Objective) -> Option<TimeBound> {
        let is_strict = match objective.comparison {
            Comparison::Below => true,
            Comparison::AtMost => false,
            Comparison::Above | Comparison::AtLeast | Comparison::Equal | Comparison::NotEqual => {
                return None;
            }
        };
        Some(TimeBound { ms: objective.bound, is_strict })
    }

    fn is_beyond(&self, ms: f64) -> bool {
        if self.is_strict { ms >= self.ms } else { ms > self.ms }
    }

    /// At least so many successes took longer. Of `n` times, at least `⌊(1 − q)n⌋` are at or above their `q`-quantile,
    /// however it was interpolated; times of failures may be among them.
    fn least_beyond(&self, times: &TimesSummary) -> u64 {
        let lowest = |ms: f64| ms * (1.0 - times.rounding);
        let beyond = times.quantiles.iter().filter(|stated| self.is_beyond(lowest(stated.ms)));
        let count = beyond.map(|stated| times_above(times.count, stated.q)).max().unwrap_or(0);
        count.saturating_sub(times.failed.unwrap_or(0))
    }

    /// At most so many successes took longer: at least `⌊qn⌋` times are at or below the `q`-quantile.
    fn most_beyond(&self, times: &TimesSummary) -> u64 {
        let highest = |ms: f64| ms * (1.0 + times.rounding);
        let within = times.quantiles.iter().filter(|stated| !self.is_beyond(highest(stated.ms)));
        let below = |q: f64| ((times.count as f64 * q + SHARE_ERROR).floor() as u64).min(times.count);
        times.count - within.map(|stated| below(stated.q)).max().unwrap_or(0)
    }
}

fn times_above(count: u64, q: f64) -> u64 {
    let above = ((1.0 - q) * count as f64 + SHARE_ERROR).floor() as u64;
    // The highest of them is one.
    above.max(u64::from(count > 0))
}

impl ShareQuery {
    /// With requests or checks that may be on either side.
    fn with(self, unread: UnknownCount) -> ShareQuery {
        let UnknownCount { more, doubtful } = unread;
        ShareQuery {
            least: self.least.saturating_sub(doubtful),
            most: self.most.saturating_add(doubtful).min(self.all).max(self.most).saturating_add(more),
            all: self.all.saturating_add(more),
            unread: more.saturating_add(doubtful.min(self.all)),
            ..self
        }
    }

    fn answer(&self, tool: &str, clusters: Clusters) -> StatedAnswer {
        let is_upper = self.comparison.is_upper();
        let question = match is_upper {
            true => self.question(self.least, self.most, self.allowed),
            false => self.question(self.all - self.most, self.all - self.least, 1.0 - self.allowed),
        };
        let question = ShareQuestion { assumed_effect: clusters.assumed(), ..question };
        let decision = question.decide();
        let verdict = match decision.answer {
            _ if self.least > self.most || clusters == Clusters::Unknown => Verdict::Inconclusive,
            ShareAnswer::Pass => Verdict::Pass,
            ShareAnswer::Fail => Verdict::Fail,
            _ => Verdict::Inconclusive,
        };
        let ShareLimits { lower, upper } = decision.limits;
        let (lower, upper) = if is_upper { (lower, upper) } else { (1.0 - upper, 1.0 - lower) };
        let is_decided = matches!(verdict, Verdict::Pass | Verdict::Fail);
        let largest = is_decided.then(|| largest_effect(&question, &decision));
        let sentence = self.sentence(tool, [lower, upper], clusters, largest);
        let share = (self.least <= self.most).then(|| self.share(&question, &decision, &sentence));
        StatedAnswer { verdict, sentence, share }
    }

    /// What decides, as data: of requests on the wrong side of the bound.
    fn share(&self, question: &ShareQuestion, decision: &ShareDecision, sentence: &str) -> ClaimShare {
        let BeyondCounts { arrivals, least, most, .. } = question.counts;
        let widened = [(WideningCause::Dropped, self.dropped), (WideningCause::Unread, self.unread)];
        let widened = widened.into_iter().filter(|(_, arrivals)| *arrivals > 0);
        ClaimShare {
            sentence: sentence.to_owned(),
            observed: least as f64 / (arrivals - self.dropped).max(1) as f64,
            lower: decision.limits.lower,
            upper: decision.limits.upper,
            allowed: question.allowed.clamp(0.0, 1.0),
            confidence: question.confidence,
            arrivals,
            least,
            most,
            effective_sample: decision.effective_sample,
            design_effect: decision.design_effect,
            perturbed: 0,
            widened_by: widened.map(|(cause, arrivals)| Widening { cause, arrivals }).collect(),
            blind_spot: None,
        }
    }

    /// Nothing shows how these requests cluster.
    fn question(&self, least: u64, most: u64, allowed: f64) -> ShareQuestion {
        let observed = Proportion { part: 0, whole: 0 };
        ShareQuestion {
            counts: BeyondCounts { arrivals: self.all, least, most, observed, at_bound: 0 },
            at_bound: Cut { place: CutPlace::NearBound, seconds: Vec::new() },
            other_cuts: Vec::new(),
            allowed,
            confidence: CONFIDENCE,
            assumed_effect: 1.0,
        }
    }

    fn sentence(
        &self,
        tool: &str,
        [lower, upper]: [f64; 2],
        clusters: Clusters,
        largest: Option<u64>,
    ) -> String {
        let share = |part: u64| brief::percent(part as f64 / self.all.max(1) as f64);
        let counted = if self.least == self.most {
            format!(
                "{} of {} {} ({})",
                brief::count(self.least),
                brief::count(self.all),
                self.what,
                share(self.least)
            )
        } else {
            format!(
                "between {} and {} of {} {} ({} to {})",
                brief::count(self.least),
                brief::count(self.most),
                brief::count(self.all),
                self.what,
                share(self.least),
                share(self.most)
            )
        };
        let bound = match self.comparison {
            Comparison::Below => "less than",
            Comparison::AtMost => "at most",
            Comparison::Above => "more than",
            Comparison::AtLeast => "at least",
            Comparison::Equal => "exactly",
            Comparison::NotEqual => "anything but",
        };
        let together = match clusters {
            Clusters::Unknown => {
                "How they cluster is unknown, and so is how many there were in a second, so that nothing is decided. With ten \
                 counted as one"
                    .to_owned()
            }
            Clusters::OfASecond(requests) => format!(
                "How they cluster is unknown. With {} counted as one, as many as there were in a second and ten at least",
                brief::count(requests.round() as u64)
            ),
        };
        let up_to = largest
            .map(|most| format!(" The answer is the same with up to {} counted as one.", brief::count(most)));
        format!(
            "By the figures of {tool}, {counted}. {together}, that is {} to {} at 95 %; the objective is {bound} {}.{}",
            brief::percent(lower),
            brief::percent(upper),
            brief::percent(self.allowed),
            up_to.unwrap_or_default()
        )
    }
}

/// How many requests act as one, where figures alone are known: a slow second or an outage of a second hits all of its
/// requests.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Clusters {
    /// As many as there were in a second, at least [`stats::UNKNOWN_DESIGN_EFFECT`].
    OfASecond(f64),
    /// The source does not say how many there were in a second.
    Unknown,
}

impl Clusters {
    /// Of so many requests or checks that a summary counts.
    fn of(summary: &RequestSummary, counted: u64) -> Clusters {
        let rate = summary.per_s.zip(summary.requests).filter(|(per_s, all)| *per_s > 0.0 && *all > 0);
        match rate {
            Some((per_s, all)) => {
                let of_a_second = per_s * counted as f64 / all as f64;
                Clusters::OfASecond(of_a_second.max(stats::UNKNOWN_DESIGN_EFFECT))
            }
            None => Clusters::Unknown,
        }
    }

    fn assumed(self) -> f64 {
        match self {
            Clusters::OfASecond(requests) => requests,
            Clusters::Unknown => stats::UNKNOWN_DESIGN_EFFECT,
        }
    }
}

/// The most requests that may act as one without another answer.
fn largest_effect(question: &ShareQuestion, decision: &ShareDecision) -> u64 {
    let is_same = |effect: u64| {
        let question = ShareQuestion { assumed_effect: effect as f64, ..question.clone() };
        question.decide().answer == decision.answer
    };
    let (mut same, mut other) = (question.assumed_effect as u64, question.counts.arrivals.max(1));
    if is_same(other) {
        return other;
    }
    while other - same > 1 {
        let middle = u64::midpoint(same, other);
        if is_same(middle) {
            same = middle;
        } else {
            other = middle;
        }
    }
    same
}

#[cfg(test)]
mod tests;
