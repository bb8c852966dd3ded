//! A run held in memory: what the archive keeps in a file, for tests and for runs without one.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::exemplar::Exemplar;
use crate::histogram::Histogram;
use crate::instance::Instance;
use crate::key::{Key, KeyId};
use crate::manifest::{Manifest, RunEnd, Source};
use crate::metric::{MetricId, MetricKey, MetricSums};
use crate::observed::{Notice, Observed, Profile};
use crate::run::{ReadError, Run, Seconds, recorded};
use crate::series::{Sample, SeriesKey};
use crate::sink::{Sink, SinkError};
use crate::tick::{Count, Tick};
use crate::time::Instant;

/// A run held in memory; filled as a [`Sink`] or by hand, read as a [`Run`].
#[derive(Debug, Clone)]
pub struct MemoryRun {
    manifest: Manifest,
    end: Option<RunEnd>,
    seconds: u32,
    /// How much time the ticks of each loop cover.
    covered_ns: BTreeMap<Instance, u64>,
    keys: Vec<(KeyId, Key)>,
    numbers: HashMap<Key, KeyId>,
    loop_keys: HashMap<(Instance, KeyId), KeyId>,
    histograms: BTreeMap<(KeyId, u32), Histogram>,
    counts: BTreeMap<(KeyId, u32), u64>,
    metrics: Vec<(MetricId, MetricKey)>,
    loop_metrics: HashMap<(Instance, MetricId), MetricId>,
    metric_values: BTreeMap<(MetricId, u32), MetricSums>,
    series: Vec<SeriesKey>,
    samples: BTreeMap<SeriesKey, Vec<Sample>>,
    exemplars: Vec<Exemplar>,
    notices: Vec<Notice>,
    profiles: Vec<Profile>,
}

impl MemoryRun {
    /// An empty run.
    pub fn new(manifest: Manifest) -> Self {
        MemoryRun {
            manifest,
            end: None,
            seconds: 0,
            covered_ns: BTreeMap::new(),
            keys: Vec::new(),
            numbers: HashMap::new(),
            loop_keys: HashMap::new(),
            histograms: BTreeMap::new(),
            counts: BTreeMap::new(),
            metrics: Vec::new(),
            loop_metrics: HashMap::new(),
            metric_values: BTreeMap::new(),
            series: Vec::new(),
            samples: BTreeMap::new(),
            exemplars: Vec::new(),
            notices: Vec::new(),
            profiles: Vec::new(),
        }
    }

    /// Say that another tool made the run.
    pub fn imported_from(&mut self, source: Source) {
        self.manifest.source = Some(source);
    }

    /// The number of `key`, given now if it is new.
    pub fn key(&mut self, key: &Key) -> KeyId {
        if let Some(id) = self.numbers.get(key) {
            return *id;
        }
        let id = KeyId(u32::try_from(self.keys.len()).expect("a run has fewer than 2^32 keys"));
        self.keys.push((id, key.clone()));
        self.numbers.insert(key.clone(), id);
        id
    }

    /// Count `times` durations of `micros` microseconds under `key` in `second`.
    pub fn record(&mut self, key: &Key, second: u32, micros: u64, times: u64) {
        let id = self.key(key);
        self.histograms.entry((id, second)).or_default().record_us(micros, times);
        self.seconds = self.seconds.max(second + 1);
    }

    /// Add `value` to the counter `key` in `second`.
    pub fn add(&mut self, key: &Key, second: u32, value: u64) {
        let id = self.key(key);
        *self.counts.entry((id, second)).or_default() += value;
        self.seconds = self.seconds.max(second + 1);
    }

    /// Add one finite value to a metric in `second`.
    pub fn add_to_metric(&mut self, key: &MetricKey, second: u32, value: f64) {
        let known = self.metrics.iter().find(|(_, known)| known == key).map(|(id, _)| *id);
        let id = known.unwrap_or(MetricId(self.metrics.len() as u32));
        if known.is_none() {
            self.metrics.push((id, key.clone()));
        }
        let at = Instant::from_nanos(u64::from(second) * 1_000_000_000);
        self.metric_values.entry((id, second)).or_default().add(key.kind, value, at);
        self.seconds = self.seconds.max(second + 1);
    }

    /// One value of an observed series, at the end of `second`.
    pub fn observe(&mut self, series: &SeriesKey, second: u32, value: f64) {
        let at = Instant::from_nanos(u64::from(second) * 1_000_000_000 + 999_999_999);
        self.sample(series, Sample { at, value });
    }

    /// Keep an exchange.
    pub fn keep(&mut self, exemplar: Exemplar) {
        self.exemplars.push(exemplar);
    }

    /// Say how it ended.
    pub fn finish(&mut self, end: RunEnd) {
        self.end = Some(end);
    }

