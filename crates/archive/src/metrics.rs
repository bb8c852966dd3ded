//! The metrics of scripts, by their numbers: written and read.

use std::collections::{BTreeMap, HashMap};

use evidence::metric::{MetricId, MetricKey};
use evidence::{Instance, Name, Tick};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::load::damaged;
use crate::metric_values::PendingValues;
use crate::schema;

/// The metrics that a writer has met.
#[derive(Debug, Default)]
pub(crate) struct MetricNumbers {
    numbers: HashMap<MetricKey, MetricId>,
    of_loops: HashMap<(Instance, MetricId), MetricId>,
    pending: PendingValues,
}

impl MetricNumbers {
    /// Take what the tick added to metrics. Several loops may each add to the same metric and second.
    pub(crate) fn put(&mut self, connection: &Connection, tick: &Tick) -> Result<(), Fault> {
        for (local, key) in &tick.metrics.new {
            let id = self.number_of(connection, key)?;
            self.of_loops.insert((tick.instance, *local), id);
        }
        for (local, sums) in tick.metrics.sums() {
            let id = self.of_loops.get(&(tick.instance, local)).copied();
            let id = id.ok_or_else(|| Fault::Bug(format!("metric {} was never announced", local.0)))?;
            self.pending.add(id, tick.second, sums);
        }
        Ok(())
    }

    /// Write what was taken since the last time.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), Fault> {
        self.pending.write(connection)
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

#[cfg(test)]
mod tests {
    use evidence::Instant;
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
        numbers.write(&connection).unwrap();
        let sum: f64 = connection.query_row("SELECT sum FROM metric_values", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 4.0);
    }
}
