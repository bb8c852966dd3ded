//! Data files: rows of named columns, whose values iterations use.

use std::io::Write as _;
use std::ops::Range;

use generate::Pattern;
use kept::KeptRows;
pub use kept::RowSet;

mod generate;
mod kept;

/// The most rows a table may have.
pub const MAX_ROWS: u64 = 10_000_000;

/// Rows of named columns. Generated rows are computed on access.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Rows,
}

#[derive(Debug, Clone, PartialEq)]
enum Rows {
    /// The text of all cells, row by row, and the end of each cell.
    Cells { text: String, ends: Vec<usize> },
    /// The same of some of the rows.
    Kept { text: String, ends: Vec<usize>, kept: KeptRows },
    /// Row n is the n-th text of a pattern.
    Generated(Pattern),
}

/// A data file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// An error at one line of the file.
    #[error("{file}:{line}: {message}")]
    Line {
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong and what to do.
        message: String,
    },
    /// An error in the file as a whole.
    #[error("{file}: {message}")]
    Whole {
        /// The file's name, or the pattern.
        file: String,
        /// What is wrong and what to do.
        message: String,
    },
}

impl Table {
    /// Rows with the one column `id` from a pattern with one range: `user-{1..10000}`, or `user-{00001..10000}`
    /// for numbers padded with zeros.
    ///
    /// # Errors
    /// [`DataError`] if the pattern is malformed.
    pub fn generate(pattern: &str) -> Result<Table, DataError> {
        let whole = |message| DataError::Whole { file: pattern.to_owned(), message };
        let rows = Rows::Generated(Pattern::parse(pattern).map_err(whole)?);
        Ok(Table { columns: vec!["id".to_owned()], rows })
    }

    /// An empty table with these columns.
    pub fn with_columns(columns: Vec<String>) -> Table {
        Table { columns, rows: Rows::Cells { text: String::new(), ends: Vec::new() } }
    }

    /// Append a row to a table that is not generated. Missing cells are empty, surplus cells are ignored.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = &'a str>) {
        if let Rows::Cells { text, ends } = &mut self.rows {
            let mut row = row.into_iter();
            for _ in 0..self.columns.len() {
                text.push_str(row.next().unwrap_or_default());
                ends.push(text.len());
            }
        }
    }

    /// Forget all rows but these. The others keep their numbers. Rows that are generated take no memory, and stay.
    pub fn keep_only(&mut self, set: RowSet) {
        let Rows::Cells { text, ends } = &self.rows else { return };
        let columns = self.columns.len();
        let cells = set.count() as usize * columns;
        let (mut kept_text, mut kept_ends) = (String::new(), Vec::with_capacity(cells));
        for row in set.iter() {
            for cell in (0..columns).filter_map(|column| cell_range(ends, self.cell_index(row, column)?)) {
                kept_text.push_str(&text[cell]);
                kept_ends.push(kept_text.len());
            }
        }
        kept_text.shrink_to_fit();
        self.rows = Rows::Kept { text: kept_text, ends: kept_ends, kept: KeptRows::new(set) };
    }

    /// The columns' names, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The index of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        match &self.rows {
            Rows::Cells { ends, .. } => (ends.len() / self.columns.len().max(1)) as u64,
            Rows::Kept { kept, .. } => kept.rows(),
            Rows::Generated(pattern) => pattern.len(),
        }
    }

    /// Append one value to `out`; nothing if there is no such row or column. Allocates nothing but what `out`
    /// needs.
    pub fn write(&self, row: u64, column: usize, out: &mut Vec<u8>) {
        match &self.rows {
            Rows::Cells { text, ends } => {
                if let Some(cell) = self.cell_index(row, column).and_then(|index| cell_range(ends, index)) {
                    out.extend_from_slice(&text.as_bytes()[cell]);
                }
            }
            Rows::Kept { text, ends, kept } => {
                let place = kept.place(row);
                debug_assert!(place.is_some() || row >= kept.rows(), "row {row} is used and was not kept");
                let index = place.and_then(|place| self.cell_index(place, column));
                if let Some(cell) = index.and_then(|index| cell_range(ends, index)) {
                    out.extend_from_slice(&text.as_bytes()[cell]);
                }
            }
            Rows::Generated(pattern) if column == 0 && row < pattern.len() => pattern.write(row, out),
            Rows::Generated(_) => {}
        }
    }

    /// One value; empty if there is no such row or column.
    pub fn value(&self, row: u64, column: usize) -> String {
        let mut out = Vec::new();
        self.write(row, column, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The index of a cell when cells are counted row by row; none if there is no such column.
    fn cell_index(&self, row: u64, column: usize) -> Option<usize> {
        let columns = self.columns.len();
        let row = usize::try_from(row).ok().filter(|_| column < columns)?;
        row.checked_mul(columns)?.checked_add(column)
    }
}

/// The bytes of a cell within the text of all cells; none if there is no such cell.
fn cell_range(ends: &[usize], index: usize) -> Option<Range<usize>> {
    let end = *ends.get(index)?;
    Some(index.checked_sub(1).map_or(0, |before| ends[before])..end)
}

/// Append a number to `out`, padded with zeros to `width`.
fn write_number(number: u64, width: usize, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number:0width$}");
}
