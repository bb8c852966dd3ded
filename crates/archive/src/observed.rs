//! Notices and profiles: the rows that they are kept in, written and read.

use evidence::{Instant, Notice, Profile};
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::instances::Instances;
use crate::load::{damaged, positive};
use crate::schema;
use crate::seal::whole;

pub(crate) fn put_notice(
    connection: &Connection,
    notice: &Notice,
    instance: Option<u32>,
) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO notices (at_ns, observer, kind, text, instance) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let at_ns = whole(notice.at.as_nanos())?;
    insert.execute(params![at_ns, notice.observer, notice.kind.to_string(), notice.text, instance])?;
    Ok(())
}

pub(crate) fn put_profile(connection: &Connection, profile: &Profile) -> Result<(), Fault> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO profiles (target, kind, mark, begin_ns, end_ns, sampling, pprof)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    insert.execute(params![
        profile.target,
        profile.kind.to_string(),
        profile.mark,
        whole(profile.begin.as_nanos())?,
        whole(profile.end.as_nanos())?,
        profile.sampling.to_string(),
        profile.bytes
    ])?;
    Ok(())
}

pub(crate) fn notices(connection: &Connection) -> Result<Vec<Notice>, Fault> {
    let instances = Instances::read(connection)?;
    let instance = instances.column();
    let question =
        format!("SELECT at_ns, observer, kind, text, {instance} FROM notices ORDER BY at_ns, notice");
    rows(connection, "notices", &question, |row| {
        Ok(Notice {
            at: instant(row, 0)?,
            observer: row.get(1)?,
            kind: row.get::<_, String>(2)?.parse().map_err(damaged)?,
            text: row.get(3)?,
            instance: instances.of_row(row, 4)?,
        })
    })
}

pub(crate) fn profiles(connection: &Connection) -> Result<Vec<Profile>, Fault> {
    let question =
        "SELECT target, kind, mark, begin_ns, end_ns, sampling, pprof FROM profiles ORDER BY end_ns, profile";
    rows(connection, "profiles", question, |row| {
        let (begin, end) = (instant(row, 3)?, instant(row, 4)?);
        if end < begin {
            return Err(damaged("a profile ends before it begins"));
        }
        Ok(Profile {
            target: row.get(0)?,
            kind: row.get::<_, String>(1)?.parse().map_err(damaged)?,
            mark: row.get(2)?,
            begin,
            end,
            sampling: row.get::<_, String>(5)?.parse().map_err(damaged)?,
            bytes: row.get(6)?,
        })
    })
}

fn instant(row: &Row<'_>, column: usize) -> Result<Instant, Fault> {
    Ok(Instant::from_nanos(positive(row, column)?))
}

/// What a file of an earlier version has no table for is empty.
fn rows<T>(
    connection: &Connection,
    table: &str,
    question: &str,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    if !schema::has(schema::version(connection)?, table) {
        return Ok(found);
    }
    let mut statement = connection.prepare(question)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}
