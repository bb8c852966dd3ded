//! What a run has counted of an objective so far, second by second and by the side of its bound.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use evidence::metric::{MetricId, MetricSums};
use evidence::stop_rule::Counted;
use evidence::{Histogram, Instance, Key, KeyId, Metric, Tick};
use workload::{Comparison, Measure, MetricMeasure, Objective, Statistic, Workload};

use crate::stop_rules::counted;

/// The most spans of time that are kept. Where there would be more, two neighbours become one.
const MOST_SPANS: usize = 1_200;
/// Times are cut at the bound, and at those above and below it by this factor and its powers.
pub const CUT_RATIO: f64 = 1.5;
/// How many cuts there are on each side of the bound.
const CUTS_BESIDE: usize = 4;
/// How many cuts there are.
pub const CUTS: usize = 2 * CUTS_BESIDE + 1;
/// The cut at the bound.
pub const AT_BOUND: usize = CUTS_BESIDE;

/// Counts what arrivals are to one objective, tick by tick.
pub struct ObjectiveCounter {
    counted: Box<dyn Fn(&Key) -> Counted + Send>,
    /// By loop and its key; what is ignored is left out.
    keys: HashMap<(Instance, KeyId), Counted>,
    /// Of an objective on a metric of a script.
    metric: Option<MetricMeasure>,
    /// By loop, its metrics whose values count.
    metrics: HashSet<(Instance, MetricId)>,
    counts: ObjectiveCounts,
}

/// What was counted for one objective.
#[derive(Debug, Clone)]
pub struct ObjectiveCounts {
    /// The first second that counts.
    start_s: u32,
    /// The length of each span in seconds.
    span_s: u32,
    /// By span, from [`ObjectiveCounts::start_s`] on.
    pub spans: Vec<Span>,
    /// Successes.
    pub good: u64,
    /// Failures and what counts as such.
    pub bad: u64,
    /// Times of successes.
    pub times: Histogram,
    /// Values of a script's metric.
    values: MetricSums,
    bound: Option<TimeBound>,
}

/// What was counted in some seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// All that count.
    pub arrivals: u64,
    /// Of these, beyond each cut: failures, and what took longer.
    pub beyond: [u64; CUTS],
    /// Of these, in the bucket of a histogram that contains the bound: they are counted as not beyond it.
    pub at_bound: u64,
}

/// Of an objective on a time, in microseconds.
#[derive(Debug, Clone, Copy)]
struct TimeBound {
    us: f64,
    /// Whether a time that equals the bound is beyond it.
    is_strict: bool,
}

impl ObjectiveCounter {
    /// Nothing is counted yet.
    pub fn new(workload: &Workload, objective: &Objective) -> ObjectiveCounter {
        let counted = counted(workload, objective);
        ObjectiveCounter {
            // The generator's own fault says nothing of the target; that load is missing is said beside all objectives.
            counted: Box::new(move |key| match key.metric {
                Metric::DroppedLate => Counted::Ignored,
                _ => counted(key),
            }),
            keys: HashMap::new(),
            metric: match &objective.measure {
                Measure::Metric(metric) => Some(metric.clone()),
                _ => None,
            },
            metrics: HashSet::new(),
            counts: ObjectiveCounts {
                start_s: whole_seconds(workload.window_start(&objective.filter)),
                span_s: 1,
                spans: Vec::new(),
                good: 0,
                bad: 0,
                times: Histogram::new(),
                values: MetricSums::default(),
                bound: TimeBound::from_objective(objective),
            },
        }
    }

    /// Adds one second of one loop.
    pub fn take(&mut self, tick: &Tick) {
        match &self.metric {
            Some(_) => self.take_metrics(tick),
            None => self.take_arrivals(tick),
        }
    }

