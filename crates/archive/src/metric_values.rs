//! The values of metrics: a row for each metric and second, and of long runs for each ten seconds; written and read.
//!
//! Rows are appended in the order of time, and their number says of which metric and second they are, so that no index is kept
//! beside them. Which rows a metric has is looked up once for the whole file.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use evidence::metric::{Buckets, MetricId, MetricSums};
use evidence::{Instant, Seconds};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::load::{damaged, positive};
use crate::schema::{self, MAX_A_RUN, MAX_A_SECOND, MAX_SECONDS};
use crate::seal::whole;

/// From this second on rows become coarser: a judge of so long a run asks for the values of ten seconds at least.
const COARSE_FROM: u32 = 600;
/// So many seconds become one row.
const COARSE_SECONDS: u32 = 10;

/// The bits of a row's number that are the metric's; those above are the second.
const METRIC_BITS: u32 = 20;

#[derive(Debug, Clone, Copy)]
struct RowNumber(i64);

impl RowNumber {
    fn of(metric: MetricId, second: u32) -> Result<RowNumber, Fault> {
        match metric.0 < 1 << METRIC_BITS {
            true => Ok(RowNumber(i64::from(second) << METRIC_BITS | i64::from(metric.0))),
            false => Err(Fault::Bug(format!("metric {} is past the last one", metric.0))),
        }
    }

    fn first_of(second: u32) -> RowNumber {
        RowNumber(i64::from(second) << METRIC_BITS)
    }

    /// What a row of a file of others is of.
    fn parts(self) -> Result<(MetricId, u32), Fault> {
        let second = u32::try_from(self.0 >> METRIC_BITS).ok().filter(|second| *second < MAX_SECONDS);
        let second = second.ok_or_else(|| damaged("a value of a metric is of no second"))?;
        Ok((MetricId((self.0 & ((1 << METRIC_BITS) - 1)) as u32), second))
    }
}

/// Values that wait to be written, over all loops.
#[derive(Debug, Default)]
pub(crate) struct PendingValues {
    seconds: BTreeMap<(u32, MetricId), MetricSums>,
    coarse: Option<CoarseRows>,
}

/// The seconds that become one row of each metric when they are over. Each has a row of its own until then.
#[derive(Debug)]
struct CoarseRows {
    start: u32,
    sums: BTreeMap<MetricId, MetricSums>,
}

impl PendingValues {
    pub(crate) fn add(&mut self, metric: MetricId, second: u32, sums: &MetricSums) {
        self.seconds.entry((second, metric)).or_default().merge(sums);
    }

    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), Fault> {
        for ((second, metric), sums) in std::mem::take(&mut self.seconds) {
            let start = match second < COARSE_FROM {
                true => None,
                false => self.coarse_row(connection, second)?,
            };
            match start {
                Some(start) => put(connection, RowNumber::of(metric, start)?, COARSE_SECONDS, &sums)?,
                None => put(connection, RowNumber::of(metric, second)?, 1, &sums)?,
            }
            if let Some(coarse) = self.coarse.as_mut().filter(|_| second >= COARSE_FROM && start.is_none()) {
                coarse.sums.entry(metric).or_default().merge(&sums);
            }
        }
        Ok(())
    }

    /// The first second of the row that has this one already; none where it has one of its own, after those before it became
    /// one.
    fn coarse_row(&mut self, connection: &Connection, second: u32) -> Result<Option<u32>, Fault> {
        let start = second - second % COARSE_SECONDS;
        match &self.coarse {
            Some(coarse) if start < coarse.start => return Ok(Some(start)),
            Some(coarse) if start == coarse.start => {}
            _ => {
                let next = CoarseRows { start, sums: BTreeMap::new() };
                self.coarse.replace(next).map_or(Ok(()), |over| over.write(connection))?;
            }
        }
        Ok(None)
    }
}

