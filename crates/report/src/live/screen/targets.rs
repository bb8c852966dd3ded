//! What observers see of the targets, and what the generator uses itself.

use std::collections::{BTreeMap, VecDeque};

use evidence::{Instance, Observed, SeriesKey, Tick};

use crate::document::terminal::line::{TextLine, Tone};
use crate::live::lines::columns_up_to;
use crate::number;
use crate::text::fit;
use figures::live::LiveNumbers;

/// A series without a sample for more than this many seconds has no value.
const STALE_S: u32 = 15;
/// How many values of the CPU are kept.
const KEPT: usize = 60;
/// Columns of a target's name.
const NAME: usize = 18;
/// The series that are shown.
const SHOWN: [&str; 6] = ["cpu", "cgroup_cpu", "cgroup_throttled", "cgroup_cpu_limit", "cpus_allowed", "rss"];
/// Above this share of what it may use a CPU is scarce.
const SCARCE: f64 = 0.9;
/// From this share of the requests on, those that stalls of the generator disturbed may leave objectives undecided.
const MANY_DISTURBED: f64 = 0.01;

/// The last samples of targets.
#[derive(Debug, Clone, Default)]
pub(super) struct Targets {
    second: u32,
    /// By name; the generator's own is among them.
    by_name: BTreeMap<String, Target>,
    /// The share of a core that each loop of the generator used in its last second.
    loops: BTreeMap<Instance, f64>,
}

#[derive(Debug, Clone, Default)]
struct Target {
    /// The second and the value of the last sample, by name and part of the series.
    last: BTreeMap<(&'static str, SeriesKey), (u32, f64)>,
    /// CPU by second, in cores.
    cpu: VecDeque<(u32, f64)>,
}

impl Targets {
    pub(super) fn take(&mut self, observed: &Observed) {
        for (key, sample) in &observed.samples {
            let Some(name) = SHOWN.into_iter().find(|name| **name == *key.name) else { continue };
            let second = sample.at.second();
            self.second = self.second.max(second);
            let target = self.by_name.entry(key.target.to_string()).or_default();
            target.last.insert((name, key.clone()), (second, sample.value));
            if matches!(name, "cpu" | "cgroup_cpu") {
                target.keep_cpu(second);
            }
        }
    }

    pub(super) fn take_loop(&mut self, tick: &Tick) {
        let covered_ns = tick.state.covered_ns;
        if covered_ns > 0 {
            self.loops.insert(tick.instance, tick.state.cpu_ns as f64 / covered_ns as f64);
        }
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.shown().count() + usize::from(!self.loops.is_empty())
    }

    /// A line for each target, and one for the generator.
    pub(super) fn lines(&self, now: &LiveNumbers, rows: usize, columns: usize) -> Vec<TextLine> {
        let targets = self.shown().map(|(name, target)| self.line(name, target, columns));
        let generator = (!self.loops.is_empty()).then(|| self.generator(now));
        let space = rows - usize::from(generator.is_some()).min(rows);
        let mut lines: Vec<TextLine> = targets.take(space).collect();
        let hidden = self.shown().count().saturating_sub(space);
        if let Some(last) = lines.last_mut().filter(|_| hidden > 0) {
            last.add(Tone::Dim, &format!(" · and {hidden} more targets"));
        }
        lines.extend(generator);
        lines
    }

    fn shown(&self) -> impl Iterator<Item = (&String, &Target)> {
        self.by_name.iter().filter(|(name, _)| *name != SeriesKey::GENERATOR)
    }

    fn line(&self, name: &str, target: &Target, columns: usize) -> TextLine {
        let mut line = titled(name);
        let value = |series| target.value(series, self.second);
        let limit = [value("cgroup_cpu_limit"), value("cpus_allowed")].into_iter().flatten().reduce(f64::min);
        if let Some(cpu) = value("cpu").or(value("cgroup_cpu")) {
            let is_scarce = limit.is_some_and(|limit| cpu > SCARCE * limit);
            let cores = cores_text(cpu);
            let of = limit.map(|limit| format!(" of {}", number::tick(limit))).unwrap_or_default();
            line.add(if is_scarce { Tone::Bad } else { Tone::Strong }, &format!("{cores}{of} cores"));
            let trend: Vec<Option<f64>> = target.cpu.iter().map(|(_, cores)| Some(*cores)).collect();
            let space = (columns / 4).min(KEPT);
            let trend = columns_up_to(limit, &trend[trend.len().saturating_sub(space)..]);
            line.add(Tone::Normal, " ").add(Tone::Accent, &trend);
        } else {
            line.add(Tone::Dim, "CPU not observed");
        }
        if let Some(throttled) = value("cgroup_throttled") {
            let tone = if throttled > 0.0 { Tone::Bad } else { Tone::Normal };
            line.add(Tone::Dim, " · ").add(tone, &format!("throttled {}", number::whole_percent(throttled)));
        }
        if let Some(rss) = value("rss") {
            line.add(Tone::Dim, " · ").add(Tone::Normal, &number::bytes(rss));
        }
        line
    }

    fn generator(&self, now: &LiveNumbers) -> TextLine {
        let mut line = titled(SeriesKey::GENERATOR);
        let own = self.by_name.get(SeriesKey::GENERATOR).and_then(|target| target.value("cpu", self.second));
        if let Some(cores) = own {
            line.add(Tone::Normal, &format!("{} cores", cores_text(cores))).add(Tone::Dim, " · ");
        }
        let busiest = self.loops.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let (place, share) = busiest.map_or((Instance::default(), 0.0), |(place, share)| (*place, *share));
        let (tone, which) = match (share > SCARCE, place.process) {
            (true, 0) => (Tone::Bad, String::new()),
            (true, _) => (Tone::Bad, format!(" ({place})")),
            (false, _) => (Tone::Normal, String::new()),
        };
        line.add(tone, &format!("busiest loop {}{which}", number::whole_percent(share.min(1.0))));
        if now.disturbed > 0 {
            let many = now.disturbed as f64 > MANY_DISTURBED * now.completed as f64;
            let requests = number::counted(now.disturbed, "request");
            line.add(Tone::Dim, " · ").add(
                if many { Tone::Warn } else { Tone::Normal },
                &format!("its stalls disturbed {requests}"),
            );
        }
        line
    }
}

fn cores_text(cores: f64) -> String {
    format!("{cores:.2}")
}

pub(super) fn titled(name: &str) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Accent, &format!("   {}", fit(name, NAME - 1))).pad_to(NAME + 3);
    line
}

impl Target {
    /// The sum over the parts of a series, of samples that are recent.
    fn value(&self, name: &str, now_s: u32) -> Option<f64> {
        let is_it = |((known, _), (second, _)): &(&(&str, SeriesKey), &(u32, f64))| {
            *known == name && second + STALE_S >= now_s
        };
        self.last.iter().filter(is_it).map(|(_, (_, value))| *value).reduce(|sum, value| sum + value)
    }

    fn keep_cpu(&mut self, second: u32) {
        let Some(cores) = self.value("cpu", second).or_else(|| self.value("cgroup_cpu", second)) else {
            return;
        };
        match self.cpu.back_mut().filter(|(known, _)| *known == second) {
            Some((_, last)) => *last = cores,
            None => self.cpu.push_back((second, cores)),
        }
        if self.cpu.len() > KEPT {
            self.cpu.pop_front();
        }
    }
}
