//! Samples of observed series, one value per bin of run time.

use std::collections::BTreeSet;

use evidence::run::ReadError;
use evidence::{Coverage, Run, SeriesKey, Window, coverage};

use super::bins::BinGrid;

/// A series of one target over run time.
#[derive(Debug, Clone)]
pub struct BinnedSeries {
    pub label: String,
    /// One value per bin; none where nothing was measured.
    pub values: Vec<Option<f64>>,
}

/// How the samples of one bin become one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aggregation {
    Mean,
    Max,
}

/// Computes one value per bin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binning {
    pub grid: BinGrid,
    pub aggregation: Aggregation,
}

/// Every part of the series `name` of `target`.
pub(super) fn parts<'a>(run: &'a dyn Run, name: &str, target: &str) -> Vec<&'a SeriesKey> {
    run.series().iter().filter(|s| &*s.name == name && &*s.target == target).collect()
}

impl Binning {
    /// The series `name` of each target that has it, the generator last.
    pub(super) fn by_target(self, run: &dyn Run, name: &str) -> Result<Vec<BinnedSeries>, ReadError> {
        let named = run.series().iter().filter(|s| &*s.name == name);
        let targets: BTreeSet<(bool, &str)> =
            named.map(|s| (&*s.target == SeriesKey::GENERATOR, &*s.target)).collect();
        let series = |(_, target): &(bool, &str)| {
            Ok(BinnedSeries { label: (*target).to_owned(), values: self.values(run, name, target)? })
        };
        targets.iter().map(series).collect()
    }

    /// One value per bin, summed over the parts of the series. The samples of each part that mostly cover the bin are
    /// aggregated first, so that parts sampled at different moments do not count twice.
    pub(super) fn values(
        self,
        run: &dyn Run,
        name: &str,
        target: &str,
    ) -> Result<Vec<Option<f64>>, ReadError> {
        let mut sums: Vec<Option<f64>> = vec![None; self.grid.bins()];
        for key in parts(run, name, target) {
            let covered = Coverage::read(run, key)?;
            for (bin, sum) in sums.iter_mut().enumerate() {
                let samples = covered.within(Window::new(&self.grid.seconds_of(bin))).iter();
                let value = match self.aggregation {
                    Aggregation::Mean => coverage::mean(samples),
                    Aggregation::Max => samples.map(|sample| sample.value).reduce(f64::max),
                };
                *sum = [*sum, value].into_iter().flatten().reduce(|sum, value| sum + value);
            }
        }
        Ok(sums)
    }
}
