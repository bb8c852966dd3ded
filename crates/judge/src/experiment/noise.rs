//! How much metrics vary between runs of the same program, and by what: within a run, between its starts, over the session.

use evidence::{EffectScale, MetricNoise};
use workload::experiment::GateMetric;

use super::JudgedPair;
use super::blocks::MetricBlocks;
use super::decide::scale;
use super::differences::Differences;
use super::reference_probe::{self, probe_gain};
use super::slot::SlotValue;

/// The parts of a run, by metric; none where they are too short.
pub type RunBlocks = Option<Vec<MetricBlocks>>;

/// The noise of each metric, or why it is not known. `parts` are those of every run, in any order.
pub fn noise(
    metrics: &[GateMetric],
    pairs: &[JudgedPair],
    parts: &[RunBlocks],
) -> Vec<Result<MetricNoise, String>> {
    let of = |(at, metric): (usize, &GateMetric)| {
        let values: Vec<[SlotValue; 2]> =
            pairs.iter().filter_map(|pair| pair.values.get(at).cloned()).collect();
        let within: Vec<f64> =
            parts.iter().flatten().filter_map(|run| within_run(metric, &run[at])).collect();
        let mut noise = one(metric, &values, stats::mean(&within))?;
        let may_be_corrected = noise.scale == EffectScale::Relative;
        let probe = reference_probe::of_pairs(pairs, at).filter(|_| may_be_corrected);
        noise.probe = probe.and_then(|of_probe| {
            let Differences { values, .. } = Differences::of_all(metric, &values).ok()?;
            probe_gain(&values, &of_probe)
        });
        Ok(noise)
    };
    metrics.iter().enumerate().map(of).collect()
}

fn one(metric: &GateMetric, values: &[[SlotValue; 2]], within: Option<f64>) -> Result<MetricNoise, String> {
    let Differences { values: differences, least, .. } =
        Differences::of_all(metric, values).map_err(|why| why.to_string())?;
    let deviation = stats::standard_deviation(&differences)
        .ok_or_else(|| "Fewer than two pairs know no deviation.".to_owned())?
        .max(least);
    let known: Vec<f64> = values.iter().flatten().filter_map(|value| value.known().ok()).collect();
    let means: Vec<f64> = values
        .iter()
        .filter_map(|[a, b]| {
            Some(f64::midpoint(scaled(metric, a.known().ok()?), scaled(metric, b.known().ok()?)))
        })
        .collect();
    // A pair's difference has the variance of two runs.
    let of_run = deviation * deviation / 2.0;
    Ok(MetricNoise {
        name: metric.name.clone(),
        of: metric.source.clone(),
        unit: metric.quantity.unit().to_owned(),
        scale: scale(metric),
        median: stats::quantile(&known, 0.5).unwrap_or_default(),
        deviation,
        within_run: within.map(f64::sqrt),
        between_starts: within.map(|within| (of_run - within).max(0.0).sqrt()),
        between_pairs: stats::standard_deviation(&means).unwrap_or_default(),
        probe: None,
    })
}

/// The variance of a run's value by its parts: that of their mean, as if they were independent.
fn within_run(metric: &GateMetric, parts: &[SlotValue]) -> Option<f64> {
    let values: Vec<f64> =
        parts.iter().map(|part| Some(scaled(metric, part.known().ok()?))).collect::<Option<_>>()?;
    let is_known = values.iter().all(|value| value.is_finite());
    let deviation = stats::standard_deviation(&values).filter(|_| is_known)?;
    Some(deviation * deviation / values.len() as f64)
}

/// On the scale of differences.
fn scaled(metric: &GateMetric, value: f64) -> f64 {
    match scale(metric) {
        EffectScale::Points => value,
        EffectScale::Relative => value.ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Conditions;
    use evidence::PairOrder;
    use workload::objective::parse_quantity;

    fn known(value: f64) -> SlotValue {
        SlotValue::Known { value, error: 0.0005, lag: 0.0 }
    }

    fn metric() -> GateMetric {
        GateMetric::new("p95", "p95(list)", parse_quantity("p95(list)", &|_| true).unwrap())
    }

    fn pair(number: u32, sides: [f64; 2]) -> JudgedPair {
        JudgedPair {
            number,
            order: PairOrder::Ab,
            values: vec![sides.map(known)],
            by_second: Vec::new(),
            probe: Vec::new(),
            others: Vec::new(),
            costs: Vec::new(),
            conditions: [Conditions::default(); 2],
            share_of_b: None,
            load: None,
            findings: Vec::new(),
        }
    }

    #[test]
    fn what_varies_within_runs_and_between_starts_adds_up_to_the_deviation_of_pairs() {
        let pairs: Vec<JudgedPair> = [0.03, -0.02, 0.05, -0.06]
            .iter()
            .enumerate()
            .map(|(i, d): (usize, &f64)| {
                let level = 10.0 * (1.0 + i as f64 / 10.0);
                pair(i as u32 + 1, [level, level * d.exp()])
            })
            .collect();
        let parts = vec![Some(vec![[9.9, 10.1, 9.8, 10.2].map(known).to_vec()]); 8];
        let found = noise(&[metric()], &pairs, &parts).remove(0).unwrap();
        let (within, between) = (found.within_run.unwrap(), found.between_starts.unwrap());
        assert!((found.deviation - 0.0497).abs() < 0.001, "{found:?}");
        assert!((within - 0.0091).abs() < 0.0005, "{found:?}");
        assert!((2.0 * (within * within + between * between) - found.deviation.powi(2)).abs() < 1e-9);
        assert!(found.between_pairs > found.deviation, "the session drifts: {found:?}");
        let unknown = noise(&[metric()], &pairs, &[None]).remove(0).unwrap();
        assert_eq!((unknown.within_run, unknown.between_starts), (None, None));
    }

    #[test]
    fn a_metric_without_a_value_has_no_noise() {
        let mut pairs = vec![pair(1, [1.0, 1.0]), pair(2, [1.0, 1.0])];
        pairs[1].values[0][1] = SlotValue::Missing("it was not observed.".to_owned());
        assert!(
            noise(&[metric()], &pairs, &[])
                .remove(0)
                .unwrap_err()
                .contains("in pair 2 B has none: it was not observed.")
        );
    }
}
