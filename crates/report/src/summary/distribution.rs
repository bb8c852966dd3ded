//! Response times as curves over the share of requests, where failures count as infinitely slow: a curve
//! ends where the failures begin.

use std::collections::BTreeMap;

use evidence::Histogram;
use evidence::key::Name;
use workload::Workload;

use super::PhaseSpan;
use super::ms;
use super::rows::plan_order;
use super::sweep::Sweep;
use super::timeline;

/// Points for each tenfold step into the tail.
const POINTS_A_DECADE: i32 = 12;
/// Nothing beyond the 99.9999th percentile is drawn.
const DECADES: i32 = 6;
/// The most phases that get a plot.
const MAX_PHASES: usize = 6;

/// One endpoint's response times in one phase.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The endpoint's name.
    pub label: String,
    /// (Share of requests, 0 to 1; response time in milliseconds), ascending.
    pub points: Vec<(f64, f64)>,
    /// Successes.
    pub ok: u64,
    /// Failures, and arrivals dropped because the target was too slow.
    pub failed: u64,
}

/// The response times of one phase.
#[derive(Debug, Clone)]
pub struct PhaseDistribution {
    /// The phase's name.
    pub phase: String,
    /// One curve for each of the busiest endpoints.
    pub curves: Vec<Curve>,
}

pub(super) fn of(sweep: &Sweep, workload: &Workload, phases: &[PhaseSpan]) -> Vec<PhaseDistribution> {
    let mut by_phase: BTreeMap<(usize, Name), Vec<Curve>> = BTreeMap::new();
    // In the same order as the timelines, so that an endpoint keeps its colour from plot to plot.
    for endpoint in timeline::busiest(sweep) {
        let here = sweep.places.iter().filter(|(place, tally)| {
            place.scenario == endpoint.scenario
                && place.endpoint == endpoint.endpoint
                && tally.outcomes.answered() > 0
        });
        for (place, tally) in here {
            let failed = tally.outcomes.failed() + tally.arrivals.map_or(0, |a| a.dropped_cap);
            let (order, ..) = plan_order(workload, place);
            by_phase.entry((order, place.phase.clone())).or_default().push(Curve {
                label: endpoint.label.clone(),
                points: points(&tally.response, failed),
                ok: tally.response.count(),
                failed,
            });
        }
    }
    let planned = |(_, name): &(usize, Name)| phases.iter().any(|p| *p.name == **name);
    let in_plan = by_phase.into_iter().filter(|(key, _)| planned(key));
    in_plan
        .take(MAX_PHASES)
        .map(|((_, phase), curves)| PhaseDistribution { phase: phase.to_string(), curves })
        .collect()
}

fn points(histogram: &Histogram, failed: u64) -> Vec<(f64, f64)> {
    let n = (histogram.count() + failed) as f64;
    let mut points = Vec::new();
    for step in 0..=DECADES * POINTS_A_DECADE {
        let tail = 10f64.powf(-f64::from(step) / f64::from(POINTS_A_DECADE));
        // A quantile with less than one request beyond it is only the maximum again.
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
