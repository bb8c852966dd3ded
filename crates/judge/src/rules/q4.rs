//! Q4: numbers that cannot be, and means that two kinds of answers make.

use evidence::{Finding, Histogram, Severity};

use crate::facts::{Cell, Facts};
use crate::rule::{named, with_figures};
use crate::thresholds::BIMODAL_SAMPLES;
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.tables.cells.iter().filter_map(|cell| look_at(cell, Shown::of(&cell.ok)?)).collect()
}

/// The numbers a table shows of one distribution, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Shown {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl Shown {
    fn of(times: &Histogram) -> Option<Shown> {
        let at = |q| times.quantile(q).finite_us().map(|us| us / 1e3);
        let max = times.max_us()? as f64 / 1e3;
        Some(Shown { mean: times.mean_us()? / 1e3, p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max })
    }
}

fn look_at(cell: &Cell, shown: Shown) -> Option<Finding> {
    let Shown { mean, p50, p95, p99, max } = shown;
    if p50 > p95 || p95 > p99 || p99 > max {
        let what = format!(
            "{}: p50 {}, p95 {}, p99 {}, max {} cannot all be.",
            cell.place.words(),
            words::ms(p50),
            words::ms(p95),
            words::ms(p99),
            words::ms(max)
        );
        return Some(named("Q4").finding(Severity::Invalid, cell.place.scope(), what));
    }
    if mean <= p95 || cell.ok.count() < BIMODAL_SAMPLES {
        return None;
    }
    // The faster 95 % average p95 at most, so the rest must make up for the mean.
    let rest = (mean - 0.95 * p95) / 0.05;
    let what = format!(
        "{}: mean {} above p95 {}: the slowest 5 % average at least {}.",
        cell.place.words(),
        words::ms(mean),
        words::ms(p95),
        words::ms(rest)
    );
    let figures = [("mean", mean, "ms"), ("p95", p95, "ms"), ("threshold", p95, "ms")];
    Some(with_figures(named("Q4").finding(Severity::Caution, cell.place.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Load};

    #[test]
    fn a_few_very_slow_answers_lift_the_mean_above_p95() {
        let mut bench = Bench::new().offer("steady", "list", Load { us: 34_900, ..Load::of(100) });
        bench.offer_once(30, "list", Load { us: 900_000, ..Load::of(240) });
        insta::assert_snapshot!(bench.findings(rule), @r#"
        caution [steady/play/list] `list` in `steady`: mean 68.5 ms above p95 36.7 ms: the slowest 5 % average at least 673 ms.
          mean Some(68.5051) ms, p95 Some(36.66728) ms, threshold Some(36.66728) ms
        "#);
    }

    #[test]
    fn quantiles_out_of_order_are_impossible() {
        let shown = Shown { mean: 5.0, p50: 4.0, p95: 8.0, p99: 9.0, max: 7.0 };
        let finding = look_at(&Cell::default(), shown).unwrap();
        insta::assert_snapshot!(format!("{}: {}", finding.severity, finding.what), @r#"invalid: iterations of `` in ``: p50 4 ms, p95 8 ms, p99 9 ms, max 7 ms cannot all be."#);
    }

    #[test]
    fn an_ordinary_tail_is_fine() {
        insta::assert_snapshot!(Bench::new().offer("steady", "list", Load::of(100)).findings(rule), @r#"nothing"#);
    }
}
