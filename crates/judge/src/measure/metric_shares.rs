//! Thresholds of scripts as questions about a share of the values of a metric: `p(95)<500` asks whether at most 5 % of them
//! are 500 or more, `rate<0.01` whether at most 1 % are not zero.

use std::collections::BTreeMap;

use evidence::metric::{MetricId, MetricKey, MetricSums};
use evidence::run::{ReadError, select};
use evidence::{Key, Metric, Outcome, Seconds, Widening, WideningCause};
use figures::RowKey;
use stats::Proportion;
use workload::{Comparison, MetricMeasure, MetricStatistic, Objective};

use super::metric::{OF_REQUESTS, comparison_of_share, delay_ms, metrics, of_failed_requests};
use super::shares::{ShareMeasurement, WrongSide};
use super::source::MeasureSource;
use crate::shares::{self, BeyondCounts, Cut, CutPlace, CutTime, ShareQuestion};

/// The share that decides a threshold; none where it is not about one, or no value was added.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
    measure: &MetricMeasure,
) -> Result<Option<ShareMeasurement>, ReadError> {
    let Some(comparison) = comparison_of_share(objective) else { return Ok(None) };
    let query = match measure.statistic {
        MetricStatistic::NonzeroShare => ThresholdQuery::of_rate(objective.bound, comparison),
        MetricStatistic::Quantile(q) if is_compared(objective) => {
            ThresholdQuery::of_quantile(source, objective, measure, q)?
        }
        _ => return Ok(None),
    };
    // No share is below 0 or above 1: such a threshold is violated by every value.
    if !(0.0..=1.0).contains(&query.allowed) || query.is_never_met {
        return Ok(None);
    }
    let mut classified = ClassifiedValues::new(source, &query);
    for id in metrics(source.run, measure) {
        classified.add_metric(source, measure, id)?;
    }
    if classified.all == 0 {
        return Ok(None);
    }
    let widening = Widenings {
        attributable_to_generator: classified.attributable_to_generator(source, measure)?,
        dropped_values: classified.dropped_values(source, objective, measure)?,
        of_failed_requests: match query.wrong_side {
            WrongSide::Beyond => of_failed_requests(source.run, measure, |sums| {
                let (beyond, at) = sides(sums, &query, query.cuts[0].time);
                sums.count - beyond - at
            })?,
            _ => 0,
        },
    };
    Ok(Some(classified.measurement(source, widening)))
}

fn is_compared(objective: &Objective) -> bool {
    !matches!(objective.comparison, Comparison::Equal | Comparison::NotEqual)
}

/// How values are classified for one threshold.
struct ThresholdQuery {
    /// The bound, then other cuts; of a rate one that nothing but zero is within.
    cuts: Vec<CutTime>,
    is_rate: bool,
    /// Whether a value that equals the bound is beyond it.
    is_strict: bool,
    wrong_side: WrongSide,
    allowed: f64,
    /// Whether no share at all meets the threshold.
    is_never_met: bool,
}

impl ThresholdQuery {
    fn of_rate(bound: f64, comparison: Comparison) -> ThresholdQuery {
        let is_upper = comparison.is_upper();
        let (wrong_side, allowed) = match is_upper {
            true => (WrongSide::Beyond, bound),
            false => (WrongSide::Within, 1.0 - bound),
        };
        let is_never_met = allowed <= 0.0 && matches!(comparison, Comparison::Below | Comparison::Above);
        let cuts = vec![CutTime { place: CutPlace::NearBound, time: 0.0 }];
        ThresholdQuery { cuts, is_rate: true, is_strict: false, wrong_side, allowed, is_never_met }
    }

    fn of_quantile(
        source: &MeasureSource<'_>,
        objective: &Objective,
        measure: &MetricMeasure,
        q: f64,
    ) -> Result<ThresholdQuery, ReadError> {
        let bound = objective.bound;
        let mut all = MetricSums::default();
        for id in metrics(source.run, measure) {
            all.merge(&source.run.metric(id, source.run.whole())?);
        }
        let mut cuts = vec![CutTime { place: CutPlace::NearBound, time: bound }];
        // How far a level is from the bound is a question of their ratio.
        if let Some(seen) = all.quantile(q).filter(|seen| *seen > 0.0 && bound > 0.0) {
            cuts.extend(shares::other_cuts(seen, bound));
        }
        let (wrong_side, allowed) = match objective.comparison.is_upper() {
            true => (WrongSide::Beyond, 1.0 - q),
            false => (WrongSide::Within, q),
        };
        let is_strict = matches!(objective.comparison, Comparison::Below | Comparison::AtLeast);
        Ok(ThresholdQuery { cuts, is_rate: false, is_strict, wrong_side, allowed, is_never_met: false })
    }
}

/// Values of which it is not known on which side of the bound they are.
struct Widenings {
    /// Values beyond the bound that may be there because the generator stalled.
    attributable_to_generator: u64,
    /// Values that iterations would have added that were due and never begun, by why.
    dropped_values: [(WideningCause, u64); 3],
    /// Times within the bound of requests that failed, some of which were never sent.
    of_failed_requests: u64,
}

