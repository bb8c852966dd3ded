//! Response times over time: a column of seconds, rows of equal ratio, and a shade for how many ended there.

use figures::live::heat::{HeatColumn, HeatRow, SCALES_S, row_us};

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::number;

/// Columns of a row's times, before the map.
const LABEL: usize = 17;
/// Shades from little to much.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];
/// Columns between two times of the axis.
const AXIS_STEP: usize = 15;

impl Drawing<'_> {
    /// A title, as many rows as there are lines for, a row of failures where there are any, and the axis of time.
    pub(super) fn heat_map(&self, rows: usize) -> Vec<TextLine> {
        let length_s = SCALES_S[self.choice.scale];
        let width = self.columns.saturating_sub(LABEL + 3).max(1);
        let complete = self.screen.figures.complete_s().div_ceil(length_s);
        let time = Time::of(length_s, width, complete, self.now.total_s);
        let begin = time.begin;
        let (name, of) = self.chosen();
        let columns: Vec<&HeatColumn> = of
            .map(|of| of.heat.columns(self.choice.scale, begin * length_s..complete * length_s).collect())
            .unwrap_or_default();
        let at = |column: &HeatColumn| (column.start_s / length_s - begin) as usize;
        // With few lines the times come first: failures and marks are in other parts, too.
        let has_failures = rows >= 5 && columns.iter().any(|column| column.failed > 0);
        let mut marks = time.marks(&self.screen.marks_s);
        marks.retain(|_| rows >= 6);
        let beside = 2 + usize::from(has_failures) + usize::from(!marks.is_empty());
        let most_rows = rows.saturating_sub(beside).max(1);
        let mut lines = vec![title(&name, length_s)];
        let bands = Bands::of(&columns, most_rows);
        let mut cells = vec![vec![0_u64; time.columns]; bands.count];
        for column in &columns {
            for (row, count) in &column.rows {
                cells[bands.of_row(*row)][at(column)] += count;
            }
        }
        let most = cells.iter().flatten().copied().max().unwrap_or(0);
        for (band, cells) in cells.iter().enumerate().rev() {
            lines.push(row(&bands.label(band), cells, most, time.each));
        }
        if has_failures {
            let failed = columns.iter().filter(|column| column.failed > 0).map(|column| at(column));
            lines.push(time.row("failed", Tone::Bad, &"×".repeat(time.each), failed));
        }
        if !marks.is_empty() {
            let glyphs = format!("▲{}", " ".repeat(time.each - 1));
            lines.push(time.row("marked", Tone::Warn, &glyphs, marks.into_iter()));
        }
        lines.push(time.axis(width));
        lines
    }

    fn chosen(&self) -> (String, Option<&figures::live::EndpointFigures>) {
        match self.choice.endpoint {
            None => ("all endpoints".to_owned(), Some(&self.table.all)),
            Some(at) => match self.table.rows().nth(at) {
                Some(row) => {
                    let name = row.name.map(|(_, endpoint)| self.labels.without_origin(endpoint));
                    (name.unwrap_or("further names").to_owned(), Some(row.figures))
                }
                None => (String::new(), None),
            },
        }
    }
}

/// The axis of time.
struct Time {
    length_s: u32,
    /// The first column, in lengths since the start of the run.
    begin: u32,
    columns: usize,
    /// How many columns of the terminal each has: more than one where the whole run fits in.
    each: usize,
}

impl Time {
    fn of(length_s: u32, width: usize, complete: u32, total_s: u32) -> Time {
        let whole_run = total_s.div_ceil(length_s).max(complete).max(1) as usize;
        let each = (width / whole_run).max(1);
        let columns = width / each;
        Time { length_s, begin: complete.saturating_sub(columns as u32), columns, each }
    }

    /// A row with these glyphs in some of the columns.
    fn row(&self, label: &str, tone: Tone, glyphs: &str, columns: impl Iterator<Item = usize>) -> TextLine {
        let blank = " ".repeat(self.each);
        let mut cells = vec![blank.as_str(); self.columns];
        columns.for_each(|column| cells[column] = glyphs);
        let mut line = labelled(label, tone);
        line.add(tone, cells.concat().trim_end());
        line
    }

