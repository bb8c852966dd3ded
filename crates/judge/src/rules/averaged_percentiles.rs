//! Q5: an average of percentiles, which is not a percentile.

use std::collections::BTreeMap;

use evidence::{Finding, Missing, RuleId, Scope, Severity, Source};
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{AffectedClaims, Check, Rule};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q5,
    title: "averaged-percentiles",
    severity: Severity::Invalid,
    tests: "Percentiles would have to be averaged. An objective is on the mean or a quantile of a series that is itself a quantile \
            of each interval (`…_p50`, `…_p95`, `…_p99`). Or several imported files each have a percentile of the same metric, \
            and no times from which one could be computed for all.",
    affects: "that objective; objectives on times of the imported run",
    why: "An average of p95s is not a p95: it depends on the intervals, and busy intervals count as much as idle \
          ones.",
    next: "Use `max`, which is exact, or a quantile of times; import files that contain times or histograms.",
    affected: AffectedClaims::Times,
    check: Check::Run(check),
};

/// Suffixes of the series that observers compute from a target's own histograms: quantiles of each interval.
const QUANTILE_SUFFIXES: [&str; 3] = ["_p50", "_p95", "_p99"];

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts.objectives.iter().filter_map(averaged).collect();
    findings.extend(facts.source.and_then(of_several_files));
    findings
}

/// An objective on the mean, or on a quantile, of quantiles of intervals. Their maximum is exact.
fn averaged(measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let Measure::Series { statistic, name, .. } = &measured.objective.measure else { return None };
    let of = match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Quantile(q) => brief::quantile(*q),
        Statistic::Max | Statistic::Min => return None,
    };
    let is_quantile = QUANTILE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    (is_quantile && measured.observed.samples > 1).then(|| {
        let what = format!(
            "`{name}` is a quantile of each interval; the {of} of {} of them is not a quantile of the whole.",
            brief::count(measured.observed.samples)
        );
        RULE.finding(Severity::Invalid, measured.scope(), what)
    })
}

/// A percentile that each of several files states, and no times to compute it from.
fn of_several_files(source: &Source) -> Option<Finding> {
    if !source.lacks(Missing::Distributions) {
        return None;
    }
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for figure in source.figures.iter().filter(|figure| is_percentile(&figure.name)) {
        *counts.entry((&figure.of, &figure.name)).or_default() += 1;
    }
    let ((of, name), count) = counts.into_iter().find(|(_, count)| *count > 1)?;
    let what = format!(
        "{count} files each state a {name} of `{of}`, and none contains its times: there is no {name} of all of them."
    );
    Some(RULE.finding(Severity::Invalid, Scope::default(), what))
}

fn is_percentile(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|rest| rest.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use evidence::{Missing, SeriesKey, Source, SourceFigure};

    use crate::testing::{Load, TestRun};

    fn findings_for(objective: &str) -> String {
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("inside", objective);
        test_run.observe(&SeriesKey::new("handling_seconds_p95", "web", "s"), 10..70, 0.02);
        test_run.observe(&SeriesKey::new("cpu", "web", "cores"), 10..70, 0.5);
        test_run.findings(super::check)
    }

    #[test]
    fn a_mean_of_quantiles_is_invalid() {
        insta::assert_snapshot!(findings_for("mean(handling_seconds_p95, target = web) < 0.05"), @"invalid [inside] `handling_seconds_p95` is a quantile of each interval; the mean of 60 of them is not a quantile of the whole.");
        assert_eq!(findings_for("max(handling_seconds_p95, target = web) < 0.05"), "nothing");
        assert_eq!(findings_for("mean(cpu) < 1"), "nothing");
    }

    #[test]
    fn percentiles_of_several_files_are_invalid() {
        let imported = |files: usize, missing: &[Missing]| {
            let figure = SourceFigure {
                of: "http_req_duration".to_owned(),
                name: "p95".to_owned(),
                value: 20.0,
                unit: "ms".to_owned(),
            };
            let mut test_run = TestRun::unobserved();
            test_run.import(Source {
                tool: "k6".to_owned(),
                figures: vec![figure; files],
                missing: missing.iter().copied().collect(),
                ..Source::default()
            });
            test_run.findings(super::check)
        };
        insta::assert_snapshot!(imported(2, &[Missing::Distributions]), @"invalid [] 2 files each state a p95 of `http_req_duration`, and none contains its times: there is no p95 of all of them.");
        assert_eq!(imported(1, &[Missing::Distributions]), "nothing");
        assert_eq!(imported(2, &[]), "nothing", "the times themselves are in the files");
    }
}
