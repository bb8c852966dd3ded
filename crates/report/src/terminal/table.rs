//! Tables that give up their least important columns until they fit.

use unicode_width::UnicodeWidthStr;

use super::line::{Line, Tone, fit};

/// The first column is not cut below this.
const MIN_LABEL: usize = 8;
/// The first column is cut to this, or by half, before another column is given up for it.
const KEPT_LABEL: usize = 24;
const GAP: usize = 2;

/// A column of right-aligned cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// Columns of the highest rank go first when space is short; rank 0 stays.
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

/// A table: a label and cells a row.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) label: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

impl Table {
    /// As lines that take at most `width` columns, as long as the label has its least width.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|c| self.width_of(c)).collect();
        let label = self.rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        let label = label.max(self.label.width());
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let taken = |kept: &[usize]| kept.iter().map(|c| widths[*c] + GAP).sum::<usize>();
        let wanted = label.min((label / 2).max(KEPT_LABEL));
        while taken(&kept) + wanted > width {
            let droppable = kept.iter().enumerate().filter(|(_, c)| self.columns[**c].rank > 0);
            let Some((at, _)) = droppable.max_by_key(|(_, c)| self.columns[**c].rank) else { break };
            kept.remove(at);
        }
        let label = label.min(width.saturating_sub(taken(&kept)).max(MIN_LABEL));
        let mut lines = vec![self.head((label, &kept), &widths)];
        lines.extend(self.rows.iter().map(|row| body(row, (label, &kept), &widths)));
        lines
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column));
        let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
        widest.max(self.columns[column].head.width())
    }

    fn head(&self, (label, kept): (usize, &[usize]), widths: &[usize]) -> Line {
        let mut line = Line::new();
        line.add(Tone::Dim, &fit(self.label, label)).pad_to(label);
        for column in kept {
            let head = self.columns[*column].head;
            line.pad_to(line.width() + GAP + widths[*column] - head.width()).add(Tone::Dim, head);
        }
        line
    }
}

fn body((name, cells): &(String, Vec<Cell>), (label, kept): (usize, &[usize]), widths: &[usize]) -> Line {
    let mut line = Line::new();
    line.add(Tone::Normal, &fit(name, label)).pad_to(label);
    for column in kept {
        let Some(cell) = cells.get(*column) else { continue };
        line.pad_to(line.width() + GAP + widths[*column] - cell.text.width());
        line.add(cell.tone, &cell.text);
    }
    line
}
