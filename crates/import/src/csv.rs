//! CSV with a header: records whose fields are found by the name of their column. Records that a tool broke by writing a
//! text without quotes are put together again where only one reading of them is possible.

mod rejoin;

use std::borrow::Cow;
use std::io::BufRead;

use crate::ImportError;
use crate::lines::{LineEnd, LineError, Reading, UnreadRecord, next_line};
use rejoin::Rejoiner;

/// The header: the index of each column.
#[derive(Debug)]
struct Columns {
    delimiter: char,
    names: Vec<String>,
}

/// A record below the header.
pub(crate) struct CsvRecord<'r> {
    columns: &'r Columns,
    fields: &'r [Cow<'r, str>],
}

impl CsvRecord<'_> {
    /// The field in this column, if the header has it.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        let at = self.columns.names.iter().position(|known| known == name)?;
        self.fields.get(at).map(|field| &**field)
    }

    /// The field in this column; empty where the header does not have it.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    /// Every column with its field.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.columns.names.iter().map(String::as_str).zip(self.fields.iter().map(|field| &**field))
    }
}

/// What the records of a tool look like.
#[derive(Clone, Copy)]
pub(crate) struct CsvShape {
    /// Whether the fields have the types of their columns.
    pub(crate) is_record: fn(&CsvRecord<'_>) -> bool,
    /// Whether the fields of a line, of which there may be too few, begin as a record does.
    pub(crate) is_start: fn(&CsvRecord<'_>) -> bool,
    /// Columns whose text the tool may write without quotes although it contains delimiters or line ends.
    pub(crate) unquoted: &'static [&'static str],
}

impl CsvShape {
    /// Of a tool that quotes every text that needs it.
    pub(crate) fn quoted(is_record: fn(&CsvRecord<'_>) -> bool) -> CsvShape {
        CsvShape { is_record, is_start: is_record, unquoted: &[] }
    }
}

/// What separates the fields of a file with this header line.
pub(crate) fn delimiter(header: &str) -> char {
    ['\t', ','].into_iter().find(|mark| header.contains(*mark)).unwrap_or(';')
}

/// Pass every record below the header to `each`. Headers that are repeated, as in files that were joined, are skipped. A
/// last line without a line end is cut: its last field may be a part of one.
pub(crate) fn for_each_record(
    input: &mut dyn BufRead,
    shape: CsvShape,
    mut each: impl FnMut(&CsvRecord<'_>) -> Result<(), LineError>,
) -> Result<Reading, ImportError> {
    let mut reading = Reading::default();
    let mut line = Vec::new();
    let mut rejoiner: Option<Rejoiner> = None;
    while let Some(end) = next_line(input, &mut line, &mut reading)? {
        let at = reading.records;
        let Ok(text) = std::str::from_utf8(&line) else {
            reading.malformed(1, UnreadRecord::new(at, "not UTF-8".to_owned(), &line));
            continue;
        };
        let Some(rejoiner) = &mut rejoiner else {
            rejoiner = Some(Rejoiner::new(Columns::from_header(text), shape));
            continue;
        };
        if end == LineEnd::EndOfFile {
            reading.cut = Some(at);
            break;
        }
        let Some(record) = rejoiner.add(at, text, &mut reading) else { continue };
        match each(&CsvRecord { columns: rejoiner.columns(), fields: &record.fields }) {
            Ok(()) => {}
            Err(LineError::Sink(error)) => return Err(error.into()),
            Err(LineError::Malformed(why)) => {
                reading.malformed(1, UnreadRecord::new(record.at, why, text.as_bytes()));
            }
        }
    }
    if rejoiner.is_some_and(|rejoiner| rejoiner.is_open()) {
        reading.cut.get_or_insert(reading.records);
    }
    Ok(reading)
}

impl Columns {
    /// Of a header line.
    fn from_header(header: &str) -> Columns {
        let text = header.trim_start_matches('\u{feff}');
        let delimiter = delimiter(text);
        Columns { delimiter, names: fields(text, delimiter).into_iter().map(Cow::into_owned).collect() }
    }
}

/// The fields of one record; a quoted field may contain delimiters, line ends and doubled quotes.
pub(crate) fn fields(record: &str, delimiter: char) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, tail) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted, delimiter),
            None => {
                let end = rest.find(delimiter).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        fields.push(field);
        match tail.strip_prefix(delimiter) {
            Some(next) => rest = next,
            None => return fields,
        }
    }
}

/// A quoted field, and the rest of the record from the next delimiter on.
fn unquoted(quoted: &str, delimiter: char) -> (Cow<'_, str>, &str) {
    let mut text = String::new();
    let mut rest = quoted;
    while let Some(at) = rest.find('"') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                text.push('"');
                rest = next;
            }
            None => {
                let end = rest.find(delimiter).unwrap_or(rest.len());
                return (Cow::Owned(text), &rest[end..]);
            }
        }
    }
    text.push_str(rest);
    (Cow::Owned(text), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_may_contain_separators() {
        assert_eq!(fields(r#"a,,"b,""c""",d"#, ','), ["a", "", "b,\"c\"", "d"]);
        assert_eq!(fields("\"two\nlines\",", ','), ["two\nlines", ""]);
        assert_eq!(fields("", ','), [""]);
        assert_eq!(fields("a,b\t\"c\td\"", '\t'), ["a,b", "c\td"]);
    }

    #[test]
    fn columns_are_found_by_name_in_any_order_and_a_repeated_header_is_no_record() {
        let mut seen = Vec::new();
        let text = "\u{feff}b;a\n1;2\nb;a\n3;4\n5\n";
        let shape = CsvShape::quoted(|_| true);
        let reading = for_each_record(&mut text.as_bytes(), shape, |record| {
            seen.push(format!("{} {} {:?}", record.get("a"), record.get("b"), record.find("c")));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, ["2 1 None", "4 3 None"]);
        assert_eq!(reading.first_malformed(), Some((5, "1 columns, the header has 2".to_owned())));
    }

    #[test]
    fn the_last_line_is_cut_without_a_line_end_and_a_quote_that_is_never_closed_ends_at_the_next_record() {
        let read = |text: &str| {
            let mut seen = Vec::new();
            let shape = CsvShape::quoted(|record| record.get("b").parse::<u32>().is_ok());
            let reading = for_each_record(&mut text.as_bytes(), shape, |record| {
                seen.push(record.get("a").to_owned());
                Ok(())
            });
            let reading = reading.unwrap();
            (seen.join("|"), reading.malformed, reading.cut)
        };
        assert_eq!(read("a,b\nx,1\ny,12"), ("x".to_owned(), 0, Some(3)));
        assert_eq!(read("a,b\n\"x\n\ny\",1\ny,12\n"), ("x\ny|y".to_owned(), 0, None));
        assert_eq!(read("a,b\n\"x,1\ny\ny,12\nz,3\n"), ("y|z".to_owned(), 2, None));
        assert_eq!(read("a,b\n\"x,1\n").2, Some(2));
    }
}
