//! The metrics of scripts: the rows that they are kept in, written and read.

use std::collections::{BTreeMap, HashMap};

use evidence::metric::{Buckets, MetricId, MetricKey, MetricSums};
use evidence::{Instance, Instant, Name, Seconds, Tick};
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::load::{damaged, positive};
use crate::schema::{self, MAX_A_RUN, MAX_A_SECOND};
use crate::seal::whole;

/// The metrics that a writer has met.
#[derive(Debug, Default)]
pub(crate) struct MetricNumbers {
    numbers: HashMap<MetricKey, MetricId>,
    of_loops: HashMap<(Instance, MetricId), MetricId>,
}

impl MetricNumbers {
    /// Write what the tick added to metrics. Several loops may each add to the same metric and second.
    pub(crate) fn put(&mut self, connection: &Connection, tick: &Tick) -> Result<(), Fault> {
        for (local, key) in &tick.metrics.new {
            let id = self.number_of(connection, key)?;
            self.of_loops.insert((tick.instance, *local), id);
        }
        for (local, sums) in tick.metrics.sums() {
            let id = self.of_loops.get(&(tick.instance, local)).copied();
            let id = id.ok_or_else(|| Fault::Bug(format!("metric {} was never announced", local.0)))?;
            put_sums(connection, id, tick.second, sums)?;
        }
        Ok(())
    }

    fn number_of(&mut self, connection: &Connection, key: &MetricKey) -> Result<MetricId, Fault> {
        if let Some(id) = self.numbers.get(key) {
            return Ok(*id);
        }
        let id = MetricId(self.numbers.len() as u32);
        let tags = serde_json::to_string(&key.tags).map_err(|e| Fault::Bug(e.to_string()))?;
        let mut insert = connection.prepare_cached("INSERT INTO metrics VALUES (?1, ?2, ?3, ?4, ?5)")?;
        insert.execute(params![id.0, key.kind.to_string(), key.name, tags, key.phase])?;
        self.numbers.insert(key.clone(), id);
        Ok(id)
    }
}

fn put_sums(connection: &Connection, id: MetricId, second: u32, sums: &MetricSums) -> Result<(), Fault> {
    let mut merged = stored(connection, id, &(second..second + 1))?;
    merged.merge(sums);
    let counts: Vec<(i32, u64)> = merged.buckets.iter().collect();
    let buckets = serde_json::to_string(&counts).map_err(|e| Fault::Bug(e.to_string()))?;
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO metric_values VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    insert.execute(params![
        id.0,
        second,
        whole(merged.count)?,
        whole(merged.nonzero)?,
        merged.sum,
        merged.min,
        merged.max,
        merged.last,
        whole(merged.last_at.as_nanos())?,
        (!counts.is_empty()).then_some(buckets)
    ])?;
    Ok(())
}

