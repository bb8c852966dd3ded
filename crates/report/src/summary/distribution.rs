//! Response times as curves over the share of requests. Failures count as infinitely slow, so a curve ends where they
//! begin.

use std::collections::BTreeMap;

use evidence::Histogram;
use evidence::key::Name;
use workload::Workload;

use super::tally::RunTally;
use super::{PhaseCoverage, ms, timeline};

/// Points per tenfold step into the tail.
const POINTS_PER_DECADE: i32 = 12;
/// How many tenfold steps are drawn: up to the 99.9999th percentile.
const DECADES: i32 = 6;
/// The most phases that get a plot.
const MAX_PHASES: usize = 6;

/// One endpoint's response times in one phase.
#[derive(Debug, Clone)]
pub struct DistributionCurve {
    /// The endpoint's name.
    pub label: String,
    /// (Share of requests, 0 to 1; response time in milliseconds), ascending.
    pub points: Vec<(f64, f64)>,
    /// Successes, and responses whose outcome is not known.
    pub ok: u64,
    /// Failures as far as they are known, and dropped arrivals.
    pub failed: u64,
}

/// The response times of one phase.
#[derive(Debug, Clone)]
pub struct PhaseDistribution {
    pub phase: String,
    /// One curve for each of the busiest endpoints.
    pub curves: Vec<DistributionCurve>,
}

pub(super) fn of(tally: &RunTally, workload: &Workload, phases: &[PhaseCoverage]) -> Vec<PhaseDistribution> {
    let mut by_phase: BTreeMap<(usize, Name), Vec<DistributionCurve>> = BTreeMap::new();
    // In the same order as the timelines, so that an endpoint keeps its colour from plot to plot.
    for endpoint in timeline::busiest(tally, workload) {
        let its = tally.endpoints.iter().filter(|(key, counts)| {
            endpoint.has(&key.scenario, &key.endpoint) && counts.outcomes.completed() > 0
        });
        let mut in_phases: BTreeMap<(usize, &Name), (Histogram, u64)> = BTreeMap::new();
        for (key, counts) in its {
            let (times, failed) = in_phases.entry((key.position(workload).phase, &key.phase)).or_default();
            times.merge(&counts.response);
            *failed += counts.infinitely_slow();
        }
        for ((position, phase), (times, failed)) in in_phases {
            by_phase.entry((position, phase.clone())).or_default().push(DistributionCurve {
                label: endpoint.label.clone(),
                points: points(&times, failed),
                ok: times.count(),
                failed,
            });
        }
    }
    let is_planned = |(_, name): &(usize, Name)| phases.iter().any(|p| *p.name == **name);
    let in_plan = by_phase.into_iter().filter(|(key, _)| is_planned(key));
    in_plan
        .take(MAX_PHASES)
        .map(|((_, phase), curves)| PhaseDistribution { phase: phase.to_string(), curves })
        .collect()
}

fn points(histogram: &Histogram, failed: u64) -> Vec<(f64, f64)> {
    let n = (histogram.count() + failed) as f64;
    let mut points = Vec::new();
    for step in 0..=DECADES * POINTS_PER_DECADE {
        let tail = 10f64.powf(-f64::from(step) / f64::from(POINTS_PER_DECADE));
        // A quantile with less than one request above it would repeat the maximum.
        if tail * n < 1.0 {
            break;
        }
        match histogram.quantile_with(1.0 - tail, failed).finite_us() {
            Some(us) => points.push((1.0 - tail, ms(us.max(1.0)))),
            None => break,
        }
    }
    points
}
