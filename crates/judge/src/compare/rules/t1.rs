//! T1 of two runs: both are cut where the later of them settles.

use evidence::{Finding, Severity};

use crate::compare::known::{Known, Pair};
use crate::facts::{Cell, Course, Kept, after};
use crate::rule::{named, with_figures};
use crate::thresholds::WARM_UP_MOVES;
use crate::words;

/// What is looked at on both sides of the cut.
const QUANTILES: [f64; 2] = [0.5, 0.95];

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    pair.cells().filter_map(|cells| cut(pair, cells)).collect()
}

fn cut(pair: &Pair<'_, '_>, (base, new): (&Cell, &Cell)) -> Option<Finding> {
    let course = |known: &'_ Known<'_>| -> Option<(u32, u32)> {
        let is_its = |course: &&Course| course.place == base.place;
        let course = known.facts.courses.iter().find(is_its)?;
        Some((course.seconds.start, course.state.as_ref().ok()?.start_s))
    };
    let (starts, cuts): (Vec<u32>, Vec<u32>) =
        pair.both().into_iter().map(course).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let cut_s = cuts.iter().copied().max().filter(|cut| *cut > 0)?;
    let kept = |(known, start): (&Known<'_>, u32)| {
        after(known.run, known.workload, (&base.place, start + cut_s)).ok()
    };
    let kept = [kept((pair.base, starts[0]))?, kept((pair.new, starts[1]))?];
    let moves = [(base, &kept[0]), (new, &kept[1])].map(|(cell, kept)| moved(cell, kept));
    let is_moved = moves.iter().any(|moved| *moved > WARM_UP_MOVES.ln_1p());
    let shown = |kept: &Kept, q| kept.quantile_ms(q).map_or("infinite".to_owned(), words::ms);
    let [p50, p95] = QUANTILES.map(|q| format!("{} against {}", shown(&kept[0], q), shown(&kept[1], q)));
    let what = format!(
        "{}: both are cut at {cut_s} s, the later of {} s and {} s. From there on p50 is {p50}, p95 {p95}{}",
        base.place.words(),
        cuts[0],
        cuts[1],
        if is_moved { "; the tables hold the warm-up too." } else { "." }
    );
    let severity = if is_moved { Severity::Invalid } else { Severity::Info };
    let mut figures = vec![("cut", f64::from(cut_s), "s")];
    for (q, names) in QUANTILES.into_iter().zip([["p50, baseline", "p50"], ["p95, baseline", "p95"]]) {
        for (kept, name) in kept.iter().zip(names) {
            figures.push((name, kept.quantile_ms(q).unwrap_or(f64::INFINITY), "ms"));
        }
    }
    Some(with_figures(named("T1").finding(severity, base.place.scope(), what), &figures))
}

/// By how much the cut moves a quantile at most, as a difference of logarithms.
fn moved(cell: &Cell, kept: &Kept) -> f64 {
    let whole = |q| cell.ok.quantile_with(q, cell.failed.count() + cell.dropped()).finite_us();
    let by = |q: f64| match (whole(q), kept.quantile_ms(q)) {
        (Some(us), Some(ms)) => (us / 1_000.0 / ms).ln().abs(),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    };
    QUANTILES.into_iter().map(by).fold(0.0, f64::max)
}
