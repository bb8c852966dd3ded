//! The experiment that raises the limit, as a table: between which levels each arm breaks.

use evidence::capacity::shown_level;
use evidence::diagnosis::{ArmBreak, Confirmation};

use crate::document::{Block, ParagraphKind, Row, Section, Table};
use crate::number;

/// Empty without a confirmation.
pub(super) fn section(of: Option<&Confirmation>) -> Section {
    let blocks = of.map(|of| vec![Block::Table(table(of)), hint(of)]).unwrap_or_default();
    Section::new("confirmation", "Experiment", blocks)
}

fn table(of: &Confirmation) -> Table {
    let significant = |value: f64| number::significant(value, 3);
    let level = |at: Option<f64>| at.map_or_else(|| "not shown".to_owned(), |at| shown_level(at, &of.unit));
    let row = |name: &str, size: Option<f64>, arm: ArmBreak| {
        let cells = [
            number::or_not_measured(size, significant),
            level(arm.holds),
            level(arm.breaks),
            arm.probes.to_string(),
        ];
        Row::new(name, cells)
    };
    let rows = [
        row("as it is started", Some(of.sizes.0), of.unchanged),
        row(&format!("with {}", of.change), of.sizes.1, of.raised),
    ];
    let columns = [("size", 0), ("holds at", 0), ("breaks at", 0), ("probes", 1)];
    Table::new("target", columns, rows)
}

fn hint(of: &Confirmation) -> Block {
    let ends = match of.moved {
        (Some(least), Some(most)) => {
            format!("{} to {} times", number::significant(least, 3), number::significant(most, 3))
        }
        (Some(least), None) => format!("{} times or more", number::significant(least, 3)),
        (None, Some(most)) => format!("at most {} times", number::significant(most, 3)),
        (None, None) => "by an unknown factor".to_owned(),
    };
    let predicted = of.predicted.map_or_else(String::new, |times| {
        format!(
            "; {} times were predicted from the sizes and from what is used up next",
            number::significant(times, 3)
        )
    });
    Block::text(
        ParagraphKind::Hint,
        format!(
            "“Holds”: every probe there and below met the objectives; “breaks”: none did, there and above. The break moves {ends}{predicted}. \
             Confirmed from 1.15 times on, at the lower limit, if the upper limit is 0.9 times the prediction or more."
        ),
    )
}