    fn take_metrics(&mut self, tick: &Tick) -> Result<(), SinkError> {
        for (local, key) in &tick.metrics.new {
            let known = self.metrics.iter().find(|(_, known)| known == key).map(|(id, _)| *id);
            let id = known.unwrap_or(MetricId(self.metrics.len() as u32));
            if known.is_none() {
                self.metrics.push((id, key.clone()));
            }
            self.loop_metrics.insert((tick.instance, *local), id);
        }
        for (local, sums) in tick.metrics.sums() {
            let id = self.loop_metrics.get(&(tick.instance, local)).copied();
            let id = id.ok_or_else(|| SinkError(format!("metric {} was never announced", local.0)))?;
            self.metric_values.entry((id, tick.second)).or_default().merge(sums);
        }
        Ok(())
    }

    fn sample(&mut self, series: &SeriesKey, sample: Sample) {
        if !self.samples.contains_key(series) {
            self.series.push(series.clone());
        }
        self.samples.entry(series.clone()).or_default().push(sample);
    }
}

impl Sink for MemoryRun {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        for (local, key) in &tick.new_keys {
            let id = self.key(key);
            self.loop_keys.insert((tick.instance, *local), id);
        }
        let place = |run: &MemoryRun, local: KeyId| {
            run.loop_keys.get(&(tick.instance, local)).copied().ok_or_else(|| {
                SinkError(format!("a value was recorded for series {}, which was never registered", local.0))
            })
        };
        for (local, histogram) in tick.histograms() {
            let id = place(self, local)?;
            self.histograms.entry((id, tick.second)).or_default().merge(histogram);
        }
        for Count { key, second, value } in tick.counts() {
            let id = place(self, *key)?;
            *self.counts.entry((id, *second)).or_default() += value;
        }
        self.take_metrics(tick)?;
        for (series, sample) in tick.own_samples() {
            self.sample(&series, sample);
        }
        for exemplar in &tick.exemplars {
            self.exemplars.push(exemplar.clone());
        }
        self.seconds = self.seconds.max(tick.second + 1);
        *self.covered_ns.entry(tick.instance).or_default() += tick.state.covered_ns;
        Ok(())
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        for (series, sample) in &observed.samples {
            self.sample(series, *sample);
        }
        self.notices.extend_from_slice(&observed.notices);
        self.profiles.extend_from_slice(&observed.profiles);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self, end: &RunEnd) -> Result<(), SinkError> {
        self.finish(end.clone());
        Ok(())
    }
}

impl Run for MemoryRun {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    fn digest(&self) -> Option<&str> {
        None
    }

    fn seconds(&self) -> u32 {
        if self.seconds > 0 {
            return self.seconds;
        }
        let watched = self.samples.values().filter_map(|samples| samples.last());
        watched.map(|sample| sample.at.second() + 1).max().unwrap_or(0)
    }

    fn recorded(&self) -> Duration {
        recorded(self.covered_ns.values().copied().max().unwrap_or(0), self.seconds())
    }

    fn keys(&self) -> &[(KeyId, Key)] {
        &self.keys
    }

    fn histogram(&self, key: KeyId, window: Seconds) -> Result<Histogram, ReadError> {
        let mut merged = Histogram::new();
        for (_, histogram) in self.histograms.range((key, window.start)..(key, window.end)) {
            merged.merge(histogram);
        }
        Ok(merged)
    }

    fn histograms(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, Histogram)>, ReadError> {
        let range = self.histograms.range((key, window.start)..(key, window.end));
        Ok(range.map(|((_, second), histogram)| (*second, histogram.clone())).collect())
    }

    fn counts(&self, key: KeyId, window: Seconds) -> Result<Vec<(u32, u64)>, ReadError> {
        let range = self.counts.range((key, window.start)..(key, window.end));
        Ok(range.map(|((_, second), value)| (*second, *value)).collect())
    }

    fn metrics(&self) -> &[(MetricId, MetricKey)] {
        &self.metrics
    }

    fn metric(&self, metric: MetricId, window: Seconds) -> Result<MetricSums, ReadError> {
        let mut merged = MetricSums::default();
        for (_, sums) in self.metric_values.range((metric, window.start)..(metric, window.end)) {
            merged.merge(sums);
        }
        Ok(merged)
    }

    fn metric_intervals(
        &self,
        metric: MetricId,
        window: Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, ReadError> {
        let range = self.metric_values.range((metric, window.start)..(metric, window.end));
        Ok(range.map(|((_, second), sums)| (*second..*second + 1, sums.clone())).collect())
    }

    fn series(&self) -> &[SeriesKey] {
        &self.series
    }

    fn samples(&self, series: &SeriesKey, window: Seconds) -> Result<Vec<Sample>, ReadError> {
        let samples = self.samples.get(series).map(Vec::as_slice).unwrap_or_default();
        let end = if window.end >= self.seconds() { u32::MAX } else { window.end };
        let is_in = |sample: &&Sample| (window.start..end).contains(&sample.at.second());
        Ok(samples.iter().filter(is_in).copied().collect())
    }

    fn exemplars(&self) -> Result<Vec<Exemplar>, ReadError> {
        Ok(self.exemplars.clone())
    }

    fn notices(&self) -> Result<Vec<Notice>, ReadError> {
        Ok(self.notices.clone())
    }

    fn profiles(&self) -> Result<Vec<Profile>, ReadError> {
        Ok(self.profiles.clone())
    }
}
