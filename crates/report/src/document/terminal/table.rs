//! Tables that drop their least important columns until they fit.

use unicode_width::UnicodeWidthStr;

use super::line::{TextLine, Tone};
use crate::document::{Cell, Table};
use crate::number;
use crate::text::fit;

/// The label column is never cut below this.
const MIN_LABEL: usize = 8;
/// The label column is cut to this, or by half, before another column is dropped.
const KEPT_LABEL: usize = 24;
/// Columns of space between two columns of the table.
const GAP: usize = 2;

fn used(columns: &[TableColumn]) -> usize {
    columns.iter().map(|column| column.width + GAP).sum()
}

/// Drop columns, the highest rank first, until the rest take no more than `width`. Rank 0 stays.
fn drop_until(columns: &mut Vec<TableColumn>, width: usize, is_droppable: impl Fn(&TableColumn) -> bool) {
    while used(columns) > width {
        let droppable =
            columns.iter().enumerate().filter(|(_, column)| column.rank > 0 && is_droppable(column));
        let Some((at, _)) = droppable.max_by_key(|(_, column)| column.rank) else { break };
        columns.remove(at);
    }
}

/// Which columns of a table are shown, and how wide.
struct TableLayout {
    label_width: usize,
    /// (Index, width) of each column that is shown.
    columns: Vec<(usize, usize)>,
}

/// A table as lines of at most `width` columns, unless the label column is at its minimum. It has the layout of all
/// `alike`, tables of the same columns that stand near it, so that a reader finds a number of each in the same place.
pub(super) fn lines(table: &Table, alike: &[&Table], width: usize) -> Vec<TextLine> {
    let layout = TableLayout::of(alike, width);
    let rows = table.rows.iter().map(|row| layout.row(&row.label, &row.cells));
    std::iter::once(layout.head(table)).chain(rows).collect()
}

/// Whether two tables have the same columns.
pub(super) fn are_alike(some: &Table, other: &Table) -> bool {
    let heads = |table: &Table| table.columns.iter().map(|column| column.head.clone()).collect::<Vec<_>>();
    some.label == other.label && heads(some) == heads(other)
}

/// A column of tables that are alike.
struct TableColumn {
    index: usize,
    width: usize,
    rank: u8,
    /// Whether some cell says more than 0 or that nothing was measured.
    is_telling: bool,
}

impl TableColumn {
    fn of(tables: &[&Table], index: usize) -> TableColumn {
        let cells = || tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.cells.get(index));
        let columns = || tables.iter().filter_map(|table| table.columns.get(index));
        let widest = cells().map(|cell| cell.text.width()).max().unwrap_or(0);
        let head = columns().map(|column| column.head.width()).max().unwrap_or(0);
        TableColumn {
            index,
            width: widest.max(head),
            rank: columns().map(|column| column.rank).min().unwrap_or(0),
            is_telling: cells().any(|cell| !["", "0", number::NOT_MEASURED].contains(&&*cell.text)),
        }
    }
}

impl TableLayout {
    /// Columns that tell nothing are dropped before labels are cut, the others after that.
    fn of(tables: &[&Table], width: usize) -> TableLayout {
        let rows = tables.iter().flat_map(|table| &table.rows);
        let head = tables.iter().map(|table| table.label.width()).max().unwrap_or(0);
        let label = rows.map(|row| row.label.width()).max().unwrap_or(0).max(head);
        let all = tables.first().map_or(0, |table| table.columns.len());
        let mut columns: Vec<TableColumn> = (0..all).map(|index| TableColumn::of(tables, index)).collect();
        let least_label = label.min((label / 2).max(KEPT_LABEL));
        drop_until(&mut columns, width.saturating_sub(label), |column| !column.is_telling);
        drop_until(&mut columns, width.saturating_sub(least_label), |_| true);
        let label_width = label.min(width.saturating_sub(used(&columns)).max(MIN_LABEL));
        let columns = columns.into_iter().map(|column| (column.index, column.width)).collect();
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
