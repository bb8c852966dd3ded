//! Load against response time, goodput and resources: the plots of a capacity search.

use evidence::capacity::{CapacityJudgement, CapacityProbe, ProbeStage};

use super::{Chart, HEADROOM, TICKS, class, linear, time_axis, trace};
use crate::charts::plot::{Axis, Band, Plot, Trace, Unit};
use crate::charts::ticks::Scale;
use crate::number;

/// What is at this height of a plot of shares, in percent.
const WHOLE: f64 = 100.0;
/// The class of single probes.
const DOTS: &str = "dots";

type ProbeValue<'a> = &'a dyn Fn(&CapacityProbe) -> Option<f64>;

/// The plots of a search.
pub(crate) fn of(judgement: &CapacityJudgement) -> Vec<Chart> {
    let plotted = Plotted::of(judgement);
    let mut charts = vec![plotted.response_times(), plotted.goodput()];
    charts.extend(plotted.resources());
    charts.extend(plotted.failures());
    charts.retain(|chart| chart.svg.contains("class=\"line"));
    charts
}

/// The probes that say something of a steady load.
struct Plotted<'a> {
    judgement: &'a CapacityJudgement,
    probes: Vec<&'a CapacityProbe>,
    /// Every level, ascending.
    levels: Vec<f64>,
}

impl<'a> Plotted<'a> {
    fn of(judgement: &'a CapacityJudgement) -> Plotted<'a> {
        let is_shown =
            |probe: &&CapacityProbe| probe.stage != ProbeStage::Overload && probe.unusable.is_none();
        let probes: Vec<&CapacityProbe> = judgement.probes.iter().filter(is_shown).collect();
        let mut levels: Vec<f64> = probes.iter().map(|probe| probe.level).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-6);
        Plotted { judgement, probes, levels }
    }

    fn x(&self) -> Axis {
        let high = self.levels.last().copied().unwrap_or(1.0) * HEADROOM;
        linear(high, if self.judgement.unit == "arrivals/s" { Unit::PerSecond } else { Unit::One })
    }

    /// Where it holds, where that is not shown, and where it breaks.
    fn bands(&self, x: &Axis) -> Vec<Band> {
        let (low, high) = (x.scale.low, x.scale.high);
        let CapacityJudgement { holds, breaks, is_more_better, .. } = self.judgement;
        let (easy, hard) = if *is_more_better { (*breaks, *holds) } else { (*holds, *breaks) };
        let names = if *is_more_better { ["breaks", "95 %", "holds"] } else { ["holds", "95 %", "breaks"] };
        let (first, last) = (easy.unwrap_or(low), hard.unwrap_or(high));
        let ends = [(low, first), (first, last), (last, high)];
        let bands =
            names.into_iter().zip(ends).map(|(name, (from, to))| Band { label: name.to_owned(), from, to });
        bands.filter(|band| band.to > band.from).collect()
    }

    fn dots(&self, value: ProbeValue<'_>) -> Vec<Option<(f64, f64)>> {
        self.probes.iter().flat_map(|probe| [value(probe).map(|value| (probe.level, value)), None]).collect()
    }

    /// The median of each level.
    fn medians(&self, value: ProbeValue<'_>) -> Vec<Option<(f64, f64)>> {
        let of = |level: &f64| {
            let its = self.probes.iter().filter(|probe| (probe.level / level - 1.0).abs() < 1e-6);
            let mut values: Vec<f64> = its.filter_map(|probe| value(probe)).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
            Some((*level, f64::midpoint(*low, *high)))
        };
        self.levels.iter().map(of).collect()
    }

    fn chart(&self, title: &str, unit: &str, y: Axis, traces: Vec<Trace>) -> Chart {
        let legend =
            traces.iter().filter(|t| !t.label.is_empty()).map(|t| (t.class.clone(), t.label.clone()));
        let legend = legend.collect();
        let x = self.x();
        let plot = Plot {
            description: format!("{title} by load, {unit}"),
            bands: self.bands(&x),
            x,
            y,
            traces,
            bars: Vec::new(),
            marks: Vec::new(),
            bounds: Vec::new(),
            stalls: Vec::new(),
        };
        Chart {
            title: title.to_owned(),
            unit: unit.to_owned(),
            x_name: "load",
            note: String::new(),
            legend,
            svg: plot.svg(),
        }
    }

