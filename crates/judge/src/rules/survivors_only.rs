//! Q3: a number about successes alone, or one in which failures look like fast successes.

use evidence::{Finding, RuleId, Severity, Verdict, WideningCause};
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q3,
    title: "survivors-only",
    severity: Severity::Inconclusive,
    tests: "An objective on a mean, lowest or highest time covers successes only. It is inconclusive where \
            it would have another result if the failed and dropped arrivals had taken no time, or their \
            whole time limit; otherwise more than 0.1 % of them are a caution. Quantiles count them as \
            infinitely slow instead. A script's threshold on the times of requests counts failed requests as k6 does, \
            with the time until they failed, which is 0 where nothing was sent: it is invalid where it would have \
            another result if they were infinitely slow.",
    affects: "objectives on `avg`, `min` and `max` of times, and thresholds on the times of requests",
    why: "A number about successes contains nothing about failures, and the time until a request failed is not \
          a response time.",
    next: "State a quantile, which counts failures, and a bound on `error_rate` beside it.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

/// What to do about a threshold of a script.
const NEXT_OF_SCRIPT: &str = "Find out why requests fail, bound them with a threshold on `http_req_failed` (`rate<0.01`), and select the \
     times of the others: `http_req_duration{expected_response:true}`.";

/// A larger share of failed or dropped arrivals is a caution for it.
pub(crate) const SURVIVORS_CAUTION: f64 = 0.001;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.objectives.iter().filter_map(|measured| survivors(facts, measured)).collect()
}

/// Of a threshold that counts times of failed requests.
fn failures_as_times(measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let share = measured.observed.share.as_ref()?;
    let failed = share.widened_by.iter().find(|widening| widening.cause == WideningCause::FailedInMetric)?;
    let part = failed.arrivals as f64 / share.question.counts.arrivals.max(1) as f64;
    let severity = match measured.verdict() {
        Verdict::Invalid => Severity::Invalid,
        Verdict::Inconclusive => Severity::Inconclusive,
        _ if part > SURVIVORS_CAUTION => Severity::Caution,
        _ => return None,
    };
    let what = format!(
        "{} of {} values of `{}` are of requests that failed, which k6 counts with the time until they failed: 0 where nothing \
         was sent.",
        brief::count(failed.arrivals),
        brief::count(share.question.counts.arrivals),
        measured.objective.source,
    );
    let figures = [("of failed requests", part * 100.0, "%"), ("threshold", SURVIVORS_CAUTION * 100.0, "%")];
    let finding = with_figures(RULE.finding(severity, measured.scope(), what), &figures);
    Some(Finding { next: NEXT_OF_SCRIPT.to_owned(), ..finding })
}

fn survivors(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let (Measure::ResponseTime(statistic)
    | Measure::ServiceTime(statistic)
    | Measure::IterationTime(statistic)) = measured.objective.measure
    else {
        return failures_as_times(measured);
    };
    if matches!(statistic, Statistic::Quantile(_)) {
        return None;
    }
    let groups = measured.time_groups(&facts.figures);
    let infinitely_slow: u64 = groups.iter().map(|group| group.infinitely_slow).sum();
    let all: u64 = groups.iter().map(|group| group.count()).sum();
    let share = infinitely_slow as f64 / all.max(1) as f64;
    let is_open = measured.verdict() == Verdict::Inconclusive;
    let severity = if is_open { Severity::Inconclusive } else { Severity::Caution };
    if infinitely_slow == 0 || !is_open && share <= SURVIVORS_CAUTION {
        return None;
    }
    let what = format!(
        "`{}` describes the {} that succeeded; {} of {} failed or were dropped.",
        measured.objective.source,
        brief::percent(1.0 - share),
        brief::count(infinitely_slow),
        brief::count(all)
    );
    let figures = [("failed or dropped", share * 100.0, "%"), ("threshold", SURVIVORS_CAUTION * 100.0, "%")];
    Some(with_figures(RULE.finding(severity, measured.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_mean_of_successes_with_failures_fires() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load { failed: 1, ..Load::ok(499) })
            .offer("steady", "list", Load { failed: 37, ..Load::ok(63) })
            .with_objective("mean", "avg(list, phase = steady) < 50ms")
            .with_objective("worst", "max(list, phase = warm-up) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        inconclusive [mean] `avg(list, phase = steady) < 50ms` describes the 63 % that succeeded; 2,220 of 6,000 failed or were dropped.
          failed or dropped Some(37.0) %, threshold Some(0.1) %
        inconclusive [worst] `max(list, phase = warm-up) < 50ms` describes the 99.8 % that succeeded; 10 of 5,000 failed or were dropped.
          failed or dropped Some(0.2) %, threshold Some(0.1) %
        ");
    }

    #[test]
    fn a_quantile_and_a_mean_without_failures_give_no_finding() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load::ok(100))
            .offer("steady", "list", Load { failed: 37, ..Load::ok(63) })
            .with_objective("tail", "p95(list, phase = steady) < 50ms")
            .with_objective("mean", "avg(list, phase = warm-up) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
