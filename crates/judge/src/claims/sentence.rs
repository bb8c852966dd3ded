//! The share that decides a claim, as data and as one line.

use evidence::{ClaimShare, Verdict, WideningCause};
use stats::Proportion;
use workload::{Comparison, Measure, MetricMeasure, MetricStatistic};

use crate::facts::MeasuredObjective;
use crate::measure::{RateMeasurement, ShareMeasurement, WrongSide};
use crate::rule::RAISE_VU_LIMIT;
use crate::shares::ShareAnswer;
use figures::number::brief;

/// More perturbed arrivals than this share need an assumption that is worth saying.
const MANY_PERTURBED: f64 = 0.05;

pub(super) fn claim_share(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> ClaimShare {
    let (question, decision) = (&share.question, share.decision);
    ClaimShare {
        sentence: of_share(measured, share),
        observed: decision.share,
        lower: decision.limits.lower,
        upper: decision.limits.upper,
        allowed: question.allowed.clamp(0.0, 1.0),
        confidence: question.confidence,
        arrivals: question.counts.arrivals,
        least: question.counts.least,
        most: question.counts.most,
        effective_sample: decision.effective_sample,
        design_effect: decision.design_effect,
        perturbed: share.perturbed,
        widened_by: share.widened_by.clone(),
        blind_spot: None,
    }
}

/// As one line, plainly first: `2 of 600 failed or took 50 ms or longer; the true share is at most 0.9 %, and 5 % is allowed (95 %
/// confidence, effective sample size 600)`.
pub(super) fn of_share(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let confidence = brief::percent(share.question.confidence);
    let sample = brief::sample_size(share.decision.effective_sample);
    let mut remarks = vec![format!("{confidence} confidence, effective sample size {sample}")];
    remarks.extend(without_any(share));
    remarks.extend(perturbed(share));
    remarks.extend(share.widened_by.iter().filter_map(|widening| {
        let cause = widening.cause;
        let is_listed = !matches!(cause, WideningCause::Perturbed | WideningCause::AtBound);
        is_listed
            .then(|| format!("{} {} {}", brief::count(widening.arrivals), cause.words(), counted_as(share)))
    }));
    let (observed, wrong_side) = (observed(share), wrong_side(measured, share));
    let remarks = remarks.join("; ");
    let allowed = allowed(share.question.allowed);
    if share.decision.answer == ShareAnswer::Pass && is_none(share.question.allowed) {
        // A sample cannot show that there is none.
        let upper = brief::percent(share.decision.limits.upper);
        return format!(
            "{observed} {wrong_side}, and {allowed}; a true share of up to {upper} is not ruled out ({remarks})"
        );
    }
    format!("{observed} {wrong_side}; {}, and {allowed} ({remarks})", limits(share))
}

/// Why the upper limit is higher than its own sample makes it.
fn without_any(share: &ShareMeasurement) -> Option<String> {
    let sample = share.decision.sample_without_any.filter(|_| share.decision.answer != ShareAnswer::Fail)?;
    let effect = share.question.counts.arrivals as f64 / sample;
    Some(format!(
        "the upper limit is that of 0 in {}: so few do not show how requests cluster, and {} count as one",
        brief::sample_size(sample),
        brief::sample_size(effect)
    ))
}

/// How many were on the wrong side: `16 of 6,000 (0.267 %)`.
fn observed(share: &ShareMeasurement) -> String {
    let Proportion { part, whole } = share.question.counts.observed;
    let of_all = format!("{} of {}", brief::count(part), brief::count(whole));
    if part == 0 || part == whole {
        of_all
    } else {
        format!("{of_all} ({})", brief::percent(share.decision.share))
    }
}

/// Completions a second as one line: `at most 197/s at 95 % confidence; 230/s or more are asked for`.
pub(super) fn of_rate(measured: &MeasuredObjective<'_>, rate: &RateMeasurement) -> String {
    let confidence = brief::percent(rate.confidence);
    let most = |upper: f64| brief::rate(upper + rate.may_be_more);
    let known = match (rate.limits, measured.verdict()) {
        (None, _) => "no phase has three whole seconds, which would show how much it varies".to_owned(),
        (Some(limits), Verdict::Pass | Verdict::Fail) if is_lower(measured) => {
            format!("at least {} at {confidence} confidence", brief::rate(limits.lower))
        }
        (Some(limits), Verdict::Pass | Verdict::Fail) => {
            format!("at most {} at {confidence} confidence", most(limits.upper))
        }
        (Some(limits), _) => format!(
            "at least {} and at most {}, each at {confidence} confidence",
            brief::rate(limits.lower),
            most(limits.upper)
        ),
    };
    let bound = brief::rate(measured.objective.bound);
    let asked = match measured.objective.comparison {
        Comparison::Below => format!("less than {bound}"),
        Comparison::AtMost => format!("at most {bound}"),
        Comparison::Above => format!("more than {bound}"),
        Comparison::AtLeast => format!("at least {bound}"),
        Comparison::Equal => bound,
        Comparison::NotEqual => format!("not {bound}"),
    };
    let mut remarks = vec![known, format!("{asked} is asked for")];
    if rate.may_be_more > 0.0 {
        let may_be = brief::rate(rate.may_be_more);
        remarks.push(format!("{may_be} more may have ended under a generator that never was late"));
    }
    if rate.is_proportional {
        remarks.push(
            "the run file does not say in which phase requests ended: a second in which a phase begins or ends counts \
             in proportion"
                .to_owned(),
        );
    }
    remarks.join("; ")
}

/// Whether the lower limit decides it.
fn is_lower(measured: &MeasuredObjective<'_>) -> bool {
    measured.has_upper_bound() == (measured.verdict() == Verdict::Fail)
}

/// What arrivals on the wrong side of the bound did.
fn wrong_side(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let objective = measured.objective;
    let limit = match (&objective.measure, objective.comparison) {
        (Measure::Metric(measure), _) => return metric_side(measured, measure, share.wrong_side),
        (_, Comparison::Below | Comparison::AtLeast) => TimeLimit { ms: objective.bound, is_allowed: false },
        _ => TimeLimit { ms: objective.bound, is_allowed: true },
    };
    let dropped = || format!("{} dropped at the VU limit", brief::count(share.dropped));
    match share.wrong_side {
        WrongSide::Beyond if share.dropped > 0 => {
            format!("failed, took {} or were not sent ({})", limit.beyond(), dropped())
        }
        WrongSide::Failed if share.dropped > 0 => format!("failed or were not sent ({})", dropped()),
        WrongSide::Beyond => format!("failed or took {}", limit.beyond()),
        WrongSide::Within => format!("succeeded in {}", limit.within()),
        side @ (WrongSide::Failed | WrongSide::Succeeded) => failed(side).to_owned(),
    }
}

/// A bound on times.
struct TimeLimit {
    ms: f64,
    /// Whether a time that is exactly as long keeps it.
    is_allowed: bool,
}

impl TimeLimit {
    fn beyond(&self) -> String {
        let ms = brief::ms(self.ms);
        if self.is_allowed { format!("longer than {ms}") } else { format!("{ms} or longer") }
    }

    fn within(&self) -> String {
        let ms = brief::ms(self.ms);
        if self.is_allowed { format!("at most {ms}") } else { format!("less than {ms}") }
    }
}

/// What values of a script's metric on the wrong side of the bound are.
fn metric_side(measured: &MeasuredObjective<'_>, measure: &MetricMeasure, side: WrongSide) -> String {
    let is_nonzero = matches!(side, WrongSide::Beyond | WrongSide::Failed);
    if measure.statistic == MetricStatistic::NonzeroShare {
        let (nonzero, zero) = match measure.name.as_str() {
            "http_req_failed" => ("failed", "succeeded"),
            "checks" => ("passed", "failed"),
            _ => ("were true", "were false"),
        };
        return if is_nonzero { nonzero } else { zero }.to_owned();
    }
    let bound = brief::quantity(measured.objective.bound, measure.unit());
    let is_at_least = matches!(measured.objective.comparison, Comparison::Below | Comparison::AtLeast);
    match (measure.is_of_times(), is_at_least, is_nonzero) {
        (true, true, true) => format!("took {bound} or longer"),
        (true, false, true) => format!("took longer than {bound}"),
        (false, true, true) => format!("were {bound} or more"),
        (false, false, true) => format!("were more than {bound}"),
        (true, true, false) => format!("took less than {bound}"),
        (true, false, false) => format!("took at most {bound}"),
        (false, true, false) => format!("were less than {bound}"),
        (false, false, false) => format!("were at most {bound}"),
    }
}

fn failed(side: WrongSide) -> &'static str {
    match side {
        WrongSide::Beyond | WrongSide::Failed => "failed",
        WrongSide::Within | WrongSide::Succeeded => "succeeded",
    }
}