    fn horizontal(&self, label: &str, at: f64) -> Trace {
        let x = self.x();
        trace(label, "bad dashed", vec![Some((x.scale.low, at)), Some((x.scale.high, at))])
    }

    /// The first objective on a time, with its bound, its probes and the quantiles beside it.
    fn response_times(&self) -> Chart {
        let slo = self.judgement.slos.iter().position(|slo| slo.unit == "ms");
        let value = |probe: &CapacityProbe| probe.values.get(slo?).copied().flatten();
        let p50 = |probe: &CapacityProbe| probe.p50_ms;
        let p99 = |probe: &CapacityProbe| probe.p99_ms;
        let mut traces =
            vec![trace("p99", "p99", self.medians(&p99)), trace("p50", "p50", self.medians(&p50))];
        if let Some(slo) = slo.map(|at| &self.judgement.slos[at]) {
            traces.push(trace(&slo.of, "p95", self.medians(&value)));
            traces.push(trace("single probes", &format!("p95 {DOTS}"), self.dots(&value)));
            traces.push(self.horizontal(&format!("bound, {}", number::time(slo.bound)), slo.bound));
        }
        let values = traces.iter().flat_map(|t| &t.points).flatten().map(|(_, ms)| ms.max(0.001));
        let scale = Scale::log(values.collect::<Vec<f64>>().into_iter());
        self.chart("Response time", "by load, logarithmic", time_axis(scale), traces)
    }

    fn goodput(&self) -> Chart {
        let goodput = |probe: &CapacityProbe| Some(probe.goodput);
        let offered = |probe: &CapacityProbe| (probe.offered > 0.0).then_some(probe.offered);
        let traces = vec![
            trace("offered", "offered", self.medians(&offered)),
            trace("answered correctly", "c0", self.medians(&goodput)),
            trace("", &format!("c0 {DOTS}"), self.dots(&goodput)),
        ];
        let high = traces.iter().flat_map(|t| &t.points).flatten().map(|(_, y)| *y).fold(0.0, f64::max);
        self.chart("Goodput", "requests a second by load", linear(high * HEADROOM, Unit::PerSecond), traces)
    }

    /// The used share of everything whose limit is known.
    fn resources(&self) -> Option<Chart> {
        let mut names: Vec<&str> = Vec::new();
        for resource in self.probes.iter().flat_map(|probe| &probe.uses) {
            if !names.contains(&resource.name.as_str()) {
                names.push(&resource.name);
            }
        }
        let line = |(index, name): (usize, &&str)| {
            let share = |probe: &CapacityProbe| {
                Some(probe.uses.iter().find(|resource| resource.name == **name)?.share()? * WHOLE)
            };
            trace(name, &class(index), self.medians(&share))
        };
        let mut traces: Vec<Trace> = names.iter().enumerate().map(line).collect();
        if traces.is_empty() {
            return None;
        }
        traces.push(self.horizontal("limit", WHOLE));
        let high = traces.iter().flat_map(|t| &t.points).flatten().map(|(_, y)| *y).fold(WHOLE, f64::max);
        Some(self.chart(
            "Resources",
            "used share of their limits by load, %",
            linear(high * HEADROOM, Unit::One),
            traces,
        ))
    }

    fn failures(&self) -> Option<Chart> {
        let failed = |probe: &CapacityProbe| Some(probe.failed * WHOLE);
        let high = self.probes.iter().map(|probe| probe.failed * WHOLE).fold(0.0, f64::max);
        if high <= 0.0 {
            return None;
        }
        let traces = vec![
            trace("failed", "bad", self.medians(&failed)),
            trace("", &format!("bad {DOTS}"), self.dots(&failed)),
        ];
        let scale = Scale::from_zero(high * HEADROOM, TICKS);
        let labels = scale.ticks.iter().map(|tick| number::tick(*tick)).collect();
        Some(self.chart("Failed requests", "by load, %", Axis { scale, unit: Unit::One, labels }, traces))
    }
}
