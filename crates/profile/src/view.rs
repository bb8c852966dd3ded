//! A view of a profile by one sample type: frames are functions, inlined ones included, and stacks are pruned by the
//! profile's patterns.

use std::borrow::Cow;
use std::collections::HashMap;

use regex::Regex;

use crate::error::{TypeError, ViewError};
use crate::kind::{Counting, Kind, Sampling};
use crate::model::{Profile, Sample, SourceLine, ValueType};
use crate::symbol::shown;

/// A function, or a binary whose functions are not known; its number within a [`View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(crate) u32);

#[derive(Debug, Clone, Copy, Default)]
pub struct ViewOptions<'a> {
    /// The sample type by name or index; by default the profile's own choice, else the last.
    pub sample_type: Option<&'a str>,
    /// Only stacks with a function, source file or binary that matches this regular expression.
    pub focus: Option<&'a str>,
}

/// One sample type of a profile, with functions for frames.
#[derive(Debug, Clone)]
pub struct View<'p> {
    profile: &'p Profile,
    index: usize,
    names: Vec<String>,
    /// For each location its functions, the innermost first.
    frames: Vec<Node>,
    frame_ends: Vec<u32>,
    selected: Vec<SelectedSample>,
    total: i64,
}

/// A sample in focus, without its innermost `skipped` locations.
#[derive(Debug, Clone, Copy)]
struct SelectedSample {
    sample: u32,
    skipped: u32,
}

/// A stack with its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stack<'v> {
    /// Locations, the innermost first.
    pub(crate) locations: &'v [u32],
    pub(crate) value: i64,
    /// How many samples the value is made of, where this is known.
    pub(crate) samples: Option<f64>,
}

impl<'p> View<'p> {
    /// A view of `profile`.
    ///
    /// # Errors
    /// [`ViewError`] when there is no such sample type, or the focus is not a regular expression.
    pub fn new(profile: &'p Profile, options: ViewOptions<'_>) -> Result<Self, ViewError> {
        let index = choose(profile, options.sample_type)?;
        let focus = options.focus.map(Regex::new).transpose();
        let focus = focus.map_err(|error| ViewError::Focus(error.to_string()))?;
        let mut view = View {
            profile,
            index,
            names: Vec::new(),
            frames: Vec::new(),
            frame_ends: Vec::with_capacity(profile.locations.len()),
            selected: Vec::new(),
            total: 0,
        };
        let pruned = view.resolve(&Pruner::of(profile));
        view.select(&pruned, focus.as_ref());
        Ok(view)
    }