/// The limit that decides, or both.
fn limits(share: &ShareMeasurement) -> String {
    let limits = share.decision.limits;
    let [lower, upper] = [limits.lower, limits.upper].map(brief::percent);
    match share.decision.answer {
        ShareAnswer::Pass => format!("the true share is at most {upper}"),
        ShareAnswer::Fail => format!("the true share is at least {lower}"),
        _ => format!("the true share is {lower} to {upper}"),
    }
}

fn is_none(allowed: f64) -> bool {
    (0.0..1e-9).contains(&allowed)
}

fn allowed(share: f64) -> String {
    match share {
        share if share < 0.0 => "fewer were due than the objective asks for".to_owned(),
        share if is_none(share) => "none is allowed".to_owned(),
        share => format!("{} is allowed", brief::percent(share)),
    }
}

/// How perturbed arrivals are counted, where that may matter or is not known; that they count as they were observed goes
/// without saying.
fn perturbed(share: &ShareMeasurement) -> Option<String> {
    let all = brief::count(share.perturbed);
    let open = share.widened_by.iter().find(|widening| widening.cause == WideningCause::Perturbed);
    match (share.decision.answer, open) {
        _ if share.perturbed == 0 => None,
        (ShareAnswer::Pass, _) | (_, None) if share.is_perturbed_counted => None,
        (ShareAnswer::Pass, _) | (_, None) => Some(format!(
            "up to {all} requests that a stall of the generator affected count as they were observed"
        )),
        (_, Some(open)) => {
            let of = if share.is_perturbed_counted { "of" } else { "of up to" };
            let open = brief::count(open.arrivals);
            Some(format!(
                "{open} {of} {all} requests that a stall of the generator affected {}",
                counted_as(share)
            ))
        }
    }
}

