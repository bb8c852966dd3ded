//! Statistics of observed series. A gap is not a zero: only samples count, each in the phase that it mostly covers.

use evidence::run::ReadError;
use evidence::{Coverage, CoveredSample, Run, SeriesKey, coverage};
use figures::PhaseWindow;
use workload::Statistic;

use super::{Measurement, Value};
use crate::gaps::Covered;

/// The parts of one series.
pub(super) struct SelectedSeries<'a> {
    name: &'a str,
    parts: Vec<&'a SeriesKey>,
}

/// A statistic of a series over `phases`. The parts of a target's series (its loops, its processes) are pooled. The mean
/// is over time: a sample that covers less counts less.
pub(super) fn observe<'p>(
    run: &dyn Run,
    series: &SelectedSeries<'_>,
    phases: impl Iterator<Item = &'p PhaseWindow> + Clone,
    statistic: Statistic,
) -> Result<Measurement, ReadError> {
    let unit = series.parts.first().map_or("", |s| &s.unit);
    let mut samples: Vec<CoveredSample> = Vec::new();
    let mut covered = Covered::default();
    let run_s = run.recorded().as_secs_f64();
    for key in &series.parts {
        let coverage = Coverage::read(run, key)?;
        let times: Vec<f64> = coverage.all().iter().map(|sample| sample.end.offset().as_secs_f64()).collect();
        covered.add(&times, run_s);
        samples.extend(phases.clone().flat_map(|phase| coverage.within(phase.window())));
    }
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let value = match statistic {
        Statistic::Quantile(q) => stats::quantile(&values, q),
        Statistic::Mean => coverage::mean(samples.iter()),
        Statistic::Max => values.iter().copied().reduce(f64::max),
        Statistic::Min => values.iter().copied().reduce(f64::min),
    };
    let missing = || format!("`{}` has no sample in its window: not measured is not zero.", series.name);
    let value = value.map_or_else(|| Value::Missing(missing()), Value::Finite);
    let mut measurement = Measurement::new(value, unit, values.len() as u64);
    measurement.unobserved = Some(unobserved_share(&covered, run_s, phases));
    Ok(measurement)
}

/// The share of `phases`, as far as the run lasted, in which no part was observed as often as it usually is.
fn unobserved_share<'p>(covered: &Covered, run_s: f64, phases: impl Iterator<Item = &'p PhaseWindow>) -> f64 {
    let (mut missing, mut length) = (0.0, 0.0);
    for phase in phases {
        let start = phase.start.as_secs_f64();
        let window = start..phase.end.as_secs_f64().min(run_s).max(start);
        length += window.end - window.start;
        missing += covered.missing_s(&window);
    }
    if length > 0.0 { missing / length } else { 1.0 }
}

/// The series `name` of `target`. Without a target it is that of the only target that has it; the generator's own is
/// used only where no target has one.
///
/// # Errors
/// Why there is no such series, or more than one.
pub(super) fn select<'a>(
    run: &'a dyn Run,
    name: &'a str,
    target: Option<&str>,
) -> Result<SelectedSeries<'a>, String> {
    let named: Vec<&SeriesKey> = run.series().iter().filter(|s| &*s.name == name).collect();
    let of = |target: &str| SelectedSeries {
        name,
        parts: named.iter().copied().filter(|s| &*s.target == target).collect(),
    };
    if let Some(target) = target {
        let series = of(target);
        let why = || format!("`{name}` of `{target}` was not measured: not measured is not zero.");
        return if series.parts.is_empty() { Err(why()) } else { Ok(series) };
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
            "Several targets have `{name}`: {}. Choose one with `target = …`.",
            several.join(", ")
        )),
    }
}
