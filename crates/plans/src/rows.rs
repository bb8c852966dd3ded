//! Reads rows of data from CSV and JSON.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};
use workload::data::{DataError, MAX_ROWS, Table};

/// Read a CSV file (RFC 4180) whose first line names the columns. `file` is its name in errors.
///
/// # Errors
/// [`DataError`] with the line of a ragged or unreadable row.
pub fn csv(bytes: &[u8], file: &str) -> Result<Table, DataError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let columns: Vec<String> =
        reader.headers().map_err(|e| unreadable(file, &e))?.iter().map(|c| c.trim().to_owned()).collect();
    check_columns(&columns, file)?;
    let mut table = Table::with_columns(columns);
    for record in reader.records() {
        let record = record.map_err(|e| unreadable(file, &e))?;
        let columns = table.columns().len();
        if record.len() != columns {
            let line = record.position().map_or(0, |position| line_of(position, bytes));
            let message = format!(
                "this row has {}, the header line has {}; give every row a value for each column",
                fields(record.len()),
                columns
            );
            return Err(DataError::Line { file: file.to_owned(), line, message });
        }
        table.push(record.iter());
        check_rows(table.rows(), file)?;
    }
    check_empty(&table, file)?;
    Ok(table)
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
            let message = format!("column {} needs a unique name: `{column}`", at + 1);
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

fn check_empty(table: &Table, file: &str) -> Result<(), DataError> {
    if table.rows() == 0 { Err(whole(file, "it has no rows; add one or more")) } else { Ok(()) }
}

/// Read a JSON array of objects whose values are texts, numbers, booleans or null (an empty text). All objects must have
/// the fields of the first.
///
/// # Errors
/// [`DataError`] with the line or the number of the row.
pub fn json(bytes: &[u8], file: &str) -> Result<Table, DataError> {
    let rows: Vec<Map<String, Value>> = serde_json::from_slice(bytes).map_err(|e| DataError::Line {
        file: file.to_owned(),
        line: e.line() as u64,
        message: format!("not an array of flat objects: {e}"),
    })?;
    let columns: Vec<String> = rows.first().map(|row| row.keys().cloned().collect()).unwrap_or_default();
    check_rows(rows.len() as u64, file)?;
    let mut table = Table::with_columns(columns.clone());
    for (number, row) in rows.iter().enumerate() {
        let wrong = |message: String| whole(file, format!("row {}: {message}", number + 1));
        if let Some(extra) = row.keys().find(|key| !columns.contains(key)) {
            return Err(wrong(format!("the first row has no `{extra}`; give all rows the same fields")));
        }
        let cell = |column: &String| {
            let value = row
                .get(column)
                .ok_or_else(|| wrong(format!("`{column}` is missing; give all rows the same fields")))?;
            scalar(value)
                .ok_or_else(|| wrong(format!("`{column}` is not flat; use a text, number or boolean")))
        };
        let cells = columns.iter().map(cell).collect::<Result<Vec<_>, _>>()?;
        table.push(cells.iter().map(Cow::as_ref));
    }
    check_empty(&table, file)?;
    Ok(table)
}

/// The value as text; none for arrays and objects.
fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => Some(Cow::Borrowed("")),
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(_) | Value::Number(_) => Some(Cow::Owned(value.to_string())),
        Value::Array(_) | Value::Object(_) => None,
    }
}
