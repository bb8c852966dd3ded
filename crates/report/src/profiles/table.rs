//! Tables of numbers with a name of any length in the last column.

use evidence::TerminalText;

/// Lines of right-aligned cells. The last cell of each line is its name and is not aligned.
pub(super) fn aligned(head: &[&str], rows: &[Vec<String>]) -> TerminalText {
    let columns = head.len().saturating_sub(1);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = TerminalText::default();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:>width$}  "));
        }
        line.push_str(row.get(columns).map_or("", String::as_str));
        text.line(line);
    }
    text
}
