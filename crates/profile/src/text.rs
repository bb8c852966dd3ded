//! The texts of a profile in one buffer: a malicious table of a million empty strings costs four bytes each and no
//! allocation.

/// A text of a [`Profile`](crate::Profile); number 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text(pub(crate) u32);

impl Text {
    /// The empty text, which means unknown.
    pub const EMPTY: Text = Text(0);
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    buffer: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Adds a text; `None` when there are four gigabytes of text already.
    pub(crate) fn push(&mut self, text: &str) -> Option<Text> {
        let number = u32::try_from(self.ends.len()).ok()?;
        let end = u32::try_from(self.buffer.len() + text.len()).ok()?;
        self.buffer.push_str(text);
        self.ends.push(end);
        Some(Text(number))
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of this number; the empty one for a number of another profile.
    pub(crate) fn get(&self, text: Text) -> &str {
        let number = text.0 as usize;
        let start = if number == 0 { Some(0) } else { self.ends.get(number - 1).copied() };
        match (start, self.ends.get(number)) {
            (Some(start), Some(&end)) => self.buffer.get(start as usize..end as usize).unwrap_or_default(),
            _ => "",
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(Text(u32::try_from(number).unwrap_or(u32::MAX))))
    }
}
