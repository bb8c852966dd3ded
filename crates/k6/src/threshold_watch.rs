//! Ends a run whose threshold with `abortOnFail` does not hold: evaluated every two seconds on all that was counted so far.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{Command, Control};
use evidence::delivered::DeliveredSeconds;
use evidence::instance::Instance;
use evidence::metric::{MetricId, MetricKind, MetricSums};
use evidence::sink::{Sink, SinkError};
use evidence::{Name, Observed, RunEnd, Tick};

use crate::options::thresholds::MetricThresholds;
use crate::outputs::TickValues;
use crate::results::Measured;
use crate::script::{Level, LogLine, LogSink};

/// How many seconds are between two evaluations, as in k6.
const EVERY_S: u32 = 2;

/// Whether a threshold has ended the run.
#[derive(Debug, Clone, Default)]
pub struct ThresholdStop(Arc<AtomicBool>);

impl ThresholdStop {
    /// Whether one has.
    pub fn has_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Takes the metrics whose thresholds have ended a run.
type Ended = Box<dyn Fn(String) + Send>;

/// A run whose thresholds are watched.
pub struct WatchedRun {
    /// How many loops offer its load.
    pub loops: u16,
    /// By what it is stopped.
    pub control: Control,
    /// Is given the metrics whose thresholds have ended it.
    pub ended: Ended,
}

/// Evaluates thresholds during a run.
pub struct ThresholdWatch {
    watched: Vec<Watched>,
    /// By loop and its metric, the thresholds that it is part of.
    parts: HashMap<(Instance, MetricId), Vec<usize>>,
    tick_values: TickValues,
    delivered: DeliveredSeconds,
    evaluated_s: u32,
    control: Control,
    ended: Ended,
    stop: ThresholdStop,
    log: LogSink,
}

/// The thresholds of a metric, with what was added to it so far.
struct Watched {
    thresholds: MetricThresholds,
    sums: MetricSums,
}

impl ThresholdWatch {
    /// Watches a run for these thresholds; none where none of them ends it.
    pub fn new(
        thresholds: &[MetricThresholds],
        run: WatchedRun,
        stop: ThresholdStop,
        log: LogSink,
    ) -> Option<ThresholdWatch> {
        if !thresholds.iter().flat_map(|of| &of.thresholds).any(|threshold| threshold.abort_on_fail) {
            return None;
        }
        let watched = thresholds.iter().cloned();
        let watched = watched.map(|thresholds| Watched { thresholds, sums: MetricSums::default() });
        Some(ThresholdWatch {
            watched: watched.collect(),
            parts: HashMap::new(),
            tick_values: TickValues::new(run.loops),
            delivered: DeliveredSeconds::new(run.loops),
            evaluated_s: 0,
            control: run.control,
            ended: run.ended,
            stop,
            log,
        })
    }

    /// The thresholds that values of a metric with these tags are part of.
    fn parts_of(&self, metric: &str, tags: &BTreeMap<Name, Name>) -> Vec<usize> {
        let is_part = |watched: &Watched| {
            let selector = &watched.thresholds.selector;
            selector.name == metric && selector.matches(|name| tags.get(name).map(|value| &**value))
        };
        let numbered = self.watched.iter().enumerate().filter(|(_, watched)| is_part(watched));
        numbered.map(|(number, _)| number).collect()
    }

    fn evaluate(&self, passed_s: u32) {
        let passed = Duration::from_secs(passed_s.into());
        let crossed = |watched: &&Watched| watched.crossed(passed).next().is_some();
        let ends = self.watched.iter().flat_map(|watched| watched.crossed(passed)).any(|ends| ends);
        if !ends {
            return;
        }
        let names: Vec<&str> =
            self.watched.iter().filter(crossed).map(|watched| watched.thresholds.source.as_str()).collect();
        let text = format!(
            "thresholds on metrics '{}' were crossed; at least one has abortOnFail enabled, stopping test prematurely",
            names.join(", ")
        );
        (self.log)(LogLine { level: Level::Error, text, fields: Vec::new() });
        self.stop.0.store(true, Ordering::Relaxed);
        (self.ended)(names.join(", "));
        self.control.abandon();
    }
}

impl Watched {
    /// Of each threshold that does not hold, whether it ends the run now. Nothing is said of a metric without values.
    fn crossed(&self, passed: Duration) -> impl Iterator<Item = bool> {
        let part = Measured { kind: self.thresholds.kind, sums: self.sums.clone(), duration: passed };
        let thresholds = self.thresholds.thresholds.iter().filter(|_| self.sums.count > 0);
        thresholds
            .filter(move |threshold| !part.meets(threshold))
            .map(move |threshold| threshold.abort_on_fail && threshold.delay_abort_eval <= passed)
    }
}

impl Sink for ThresholdWatch {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.delivered.take(tick);
        for (id, key) in &tick.metrics.new {
            let parts = self.parts_of(&key.name, &key.tags);
            if !parts.is_empty() {
                self.parts.insert((tick.instance, *id), parts);
            }
        }
        for (id, sums) in tick.metrics.sums() {
            for part in self.parts.get(&(tick.instance, id)).into_iter().flatten() {
                self.watched[*part].sums.merge(sums);
            }
        }
        for value in self.tick_values.take(tick) {
            let tags =
                value.scenario.into_iter().map(|scenario| (Name::from("scenario"), scenario)).collect();
            let kind = match value.metric {
                "dropped_iterations" => MetricKind::Counter,
                _ => MetricKind::Gauge,
            };
            for part in self.parts_of(value.metric, &tags) {
                self.watched[part].sums.add(kind, value.value, value.at);
            }
        }
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        let passed_s = self.delivered.by_all().unwrap_or(0);
        if passed_s >= self.evaluated_s + EVERY_S && self.control.command() == Command::Run {
            self.evaluated_s = passed_s - passed_s % EVERY_S;
            self.evaluate(passed_s);
        }
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
