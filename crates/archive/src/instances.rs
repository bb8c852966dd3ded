//! The instances that rows of a run file are about: numbered when they are first met, read back with the rows.

use std::collections::HashMap;

use evidence::{Instance, SeriesKey};
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::schema;

/// The numbers of the instances that a writer has met.
#[derive(Debug, Default)]
pub(crate) struct InstanceNumbers(HashMap<Instance, u32>);

impl InstanceNumbers {
    /// The file's number of `instance`, given now if it is new.
    pub(crate) fn number_of(&mut self, connection: &Connection, instance: Instance) -> Result<u32, Fault> {
        if let Some(number) = self.0.get(&instance) {
            return Ok(*number);
        }
        let number = self.0.len() as u32;
        let mut insert = connection.prepare_cached("INSERT INTO instances VALUES (?1, ?2, ?3, ?4)")?;
        insert.execute(params![number, instance.machine, instance.process, instance.loop_index])?;
        self.0.insert(instance, number);
        Ok(number)
    }

    /// The same for a row that may be about no instance.
    pub(crate) fn number_of_any(
        &mut self,
        connection: &Connection,
        instance: Option<Instance>,
    ) -> Result<Option<u32>, Fault> {
        instance.map(|instance| self.number_of(connection, instance)).transpose()
    }
}

/// The instances of a file, by their numbers.
#[derive(Debug)]
pub(crate) struct Instances {
    all: Vec<Instance>,
    /// Whether rows name them.
    are_named: bool,
}

impl Instances {
    pub(crate) fn read(connection: &Connection) -> Result<Instances, Fault> {
        let mut all = Vec::new();
        let are_named = schema::names_instances(schema::version(connection)?);
        if !are_named {
            return Ok(Instances { all, are_named });
        }
        let question = "SELECT instance, machine, process, loop FROM instances ORDER BY instance";
        let mut statement = connection.prepare(question)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, u32>(0)? as usize != all.len() {
                return Err(Fault::Damaged(format!("its instance {} is missing", all.len())));
            }
            all.push(Instance { machine: row.get(1)?, process: row.get(2)?, loop_index: row.get(3)? });
        }
        Ok(Instances { all, are_named })
    }

    /// What a query asks for to get a row's instance.
    pub(crate) fn column(&self) -> &'static str {
        if self.are_named { "instance" } else { "NULL" }
    }

    /// The instance of a row, whose number is in `column`.
    pub(crate) fn of_row(&self, row: &Row<'_>, column: usize) -> Result<Option<Instance>, Fault> {
        let Some(number) = row.get::<_, Option<u32>>(column)? else { return Ok(None) };
        let found = self.all.get(number as usize).copied();
        found.map(Some).ok_or_else(|| Fault::Damaged(format!("its instance {number} is missing")))
    }

    /// A series as it was read. Earlier versions wrote the loop behind the part of the generator's own series, and left out
    /// the first loop's where there was another part.
    pub(crate) fn series(&self, key: SeriesKey) -> SeriesKey {
        if self.are_named || &*key.target != SeriesKey::GENERATOR || !OF_LOOPS.contains(&&*key.name) {
            return key;
        }
        let (part, number) = match key.part.rsplit_once("loop ") {
            Some((part, number)) => (part.trim_end(), number.parse().ok()),
            None => (&*key.part, Some(0)),
        };
        match number {
            Some(number) => SeriesKey { part: part.into(), ..key }.instance(Instance::of_loop(number)),
            None => key,
        }
    }
}

/// The generator's series that loops have, as version 2 named them.
const OF_LOOPS: [&str; 10] = [
    "in_flight",
    "iterations",
    "virtual_users",
    "connections",
    "loop_cpu",
    "recorder_lag",
    "active",
    "active_max",
    "cap",
    "at_cap",
];
