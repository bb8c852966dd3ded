//! One page of metrics: what of it is kept.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use super::keep::Keep;
use crate::exposition::{ExpositionLine, Kind, Labels, Sample, lines};

/// Series of one endpoint that are kept in a run.
pub(super) const MOST_SERIES: usize = 1_000;
/// The longest name and labels of a series that is kept.
const LONGEST_ID: usize = 500;
/// Buckets of a histogram that are read.
const MOST_BUCKETS: usize = 500;
/// When the process began, in seconds since 1970: kept to recognise a restart, and no series.
const STARTED: &str = "process_start_time_seconds";

/// Identifies a series: the metric's name, and its labels in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub(super) name: String,
    pub(super) part: String,
}

/// The kept metrics of one page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Page {
    pub(super) levels: BTreeMap<Id, f64>,
    pub(super) counters: BTreeMap<Id, f64>,
    /// Sums of observations: counters, unless there are observations below 0.
    pub(super) sums: BTreeMap<Id, f64>,
    /// Upper bounds and counts, ascending.
    pub(super) histograms: BTreeMap<Id, Vec<(f64, f64)>>,
    pub(super) started: Option<f64>,
    /// The first line that made no sense or came twice, and why; and how many there are.
    pub(super) wrong: Option<(usize, String)>,
    pub(super) wrong_count: usize,
    /// Series that are above the limit.
    pub(super) left_out: usize,
    samples: usize,
}

/// What a sample is used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Level,
    Counter,
    Sum,
    Bucket,
    Nothing,
}

/// A metric's name, role, and the name of its `# TYPE` line.
#[derive(Clone, Copy)]
struct Metric<'a> {
    name: &'a str,
    role: Role,
    family: &'a str,
}

/// The series that are kept of one endpoint: the first ones, for the whole run, so that labels that come and go fill
/// neither memory nor the run file.
#[derive(Debug, Default)]
pub(super) struct KeptSeries(HashSet<Id>);

impl KeptSeries {
    fn admits(&mut self, id: &Id) -> bool {
        self.0.contains(id) || (self.0.len() < MOST_SERIES && self.0.insert(id.clone()))
    }
}

impl Page {
    /// Read `text`.
    ///
    /// # Errors
    /// A sentence when there is no value in it at all.
    pub(super) fn read(text: &str, keep: &Keep, known: &mut KeptSeries) -> Result<Page, String> {
        let mut page = Page::default();
        let mut types = HashMap::new();
        // Lines of one metric follow each other: the role of the first is that of the next.
        let mut last = Metric { name: "", role: Role::Nothing, family: "" };
        for (number, line) in lines(text) {
            match line {
                Ok(ExpositionLine::Nothing) => {}
                Ok(ExpositionLine::Type(name, kind)) => {
                    types.insert(name, kind);
                    last.name = "";
                }
                Ok(ExpositionLine::Sample(sample)) => {
                    page.samples += 1;
                    if sample.name != last.name {
                        let (role, family) = role(sample.name, &types);
                        let is_kept = keep.keeps(sample.name) || keep.keeps(family);
                        let role = if is_kept || sample.name == STARTED { role } else { Role::Nothing };
                        last = Metric { name: sample.name, role, family };
                    }
                    let added = page.add(sample, last, known);
                    added.unwrap_or_else(|why| page.note(number, why));
                }
                Err(why) => page.note(number, why),
            }
        }
        page.finish();
        match (page.samples, &page.wrong) {
            (0, Some((number, why))) => Err(format!("it answers with no metrics: line {number}: {why}")),
            (0, None) => Err("it answers with no metrics".to_owned()),
            _ => Ok(page),
        }
    }

    fn note(&mut self, number: usize, why: &str) {
        self.wrong_count += 1;
        self.wrong.get_or_insert_with(|| (number, why.to_owned()));
    }

