//! The share that decides a claim, as data and as one line.

use evidence::{ClaimShare, WideningCause};
use workload::{Comparison, Measure, MetricMeasure, MetricStatistic};

use crate::facts::MeasuredObjective;
use crate::measure::{ShareMeasurement, WrongSide};
use crate::numbers;
use crate::shares::ShareAnswer;

/// More perturbed arrivals than this share need an assumption that is worth saying.
const MANY_PERTURBED: f64 = 0.05;

/// As data.
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
    }
}

/// As one line: `0.3 % took 50 ms or longer, or failed (at most 0.9 % at 95 %, as 600 independent arrivals show; 5 % allowed)`.
pub(super) fn of_share(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let decision = share.decision;
    let mut remarks = vec![limits(share, measured.thing()), allowed(share.question.allowed)];
    remarks.extend(perturbed(share));
    remarks.extend(share.widened_by.iter().filter_map(|widening| {
        let cause = widening.cause;
        let is_listed = !matches!(cause, WideningCause::Perturbed | WideningCause::AtBound);
        is_listed
            .then(|| format!("{} {} {}", numbers::count(widening.arrivals), cause.words(), counted_as(share)))
    }));
    format!("{} {} ({})", numbers::percent(decision.share), wrong_side(measured, share), remarks.join("; "))
}

/// What arrivals on the wrong side of the bound did.
fn wrong_side(measured: &MeasuredObjective<'_>, share: &ShareMeasurement) -> String {
    let objective = measured.objective;
    let longer = match (&objective.measure, objective.comparison) {
        (Measure::Metric(measure), _) => return metric_side(measured, measure, share.wrong_side),
        (Measure::Goodput { within: None }, _) => return failed(share.wrong_side).to_owned(),
        (Measure::Goodput { within: Some(limit) }, _) => {
            format!("longer than {}", numbers::ms(limit.as_secs_f64() * 1e3))
        }
        (_, Comparison::Below | Comparison::AtLeast) => format!("{} or longer", numbers::ms(objective.bound)),
        _ => {
            format!("longer than {}", numbers::ms(objective.bound))
        }
    };
    match share.wrong_side {
        WrongSide::Beyond => format!("failed or took {longer}"),
        WrongSide::Within => format!("succeeded and took not {longer}"),
        side @ (WrongSide::Failed | WrongSide::Succeeded) => failed(side).to_owned(),
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
    let bound = numbers::quantity(measured.objective.bound, measure.unit());
    let is_at_least = matches!(measured.objective.comparison, Comparison::Below | Comparison::AtLeast);
    let not = if is_nonzero { "" } else { "not " };
    match (measure.is_of_times(), is_at_least) {
        (true, true) => format!("took {not}{bound} or longer"),
        (true, false) => format!("took {not}longer than {bound}"),
        (false, true) => format!("were {not}{bound} or more"),
        (false, false) => format!("were {not}more than {bound}"),
    }
}

fn failed(side: WrongSide) -> &'static str {
    match side {
        WrongSide::Beyond | WrongSide::Failed => "failed",
        WrongSide::Within | WrongSide::Succeeded => "succeeded",
    }
}

/// The limit that decides, or both.
fn limits(share: &ShareMeasurement, thing: &str) -> String {
    let (decision, question) = (share.decision, &share.question);
    let [lower, upper] = [decision.limits.lower, decision.limits.upper].map(numbers::percent);
    let limits = match decision.answer {
        ShareAnswer::Pass => format!("at most {upper}"),
        ShareAnswer::Fail => format!("at least {lower}"),
        ShareAnswer::UndecidedBySample | ShareAnswer::UndecidedByGenerator => format!("{lower} to {upper}"),
    };
    format!(
        "{limits} at {} by {}",
        numbers::percent(question.confidence),
        numbers::independent(decision.effective_sample, thing)
    )
}

fn allowed(share: f64) -> String {
    match share {
        share if share < 0.0 => "fewer were due than the objective asks for".to_owned(),
        share if share < 1e-9 => "none is allowed".to_owned(),
        share => format!("{} allowed", numbers::percent(share)),
    }
}

fn perturbed(share: &ShareMeasurement) -> Option<String> {
    let all = match share.is_perturbed_counted {
        true => numbers::count(share.perturbed),
        false => format!("{}, as far as this file shows,", numbers::count(share.perturbed)),
    };
    let open = share.widened_by.iter().find(|widening| widening.cause == WideningCause::Perturbed);
    match (share.decision.answer, open) {
        _ if share.perturbed == 0 => None,
        (ShareAnswer::Pass, _) | (_, None) => Some(format!("{all} perturbed arrivals counted as observed")),
        (_, Some(open)) => {
            let open = numbers::count(open.arrivals);
            Some(format!("{open} of {all} perturbed arrivals {}", counted_as(share)))
        }
    }
}

/// Whether more than a few arrivals were perturbed, so that a pass assumes [`ASSUMPTION`].
pub(super) fn assumes(share: &ShareMeasurement) -> bool {
    share.perturbed as f64 > MANY_PERTURBED * share.question.counts.arrivals as f64
}

/// What a pass beside perturbed arrivals assumes.
pub(super) const ASSUMPTION: &str = "takes for granted that the target answers requests no later if they come one by one \
     than if a stall of the generator sends them together; one that collects, limits or sheds requests may do otherwise.";

/// How the decision counts arrivals of which the side is not known.
fn counted_as(share: &ShareMeasurement) -> &'static str {
    match share.decision.answer {
        ShareAnswer::Pass => "counted against it",
        ShareAnswer::Fail => "counted in its favour",
        ShareAnswer::UndecidedBySample | ShareAnswer::UndecidedByGenerator => "may be on either side",
    }
}