    fn take_metrics(&mut self, tick: &Tick) {
        let is_counted = |key| self.metric.as_ref().is_some_and(|metric| metric.counts(key));
        let new = tick.metrics.new.iter().filter(|(_, key)| is_counted(key));
        self.metrics.extend(new.map(|(id, _)| (tick.instance, *id)));
        let sums = tick.metrics.sums();
        let counted = sums.iter().filter(|(id, _)| self.metrics.contains(&(tick.instance, *id)));
        counted.for_each(|(_, sums)| self.counts.values.merge(sums));
    }

    fn take_arrivals(&mut self, tick: &Tick) {
        for (id, key) in &tick.new_keys {
            match (self.counted)(key) {
                Counted::Ignored => {}
                counted => {
                    self.keys.insert((tick.instance, *id), counted);
                }
            }
        }
        let keys = &self.keys;
        let counted = |id: KeyId| keys.get(&(tick.instance, id)).copied().unwrap_or(Counted::Ignored);
        for (id, times) in tick.histograms() {
            match counted(id) {
                Counted::Good => self.counts.add_times(tick.second, times),
                Counted::Bad(weight) => self.counts.add_bad(tick.second, times.count() * weight),
                Counted::Ignored => {}
            }
        }
        for count in tick.counts() {
            match counted(count.key) {
                Counted::Good => self.counts.add_good(count.second, count.value),
                Counted::Bad(weight) => self.counts.add_bad(count.second, count.value * weight),
                Counted::Ignored => {}
            }
        }
    }

    /// Everything so far.
    pub fn counts(&self) -> &ObjectiveCounts {
        &self.counts
    }
}

impl ObjectiveCounts {
    /// How many seconds its spans are long.
    pub fn span_s(&self) -> u32 {
        self.span_s
    }

    /// How many arrivals counted so far.
    pub fn arrivals(&self) -> u64 {
        self.good + self.bad
    }

    /// The value of `objective`, which this counted, after so many seconds of the run; infinite where too much failed, none
    /// where nothing was counted or ticks do not have it.
    pub fn value(&self, objective: &Objective, elapsed_s: u32) -> Option<f64> {
        let seconds = f64::from(elapsed_s.saturating_sub(self.start_s));
        let per_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        match &objective.measure {
            Measure::Throughput => per_second(self.arrivals()),
            Measure::Goodput { within: None } => per_second(self.good),
            Measure::Goodput { within: Some(limit) } => {
                let limit_us = limit.as_secs_f64() * 1e6;
                let within = self.times.buckets().filter(|(_, highest, _)| *highest as f64 <= limit_us);
                per_second(within.map(|(_, _, count)| count).sum())
            }
            Measure::Metric(_) if self.values.count == 0 => None,
            Measure::Metric(metric) => {
                Some(metric.statistic.value(&self.values, Duration::from_secs(elapsed_s.into())))
            }
            measure => measure.watched()?.value(self.good, self.bad, &self.times),
        }
    }

    fn add_times(&mut self, second: u32, times: &Histogram) {
        self.good += times.count();
        self.times.merge(times);
        let bound = self.bound;
        let Some(span) = self.span_mut(second) else { return };
        span.arrivals += times.count();
        let Some(bound) = bound else { return };
        let cuts: [f64; CUTS] = std::array::from_fn(|cut| bound.us * cut_ratio(cut));
        for (lowest, highest, count) in times.buckets() {
            for (cut, us) in cuts.iter().enumerate() {
                let is_beyond = match cut == AT_BOUND {
                    true => bound.is_beyond(lowest),
                    false => lowest as f64 > *us,
                };
                span.beyond[cut] += if is_beyond { count } else { 0 };
            }
            if !bound.is_beyond(lowest) && bound.is_beyond(highest) {
                span.at_bound += count;
            }
        }
    }

    fn add_good(&mut self, second: u32, count: u64) {
        self.good += count;
        if let Some(span) = self.span_mut(second) {
            span.arrivals += count;
        }
    }

