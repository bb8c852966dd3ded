//! CSV with a header: records whose fields are found by the name of their column.

use std::borrow::Cow;
use std::io::BufRead;

use crate::ImportError;
use crate::lines::{LineError, Reading, for_each_line};

/// A record of several lines that is longer than this has a quote without its end.
const MAX_RECORD: usize = 1 << 20;

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

/// What separates the fields of a file with this header line.
pub(crate) fn delimiter(header: &str) -> char {
    ['\t', ','].into_iter().find(|mark| header.contains(*mark)).unwrap_or(';')
}

/// Pass every record below the header to `each`. Headers that are repeated, as in files that were joined, are skipped.
pub(crate) fn for_each_record(
    input: &mut dyn BufRead,
    mut each: impl FnMut(&CsvRecord<'_>) -> Result<(), LineError>,
) -> Result<Reading, ImportError> {
    let mut columns: Option<Columns> = None;
    let mut open = String::new();
    let mut reading = for_each_line(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| LineError::from("not UTF-8"))?;
        let whole = if open.is_empty() {
            Cow::Borrowed(line)
        } else {
            Cow::Owned(format!("{}\n{line}", std::mem::take(&mut open)))
        };
        if whole.matches('"').count() % 2 == 1 {
            if whole.len() > MAX_RECORD {
                return Err("a quote that is never closed".into());
            }
            open = whole.into_owned();
            return Ok(());
        }
        let Some(columns) = &columns else {
            let text = whole.trim_start_matches('\u{feff}');
            let delimiter = delimiter(text);
            let names = fields(text, delimiter).into_iter().map(Cow::into_owned).collect();
            columns = Some(Columns { delimiter, names });
            return Ok(());
        };
        let fields = fields(&whole, columns.delimiter);
        if fields.len() != columns.names.len() {
            let why = format!("{} columns, the header has {}", fields.len(), columns.names.len());
            return Err(LineError::Malformed(why));
        }
        if fields.iter().zip(&columns.names).all(|(field, name)| field == name) {
            return Ok(());
        }
        each(&CsvRecord { columns, fields: &fields })
    })?;
    if !open.is_empty() {
        reading.cut.get_or_insert(reading.records);
    }
    Ok(reading)
}

/// The fields of one record; a quoted field may contain delimiters, line ends and doubled quotes.
fn fields(record: &str, delimiter: char) -> Vec<Cow<'_, str>> {
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
        let reading = for_each_record(&mut text.as_bytes(), |record| {
            seen.push(format!("{} {} {:?}", record.get("a"), record.get("b"), record.find("c")));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, ["2 1 None", "4 3 None"]);
        assert_eq!(reading.first_malformed, Some((5, "1 columns, the header has 2".to_owned())));
    }
}
