//! The statements that took the most time between two samples.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use evidence::NoticeKind;

use super::own::StatementsView;
use super::part::Value;
use super::rows::{Rows, number, text};
use super::session::{MARK, QueryError, Session};
use crate::notice::CUT;

/// Statements of one look that are worth following.
const TOP: usize = 10;
/// Statements that are followed in a run: once among the top, a statement is followed to the end.
const MOST_FOLLOWED: usize = 50;
/// The observer's own statements, which it has less of: beyond this a server takes others for them.
const MOST_OWN: usize = 50;
/// Characters of a statement that are kept.
const LONGEST_TEXT: usize = 120;
/// Characters of a statement that are read.
const LONGEST_READ: usize = 1_000;
/// Statements whose values PostgreSQL replaces by `$1`. Others may hold secrets, such as passwords of roles.
const NORMALISED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH"];

/// Follows on what was reset.
const GAP: &str = "its rates have a gap";

/// Calls and time of a statement, by its id.
type Counters = BTreeMap<i64, (f64, f64)>;

#[derive(Debug, Default)]
pub(super) struct Statements {
    base: Option<(Instant, Counters)>,
    /// When the server reset the counters, by its own account; empty where it does not say so.
    reset: String,
    /// Text by id of what is followed; none until it is known.
    followed: BTreeMap<i64, Option<String>>,
    /// The observer's own.
    own: BTreeSet<i64>,
    remark: Option<(NoticeKind, String)>,
}

/// Growth of one statement's counters since the last sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grown {
    id: i64,
    calls: f64,
    time_ms: f64,
    seconds: f64,
}

impl Statements {
    /// Forgets the base: the server was restarted, or lost its counters.
    pub(super) fn forget(&mut self) {
        self.base = None;
    }

    /// Growth of each statement's counters since the last sample.
    pub(super) fn take(&mut self, at: Instant, rows: &Rows) -> Vec<Grown> {
        let read = |row: &Vec<Option<String>>| {
            let id = row.first()?.as_deref()?.parse().ok()?;
            Some((id, (number(row, 1)?, number(row, 2)?)))
        };
        let counters: Counters = rows.iter().filter_map(read).collect();
        let is_hidden = |row: &Vec<Option<String>>| text(row, 0).is_empty() && !text(row, 1).is_empty();
        if rows.iter().any(is_hidden) {
            let text = "statements of other roles are hidden: grant pg_read_all_stats to the observer's role";
            self.remark = Some((NoticeKind::Unreadable, text.to_owned()));
        }
        let reset = rows.first().map(|row| text(row, 3)).unwrap_or_default();
        if self.base.is_some() && self.reset != reset {
            self.base = None;
            self.remark =
                Some((NoticeKind::Restarted, format!("pg_stat_statements was reset at {reset}: {GAP}")));
        }
        self.reset = reset.to_owned();
        let base = self.base.replace((at, counters));
        let (Some((base_at, base)), Some((_, counters))) = (base, &self.base) else { return Vec::new() };
        let seconds = at.duration_since(base_at).as_secs_f64();
        let grown = |(id, (calls, time_ms)): (&i64, &(f64, f64))| {
            // What was not there before has been called for the first time since.
            let (calls_before, time_before) = base.get(id).copied().unwrap_or((0.0, 0.0));
            Grown { id: *id, calls: calls - calls_before, time_ms: time_ms - time_before, seconds }
        };
        let mut grown: Vec<Grown> = counters.iter().map(grown).collect();
        // Counters that fell were reset, or the statement was evicted and came again.
        grown.retain(|one| one.calls >= 0.0 && one.time_ms >= 0.0 && seconds > 0.0);
        self.follow(&grown);
        grown
    }

    fn follow(&mut self, grown: &[Grown]) {
        let mut called: Vec<&Grown> =
            grown.iter().filter(|one| one.calls > 0.0 && !self.own.contains(&one.id)).collect();
        called.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
        for one in called.into_iter().take(TOP) {
            if self.followed.len() < MOST_FOLLOWED && self.own.len() < MOST_OWN {
                self.followed.entry(one.id).or_default();
            }
        }
    }

    /// Queries the texts of newly followed statements.
    pub(super) fn learn(&mut self, session: &mut Session) -> Result<(), QueryError> {
        let unknown = self.followed.iter().filter(|(_, text)| text.is_none());
        let unknown: Vec<String> = unknown.map(|(id, _)| id.to_string()).collect();
        let (Some(StatementsView { schema, .. }), false) = (session.statements.clone(), unknown.is_empty())
        else {
            return Ok(());
        };
        let rows = session.rows(&format!(
            "SELECT DISTINCT ON (queryid) queryid, left(query, {LONGEST_READ}) FROM {schema}.pg_stat_statements \
             WHERE queryid IN ({})",
            unknown.join(", ")
        ))?;
        self.know(rows);
        Ok(())
    }

    /// Takes the id and text of each of `rows`.
    fn know(&mut self, rows: Rows) {
        for row in rows {
            let [Some(id), Some(text)] = row.as_slice() else { continue };
            let Ok(id) = id.parse() else { continue };
            let Some(followed) = self.followed.get_mut(&id) else { continue };
            if text.contains(MARK) {
                self.followed.remove(&id);
                self.own.insert(id);
            } else {
                *followed = Some(shortened(text));
            }
        }
    }

    /// The text of a statement that is followed.
    pub(super) fn text(&self, id: i64) -> Option<&str> {
        self.followed.get(&id)?.as_deref()
    }

    /// A remark about what cannot be observed, or was reset.
    pub(super) fn take_remark(&mut self) -> Option<(NoticeKind, String)> {
        self.remark.take()
    }

