//! Line by line, with bounded memory, and with an eye on what cannot be read.

use std::io::{self, BufRead};

use evidence::SinkError;

use crate::ImportError;

/// The longest line that is taken: vegeta's may hold a whole response.
const MAX_LINE: usize = 16 << 20;

/// What a reader met on its way through a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Lines, or records of a document without lines.
    pub records: u64,
    /// Those that could not be read.
    pub malformed: u64,
    /// The first of them: its number from 1, and what is wrong with it.
    pub first_malformed: Option<(u64, String)>,
    /// The number of the record in whose middle the file ends.
    pub cut: Option<u64>,
}

impl Reading {
    /// Note a record that could not be read.
    pub(crate) fn malformed(&mut self, why: String) {
        self.malformed += 1;
        self.first_malformed.get_or_insert((self.records, why));
    }
}

/// What is wrong with a line.
pub(crate) enum Fault {
    /// It cannot be read.
    Malformed(String),
    /// What it says could not be kept.
    Keep(SinkError),
}

impl From<SinkError> for Fault {
    fn from(error: SinkError) -> Fault {
        Fault::Keep(error)
    }
}

impl From<&str> for Fault {
    fn from(why: &str) -> Fault {
        Fault::Malformed(why.to_owned())
    }
}

/// Give every line that is not empty to `parse`. A last line without its end that cannot be parsed was cut.
pub(crate) fn each(
    input: &mut dyn BufRead,
    mut parse: impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<Reading, ImportError> {
    let mut reading = Reading::default();
    let mut line = Vec::new();
    loop {
        let end = next(input, &mut line)?;
        if end == End::OfFile && line.is_empty() {
            return Ok(reading);
        }
        reading.records += 1;
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let fault = match end {
            End::TooLong => Err(Fault::Malformed(format!("longer than {} MiB", MAX_LINE >> 20))),
            _ if text.trim_ascii().is_empty() => Ok(()),
            _ => parse(text),
        };
        match fault {
            Ok(()) => {}
            Err(Fault::Keep(error)) => return Err(error.into()),
            Err(Fault::Malformed(_)) if end == End::OfFile => reading.cut = Some(reading.records),
            Err(Fault::Malformed(why)) => reading.malformed(why),
        }
        if end == End::OfFile {
            return Ok(reading);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfLine,
    OfFile,
    TooLong,
}

/// The next line without its end; one that is too long is passed over to its end.
fn next(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<End> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(if is_too_long { End::TooLong } else { End::OfFile });
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
            return Ok(if is_too_long { End::TooLong } else { End::OfLine });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Reading {
        let number = |line: &[u8]| match std::str::from_utf8(line).map(str::parse::<u32>) {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Fault::from("no number")),
        };
        each(&mut io::BufReader::with_capacity(3, text), number).unwrap()
    }

    #[test]
    fn the_first_malformed_line_is_told_and_the_last_may_be_cut() {
        let whole = Reading { records: 2, ..Reading::default() };
        assert_eq!(read(b"1\n22\n"), whole);
        assert_eq!(read(b"1\r\n22"), whole);
        let seen = read(b"1\nx\n\ny\n4\n5x");
        assert_eq!((seen.records, seen.malformed, seen.cut), (6, 2, Some(6)));
        assert_eq!(seen.first_malformed, Some((2, "no number".to_owned())));
    }

    #[test]
    fn an_endless_line_takes_no_endless_memory() {
        let mut text = vec![b'1'; MAX_LINE + 1];
        text.extend_from_slice(b"\n7\n");
        let seen = read(&text);
        assert_eq!((seen.records, seen.malformed), (2, 1));
        assert_eq!(seen.first_malformed, Some((1, "longer than 16 MiB".to_owned())));
    }
}
