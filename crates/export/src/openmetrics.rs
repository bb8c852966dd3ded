//! A run as OpenMetrics text, second by second with timestamps, for `promtool tsdb create-blocks-from openmetrics` and
//! whatever else reads the format.
//!
//! Format: OpenMetrics 1.0.0 (<https://github.com/prometheus/OpenMetrics>).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use evidence::key::Shape;
use evidence::run::select;
use evidence::{Histogram, Key, KeyId, Metric, Run};

use super::{ExportError, RunStart};

/// The upper bounds of the buckets of times, in seconds.
pub(crate) const TIME_BOUNDS_S: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Times and counters as they had added up by the end of each second, and what observers saw. Where it is not known when the
/// run was, only the last state, without a timestamp: a point without a date has one value.
///
/// # Errors
/// [`ExportError`] when the evidence cannot be read.
pub fn openmetrics(run: &dyn Run, start: Option<RunStart>) -> Result<String, ExportError> {
    let mut page = Page { run, start, out: String::new() };
    page.info();
    for metric in Metric::ALL {
        let keys: Vec<_> = select(run.keys(), metric, |_| true).collect();
        match metric.shape() {
            _ if keys.is_empty() => {}
            Shape::Histogram => page.times(metric, &keys)?,
            Shape::Counter => page.counter(metric, &keys)?,
        }
    }
    page.observed()?;
    page.out.push_str("# EOF\n");
    Ok(page.out)
}

struct Page<'a> {
    run: &'a dyn Run,
    start: Option<RunStart>,
    out: String,
}

/// A family of metrics: its name, which ends with its unit, and its type.
struct Family<'a> {
    name: &'a str,
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
}

/// What the histograms of one key have added up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TimesSoFar {
    /// How many are at most as long as each of [`TIME_BOUNDS_S`].
    pub(crate) within: [u64; TIME_BOUNDS_S.len()],
    pub(crate) count: u64,
    /// Their sum, in seconds: of buckets their middle, so within 0.1 %.
    pub(crate) sum_s: f64,
}

