//! Records of several lines: texts in quotes, and records that a tool broke because it wrote a text with line ends or
//! delimiters without quotes. Such a record is put together where only one reading of it has the types of its columns;
//! where several readings are possible, its lines are counted as records that could not be read.

use std::borrow::Cow;

use super::{Columns, CsvRecord, CsvShape, fields};
use crate::lines::{Reading, UnreadRecord};

/// A record that is longer than this has a quote without its end, or is not one record.
const MAX_RECORD: usize = 1 << 20;

/// Puts lines together to records.
pub(super) struct Rejoiner {
    columns: Columns,
    shape: CsvShape,
    open: OpenRecord,
}

/// A record of which all lines are known.
pub(super) struct WholeRecord<'l> {
    /// The number of its first line.
    pub(super) at: u64,
    pub(super) fields: Vec<Cow<'l, str>>,
}

/// Lines that are not record yet.
#[derive(Default)]
struct OpenRecord {
    at: u64,
    lines: u64,
    text: String,
    end: FieldEnd,
    /// Whether a line ended outside of quotes.
    is_broken: bool,
}

/// Where in its fields a text ends, and how many it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldEnd {
    fields: usize,
    part: FieldPart,
    /// Whether anything but a delimiter came after a text in quotes.
    is_odd: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldPart {
    Start,
    Plain,
    Quoted,
    AfterQuote,
}

impl Default for FieldEnd {
    fn default() -> FieldEnd {
        FieldEnd { fields: 1, part: FieldPart::Start, is_odd: false }
    }
}

impl FieldEnd {
    /// After more text.
    fn after(self, text: &str, delimiter: char) -> FieldEnd {
        text.chars().fold(self, |end, c| match (end.part, c) {
            (FieldPart::Quoted, '"') => FieldEnd { part: FieldPart::AfterQuote, ..end },
            (FieldPart::Quoted, _) => end,
            (FieldPart::AfterQuote | FieldPart::Start, '"') => FieldEnd { part: FieldPart::Quoted, ..end },
            (_, c) if c == delimiter => FieldEnd { fields: end.fields + 1, part: FieldPart::Start, ..end },
            (part, _) => {
                let is_odd = end.is_odd || part == FieldPart::AfterQuote;
                FieldEnd { part: FieldPart::Plain, is_odd, ..end }
            }
        })
    }

    fn is_in_quotes(self) -> bool {
        self.part == FieldPart::Quoted
    }
}

impl Rejoiner {
    pub(super) fn new(columns: Columns, shape: CsvShape) -> Rejoiner {
        Rejoiner { columns, shape, open: OpenRecord::default() }
    }

    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Whether there are lines that are not record yet.
    pub(super) fn is_open(&self) -> bool {
        self.open.lines > 0
    }