    fn add_bad(&mut self, second: u32, count: u64) {
        self.bad += count;
        if let Some(span) = self.span_mut(second) {
            span.arrivals += count;
            span.beyond.iter_mut().for_each(|beyond| *beyond += count);
        }
    }

    /// The span of a second. What ends before the first that counts belongs to it: none does, but for clocks.
    fn span_mut(&mut self, second: u32) -> Option<&mut Span> {
        let after = second.saturating_sub(self.start_s);
        while (after / self.span_s) as usize >= MOST_SPANS {
            self.spans =
                self.spans.chunks(2).map(|pair| pair.iter().fold(Span::default(), Span::and)).collect();
            self.span_s *= 2;
        }
        let at = (after / self.span_s) as usize;
        self.spans.resize(self.spans.len().max(at + 1), Span::default());
        self.spans.get_mut(at)
    }
}

impl Span {
    fn and(self, other: &Span) -> Span {
        Span {
            arrivals: self.arrivals + other.arrivals,
            beyond: std::array::from_fn(|cut| self.beyond[cut] + other.beyond[cut]),
            at_bound: self.at_bound + other.at_bound,
        }
    }
}

impl TimeBound {
    fn from_objective(objective: &Objective) -> Option<TimeBound> {
        match objective.measure {
            Measure::ResponseTime(Statistic::Quantile(_))
            | Measure::ServiceTime(Statistic::Quantile(_))
            | Measure::IterationTime(Statistic::Quantile(_)) => Some(TimeBound {
                us: objective.bound * 1_000.0,
                is_strict: matches!(objective.comparison, Comparison::Below | Comparison::AtLeast),
            }),
            _ => None,
        }
    }

    fn is_beyond(self, us: u64) -> bool {
        let us = us as f64;
        if self.is_strict { us >= self.us } else { us > self.us }
    }
}

/// A cut as a multiple of the bound.
fn cut_ratio(cut: usize) -> f64 {
    CUT_RATIO.powi(cut as i32 - AT_BOUND as i32)
}

/// The cut that is nearest to a time, given as a multiple of the bound.
pub fn nearest_cut(ratio: f64) -> usize {
    let steps = (ratio.max(f64::MIN_POSITIVE).ln() / CUT_RATIO.ln()).round();
    (steps + AT_BOUND as f64).clamp(0.0, (CUTS - 1) as f64) as usize
}

