//! The table of what went over gRPC streams.

use super::phases::label;
use super::table::{Cell, Column, Table};
use crate::summary::{Streams, Summary};

/// Which columns go first where there is no room, in the order of [`Streams::COLUMNS`].
const RANKS: [u8; 6] = [0, 0, 1, 2, 4, 3];

/// The streams of each endpoint; none when nothing streamed.
pub(super) fn table(summary: &Summary) -> Option<Table> {
    let several = summary.phases_with_rows().len() > 1;
    let with_streams = summary.rows.iter().filter_map(|row| Some((row, row.streams.as_ref()?)));
    let rows: Vec<_> = with_streams
        .map(|(row, streams)| (label(row, several), streams.in_words().map(Cell::plain).into()))
        .collect();
    let columns = Streams::COLUMNS.iter().zip(RANKS).map(|(head, rank)| Column { head, rank });
    (!rows.is_empty()).then(|| Table { label: "endpoint", columns: columns.collect(), rows })
}
