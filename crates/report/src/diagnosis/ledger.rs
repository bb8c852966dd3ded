//! The ledger as a table: what a completion takes of each resource, and where it is used up.

use evidence::diagnosis::{CapacityInterval, Diagnosis, LedgerLine, LedgerStanding};

use crate::charts;
use crate::document::{Block, ChartBlock, ParagraphKind, Row, Section, Table};
use crate::number;

/// Empty without a line.
pub(crate) fn section(diagnosis: Option<&Diagnosis>) -> Section {
    let ledger = diagnosis.iter().flat_map(|diagnosis| &diagnosis.ledger);
    let columns = [
        ("used where it breaks", 0),
        ("of", 0),
        ("a completion takes", 2),
        ("used up at", 1),
        ("a completion waits", 1),
        ("of the growth", 2),
        ("", 0),
    ];
    let table = Table::new("resource", columns, ledger.map(row));
    let hint = Block::text(
        ParagraphKind::Hint,
        "The demand of a completion is estimated from loads below 85 % of the one that breaks, and with it the load at which the \
         resource is used up, with a 95 % interval. “A completion waits”: at the load that breaks, or the highest; “of the growth”: the \
         share of the growth of the mean response time that was spent waiting for the resource. Both where waits were observed.",
    );
    let chart = diagnosis.and_then(charts::capacities).map(|chart| ChartBlock::new(vec![chart]));
    let blocks = match table.rows.is_empty() {
        true => Vec::new(),
        false => [Block::Table(table), hint].into_iter().chain(chart.map(Block::Chart)).collect(),
    };
    Section::new("ledger", "Resources", blocks)
}

fn row(line: &LedgerLine) -> Row {
    let significant = |value: f64| number::significant(value, 3);
    let used_up = |limits: CapacityInterval| match limits.high {
        Some(high) => format!("{} to {}", number::rate(limits.low), number::rate(high)),
        None => format!("{} or more", number::rate(limits.low)),
    };
    let cells = [
        number::or_not_measured(line.used_at_break, significant),
        line.limit.map_or_else(String::new, significant),
        number::or_not_measured(line.demand_s, |demand| number::time(demand.mean * 1e3)),
        number::or_not_measured(line.capacity_per_s, used_up),
        number::or_not_measured(line.wait_s, |wait| number::time(wait * 1e3)),
        number::or_not_measured(line.wait_growth, |share| number::percent(share, 1.0)),
        standing(line.standing).to_owned(),
    ];
    Row::new(&line.resource, cells)
}

fn standing(standing: LedgerStanding) -> &'static str {
    match standing {
        LedgerStanding::Limits => "the limit",
        LedgerStanding::Candidate => "may be the limit",
        LedgerStanding::HeldForLonger => "held for longer as the load grows",
        LedgerStanding::Suffices => "suffices for more",
        LedgerStanding::Contradicted => "its limit is not what it seems",
        LedgerStanding::WaitedFor => "only waited for",
        LedgerStanding::Unknown => "unknown",
    }
}
