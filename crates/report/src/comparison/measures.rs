//! Tables of measures: the number of each side, then differences and ratios.

use evidence::Verdict;

use super::format;
use crate::document::{Block, Mark, Row, Table};
use crate::summary::Measure;

pub(super) fn table<'m>(caption: &str, measures: impl Iterator<Item = &'m Measure>, sides: usize) -> Block {
    let rows = measures.map(|measure| {
        let (refused, cells) = row(measure, sides);
        let mut row = Row::new(&measure.name, cells);
        refused.into_iter().for_each(|at| row.cells[at].mark = Mark::Verdict(Verdict::Inconclusive));
        row
    });
    let table = Table::new("", heads(sides), rows);
    Block::Table(Table { caption: caption.to_owned(), ..table })
}

pub(super) fn heads(sides: usize) -> impl Iterator<Item = (String, u8)> {
    let ranks = (0..sides).map(|_| 0).chain((1..sides).flat_map(|_| [2, 1]));
    format::heads(sides).into_iter().zip(ranks.collect::<Vec<u8>>())
}

/// The cells of a measure, and which of them say that a difference is refused.
pub(super) fn row(measure: &Measure, sides: usize) -> (Vec<usize>, Vec<String>) {
    let values = (0..measure.values.len()).map(|side| format::of_side(measure, side));
    let differences = (1..sides).flat_map(|side| format::difference(measure, side));
    let refused = (1..sides).filter(|side| format::is_refused(measure, *side));
    let refused = refused.map(|side| measure.values.len() + 2 * (side - 1)).collect();
    (refused, values.chain(differences).collect())
}
