//! From the ids that a file gives its records to their places in a row.

/// Ids in order. Most files count from 1, which is found without a search.
#[derive(Debug, Default)]
pub(super) struct Ids {
    entries: Vec<(u64, u32)>,
}

impl Ids {
    /// Gives `id` the next place.
    pub(super) fn push(&mut self, id: u64) -> Option<()> {
        let place = u32::try_from(self.entries.len()).ok()?;
        self.entries.push((id, place));
        Some(())
    }

    /// To be called after the last; returns the place and id of one that another has too.
    pub(super) fn settle(&mut self) -> Option<(u32, u64)> {
        self.entries.sort_unstable();
        let twice = self.entries.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
        Some((twice[1].1, twice[1].0))
    }

    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let guess = usize::try_from(id.checked_sub(1)?).ok();
        if let Some(&(found, place)) = guess.and_then(|guess| self.entries.get(guess))
            && found == id
        {
            return Some(place);
        }
        let at = self.entries.binary_search_by_key(&id, |entry| entry.0).ok()?;
        Some(self.entries[at].1)
    }
}