    pub fn profile(&self) -> &'p Profile {
        self.profile
    }

    /// The sample type.
    pub fn value_type(&self) -> &'p ValueType {
        &self.profile.sample_types[self.index]
    }

    /// What it measures.
    pub fn kind(&self) -> Kind {
        Kind::detect(self.profile, self.index)
    }

    /// How it was sampled.
    pub fn counting(&self) -> Counting {
        Counting::of(self.profile, self.index)
    }

    /// The sum of all absolute values, in focus or not: the denominator of shares.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// What it means if there are no samples.
    pub fn sampling(&self) -> Sampling {
        let has_no_rate = !self.profile.period_type.name.is_empty() && self.profile.period == 0;
        match self.kind() {
            Kind::Allocated | Kind::InUse if has_no_rate => Sampling::Off,
            _ if self.total != 0 => Sampling::Seen,
            Kind::Contention | Kind::Allocated | Kind::InUse => Sampling::OffOrUnknown,
            Kind::Cpu | Kind::State | Kind::Other => Sampling::NoneSeen,
        }
    }

    /// A function's name.
    pub fn name(&self, node: Node) -> &str {
        self.names.get(node.0 as usize).map_or("", String::as_str)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.names.len()
    }

    /// The stacks in focus that have a value.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = Stack<'_>> {
        let counting = self.counting();
        self.selected.iter().filter_map(move |selected| {
            let sample = self.profile.sample(selected.sample as usize)?;
            let value = *sample.values.get(self.index)?;
            let samples = counting.samples_of(self.profile, &sample, value);
            let locations = sample.stack.get(selected.skipped as usize..)?;
            (value != 0).then_some(Stack { locations, value, samples })
        })
    }

    /// The functions of a stack, the outermost first.
    pub(crate) fn frames<'v>(&'v self, stack: &Stack<'v>) -> impl Iterator<Item = Node> + 'v {
        stack.locations.iter().rev().flat_map(|&location| self.frames_at(location).iter().rev().copied())
    }

    /// The innermost function of a stack.
    pub(crate) fn leaf(&self, stack: &Stack<'_>) -> Option<Node> {
        stack.locations.iter().find_map(|&location| self.frames_at(location).first().copied())
    }

    fn frames_at(&self, location: u32) -> &[Node] {
        let at = location as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.frame_ends[before]);
        &self.frames[start as usize..self.frame_ends[at] as usize]
    }

    /// Resolves the functions of every location; returns how each is pruned.
    fn resolve(&mut self, pruner: &Pruner) -> Vec<Pruned> {
        let mut nodes = HashMap::new();
        let mut all = Vec::with_capacity(self.profile.locations.len());
        for (number, location) in (0..).zip(&self.profile.locations) {
            let file = location.mapping.and_then(|mapping| self.profile.mappings.get(mapping as usize));
            let file = file.map_or("", |mapping| self.profile.text(mapping.file));
            let lines = self.profile.lines(number);
            let (pruned, kept) = pruner.prune(self.profile, lines);
            all.push(pruned);
            for line in kept {
                let node = self.node_of(&mut nodes, file, Some(line));
                self.frames.push(node);
            }
            if lines.is_empty() {
                let node = self.node_of(&mut nodes, file, None);
                self.frames.push(node);
            }
            self.frame_ends.push(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        }
        all
    }

    fn node_of(
        &mut self,
        nodes: &mut HashMap<FrameKey<'p>, Node>,
        file: &'p str,
        line: Option<&SourceLine>,
    ) -> Node {
        let function = line.and_then(|line| self.profile.functions.get(line.function as usize));
        let name = function.map_or("", |function| self.profile.text(function.name));
        let name = shown(name);
        let key = if name.is_empty() {
            FrameKey {
                name: name.clone(),
                file,
                start_line: function.map_or(0, |function| function.start_line),
            }
        } else {
            FrameKey { name: name.clone(), file: "", start_line: 0 }
        };
        let next = Node(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let names = &mut self.names;
        *nodes.entry(key).or_insert_with(|| {
            let base = file.rsplit('/').next().unwrap_or_default();
            names.push(match (&*name, base) {
                ("", "") => "<unknown>".to_owned(),
                ("", base) => format!("[{base}]"),
                (name, _) => name.to_owned(),
            });
            next
        })
    }

    /// Selects the samples in focus and prunes their stacks.
    fn select(&mut self, pruned: &[Pruned], focus: Option<&Regex>) {
        let in_focus: Option<Vec<bool>> = focus.map(|focus| self.matching(focus));
        for (number, sample) in (0..).zip(self.profile.samples()) {
            let value = sample.values.get(self.index).copied().unwrap_or_default();
            self.total = self.total.saturating_add(value.saturating_abs());
            let skipped = skipped(&sample, pruned);
            let stack = &sample.stack[skipped..];
            if in_focus.as_ref().is_none_or(|in_focus| stack.iter().any(|&at| in_focus[at as usize])) {
                let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
                self.selected.push(SelectedSample { sample: number, skipped });
            }
        }
    }

    /// For each location, whether a function, source file or binary of it matches.
    fn matching(&self, focus: &Regex) -> Vec<bool> {
        let text = |text| focus.is_match(self.profile.text(text));
        let functions: Vec<bool> = self
            .profile
            .functions
            .iter()
            .map(|function| {
                text(function.name)
                    || focus.is_match(&shown(self.profile.text(function.name)))
                    || text(function.file)
            })
            .collect();
        let mappings: Vec<bool> = self.profile.mappings.iter().map(|mapping| text(mapping.file)).collect();
        let locations = (0..).zip(&self.profile.locations);
        locations
            .map(|(number, location)| {
                let lines = self.profile.lines(number);
                lines.iter().any(|line| functions.get(line.function as usize) == Some(&true))
                    || location.mapping.is_some_and(|mapping| mappings.get(mapping as usize) == Some(&true))
            })
            .collect()
    }
}

/// The identity of a frame.
#[derive(PartialEq, Eq, Hash)]
struct FrameKey<'p> {
    /// As it is shown: instances of one generic function are one frame.
    name: Cow<'p, str>,
    file: &'p str,
    start_line: i64,
}

