//! Tables that drop their least important columns until they fit.

use unicode_width::UnicodeWidthStr;

use super::line::{TextLine, Tone};
use crate::document::{Cell, Table};
use crate::text::fit;

/// The label column is never cut below this.
const MIN_LABEL: usize = 8;
/// The label column is cut to this, or by half, before another column is dropped.
const KEPT_LABEL: usize = 24;
/// Columns of space between two columns of the table.
const GAP: usize = 2;

/// Which columns of a table are shown, and how wide.
struct TableLayout {
    label_width: usize,
    /// (Index, width) of each column that is shown.
    columns: Vec<(usize, usize)>,
}

/// The table as lines of at most `width` columns, unless the label column is at its minimum.
pub(super) fn lines(table: &Table, width: usize) -> Vec<TextLine> {
    let layout = TableLayout::of(table, width);
    let rows = table.rows.iter().map(|row| layout.row(&row.label, &row.cells));
    std::iter::once(layout.head(table)).chain(rows).collect()
}

fn width_of(table: &Table, column: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
    widest.max(table.columns[column].head.width())
}

impl TableLayout {
    fn of(table: &Table, width: usize) -> TableLayout {
        let label = table.rows.iter().map(|row| row.label.width()).max().unwrap_or(0);
        let label = label.max(table.label.width());
        let mut columns: Vec<(usize, usize)> =
            (0..table.columns.len()).map(|column| (column, width_of(table, column))).collect();
        let used = |columns: &[(usize, usize)]| columns.iter().map(|(_, width)| width + GAP).sum::<usize>();
        let least_label = label.min((label / 2).max(KEPT_LABEL));
        while used(&columns) + least_label > width {
            let rank = |column: usize| table.columns[column].rank;
            let droppable = columns.iter().enumerate().filter(|(_, (column, _))| rank(*column) > 0);
            let Some((at, _)) = droppable.max_by_key(|(_, (column, _))| rank(*column)) else { break };
            columns.remove(at);
        }
        let label_width = label.min(width.saturating_sub(used(&columns)).max(MIN_LABEL));
        TableLayout { label_width, columns }
    }

    fn head(&self, table: &Table) -> TextLine {
        let mut line = TextLine::new();
        line.add(Tone::Dim, &fit(table.label, self.label_width)).pad_to(self.label_width);
        for (column, width) in &self.columns {
            let head = &table.columns[*column].head;
            line.pad_to(line.width() + GAP + width - head.width()).add(Tone::Dim, head);
        }
        line
    }

    fn row(&self, label: &str, cells: &[Cell]) -> TextLine {
        let mut line = TextLine::new();
        line.add(Tone::Normal, &fit(label, self.label_width)).pad_to(self.label_width);
        for (column, width) in &self.columns {
            let Some(cell) = cells.get(*column) else { continue };
            line.pad_to(line.width() + GAP + width - cell.text.width());
            line.add(cell.mark.tone(), &cell.text);
        }
        line
    }
}
