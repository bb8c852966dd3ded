//! Reads a file line by line with bounded memory and counts the lines that are malformed.

use std::io::{self, BufRead};

use evidence::SinkError;

use crate::ImportError;

/// The longest line that is read, in bytes: one of vegeta may contain a whole response.
const MAX_LINE: usize = 16 << 20;

/// The most records that could not be read that are shown.
const MAX_SHOWN: usize = 3;
/// How much of such a record is shown, in characters.
const MAX_TEXT: usize = 80;

/// How much of a file was read and how much was malformed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Lines, or the records of a document that has no lines.
    pub records: u64,
    /// How many records are malformed; a line may be parts of several.
    pub malformed: u64,
    pub first: Vec<UnreadRecord>,
    /// How many records were put together from lines that a text without quotes had broken, or from too many columns.
    pub rejoined: u64,
    /// The number of the last record, if the file ends in the middle of it.
    pub cut: Option<u64>,
    /// Why nothing limits how many requests could not be read, if so.
    pub open_ended: Option<String>,
}

/// A record that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadRecord {
    /// Its number, from 1: that of its line where the file has lines.
    pub at: u64,
    /// What is wrong with it.
    pub why: String,
    /// How it begins.
    pub text: String,
}

impl Reading {
    /// The number of the first malformed record, and what is wrong with it.
    pub fn first_malformed(&self) -> Option<(u64, String)> {
        self.first.first().map(|record| (record.at, record.why.clone()))
    }

    /// Count malformed records that begin at `at` and whose text is `text`.
    pub(crate) fn malformed(&mut self, count: u64, record: UnreadRecord) {
        self.malformed += count;
        if self.first.len() < MAX_SHOWN {
            self.first.push(record);
        }
    }

    /// Count the last record, of a document that has no lines, if it was rejected.
    ///
    /// # Errors
    /// [`ImportError`] when it was rejected because it could not be stored.
    pub(crate) fn take(&mut self, record: Result<(), LineError>) -> Result<(), ImportError> {
        match record {
            Ok(()) => {}
            Err(LineError::Malformed(why)) => {
                self.malformed(1, UnreadRecord { at: self.records, why, text: String::new() });
            }
            Err(LineError::Sink(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

impl UnreadRecord {
    /// The record at `at` with this text, of which the beginning is stored without control characters.
    pub(crate) fn new(at: u64, why: String, text: &[u8]) -> UnreadRecord {
        let start = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_TEXT)]);
        let shown = start.chars().map(|c| if c.is_control() { ' ' } else { c });
        UnreadRecord { at, why, text: shown.take(MAX_TEXT).collect() }
    }
}

/// Why a line was rejected.
pub(crate) enum LineError {
    Malformed(String),
    /// Its content could not be stored.
    Sink(SinkError),
}

impl From<SinkError> for LineError {
    fn from(error: SinkError) -> LineError {
        LineError::Sink(error)
    }
}

impl From<&str> for LineError {
    fn from(why: &str) -> LineError {
        LineError::Malformed(why.to_owned())
    }
}

/// Pass every line that is not empty to `parse`. A malformed last line without a line end counts as cut.
pub(crate) fn for_each_line(
    input: &mut dyn BufRead,
    mut parse: impl FnMut(&[u8]) -> Result<(), LineError>,
) -> Result<Reading, ImportError> {
    let mut reading = Reading::default();
    let mut line = Vec::new();
    while let Some(end) = next_line(input, &mut line, &mut reading)? {
        match parse(&line) {
            Ok(()) => {}
            Err(LineError::Sink(error)) => return Err(error.into()),
            Err(LineError::Malformed(_)) if end == LineEnd::EndOfFile => reading.cut = Some(reading.records),
            Err(LineError::Malformed(why)) => {
                let record = UnreadRecord::new(reading.records, why, &line);
                reading.malformed(documents(&line), record);
            }
        }
    }
    Ok(reading)
}

/// How many JSON documents a line that should be one may be parts of: a lost line end joins two.
fn documents(line: &[u8]) -> u64 {
    1 + line.windows(2).filter(|pair| pair == b"}{").count() as u64
}

/// The next line that is not empty, counted in `reading`; none at the end of the file. A line that is too long may be any
/// number of records.
pub(crate) fn next_line(
    input: &mut dyn BufRead,
    line: &mut Vec<u8>,
    reading: &mut Reading,
) -> Result<Option<LineEnd>, ImportError> {
    loop {
        let end = read_line(input, line)?;
        if end == LineEnd::EndOfFile && line.is_empty() {
            return Ok(None);
        }
        reading.records += 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if end == LineEnd::TooLong {
            let why = format!("longer than {} MiB", MAX_LINE >> 20);
            reading.open_ended.get_or_insert_with(|| format!("line {} is {why}", reading.records));
            reading.malformed(1, UnreadRecord::new(reading.records, why, line));
        } else if !line.trim_ascii().is_empty() {
            return Ok(Some(end));
        } else if end == LineEnd::EndOfFile {
            return Ok(None);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Newline,
    EndOfFile,
    TooLong,
}

/// The next line without its line end; a line that is too long is skipped.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<LineEnd> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(if is_too_long { LineEnd::TooLong } else { LineEnd::EndOfFile });
        }
        let found = chunk.iter().position(|byte| *byte == b'\n');
        let taken = found.unwrap_or(chunk.len());
        is_too_long |= line.len() + taken > MAX_LINE;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(&chunk[..taken]);
        }
        input.consume(taken + usize::from(found.is_some()));
        if found.is_some() {
            return Ok(if is_too_long { LineEnd::TooLong } else { LineEnd::Newline });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Reading {
        let number = |line: &[u8]| match std::str::from_utf8(line).map(str::parse::<u32>) {
            Ok(Ok(_)) => Ok(()),
            _ => Err(LineError::from("not a number")),
        };
        for_each_line(&mut io::BufReader::with_capacity(3, text), number).unwrap()
    }

    #[test]
    fn the_first_malformed_line_is_reported_and_the_last_may_be_cut() {
        let whole = Reading { records: 2, ..Reading::default() };
        assert_eq!(read(b"1\n22\n"), whole);
        assert_eq!(read(b"1\r\n22"), whole);
        let reading = read(b"1\nx\n\ny\n4\n5x");
        assert_eq!((reading.records, reading.malformed, reading.cut), (6, 2, Some(6)));
        assert_eq!(reading.first_malformed(), Some((2, "not a number".to_owned())));
        let shown: Vec<(u64, &str)> = reading.first.iter().map(|record| (record.at, &*record.text)).collect();
        assert_eq!(shown, [(2, "x"), (4, "y")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let mut text = vec![b'1'; MAX_LINE + 1];
        text.extend_from_slice(b"\n7\n");
        let reading = read(&text);
        assert_eq!((reading.records, reading.malformed), (2, 1));
        assert_eq!(reading.first_malformed(), Some((1, "longer than 16 MiB".to_owned())));
        assert_eq!(reading.open_ended.as_deref(), Some("line 1 is longer than 16 MiB"));
    }
}
