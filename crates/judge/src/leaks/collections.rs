//! Garbage collections of a target: only after one does memory show what is still in use.

use evidence::run::ReadError;
use evidence::{Run, Sample, SeriesKey};

/// Collections a second, as a Go target reports them to Prometheus.
const SERIES: &str = "go_gc_duration_seconds_count";
/// An interval so many times as long as usual is a gap: collections in it are not known.
const GAP: f64 = 3.0;

/// Collections of a target; none if they were not observed.
#[derive(Debug, Default)]
pub(super) struct Collections(Option<Vec<Interval>>);

/// Collections between two samples, in seconds of the run.
#[derive(Debug)]
struct Interval {
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

    /// A rate applies since the sample before it; after a gap, to one usual interval.
    pub(super) fn from_rates(rates: &[Sample]) -> Collections {
        let seconds = |sample: &Sample| sample.at.offset().as_secs_f64();
        let lengths: Vec<f64> = rates.windows(2).map(|pair| seconds(&pair[1]) - seconds(&pair[0])).collect();
        let Some(usual) = stats::quantile(&lengths, 0.5) else { return Collections(Some(Vec::new())) };
        let interval = |(sample, length): (&Sample, &f64)| {
            let length = if *length > GAP * usual { usual } else { *length };
            let to_s = seconds(sample);
            Interval { from_s: to_s - length, to_s, count: sample.value * length }
        };
        Collections(Some(rates[1..].iter().zip(&lengths).map(interval).collect()))
    }

    /// The number of collections between two seconds; none when they were not observed.
    pub(super) fn within(&self, from_s: f64, to_s: f64) -> Option<u64> {
        Some(self.between(from_s, to_s)?.map(|interval| interval.count).sum::<f64>().round() as u64)
    }

    /// The end of the first collection between two seconds; none when there was none, or they were not observed.
    pub(super) fn first_after(&self, from_s: f64, to_s: f64) -> Option<f64> {
        // A rate is a quotient, so that one collection is not exactly 1.
        self.between(from_s, to_s)?.find(|interval| interval.count > 0.5).map(|interval| interval.to_s)
    }

    fn between(&self, from_s: f64, to_s: f64) -> Option<impl Iterator<Item = &Interval>> {
        let intervals = self.0.as_ref()?.iter();
        Some(intervals.filter(move |interval| from_s <= interval.from_s && interval.to_s <= to_s))
    }

    pub(super) fn are_known(&self) -> bool {
        self.0.is_some()
    }
}
