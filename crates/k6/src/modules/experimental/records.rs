//! Records of CSV files, by the rules of Go's `encoding/csv`.

use std::sync::Arc;

/// What is not a record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("record on line {0}: wrong number of fields")]
    FieldCount(usize),
    #[error("{0}: bare \" in non-quoted field")]
    BareQuote(RecordPlace),
    #[error("{0}: extraneous or missing \" in quoted-field")]
    Quote(RecordPlace),
}

/// Where in a file, and where its record began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPlace {
    first_line: usize,
    line: usize,
    column: usize,
}

impl std::fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RecordPlace { first_line, line, column } = self;
        if first_line != line {
            write!(f, "record on line {first_line}; ")?;
        }
        write!(f, "parse error on line {line}, column {column}")
    }
}

/// The records of a file that were not read yet.
pub(crate) struct Records {
    bytes: Arc<[u8]>,
    delimiter: u8,
    at: usize,
    line: usize,
    /// Of the first record; further ones have as many.
    field_count: Option<usize>,
}

impl Records {
    pub(crate) fn new(bytes: Arc<[u8]>, delimiter: u8) -> Records {
        Records { bytes, delimiter, at: 0, line: 0, field_count: None }
    }

    /// The fields of the next record; none at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Vec<Vec<u8>>>, RecordError> {
        let mut line = loop {
            match self.next_line() {
                None => return Ok(None),
                Some(line) if line == b"\n" => {}
                Some(line) => break line,
            }
        };
        let first_line = self.line;
        let mut fields = Vec::new();
        let mut at = 0;
        loop {
            let place = |line: usize, column: usize| RecordPlace { first_line, line, column: column + 1 };
            if line.get(at) != Some(&b'"') {
                let end = line[at..].iter().position(|byte| *byte == self.delimiter);
                let text = &line[at..end.map_or(line.len(), |end| at + end)];
                let text = if end.is_none() { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
                if let Some(quote) = text.iter().position(|byte| *byte == b'"') {
                    return Err(RecordError::BareQuote(place(self.line, at + quote)));
                }
                fields.push(text.to_vec());
                match end {
                    Some(end) => at += end + 1,
                    None => break,
                }
                continue;
            }
            at += 1;
            let mut field = Vec::new();
            let is_last = loop {
                let Some(end) = line[at..].iter().position(|byte| *byte == b'"') else {
                    field.extend_from_slice(&line[at..]);
                    let (known_line, column) = (self.line, line.len());
                    line = self.next_line().ok_or(RecordError::Quote(place(known_line, column)))?;
                    at = 0;
                    continue;
                };
                field.extend_from_slice(&line[at..at + end]);
                at += end + 1;
                match line.get(at) {
                    Some(b'"') => {
                        field.push(b'"');
                        at += 1;
                    }
                    Some(byte) if *byte == self.delimiter => {
                        at += 1;
                        break false;
                    }
                    None => break true,
                    Some(b'\n') if at + 1 == line.len() => break true,
                    Some(_) => return Err(RecordError::Quote(place(self.line, at - 1))),
                }
            };
            fields.push(field);
            if is_last {
                break;
            }
        }
        if *self.field_count.get_or_insert(fields.len()) != fields.len() {
            return Err(RecordError::FieldCount(first_line));
        }
        Ok(Some(fields))
    }

    /// The next line, which ends with `\n` unless it is the last one and does not.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        self.at += end;
        self.line += 1;
        let mut line = line.to_vec();
        if line.ends_with(b"\r\n") {
            line.truncate(line.len() - 2);
            line.push(b'\n');
        } else if self.at == self.bytes.len() && line.ends_with(b"\r") {
            line.pop();
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
        let mut records = Records::new(text.as_bytes().into(), b',');
        let mut all = Vec::new();
        while let Some(record) = records.next_record().map_err(|error| error.to_string())? {
            all.push(record.into_iter().map(|field| String::from_utf8(field).unwrap()).collect());
        }
        Ok(all)
    }

    #[test]
    fn fields_are_separated_quoted_and_broken_as_in_go() {
        assert_eq!(
            records("a,b\n\n1,\"x \"\"y\"\"\"\r\n2,\"two\r\nlines\"").unwrap(),
            [["a", "b"], ["1", "x \"y\""], ["2", "two\nlines"]]
        );
        assert_eq!(records(",\n").unwrap(), [["", ""]]);
        assert_eq!(records("a\r").unwrap(), [["a"]]);
        assert!(records("\n\r\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_a_record_is_said_with_its_place() {
        assert_eq!(records("a,b\n1\n").unwrap_err(), "record on line 2: wrong number of fields");
        assert_eq!(
            records("a,b\"c\n").unwrap_err(),
            "parse error on line 1, column 4: bare \" in non-quoted field"
        );
        assert_eq!(
            records("a\n\"b\nc\"d\n").unwrap_err(),
            "record on line 2; parse error on line 3, column 2: extraneous or missing \" in quoted-field"
        );
        assert_eq!(
            records("\"a").unwrap_err(),
            "parse error on line 1, column 3: extraneous or missing \" in quoted-field"
        );
    }

    proptest::proptest! {
        #[test]
        fn quoted_fields_come_back_as_they_were(rows in proptest::collection::vec(proptest::collection::vec("[a\",\n é]{0,6}", 3), 0..5)) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
            proptest::prop_assert_eq!(records(&rows.iter().map(line).collect::<String>()).unwrap(), rows);
        }

        #[test]
        fn no_text_panics(text in "[ab\",;\r\n]{0,40}") {
            let _ = records(&text);
        }
    }
}
