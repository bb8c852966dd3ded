//! T1 of two runs: both are cut where the later of them reaches steady state.

use evidence::{Finding, Severity};
use figures::{Row, RowKey};

use super::RULE;
use crate::facts::{WindowTimes, times_from};
use crate::pair::{EndpointPair, JudgedRun, Pair};
use crate::rule::with_figures;
use crate::rules::warm_up_included::WARM_UP_MOVES;
use figures::number::brief;

/// The quantiles that are compared with and without the warm-up.
const QUANTILES: [f64; 2] = [0.5, 0.95];

pub(super) fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    pair.endpoints().filter_map(|endpoint| cut(pair, &endpoint)).collect()
}

/// Where an endpoint reaches steady state.
struct SteadyFrom {
    /// The first second of the phase.
    phase_start: u32,
    /// Seconds of warm-up.
    warm_up_s: u32,
}

fn steady_from(run: &JudgedRun<'_>, key: &RowKey) -> Option<SteadyFrom> {
    let analysis = run.facts.steady_states.iter().find(|analysis| analysis.key == *key)?;
    let warm_up_s = analysis.state.as_ref().ok()?.start_s;
    Some(SteadyFrom { phase_start: analysis.seconds.start, warm_up_s })
}

fn cut(pair: &Pair<'_, '_>, endpoint: &EndpointPair<'_>) -> Option<Finding> {
    let EndpointPair { base, new } = endpoint;
    let before = steady_from(pair.base, &base.key)?;
    let after = steady_from(pair.new, &base.key)?;
    let cut_s = Some(before.warm_up_s.max(after.warm_up_s)).filter(|cut| *cut > 0)?;
    let times = |run: &JudgedRun<'_>, steady: &SteadyFrom| {
        times_from(run.run, run.workload, &base.key, steady.phase_start + cut_s).ok()
    };
    let steady = [times(pair.base, &before)?, times(pair.new, &after)?];
    let changes = [change(base, &steady[0]), change(new, &steady[1])];
    let is_changed = changes.iter().any(|change| *change > WARM_UP_MOVES.ln_1p());
    let shown = |times: &WindowTimes, q| times.quantile_ms(q).map_or("infinite".to_owned(), brief::ms);
    let [p50, p95] = QUANTILES.map(|q| format!("{} against {}", shown(&steady[0], q), shown(&steady[1], q)));
    let what = format!(
        "{}: both are cut at {cut_s} s, the later of {} s and {} s. From there on p50 is {p50}, p95 {p95}{}",
        base.key.describe(),
        before.warm_up_s,
        after.warm_up_s,
        if is_changed { "; the tables include the warm-up." } else { "." }
    );
    let severity = if is_changed { Severity::Invalid } else { Severity::Info };
    let mut figures = vec![("cut", f64::from(cut_s), "s")];
    for (q, names) in QUANTILES.into_iter().zip([["p50, baseline", "p50"], ["p95, baseline", "p95"]]) {
        for (times, name) in steady.iter().zip(names) {
            figures.push((name, times.quantile_ms(q).unwrap_or(f64::INFINITY), "ms"));
        }
    }
    Some(with_figures(RULE.finding(severity, base.key.scope(), what), &figures))
}

/// The largest change of a quantile by the cut, as a difference of logarithms.
fn change(endpoint: &Row, steady: &WindowTimes) -> f64 {
    let whole = |q| endpoint.ok.quantile_with(q, endpoint.infinitely_slow()).finite_us();
    let by = |q: f64| match (whole(q), steady.quantile_ms(q)) {
        (Some(us), Some(ms)) => (us / 1_000.0 / ms).ln().abs(),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    };
    QUANTILES.into_iter().map(by).fold(0.0, f64::max)
}
