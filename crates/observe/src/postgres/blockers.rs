//! Sessions whose locks others wait for, by their state and their last statement.

use super::part::Value;
use super::rows::{Rows, number, text};
use super::sessions::Counts;
use super::statements::Statements;

/// How many sessions wait for each. One that was seen once has a series to the end.
#[derive(Debug, Default)]
pub(super) struct Blockers(Counts);

impl Blockers {
    /// Values at the moment. A statement has its text where that is known without its values, else its first word.
    pub(super) fn levels(&mut self, rows: &Rows, statements: &Statements) -> Vec<Value> {
        self.0.clear();
        for row in rows {
            let Some(waiting) = number(row, 3) else { continue };
            let known = text(row, 1).parse().ok().and_then(|id| statements.text(id));
            let statement = known.unwrap_or_else(|| text(row, 2));
            self.0.add(format!("{}: {statement}", text(row, 0)).trim_end_matches([':', ' ']), waiting);
        }
        self.0.values("pg_blockers").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::testing::{rows, shown};

    #[test]
    fn who_holds_a_lock_is_counted_by_state_and_statement() {
        let (mut blockers, statements) = (Blockers::default(), Statements::default());
        let seen = blockers
            .levels(&rows("idle in transaction|7|UPDATE|3\nactive|-|DELETE|1\nunknown|-|-|1"), &statements);
        insta::assert_snapshot!(shown(&seen), @r"
        pg_blockers{idle in transaction: UPDATE} 3
        pg_blockers{active: DELETE} 1
        pg_blockers{unknown} 1
        ");
        let quiet = blockers.levels(&rows(""), &statements);
        assert!(quiet.iter().all(|(.., waiting)| *waiting == 0.0) && quiet.len() == 3, "{quiet:?}");
    }
}
