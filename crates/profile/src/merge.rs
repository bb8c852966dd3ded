//! Several profiles as one: their sum, or a later one of a process minus an earlier one.

use std::collections::HashMap;

use crate::error::MergeError;
use crate::kind::Kind;
use crate::model::{Function, Label, LabelValue, Location, Mapping, Profile, Sample, SourceLine, ValueType};
use crate::text::Text;

/// The sum of profiles with the same sample types, durations included.
///
/// # Errors
/// [`MergeError`] when their sample types differ.
pub fn merge(profiles: &[&Profile]) -> Result<Profile, MergeError> {
    let Some(first) = profiles.first() else { return Ok(Profile::default()) };
    let mut merged = Merged::like(first)?;
    for profile in profiles {
        merged.add(profile, 1)?;
        let into = &mut merged.profile;
        into.period = into.period.max(profile.period);
        into.time_ns = earlier(into.time_ns, profile.time_ns);
        into.duration_ns = into.duration_ns.saturating_add(profile.duration_ns.max(0));
    }
    Ok(merged.finish())
}

/// The difference of two profiles of one process: `end` minus `start`. Values of memory in use may be negative.
///
/// # Errors
/// [`MergeError`] when their sample types differ, or when a value that only grows became less: the process was
/// restarted in between, or the order is wrong.
pub fn since(start: &Profile, end: &Profile) -> Result<Profile, MergeError> {
    let mut merged = Merged::like(end)?;
    merged.add(end, 1)?;
    merged.add(start, -1)?;
    let mut between = merged.finish();
    between.period = end.period;
    between.time_ns = start.time_ns;
    between.duration_ns =
        if start.time_ns > 0 { end.time_ns.saturating_sub(start.time_ns).max(0) } else { 0 };
    for (index, counted) in end.sample_types.iter().enumerate() {
        let sum = between.samples().fold(0_i64, |sum, sample| sum.saturating_add(sample.values[index]));
        if sum < 0 && Kind::detect(end, index).accumulates() {
            return Err(MergeError::Backwards { sample_type: counted.name.clone() });
        }
    }
    Ok(between)
}

fn earlier(one: i64, other: i64) -> i64 {
    match (one, other) {
        (0, time) | (time, 0) => time,
        (one, other) => one.min(other),
    }
}

/// The identity of a binary, whatever address it was loaded at.
#[derive(PartialEq, Eq, Hash)]
struct MappingKey {
    pages: u64,
    offset: u64,
    name: Text,
}

#[derive(PartialEq, Eq, Hash)]
struct LocationKey {
    mapping: Option<u32>,
    address: u64,
    is_folded: bool,
    lines: Vec<SourceLine>,
}

#[derive(Default)]
struct Merged {
    profile: Profile,
    texts: HashMap<String, Text>,
    mappings: HashMap<MappingKey, u32>,
    functions: HashMap<Function, u32>,
    locations: HashMap<LocationKey, u32>,
    samples: HashMap<(Vec<u32>, Vec<Label>), Vec<i64>>,
    /// Keys of `samples` in the order of insertion.
    order: Vec<(Vec<u32>, Vec<Label>)>,
}

impl Merged {
    fn like(first: &Profile) -> Result<Merged, MergeError> {
        let profile = Profile {
            sample_types: first.sample_types.clone(),
            default_sample_type: first.default_sample_type.clone(),
            period_type: first.period_type.clone(),
            doc_url: first.doc_url.clone(),
            drop_frames: first.drop_frames.clone(),
            keep_frames: first.keep_frames.clone(),
            ..Profile::default()
        };
        let mut merged = Merged { profile, ..Merged::default() };
        merged.text("")?;
        Ok(merged)
    }

