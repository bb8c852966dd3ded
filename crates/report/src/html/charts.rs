//! Which plots a report has, and what is in them.

mod overlaid;

use super::plot::{Axis, Band, Fill, Plot, Trace, Unit};
use super::ticks::Scale;
use crate::number;
use crate::summary::{EndpointLine, Line, PhaseDistribution, Summary, Timeline};

pub(crate) use overlaid::of as overlaid;

/// How many colours the style sheet has; further lines repeat them dashed.
const COLOURS: usize = 8;
const TICKS: usize = 4;
/// A line at the very top would hide behind the frame.
const HEADROOM: f64 = 1.04;

/// A plot with its words.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What its y axis shows.
    pub(crate) unit: String,
    pub(crate) note: String,
    /// (Class, label) of each line.
    pub(crate) legend: Vec<(String, String)>,
    pub(crate) svg: String,
}

/// The class of the `i`th of several lines.
fn class(i: usize) -> String {
    let dashes = if i >= COLOURS { " dashed" } else { "" };
    format!("c{}{dashes}", i % COLOURS)
}

/// What charts over run time share.
struct Canvas<'a> {
    timeline: &'a Timeline,
    bands: Vec<Band>,
}

impl<'a> Canvas<'a> {
    fn of(summary: &'a Summary) -> Canvas<'a> {
        let seconds = f64::from(summary.timeline.seconds);
        let bands = summary.phases.iter().filter(|p| p.start_s < seconds).map(|p| Band {
            label: p.name.clone(),
            from: p.start_s,
            to: p.end_s.min(seconds),
        });
        Canvas { timeline: &summary.timeline, bands: bands.collect() }
    }

    fn x(&self) -> Axis {
        let scale = Scale::run_time(self.timeline.seconds);
        let labels = scale.ticks.iter().map(|s| number::clock(*s as u64)).collect();
        Axis { scale, unit: Unit::Clock, labels }
    }

    /// The values of one bin each, placed in the middle of their bin.
    fn points(&self, values: impl Iterator<Item = Option<f64>>) -> Vec<Option<(f64, f64)>> {
        let half = f64::from(self.timeline.bin_s) / 2.0;
        let last = f64::from(self.timeline.seconds);
        let middle = |bin: usize| (bin as f64 * 2.0 * half + half).min(last);
        values.enumerate().map(|(bin, value)| Some((middle(bin), value?))).collect()
    }

    fn chart(&self, (title, unit): (&str, &str), y: Axis, traces: Vec<Trace>) -> Chart {
        let legend = traces.iter().map(|t| (t.class.clone(), t.label.clone())).collect();
        let description = format!("{title} over run time, {unit}");
        let plot = Plot { description, x: self.x(), y, bands: self.bands.clone(), traces, bars: Vec::new() };
        Chart { title: title.to_owned(), unit: unit.to_owned(), note: String::new(), legend, svg: plot.svg() }
    }
}

fn trace(label: &str, class: &str, points: Vec<Option<(f64, f64)>>) -> Trace {
    Trace { label: label.to_owned(), class: class.to_owned(), points, fill: Fill::None }
}

fn highest<'a>(values: impl Iterator<Item = &'a Option<f64>>) -> f64 {
    values.flatten().copied().fold(0.0, f64::max)
}

fn linear(high: f64, unit: Unit) -> Axis {
    let scale = Scale::from_zero(high, TICKS);
    let labels = scale.ticks.iter().map(|t| tick(*t)).collect();
    Axis { scale, unit, labels }
}

/// A tick as short as it can be: `0.5`, `1,000`.
fn tick(value: f64) -> String {
    let rounded = (value * 1e9).round() / 1e9;
    if rounded.fract() == 0.0 { number::count(rounded as u64) } else { rounded.to_string() }
}

/// Offered and achieved load, and what is in flight: each in its own plot, because their units differ.
pub(super) fn load(summary: &Summary) -> Vec<Chart> {
    let canvas = Canvas::of(summary);
    let line = canvas.timeline;
    let all = [&line.offered, &line.started, &line.ok, &line.failed];
    let high = all.into_iter().flatten().copied().fold(0.0, f64::max);
    let of = |values: &[f64]| canvas.points(values.iter().map(|v| Some(*v)));
    let mut traces = vec![
        Trace { fill: Fill::Below, ..trace("correct answers", "c0", of(&line.ok)) },
        trace("started", "c4", of(&line.started)),
        trace("offered (arrivals due)", "offered", of(&line.offered)),
        trace("failures", "bad", of(&line.failed)),
    ];
    if line.dropped.iter().any(|n| *n > 0.0) {
        traces.push(trace("dropped arrivals", "c3 dashed", of(&line.dropped)));
    }
    let mut charts = vec![canvas.chart(
        ("Offered against achieved load", "a second"),
        linear(high * HEADROOM, Unit::PerSecond),
        traces,
    )];
    if line.in_flight.iter().any(Option::is_some) {
        let y = linear(highest(line.in_flight.iter()) * HEADROOM, Unit::One);
        let points = canvas.points(line.in_flight.iter().copied());
        let traces = vec![Trace { fill: Fill::Below, ..trace("in flight", "c2", points) }];
        charts.push(canvas.chart(("Requests in flight", "time-averaged"), y, traces));
    }
    charts
}

/// Response times over time, one plot for each endpoint, all on the same scale.
pub(super) fn response_times(summary: &Summary) -> Vec<Chart> {
    let canvas = Canvas::of(summary);
    let lines = &canvas.timeline.endpoints;
    let values = lines.iter().flat_map(|l| l.p50_ms.iter().chain(&l.p99_ms)).flatten().copied();
    let scale = Scale::log(values.map(|ms| ms.max(0.001)));
    lines.iter().map(|line| response_time(&canvas, line, &scale)).collect()
}