/// Values by their side of the bound.
struct ClassifiedValues<'a> {
    query: &'a ThresholdQuery,
    /// Beyond each cut, by second.
    seconds: Vec<Vec<Proportion>>,
    all: u64,
    beyond: u64,
    /// Those in the bucket that contains the bound.
    at: u64,
    /// Those beyond the bound by more than stalls can have added, and those that none disturbed.
    beyond_despite_stalls: u64,
    /// Requests that stalls displaced, in the seconds that they disturbed.
    displaced: u64,
    displaced_until: u32,
}

/// Values of one second beyond a cut, and in the bucket that contains it.
fn sides(sums: &MetricSums, query: &ThresholdQuery, cut: f64) -> (u64, u64) {
    if query.is_rate {
        return (sums.nonzero, 0);
    }
    let is_beyond = |value: f64| if query.is_strict { value >= cut } else { value > cut };
    sums.buckets.ranges().fold((0, 0), |(beyond, at), (low, high, count)| {
        match (is_beyond(low.max(sums.min)), is_beyond(high.min(sums.max))) {
            (true, _) => (beyond + count, at),
            (false, true) => (beyond, at + count),
            (false, false) => (beyond, at),
        }
    })
}

/// How many values each scenario added to the metrics of a threshold, and how many name no scenario.
fn values_by_scenario<'r>(
    source: &MeasureSource<'r>,
    measure: &MetricMeasure,
) -> Result<(BTreeMap<&'r str, u64>, u64), ReadError> {
    let (mut named, mut unnamed) = (BTreeMap::new(), 0);
    for (id, key) in source.run.metrics().iter().filter(|(_, key)| measure.counts(key)) {
        let count = source.run.metric(*id, source.run.whole())?.count;
        match key.tags.get(MetricKey::SCENARIO) {
            Some(scenario) => *named.entry(&**scenario).or_default() += count,
            None => unnamed += count,
        }
    }
    Ok((named, unnamed))
}