impl CoarseRows {
    /// Nothing later is in the table yet: its end is what is replaced.
    fn write(self, connection: &Connection) -> Result<(), Fault> {
        let mut delete =
            connection.prepare_cached("DELETE FROM metric_values WHERE place >= ?1 AND place < ?2")?;
        delete.execute([
            RowNumber::first_of(self.start).0,
            RowNumber::first_of(self.start + COARSE_SECONDS).0,
        ])?;
        self.sums.iter().try_for_each(|(metric, sums)| {
            put(connection, RowNumber::of(*metric, self.start)?, COARSE_SECONDS, sums)
        })
    }
}

/// Write a row, or add to it where it is there: a loop may lag behind the others.
fn put(connection: &Connection, place: RowNumber, seconds: u32, sums: &MetricSums) -> Result<(), Fault> {
    if insert(connection, "IGNORE", place, seconds, sums)? {
        return Ok(());
    }
    let stored = row_at(connection, place)?;
    let (_, mut merged) = stored.ok_or_else(|| Fault::Bug("a row is there and is not".to_owned()))?;
    merged.merge(sums);
    insert(connection, "REPLACE", place, seconds, &merged).map(drop)
}

/// Whether the row was written.
fn insert(
    connection: &Connection,
    or: &str,
    place: RowNumber,
    seconds: u32,
    sums: &MetricSums,
) -> Result<bool, Fault> {
    let mut insert = connection.prepare_cached(&format!(
        "INSERT OR {or} INTO metric_values VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    ))?;
    let last_at = Some(sums.last_at).filter(|at| (*at, sums.last) != (Instant::EPOCH, 0.0));
    let buckets = sums.buckets.to_bytes();
    let inserted = insert.execute(params![
        place.0,
        seconds,
        whole(sums.count)?,
        whole(sums.nonzero)?,
        sums.sum,
        sums.min,
        sums.max,
        last_at.map(|_| sums.last),
        last_at.map(|at| whole(at.as_nanos())).transpose()?,
        (!buckets.is_empty()).then_some(buckets)
    ])?;
    Ok(inserted > 0)
}

const COLUMNS: &str = "second, count, nonzero, sum, min, max, last, last_at_ns, buckets";

fn row_at(connection: &Connection, place: RowNumber) -> Result<Option<(Seconds, MetricSums)>, Fault> {
    let mut statement = connection
        .prepare_cached(&format!("SELECT {COLUMNS}, seconds FROM metric_values WHERE place = ?1"))?;
    let mut rows = statement.query([place.0])?;
    rows.next()?.map(|row| interval(row, row.get(9)?)).transpose()
}

/// The rows of a file that is read.
#[derive(Debug, Default)]
pub(crate) struct MetricRows {
    /// The first second of each, by metric.
    starts: OnceCell<BTreeMap<MetricId, Vec<u32>>>,
}

impl MetricRows {
    /// What was added to a metric in a window. Files of earlier versions have nothing.
    pub(crate) fn sum(
        &self,
        connection: &Connection,
        metric: MetricId,
        window: &Seconds,
    ) -> Result<MetricSums, Fault> {
        let mut merged = MetricSums::default();
        self.each(connection, metric, window, |_, sums| merged.merge(&sums))?;
        Ok(merged)
    }

    /// What was added to a metric in each interval that begins in a window, ascending. Files of earlier versions have nothing.
    pub(crate) fn intervals(
        &self,
        connection: &Connection,
        metric: MetricId,
        window: &Seconds,
    ) -> Result<Vec<(Seconds, MetricSums)>, Fault> {
        let mut all = Vec::new();
        self.each(connection, metric, window, |interval, sums| all.push((interval, sums)))?;
        Ok(all)
    }

    fn each(
        &self,
        connection: &Connection,
        metric: MetricId,
        window: &Seconds,
        mut take: impl FnMut(Seconds, MetricSums),
    ) -> Result<(), Fault> {
        let mut values = 0;
        let mut take = |(interval, sums): (Seconds, MetricSums)| {
            if sums.count > MAX_A_SECOND || values + sums.count > MAX_A_RUN {
                return Err(damaged(format_args!("its metric {} has more values than any run", metric.0)));
            }
            values += sums.count;
            take(interval, sums);
            Ok(())
        };
        let version = schema::version(connection)?;
        if !schema::numbers_metric_rows(version) {
            return if schema::has(version, "metric_values") {
                each_of_earlier(connection, metric, window, take)
            } else {
                Ok(())
            };
        }
        let starts = self.starts(connection)?.get(&metric).map(Vec::as_slice).unwrap_or_default();
        let first = starts.partition_point(|start| *start < window.start);
        for start in starts[first..].iter().take_while(|start| **start < window.end) {
            row_at(connection, RowNumber::of(metric, *start)?)?.map_or(Ok(()), &mut take)?;
        }
        Ok(())
    }

    fn starts(&self, connection: &Connection) -> Result<&BTreeMap<MetricId, Vec<u32>>, Fault> {
        if let Some(starts) = self.starts.get() {
            return Ok(starts);
        }
        let mut starts: BTreeMap<MetricId, Vec<u32>> = BTreeMap::new();
        let mut statement = connection.prepare("SELECT place FROM metric_values ORDER BY place")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (metric, second) = RowNumber(row.get(0)?).parts()?;
            starts.entry(metric).or_default().push(second);
        }
        Ok(self.starts.get_or_init(|| starts))
    }
}

/// Those of a file whose rows are found by the metric and the second.
fn each_of_earlier(
    connection: &Connection,
    metric: MetricId,
    window: &Seconds,
    mut take: impl FnMut((Seconds, MetricSums)) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM metric_values WHERE metric = ?1 AND second >= ?2 AND second < ?3 ORDER BY second"
    ))?;
    let mut rows = statement.query(params![metric.0, window.start, window.end])?;
    while let Some(row) = rows.next()? {
        take(interval(row, 1)?)?;
    }
    Ok(())
}

