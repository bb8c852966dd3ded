//! How fast the machine was in one run: what the rounds of the reference probe took.

use evidence::run::ReadError;
use evidence::{Coverage, SeriesKey, Window};
use workload::experiment::GateMetric;
use workload::{Filter, Quantity};

use crate::measure::MeasureSource;

/// Below this covered share of a phase an observed series says nothing of it.
pub(super) const ENOUGH_COVERAGE: f64 = 0.9;

/// The processor time of a round in the seconds of each metric; none where the probe did not run.
pub(super) fn round_times(
    source: &MeasureSource<'_>,
    metrics: &[GateMetric],
) -> Result<Vec<Option<f64>>, ReadError> {
    let key = SeriesKey::reference_probe();
    if !source.run.series().contains(&key) {
        return Ok(vec![None; metrics.len()]);
    }
    let probe = Coverage::read(source.run, &key)?;
    let of = |metric: &GateMetric| {
        let filter = match &metric.quantity {
            Quantity::Measure { filter, .. } => filter.clone(),
            Quantity::Cost { phase, .. } => Filter { phase: phase.clone(), ..Filter::default() },
        };
        let seconds = source.window(&filter);
        let seen = probe.integral(Window::new(&seconds));
        let is_covered = seen.covered_s > 0.0 && seen.covered_s >= ENOUGH_COVERAGE * seconds.len() as f64;
        (is_covered && seen.sum > 0.0).then(|| seen.sum / seen.covered_s)
    };
    Ok(metrics.iter().map(of).collect())
}
