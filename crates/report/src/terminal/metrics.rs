//! The table of the metrics that a script made.

use super::table::{Cell, Column, Table};
use crate::number;
use crate::summary::{MetricNumbers, Summary};

/// None where no script made any.
pub(super) fn table(summary: &Summary) -> Option<Table<'_>> {
    let cells = |metric: &crate::summary::ScriptMetric| {
        let kind = metric.kind;
        let row = |(label, numbers): (String, &MetricNumbers)| {
            let texts = [kind.to_string(), number::count(numbers.count), numbers.in_words()];
            (label, texts.map(Cell::plain).into())
        };
        metric.rows().into_iter().map(row).collect::<Vec<_>>()
    };
    let columns = ["kind", "values", "numbers"].map(|head| Column { head, rank: 0 });
    let rows: Vec<_> = summary.metrics.iter().flat_map(cells).collect();
    (!rows.is_empty()).then(|| Table { label: "metric", columns: columns.into(), rows })
}
