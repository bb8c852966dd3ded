//! Q5: an average of percentiles, which is no percentile.

use std::collections::BTreeMap;

use evidence::{Finding, Missing, Scope, Severity, Source};
use workload::{Measure, Statistic};

use crate::facts::{Asked, Facts};
use crate::rule::named;
use crate::words;

/// How the quantiles of an interval end that observers make of a target's own histograms.
const QUANTILES: [&str; 3] = ["_p50", "_p95", "_p99"];

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts.asked.iter().filter_map(averaged).collect();
    findings.extend(facts.source.and_then(several));
    findings
}

/// An objective on the mean, or on a quantile, of quantiles of intervals. The highest of them is what it says.
fn averaged(asked: &Asked<'_>) -> Option<Finding> {
    let Measure::Series { statistic, name, .. } = &asked.objective.measure else { return None };
    let of = match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Quantile(q) => words::quantile(*q),
        Statistic::Max | Statistic::Min => return None,
    };
    let is_quantile = QUANTILES.iter().any(|suffix| name.ends_with(suffix));
    (is_quantile && asked.observed.samples > 1).then(|| {
        let what = format!(
            "`{name}` is a quantile of each interval; the {of} of {} of them is no quantile of the whole.",
            words::whole(asked.observed.samples)
        );
        named("Q5").finding(Severity::Invalid, asked.scope(), what)
    })
}

/// Percentiles that several files worked out each for itself, and no values to form them anew.
fn several(source: &Source) -> Option<Finding> {
    if !source.lacks(Missing::Distributions) {
        return None;
    }
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for figure in source.figures.iter().filter(|figure| is_percentile(&figure.name)) {
        *counts.entry((&figure.of, &figure.name)).or_default() += 1;
    }
    let ((of, name), count) = counts.into_iter().find(|(_, count)| *count > 1)?;
    let what = format!(
        "{count} files have a {name} of `{of}` each, and no file its times: there is no {name} of them together."
    );
    Some(named("Q5").finding(Severity::Invalid, Scope::default(), what))
}

fn is_percentile(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|rest| rest.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use evidence::{Missing, SeriesKey, Source, SourceFigure};

    use crate::testing::{Bench, Load};

    fn asked(objective: &str) -> String {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100)).asks("inside", objective);
        bench.observe(&SeriesKey::new("handling_seconds_p95", "web", "s"), 10..70, 0.02);
        bench.observe(&SeriesKey::new("cpu", "web", "cores"), 10..70, 0.5);
        bench.findings(super::rule)
    }

    #[test]
    fn a_mean_of_quantiles_is_no_quantile() {
        insta::assert_snapshot!(asked("mean(handling_seconds_p95, target = web) < 0.05"), @"invalid [inside] `handling_seconds_p95` is a quantile of each interval; the mean of 60 of them is no quantile of the whole.");
        assert_eq!(asked("max(handling_seconds_p95, target = web) < 0.05"), "nothing");
        assert_eq!(asked("mean(cpu) < 1"), "nothing");
    }

    #[test]
    fn percentiles_of_several_files_make_none_of_all() {
        let imported = |files: usize, missing: &[Missing]| {
            let figure = SourceFigure {
                of: "http_req_duration".to_owned(),
                name: "p95".to_owned(),
                value: 20.0,
                unit: "ms".to_owned(),
            };
            let mut bench = Bench::unwatched();
            bench.import(Source {
                tool: "k6".to_owned(),
                figures: vec![figure; files],
                missing: missing.iter().copied().collect(),
                ..Source::default()
            });
            bench.findings(super::rule)
        };
        insta::assert_snapshot!(imported(2, &[Missing::Distributions]), @"invalid [] 2 files have a p95 of `http_req_duration` each, and no file its times: there is no p95 of them together.");
        assert_eq!(imported(1, &[Missing::Distributions]), "nothing");
        assert_eq!(imported(2, &[]), "nothing", "the times themselves are there");
    }
}
