//! Questions asked in a way that no index serves, put in on purpose. Their answers are the same.

use crate::faults::UNINDEXED;
use crate::find::Sql;
use kit::faults::FaultCounter;

static ASKED: FaultCounter = FaultCounter::new();

/// Whether it is this question's turn.
pub(super) fn is_unindexed() -> bool {
    ASKED.hits_next(UNINDEXED)
}

/// A list's or search's statement, with what an index would find turned into an expression.
pub(super) fn unindexed(mut sql: Sql) -> Sql {
    sql.text = sql.text.replace("w.word = ", "w.word || '' = ");
    for column in ["storefront_id", "user_id", "category_id"] {
        sql.text = sql.text.replace(&format!(" AND {column} = "), &format!(" AND {column} + 0 = "));
    }
    sql
}

/// A storefront's sums, added up over all listings; `mark` is what the store writes before a value's number.
pub(super) fn sums_of_all(mark: char) -> String {
    format!(
        "SELECT count(*), count(*) FILTER (WHERE status = 'active'), count(*) FILTER (WHERE quantity = 0),
            count(*) FILTER (WHERE quantity BETWEEN 1 AND 5),
            CAST(coalesce(sum(CAST(price_hundredths AS NUMERIC) * quantity), 0) AS TEXT), coalesce(sum(sold_count), 0)
         FROM listings WHERE storefront_id + 0 = {mark}1 AND deleted_at IS NULL"
    )
}