    /// The values of what is followed.
    pub(super) fn values(&self, grown: &[Grown]) -> Vec<Value> {
        let mut values = Vec::new();
        for one in grown {
            let Some(text) = self.followed.get(&one.id) else { continue };
            let part = format!("{} {}", one.id, text.as_deref().unwrap_or_default());
            let part = part.trim_end();
            let time_s = one.time_ms / 1_000.0;
            values.push(("pg_statement_calls", "1/s", part.to_owned(), one.calls / one.seconds));
            values.push(("pg_statement_busy", "s/s", part.to_owned(), time_s / one.seconds));
            if one.calls > 0.0 {
                values.push(("pg_statement_time", "s", part.to_owned(), time_s / one.calls));
            }
        }
        values
    }
}

/// One line of at most so many characters, without what may be secret.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let first = words.first().copied().unwrap_or_default().to_uppercase();
    let line = match NORMALISED.contains(&first.as_str()) {
        true => words.join(" "),
        false => words.iter().take(2).copied().collect::<Vec<_>>().join(" "),
    };
    match line.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}{CUT}", &line[..end]),
        // The rest of it was space.
        None if text.chars().count() >= LONGEST_READ => format!("{line}{CUT}"),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rows(statements: &[(i64, u32, f64)]) -> Rows {
        let row = |(id, calls, time_ms): &(i64, u32, f64)| {
            vec![Some(id.to_string()), Some(calls.to_string()), Some(time_ms.to_string())]
        };
        statements.iter().map(row).collect()
    }

    #[test]
    fn the_top_statements_of_an_interval_are_followed_from_then_on() {
        let (mut statements, begin) = (Statements::default(), Instant::now());
        let old: Vec<_> = (0..30).map(|id| (id, 1_000, 1e6)).collect();
        assert_eq!(statements.take(begin, &rows(&old)), []);
        let grown: Vec<_> =
            (0..30).map(|id| (id, 1_010, 1e6 + if id < 12 { id as f64 * 1.25 } else { 0.0 })).collect();
        let top = statements.take(begin + Duration::from_secs(2), &rows(&grown));
        assert_eq!(statements.followed.keys().copied().collect::<Vec<_>>(), (2..12).collect::<Vec<_>>());
        let values = statements.values(&top);
        let of_11: Vec<_> =
            values.iter().filter(|value| value.2 == "11").map(|value| (value.0, value.3)).collect();
        assert_eq!(
            of_11,
            [("pg_statement_calls", 5.0), ("pg_statement_busy", 0.006875), ("pg_statement_time", 0.001375)]
        );
        let idle = statements.take(begin + Duration::from_secs(3), &rows(&grown));
        assert_eq!(statements.values(&idle).len(), 20, "an idle statement has 0 calls a second and no time");
    }

    #[test]
    fn counters_that_were_reset_are_a_gap() {
        let (mut statements, begin) = (Statements::default(), Instant::now());
        statements.take(begin, &rows(&[(1, 100, 5.0)]));
        assert_eq!(statements.take(begin + Duration::from_secs(1), &rows(&[(1, 3, 0.1)])), []);
    }

    #[test]
    fn a_reset_is_a_gap_where_counters_have_grown_since() {
        let (mut statements, begin) = (Statements::default(), Instant::now());
        let row = |calls: &str, reset: &str| -> Rows {
            vec![["1", calls, "5.0", reset].iter().map(|text| Some((*text).to_owned())).collect()]
        };
        let jittered = |micros| begin + Duration::from_micros(micros);
        statements.take(begin, &row("100", "10:00"));
        assert_eq!(statements.take(jittered(1_000_142), &row("110", "10:00"))[0].calls, 10.0);
        assert_eq!(statements.take(jittered(2_000_311), &row("900", "10:07")), []);
        let (kind, remark) = statements.take_remark().unwrap();
        assert_eq!((kind, remark.contains("10:07")), (NoticeKind::Restarted, true));
        assert_eq!(statements.take(jittered(3_000_087), &row("905", "10:07"))[0].calls, 5.0);
    }

    #[test]
    fn no_more_are_followed_than_the_run_file_can_take() {
        let (mut statements, begin) = (Statements::default(), Instant::now());
        statements.take(begin, &rows(&[]));
        for second in 1..100_i64 {
            let at = begin + Duration::from_secs(second.unsigned_abs());
            statements.take(at, &rows(&[(second, 1, 1.0)]));
        }
        assert_eq!(statements.followed.len(), MOST_FOLLOWED);
    }

    #[test]
    fn no_more_are_followed_where_each_is_taken_for_an_own_one() {
        let (mut statements, begin) = (Statements::default(), Instant::now());
        statements.take(begin, &rows(&[]));
        let mut parts = BTreeSet::new();
        for second in 1..200_i64 {
            let at = begin + Duration::from_secs(second.unsigned_abs());
            let grown = statements.take(at, &rows(&[(second, 1, 1.0)]));
            parts.extend(statements.values(&grown).into_iter().map(|value| value.2));
            statements.know(vec![vec![Some(second.to_string()), Some(format!("SELECT {MARK} 1"))]]);
        }
        assert_eq!(parts.len(), MOST_OWN);
    }

    #[test]
    fn texts_are_short_and_contain_no_secrets() {
        assert_eq!(shortened("select *\n  from  a where b = $1"), "select * from a where b = $1");
        assert_eq!(shortened("ALTER ROLE me PASSWORD 'secret'"), "ALTER ROLE");
        assert_eq!(shortened(&format!("SELECT {}", "ü".repeat(500))).chars().count(), LONGEST_TEXT + 1);
        assert_eq!(shortened(""), "");
        assert_eq!(shortened(&format!("SELECT {}'sec", " ".repeat(989))), "SELECT 'sec…");
    }
}
