//! An experiment as text for a terminal.

use evidence::{ExperimentFinding, MetricAnswer, Severity, TerminalText, Verdict};

use super::{ExperimentSummary, costs, format};
use crate::terminal::Style;
use crate::terminal::line::Tone;
use crate::terminal::page::{Label, Page};
use crate::terminal::table::{Cell, Column, Table};

/// The experiment as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(experiment: &ExperimentSummary, style: Style, width: usize) -> TerminalText {
    let mut page = Page::new(width);
    let judgement = &experiment.judgement;
    let verdict = judgement.verdict.to_string();
    page.labelled(
        Label::new(&verdict, verdict.len() + 2),
        tone(judgement.verdict),
        Tone::Strong,
        &judgement.because,
    );
    for (letter, arm) in ["A", "B"].iter().zip(&experiment.arms) {
        page.paragraph(Label::new(letter, 3), Tone::Normal, arm);
    }
    page.paragraph(Label::indent(3), Tone::Dim, &format::basis(judgement));
    page.gap();
    page.table(&metrics(&judgement.metrics));
    for metric in judgement.metrics.iter().filter(|metric| !metric.because.is_empty()) {
        page.paragraph(Label::indent(2), Tone::Dim, &format!("{}: {}", metric.name, metric.because));
    }
    for sentence in judgement.metrics.iter().filter_map(format::too_coarse) {
        page.paragraph(Label::indent(2), Tone::Warn, &sentence);
    }
    if !judgement.findings.is_empty() {
        page.heading("Findings", "");
        judgement.findings.iter().for_each(|found| finding(&mut page, found));
    }
    if !judgement.moved_most.is_empty() {
        page.heading(costs::HEAD, &format!("  {}", costs::NOTE));
        for moved in &judgement.moved_most {
            page.paragraph(Label::indent(2), Tone::Normal, &costs::line(moved));
        }
    }
    if !judgement.also_moved.is_empty() {
        page.heading("Also moved", "  decides nothing; of those listed one in twenty may be luck");
        for mover in &judgement.also_moved {
            let text = format!("{}: {:+.1} % (p {:.4})", mover.name, mover.effect * 100.0, mover.p);
            page.paragraph(Label::indent(2), Tone::Normal, &text);
        }
    }
    page.render(style)
}

fn metrics(all: &[MetricAnswer]) -> Table {
    let heads = [
        ("verdict", 0),
        ("A", 5),
        ("B", 4),
        ("effect", 0),
        ("95 % interval", 1),
        ("margin", 3),
        ("p", 6),
        ("visible", 2),
    ];
    let columns = heads.map(|(head, rank)| Column { head, rank }).to_vec();
    let row = |metric: &MetricAnswer| {
        let verdict = Cell { text: metric.verdict.to_string(), tone: tone(metric.verdict.verdict()) };
        let cells = [
            format::value(metric, metric.medians[0]),
            format::value(metric, metric.medians[1]),
            format::effect_or_none(metric),
            format::interval(metric),
            format::margin(metric),
            format::probability(metric.p),
            format::smallest_visible(metric),
        ];
        let cells = std::iter::once(verdict).chain(cells.map(Cell::plain)).collect();
        (metric.name.clone(), cells)
    };
    Table { label: "metric", columns, rows: all.iter().map(row).collect() }
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
