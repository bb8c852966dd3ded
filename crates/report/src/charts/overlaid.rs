//! Several runs in one plot: p50, p95 and rate of each endpoint, and CPU of each target.

use super::{Canvas, Chart, ChartTitle, HEADROOM, RunTimeAxis, class, highest, linear, time_axis, trace};
use crate::charts::plot::Unit;
use crate::charts::ticks::Scale;
use crate::summary::{Comparison, EndpointTimeline, Measure, PhaseCoverage, PhaseTable, SideSummary};

/// A quantile per bin of an endpoint.
type BinnedQuantile = fn(&EndpointTimeline) -> &Vec<Option<f64>>;

/// The plots of a comparison: the times of the endpoint that differs most come first.
pub(crate) fn of(comparison: &Comparison) -> Vec<Chart> {
    let mut labels = labels(comparison);
    labels.sort_by(|a, b| differs_by(comparison, b).total_cmp(&differs_by(comparison, a)));
    let mut charts = Vec::new();
    for label in labels {
        for (name, quantile) in [("p50", (|l| &l.p50_ms) as BinnedQuantile), ("p95", |l| &l.p95_ms)] {
            charts.push(times(comparison, &label, name, quantile));
        }
    }
    charts.push(rate(comparison));
    charts.extend(cpu(comparison));
    charts.retain(|chart| chart.svg.contains("class=\"line"));
    charts
}

/// The largest known factor between times of an endpoint in the measured phases; 1 where none is known.
fn differs_by(comparison: &Comparison, label: &str) -> f64 {
    let measured = comparison.phases.iter().filter(|phase| phase.is_measured);
    let endpoints = measured.flat_map(PhaseTable::requests).filter(|endpoint| endpoint.label == label);
    let times = endpoints.flat_map(|of| &of.measures).filter(|of| ["p50", "p95"].contains(&of.name.as_str()));
    times.map(Measure::known_factor).fold(1.0, f64::max)
}

/// Every endpoint that has a line on any side.
fn labels(comparison: &Comparison) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for line in comparison.sides.iter().flat_map(|side| &side.timeline.endpoints) {
        if !labels.contains(&line.label) {
            labels.push(line.label.clone());
        }
    }
    labels
}

/// An axis that is long enough for all sides, with the phases of the baseline.
fn run_time(comparison: &Comparison) -> RunTimeAxis {
    let seconds = comparison.sides.iter().map(|side| side.timeline.seconds).max().unwrap_or(0);
    let baseline = comparison.sides.first().map(|side| side.phases.as_slice()).unwrap_or_default();
    RunTimeAxis::of(seconds, baseline)
}

fn canvas(side: &SideSummary) -> Canvas<'_> {
    let recorded_s = side.run.elapsed_s;
    let load_s = PhaseCoverage::end_of_load_s(&side.phases).unwrap_or(recorded_s).min(recorded_s);
    Canvas { timeline: &side.timeline, phases: &[], marks: &[], ends: [load_s, recorded_s] }
}

/// Until the load ended: what is in flight then differs for other reasons.
fn rate(comparison: &Comparison) -> Chart {
    let (mut traces, mut high) = (Vec::new(), 0.0);
    for (index, side) in comparison.sides.iter().enumerate() {
        let canvas = canvas(side);
        let completed = side.timeline.completed();
        high = completed.iter().copied().fold(high, f64::max);
        let points = canvas.rates(&completed, canvas.ends[0]);
        traces.push(trace(side.letter, &class(index), points));
    }
    let title = ChartTitle { text: "Completed requests", unit: "per second" };
    Chart::over_run_time(title, run_time(comparison), linear(high * HEADROOM, Unit::PerSecond), traces)
}

fn times(comparison: &Comparison, label: &str, name: &str, quantile: BinnedQuantile) -> Chart {
    let line = |side: &SideSummary| {
        side.timeline.endpoints.iter().find(|l| l.label == label).map(|l| quantile(l).clone())
    };
    let lines: Vec<Option<Vec<Option<f64>>>> = comparison.sides.iter().map(line).collect();
    let scale = Scale::log(lines.iter().flatten().flatten().flatten().map(|ms| ms.max(0.001)));
    let sides = comparison.sides.iter().zip(&lines).enumerate();
    let traces = sides.filter_map(|(index, (side, line))| {
        let points = canvas(side).points(line.as_ref()?.iter().copied());
        Some(trace(side.letter, &class(index), points))
    });
    let title = ChartTitle { text: &format!("{label} {name}"), unit: "response time" };
    Chart::over_run_time(title, run_time(comparison), time_axis(scale), traces.collect())
}

/// The CPU of each target and of the generator.
fn cpu(comparison: &Comparison) -> Vec<Chart> {
    let mut targets: Vec<&str> = Vec::new();
    for line in comparison.sides.iter().flat_map(|side| &side.timeline.cpu) {
        if !targets.contains(&line.label.as_str()) {
            targets.push(&line.label);
        }
    }
    let chart = |target: &&str| {
        let lines = || {
            comparison.sides.iter().enumerate().filter_map(|(index, side)| {
                Some((index, side, side.timeline.cpu.iter().find(|line| line.label == **target)?))
            })
        };
        let traces = lines().map(|(index, side, line)| {
            trace(side.letter, &class(index), canvas(side).points(line.values.iter().copied()))
        });
        let y = linear(highest(lines().flat_map(|(_, _, line)| &line.values)), Unit::Cores);
        let title = ChartTitle { text: &format!("CPU of {target}"), unit: "cores" };
        Chart::over_run_time(title, run_time(comparison), y, traces.collect())
    };
    targets.iter().map(chart).collect()
}
