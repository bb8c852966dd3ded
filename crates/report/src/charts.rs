//! The plots of a report.

mod capacities;
mod load;
mod overlaid;
mod plot;
mod ticks;

use crate::number;
use crate::summary::{
    ArrivalRates, BinnedSeries, DistributionCurve, EndpointTimeline, MarkedEvent, Outcomes, PhaseCoverage,
    PhaseDistribution, Summary, TimeBound, Timeline,
};
use plot::{Axis, Band, Bar, Fill, Plot, PlotBound, PlotMark, Trace, Unit};
use ticks::Scale;

pub(crate) use capacities::capacities;
pub(crate) use load::of as by_load;
pub(crate) use overlaid::of as overlaid;
pub(crate) use plot::{HEIGHT, WIDTH};

/// How many colours the style sheet has; further lines repeat them dashed.
const COLOURS: usize = 8;
/// About how many ticks a linear axis has.
const TICKS: usize = 4;
/// A bound that is so many times the highest value is only named: a line for it would flatten the others.
const HIGHEST_BOUND: f64 = 20.0;
/// Space above the highest line, so that the frame does not hide it.
const HEADROOM: f64 = 1.04;

/// A plot with its title, unit, note and legend.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What its y axis shows.
    pub(crate) unit: String,
    /// What its x axis shows, where its ticks alone do not say it.
    pub(crate) x_name: &'static str,
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

/// What all charts over run time have in common.
struct Canvas<'a> {
    timeline: &'a Timeline,
    phases: &'a [PhaseCoverage],
    marks: &'a [MarkedEvent],
    /// Until when the load was offered, and until when anything was recorded, in seconds.
    ends: [f64; 2],
}

impl<'a> Canvas<'a> {
    fn new(summary: &'a Summary) -> Canvas<'a> {
        let recorded_s = summary.header.elapsed_s;
        let load_s = PhaseCoverage::end_of_load_s(&summary.phases);
        let ends = [load_s.unwrap_or(recorded_s).min(recorded_s), recorded_s];
        Canvas { timeline: &summary.timeline, phases: &summary.phases, marks: &summary.marks, ends }
    }

    fn run_time(&self) -> RunTimeAxis {
        RunTimeAxis::of(self.timeline.seconds, self.phases).with_marks(self.marks)
    }

    /// One value per bin, at the middle of the bin.
    fn points(&self, values: impl Iterator<Item = Option<f64>>) -> Vec<Option<(f64, f64)>> {
        let half = f64::from(self.timeline.bin_s) / 2.0;
        let last = f64::from(self.timeline.seconds);
        let middle = |bin: usize| (bin as f64 * 2.0 * half + half).min(last);
        values.enumerate().map(|(bin, value)| Some((middle(bin), value?))).collect()
    }

    /// The same of rates: the line ends with the last bin that is whole before second `end`, so that it does not fall where only
    /// a part of a bin is counted.
    fn rates(&self, values: &[f64], end: f64) -> Vec<Option<(f64, f64)>> {
        let bin_s = f64::from(self.timeline.bin_s);
        let seconds = f64::from(self.timeline.seconds);
        let is_whole = |bin: usize| ((bin + 1) as f64 * bin_s).min(seconds) <= end + 1e-6;
        let is_only = values.len() == 1;
        let shown = |(bin, value): (usize, &f64)| (is_only || is_whole(bin)).then_some(*value);
        self.points(values.iter().enumerate().map(shown))
    }

    fn chart(&self, title: ChartTitle<'_>, y: Axis, traces: Vec<Trace>) -> Chart {
        Chart::over_run_time(title, self.run_time(), y, traces)
    }
}

/// What a chart shows, and the unit of its y axis.
struct ChartTitle<'a> {
    text: &'a str,
    unit: &'a str,
}

/// An x axis of run time, with the phases as bands.
struct RunTimeAxis {
    x: Axis,
    bands: Vec<Band>,
    marks: Vec<PlotMark>,
}

