//! Generated rows: texts with an ascending number, `user-{1..10000}`.

use super::{MAX_ROWS, write_number};

/// A text with one range of numbers in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    before: String,
    after: String,
    first: u64,
    last: u64,
    width: usize,
}

impl Pattern {
    /// Read `before{FIRST..LAST}after`; LAST is included.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let form = "write a text with one range, such as `user-{1..10000}`";
        let (before, rest) = text.split_once('{').ok_or_else(|| format!("there is no `{{`: {form}"))?;
        let (range, after) = rest.split_once('}').ok_or_else(|| format!("there is no `}}`: {form}"))?;
        let (low, high) = range.split_once("..").ok_or_else(|| format!("there is no `..`: {form}"))?;
        if after.contains(['{', '}']) {
            return Err(format!("there is more than one range: {form}"));
        }
        let number =
            |n: &str| n.trim().parse::<u64>().map_err(|_| format!("`{n}` is not a whole number: {form}"));
        let (first, last) = (number(low)?, number(high)?);
        if last < first {
            return Err(format!("the range goes down: write `{{{last}..{first}}}`"));
        }
        if last - first >= MAX_ROWS {
            return Err(format!("there are more than {MAX_ROWS} rows: make the range smaller"));
        }
        let low = low.trim();
        let width = if low.len() > 1 && low.starts_with('0') { low.len() } else { 0 };
        Ok(Pattern { before: before.to_owned(), after: after.to_owned(), first, last, width })
    }

    pub(super) fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Append the text of row `row`, which must be below [`Pattern::len`].
    pub(super) fn write(&self, row: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.before.as_bytes());
        write_number(self.first + row, self.width, out);
        out.extend_from_slice(self.after.as_bytes());
    }
}