impl Page<'_> {
    fn head(&mut self, family: &Family<'_>) {
        let Family { name, kind, unit, help } = family;
        let _ = writeln!(self.out, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.out, "# HELP {name} {help}");
    }

    fn info(&mut self) {
        let help = "The run that this is of.";
        self.head(&Family { name: "plimsoll_run", kind: "info", unit: "", help });
        let manifest = self.run.manifest();
        let digest = self.run.digest().unwrap_or_default();
        let of = [("name", manifest.name.as_str()), ("started_at", &manifest.started_at), ("digest", digest)];
        // A database that the page is loaded into needs a time for every sample.
        let at = self.start.map(|start| format!(" {}", start.after_ms(0))).unwrap_or_default();
        let _ = writeln!(self.out, "plimsoll_run_info{} 1{at}", labels(of));
    }

    fn times(&mut self, metric: Metric, keys: &[(KeyId, &Key)]) -> Result<(), ExportError> {
        let name = format!("plimsoll_{}_seconds", metric.name());
        let help = "Added up since the start of the run; see docs/archive.md.";
        self.head(&Family { name: &name, kind: "histogram", unit: "seconds", help });
        for (id, key) in keys {
            let (mut so_far, of) = (TimesSoFar::default(), key_labels(key));
            let seconds = self.run.histograms(*id, self.run.whole())?;
            let last = seconds.len().saturating_sub(1);
            for (at, (second, histogram)) in seconds.iter().enumerate() {
                so_far.add(histogram);
                if self.start.is_some() || at == last {
                    self.histogram(&name, &of, *second, &so_far);
                }
            }
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, of: &[(String, String)], second: u32, so_far: &TimesSoFar) {
        let at = self.at(second);
        let with = |bound: &str| labels(of.iter().map(pair).chain([("le", bound)]));
        let mut lines = String::new();
        for (bound, within) in TIME_BOUNDS_S.iter().zip(so_far.within) {
            let _ = writeln!(lines, "{name}_bucket{} {within}{at}", with(&number(*bound)));
        }
        let TimesSoFar { count, sum_s, .. } = so_far;
        let _ = writeln!(lines, "{name}_bucket{} {count}{at}", with("+Inf"));
        let of = labels(of.iter().map(pair));
        let _ = writeln!(lines, "{name}_count{of} {count}{at}\n{name}_sum{of} {}{at}", number(*sum_s));
        self.out.push_str(&lines);
    }

    fn counter(&mut self, metric: Metric, keys: &[(KeyId, &Key)]) -> Result<(), ExportError> {
        let (name, unit, divisor) = match metric.name().strip_suffix("_ns") {
            Some(stem) => (format!("plimsoll_{stem}_seconds"), "seconds", 1e9),
            None => (format!("plimsoll_{}", metric.name()), "", 1.0),
        };
        let help = "Added up since the start of the run; see docs/archive.md.";
        self.head(&Family { name: &name, kind: "counter", unit, help });
        for (id, key) in keys {
            let (mut sum, of) = (0, labels(key_labels(key).iter().map(pair)));
            let seconds = self.run.counts(*id, self.run.whole())?;
            let last = seconds.len().saturating_sub(1);
            for (index, (second, value)) in seconds.iter().enumerate() {
                sum += value;
                if self.start.is_some() || index == last {
                    let (value, at) = (number(sum as f64 / divisor), self.at(*second));
                    let _ = writeln!(self.out, "{name}_total{of} {value}{at}");
                }
            }
        }
        Ok(())
    }

    fn observed(&mut self) -> Result<(), ExportError> {
        if self.run.series().is_empty() {
            return Ok(());
        }
        let help = "What was watched, by target and series.";
        self.head(&Family { name: "plimsoll_observed", kind: "gauge", unit: "", help });
        for key in self.run.series() {
            let instance = key.instance.map(|instance| instance.to_string()).unwrap_or_default();
            let of = labels([
                ("target", &*key.target),
                ("series", &*key.name),
                ("part", &*key.part),
                ("instance", instance.as_str()),
                ("unit", &*key.unit),
            ]);
            // Two samples in one millisecond would be one point twice.
            let samples = self.run.samples(key, self.run.whole())?;
            let by_ms: BTreeMap<u64, f64> =
                samples.iter().map(|sample| (sample.at.as_nanos() / 1_000_000, sample.value)).collect();
            let shown = if self.start.is_some() { by_ms.len() } else { 1 };
            for (ms, value) in by_ms.iter().skip(by_ms.len().saturating_sub(shown)) {
                let at = self.start.map(|start| format!(" {}", start.after_ms(*ms))).unwrap_or_default();
                let _ = writeln!(self.out, "plimsoll_observed{of} {}{at}", number(*value));
            }
        }
        Ok(())
    }

    /// The timestamp of the end of a second, with the space before it.
    fn at(&self, second: u32) -> String {
        self.start.map(|start| format!(" {}", start.end_of(second))).unwrap_or_default()
    }
}

impl TimesSoFar {
    /// Add every value of a histogram.
    pub(crate) fn add(&mut self, histogram: &Histogram) {
        for (within, bound) in self.within.iter_mut().zip(TIME_BOUNDS_S) {
            *within += histogram.count_within_us((bound * 1e6) as u64);
        }
        self.count += histogram.count();
        self.sum_s += histogram.mean_us().unwrap_or_default() * histogram.count() as f64 / 1e6;
    }
}

fn key_labels(key: &Key) -> Vec<(String, String)> {
    let outcome = key.outcome.map(|outcome| outcome.to_string()).unwrap_or_default();
    let instance = key.instance.map(|instance| instance.to_string()).unwrap_or_default();
    let own = [
        ("scenario", key.scenario.to_string()),
        ("endpoint", key.endpoint.to_string()),
        ("phase", key.phase.to_string()),
        ("outcome", outcome),
        ("instance", instance),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let tags = key.tags.iter().map(|(name, value)| (format!("tag_{}", label_name(name)), value.to_string()));
    own.chain(tags).filter(|(_, value)| !value.is_empty()).collect()
}

fn pair(label: &(String, String)) -> (&str, &str) {
    (&label.0, &label.1)
}

/// The name with whatever a label's name may not contain as `_`.
fn label_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// `{a="1",b="2"}`; nothing without labels.
fn labels<'a>(of: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let of = of.into_iter().filter(|(_, value)| !value.is_empty());
    let all: Vec<_> = of.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// A number as the format has it; the shortest that is the same.
fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => format!("{value:?}"),
    }
}