/// How a location is pruned, and the stack that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pruned {
    /// It is shown.
    Not,
    /// It is removed, with the functions it calls.
    Whole,
    /// Its outer lines are shown; the functions it calls are removed.
    Beneath,
}

/// The patterns of frames that the profile leaves out.
struct Pruner {
    drop: Option<Regex>,
    keep: Option<Regex>,
}

impl Pruner {
    /// Patterns that are not regular expressions prune nothing.
    fn of(profile: &Profile) -> Self {
        let compiled = |pattern: &str| {
            (!pattern.is_empty()).then(|| Regex::new(&format!("^(?:{pattern})$")).ok()).flatten()
        };
        Pruner { drop: compiled(&profile.drop_frames), keep: compiled(&profile.keep_frames) }
    }

    /// How a location is pruned, and the lines of it that are shown.
    fn prune<'l>(&self, profile: &Profile, lines: &'l [SourceLine]) -> (Pruned, &'l [SourceLine]) {
        let Some(drop) = &self.drop else { return (Pruned::Not, lines) };
        let is_dropped = |line: &SourceLine| {
            let name = profile.functions.get(line.function as usize);
            let name = without_arguments(name.map_or("", |function| profile.text(function.name)));
            !name.is_empty()
                && drop.is_match(name)
                && self.keep.as_ref().is_none_or(|keep| !keep.is_match(name))
        };
        match lines.iter().rposition(is_dropped) {
            None => (Pruned::Not, lines),
            Some(at) if at + 1 == lines.len() => (Pruned::Whole, lines),
            Some(at) => (Pruned::Beneath, &lines[at + 1..]),
        }
    }
}

/// A C++ name up to its arguments.
fn without_arguments(name: &str) -> &str {
    const RESERVED: [&str; 2] = ["(anonymous namespace)", "operator()"];
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut from = 0;
    while let Some(at) = name[from..].find('(').map(|at| from + at) {
        let reserved = RESERVED.iter().find_map(|word| {
            let start = at.checked_sub(word.find('(')?)?;
            name.get(start..)?.starts_with(word).then_some(start + word.len())
        });
        match reserved {
            Some(end) => from = end,
            None => return &name[..at],
        }
    }
    name
}

/// How many of the innermost locations are pruned. Frames outside the first one that is kept are not pruned: a stack of
/// frames to leave out is better than none.
fn skipped(sample: &Sample<'_>, pruned: &[Pruned]) -> usize {
    let mut has_kept = false;
    for (at, &location) in sample.stack.iter().enumerate().rev() {
        match pruned.get(location as usize) {
            Some(Pruned::Whole) if has_kept => return at + 1,
            Some(Pruned::Beneath) if has_kept => return at,
            Some(Pruned::Whole | Pruned::Beneath) => {}
            _ => has_kept = true,
        }
    }
    0
}

/// The index of the sample type, chosen as `go tool pprof` does.
fn choose(profile: &Profile, requested: Option<&str>) -> Result<usize, TypeError> {
    let named = |name: &str| profile.sample_types.iter().position(|found| found.name == name);
    let last = profile.sample_types.len().saturating_sub(1);
    let Some(requested) = requested else {
        return Ok(profile.default_sample_type.as_deref().and_then(named).unwrap_or(last));
    };
    let by_number = || requested.parse().ok().filter(|index| *index <= last);
    named(requested).or_else(by_number).ok_or_else(|| TypeError {
        requested: requested.to_owned(),
        known: profile.sample_types.iter().map(|found| found.name.clone()).collect(),
    })
}
