//! Statistics of observed series. A gap is not a zero: only samples count.

use evidence::run::ReadError;
use evidence::{Run, SeriesKey};
use workload::{Filter, Statistic};

use super::{Observed, Value};
use crate::facts::{Tables, samples_in};

/// A statistic of the series `name` of `target`, over the filter's phase or over all phases. The parts of
/// one target's series (its loops, its processes) are taken together.
pub(super) fn observe(
    run: &dyn Run,
    (tables, filter): (&Tables, &Filter),
    (statistic, name, target): (Statistic, &str, Option<&str>),
) -> Result<Observed, ReadError> {
    let series = match the_series(run, name, target) {
        Ok(series) => series,
        Err(why) => return Ok(Observed::new(Value::Missing(why), "", 0)),
    };
    let unit = series.first().map_or("", |s| &s.unit);
    let mut values = Vec::new();
    for span in tables.spans.iter().filter(|s| filter.phase.as_ref().is_none_or(|p| *p == s.name)) {
        for key in &series {
            values.extend(samples_in(run, key, span)?.iter().map(|s| s.value).filter(|v| v.is_finite()));
        }
    }
    let value = match statistic {
        Statistic::Quantile(q) => stats::quantile(&values, q),
        Statistic::Mean => stats::mean(&values),
        Statistic::Max => values.iter().copied().reduce(f64::max),
        Statistic::Min => values.iter().copied().reduce(f64::min),
    };
    let value = value.map_or_else(
        || Value::Missing(format!("`{name}` has no sample in its window: not measured is not zero.")),
        Value::Finite,
    );
    Ok(Observed::new(value, unit, values.len() as u64))
}

/// The series that is meant. Without a target it is that of the only target that has it; the generator's
/// own counts only where no target has one.
fn the_series<'a>(run: &'a dyn Run, name: &str, target: Option<&str>) -> Result<Vec<&'a SeriesKey>, String> {
    let named: Vec<&SeriesKey> = run.series().iter().filter(|s| &*s.name == name).collect();
    let of = |target: &str| named.iter().copied().filter(|s| &*s.target == target).collect::<Vec<_>>();
    if let Some(target) = target {
        let series = of(target);
        let why = || format!("`{name}` of `{target}` was not measured: not measured is not zero.");
        return if series.is_empty() { Err(why()) } else { Ok(series) };
    }
    let mut targets: Vec<&str> = named.iter().map(|s| &*s.target).collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.len() > 1 {
        targets.retain(|target| *target != SeriesKey::GENERATOR);
    }
    match targets.as_slice() {
        [] => Err(format!("`{name}` was not measured: not measured is not zero.")),
        [one] => Ok(of(one)),
        several => Err(format!(
            "Several targets have `{name}`: {}. Say which one with `target = …`.",
            several.join(", ")
        )),
    }
}
