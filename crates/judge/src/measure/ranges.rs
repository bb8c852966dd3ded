//! The arrivals of an objective by the range of the time that each would have taken under an undisturbed generator: how
//! many are beyond its bound at least, and at most.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Outcome, Seconds, Widening, WideningCause};
use figures::RowKey;
use stats::Proportion;
use workload::{Filter, Flow, Scenario};

use super::bound::{Bound, Sides};
use super::despite_stalls;
use super::source::MeasureSource;
use super::times::dropped_observations;
use super::unread;
use crate::shares::BeyondCounts;

/// Which arrivals count for an objective on times, and by which bounds they are classified.
pub(super) struct TimeQuery<'a> {
    /// Response, service or iteration time.
    pub(super) metric: Metric,
    pub(super) filter: &'a Filter,
    /// The bound of the objective, then other cuts.
    pub(super) bounds: &'a [Bound],
}

/// Arrivals by their ranges.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    pub(super) arrivals: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    /// By the observed times alone; `at` are those in the bucket that contains the bound.
    pub(super) observed: Sides,
    pub(super) perturbed: u64,
    /// Dropped at the VU limit, and counted as beyond the bound.
    pub(super) dropped: u64,
    widened_by: BTreeMap<WideningCause, u64>,
    /// Beyond each bound, by second of the objective's window.
    pub(super) seconds: Vec<Vec<Proportion>>,
}

impl Ranges {
    /// Classifies the arrivals of a run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(super) fn read(source: &MeasureSource<'_>, query: &TimeQuery<'_>) -> Result<Ranges, ReadError> {
        let window = source.window(query.filter);
        let none = Proportion { part: 0, whole: 0 };
        let seconds = vec![vec![none; window.len().max(1)]; query.bounds.len()];
        let ranges = Ranges { seconds, ..Ranges::default() };
        let mut classifier = Classifier { source, query, window, ranges, perturbed_service: 0 };
        for (id, key) in source.run.keys() {
            classifier.add(*id, key)?;
        }
        classifier.under_way();
        classifier.unread();
        Ok(classifier.finished())
    }

    /// The counts for a question about the share beyond the bound.
    pub(super) fn counts(&self) -> BeyondCounts {
        let Sides { within, at, beyond } = self.observed;
        let observed = Proportion { part: beyond + at, whole: within + at + beyond };
        BeyondCounts { arrivals: self.arrivals, least: self.least, most: self.most, observed, at_bound: at }
    }

    /// The counts for a question about the share within it.
    pub(super) fn counts_within(&self) -> BeyondCounts {
        let Sides { within, at, beyond } = self.observed;
        BeyondCounts {
            arrivals: self.arrivals,
            least: self.arrivals - self.most,
            most: self.arrivals - self.least,
            observed: Proportion { part: within + at, whole: within + at + beyond },
            at_bound: at,
        }
    }

    /// Whether records of an imported source are missing, unreadable or contradicted.
    pub(super) fn has_unread(&self) -> bool {
        self.widened_by.get(&WideningCause::Unread).is_some_and(|arrivals| *arrivals > 0)
    }

    /// Why the least and the most differ.
    pub(super) fn widened_by(&self) -> Vec<Widening> {
        let known = self.widened_by.iter().filter(|(_, arrivals)| **arrivals > 0);
        known.map(|(cause, arrivals)| Widening { cause: *cause, arrivals: *arrivals }).collect()
    }
}

/// Arrivals while they are classified.
struct Classifier<'a> {
    source: &'a MeasureSource<'a>,
    query: &'a TimeQuery<'a>,
    window: Seconds,
    ranges: Ranges,
    /// Requests that a stall disturbed, whose service times are not counted apart.
    perturbed_service: u64,
}