fn whole_seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evidence::metric::{MetricHandle, MetricKey, MetricKind};
    use evidence::{Instant, Name};
    use workload::{MetricStatistic, MetricUnit};

    use super::*;

    fn counts(text: &str) -> ObjectiveCounts {
        let objective = workload::objective::parse("named", text).unwrap();
        ObjectiveCounts {
            start_s: 10,
            span_s: 1,
            spans: Vec::new(),
            good: 0,
            bad: 0,
            times: Histogram::new(),
            values: MetricSums::default(),
            bound: TimeBound::from_objective(&objective),
        }
    }

    fn times(us: &[u64]) -> Histogram {
        let mut times = Histogram::new();
        us.iter().for_each(|us| times.record_us(*us, 1));
        times
    }

    #[test]
    fn times_are_cut_at_the_bound_and_at_its_powers_and_failures_are_beyond_all() {
        let mut counts = counts("p95(list) < 50ms");
        // Bounds of 9.9, 14.8, 22.2, 33.3, 50, 75, 112.5, 168.8 and 253.1 ms. A bucket has 49.984 to 50.015 ms.
        counts.add_times(10, &times(&[5_000, 20_000, 49_000, 50_010, 60_000, 300_000]));
        counts.add_bad(11, 2);
        let [first, second] = counts.spans[..] else { panic!("{:?}", counts.spans) };
        assert_eq!((first.beyond, first.at_bound, first.arrivals), ([5, 5, 4, 4, 2, 1, 1, 1, 1], 1, 6));
        assert_eq!((second.beyond, second.at_bound, second.arrivals), ([2; CUTS], 0, 2));
        assert_eq!((counts.good, counts.bad, counts.arrivals()), (6, 2, 8));
        assert_eq!([0.01, 0.9, 1.0, 1.3, 1.8, 1e9].map(nearest_cut), [0, 4, 4, 5, 5, 8]);
    }

    #[test]
    fn spans_of_a_long_run_become_longer_and_lose_nothing() {
        let mut counts = counts("error_rate(all) < 1%");
        for second in 10..10_010 {
            counts.add_good(second, 3);
            counts.add_bad(second, u64::from(second % 2));
        }
        assert_eq!((counts.span_s(), counts.spans.len()), (16, 625));
        let sum = |of: fn(&Span) -> u64| counts.spans.iter().map(of).sum::<u64>();
        assert_eq!((sum(|span| span.arrivals), sum(|span| span.beyond[AT_BOUND])), (35_000, 5_000));
        assert_eq!(counts.spans[7], Span { arrivals: 56, beyond: [8; CUTS], at_bound: 0 });
        // What comes late is added where it belongs.
        counts.add_bad(10, 1);
        assert_eq!(counts.spans[0].beyond[AT_BOUND], 9);
    }

    #[test]
    fn a_threshold_has_the_values_of_its_metric_and_tags() {
        let measure = |statistic| MetricMeasure {
            name: "waited".to_owned(),
            tags: BTreeMap::from([("page".to_owned(), "cart".to_owned())]),
            statistic,
            unit: MetricUnit::Milliseconds,
        };
        let objective = |statistic| Objective {
            measure: Measure::Metric(measure(statistic)),
            ..workload::objective::parse("named", "p95(list) < 50ms").unwrap()
        };
        let key = |name: &str, page: &str| MetricKey {
            name: name.into(),
            kind: MetricKind::Trend,
            tags: BTreeMap::from([("page".into(), page.into())]),
            phase: Name::from("run"),
        };
        let mut counter = ObjectiveCounter::new(&Workload::named("named"), &objective(MetricStatistic::Sum));
        let value = |counter: &ObjectiveCounter, statistic| counter.counts().value(&objective(statistic), 4);
        assert_eq!(value(&counter, MetricStatistic::Mean), None);
        let mut tick = Tick::default();
        for (number, (name, page)) in
            [("waited", "cart"), ("waited", "list"), ("other", "cart")].into_iter().enumerate()
        {
            let id = MetricId(number as u32);
            tick.metrics.new.push((id, key(name, page)));
            let handle = MetricHandle { id, kind: MetricKind::Trend };
            for value in [10.0, 30.0] {
                tick.metrics.add(handle, value + number as f64, Instant::from_nanos(1));
            }
        }
        counter.take(&tick);
        // It is announced once.
        tick.metrics.new.clear();
        counter.take(&tick);
        assert_eq!(value(&counter, MetricStatistic::Mean), Some(20.0));
        assert_eq!(value(&counter, MetricStatistic::SumPerSecond), Some(20.0), "80 in 4 s");
        assert_eq!(value(&counter, MetricStatistic::Max), Some(30.0));
    }

    #[test]
    fn a_rate_is_of_the_seconds_since_the_objective_counts() {
        let objective = |text: &str| workload::objective::parse("named", text).unwrap();
        let mut counts = counts("throughput(all) > 5/s");
        counts.add_times(10, &times(&[1_000, 60_000, 80_000]));
        counts.add_bad(11, 1);
        let value = |text: &str, elapsed_s| counts.value(&objective(text), elapsed_s);
        assert_eq!(value("throughput(all) > 5/s", 14), Some(1.0));
        assert_eq!(value("goodput(all) > 5/s", 14), Some(0.75));
        assert_eq!(value("goodput(all, within = 50ms) > 5/s", 14), Some(0.25));
        assert_eq!(value("error_rate(all) < 5%", 14), Some(0.25));
        assert_eq!(value("throughput(all) > 5/s", 10), None);
    }
}