    /// Add the line at `at` and return the record that it completes. Lines that are in no record are counted in `reading`.
    pub(super) fn add<'l>(
        &mut self,
        at: u64,
        line: &'l str,
        reading: &mut Reading,
    ) -> Option<WholeRecord<'l>> {
        let alone = fields(line, self.columns.delimiter);
        let is_end_of_quote = self.open.end.is_in_quotes() && line.contains('"');
        let is_next = || self.is_header(&alone) || self.is_record(&alone) || self.begins(&alone);
        if self.is_open() && !is_end_of_quote && is_next() {
            self.give_up(reading);
        }
        if self.is_open() { self.continued(line, reading) } else { self.begun(at, line, alone, reading) }
    }

    fn begun<'l>(
        &mut self,
        at: u64,
        line: &'l str,
        alone: Vec<Cow<'l, str>>,
        reading: &mut Reading,
    ) -> Option<WholeRecord<'l>> {
        let width = self.columns.names.len();
        let end = match line.contains('"') {
            true => FieldEnd::default().after(line, self.columns.delimiter),
            false => FieldEnd { fields: alone.len(), part: FieldPart::Plain, is_odd: false },
        };
        if !end.is_in_quotes() && alone.len() == width {
            return (!self.is_header(&alone)).then_some(WholeRecord { at, fields: alone });
        }
        let is_broken = !end.is_in_quotes();
        if !is_broken || alone.len() < width && self.begins(&alone) {
            self.open = OpenRecord { at, lines: 1, text: line.to_owned(), end, is_broken };
            return None;
        }
        if let Some(fields) = self.closed_up(&alone) {
            reading.rejoined += 1;
            return Some(WholeRecord { at, fields });
        }
        let why = self.wrong_width(alone.len());
        // A line with more fields may be parts of several records.
        reading.malformed(alone.len().div_ceil(width) as u64, UnreadRecord::new(at, why, line.as_bytes()));
        None
    }

    fn continued<'l>(&mut self, line: &str, reading: &mut Reading) -> Option<WholeRecord<'l>> {
        let (delimiter, width) = (self.columns.delimiter, self.columns.names.len());
        let open = &mut self.open;
        open.end = open.end.after("\n", delimiter).after(line, delimiter);
        open.text.push('\n');
        open.text.push_str(line);
        open.lines += 1;
        if open.text.len() <= MAX_RECORD && (open.end.is_in_quotes() || open.end.fields < width) {
            open.is_broken |= !open.end.is_in_quotes();
            return None;
        }
        let joined: Vec<Cow<'_, str>> = fields(&self.open.text, delimiter);
        let found = match joined.len() == width {
            _ if self.open.end.is_odd => None,
            true => (!self.open.is_broken || self.is_record(&joined)).then_some(joined),
            false => self.closed_up(&joined),
        };
        let at = self.open.at;
        let record = found.filter(|_| self.open.text.len() <= MAX_RECORD).map(|fields| {
            let fields = fields.into_iter().map(|field| Cow::Owned(field.into_owned())).collect();
            WholeRecord { at, fields }
        });
        match record {
            Some(_) => {
                reading.rejoined += u64::from(self.open.is_broken);
                self.open = OpenRecord::default();
            }
            None => self.give_up(reading),
        }
        record
    }

    /// Count the lines that are not record: each may be one.
    fn give_up(&mut self, reading: &mut Reading) {
        let OpenRecord { at, lines, text, end, .. } = std::mem::take(&mut self.open);
        let why = match end.is_in_quotes() {
            true => "a quote that is never closed".to_owned(),
            false => self.wrong_width(end.fields),
        };
        reading.malformed(lines, UnreadRecord::new(at, why, text.as_bytes()));
    }

    fn wrong_width(&self, fields: usize) -> String {
        format!("{fields} columns, the header has {}", self.columns.names.len())
    }

    fn is_header(&self, fields: &[Cow<'_, str>]) -> bool {
        let names = &self.columns.names;
        fields.len() == names.len() && fields.iter().zip(names).all(|(field, name)| field == name)
    }

    fn is_record(&self, fields: &[Cow<'_, str>]) -> bool {
        fields.len() == self.columns.names.len()
            && (self.shape.is_record)(&CsvRecord { columns: &self.columns, fields })
    }

    /// Whether a line begins as a record does, of a tool that may break it.
    fn begins(&self, fields: &[Cow<'_, str>]) -> bool {
        !self.shape.unquoted.is_empty()
            && (self.shape.is_start)(&CsvRecord { columns: &self.columns, fields })
    }

    /// The record of too many fields, if there is one text alone whose delimiters explain it.
    fn closed_up<'f>(&self, fields: &[Cow<'f, str>]) -> Option<Vec<Cow<'f, str>>> {
        let names = &self.columns.names;
        let extra = fields.len().checked_sub(names.len()).filter(|extra| *extra > 0)?;
        if self.ends_with_a_record(fields) {
            return None;
        }
        let is_text = |name: &String| self.shape.unquoted.contains(&name.as_str());
        let texts = names.iter().enumerate().filter(|(_, name)| is_text(name)).map(|(at, _)| at);
        let closed = texts.map(|at| {
            let text = fields[at..=at + extra].join(&*self.columns.delimiter.to_string());
            let (before, after) = (&fields[..at], &fields[at + extra + 1..]);
            before.iter().cloned().chain([Cow::Owned(text)]).chain(after.iter().cloned()).collect()
        });
        let mut readings = closed.filter(|fields: &Vec<Cow<'f, str>>| self.is_record(fields));
        let first = readings.next()?;
        let agrees = |other: Vec<Cow<'f, str>>| {
            names.iter().zip(first.iter().zip(&other)).all(|(name, (a, b))| is_text(name) || a == b)
        };
        readings.all(agrees).then_some(first)
    }

    /// Whether the last fields are a record of their own, whose first field, a time, was joined with a part of the record
    /// before.
    fn ends_with_a_record(&self, fields: &[Cow<'_, str>]) -> bool {
        let mut last = fields[fields.len() - self.columns.names.len()..].to_vec();
        let may_be_a_time = last[0].ends_with(|c: char| c.is_ascii_digit());
        last[0] = fields[0].clone();
        may_be_a_time && self.is_record(&last)
    }
}

#[cfg(test)]
mod tests;
