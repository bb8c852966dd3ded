//! The endpoints and costs of the phases that the plan measures, a line for each run.

use evidence::Verdict;

use super::format;
use super::measures::table;
use crate::document::{Block, Cell, Column, Mark, ParagraphKind, Row, Section, Table};
use crate::number;
use crate::summary::{Comparison, Difference, EndpointTable, Measure, PhaseTable, SideValue};

/// The measures that a line has, with the rank of their columns and whether that of their ratio follows.
const MEASURES: [(&str, u8, bool); 5] =
    [("throughput", 2, false), ("failed", 0, false), ("p50", 0, true), ("p95", 0, true), ("p99", 3, true)];

pub(super) fn of(comparison: &Comparison) -> Section {
    let measured = comparison.phases.iter().filter(|phase| phase.is_measured);
    let is_single = measured.clone().count() == 1;
    let blocks: Vec<Block> =
        measured.flat_map(|phase| of_phase(phase, is_single, comparison.sides.len())).collect();
    Section::unheaded("endpoints", "By endpoint", blocks)
}

fn of_phase(phase: &PhaseTable, is_single: bool, sides: usize) -> Vec<Block> {
    let caption = |what: &str| if is_single { what.to_owned() } else { format!("{what} in {}", phase.name) };
    let columns = MEASURES.into_iter().flat_map(|(name, rank, has_ratio)| {
        let ratio = has_ratio.then(|| Column::new("÷ A", rank + 1));
        std::iter::once(Column::new(name, rank)).chain(ratio)
    });
    let columns = std::iter::once(Column::words("run", 0)).chain(columns);
    let rows = phase.requests().flat_map(|endpoint| (0..sides).map(|side| line(endpoint, side)));
    let note = if is_single { format!("phase {}", phase.name) } else { String::new() };
    let endpoints = Table::of_columns("endpoint", columns, rows).captioned(caption("By endpoint"), note);
    let costs = table(&caption("Costs per request"), phase.costs.iter(), sides);
    let mut blocks = Vec::new();
    let is_rough = phase.requests().flat_map(|of| &of.measures).any(|measure| !measure.rough.is_empty());
    let rough = Block::text(ParagraphKind::Basis, "~ marks a quantile with fewer than 20 samples above it.");
    blocks.extend((!endpoints.rows.is_empty()).then_some(Block::Table(endpoints)));
    blocks.extend(is_rough.then_some(rough));
    blocks.extend((!phase.costs.is_empty()).then_some(costs));
    blocks
}

/// An endpoint's numbers in one run, if that has it; its name stands before the first.
fn line(endpoint: &EndpointTable, side: usize) -> Row {
    let label = if side == 0 { endpoint.label.as_str() } else { "" };
    let is_missing =
        |measure: &Measure| measure.values.get(side).is_none_or(|value| *value == SideValue::Missing);
    if endpoint.measures.iter().all(is_missing) {
        let cells =
            MEASURES.into_iter().flat_map(|(_, _, has_ratio)| [""].repeat(1 + usize::from(has_ratio)));
        let run = Cell::marked(format!("not in {}", format::letter(side)), Mark::Dim);
        return Row::of_cells(label, std::iter::once(run).chain(cells.map(Cell::new)));
    }
    let numbers = MEASURES.into_iter().flat_map(|(name, _, has_ratio)| {
        let measure = endpoint.measures.iter().find(|measure| measure.name == name);
        let value = measure.map_or_else(|| number::NOT_MEASURED.to_owned(), |of| format::of_side(of, side));
        std::iter::once(Cell::new(value)).chain(has_ratio.then(|| ratio(measure, side)))
    });
    Row::of_cells(label, std::iter::once(Cell::new(format::letter(side))).chain(numbers))
}

fn ratio(measure: Option<&Measure>, side: usize) -> Cell {
    let none = || Cell::new(number::NOT_MEASURED);
    let Some(at) = side.checked_sub(1) else { return Cell::new("") };
    let Some(measure) = measure else { return none() };
    match measure.differences.get(at) {
        Some(Difference::Known { ratio: Some(ratio), .. }) => {
            Cell::new(format::factor(*ratio, measure.is_rough_between(side)))
        }
        Some(Difference::Refused { .. }) => Cell::marked("refused", Mark::Verdict(Verdict::Inconclusive)),
        _ => none(),
    }
}
