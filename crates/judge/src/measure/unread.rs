//! What the source of an imported run leaves unknown of the observations of an objective: records that could not be read,
//! that are missing, or that contradict its totals. They may be on either side of every bound.

use evidence::{Metric, UnknownCount, UnknownSubject};
use workload::Filter;

use super::source::MeasureSource;

/// How many observations of `metric` are unknown, requests or iterations.
pub(super) fn count(source: &MeasureSource<'_>, metric: Metric, filter: &Filter) -> UnknownCount {
    let of = match metric {
        Metric::IterationTime => UnknownSubject::Iterations,
        _ => UnknownSubject::Requests,
    };
    let listed = listed(source, of, filter);
    UnknownCount { more: listed.more.saturating_add(without_time(source, metric, filter)), ..listed }
}

pub(super) fn checks(source: &MeasureSource<'_>, filter: &Filter) -> UnknownCount {
    listed(source, UnknownSubject::Checks, filter)
}

fn listed(source: &MeasureSource<'_>, of: UnknownSubject, filter: &Filter) -> UnknownCount {
    let Some(imported) = &source.run.manifest().source else { return UnknownCount::default() };
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    imported.unknown_records(of, &name(&filter.scenario), &name(&filter.endpoint))
}

/// Requests or iterations that the source counted and of which it has no time. A run without an end has such ones too,
/// which are counted as unfinished.
fn without_time(source: &MeasureSource<'_>, metric: Metric, filter: &Filter) -> u64 {
    let MeasureSource { run, figures, .. } = source;
    if run.manifest().source.is_none() || run.end().is_none() {
        return 0;
    }
    match metric {
        Metric::IterationTime => {
            let counted = figures.scenario_phases.iter().filter(|row| row.key.matches(filter));
            let timed =
                counted.map(|row| (row.done, row.iteration_ok.count() + row.iteration_failed.count()));
            timed.map(|(done, timed)| done.saturating_sub(timed)).sum()
        }
        _ => {
            let counted = figures.endpoints().filter(|row| row.key.matches(filter));
            counted.map(|row| row.begun().saturating_sub(row.responses())).sum()
        }
    }
}
