//! Why requests failed, and the statuses of responses.

use crate::document::{
    Block, Cell, Column, FactLayout, Facts, Forms, Mark, Paragraph, ParagraphKind, Row, Section, Table,
};
use crate::number;
use crate::summary::{self, Check, FailedEndpoint, FailureKind, StatusCount, Summary};

/// The most kinds that are listed in text.
const MAX_KINDS: usize = 5;
/// The most endpoints of a kind that are listed in text.
const MAX_ENDPOINTS: usize = 5;
/// The most reasons of a kind that are listed in text.
const MAX_REASONS: usize = 3;

/// Kind by kind in text, endpoint by endpoint on a page.
pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    let outcomes = &summary.outcomes;
    let all = match outcomes.are_counted() {
        true => number::counted(outcomes.completed(), "request"),
        false => outcomes.completed_text(),
    };
    let note = format!("{} of {all}", outcomes.failed_share());
    let kinds = Section::new("failure-kinds", "Failures", kinds(summary)).with_note(note).only(Forms::Text);
    let tables = vec![Block::Table(by_endpoint(summary)), Block::Table(statuses(summary))];
    let page = Section::new("failures", "Failures", tables).only(Forms::Page);
    let checks = Table {
        none: "The plan has no named checks.",
        ..Table::of_columns(
            "endpoint",
            [
                Column::words("check", 0),
                Column::new("passed", 0),
                Column::new("failed", 0),
                Column::new("passed, share", 0),
            ],
            summary.checks.iter().map(check),
        )
    };
    let checks = Section::new("checks", "Checks", vec![Block::Table(checks)]).only(Forms::Page);
    [(!summary.failures.is_empty()).then_some(kinds), Some(page), Some(checks)]
        .into_iter()
        .flatten()
        .collect()
}

fn kinds(summary: &Summary) -> Vec<Block> {
    let kinds = &summary.failures;
    let shown = kinds.iter().take(MAX_KINDS);
    let digits = shown.clone().map(|kind| number::count(kind.ended.count).len()).max().unwrap_or(0);
    let mut facts: Vec<Paragraph> = shown.flat_map(|of| kind(of, digits)).collect();
    if kinds.len() > MAX_KINDS {
        let more = format!("{} more kinds are in the HTML report", kinds.len() - MAX_KINDS);
        facts.push(Paragraph::new(ParagraphKind::Basis, more));
    }
    vec![Block::Facts(Facts::new(FactLayout::Sentences, facts))]
}

fn kind(kind: &FailureKind, digits: usize) -> Vec<Paragraph> {
    let label = format!("{:>digits$}  {}", number::count(kind.ended.count), kind.ended.name());
    let first = Paragraph::labelled(label, kind.in_words()).with_kind(ParagraphKind::Failure);
    let reason = |(count, reason): (u64, &str)| {
        Paragraph::new(ParagraphKind::Basis, format!("{}\u{a0}× {reason}", number::count(count)))
    };
    let endpoints = endpoints(kind).map(|text| Paragraph::new(ParagraphKind::Basis, text));
    std::iter::once(first)
        .chain(endpoints)
        .chain(kind.several_reasons().take(MAX_REASONS).map(reason))
        .collect()
}

/// The endpoints of a kind with their counts; none where the example names the only one.
fn endpoints(kind: &FailureKind) -> Option<String> {
    let is_named = kind.endpoints.len() == 1 && kind.example.is_some();
    if is_named || kind.endpoints.is_empty() {
        return None;
    }
    let named = |of: &FailedEndpoint| format!("{}\u{a0}{}", of.label, number::count(of.count));
    let (shown, rest) = kind.endpoints.split_at(kind.endpoints.len().min(MAX_ENDPOINTS));
    let mut parts: Vec<String> = shown.iter().map(named).collect();
    if !rest.is_empty() {
        let count = rest.iter().map(|of| of.count).sum();
        parts.push(format!("{} more\u{a0}{}", number::count(rest.len() as u64), number::count(count)));
    }
    Some(format!("by endpoint: {}", parts.join(" · ")))
}

fn by_endpoint(summary: &Summary) -> Table {
    let of = |row: &summary::Row| -> Vec<Row> {
        let completed = row.outcomes.completed();
        let line = |kind: &FailureKind| {
            let reasons =
                kind.several_reasons().map(|(n, reason)| format!("{} × {reason}", number::count(n)));
            let cells = [
                Cell::new(kind.ended.name()),
                Cell::marked(number::count(kind.ended.count), Mark::Bad),
                Cell::new(number::share(kind.ended.count, completed)),
                Cell { notes: reasons.collect(), ..Cell::new(kind.reason_in_words()) },
            ];
            Row { note: row.phase.clone(), ..Row::of_cells(&row.label, cells) }
        };
        row.failures.iter().map(line).collect()
    };
    let columns = [
        Column::words("outcome", 0),
        Column::new("requests", 0),
        Column::new("share of ended", 0),
        Column::words("example", 0),
    ];
    Table {
        none: match summary.outcomes.failed() {
            Some(_) => "No request failed.",
            None => "Whether requests failed is not known.",
        },
        ..Table::of_columns("endpoint", columns, summary.rows.iter().flat_map(of))
    }
}

/// Requests by the status of their response.
fn statuses(summary: &Summary) -> Table {
    let all: u64 = summary.statuses.iter().map(|of| of.count).sum();
    let row = |of: &StatusCount| {
        let (count, share) = (number::count(of.count), number::share(of.count, all));
        Row::new(of.status_text(), [of.outcome.to_string(), count, share])
    };
    let columns = [Column::words("outcome", 0), Column::new("requests", 0), Column::new("share", 0)];
    Table::of_columns("status", columns, summary.statuses.iter().map(row))
        .captioned("Requests by the status of their response", "over the whole run")
}

fn check(check: &Check) -> Row {
    let cells = [
        Cell::new(&check.name),
        Cell::new(number::count(check.passed)),
        Cell::bad_if(number::count(check.failed), check.failed > 0),
        Cell::new(number::share(check.passed, check.passed + check.failed)),
    ];
    Row::of_cells(&check.label, cells)
}
