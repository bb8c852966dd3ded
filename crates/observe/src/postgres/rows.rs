//! Rows of a simple query, as text.

/// Rows of text; none where a value is null.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// The text in a column; empty where there is none.
pub(super) fn text(row: &[Option<String>], column: usize) -> &str {
    row.get(column).and_then(|value| value.as_deref()).unwrap_or_default()
}

/// The number in a column; none where there is none.
pub(super) fn number(row: &[Option<String>], column: usize) -> Option<f64> {
    text(row, column).parse().ok().filter(|value: &f64| value.is_finite())
}
