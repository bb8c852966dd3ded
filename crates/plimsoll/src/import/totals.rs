//! Sums that no run has.

use std::collections::BTreeMap;

use anyhow::ensure;
use evidence::Metric;
use report::number;

use super::{Surveyed, source};

/// Refuse files whose events add up to more than any run has: one of their values is wrong, and no sum with it is right.
///
/// # Errors
/// For such files, with their names and the sum.
pub(super) fn refuse_impossible(files: &[Surveyed]) -> anyhow::Result<()> {
    let mut totals: BTreeMap<Metric, u64> = BTreeMap::new();
    for (metric, value) in files.iter().flat_map(|file| &file.survey.totals) {
        let total = totals.entry(*metric).or_default();
        *total = total.saturating_add(*value);
    }
    for (metric, total) in totals {
        let limit = import::run_limit(metric);
        ensure!(
            total <= limit,
            "{metric} in {} adds up to {}, and no run has more than {}: look for a value that is wrong",
            files.iter().map(source::name).collect::<Vec<_>>().join(" and "),
            number::count(total),
            number::count(limit)
        );
    }
    Ok(())
}