impl RunTimeAxis {
    fn of(seconds: u32, phases: &[PhaseCoverage]) -> RunTimeAxis {
        let scale = Scale::run_time(seconds);
        let labels = scale.ticks.iter().map(|s| number::clock(*s as u64)).collect();
        let end = f64::from(seconds);
        let bands = phases.iter().filter(|p| p.start_s < end).map(|p| Band {
            label: p.name.clone(),
            from: p.start_s,
            to: p.end_s.min(end),
        });
        RunTimeAxis {
            x: Axis { scale, unit: Unit::Clock, labels },
            bands: bands.collect(),
            marks: Vec::new(),
        }
    }

    /// What its ticks are.
    fn name(&self) -> &'static str {
        if self.x.scale.high < 3_600.0 { "run time, min:s" } else { "run time, h:min:s" }
    }

    /// With those of `marks` that are on it, each by its number.
    fn with_marks(self, marks: &[MarkedEvent]) -> RunTimeAxis {
        let mark = |(index, mark): (usize, &MarkedEvent)| PlotMark {
            label: format!("{} {}", index + 1, mark.text),
            at: mark.at_s,
        };
        let high = self.x.scale.high;
        let shown = marks.iter().enumerate().filter(|(_, mark)| mark.at_s <= high).map(mark);
        RunTimeAxis { marks: shown.collect(), ..self }
    }
}

impl Chart {
    /// Whether it has a line or bars of this class.
    pub(crate) fn draws(&self, class: &str) -> bool {
        ["line ", ""].iter().any(|kind| self.svg.contains(&format!("class=\"{kind}{class}\"")))
    }