/// Why a share is not valid that its observed times would decide, and what to do about it; none of any other. Where workers vanished,
/// `unsent` is how many arrivals have no result because of it: no processor would have changed that.
pub(super) fn of_generator(share: &ShareMeasurement, unsent: Option<String>) -> Option<String> {
    let answer = share.decision.answer;
    let is_open = !matches!(answer, ShareAnswer::Pass | ShareAnswer::Fail);
    let lacks_arrivals = share.widened_by.iter().any(|widening| widening.cause == WideningCause::DroppedLate);
    if let Some(unsent) = unsent.filter(|_| is_open && lacks_arrivals) {
        return Some(format!("{unsent}. What they would have shown is not known."));
    }
    if answer != ShareAnswer::UndecidedByGenerator {
        return None;
    }
    let observed = if share.decision.share > share.question.allowed { "violated" } else { "met" };
    let causes: Vec<String> = share
        .widened_by
        .iter()
        .map(|widening| format!("{} {}", brief::count(widening.arrivals), widening.cause.words()))
        .collect();
    let others = if causes.is_empty() { "the rest".to_owned() } else { causes.join(", ") };
    Some(format!(
        "No valid result: as observed it is {observed}, but requests that the generator may have slowed down, made fail or \
         never sent could reverse that ({others}). {}",
        next_of_generator(share)?
    ))
}

/// What to do about a share that its observed times would decide and the generator leaves open; none of any other.
pub(crate) fn next_of_generator(share: &ShareMeasurement) -> Option<String> {
    if share.decision.answer != ShareAnswer::UndecidedByGenerator {
        return None;
    }
    let largest = share.widened_by.iter().max_by_key(|widening| widening.arrivals);
    let next = match largest.map(|widening| widening.cause) {
        Some(WideningCause::DroppedCap) => RAISE_VU_LIMIT,
        Some(WideningCause::Cut) => "Let the run come to its end",
        Some(WideningCause::FailedInMetric) => "Find out why requests fail",
        _ => "Give the generator a free core, or a machine without other load",
    };
    Some(format!("{next}, and run again."))
}

/// Whether more than a few arrivals were perturbed, so that a pass assumes [`ASSUMPTION`].
pub(super) fn assumes(share: &ShareMeasurement) -> bool {
    share.perturbed as f64 > MANY_PERTURBED * share.question.counts.arrivals as f64
}

/// What a pass beside perturbed arrivals assumes.
pub(super) const ASSUMPTION: &str = "assumes that no request was answered faster because a stall of the generator sent several \
     together; with a target that batches, rate-limits or sheds requests it may have been.";

/// How the decision counts arrivals of which the side is not known.
fn counted_as(share: &ShareMeasurement) -> &'static str {
    match share.decision.answer {
        ShareAnswer::Pass => "count as missed",
        ShareAnswer::Fail => "count as met: even so it is violated",
        _ => "count as unknown",
    }
}
