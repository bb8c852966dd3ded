//! When a target collected garbage: what memory it holds on to shows after that alone.

use evidence::run::ReadError;
use evidence::{Run, Sample, SeriesKey};

/// Collections a second, as a Go target tells Prometheus.
const SERIES: &str = "go_gc_duration_seconds_count";
/// An interval so many times as long as is usual is a gap: what happened in it is not known.
const GAP: f64 = 3.0;

/// Collections of a target, if it told of them.
#[derive(Debug, Default)]
pub(super) struct Collections(Option<Vec<Step>>);

/// So many collections between two looks, in seconds of the run.
#[derive(Debug)]
struct Step {
    from_s: f64,
    to_s: f64,
    count: f64,
}

impl Collections {
    pub(super) fn of(run: &dyn Run, target: &str) -> Result<Collections, ReadError> {
        let is_it = |series: &&SeriesKey| &*series.target == target && &*series.name == SERIES;
        let Some(series) = run.series().iter().find(is_it) else { return Ok(Collections::default()) };
        Ok(Collections::from_rates(&run.samples(series, 0..u32::MAX)?))
    }

    /// A rate holds from the look before it on; after a gap it is taken for a usual interval alone.
    pub(super) fn from_rates(rates: &[Sample]) -> Collections {
        let seconds = |sample: &Sample| sample.at.offset().as_secs_f64();
        let lengths: Vec<f64> = rates.windows(2).map(|pair| seconds(&pair[1]) - seconds(&pair[0])).collect();
        let Some(usual) = stats::quantile(&lengths, 0.5) else { return Collections(Some(Vec::new())) };
        let step = |(sample, length): (&Sample, &f64)| {
            let length = if *length > GAP * usual { usual } else { *length };
            let to_s = seconds(sample);
            Step { from_s: to_s - length, to_s, count: sample.value * length }
        };
        Collections(Some(rates[1..].iter().zip(&lengths).map(step).collect()))
    }

    /// How many there were from one second to another; none when the target does not tell.
    pub(super) fn within(&self, from_s: f64, to_s: f64) -> Option<u64> {
        let inside = self.0.as_ref()?.iter().filter(|step| from_s <= step.from_s && step.to_s <= to_s);
        Some(inside.map(|step| step.count).sum::<f64>().round() as u64)
    }

    /// From when on, between two seconds, there has been one; none when there was none, or the target does not tell.
    pub(super) fn first_after(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let mut inside = self.0.as_ref()?.iter().filter(|step| from_s <= step.from_s && step.to_s <= to_s);
        // A rate is a quotient, so that one collection is not quite one.
        inside.find(|step| step.count > 0.5).map(|step| step.to_s)
    }

    pub(super) fn are_told(&self) -> bool {
        self.0.is_some()
    }
}