fn response_time(canvas: &Canvas, line: &EndpointLine, scale: &Scale) -> Chart {
    let of = |values: &[Option<f64>]| canvas.points(values.iter().copied());
    let traces = vec![
        trace("p99", "p99", of(&line.p99_ms)),
        trace("p95", "p95", of(&line.p95_ms)),
        trace("p50", "p50", of(&line.p50_ms)),
    ];
    let bin_s = f64::from(canvas.timeline.bin_s);
    let bar = |(bin, share): (usize, &f64)| (bin as f64 * bin_s, (bin + 1) as f64 * bin_s, *share);
    let plot = Plot {
        description: format!("Response time of {} over run time, logarithmic", line.label),
        x: canvas.x(),
        y: time_axis(scale.clone()),
        bands: canvas.bands.clone(),
        traces,
        bars: line.failed_share.iter().enumerate().map(bar).collect(),
    };
    Chart {
        title: line.label.clone(),
        unit: "response time".to_owned(),
        note: successes_and_failures(line.ok, line.failed),
        legend: Vec::new(),
        svg: plot.svg(),
    }
}

fn successes_and_failures(ok: u64, failed: u64) -> String {
    let share = number::share(failed, ok + failed);
    format!("{} ok, {} failed ({share})", number::count(ok), number::count(failed))
}

fn time_axis(scale: Scale) -> Axis {
    let labels = scale.ticks.iter().map(|ms| time_tick(*ms)).collect();
    Axis { scale, unit: Unit::Ms, labels }
}

/// A power of ten times 1, 2 or 5 as a time without needless zeros.
fn time_tick(ms: f64) -> String {
    if ms < 0.999 {
        format!("{} µs", tick((ms * 1_000.0).round()))
    } else if ms < 999.0 {
        format!("{} ms", tick(ms))
    } else {
        format!("{} s", tick(ms / 1_000.0))
    }
}

/// Response times by share of requests, one plot for each phase.
pub(super) fn distributions(summary: &Summary) -> Vec<Chart> {
    let all = summary.distributions.iter().flat_map(|d| &d.curves).flat_map(|c| &c.points);
    let scale = Scale::log(all.map(|(_, ms)| *ms));
    summary.distributions.iter().map(|d| distribution(d, summary, &scale)).collect()
}

fn distribution(phase: &PhaseDistribution, summary: &Summary, scale: &Scale) -> Chart {
    // How far into the tail a share is, in powers of ten: 0.9 is 1, 0.99 is 2.
    let decades = |share: f64| -(1.0 - share).max(1e-9).log10();
    let deepest = phase.curves.iter().filter_map(|c| c.points.last()).map(|(q, _)| decades(*q));
    let (half, twentieth) = (decades(0.5), decades(0.95));
    let ends = [0.0, half, 1.0, twentieth, 2.0, 3.0, 4.0, 5.0, 6.0];
    let names = ["0 %", "50 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"];
    let high = deepest.fold(2.0, f64::max);
    let shown = ends.iter().zip(names).filter(|(end, _)| **end <= high + 1e-6);
    let (ticks, labels): (Vec<f64>, Vec<String>) = shown.map(|(end, name)| (*end, name.to_owned())).unzip();
    let x = Axis { scale: Scale { low: 0.0, high, is_log: false, ticks }, unit: Unit::Tail, labels };
    let colour = |label: &str| summary.timeline.endpoints.iter().position(|l| l.label == label).unwrap_or(0);
    let curve = |c: &crate::summary::Curve| {
        let points = c.points.iter().map(|(q, ms)| Some((decades(*q), *ms))).collect();
        trace(&c.label, &class(colour(&c.label)), points)
    };
    let traces: Vec<Trace> = phase.curves.iter().map(curve).collect();
    let said = |c: &crate::summary::Curve| {
        let failed = if c.failed == 0 {
            String::new()
        } else {
            format!(" ({} failed)", number::share(c.failed, c.ok + c.failed))
        };
        (class(colour(&c.label)), format!("{}{failed}", c.label))
    };
    let plot = Plot {
        description: format!("Response time by share of requests in phase {}", phase.phase),
        x,
        y: time_axis(scale.clone()),
        bands: Vec::new(),
        traces,
        bars: Vec::new(),
    };
    Chart {
        title: format!("Phase {}", phase.phase),
        unit: "response time by share of requests".to_owned(),
        note: String::new(),
        legend: phase.curves.iter().map(said).collect(),
        svg: plot.svg(),
    }
}

/// CPU and memory by target.
pub(super) fn resources(summary: &Summary) -> Vec<Chart> {
    const MIB: f64 = 1_048_576.0;
    let canvas = Canvas::of(summary);
    let timeline = canvas.timeline;
    let lines = |lines: &[Line], scale: f64| -> Vec<Trace> {
        let of = |line: &Line| canvas.points(line.values.iter().map(|v| v.map(|v| v / scale)));
        lines.iter().enumerate().map(|(i, line)| trace(&line.label, &class(i), of(line))).collect()
    };
    let mut charts = Vec::new();
    if !timeline.cpu.is_empty() {
        let y = linear(highest(timeline.cpu.iter().flat_map(|l| &l.values)), Unit::Cores);
        charts.push(canvas.chart(("CPU", "cores"), y, lines(&timeline.cpu, 1.0)));
    }
    if !timeline.rss.is_empty() {
        let y = linear(highest(timeline.rss.iter().flat_map(|l| &l.values)) / MIB, Unit::Bytes);
        charts.push(canvas.chart(("Resident memory", "MiB"), y, lines(&timeline.rss, MIB)));
    }
    charts
}
