//! What tests of the parts ask and read: rows as lines of fields, and values as lines.

use super::part::Value;
use super::rows::Rows;

/// A row a line, with `|` between its fields; `-` is a null.
pub(super) fn rows(text: &str) -> Rows {
    let value = |field: &str| (field != "-").then(|| field.to_owned());
    text.lines().map(|line| line.split('|').map(value).collect()).collect()
}

pub(super) fn shown(values: &[Value]) -> String {
    values.iter().map(|(name, _, part, value)| format!("{name}{{{part}}} {value}\n")).collect()
}