impl Classifier<'_> {
    fn add(&mut self, id: KeyId, key: &Key) -> Result<(), ReadError> {
        let run = self.source.run;
        let TimeQuery { metric, filter, .. } = self.query;
        let is_iterations = *metric == Metric::IterationTime;
        let is_counted = RowKey::from(key).matches(filter);
        match key.metric {
            m if m == *metric && is_counted => {
                let outcome = key.outcome.unwrap_or(Outcome::Ok);
                for (second, times) in run.histograms(id, run.whole())? {
                    self.ended(outcome, second, &times);
                }
            }
            m if m == perturbed(*metric) && is_counted => {
                self.add_perturbed(id, key)?;
            }
            Metric::InFlightAge if is_counted && key.endpoint.is_empty() == is_iterations => {
                self.cut_off(&run.histogram(id, run.whole())?);
            }
            Metric::CutIterationAge if is_counted && is_iterations => {
                self.cut_off(&run.histogram(id, run.whole())?);
            }
            Metric::DroppedLate => {
                let dropped = run.total(id)? * self.observations_of(key);
                self.unknown(WideningCause::DroppedLate, dropped);
            }
            // Which requests they would have made is not known either: each may have been one of those that the objective counts.
            Metric::Dropped if *metric != Metric::ServiceTime && may_be_counted(key, filter) => {
                self.unknown(WideningCause::Dropped, run.total(id)?);
            }
            Metric::DroppedCap => {
                let observations = self.observations_of(key);
                for (second, dropped) in run.counts(id, run.whole())?.iter().filter(|_| observations > 0) {
                    self.dropped_at_cap(key, *second, dropped * observations);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What has no end in a run that has none either: it was killed, or is still going on.
    fn under_way(&mut self) {
        let (figures, filter) = (self.source.figures, self.query.filter);
        let is_in = |key: &RowKey| self.source.run.end().is_none() && key.matches(filter);
        let open: u64 = match self.query.metric {
            Metric::IterationTime => {
                let counted = figures.scenario_phases.iter().filter(|row| is_in(&row.key));
                counted.map(|row| row.started.saturating_sub(row.done + row.cancelled)).sum()
            }
            _ => {
                let counted = figures.endpoints().filter(|row| is_in(&row.key));
                counted.map(|row| row.begun().saturating_sub(row.responses())).sum()
            }
        };
        self.unknown(WideningCause::Cut, open);
    }

    /// What the source of an imported run leaves unknown.
    fn unread(&mut self) {
        let unknown = unread::count(self.source, self.query.metric, self.query.filter);
        self.unknown(WideningCause::Unread, unknown.more);
        let ranges = &mut self.ranges;
        let doubtful = unknown.doubtful.min(ranges.arrivals);
        ranges.least = ranges.least.saturating_sub(doubtful);
        ranges.most = (ranges.most + doubtful).min(ranges.arrivals);
        *ranges.widened_by.entry(WideningCause::Unread).or_default() += doubtful;
    }

    fn observations_of(&self, key: &Key) -> u64 {
        dropped_observations(self.source, self.query.metric, self.query.filter, key)
    }

    fn bound(&self) -> Bound {
        self.query.bounds[0]
    }

    /// Observations that ended in this second.
    fn ended(&mut self, outcome: Outcome, second: u32, times: &Histogram) {
        if outcome == Outcome::Cancelled {
            return self.cut_off(times);
        }
        let all = times.count();
        let sides = match outcome {
            Outcome::Ok => self.bound().sides(times),
            _ => Sides { beyond: all, ..Sides::default() },
        };
        let index = second.saturating_sub(self.window.start) as usize;
        for (bound, seconds) in self.query.bounds.iter().zip(&mut self.ranges.seconds) {
            let Sides { at, beyond, .. } = match outcome {
                Outcome::Ok => bound.sides(times),
                _ => sides,
            };
            let last = seconds.len() - 1;
            seconds[index.min(last)].part += at + beyond;
            seconds[index.min(last)].whole += all;
        }
        self.count(all, sides);
        *self.ranges.widened_by.entry(WideningCause::AtBound).or_default() += sides.at;
        if self.source.disturbed.may_hide(second) {
            self.perturbed(outcome, times, 0);
        }
    }

    fn count(&mut self, all: u64, sides: Sides) {
        let ranges = &mut self.ranges;
        ranges.arrivals += all;
        ranges.least += sides.beyond;
        ranges.most += sides.beyond + sides.at;
        ranges.observed.within += sides.within;
        ranges.observed.at += sides.at;
        ranges.observed.beyond += sides.beyond;
    }

    /// Requests or iterations that stalls disturbed, of one key.
    fn add_perturbed(&mut self, id: KeyId, key: &Key) -> Result<(), ReadError> {
        let run = self.source.run;
        let beyond = match self.query.metric {
            Metric::ResponseTime => despite_stalls::beyond(self.source, self.bound(), id, key)?,
            _ => 0,
        };
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        self.perturbed(outcome, &run.histogram(id, run.whole())?, beyond);
        Ok(())
    }

    /// Observations that were counted as ended, and that a stall may have delayed or made fail; so many of them are beyond
    /// the bound whatever it did.
    fn perturbed(&mut self, outcome: Outcome, times: &Histogram, beyond: u64) {
        let all = times.count();
        let attributable = match outcome {
            Outcome::Cancelled => return,
            Outcome::Ok => self.bound().sides(times).beyond,
            outcome if outcome.may_follow_a_burst() => all,
            _ => 0,
        };
        self.ranges.perturbed += all;
        if self.query.metric == Metric::ServiceTime {
            self.perturbed_service += if outcome == Outcome::Ok { all } else { attributable };
            return;
        }
        self.attribute_to_generator(attributable.saturating_sub(beyond));
    }

    /// So many that are beyond the bound may have been within it.
    fn attribute_to_generator(&mut self, attributable: u64) {
        self.ranges.least = self.ranges.least.saturating_sub(attributable);
        *self.ranges.widened_by.entry(WideningCause::Perturbed).or_default() += attributable;
    }

    /// Observations that have an age and no end.
    fn cut_off(&mut self, ages: &Histogram) {
        let beyond = match self.bound() {
            Bound::Failure => 0,
            bound @ Bound::Time(_) => bound.sides(ages).beyond,
        };
        self.count_unobserved(beyond, beyond);
        self.unknown(WideningCause::Cut, ages.count() - beyond);
    }

    /// Observations whose side is not known at all.
    fn unknown(&mut self, cause: WideningCause, count: u64) {
        self.count_unobserved(count, 0);
        *self.ranges.widened_by.entry(cause).or_default() += count;
    }

    fn count_unobserved(&mut self, all: u64, beyond: u64) {
        self.ranges.arrivals += all;
        self.ranges.most += all;
        self.ranges.least += beyond;
    }

    /// Arrivals due in this second that found the limit on virtual users reached. They count as failed, unless a stall
    /// or a limit that is too low may be the reason. How many requests an iteration of a script would have sent is not known.
    fn dropped_at_cap(&mut self, key: &Key, second: u32, dropped: u64) {
        let scenario = self.source.workload.scenarios.iter().find(|s| *s.name == *key.scenario);
        if scenario.is_some_and(|scenario| matches!(scenario.flow, Flow::Script { .. })) {
            return self.unknown(WideningCause::DroppedCap, dropped);
        }
        self.count(dropped, Sides { beyond: dropped, ..Sides::default() });
        self.ranges.dropped += dropped;
        let index = second.saturating_sub(self.window.start) as usize;
        for seconds in &mut self.ranges.seconds {
            let last = seconds.len() - 1;
            seconds[index.min(last)].part += dropped;
            seconds[index.min(last)].whole += dropped;
        }
        let attributable = match scenario {
            Some(scenario) if !is_cap_ample(scenario, self.bound()) => dropped,
            _ => {
                let of_key = RowKey::from(key).with_endpoint("");
                let figures = self.source.figures.scenario_phases.iter().find(|row| row.key == of_key);
                let due =
                    figures.and_then(|row| row.by_second.get(&second)).map_or(dropped, |row| row.scheduled);
                dropped.min((due as f64 * self.source.disturbed.share(second)).ceil() as u64)
            }
        };
        self.ranges.least -= attributable;
        *self.ranges.widened_by.entry(WideningCause::DroppedCap).or_default() += attributable;
    }

    fn finished(mut self) -> Ranges {
        // Any of them may be among those beyond the bound.
        self.attribute_to_generator(self.perturbed_service.min(self.ranges.least));
        self.ranges
    }
}

/// Whether an arrival of an unknown endpoint may have been of one that the filter counts.
fn may_be_counted(key: &Key, filter: &Filter) -> bool {
    let endpoint = filter.endpoint.as_deref().unwrap_or_default();
    RowKey::from(key).with_endpoint(endpoint).matches(filter)
}

/// The metric that counts the observations of `metric` that a stall disturbed.
pub(super) fn perturbed(metric: Metric) -> Metric {
    match metric {
        Metric::IterationTime => Metric::PerturbedIterationTime,
        _ => Metric::PerturbedResponseTime,
    }
}

/// Whether a target that answers within the bound leaves virtual users free: then only a slower one reaches the limit.
/// Of λ arrivals a second that take b each, λb are under way in the mean, with a standard deviation of √(λb) if arrivals are
/// a Poisson process. A drop counts as a failure by itself where the bound is not a time.
pub(super) fn is_cap_ample(scenario: &Scenario, bound: Bound) -> bool {
    let Some(seconds) = bound.seconds() else { return true };
    let thinks = scenario.steps().any(|step| !step.think.mean().is_zero());
    let under_way = scenario.executor.peak_rate() * seconds;
    scenario.flow.is_one_request()
        && !thinks
        && f64::from(scenario.max_vus) >= under_way + 3.0 * under_way.sqrt()
}
