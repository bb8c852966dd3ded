//! Sets of rows: those of a table that a process needs, and where it has them.

/// Some of the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSet {
    rows: u64,
    /// One bit for each row.
    words: Vec<u64>,
}

impl RowSet {
    pub fn none_of(rows: u64) -> RowSet {
        let words = usize::try_from(rows.div_ceil(64)).unwrap_or(usize::MAX);
        RowSet { rows, words: vec![0; words] }
    }

    /// Add a row; one that there is not is ignored.
    pub fn insert(&mut self, row: u64) {
        if row < self.rows {
            self.words[(row / 64) as usize] |= 1 << (row % 64);
        }
    }

    /// Whether the row is one of them.
    pub fn contains(&self, row: u64) -> bool {
        row < self.rows && self.words[(row / 64) as usize] & (1 << (row % 64)) != 0
    }

    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// They, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.rows).filter(|row| self.contains(*row))
    }
}

/// The place of each row among those that were kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptRows {
    set: RowSet,
    /// How many were kept before those of each word.
    before: Vec<u64>,
}

impl KeptRows {
    pub(super) fn new(set: RowSet) -> KeptRows {
        let counted = |sum: &mut u64, word: &u64| {
            let before = *sum;
            *sum += u64::from(word.count_ones());
            Some(before)
        };
        let before = set.words.iter().scan(0, counted).collect();
        KeptRows { set, before }
    }

    /// How many rows the table has, kept or not.
    pub(super) fn rows(&self) -> u64 {
        self.set.rows
    }

    /// Where the row is; none if it was not kept.
    pub(super) fn place(&self, row: u64) -> Option<u64> {
        let at = usize::try_from(row / 64).ok().filter(|_| self.set.contains(row))?;
        let lower = self.set.words[at] & ((1 << (row % 64)) - 1);
        Some(self.before[at] + u64::from(lower.count_ones()))
    }
}
