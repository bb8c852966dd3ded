//! Which events were applied: the ids of the last hour (or the last million, whichever is fewer). They are in memory,
//! and on disk in the same transaction as their effect, so that a restart forgets none of them.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use kit::clock::UtcMs;
use rusqlite::{Connection, params};

use crate::store::event_key::EventKey;

/// Ids expire in this many steps: more steps follow the window more exactly, and each costs one lookup.
const STEPS: usize = 8;
const KEY_BYTES: usize = size_of::<u128>();

/// How long event ids are remembered: until the first of the two is reached.
#[derive(Debug, Clone, Copy)]
pub struct EventIdWindow {
    /// At least this long.
    pub age: Duration,
    /// At most about this many.
    pub ids: usize,
}

/// A part of the window: ids of consecutive groups.
struct Step {
    first_group: i64,
    began: UtcMs,
    ids: HashSet<EventKey>,
}

pub(super) struct RecentEventIds {
    window: EventIdWindow,
    steps: VecDeque<Step>,
    next_group: i64,
}

impl RecentEventIds {
    /// Loads the ids of the window from the table.
    pub(super) fn load(connection: &Connection, window: EventIdWindow, now: UtcMs) -> rusqlite::Result<Self> {
        let mut loaded = Self { window, steps: VecDeque::new(), next_group: 1 };
        let mut select =
            connection.prepare("SELECT group_no, seen_at, ids FROM event_ids ORDER BY group_no")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let keys = row.get_ref(2)?.as_blob()?.as_chunks::<KEY_BYTES>().0.iter();
            loaded.next_group = row.get(0)?;
            loaded.remember(keys.map(|key| EventKey(u128::from_le_bytes(*key))), UtcMs(row.get(1)?));
        }
        loaded.forget(now);
        Ok(loaded)
    }

    pub(super) fn contains(&self, key: EventKey) -> bool {
        self.steps.iter().rev().any(|step| step.ids.contains(&key))
    }

    /// Writes a group's ids, and deletes those that left the window, in the caller's transaction.
    pub(super) fn store(
        &self,
        connection: &Connection,
        keys: &[EventKey],
        now: UtcMs,
    ) -> rusqlite::Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let blob: Vec<u8> = keys.iter().flat_map(|key| key.0.to_le_bytes()).collect();
        connection.prepare_cached("INSERT INTO event_ids VALUES (?1, ?2, ?3)")?.execute(params![
            self.next_group,
            now.0,
            blob
        ])?;
        let oldest = self.steps.front().map_or(self.next_group, |step| step.first_group);
        // The oldest rows are first in the table, so a delete that finds none costs one step.
        connection.prepare_cached("DELETE FROM event_ids WHERE group_no < ?1")?.execute([oldest])?;
        Ok(())
    }

    /// Remembers a committed group.
    pub(super) fn committed(&mut self, keys: &[EventKey], now: UtcMs) {
        if !keys.is_empty() {
            self.remember(keys.iter().copied(), now);
            self.forget(now);
        }
    }

    fn remember(&mut self, keys: impl Iterator<Item = EventKey>, now: UtcMs) {
        let step_age_ms = ms(self.window.age) / STEPS as i64;
        let step_ids = (self.window.ids / STEPS).max(1);
        let is_full = |step: &Step| step.ids.len() >= step_ids || now.0 - step.began.0 > step_age_ms;
        if self.steps.back().is_none_or(is_full) {
            self.steps.push_back(Step { first_group: self.next_group, began: now, ids: HashSet::new() });
        }
        if let Some(step) = self.steps.back_mut() {
            step.ids.extend(keys);
        }
        self.next_group += 1;
    }

    /// A step is dropped once all of it is too old, or once the steps after it fill the window.
    fn forget(&mut self, now: UtcMs) {
        let oldest_ms = now.0 - ms(self.window.age) - ms(self.window.age) / STEPS as i64;
        let mut remembered: usize = self.steps.iter().map(|step| step.ids.len()).sum();
        while let Some(step) = self.steps.front() {
            remembered -= step.ids.len();
            if step.began.0 >= oldest_ms && remembered < self.window.ids {
                return;
            }
            self.steps.pop_front();
        }
    }
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    use kit::sqlite::{DatabaseFile, Sync, open_writer};

    use crate::store::sqlite::schema::MIGRATIONS;

    fn keys(range: std::ops::Range<u128>) -> Vec<EventKey> {
        range.map(EventKey).collect()
    }

    fn count_known(event_ids: &RecentEventIds, range: std::ops::Range<u128>) -> usize {
        keys(range).into_iter().filter(|key| event_ids.contains(*key)).count()
    }

    /// Writes groups of 10 ids, one every `every_ms`; returns what a reopened store remembers, and the rows on disk.
    fn after_restart(window: EventIdWindow, groups: u128, every_ms: i64) -> (RecentEventIds, i64) {
        let place = DatabaseFile::acquire(None, "challenge.db").unwrap();
        let connection = open_writer(&place, Sync::Normal, &MIGRATIONS).unwrap();
        let mut event_ids = RecentEventIds::load(&connection, window, UtcMs(0)).unwrap();
        let mut now = UtcMs(0);
        for group in 0..groups {
            now = UtcMs(now.0 + every_ms);
            let fresh = keys(group * 10..group * 10 + 10);
            event_ids.store(&connection, &fresh, now).unwrap();
            event_ids.committed(&fresh, now);
        }
        let rows = connection.query_row("SELECT count(*) FROM event_ids", [], |row| row.get(0)).unwrap();
        (RecentEventIds::load(&connection, window, now).unwrap(), rows)
    }

    #[test]
    fn at_least_the_window_is_remembered_across_a_restart_and_not_much_more() {
        let by_count = EventIdWindow { age: Duration::from_secs(3600), ids: 800 };
        let (event_ids, rows) = after_restart(by_count, 500, 1);
        assert_eq!(count_known(&event_ids, 4200..5000), 800);
        assert!(count_known(&event_ids, 0..4200) <= 200 && rows <= 101, "{rows} rows");

        let by_age = EventIdWindow { age: Duration::from_secs(80), ids: 1_000_000 };
        let (event_ids, rows) = after_restart(by_age, 500, 1000);
        assert_eq!(count_known(&event_ids, 4200..5000), 800);
        assert!(count_known(&event_ids, 0..4200) <= 230 && rows <= 104, "{rows} rows");
    }
}
