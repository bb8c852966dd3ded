//! Q3: a number about those that got through.

use evidence::{Finding, Severity};
use workload::{Measure, Statistic};

use crate::facts::{Asked, Facts};
use crate::rule::{named, with_figures};
use crate::thresholds::{SURVIVORS_CAUTION, SURVIVORS_INVALID};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.asked.iter().filter_map(|asked| survivors(facts, asked)).collect()
}

fn survivors(facts: &Facts<'_>, asked: &Asked<'_>) -> Option<Finding> {
    let (Measure::ResponseTime(statistic)
    | Measure::ServiceTime(statistic)
    | Measure::IterationTime(statistic)) = asked.objective.measure
    else {
        return None;
    };
    if matches!(statistic, Statistic::Quantile(_)) {
        return None;
    }
    let groups = asked.groups(&facts.tables);
    let (missed, all) = groups.iter().fold((0, 0), |(m, n), g| (m + g.missed, n + g.count()));
    let share = missed as f64 / all.max(1) as f64;
    let (severity, threshold) = match share {
        s if s > SURVIVORS_INVALID => (Severity::Invalid, SURVIVORS_INVALID),
        s if s > SURVIVORS_CAUTION => (Severity::Caution, SURVIVORS_CAUTION),
        _ => return None,
    };
    let what = format!(
        "`{}` describes the {} that got through; {} of {} failed or were dropped.",
        asked.objective.source,
        words::percent(1.0 - share),
        words::whole(missed),
        words::whole(all)
    );
    let figures = [("failed or dropped", share * 100.0, "%"), ("threshold", threshold * 100.0, "%")];
    Some(with_figures(named("Q3").finding(severity, asked.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn a_mean_of_survivors_fires() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load { failed: 1, ..Load::of(499) })
            .offer("steady", "list", Load { failed: 37, ..Load::of(63) })
            .asks("mean", "avg(list, phase = steady) < 50ms")
            .asks("worst", "max(list, phase = warm-up) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [mean] `avg(list, phase = steady) < 50ms` describes the 63 % that got through; 2,220 of 6,000 failed or were dropped.
          failed or dropped Some(37.0) %, threshold Some(1.0) %
        caution [worst] `max(list, phase = warm-up) < 50ms` describes the 99.8 % that got through; 10 of 5,000 failed or were dropped.
          failed or dropped Some(0.2) %, threshold Some(0.1) %
        "#);
    }

    #[test]
    fn quantiles_count_failures_and_a_clean_mean_is_fine() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load::of(100))
            .offer("steady", "list", Load { failed: 37, ..Load::of(63) })
            .asks("tail", "p95(list, phase = steady) < 50ms")
            .asks("mean", "avg(list, phase = warm-up) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
