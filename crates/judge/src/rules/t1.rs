//! T1: what was measured begins before the target had settled.
//!
//! An objective speaks of its phase as a whole, warm-up and all. So a warm-up is a doubt to know of, as long as the
//! answer is the same without it; where cutting it would turn the answer round, the warm-up decided, and the answer
//! says nothing of the target at work: that objective, and no other, is void. Differences between runs are stricter:
//! `compare::rules::t1`.

use evidence::{Finding, Histogram, Severity};
use workload::{Measure, Statistic};

use crate::facts::{Asked, Course, Facts, Settled};
use crate::measure::Value;
use crate::rule::{named, with_figures};
use crate::thresholds::{MSER_APART, WARM_UP_MOVES};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        facts.courses.iter().filter_map(|course| warm_up(facts, course)).collect();
    findings.extend(facts.asked.iter().filter_map(|asked| decided(facts, asked)));
    findings
}

fn warm_up(facts: &Facts<'_>, course: &Course) -> Option<Finding> {
    let settled = course.state.as_ref().ok().filter(|settled| settled.start_s > 0)?;
    let cell = facts.tables.cells.iter().find(|cell| cell.place == course.place)?;
    let missed = cell.failed.count() + cell.dropped();
    let [before, after] = [
        cell.ok.quantile_with(0.95, missed).finite_us().map(|us| us / 1_000.0),
        settled.after.quantile_ms(0.95),
    ];
    let shown = |p95: Option<f64>| p95.map_or("infinite".to_owned(), words::ms);
    let what = format!(
        "{} settles after {} s of {} s ({} last). With its warm-up p95 is {}, without {}.{}",
        course.place.words(),
        settled.start_s,
        course.seconds.len(),
        settled.last,
        shown(before),
        shown(after),
        other_view(course, settled)
    );
    let figures = [
        ("steady from", f64::from(settled.start_s), "s"),
        ("p95", before.unwrap_or(f64::INFINITY), "ms"),
        ("p95, steady", after.unwrap_or(f64::INFINITY), "ms"),
    ];
    Some(with_figures(named("T1").finding(Severity::Caution, course.place.scope(), what), &figures))
}

/// What MSER-5 says, where that is something else.
fn other_view(course: &Course, settled: &Settled) -> String {
    let apart = settled.mser_s.map(|cut| cut.abs_diff(settled.start_s));
    match settled.mser_s.filter(|_| apart.map(f64::from) > Some(MSER_APART * course.seconds.len() as f64)) {
        Some(cut) => format!(" MSER-5 would cut at {cut} s: look at the plot before you believe either."),
        None => String::new(),
    }
}

/// Whether the warm-up turned the answer of an objective on a quantile round.
fn decided(facts: &Facts<'_>, asked: &Asked<'_>) -> Option<Finding> {
    let Measure::ResponseTime(Statistic::Quantile(q)) = asked.objective.measure else { return None };
    let (mut times, mut missed, mut is_cut) = (Histogram::new(), 0, false);
    for cell in asked.cells(&facts.tables) {
        let course = facts.courses.iter().find(|course| course.place == cell.place);
        match course.and_then(|course| course.state.as_ref().ok()).filter(|s| s.start_s > 0) {
            Some(settled) => {
                is_cut = true;
                times.merge(&settled.after.ok);
                missed += settled.after.missed;
            }
            None => {
                times.merge(&cell.ok);
                missed += cell.failed.count() + cell.dropped();
            }
        }
    }
    let steady = times.quantile_with(q, missed).finite_us().map_or(f64::INFINITY, |us| us / 1_000.0);
    let whole = match asked.observed.value {
        Value::Finite(ms) => ms,
        Value::Infinite => f64::INFINITY,
        Value::Missing(_) => return None,
    };
    let holds = |ms: f64| ms.is_finite() && asked.objective.comparison.holds(ms, asked.objective.bound);
    let moves = whole.is_infinite() || (whole / steady).ln().abs() > WARM_UP_MOVES.ln_1p();
    if !is_cut || !moves || holds(whole) == holds(steady) {
        return None;
    }
    let what = format!(
        "The warm-up decides: {} is {} with it and {} without.",
        words::quantile(q),
        words::ms(whole),
        words::ms(steady)
    );
    let figures =
        [("with warm-up", whole, "ms"), ("without", steady, "ms"), ("threshold", WARM_UP_MOVES * 100.0, "%")];
    Some(with_figures(named("T1").finding(Severity::Invalid, asked.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load, minutes};

    /// Five minutes, the first 40 s of which are slow.
    fn warming(slow_us: u64) -> Bench {
        minutes(|second| Load { us: if second < 40 { slow_us } else { 10_000 }, ..Load::of(50) })
    }

    #[test]
    fn a_warm_up_is_a_doubt() {
        insta::assert_snapshot!(warming(30_000).findings(super::rule), @r"
        caution [steady/play/list] `list` in `steady` settles after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
          steady from Some(40.0) s, p95 Some(30.010416666666668) ms, p95, steady Some(10.4995) ms
        ");
    }

    #[test]
    fn a_warm_up_that_decides_voids_the_objective_alone() {
        let bench = warming(30_000).asks("quick", "p95(list) < 20ms").asks("slow", "p95(list) < 50ms");
        insta::assert_snapshot!(bench.verdict(), @r"
        INVALID: 1 of 2 objectives is not answered by this evidence: quick.
        INVALID quick
          30 ms over 15,000 observations misses < 20 ms.
          L3 generator-saturated (caution): The generator's CPU was not measured: whether it was at its limit is unknown.
          S4 too-few-tail-samples (caution): p95 rests on 750 requests that came in clusters: they act like 1.
          T1 warm-up-included (caution): `list` in `steady` settles after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
          T1 warm-up-included (invalid): The warm-up decides: p95 is 30 ms with it and 10.5 ms without.
        PASS slow
          30 ms over 15,000 observations keeps < 50 ms.
          L3 generator-saturated (caution): The generator's CPU was not measured: whether it was at its limit is unknown.
          S4 too-few-tail-samples (caution): p95 rests on 750 requests that came in clusters: they act like 1.
          T1 warm-up-included (caution): `list` in `steady` settles after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
        ");
    }

    #[test]
    fn what_is_alike_from_the_beginning_has_no_warm_up() {
        assert_eq!(warming(10_100).findings(super::rule), "nothing");
    }
}
