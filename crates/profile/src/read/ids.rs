//! Maps the ids of a file's records to their indices.

/// Ids with their indices. Most files number records from 1, which is found without a search.
#[derive(Debug, Default)]
pub(super) struct Ids {
    entries: Vec<IdEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct IdEntry {
    id: u64,
    index: u32,
}

/// A record with the id of another.
pub(super) struct DuplicateId {
    pub(super) index: u32,
    pub(super) id: u64,
}

impl Ids {
    /// Gives `id` the next index.
    pub(super) fn push(&mut self, id: u64) -> Option<()> {
        let index = u32::try_from(self.entries.len()).ok()?;
        self.entries.push(IdEntry { id, index });
        Some(())
    }

    /// Sorts the ids, after the last was added and before any is looked up.
    pub(super) fn sort(&mut self) -> Result<(), DuplicateId> {
        self.entries.sort_unstable();
        match self.entries.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(pair) => Err(DuplicateId { index: pair[1].index, id: pair[1].id }),
            None => Ok(()),
        }
    }

    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let guess = usize::try_from(id.checked_sub(1)?).ok();
        if let Some(entry) = guess.and_then(|guess| self.entries.get(guess))
            && entry.id == id
        {
            return Some(entry.index);
        }
        let at = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        Some(self.entries[at].index)
    }
}
