//! Several runs in one plot: p50, p95 and rate of each endpoint, and CPU of each target.

use super::{Canvas, Chart, class, highest, linear, time_axis, trace};
use crate::html::plot::{Axis, Band, Plot, Trace, Unit};
use crate::html::ticks::Scale;
use crate::number;
use crate::summary::{Comparison, EndpointLine, SideSummary};

const HEADROOM: f64 = 1.04;

/// One line of one side.
type LineOf = fn(&EndpointLine) -> &Vec<Option<f64>>;

/// The plots of a comparison.
pub(crate) fn of(comparison: &Comparison) -> Vec<Chart> {
    let mut charts = vec![rate(comparison)];
    for label in labels(comparison) {
        for (name, of) in [("p50", (|l| &l.p50_ms) as LineOf), ("p95", |l| &l.p95_ms)] {
            charts.push(times(comparison, (&label, name), of));
        }
    }
    charts.extend(cpu(comparison));
    charts.retain(|chart| chart.svg.contains("class=\"line"));
    charts
}

/// Every endpoint that any side has a line of.
fn labels(comparison: &Comparison) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for line in comparison.sides.iter().flat_map(|side| &side.timeline.endpoints) {
        if !labels.contains(&line.label) {
            labels.push(line.label.clone());
        }
    }
    labels
}

/// The axis that all sides fit on, and the phases of the baseline.
fn frame(comparison: &Comparison) -> (Axis, Vec<Band>) {
    let seconds = comparison.sides.iter().map(|side| side.timeline.seconds).max().unwrap_or(0);
    let scale = Scale::run_time(seconds);
    let labels = scale.ticks.iter().map(|s| number::clock(*s as u64)).collect();
    let baseline = comparison.sides.first().map(|side| side.phases.as_slice()).unwrap_or_default();
    let shown = baseline.iter().filter(|p| p.start_s < f64::from(seconds));
    let band = |p: &crate::summary::PhaseSpan| Band {
        label: p.name.clone(),
        from: p.start_s,
        to: p.end_s.min(f64::from(seconds)),
    };
    (Axis { scale, unit: Unit::Clock, labels }, shown.map(band).collect())
}

fn drawn(comparison: &Comparison, (title, unit): (&str, &str), y: Axis, traces: Vec<Trace>) -> Chart {
    let (x, bands) = frame(comparison);
    let legend = traces.iter().map(|t| (t.class.clone(), t.label.clone())).collect();
    let plot =
        Plot { description: format!("{title} over run time, {unit}"), x, y, bands, traces, bars: Vec::new() };
    Chart { title: title.to_owned(), unit: unit.to_owned(), note: String::new(), legend, svg: plot.svg() }
}

fn points(side: &SideSummary, values: impl Iterator<Item = Option<f64>>) -> Vec<Option<(f64, f64)>> {
    Canvas { timeline: &side.timeline, bands: Vec::new() }.points(values)
}

fn rate(comparison: &Comparison) -> Chart {
    let mut traces = Vec::new();
    for (place, side) in comparison.sides.iter().enumerate() {
        let line = &side.timeline;
        let answered: Vec<f64> = line.ok.iter().zip(&line.failed).map(|(ok, failed)| ok + failed).collect();
        traces.push(trace(side.letter, &class(place), points(side, answered.iter().map(|v| Some(*v)))));
    }
    let all = comparison.sides.iter().flat_map(|side| side.timeline.ok.iter().zip(&side.timeline.failed));
    let high = all.map(|(ok, failed)| ok + failed).fold(0.0, f64::max);
    drawn(
        comparison,
        ("Answers, right or wrong", "a second"),
        linear(high * HEADROOM, Unit::PerSecond),
        traces,
    )
}

fn times(comparison: &Comparison, (label, name): (&str, &str), of: LineOf) -> Chart {
    let line =
        |side: &SideSummary| side.timeline.endpoints.iter().find(|l| l.label == label).map(|l| of(l).clone());
    let lines: Vec<Option<Vec<Option<f64>>>> = comparison.sides.iter().map(line).collect();
    let scale = Scale::log(lines.iter().flatten().flatten().flatten().map(|ms| ms.max(0.001)));
    let sides = comparison.sides.iter().zip(&lines).enumerate();
    let traces = sides.filter_map(|(place, (side, line))| {
        let points = points(side, line.as_ref()?.iter().copied());
        Some(trace(side.letter, &class(place), points))
    });
    drawn(comparison, (&format!("{label} {name}"), "response time"), time_axis(scale), traces.collect())
}

/// The CPU of each target, generator included.
fn cpu(comparison: &Comparison) -> Vec<Chart> {
    let mut targets: Vec<&str> = Vec::new();
    for line in comparison.sides.iter().flat_map(|side| &side.timeline.cpu) {
        if !targets.contains(&line.label.as_str()) {
            targets.push(&line.label);
        }
    }
    let chart = |target: &&str| {
        let lines = || {
            comparison.sides.iter().enumerate().filter_map(|(place, side)| {
                Some((place, side, side.timeline.cpu.iter().find(|line| line.label == **target)?))
            })
        };
        let traces = lines().map(|(place, side, line)| {
            trace(side.letter, &class(place), points(side, line.values.iter().copied()))
        });
        let y = linear(highest(lines().flat_map(|(_, _, line)| &line.values)), Unit::Cores);
        drawn(comparison, (&format!("CPU of {target}"), "cores"), y, traces.collect())
    };
    targets.iter().map(chart).collect()
}