fn interval(row: &Row<'_>, seconds: u32) -> Result<(Seconds, MetricSums), Fault> {
    let start: u32 = row.get(0)?;
    match start.checked_add(seconds).filter(|_| (1..=COARSE_SECONDS).contains(&seconds)) {
        Some(end) => Ok((start..end, sums(row)?)),
        None => Err(damaged("a value of a metric is of no interval")),
    }
}

fn sums(row: &Row<'_>) -> Result<MetricSums, Fault> {
    let finite = |value: f64| {
        value.is_finite().then_some(value).ok_or_else(|| damaged("a value of a metric is not a number"))
    };
    let (count, nonzero) = (positive(row, 1)?, positive(row, 2)?);
    let (min, max) = (finite(row.get(4)?)?, finite(row.get(5)?)?);
    if nonzero > count || min > max {
        return Err(damaged("the values of a metric contradict each other"));
    }
    let last_at = row.get::<_, Option<i64>>(7)?.map(|_| positive(row, 7)).transpose()?;
    Ok(MetricSums {
        count,
        nonzero,
        sum: finite(row.get(3)?)?,
        min,
        max,
        last: finite(row.get::<_, Option<f64>>(6)?.unwrap_or_default())?,
        last_at: Instant::from_nanos(last_at.unwrap_or_default()),
        buckets: buckets(row.get_ref(8)?, count)?,
    })
}

/// Of earlier versions they are a JSON text.
fn buckets(value: ValueRef<'_>, count: u64) -> Result<Buckets, Fault> {
    let buckets = match value {
        ValueRef::Null => return Ok(Buckets::default()),
        ValueRef::Blob(bytes) => Buckets::from_bytes(bytes).map_err(damaged)?,
        _ => of_json(value)?,
    };
    match buckets.count() == count {
        true => Ok(buckets),
        false => Err(not_of_its_values()),
    }
}

