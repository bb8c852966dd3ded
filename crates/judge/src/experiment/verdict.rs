//! The verdict on an experiment as a whole.

use evidence::{ExperimentEnd, ExperimentFinding, MetricAnswer, MetricVerdict, Severity, Verdict};
use workload::{Measure, Quantity};

use super::Rulebook;

/// Below this difference of failed shares times are compared.
const ERRORS_DIFFER: f64 = 0.001;
/// The level at which error rates are taken to differ.
const LEVEL: f64 = 0.01;

/// Times are not compared where error rates differ: those of the requests that succeeded are of others (rule C1).
pub(super) fn refuse_times_beside_errors(
    rules: &Rulebook<'_>,
    metrics: &mut [MetricAnswer],
    findings: &mut Vec<ExperimentFinding>,
) {
    let differs = |metric: &MetricAnswer| {
        metric.verdict == MetricVerdict::Regressed
            || (metric.p.is_some_and(|p| p < LEVEL)
                && metric.effect.is_some_and(|effect| effect.abs() > ERRORS_DIFFER))
    };
    let errors = rules
        .metrics
        .iter()
        .zip(metrics.iter())
        .find(|(of, found)| is_error_rate(&of.quantity) && differs(found));
    let Some((_, errors)) = errors else { return };
    let [a, b] = errors.medians.map(|share| share.unwrap_or_default() * 100.0);
    let what = format!(
        "{a:.2} % of A's and {b:.2} % of B's requests failed. Times of the others are not comparable."
    );
    for (of, found) in rules.metrics.iter().zip(metrics.iter_mut()) {
        if of.quantity.is_time() {
            found.verdict = MetricVerdict::Invalid;
            found.decided_at = None;
            "Error rates differ (C1).".clone_into(&mut found.because);
        }
    }
    findings.push(ExperimentFinding {
        name: "C1 error-rates-differ".to_owned(),
        severity: Severity::Fail,
        pairs: Vec::new(),
        what,
        next: "Find out why requests fail; then compare times.".to_owned(),
    });
}

pub(super) fn is_error_rate(quantity: &Quantity) -> bool {
    matches!(quantity, Quantity::Measure { measure: Measure::ErrorRate, .. })
}

pub(super) fn whole(
    rules: &Rulebook<'_>,
    metrics: &[MetricAnswer],
    findings: &[ExperimentFinding],
    end: &ExperimentEnd,
) -> (Verdict, String) {
    if let Some(finding) = findings.iter().find(|finding| finding.severity == Severity::Invalid) {
        return (Verdict::Invalid, format!("{}: {}", finding.name, finding.what));
    }
    let named = |verdict: Verdict| -> Vec<&str> {
        let has = |metric: &&MetricAnswer| metric.verdict.verdict() == verdict;
        metrics.iter().filter(has).map(|metric| metric.name.as_str()).collect()
    };
    let all = metrics.len();
    let counted = |verdict: Verdict, what: &str| {
        let names = named(verdict);
        (!names.is_empty()).then(|| format!("{} of {all} metrics {what}: {}.", names.len(), names.join(", ")))
    };
    if let Some(because) = counted(Verdict::Fail, "regressed") {
        return (Verdict::Fail, because);
    }
    if let ExperimentEnd::Broken(why) = end {
        return (Verdict::Invalid, format!("The experiment could not go on: {why}"));
    }
    if let Some(because) = counted(Verdict::Invalid, "cannot be compared") {
        return (Verdict::Invalid, because);
    }
    if let Some(because) = counted(Verdict::Inconclusive, "not decided") {
        return (Verdict::Inconclusive, format!("{because} {}", ended(end)));
    }
    let not_shown: Vec<&MetricAnswer> =
        metrics.iter().filter(|metric| metric.verdict == MetricVerdict::NotShown).collect();
    if let Some(first) = not_shown.first() {
        return among_not_shown(rules, metrics, &not_shown, &first.because);
    }
    let improved = metrics.iter().filter(|metric| metric.verdict == MetricVerdict::Improved).count();
    let because = match improved {
        0 => format!("No regression in any of {all} metrics."),
        some => format!("No regression in any of {all} metrics; {some} improved."),
    };
    (Verdict::Pass, because)
}

/// Where some metrics are not shown the others decide; the error rate alone decides nothing, because it is always among them.
fn among_not_shown(
    rules: &Rulebook<'_>,
    metrics: &[MetricAnswer],
    not_shown: &[&MetricAnswer],
    why: &str,
) -> (Verdict, String) {
    let names: Vec<&str> = not_shown.iter().map(|metric| metric.name.as_str()).collect();
    let decided = rules
        .metrics
        .iter()
        .zip(metrics)
        .filter(|(of, found)| found.verdict != MetricVerdict::NotShown && !is_error_rate(&of.quantity));
    let (decided, names) = (decided.count(), names.join(", "));
    match decided {
        0 => (
            Verdict::Inconclusive,
            format!("No difference is shown, and nothing excludes one: {names}. {why}"),
        ),
        some => {
            let what =
                format!("No regression in {some} of {} metrics; not shown: {names}. {why}", metrics.len());
            (Verdict::Pass, what)
        }
    }
}

fn ended(end: &ExperimentEnd) -> &'static str {
    match end {
        ExperimentEnd::Decided | ExperimentEnd::Complete | ExperimentEnd::Broken(_) => "",
        ExperimentEnd::LastLook => "The last look is made: more pairs are another experiment.",
        ExperimentEnd::Futile => "More pairs were not likely to decide it.",
        ExperimentEnd::Budget => "The budget does not allow another pair.",
        ExperimentEnd::Interrupted => "It was interrupted, and can be resumed.",
        ExperimentEnd::Given => "These are all pairs that were given.",
    }
}
