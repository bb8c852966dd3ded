//! Response times over time, as counts in columns of time and rows of time's logarithm: what a heat map is drawn of.

use std::collections::VecDeque;

use evidence::Histogram;

/// How many seconds a column covers, at each scale.
pub const SCALES_S: [u32; 4] = [1, 5, 30, 300];
/// The columns that are kept at each scale: three minutes of seconds, 16 hours of 300 s each.
const COLUMNS: usize = 200;
/// Rows for each doubling of the time, so that one is 9 % above the one below.
const ROWS_A_DOUBLING: f64 = 8.0;

/// A row of a heat map: it covers times from [`row_us`] of it up to [`row_us`] of the next.
pub type HeatRow = u8;

/// The row of a time in microseconds.
pub fn row_of(us: f64) -> HeatRow {
    // An hour, the longest time that is recorded, is in row 253.
    (us.max(1.0).log2() * ROWS_A_DOUBLING).floor().min(f64::from(HeatRow::MAX)) as HeatRow
}

/// The shortest time of a row, in microseconds.
pub fn row_us(row: HeatRow) -> f64 {
    (f64::from(row) / ROWS_A_DOUBLING).exp2()
}

/// What ended in the seconds of one column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeatColumn {
    /// Its first second.
    pub start_s: u32,
    /// Successes by row, ascending; rows without any are left out.
    pub rows: Vec<(HeatRow, u64)>,
    /// Failures.
    pub failed: u64,
}

impl HeatColumn {
    /// Requests that ended, in success or failure.
    pub fn completed(&self) -> u64 {
        self.ok() + self.failed
    }

    fn ok(&self) -> u64 {
        self.rows.iter().map(|(_, count)| count).sum()
    }

    /// The row of a quantile of the successes; none without any.
    pub fn quantile(&self, quantile: f64) -> Option<HeatRow> {
        let rank = (quantile * self.ok() as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        self.rows.iter().find_map(|(row, count)| {
            counted += count;
            (counted >= rank).then_some(*row)
        })
    }

    fn add(&mut self, rows: &[(HeatRow, u64)], failed: u64) {
        self.failed += failed;
        for (row, count) in rows {
            match self.rows.binary_search_by_key(row, |(known, _)| *known) {
                Ok(at) => self.rows[at].1 += count,
                Err(at) => self.rows.insert(at, (*row, *count)),
            }
        }
    }
}

/// The last columns at each scale.
#[derive(Debug, Clone, Default)]
pub struct HeatHistory {
    scales: [VecDeque<HeatColumn>; SCALES_S.len()],
}

impl HeatHistory {
    /// Adds successes and failures of a second. What is older than the columns that are kept is left out.
    pub(super) fn add(&mut self, second: u32, response: Option<&Histogram>, failed: u64) {
        let rows = response.map(by_row).unwrap_or_default();
        for (columns, length_s) in self.scales.iter_mut().zip(SCALES_S) {
            if let Some(column) = column_mut(columns, second / length_s * length_s) {
                column.add(&rows, failed);
            }
        }
    }

    /// Adds all columns of another, as far as they are kept.
    pub(super) fn merge(&mut self, other: &HeatHistory) {
        for (own, others) in self.scales.iter_mut().zip(&other.scales) {
            for column in others {
                if let Some(sum) = column_mut(own, column.start_s) {
                    sum.add(&column.rows, column.failed);
                }
            }
        }
    }

    /// The columns at a scale that begin in these seconds, the earliest first; those in which nothing ended are left out.
    pub fn columns(&self, scale: usize, seconds: std::ops::Range<u32>) -> impl Iterator<Item = &HeatColumn> {
        self.scales[scale].iter().filter(move |column| seconds.contains(&column.start_s))
    }
}

fn column_mut(columns: &mut VecDeque<HeatColumn>, start_s: u32) -> Option<&mut HeatColumn> {
    let at = columns.partition_point(|column| column.start_s < start_s);
    if columns.get(at).is_none_or(|column| column.start_s != start_s) {
        if at == 0 && columns.len() >= COLUMNS {
            return None;
        }
        columns.insert(at, HeatColumn { start_s, ..HeatColumn::default() });
    }
    let dropped = columns.len().saturating_sub(COLUMNS);
    columns.drain(..dropped);
    columns.get_mut(at - dropped)
}

fn by_row(response: &Histogram) -> Vec<(HeatRow, u64)> {
    let mut rows: Vec<(HeatRow, u64)> = Vec::new();
    for (lowest_us, _, count) in response.buckets() {
        let row = row_of(lowest_us as f64);
        match rows.last_mut().filter(|(last, _)| *last == row) {
            Some((_, sum)) => *sum += count,
            None => rows.push((row, count)),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_covers_the_times_from_its_own_to_the_next() {
        for (us, row) in [(0.0, 0), (1.0, 0), (2.0, 8), (1_000.0, 79), (3_600_000_000.0, 253)] {
            assert_eq!(row_of(us), row, "{us}");
        }
        for row in 0..=253 {
            assert_eq!(row_of(row_us(row) * 1.001), row);
            assert!((row_us(row + 1) / row_us(row) - 1.0905).abs() < 1e-3);
        }
    }

    #[test]
    fn each_scale_adds_up_its_seconds_and_keeps_its_last_columns() {
        let mut heat = HeatHistory::default();
        for second in 0..1_000 {
            let mut response = Histogram::new();
            response.record_us(1_000, 3);
            response.record_us(64_000, 1);
            heat.add(second, Some(&response), u64::from(second % 5 == 0));
        }
        let columns = |scale| heat.columns(scale, 0..u32::MAX).collect::<Vec<_>>();
        for (scale, (count, first_s)) in [(200, 800), (200, 0), (34, 0), (4, 0)].into_iter().enumerate() {
            let columns = columns(scale);
            assert_eq!((columns.len(), columns[0].start_s), (count, first_s));
            let seconds = u64::from(SCALES_S[scale]);
            assert_eq!(columns[0].rows, [(79, 3 * seconds), (127, seconds)]);
            assert_eq!(columns[0].failed, seconds.div_ceil(5));
            assert_eq!((columns[0].quantile(0.75), columns[0].quantile(0.76)), (Some(79), Some(127)));
        }
        assert_eq!(
            heat.columns(0, 990..995).map(|column| column.start_s).collect::<Vec<_>>(),
            [990, 991, 992, 993, 994]
        );
        // Too late for the columns of a second, not for the others.
        heat.add(3, None, 7);
        assert_eq!((columns_failed(&heat, 0), columns_failed(&heat, 1)), (40, 207));
        assert_eq!(HeatColumn::default().quantile(0.5), None);
    }

    fn columns_failed(heat: &HeatHistory, scale: usize) -> u64 {
        heat.columns(scale, 0..u32::MAX).map(|column| column.failed).sum()
    }
}
