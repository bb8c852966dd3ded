//! Sessions, by their state and by what they wait for.

use super::part::Value;
use super::rows::{Rows, number, text};
use crate::notice::shortened;

/// States of sessions that always have a series, if only with 0.
const STATES: [&str; 3] = ["active", "idle", "idle in transaction"];
/// Classes of wait events, likewise.
const WAITS: [&str; 5] = ["Client", "IO", "LWLock", "Lock", "fsync"];
/// Bytes of a state's or class's name that are kept: PostgreSQL's own names have at most so many.
const LONGEST_NAME: usize = 63;
/// States, or classes of wait events, that have series.
const MOST_NAMES: usize = 50;

/// Sessions by name, of the first names in a run: those that come and go fill neither memory nor the run file.
#[derive(Debug, Default)]
pub(super) struct Counts {
    counts: Vec<(String, f64)>,
    is_over: bool,
}

impl Counts {
    fn of(names: &[&str]) -> Counts {
        Counts { counts: names.iter().map(|name| ((*name).to_owned(), 0.0)).collect(), is_over: false }
    }

    pub(super) fn clear(&mut self) {
        self.counts.iter_mut().for_each(|(_, count)| *count = 0.0);
    }

    pub(super) fn add(&mut self, name: &str, count: f64) {
        let name = shortened(name, LONGEST_NAME);
        let has_space = self.counts.len() < MOST_NAMES;
        match self.counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None if has_space => self.counts.push((name, count)),
            None => self.is_over = true,
        }
    }

    pub(super) fn values(&self, series: &'static str) -> impl Iterator<Item = Value> {
        self.counts.iter().map(move |(name, count)| (series, "1", name.clone(), *count))
    }
}

/// Sessions by their state, and active ones by what they wait for. A name that was seen once has a series to the end.
#[derive(Debug)]
pub(super) struct Sessions {
    states: Counts,
    waits: Counts,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { states: Counts::of(&STATES), waits: Counts::of(&WAITS) }
    }
}

impl Sessions {
    /// Values at the moment, and a remark about what is missing.
    pub(super) fn levels(&mut self, rows: &Rows) -> (Vec<Value>, Option<String>) {
        self.states.clear();
        self.waits.clear();
        let (mut limit, mut is_hidden) = (None, false);
        for row in rows {
            limit = number(row, 3);
            let Some(count) = number(row, 2).filter(|count| *count > 0.0) else { continue };
            is_hidden |= text(row, 0) == "unknown";
            self.states.add(text(row, 0), count);
            if !text(row, 1).is_empty() {
                self.waits.add(text(row, 1), count);
            }
        }
        let remark = match (is_hidden, self.states.is_over || self.waits.is_over) {
            (true, _) => Some(
                "sessions of other roles are counted, and what they do is hidden: grant pg_monitor to the observer's role"
                    .to_owned(),
            ),
            (false, true) => Some(format!(
                "states of sessions, or classes of what they wait for, are left out: {MOST_NAMES} are kept at most"
            )),
            (false, false) => None,
        };
        let limit = limit.map(|limit| ("pg_connections_limit", "1", String::new(), limit));
        let values = self.states.values("pg_connections").chain(self.waits.values("pg_waits")).chain(limit);
        (values.collect(), remark)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::postgres::testing::{rows, shown};

    #[test]
    fn sessions_are_counted_by_state_and_by_what_active_ones_wait_for() {
        let mut sessions = Sessions::default();
        let (values, remark) = sessions.levels(&rows(
            "active|Lock|3|100\nactive|-|2|100\nidle|-|7|100\nidle in transaction (aborted)|-|1|100\n|-|0|100",
        ));
        insta::assert_snapshot!(shown(&values), @r"
        pg_connections{active} 5
        pg_connections{idle} 7
        pg_connections{idle in transaction} 0
        pg_connections{idle in transaction (aborted)} 1
        pg_waits{Client} 0
        pg_waits{IO} 0
        pg_waits{LWLock} 0
        pg_waits{Lock} 3
        pg_waits{fsync} 0
        pg_connections_limit{} 100
        ");
        assert_eq!(remark, None);
        assert!(sessions.levels(&rows("unknown|-|3|100")).1.unwrap().contains("pg_monitor"));
    }

    #[test]
    fn names_that_come_and_go_have_no_more_series_in_a_run_than_in_one_look() {
        let mut sessions = Sessions::default();
        let mut names = BTreeSet::new();
        let mut remarks = Vec::new();
        for look in 0..30 {
            let (values, remark) =
                sessions.levels(&rows(&format!("a{look}|w{look}|1|9\nb{look}|x{look}|1|9\nidle|Lock|2|9")));
            assert!(shown(&values).contains("pg_connections{idle} 2\n"), "{look}");
            names.extend(values.into_iter().map(|(series, _, name, _)| (series, name)));
            remarks.extend(remark);
        }
        assert_eq!(names.len(), 2 * MOST_NAMES + 1);
        assert_eq!(
            remarks[0],
            "states of sessions, or classes of what they wait for, are left out: 50 are kept at most"
        );
    }
}
