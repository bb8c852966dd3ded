//! Fault injection: reads that no index covers. Their results are the same.

use kit::faults::FaultCounter;

use crate::faults::UNINDEXED;
use crate::find::Sql;

static READS: FaultCounter = FaultCounter::new();

/// Whether the next read is one without an index.
pub(super) fn is_unindexed() -> bool {
    READS.hits_next(UNINDEXED)
}

/// The statement of a list or search, with indexed columns turned into expressions.
pub(super) fn unindexed(mut sql: Sql) -> Sql {
    sql.text = sql.text.replace("w.word = ", "w.word || '' = ");
    for column in ["storefront_id", "user_id", "category_id"] {
        sql.text = sql.text.replace(&format!(" AND {column} = "), &format!(" AND {column} + 0 = "));
    }
    sql
}

/// The statement for a storefront's statistics over all listings; the store writes `placeholder` before a value's
/// number.
pub(super) fn stats_over_all_listings(placeholder: char) -> String {
    format!(
        "SELECT count(*), count(*) FILTER (WHERE status = 'active'), count(*) FILTER (WHERE quantity = 0),
            count(*) FILTER (WHERE quantity BETWEEN 1 AND 5),
            CAST(coalesce(sum(CAST(price_hundredths AS NUMERIC) * quantity), 0) AS TEXT), coalesce(sum(sold_count), 0)
         FROM listings WHERE storefront_id + 0 = {placeholder}1 AND deleted_at IS NULL"
    )
}
