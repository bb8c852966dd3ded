//! The table of the metrics that a script made.

use super::table::{Cell, Column, Table};
use crate::number;
use crate::summary::Summary;

/// None where no script made any.
pub(super) fn table(summary: &Summary) -> Option<Table> {
    let cells = |metric: &crate::summary::ScriptMetric| {
        let texts = [metric.kind.to_string(), number::count(metric.count), metric.in_words()];
        (metric.label(), texts.map(Cell::plain).into())
    };
    let columns = ["kind", "values", "numbers"].map(|head| Column { head, rank: 0 });
    let rows: Vec<_> = summary.metrics.iter().map(cells).collect();
    (!rows.is_empty()).then(|| Table { label: "metric", columns: columns.into(), rows })
}