impl<'a> ClassifiedValues<'a> {
    fn new(source: &MeasureSource<'_>, query: &'a ThresholdQuery) -> ClassifiedValues<'a> {
        let none = Proportion { part: 0, whole: 0 };
        let length = source.window(&Default::default()).end.max(1) as usize;
        ClassifiedValues {
            query,
            seconds: vec![vec![none; length]; query.cuts.len()],
            all: 0,
            beyond: 0,
            at: 0,
            beyond_despite_stalls: 0,
            displaced: 0,
            displaced_until: 0,
        }
    }

    fn add_metric(
        &mut self,
        source: &MeasureSource<'_>,
        measure: &MetricMeasure,
        id: MetricId,
    ) -> Result<(), ReadError> {
        let bound = self.query.cuts[0].time;
        for (interval, sums) in source.run.metric_intervals(id, source.run.whole())? {
            let (beyond, at) = sides(&sums, self.query, bound);
            self.all += sums.count;
            self.beyond += beyond;
            self.at += at;
            for (cut, seconds) in self.query.cuts.iter().zip(&mut self.seconds) {
                let (beyond, at) = sides(&sums, self.query, cut.time);
                let last = seconds.len() - 1;
                let of_second = &mut seconds[(interval.start as usize).min(last)];
                of_second.part += match self.query.wrong_side {
                    WrongSide::Beyond | WrongSide::Failed => beyond + at,
                    WrongSide::Within | WrongSide::Succeeded => sums.count - beyond,
                };
                of_second.whole += sums.count;
            }
            if measure.is_of_times() {
                self.add_despite_stalls(source, interval, &sums);
            }
        }
        // The same requests are in every part of the metric.
        self.displaced_until = 0;
        Ok(())
    }

    fn add_despite_stalls(&mut self, source: &MeasureSource<'_>, interval: Seconds, sums: &MetricSums) {
        let delay_ms = delay_ms(source, interval.clone(), sums);
        let (beyond, _) = sides(sums, self.query, self.query.cuts[0].time + delay_ms);
        self.beyond_despite_stalls += beyond;
        if delay_ms > 0.0 && beyond > 0 {
            self.displaced += source.disturbed.moved(interval.start.max(self.displaced_until)..interval.end);
            self.displaced_until = interval.end;
        }
    }

    /// Of the values beyond the bound, how many may be there because the generator stalled: no more than requests were
    /// disturbed, and none that is beyond it by more than stalls can have added.
    fn attributable_to_generator(
        &self,
        source: &MeasureSource<'_>,
        measure: &MetricMeasure,
    ) -> Result<u64, ReadError> {
        let is_of_requests = measure.name.starts_with(OF_REQUESTS);
        if !measure.is_of_times() && !is_of_requests {
            return Ok(0);
        }
        let (mut disturbed, mut failed) = (0, 0);
        for (id, key) in select(source.run.keys(), Metric::PerturbedResponseTime, |_| true) {
            let count = source.run.histogram(id, source.run.whole())?.count();
            disturbed += count;
            failed += if key.outcome.unwrap_or(Outcome::Ok).may_follow_a_burst() { count } else { 0 };
        }
        let by_requests = match (is_of_requests, measure.is_of_times()) {
            (true, true) => disturbed,
            (true, false) => failed,
            (false, _) => u64::MAX,
        };
        let by_delay = match measure.is_of_times() {
            true => self.beyond.saturating_sub(self.beyond_despite_stalls.saturating_sub(self.displaced)),
            false => u64::MAX,
        };
        Ok(by_requests.min(by_delay).min(self.beyond))
    }

    /// How many values the iterations would have added that were due and never begun, if each had added as many as those of its
    /// scenario that were begun. Where none of its scenario was, and for values that name no scenario, all iterations are averaged.
    fn dropped_values(
        &self,
        source: &MeasureSource<'_>,
        objective: &Objective,
        measure: &MetricMeasure,
    ) -> Result<[(WideningCause, u64); 3], ReadError> {
        let run = source.run;
        let by_scenario = |metric| -> Result<BTreeMap<&str, u64>, ReadError> {
            let is_counted = |key: &Key| RowKey::from(key).matches(&objective.filter);
            let mut totals = BTreeMap::new();
            for (id, key) in select(run.keys(), metric, is_counted) {
                *totals.entry(&*key.scenario).or_default() += run.total(id)?;
            }
            Ok(totals)
        };
        let started = by_scenario(Metric::Started)?;
        let all_started: u64 = started.values().sum();
        let (values, unnamed) = values_by_scenario(source, measure)?;
        let each = |scenario: &str| match started.get(scenario).filter(|started| **started > 0) {
            Some(started) => {
                let own = values.get(scenario).copied().unwrap_or(0);
                own as f64 / *started as f64 + unnamed as f64 / all_started as f64
            }
            None if all_started > 0 => self.all as f64 / all_started as f64,
            None => 0.0,
        };
        let dropped = |metric| -> Result<u64, ReadError> {
            let dropped = by_scenario(metric)?;
            Ok(dropped.iter().map(|(scenario, dropped)| *dropped as f64 * each(scenario)).sum::<f64>().ceil()
                as u64)
        };
        Ok([
            (WideningCause::DroppedCap, dropped(Metric::DroppedCap)?),
            (WideningCause::DroppedLate, dropped(Metric::DroppedLate)?),
            (WideningCause::Dropped, dropped(Metric::Dropped)?),
        ])
    }

    fn measurement(self, source: &MeasureSource<'_>, widenings: Widenings) -> ShareMeasurement {
        let ClassifiedValues { query, seconds, all, beyond, at, .. } = self;
        let Widenings { attributable_to_generator, dropped_values, of_failed_requests } = widenings;
        let unknown: u64 = dropped_values.iter().map(|(_, values)| values).sum();
        let counts = match query.wrong_side {
            WrongSide::Beyond | WrongSide::Failed => BeyondCounts {
                arrivals: all + unknown,
                least: beyond - attributable_to_generator,
                most: beyond + at + of_failed_requests + unknown,
                observed: Proportion { part: beyond + at, whole: all },
                at_bound: at,
            },
            WrongSide::Within | WrongSide::Succeeded => BeyondCounts {
                arrivals: all + unknown,
                least: all - beyond - at,
                most: all - beyond + attributable_to_generator + unknown,
                observed: Proportion { part: all - beyond, whole: all },
                at_bound: at,
            },
        };
        let of_a_second = all as f64 / seconds.first().map_or(1, Vec::len) as f64;
        let mut cuts = query.cuts.iter().zip(seconds).map(|(cut, seconds)| Cut { place: cut.place, seconds });
        let nothing = Cut { place: CutPlace::NearBound, seconds: Vec::new() };
        let question = ShareQuestion {
            counts,
            at_bound: cuts.next().unwrap_or(nothing),
            other_cuts: cuts.collect(),
            allowed: query.allowed,
            confidence: source.confidence(),
            assumed_effect: match query.is_rate {
                true => stats::UNKNOWN_DESIGN_EFFECT,
                false => shares::assumed_effect(of_a_second),
            },
        };
        let widened = [
            (WideningCause::Perturbed, attributable_to_generator),
            (WideningCause::AtBound, at),
            (WideningCause::FailedInMetric, of_failed_requests),
        ];
        let widened = widened.into_iter().chain(dropped_values).filter(|(_, arrivals)| *arrivals > 0);
        ShareMeasurement {
            decision: question.decide(),
            question,
            wrong_side: query.wrong_side,
            perturbed: attributable_to_generator,
            dropped: 0,
            is_perturbed_counted: true,
            widened_by: widened.map(|(cause, arrivals)| Widening { cause, arrivals }).collect(),
        }
    }
}
