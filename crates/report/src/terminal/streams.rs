//! The table of gRPC streams.

use super::phases::labels;
use super::table::{Cell, Column, Table};
use crate::summary::{Streams, Summary};

/// The ranks of the columns, in the order of [`Streams::COLUMNS`].
const RANKS: [u8; 6] = [0, 0, 1, 2, 4, 3];

/// The streams of each endpoint; none when nothing streamed.
pub(super) fn table(summary: &Summary) -> Option<Table<'_>> {
    let label = labels(summary);
    let with_streams = summary.rows.iter().filter_map(|row| Some((row, row.streams.as_ref()?)));
    let rows: Vec<_> =
        with_streams.map(|(row, streams)| (label(row), streams.in_words().map(Cell::plain).into())).collect();
    let columns = Streams::COLUMNS.iter().zip(RANKS).map(|(head, rank)| Column { head, rank });
    (!rows.is_empty()).then(|| Table { label: "endpoint", columns: columns.collect(), rows })
}