/// Every metric, in the order of its number, which is its place. Files of earlier versions have none.
pub(crate) fn all(connection: &Connection) -> Result<Vec<(MetricId, MetricKey)>, Fault> {
    let mut metrics = Vec::new();
    let version = schema::version(connection)?;
    if !schema::has(version, "metrics") {
        return Ok(metrics);
    }
    let phase = if schema::has_metric_phases(version) { "phase" } else { "''" };
    let mut statement = connection
        .prepare(&format!("SELECT metric, kind, name, tags, {phase} FROM metrics ORDER BY metric"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = MetricId(row.get(0)?);
        if id.0 as usize != metrics.len() {
            return Err(damaged(format_args!("its metric {} is missing", metrics.len())));
        }
        let kind = row.get::<_, String>(1)?.parse().map_err(damaged)?;
        let tags: BTreeMap<Name, Name> = serde_json::from_str(&row.get::<_, String>(3)?)
            .map_err(|e| damaged(format_args!("the tags of a metric: {e}")))?;
        metrics.push((id, MetricKey { kind, name: row.get(2)?, tags, phase: row.get(4)? }));
    }
    Ok(metrics)
}

/// What was added to a metric in a window. Files of earlier versions have nothing.
pub(crate) fn of_window(
    connection: &Connection,
    id: MetricId,
    window: &Seconds,
) -> Result<MetricSums, Fault> {
    match has_values(connection)? {
        true => stored(connection, id, window),
        false => Ok(MetricSums::default()),
    }
}

/// What was added to a metric in each second of a window that has any, ascending. Files of earlier versions have nothing.
pub(crate) fn by_second(
    connection: &Connection,
    id: MetricId,
    window: &Seconds,
) -> Result<Vec<(u32, MetricSums)>, Fault> {
    let mut seconds = Vec::new();
    if has_values(connection)? {
        each_second(connection, id, window, |second, sums| seconds.push((second, sums)))?;
    }
    Ok(seconds)
}

/// Whether files of this version have values of metrics.
fn has_values(connection: &Connection) -> Result<bool, Fault> {
    Ok(schema::has(schema::version(connection)?, "metric_values"))
}

/// What was added in a window, of a file that has the table.
fn stored(connection: &Connection, id: MetricId, window: &Seconds) -> Result<MetricSums, Fault> {
    let mut merged = MetricSums::default();
    each_second(connection, id, window, |_, sums| merged.merge(&sums))?;
    Ok(merged)
}

fn each_second(
    connection: &Connection,
    id: MetricId,
    window: &Seconds,
    mut take: impl FnMut(u32, MetricSums),
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT count, nonzero, sum, min, max, last, last_at_ns, buckets, second FROM metric_values
         WHERE metric = ?1 AND second >= ?2 AND second < ?3 ORDER BY second",
    )?;
    let mut rows = statement.query(params![id.0, window.start, window.end])?;
    let mut values = 0;
    while let Some(row) = rows.next()? {
        let sums = sums(row)?;
        if sums.count > MAX_A_SECOND || values + sums.count > MAX_A_RUN {
            return Err(damaged(format_args!("its metric {} has more values than any run", id.0)));
        }
        values += sums.count;
        take(row.get(8)?, sums);
    }
    Ok(())
}

fn sums(row: &Row<'_>) -> Result<MetricSums, Fault> {
    let number = |column| {
        let value: f64 = row.get(column)?;
        value.is_finite().then_some(value).ok_or_else(|| damaged("a value of a metric is no number"))
    };
    let count = positive(row, 0)?;
    let nonzero = positive(row, 1)?;
    let buckets = row.get::<_, Option<String>>(7)?.map(|text| buckets(&text, count)).transpose()?;
    let (min, max) = (number(3)?, number(4)?);
    if nonzero > count || min > max {
        return Err(damaged("the values of a metric contradict each other"));
    }
    Ok(MetricSums {
        count,
        nonzero,
        sum: number(2)?,
        min,
        max,
        last: number(5)?,
        last_at: Instant::from_nanos(positive(row, 6)?),
        buckets: buckets.unwrap_or_default(),
    })
}

fn buckets(text: &str, count: u64) -> Result<Buckets, Fault> {
    let counts: Vec<(i32, u64)> =
        serde_json::from_str(text).map_err(|e| damaged(format_args!("the buckets of a metric: {e}")))?;
    let sum = counts.iter().try_fold(0_u64, |sum, (_, n)| sum.checked_add(*n));
    let buckets = Buckets::of(counts).filter(|_| sum == Some(count));
    buckets.ok_or_else(|| damaged("the buckets of a metric are not those of its values"))
}

#[cfg(test)]
mod tests {
    use evidence::metric::{MetricHandle, MetricKind};

    use super::*;

    /// A file that is being written has all tables, whatever its version says.
    #[test]
    fn loops_that_add_to_a_metric_in_one_second_are_merged_without_asking_for_the_version() {
        let connection = Connection::open_in_memory().unwrap();
        schema::create(&connection, 0).unwrap();
        let mut numbers = MetricNumbers::default();
        for loop_index in [0, 1] {
            let mut tick = Tick::default();
            tick.instance = Instance::of_loop(loop_index);
            let (id, kind) = (MetricId(0), MetricKind::Counter);
            tick.metrics
                .new
                .push((id, MetricKey { kind, name: "hits".into(), tags: BTreeMap::new(), phase: "".into() }));
            tick.metrics.add(MetricHandle { id, kind }, 2.0, Instant::EPOCH);
            numbers.put(&connection, &tick).unwrap();
        }
        let sum: f64 = connection.query_row("SELECT sum FROM metric_values", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 4.0);
    }
}