    fn over_run_time(title: ChartTitle<'_>, run_time: RunTimeAxis, y: Axis, traces: Vec<Trace>) -> Chart {
        let ChartTitle { text, unit } = title;
        let x_name = run_time.name();
        let RunTimeAxis { x, bands, marks } = run_time;
        let legend = traces.iter().map(|t| (t.class.clone(), t.label.clone())).collect();
        let description = format!("{text} over run time, {unit}");
        let plot = Plot {
            description,
            x,
            y,
            bands,
            traces,
            bars: Vec::new(),
            marks,
            bounds: Vec::new(),
            stalls: Vec::new(),
        };
        Chart {
            title: text.to_owned(),
            unit: unit.to_owned(),
            x_name,
            note: String::new(),
            legend,
            svg: plot.svg(),
        }
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
    let labels = scale.ticks.iter().map(|t| number::tick(*t)).collect();
    Axis { scale, unit, labels }
}

/// Offered load and throughput: one plot, or two where an arrival is not one request and their units differ.
pub(crate) fn rates(summary: &Summary) -> Vec<Chart> {
    let canvas = Canvas::new(summary);
    let timeline = canvas.timeline;
    let arrivals: Vec<Trace> = timeline.arrivals.iter().flat_map(|of| arrivals(&canvas, of)).collect();
    let mut charts = match timeline.arrivals_are_requests {
        true => {
            let traces = requests(&canvas).into_iter().chain(arrivals).collect();
            vec![rate(
                &canvas,
                ChartTitle { text: "Offered load and throughput", unit: "requests/s" },
                traces,
            )]
        }
        false => vec![
            rate(&canvas, ChartTitle { text: "Throughput", unit: "requests/s" }, requests(&canvas)),
            rate(&canvas, ChartTitle { text: "Offered load", unit: "iterations/s" }, arrivals),
        ],
    };
    charts.retain(|chart| chart.svg.contains("class=\"line"));
    charts
}

/// Requests in flight.
pub(crate) fn in_flight(summary: &Summary) -> Vec<Chart> {
    let canvas = Canvas::new(summary);
    let values = || canvas.timeline.in_flight.iter();
    if !values().any(Option::is_some) {
        return Vec::new();
    }
    let y = linear(highest(values()) * HEADROOM, Unit::One);
    let points = canvas.points(values().copied());
    let traces = vec![Trace { fill: Fill::Below, ..trace("in flight", "c2", points) }];
    vec![canvas.chart(ChartTitle { text: "Requests in flight", unit: "time-averaged" }, y, traces)]
}

fn rate(canvas: &Canvas, title: ChartTitle, traces: Vec<Trace>) -> Chart {
    let points = traces.iter().flat_map(|trace| &trace.points).flatten();
    let high = points.map(|(_, per_s)| *per_s).fold(0.0, f64::max);
    canvas.chart(title, linear(high * HEADROOM, Unit::PerSecond), traces)
}

/// Requests that ended.
fn requests(canvas: &Canvas) -> Vec<Trace> {
    let timeline = canvas.timeline;
    let [_, recorded_s] = canvas.ends;
    let of = |values: &[f64]| canvas.rates(values, recorded_s);
    let ok = if timeline.failed.is_some() { "successes" } else { "responses, failed or not" };
    let mut traces = vec![Trace { fill: Fill::Below, ..trace(ok, "c0", of(&timeline.ok)) }];
    traces.extend(timeline.failed.iter().map(|failed| trace("failures", "bad", of(failed))));
    traces
}

/// Arrivals that were due.
fn arrivals(canvas: &Canvas, rates: &ArrivalRates) -> Vec<Trace> {
    let ArrivalRates { offered, started, dropped } = rates;
    let [load_s, _] = canvas.ends;
    let of = |values: &[f64]| canvas.rates(values, load_s);
    let mut traces =
        vec![trace("started", "c4", of(started)), trace("offered (arrivals due)", "offered", of(offered))];
    if dropped.iter().any(|n| *n > 0.0) {
        traces.push(trace("dropped arrivals", "c3 dashed", of(dropped)));
    }
    traces
}

/// Response times over time, one plot for each endpoint.
pub(crate) fn response_times(summary: &Summary) -> Vec<Chart> {
    let canvas = Canvas::new(summary);
    canvas.timeline.endpoints.iter().map(|line| response_time(&canvas, line)).collect()
}

fn response_time(canvas: &Canvas, line: &EndpointTimeline) -> Chart {
    let values = line.p50_ms.iter().chain(&line.p95_ms).chain(&line.p99_ms).flatten().copied();
    let highest = values.clone().fold(0.0, f64::max);
    let (bounds, above): (Vec<&TimeBound>, Vec<&TimeBound>) =
        line.bounds.iter().partition(|bound| bound.ms <= HIGHEST_BOUND * highest);
    let scale = Scale::log(values.chain(bounds.iter().map(|bound| bound.ms)).map(|ms| ms.max(0.001)));
    let of = |values: &[Option<f64>]| canvas.points(values.iter().copied());
    // The thinnest on top: where few samples make two the same, both are seen.
    let traces = vec![
        trace("p50", "p50", of(&line.p50_ms)),
        trace("p95", "p95", of(&line.p95_ms)),
        trace("p99", "p99", of(&line.p99_ms)),
    ];
    let bin_s = f64::from(canvas.timeline.bin_s);
    let bar = |(bin, share): (usize, &Option<f64>)| {
        Some(Bar { from: bin as f64 * bin_s, to: (bin + 1) as f64 * bin_s, height: (*share)? })
    };
    let run_time = canvas.run_time();
    let x_name = run_time.name();
    let RunTimeAxis { x, bands, marks } = run_time;
    let plot = Plot {
        description: format!("Response time of {} over run time, logarithmic", line.label),
        x,
        y: time_axis(scale),
        bands,
        traces,
        bars: line.failed_share.iter().enumerate().filter_map(bar).collect(),
        marks,
        bounds: bounds.iter().map(|bound| PlotBound { label: bound.label.clone(), at: bound.ms }).collect(),
        stalls: stalls(canvas.timeline),
    };
    Chart {
        title: line.label.clone(),
        unit: "response time".to_owned(),
        x_name,
        note: std::iter::once(successes_and_failures(&line.outcomes))
            .chain(above.iter().map(|bound| format!("{} is above the plot", bound.label)))
            .collect::<Vec<_>>()
            .join("; "),
        legend: Vec::new(),
        svg: plot.svg(),
    }
}

/// When the generator was stalled for much of the time, as intervals of run time.
fn stalls(timeline: &Timeline) -> Vec<(f64, f64)> {
    let bin_s = f64::from(timeline.bin_s);
    let mut stalls: Vec<(f64, f64)> = Vec::new();
    for (bin, _) in timeline.stalled.iter().enumerate().filter(|(_, is_stalled)| **is_stalled) {
        let (from, to) = (bin as f64 * bin_s, ((bin + 1) as f64 * bin_s).min(f64::from(timeline.seconds)));
        match stalls.last_mut().filter(|(_, end)| *end >= from) {
            Some((_, end)) => *end = to,
            None => stalls.push((from, to)),
        }
    }
    stalls
}

fn successes_and_failures(outcomes: &Outcomes) -> String {
    match (outcomes.ok(), outcomes.failed()) {
        (Some(ok), Some(failed)) => {
            let share = outcomes.failed_share();
            format!("{} ok, {} failed ({share})", number::count(ok), number::count(failed))
        }
        _ => format!("{} ended, failures not known", outcomes.completed_text()),
    }
}

fn time_axis(scale: Scale) -> Axis {
    let labels = scale.ticks.iter().map(|ms| number::time_tick(*ms)).collect();
    Axis { scale, unit: Unit::Ms, labels }
}

/// Response times by share of requests, one plot for each phase.
pub(crate) fn distributions(summary: &Summary) -> Vec<Chart> {
    let all = summary.distributions.iter().flat_map(|d| &d.curves).flat_map(|c| &c.points);
    let scale = Scale::log(all.map(|(_, ms)| *ms));
    summary.distributions.iter().map(|d| distribution(d, summary, &scale)).collect()
}

fn distribution(phase: &PhaseDistribution, summary: &Summary, scale: &Scale) -> Chart {
    // The position of a share in the tail, in powers of ten: 0.9 is 1, 0.99 is 2.
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
    let curve = |c: &DistributionCurve| {
        let points = c.points.iter().map(|(q, ms)| Some((decades(*q), *ms))).collect();
        trace(&c.label, &class(colour(&c.label)), points)
    };
    let traces: Vec<Trace> = phase.curves.iter().map(curve).collect();
    let legend = |c: &DistributionCurve| {
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
        marks: Vec::new(),
        bounds: Vec::new(),
        stalls: Vec::new(),
    };
    Chart {
        title: format!("Phase {}", phase.phase),
        unit: "response time by percentile".to_owned(),
        x_name: "share of requests that ended within the time",
        note: String::new(),
        legend: phase.curves.iter().map(legend).collect(),
        svg: plot.svg(),
    }
}

/// CPU and memory by target.
pub(crate) fn resources(summary: &Summary) -> Vec<Chart> {
    const MIB: f64 = 1_048_576.0;
    let canvas = Canvas::new(summary);
    let timeline = canvas.timeline;
    let lines = |series: &[BinnedSeries], scale: f64| -> Vec<Trace> {
        let of = |line: &BinnedSeries| canvas.points(line.values.iter().map(|v| v.map(|v| v / scale)));
        series.iter().enumerate().map(|(i, line)| trace(&line.label, &class(i), of(line))).collect()
    };
    let mut charts = Vec::new();
    if !timeline.cpu.is_empty() {
        let y = linear(highest(timeline.cpu.iter().flat_map(|l| &l.values)), Unit::Cores);
        charts.push(canvas.chart(ChartTitle { text: "CPU", unit: "cores" }, y, lines(&timeline.cpu, 1.0)));
    }
    if !timeline.rss.is_empty() {
        let y = linear(highest(timeline.rss.iter().flat_map(|l| &l.values)) / MIB, Unit::Bytes);
        charts.push(canvas.chart(
            ChartTitle { text: "Resident memory", unit: "MiB" },
            y,
            lines(&timeline.rss, MIB),
        ));
    }
    charts
}