    fn add(&mut self, from: &Profile, factor: i64) -> Result<(), MergeError> {
        if from.sample_types != self.profile.sample_types {
            let list = |types: &[ValueType]| {
                types.iter().map(|one| format!("{}/{}", one.name, one.unit)).collect::<Vec<_>>().join(", ")
            };
            let (first, other) = (list(&self.profile.sample_types), list(&from.sample_types));
            return Err(MergeError::Types { first, other });
        }
        let texts: Vec<Text> = from.texts.iter().map(|text| self.text(text)).collect::<Result<_, _>>()?;
        let text = |text: Text| texts.get(text.0 as usize).copied().unwrap_or(Text::EMPTY);
        let mappings = self.add_mappings(from, text)?;
        let functions = self.add_functions(from, text)?;
        let locations = self.add_locations(from, &mappings, &functions)?;
        for sample in from.samples() {
            if sample.values.iter().any(|value| *value != 0) {
                self.add_sample(&sample, &locations, factor, text);
            }
        }
        for comment in &from.comments {
            if !self.profile.comments.contains(comment) {
                self.profile.comments.push(comment.clone());
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<Text, MergeError> {
        if let Some(&known) = self.texts.get(text) {
            return Ok(known);
        }
        let new = self.profile.texts.push(text).ok_or(MergeError::TooLarge)?;
        self.texts.insert(text.to_owned(), new);
        Ok(new)
    }

    fn add_mappings(&mut self, from: &Profile, text: impl Fn(Text) -> Text) -> Result<Vec<u32>, MergeError> {
        const PAGE: u64 = 4_096;
        let mut indices = Vec::with_capacity(from.mappings.len());
        for &mapping in &from.mappings {
            let moved = Mapping { file: text(mapping.file), build_id: text(mapping.build_id), ..mapping };
            let name = if moved.build_id == Text::EMPTY { moved.file } else { moved.build_id };
            let pages = moved.limit.wrapping_sub(moved.start).div_ceil(PAGE);
            let key = MappingKey { pages, offset: moved.offset, name };
            indices.push(index_of(&mut self.mappings, &mut self.profile.mappings, key, moved)?);
        }
        Ok(indices)
    }

    fn add_functions(&mut self, from: &Profile, text: impl Fn(Text) -> Text) -> Result<Vec<u32>, MergeError> {
        let mut indices = Vec::with_capacity(from.functions.len());
        for &function in &from.functions {
            let Function { name, system_name, file, start_line } = function;
            let moved =
                Function { name: text(name), system_name: text(system_name), file: text(file), start_line };
            indices.push(index_of(&mut self.functions, &mut self.profile.functions, moved, moved)?);
        }
        Ok(indices)
    }

    fn add_locations(
        &mut self,
        from: &Profile,
        mappings: &[u32],
        functions: &[u32],
    ) -> Result<Vec<u32>, MergeError> {
        let mut indices = Vec::with_capacity(from.locations.len());
        for (number, location) in (0..).zip(&from.locations) {
            let lines: Vec<SourceLine> = from
                .lines(number)
                .iter()
                .filter_map(|line| {
                    Some(SourceLine { function: *functions.get(line.function as usize)?, ..*line })
                })
                .collect();
            let old = location.mapping.and_then(|at| from.mappings.get(at as usize));
            let mapping = location.mapping.and_then(|at| mappings.get(at as usize)).copied();
            let relative = location.address.wrapping_sub(old.map_or(0, |old| old.start));
            let key = LocationKey { mapping, address: relative, is_folded: location.is_folded, lines };
            if let Some(&known) = self.locations.get(&key) {
                indices.push(known);
                continue;
            }
            self.profile.lines.extend_from_slice(&key.lines);
            let lines_end = u32::try_from(self.profile.lines.len()).map_err(|_| MergeError::TooLarge)?;
            let new = mapping.and_then(|at| self.profile.mappings.get(at as usize));
            let address = relative.wrapping_add(new.map_or(0, |new| new.start));
            let moved = Location { mapping, address, is_folded: location.is_folded, lines_end };
            indices.push(index_of(&mut self.locations, &mut self.profile.locations, key, moved)?);
        }
        Ok(indices)
    }

    fn add_sample(
        &mut self,
        sample: &Sample<'_>,
        locations: &[u32],
        factor: i64,
        text: impl Fn(Text) -> Text,
    ) {
        let stack = sample.stack.iter().filter_map(|at| locations.get(*at as usize)).copied().collect();
        let moved = |label: &Label| Label {
            key: text(label.key),
            value: match label.value {
                LabelValue::Text(value) => LabelValue::Text(text(value)),
                LabelValue::Number(value, unit) => LabelValue::Number(value, text(unit)),
            },
        };
        let mut labels: Vec<Label> = sample.labels.iter().map(moved).collect();
        labels.sort_unstable();
        let key = (stack, labels);
        let order = &mut self.order;
        let sums = self.samples.entry(key).or_insert_with_key(|key| {
            order.push(key.clone());
            vec![0; sample.values.len()]
        });
        for (sum, value) in sums.iter_mut().zip(sample.values) {
            *sum = sum.saturating_add(value.saturating_mul(factor));
        }
    }

    /// The merged profile, without stacks whose values are all 0.
    fn finish(mut self) -> Profile {
        for key in self.order {
            let Some(values) = self.samples.get(&key).filter(|values| values.iter().any(|value| *value != 0))
            else {
                continue;
            };
            let sample = Sample { stack: &key.0, values, labels: &key.1 };
            // Each of them was in a profile before, where it fitted.
            let _fits = self.profile.samples.push(sample);
        }
        self.profile
    }
}

/// The index of the record with this key; a new one is appended to `all`.
fn index_of<K: std::hash::Hash + Eq, T>(
    known: &mut HashMap<K, u32>,
    all: &mut Vec<T>,
    key: K,
    new: T,
) -> Result<u32, MergeError> {
    let next = u32::try_from(all.len()).map_err(|_| MergeError::TooLarge)?;
    Ok(*known.entry(key).or_insert_with(|| {
        all.push(new);
        next
    }))
}
