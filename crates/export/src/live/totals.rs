//! What a run has counted so far, added up from its ticks: values that only grow, so that one which is not delivered costs
//! nothing but its second.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evidence::key::Shape;
use evidence::tick::LoopState;
use evidence::{Instance, Key, KeyId, Metric, Observed, SeriesKey, Tick};

use crate::openmetrics::{TIME_BOUNDS_S, TimesSoFar};

/// A label's name and value.
pub(super) type Label = (&'static str, String);

/// What one key has added up to.
#[derive(Clone)]
pub(super) enum Value {
    Times(Box<TimesSoFar>),
    Count(u64),
    /// As it is at this moment.
    Level(f64),
}

/// One series at one moment.
#[derive(Clone)]
pub(super) struct Point {
    /// `plimsoll_requests`, without a suffix such as `_total`.
    pub(super) name: Arc<str>,
    pub(super) labels: Arc<[Label]>,
    pub(super) value: Value,
}

/// All series at the end of one second.
pub struct Batch {
    pub(super) start_unix_ms: i64,
    pub(super) unix_ms: i64,
    pub(super) points: Vec<Point>,
}

/// The upper bounds of the buckets of times, in seconds.
pub(super) const BOUNDS_S: &[f64] = &TIME_BOUNDS_S;

/// Adds up the ticks of a run.
pub struct Totals {
    run: String,
    start_unix_ms: i64,
    keys: HashMap<(Instance, KeyId), usize>,
    known: HashMap<Key, usize>,
    points: Vec<Point>,
    loops: BTreeMap<Instance, LoopState>,
    /// Cores that each process of the generator used at last.
    cpu: BTreeMap<SeriesKey, f64>,
    /// One past the last second.
    seconds: u32,
    /// The date of the last batch, in milliseconds of the run.
    last_ms: u64,
}

impl Totals {
    /// Of the run of this name, which started at this time in milliseconds since 1970.
    pub fn new(run: &str, start_unix_ms: i64) -> Totals {
        Totals {
            run: run.to_owned(),
            start_unix_ms,
            keys: HashMap::new(),
            known: HashMap::new(),
            points: Vec::new(),
            loops: BTreeMap::new(),
            cpu: BTreeMap::new(),
            seconds: 0,
            last_ms: 0,
        }
    }

    /// Adds a tick.
    pub fn take(&mut self, tick: &Tick) {
        for (id, key) in tick.new_keys.iter().filter(|(_, key)| is_shown(key.metric)) {
            let at = self.point_of(key);
            self.keys.insert((tick.instance, *id), at);
            for metric in beside(key.metric) {
                self.point_of(&Key { metric: *metric, ..key.clone() });
            }
        }
        for (id, histogram) in tick.histograms() {
            let Some(at) = self.keys.get(&(tick.instance, id)) else { continue };
            if let Value::Times(times) = &mut self.points[*at].value {
                times.add(histogram);
            }
        }
        for count in tick.counts() {
            let Some(at) = self.keys.get(&(tick.instance, count.key)) else { continue };
            if let Value::Count(sum) = &mut self.points[*at].value {
                *sum += count.value;
            }
        }
        self.loops.insert(tick.instance, tick.state);
        self.seconds = self.seconds.max(tick.second + 1);
    }

    /// Adds what observers saw of the generator.
    pub fn take_observed(&mut self, observed: &Observed) {
        let is_cpu = |key: &SeriesKey| &*key.target == SeriesKey::GENERATOR && &*key.name == "cpu";
        let samples = observed.samples.iter().filter(|(key, _)| is_cpu(key));
        self.cpu.extend(samples.map(|(key, sample)| (key.clone(), sample.value)));
    }

    /// One past the last second of which there is anything.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// All series as they are now, `elapsed_ms` after the run's epoch. They are dated with the end of the last second, or
    /// with now if it has not ended; never in the future, where a receiver does not look, and never twice alike.
    pub fn batch(&mut self, elapsed_ms: u64) -> Batch {
        let second_ms = u64::from(self.seconds) * 1_000;
        self.last_ms = second_ms.min(elapsed_ms).max(self.last_ms + 1);
        let labels: Arc<[Label]> = [("run", self.run.clone())].into();
        let level = |name: &str, of: fn(&LoopState) -> u32| Point {
            name: name.into(),
            labels: labels.clone(),
            value: Value::Level(self.loops.values().map(|state| f64::from(of(state))).sum()),
        };
        let levels = [
            level("plimsoll_in_flight", |state| state.in_flight),
            level("plimsoll_virtual_users", |state| state.virtual_users),
            level("plimsoll_open_connections", |state| state.connections),
        ];
        let cpu = (!self.cpu.is_empty()).then(|| Point {
            name: "plimsoll_generator_cpu_cores".into(),
            labels: labels.clone(),
            value: Value::Level(self.cpu.values().sum()),
        });
        Batch {
            start_unix_ms: self.start_unix_ms,
            unix_ms: self.start_unix_ms.saturating_add_unsigned(self.last_ms),
            points: self.points.iter().cloned().chain(levels).chain(cpu).collect(),
        }
    }

    /// The place of the point of a key, which all loops share.
    fn point_of(&mut self, key: &Key) -> usize {
        let shared = Key { instance: None, ..key.clone() };
        if let Some(at) = self.known.get(&shared) {
            return *at;
        }
        let (name, value) = match key.metric.shape() {
            Shape::Histogram => (format!("plimsoll_{}_seconds", key.metric), Value::Times(Box::default())),
            Shape::Counter => (format!("plimsoll_{}", key.metric), Value::Count(0)),
        };
        self.points.push(Point { name: name.into(), labels: self.labels(key), value });
        self.known.insert(shared, self.points.len() - 1);
        self.points.len() - 1
    }

    /// Without those that are empty, in the order of their names.
    fn labels(&self, key: &Key) -> Arc<[Label]> {
        let all = [
            ("check", key.tags.get("check").map(ToString::to_string).unwrap_or_default()),
            ("endpoint", key.endpoint.to_string()),
            ("outcome", key.outcome.map(|outcome| outcome.to_string()).unwrap_or_default()),
            ("phase", key.phase.to_string()),
            ("run", self.run.clone()),
            ("scenario", key.scenario.to_string()),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// What begins at 0 as soon as there is anything of this metric: a rate of a counter that begins with its first event misses that
/// event, and an alert on one that is not there is silent.
fn beside(metric: Metric) -> &'static [Metric] {
    match metric {
        Metric::Scheduled => &[Metric::DroppedCap, Metric::DroppedLate],
        Metric::CheckPassed => &[Metric::CheckFailed],
        Metric::CheckFailed => &[Metric::CheckPassed],
        _ => &[],
    }
}

/// What is of use while a run goes on. The rest is in the run file.
fn is_shown(metric: Metric) -> bool {
    use Metric::{
        BytesIn, BytesOut, CheckFailed, CheckPassed, DroppedCap, DroppedLate, IterationTime, IterationsDone,
        Requests, ResponseTime, Scheduled, StartLag, Started,
    };
    matches!(
        metric,
        ResponseTime
            | IterationTime
            | Requests
            | Scheduled
            | StartLag
            | Started
            | DroppedCap
            | DroppedLate
            | IterationsDone
            | BytesIn
            | BytesOut
            | CheckPassed
            | CheckFailed
    )
}
