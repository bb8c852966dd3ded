//! Profiles on a page: the window, the flame graph and the functions of each.

use crate::document::{Block, Column, Forms, ParagraphKind, Row, Section, Table};
use crate::number;
use crate::profiles::captured::facts;
use crate::profiles::{TOO_FEW, amount, flame, has_too_few_samples};
use crate::summary::{CapturedProfile, Summary};

pub(super) fn sections(summary: &Summary) -> impl Iterator<Item = Section> {
    let section = |(at, profile)| {
        let heading = format!("Profile {}", CapturedProfile::title(profile));
        Section::new(format!("profile-{}", at + 1), heading, blocks(profile)).only(Forms::Page)
    };
    summary.profiles.iter().enumerate().map(section)
}

fn blocks(profile: &CapturedProfile) -> Vec<Block> {
    let mut blocks = vec![Block::text(ParagraphKind::Plain, format!("{}.", facts(profile)))];
    if let Some(remark) = &profile.remark {
        blocks.push(Block::text(ParagraphKind::Hint, format!("{remark}.")));
    }
    if let Some(tree) = profile.tree.as_ref().filter(|tree| tree.root().value > 0) {
        blocks.push(Block::Flame(flame(tree)));
    }
    blocks.push(Block::Table(functions(profile)));
    blocks.push(Block::text(
        ParagraphKind::Hint,
        "Each box of a flame graph is a call, as wide as its share, below its caller. Boxes below 0.1 % are not drawn. Flat: \
         the function alone. Cumulative: with the functions it calls.",
    ));
    blocks
}

fn functions(profile: &CapturedProfile) -> Table {
    let rows = profile.top.iter().flat_map(|top| {
        let value = |value: i64| amount(value as f64, &top.sample_type);
        let share = |value: i64| number::percent(value as f64, top.total as f64);
        top.rows.iter().map(move |row| {
            let name = match has_too_few_samples(top.kind, row) {
                true => format!("{} [{TOO_FEW}]", row.name),
                false => row.name.clone(),
            };
            let cells = [value(row.flat), share(row.flat), value(row.cumulative), share(row.cumulative)];
            Row::new(name, cells)
        })
    });
    let columns = ["flat", "share", "cumulative", "share"].map(|head| Column::new(head, 0));
    let table = Table::of_columns("function", columns, rows);
    Table { folded: Some("Functions by flat value".to_owned()), ..table }
}
