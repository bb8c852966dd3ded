//! Reads a file line by line with bounded memory and counts the lines that are malformed.

use std::io::{self, BufRead};

use evidence::SinkError;

use crate::ImportError;

/// The longest line that is read, in bytes: one of vegeta may contain a whole response.
const MAX_LINE: usize = 16 << 20;

/// How much of a file was read and how much was malformed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Lines, or the records of a document that has no lines.
    pub records: u64,
    /// How many of them are malformed.
    pub malformed: u64,
    /// The number of the first malformed record, from 1, and what is wrong with it.
    pub first_malformed: Option<(u64, String)>,
    /// The number of the last record, if the file ends in the middle of it.
    pub cut: Option<u64>,
}

impl Reading {
    /// Count a malformed record.
    pub(crate) fn malformed(&mut self, why: String) {
        self.malformed += 1;
        self.first_malformed.get_or_insert((self.records, why));
    }

    /// Count a record that was rejected.
    ///
    /// # Errors
    /// [`ImportError`] when it was rejected because it could not be stored.
    pub(crate) fn take(&mut self, record: Result<(), LineError>) -> Result<(), ImportError> {
        match record {
            Ok(()) => {}
            Err(LineError::Malformed(why)) => self.malformed(why),
            Err(LineError::Sink(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Why a line was rejected.
pub(crate) enum LineError {
    /// It is malformed.
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
    loop {
        let end = read_line(input, &mut line)?;
        if end == LineEnd::EndOfFile && line.is_empty() {
            return Ok(reading);
        }
        reading.records += 1;
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let parsed = match end {
            LineEnd::TooLong => Err(LineError::Malformed(format!("longer than {} MiB", MAX_LINE >> 20))),
            _ if text.trim_ascii().is_empty() => Ok(()),
            _ => parse(text),
        };
        match parsed {
            Ok(()) => {}
            Err(LineError::Sink(error)) => return Err(error.into()),
            Err(LineError::Malformed(_)) if end == LineEnd::EndOfFile => reading.cut = Some(reading.records),
            Err(LineError::Malformed(why)) => reading.malformed(why),
        }
        if end == LineEnd::EndOfFile {
            return Ok(reading);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
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
        assert_eq!(reading.first_malformed, Some((2, "not a number".to_owned())));
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let mut text = vec![b'1'; MAX_LINE + 1];
        text.extend_from_slice(b"\n7\n");
        let reading = read(&text);
        assert_eq!((reading.records, reading.malformed), (2, 1));
        assert_eq!(reading.first_malformed, Some((1, "longer than 16 MiB".to_owned())));
    }
}
