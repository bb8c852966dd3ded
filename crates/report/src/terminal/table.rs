//! Tables that drop their least important columns until they fit.

use unicode_width::UnicodeWidthStr;

use super::line::{TextLine, Tone};
use crate::text::fit;

/// The label column is never cut below this.
const MIN_LABEL: usize = 8;
/// The label column is cut to this, or by half, before another column is dropped.
const KEPT_LABEL: usize = 24;
/// Columns of space between two columns of the table.
const GAP: usize = 2;

/// A column of right-aligned cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) head: &'a str,
    /// The column with the highest rank is dropped first when the table is too wide; rank 0 is never dropped.
    pub(crate) rank: u8,
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Cell {
    pub(crate) fn plain(text: String) -> Cell {
        Cell { text, tone: Tone::Normal }
    }
}

/// A table: a label and cells per row.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) label: &'a str,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

/// Which columns of a table are shown, and how wide.
struct TableLayout {
    label_width: usize,
    /// (Index, width) of each column that is shown.
    columns: Vec<(usize, usize)>,
}

impl Table<'_> {
    /// As lines of at most `width` columns, unless the label column is at its minimum.
    pub(crate) fn lines(&self, width: usize) -> Vec<TextLine> {
        let layout = self.layout(width);
        let mut lines = vec![self.head(&layout)];
        lines.extend(self.rows.iter().map(|(label, cells)| layout.row(label, cells)));
        lines
    }

    fn layout(&self, width: usize) -> TableLayout {
        let label = self.rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        let label = label.max(self.label.width());
        let mut columns: Vec<(usize, usize)> =
            (0..self.columns.len()).map(|column| (column, self.width_of(column))).collect();
        let used = |columns: &[(usize, usize)]| columns.iter().map(|(_, width)| width + GAP).sum::<usize>();
        let least_label = label.min((label / 2).max(KEPT_LABEL));
        while used(&columns) + least_label > width {
            let rank = |column: usize| self.columns[column].rank;
            let droppable = columns.iter().enumerate().filter(|(_, (column, _))| rank(*column) > 0);
            let Some((at, _)) = droppable.max_by_key(|(_, (column, _))| rank(*column)) else { break };
            columns.remove(at);
        }
        let label_width = label.min(width.saturating_sub(used(&columns)).max(MIN_LABEL));
        TableLayout { label_width, columns }
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column));
        let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
        widest.max(self.columns[column].head.width())
    }

    fn head(&self, layout: &TableLayout) -> TextLine {
        let mut line = TextLine::new();
        line.add(Tone::Dim, &fit(self.label, layout.label_width)).pad_to(layout.label_width);
        for (column, width) in &layout.columns {
            let head = self.columns[*column].head;
            line.pad_to(line.width() + GAP + width - head.width()).add(Tone::Dim, head);
        }
        line
    }
}

impl TableLayout {
    fn row(&self, label: &str, cells: &[Cell]) -> TextLine {
        let mut line = TextLine::new();
        line.add(Tone::Normal, &fit(label, self.label_width)).pad_to(self.label_width);
        for (column, width) in &self.columns {
            let Some(cell) = cells.get(*column) else { continue };
            line.pad_to(line.width() + GAP + width - cell.text.width());
            line.add(cell.tone, &cell.text);
        }
        line
    }
}