    /// The columns of seconds in which an event was marked.
    fn marks(&self, seconds: &[u32]) -> Vec<usize> {
        let column =
            |second: &u32| (second / self.length_s).checked_sub(self.begin).map(|column| column as usize);
        seconds.iter().filter_map(column).filter(|column| *column < self.columns).collect()
    }

    /// Times of the run below the map.
    fn axis(&self, width: usize) -> TextLine {
        let mut glyphs = vec![' '; width];
        let step = AXIS_STEP.div_ceil(self.each);
        for column in (0..).step_by(step).take_while(|column| (column + step) * self.each <= width) {
            let time = number::clock(u64::from((self.begin + column as u32) * self.length_s));
            for (at, glyph) in (column * self.each..).zip(format!("╵{time}").chars()) {
                glyphs[at] = glyph;
            }
        }
        let mut line = TextLine::new();
        line.pad_to(LABEL).add(Tone::Dim, &format!("└{}", glyphs.iter().collect::<String>().trim_end()));
        line
    }
}

/// Bands of neighbouring rows, each one row of the map.
struct Bands {
    lowest: HeatRow,
    /// Rows of the figures in each band.
    each: usize,
    count: usize,
}

impl Bands {
    /// All rows that occur, in at most so many bands.
    fn of(columns: &[&HeatColumn], most: usize) -> Bands {
        let rows = || columns.iter().flat_map(|column| column.rows.iter().map(|(row, _)| *row));
        let (Some(lowest), Some(highest)) = (rows().min(), rows().max()) else {
            return Bands { lowest: 0, each: usize::from(HeatRow::MAX) + 1, count: 1 };
        };
        let all = usize::from(highest - lowest) + 1;
        let each = all.div_ceil(most);
        Bands { lowest, each, count: all.div_ceil(each) }
    }

    fn of_row(&self, row: HeatRow) -> usize {
        usize::from(row - self.lowest) / self.each
    }

    /// The times of a band: `1.2 to 1.9 ms`.
    fn label(&self, band: usize) -> String {
        if self.each > usize::from(HeatRow::MAX) {
            return String::new();
        }
        let from = usize::from(self.lowest) + band * self.each;
        let time = |row: usize| {
            number::time_with(row_us(HeatRow::try_from(row).unwrap_or(HeatRow::MAX)) / 1_000.0, 2)
        };
        let (from, to) = (time(from), time(from + self.each));
        match (from.split_once(' '), to.split_once(' ')) {
            (Some((number, unit)), Some((_, unit_of_end))) if unit == unit_of_end => {
                format!("{number} to {to}")
            }
            _ => format!("{from} to {to}"),
        }
    }
}

fn title(name: &str, length_s: u32) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Dim, "   response times of ").add(Tone::Strong, name);
    let scale = number::duration(length_s.into());
    line.add(Tone::Dim, &format!(", {scale} a column, few "));
    for (level, shade) in (0_u8..).zip(SHADES) {
        line.add(Tone::Heat(level), shade);
    }
    line.add(Tone::Dim, " many");
    line
}

fn labelled(label: &str, tone: Tone) -> TextLine {
    let mut line = TextLine::new();
    line.add_right(tone, label, LABEL).add(Tone::Dim, "│");
    line
}

fn row(label: &str, cells: &[u64], most: u64, each: usize) -> TextLine {
    let mut line = labelled(label, Tone::Dim);
    for run in cells.chunk_by(|a, b| level(*a, most) == level(*b, most)) {
        match level(run[0], most) {
            None => line.add(Tone::Normal, &" ".repeat(run.len() * each)),
            Some(level) => line.add(Tone::Heat(level), &SHADES[usize::from(level)].repeat(run.len() * each)),
        };
    }
    line
}

/// The shade of a count: those of equal ratio between one and the most. None where there is nothing.
fn level(count: u64, most: u64) -> Option<u8> {
    match count {
        0 => None,
        _ if count >= most => Some(3),
        _ => Some(((count as f64).ln() / (most as f64).ln() * SHADES.len() as f64).min(3.0) as u8),
    }
}
