//! Reads rows from CSV and JSON.

use serde_json::{Map, Value};

use super::{DataError, MAX_ROWS, Rows, Table};

pub(super) fn csv(bytes: &[u8], file: &str) -> Result<Table, DataError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let columns: Vec<String> =
        reader.headers().map_err(|e| unreadable(file, &e))?.iter().map(|c| c.trim().to_owned()).collect();
    check_columns(&columns, file)?;
    let (mut text, mut ends) = (String::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|e| unreadable(file, &e))?;
        if record.len() != columns.len() {
            let line = record.position().map_or(0, |position| line_of(position, bytes));
            let message = format!(
                "this row has {}, the header line has {}; give every row a value for each column",
                fields(record.len()),
                columns.len()
            );
            return Err(DataError::Line { file: file.to_owned(), line, message });
        }
        for field in &record {
            text.push_str(field);
            ends.push(text.len());
        }
        check_rows((ends.len() / columns.len()) as u64, file)?;
    }
    check_empty(&ends, file)?;
    Ok(Table { columns, rows: Rows::Cells { text, ends } })
}

/// The line of a record: its position does not count blank lines before it.
fn line_of(position: &csv::Position, bytes: &[u8]) -> u64 {
    let from = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = bytes.get(from..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n');
    position.line() + blank.count() as u64
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

fn unreadable(file: &str, error: &csv::Error) -> DataError {
    let line = error.position().map_or(1, csv::Position::line);
    DataError::Line { file: file.to_owned(), line, message: format!("not readable as CSV: {error}") }
}

fn whole(file: &str, message: impl Into<String>) -> DataError {
    DataError::Whole { file: file.to_owned(), message: message.into() }
}

fn check_columns(columns: &[String], file: &str) -> Result<(), DataError> {
    if columns.iter().all(String::is_empty) {
        return Err(whole(file, "it is empty; its first line must name the columns"));
    }
    for (at, column) in columns.iter().enumerate() {
        if column.is_empty() || columns[..at].contains(column) {
            let message = format!("column {} has no name of its own: `{column}`", at + 1);
            return Err(DataError::Line { file: file.to_owned(), line: 1, message });
        }
    }
    Ok(())
}

fn check_rows(rows: u64, file: &str) -> Result<(), DataError> {
    if rows > MAX_ROWS {
        return Err(whole(file, format!("it has more than {MAX_ROWS} rows; make it smaller")));
    }
    Ok(())
}

fn check_empty(ends: &[usize], file: &str) -> Result<(), DataError> {
    if ends.is_empty() { Err(whole(file, "it has no rows; add one or more")) } else { Ok(()) }
}

pub(super) fn json(bytes: &[u8], file: &str) -> Result<Table, DataError> {
    let rows: Vec<Map<String, Value>> = serde_json::from_slice(bytes).map_err(|e| DataError::Line {
        file: file.to_owned(),
        line: e.line() as u64,
        message: format!("not an array of flat objects: {e}"),
    })?;
    let columns: Vec<String> = rows.first().map(|row| row.keys().cloned().collect()).unwrap_or_default();
    check_rows(rows.len() as u64, file)?;
    let (mut text, mut ends) = (String::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let wrong = |message: String| whole(file, format!("row {}: {message}", number + 1));
        if let Some(extra) = row.keys().find(|key| !columns.contains(key)) {
            return Err(wrong(format!("the first row has no `{extra}`; give all rows the same fields")));
        }
        for column in &columns {
            let value = row
                .get(column)
                .ok_or_else(|| wrong(format!("`{column}` is missing; give all rows the same fields")))?;
            push_scalar(value, &mut text)
                .ok_or_else(|| wrong(format!("`{column}` is not flat; use a text, number or boolean")))?;
            ends.push(text.len());
        }
    }
    check_empty(&ends, file)?;
    Ok(Table { columns, rows: Rows::Cells { text, ends } })
}

/// Append the value as text; none for arrays and objects.
fn push_scalar(value: &Value, text: &mut String) -> Option<()> {
    match value {
        Value::Null => {}
        Value::String(s) => text.push_str(s),
        Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
        Value::Array(_) | Value::Object(_) => return None,
    }
    Some(())
}
