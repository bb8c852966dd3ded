//! The values of metrics in parts of a run: how much they vary within it.

use std::collections::BTreeMap;

use evidence::Seconds;
use evidence::run::ReadError;
use figures::Figures;
use workload::experiment::GateMetric;

use super::slot::{SlotValue, cut_values};
use super::warm_up::Cuts;
use crate::compare::Side;

/// Fewer parts say nothing about their variance.
const FEWEST: u32 = 4;
const MOST: u32 = 10;
/// Shorter parts hold too little.
const LEAST_S: u32 = 3;

/// The values of one metric in the parts of a run, in order.
pub type MetricBlocks = Vec<SlotValue>;

/// The values of each metric in equal parts of a run: of each phase as many seconds. None where its phases are too short.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn blocks(side: &Side<'_>, metrics: &[GateMetric]) -> Result<Option<Vec<MetricBlocks>>, ReadError> {
    let figures = Figures::fold(side.run, side.workload)?;
    let phases: Vec<(String, Seconds)> =
        figures.phases.iter().map(|phase| (phase.name.to_string(), phase.seconds())).collect();
    let longest = phases.iter().map(|(_, seconds)| seconds.end - seconds.start).max().unwrap_or(0);
    let count = (longest / LEAST_S).min(MOST);
    if count < FEWEST {
        return Ok(None);
    }
    let mut by_metric: Vec<MetricBlocks> = vec![Vec::new(); metrics.len()];
    for block in 0..count {
        let part = |seconds: &Seconds| {
            let at = |n: u32| seconds.start + (seconds.end - seconds.start) * n / count;
            at(block)..at(block + 1)
        };
        let parts: BTreeMap<String, Seconds> =
            phases.iter().map(|(name, seconds)| (name.clone(), part(seconds))).collect();
        let values = cut_values(side, &Cuts::within(parts), metrics)?;
        by_metric.iter_mut().zip(values).for_each(|(blocks, value)| blocks.push(value));
    }
    Ok(Some(by_metric))
}
