//! Garbage collections of a target: only after one does memory show what is still in use.

use evidence::run::ReadError;
use evidence::{Coverage, Instant, Run, SeriesKey, Window};

/// Collections a second, as a Go target reports them to Prometheus.
const SERIES: &str = "go_gc_duration_seconds_count";

/// Collections of a target; none if they were not observed.
#[derive(Debug, Default)]
pub(super) struct Collections(Option<Coverage>);

impl Collections {
    pub(super) fn of(run: &dyn Run, target: &str) -> Result<Collections, ReadError> {
        let is_it = |series: &&SeriesKey| &*series.target == target && &*series.name == SERIES;
        let Some(series) = run.series().iter().find(is_it) else { return Ok(Collections::default()) };
        Ok(Collections::from_rates(Coverage::read(run, series)?))
    }

    /// From the number of collections a second.
    pub(super) fn from_rates(rates: Coverage) -> Collections {
        Collections(Some(rates))
    }

    /// The number of collections in a window; none when they were not observed.
    pub(super) fn within(&self, window: Window) -> Option<u64> {
        let samples = self.0.as_ref()?.within(window);
        Some(samples.iter().map(|sample| sample.value * sample.length_s()).sum::<f64>().round() as u64)
    }

    /// The end of the first collection in a window; none when there was none, or they were not observed.
    pub(super) fn first_after(&self, window: Window) -> Option<Instant> {
        // A rate is a quotient, so that one collection is not exactly 1. One that may have been before the window does not
        // show what is in use in it.
        let samples = self.0.as_ref()?.within(window).iter().filter(|sample| window.begin <= sample.begin);
        samples.into_iter().find(|s| s.value * s.length_s() > 0.5).map(|sample| sample.end)
    }

    pub(super) fn are_known(&self) -> bool {
        self.0.is_some()
    }
}
