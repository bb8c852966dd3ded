//! Builds profiles: from the output of other profilers, and for tests.

use std::collections::HashMap;

use crate::error::MergeError;
use crate::model::{Function, Location, Mapping, Profile, Sample, SourceLine, ValueType};
use crate::text::Text;

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Frame<'a> {
    /// The function; empty if it is not known.
    pub function: &'a str,
    /// The binary or library that contains it; empty if it is not known.
    pub binary: &'a str,
}

/// Builds a [`Profile`] stack by stack.
#[derive(Debug, Default)]
pub struct Builder {
    profile: Profile,
    texts: HashMap<String, Text>,
    mappings: HashMap<Text, u32>,
    locations: HashMap<(Text, Text), u32>,
}

impl Builder {
    /// A profile with these sample types. The caller sets the rest of the header on the result of [`Builder::finish`].
    pub fn new(sample_types: Vec<ValueType>) -> Builder {
        let mut builder =
            Builder { profile: Profile { sample_types, ..Profile::default() }, ..Builder::default() };
        // The first text of a table always fits.
        let empty = builder.profile.texts.push("").unwrap_or_default();
        builder.texts.insert(String::new(), empty);
        builder
    }

    /// Adds a stack, the outermost frame first, with a value for each sample type; missing ones are 0, further ones are
    /// left out.
    ///
    /// # Errors
    /// [`MergeError::TooLarge`] when there is more than one profile can contain.
    pub fn sample(&mut self, frames: &[Frame<'_>], values: &[i64]) -> Result<(), MergeError> {
        let stack = frames.iter().rev().map(|frame| self.location(frame)).collect::<Result<Vec<_>, _>>()?;
        let mut values = values.to_vec();
        values.resize(self.profile.sample_types.len(), 0);
        let sample = Sample { stack: &stack, values: &values, labels: &[] };
        self.profile.samples.push(sample).ok_or(MergeError::TooLarge)
    }

    pub fn finish(self) -> Profile {
        self.profile
    }

    fn text(&mut self, text: &str) -> Result<Text, MergeError> {
        if let Some(&known) = self.texts.get(text) {
            return Ok(known);
        }
        let new = self.profile.texts.push(text).ok_or(MergeError::TooLarge)?;
        self.texts.insert(text.to_owned(), new);
        Ok(new)
    }

    fn location(&mut self, frame: &Frame<'_>) -> Result<u32, MergeError> {
        let (name, file) = (self.text(frame.function)?, self.text(frame.binary)?);
        if let Some(&known) = self.locations.get(&(name, file)) {
            return Ok(known);
        }
        let profile = &mut self.profile;
        let next = |length: usize| u32::try_from(length).map_err(|_| MergeError::TooLarge);
        let mut mapping = None;
        if file != Text::EMPTY {
            let number = next(profile.mappings.len())?;
            mapping = Some(*self.mappings.entry(file).or_insert_with(|| {
                profile.mappings.push(Mapping { file, ..Mapping::default() });
                number
            }));
        }
        if name != Text::EMPTY {
            let function = next(profile.functions.len())?;
            profile.functions.push(Function { name, system_name: name, ..Function::default() });
            profile.lines.push(SourceLine { function, line: 0, column: 0 });
        }
        let number = next(profile.locations.len())?;
        let lines_end = next(profile.lines.len())?;
        profile.locations.push(Location { mapping, address: 0, is_folded: false, lines_end });
        self.locations.insert((name, file), number);
        Ok(number)
    }
}

/// Stacks as text for tests: `outer;inner VALUE VALUE`, a line each.
#[cfg(test)]
pub(crate) fn folded(types: &[(&str, &str)], text: &str) -> Profile {
    let named =
        |(name, unit): &(&str, &str)| ValueType { name: (*name).to_owned(), unit: (*unit).to_owned() };
    let mut builder = Builder::new(types.iter().map(named).collect());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let stack = words.next().expect("a line has a stack");
        let frames: Vec<Frame<'_>> =
            stack.split(';').map(|function| Frame { function, binary: "" }).collect();
        let values: Vec<i64> = words.map(|word| word.parse().expect("values are numbers")).collect();
        builder.sample(&frames, &values).expect("tests are small");
    }
    builder.finish()
}