fn of_json(value: ValueRef<'_>) -> Result<Buckets, Fault> {
    let broken = |error: String| damaged(format_args!("the buckets of a metric: {error}"));
    let text = value.as_str().map_err(|e| broken(e.to_string()))?;
    let counts: Vec<(i32, u64)> = serde_json::from_str(text).map_err(|e| broken(e.to_string()))?;
    Buckets::from_counts(counts).ok_or_else(not_of_its_values)
}

fn not_of_its_values() -> Fault {
    damaged("the buckets of a metric are not those of its values")
}

#[cfg(test)]
mod tests {
    use evidence::metric::MetricKind;

    use super::*;

    const METRIC: MetricId = MetricId(3);

    fn empty() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, evidence::manifest::SCHEMA_VERSION).unwrap();
        connection
    }

    fn sums(value: f64) -> MetricSums {
        let mut sums = MetricSums::default();
        sums.add(MetricKind::Trend, value, Instant::EPOCH);
        sums
    }

    /// One value in each of these seconds, written in the order of `parts`.
    fn written(parts: &[std::ops::Range<u32>]) -> Connection {
        let connection = empty();
        let mut pending = PendingValues::default();
        for part in parts {
            part.clone().for_each(|second| pending.add(METRIC, second, &sums(f64::from(second))));
            pending.write(&connection).unwrap();
        }
        connection
    }

    fn intervals(connection: &Connection) -> Vec<Seconds> {
        let intervals = MetricRows::default().intervals(connection, METRIC, &(0..MAX_SECONDS)).unwrap();
        intervals.into_iter().map(|(interval, _)| interval).collect()
    }

    fn sum(connection: &Connection, window: Seconds) -> MetricSums {
        MetricRows::default().sum(connection, METRIC, &window).unwrap()
    }

    #[test]
    fn ten_seconds_become_one_row_when_they_are_over() {
        let seconds = COARSE_FROM - 2..COARSE_FROM + 14;
        let connection = written(std::slice::from_ref(&seconds));
        let each = |from: u32, to: u32| (from..to).map(|second| second..second + 1);
        let ten = COARSE_FROM..COARSE_FROM + 10;
        let expected =
            each(COARSE_FROM - 2, COARSE_FROM).chain([ten.clone()]).chain(each(ten.end, ten.end + 4));
        assert_eq!(intervals(&connection), expected.collect::<Vec<_>>());
        let values = |seconds: Seconds| {
            seconds.map(|second| sums(f64::from(second))).reduce(|mut all, next| {
                all.merge(&next);
                all
            })
        };
        assert_eq!(Some(sum(&connection, ten.clone())), values(ten));
        assert_eq!(Some(sum(&connection, 0..9_999)), values(seconds));
    }

    /// Whatever the order in which loops deliver, and however often it is written.
    #[test]
    fn values_of_seconds_that_are_one_row_already_are_added_to_it() {
        let seconds = 0..COARSE_FROM + 25;
        let late =
            [seconds.clone(), COARSE_FROM + 3..COARSE_FROM + 5, 7..8, COARSE_FROM + 11..COARSE_FROM + 12];
        let connection = written(&late);
        assert_eq!(sum(&connection, 0..9_999).count, u64::from(seconds.end) + 4);
        assert_eq!(sum(&connection, COARSE_FROM..COARSE_FROM + 1).count, 12);
        assert_eq!(sum(&connection, 7..8).count, 2);
        let once = written(std::slice::from_ref(&seconds));
        assert_eq!(intervals(&connection), intervals(&once));
    }

    #[test]
    fn a_metric_past_the_last_number_is_refused() {
        let connection = empty();
        let mut pending = PendingValues::default();
        pending.add(MetricId(1 << METRIC_BITS), 0, &sums(1.0));
        assert!(matches!(pending.write(&connection), Err(Fault::Bug(_))));
    }
}
