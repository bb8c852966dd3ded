//! A capacity search as text for a terminal.

use evidence::capacity::{CapacityLevel, LevelVerdict, OverloadPart, shown_level};
use evidence::{ExperimentFinding, Severity, TerminalText, Verdict};

use super::{CapacitySummary, format};
use crate::number;
use crate::terminal::Style;
use crate::terminal::line::Tone;
use crate::terminal::page::{Label, Page};
use crate::terminal::table::{Cell, Column, Table};

/// The search as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(search: &CapacitySummary, style: Style, width: usize) -> TerminalText {
    let mut page = Page::new(width);
    let judgement = &search.judgement;
    let verdict = judgement.verdict.to_string();
    let answer = format::answer(judgement);
    page.labelled(Label::new(&verdict, verdict.len() + 2), tone(judgement.verdict), Tone::Strong, &answer);
    page.paragraph(Label::indent(3), Tone::Normal, &judgement.because);
    page.gap();
    let mut facts = vec![("target", search.arm.clone())];
    for slo in &judgement.slos {
        let first = if slo.breaks_first { "; it breaks first" } else { "" };
        facts.push(("holds", format!("{}{first}", slo.of)));
    }
    facts.push(("limit", format::limit(judgement)));
    facts.extend(format::hold(judgement).map(|hold| ("hold", hold)));
    facts.extend(format::recovery(judgement).map(|recovery| ("after", recovery)));
    for (name, value) in &facts {
        page.paragraph(Label::new(name, 9), Tone::Normal, value);
    }
    page.paragraph(Label::indent(9), Tone::Dim, &format::basis(search));
    if !judgement.levels.is_empty() {
        page.gap();
        page.table(&levels(search));
    }
    if let Some(overload) = &judgement.overload {
        page.heading("Beyond the capacity", "  as multiples of it, in one run");
        page.table(&parts(&overload.parts));
    }
    if !judgement.findings.is_empty() {
        page.heading("Findings", "");
        judgement.findings.iter().for_each(|found| finding(&mut page, found));
    }
    page.render(style)
}

fn levels(search: &CapacitySummary) -> Table {
    let judgement = &search.judgement;
    let heads = [("", 0), ("value", 0), ("within by", 1), ("goodput", 2), ("probes", 3)];
    let columns = heads.map(|(head, rank)| Column { head, rank }).to_vec();
    let row = |level: &CapacityLevel| {
        let verdict = Cell {
            text: format::verdict(level).to_owned(),
            tone: match level.verdict {
                LevelVerdict::Holds => Tone::Good,
                LevelVerdict::Breaks => Tone::Bad,
                LevelVerdict::Open => Tone::Warn,
            },
        };
        let values = judgement.slos.iter().zip(&level.medians);
        let values: Vec<String> = values.map(|(slo, value)| format::of_slo(slo, *value)).collect();
        let cells =
            [values.join(", "), format::margin(level), number::rate(level.goodput), level.probes.to_string()];
        let cells = std::iter::once(verdict).chain(cells.map(Cell::plain)).collect();
        (shown_level(level.level, &judgement.unit), cells)
    };
    Table { label: "level", columns, rows: judgement.levels.iter().map(row).collect() }
}

fn parts(parts: &[OverloadPart]) -> Table {
    let ranks = [0, 0, 1, 3, 2, 1, 4];
    let heads = format::OVERLOAD_HEADS.iter().skip(1).zip(ranks);
    let columns = heads.map(|(head, rank)| Column { head, rank }).collect();
    let row = |part: &OverloadPart| {
        let [label, cells @ ..] = format::overload_cells(part);
        (label, cells.map(Cell::plain).to_vec())
    };
    Table { label: "load", columns, rows: parts.iter().map(row).collect() }
}

fn finding(page: &mut Page, finding: &ExperimentFinding) {
    let tone = match finding.severity {
        Severity::Invalid | Severity::Fail => Tone::Bad,
        Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    };
    let head = format!("  {} {}", finding.severity, finding.name);
    page.line(&[(tone, &head)]);
    page.paragraph(Label::indent(4), Tone::Normal, &finding.what);
    if !finding.next.is_empty() {
        page.paragraph(Label::new("    →", 6), Tone::Normal, &finding.next);
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::Invalid => Tone::Warn,
        Verdict::Measured => Tone::Strong,
    }
}