    fn add(
        &mut self,
        sample: Sample<'_>,
        Metric { role, family, .. }: Metric<'_>,
        known: &mut KeptSeries,
    ) -> Result<(), &'static str> {
        if role == Role::Nothing {
            return Ok(());
        }
        let (mut labels, value) = sample.read()?;
        if sample.name == STARTED {
            self.started = Some(value);
            return Ok(());
        }
        if role == Role::Bucket {
            return self.add_bucket(family, labels, value, known);
        }
        let id = identify(sample.name, &mut labels)?;
        if !known.admits(&id) {
            self.left_out += 1;
            return Ok(());
        }
        let values = match role {
            Role::Counter => &mut self.counters,
            Role::Sum => &mut self.sums,
            Role::Level | Role::Bucket | Role::Nothing => &mut self.levels,
        };
        // A value that is not a number is known to be there, so that another for the same series is seen to be one.
        match values.entry(id) {
            Entry::Vacant(vacant) => {
                vacant.insert(value);
                Ok(())
            }
            Entry::Occupied(_) => Err("its series comes twice"),
        }
    }

    fn add_bucket(
        &mut self,
        family: &str,
        mut labels: Labels<'_>,
        count: f64,
        known: &mut KeptSeries,
    ) -> Result<(), &'static str> {
        let at = labels.iter().position(|(name, _)| *name == "le").ok_or("a bucket has no bound `le`")?;
        let bound = labels.remove(at).1.parse::<f64>().map_err(|_| "a bucket's bound is not a number")?;
        if bound.is_nan() || count.is_nan() {
            return Err("a bucket's bound or count is not a number");
        }
        let id = identify(family, &mut labels)?;
        if !known.admits(&id) {
            // One series for all its buckets.
            self.left_out += usize::from(bound == f64::INFINITY);
            return Ok(());
        }
        let buckets = self.histograms.entry(id).or_default();
        if buckets.len() >= MOST_BUCKETS {
            return Err("a histogram has more than 500 buckets");
        }
        if buckets.iter().any(|(known, _)| *known == bound) {
            return Err("a bucket comes twice");
        }
        buckets.push((bound, count));
        Ok(())
    }

    /// Whether nothing is kept of it.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
            && self.counters.is_empty()
            && self.sums.is_empty()
            && self.histograms.is_empty()
    }

    /// Sorts buckets, and drops what is not a number or contradicts itself.
    fn finish(&mut self) {
        for values in [&mut self.levels, &mut self.counters, &mut self.sums] {
            values.retain(|_, value| value.is_finite());
        }
        self.histograms.retain(|_, buckets| {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            let is_sound = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            is_sound
                && buckets.last().is_some_and(|(bound, count)| *bound == f64::INFINITY && count.is_finite())
        });
    }
}

/// What a metric of this name is, and the name that its `# TYPE` line has.
fn role<'a>(name: &'a str, types: &HashMap<&str, Kind>) -> (Role, &'a str) {
    let typed = |suffix: &str| {
        let family = name.strip_suffix(suffix)?;
        Some((*types.get(family)?, family))
    };
    if let Some(kind) = types.get(name) {
        let role = match kind {
            Kind::Counter => Role::Counter,
            Kind::Histogram | Kind::GaugeHistogram => Role::Nothing,
            Kind::Gauge | Kind::Summary | Kind::Other => Role::Level,
        };
        return (role, name);
    }
    match (typed("_bucket"), typed("_count"), typed("_sum"), typed("_total"), typed("_created")) {
        (Some((Kind::Histogram, family)), ..) => (Role::Bucket, family),
        (Some((Kind::GaugeHistogram, family)), ..) => (Role::Nothing, family),
        (_, Some((Kind::Histogram | Kind::Summary, family)), ..) => (Role::Counter, family),
        (_, _, Some((Kind::Histogram | Kind::Summary, family)), ..) => (Role::Sum, family),
        (_, _, _, Some((Kind::Counter, family)), _) => (Role::Counter, family),
        (.., Some((Kind::Counter | Kind::Histogram | Kind::Summary, family))) => (Role::Nothing, family),
        _ if name.ends_with("_total") => (Role::Counter, name),
        _ => (Role::Level, name),
    }
}

fn identify(name: &str, labels: &mut Labels<'_>) -> Result<Id, &'static str> {
    labels.sort_by_key(|(label, _)| *label);
    if labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("a label comes twice");
    }
    let length = labels.iter().fold(name.len(), |sum, (label, value)| sum + label.len() + value.len() + 4);
    if length > LONGEST_ID {
        return Err("its name and labels are longer than 500 bytes");
    }
    let mut part = String::new();
    for (label, value) in labels {
        let comma = if part.is_empty() { "" } else { "," };
        // Writing to memory does not fail.
        let _ = write!(part, "{comma}{label}={value:?}");
    }
    Ok(Id { name: name.to_owned(), part })
}

#[cfg(test)]
mod tests;
