//! A comparison as text for a terminal: the runs, the findings, the numbers side by side, the conclusions.

use evidence::TerminalText;

use super::format;
use crate::number;
use crate::summary::{Comparison, EndpointTable, Measure, PhaseTable};
use crate::terminal::Style;
use crate::terminal::findings;
use crate::terminal::line::Tone;
use crate::terminal::page::{Label, Page};
use crate::terminal::table::{Cell, Column, Table};

/// How many observed series of a target are shown; the other reports have more.
const MAX_SERIES: usize = 10;

/// The heads of the columns of each side: its value, its difference from A, its ratio to A.
const HEADS: [[&str; 3]; 10] = [
    ["A", "", ""],
    ["B", "B − A", "B ÷ A"],
    ["C", "C − A", "C ÷ A"],
    ["D", "D − A", "D ÷ A"],
    ["E", "E − A", "E ÷ A"],
    ["F", "F − A", "F ÷ A"],
    ["G", "G − A", "G ÷ A"],
    ["H", "H − A", "H ÷ A"],
    ["I", "I − A", "I ÷ A"],
    ["J", "J − A", "J ÷ A"],
];

/// The comparison as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(comparison: &Comparison, style: Style, width: usize) -> TerminalText {
    let mut page = Page::new(width);
    head(&mut page, comparison);
    findings::add(&mut page, &format::cards(&comparison.judgement));
    for of_phase in &comparison.phases {
        phase(&mut page, of_phase, comparison.sides.len());
    }
    for pair in &comparison.profiles {
        page.heading(&format!("Profile {}", format::profile_title(pair)), "");
        for line in format::profile_text(pair).lines() {
            page.line(&[(Tone::Normal, line)]);
        }
    }
    foot(&mut page, comparison);
    page.render(style)
}

fn head(page: &mut Page, comparison: &Comparison) {
    let judgement = &comparison.judgement;
    let verdict = judgement.verdict.to_string();
    page.paragraph(Label::new(&verdict, verdict.len() + 2), Tone::Strong, &judgement.because);
    for side in &comparison.sides {
        let text = format!("{} · {}", side.name, format::run_in_words(&side.run));
        page.paragraph(Label::new(side.letter, 3), Tone::Normal, &text);
    }
    for sentence in &comparison.unmatched {
        page.paragraph(Label::indent(3), Tone::Warn, sentence);
    }
}

fn phase(page: &mut Page, phase: &PhaseTable, sides: usize) {
    if phase.endpoints.is_empty() && phase.costs.is_empty() && phase.series.is_empty() {
        return;
    }
    let lengths = format::phase_lengths(phase);
    let lengths = match lengths.first() {
        Some(first) if lengths.iter().all(|length| length == first) => first.clone(),
        _ => lengths.join(", "),
    };
    page.gap();
    page.line(&[(Tone::Strong, &format!("Phase {}  {lengths}", phase.name))]);
    for of_endpoint in &phase.endpoints {
        endpoint(page, of_endpoint, sides);
    }
    if !phase.costs.is_empty() {
        table(page, "Costs per request", phase.costs.iter(), sides);
        for sentence in format::cost_seconds(phase) {
            page.paragraph(Label::indent(2), Tone::Dim, &sentence);
        }
    }
    for target in &phase.series {
        let moved = format::moved(target, MAX_SERIES);
        if !moved.is_empty() {
            let (shown, all) = (moved.len(), target.series.len());
            let title = format!("{}: means that moved most ({shown} of {all} series)", target.target);
            table(page, &title, moved.into_iter().map(|pair| &pair.mean), sides);
        }
    }
}

fn endpoint(page: &mut Page, endpoint: &EndpointTable, sides: usize) {
    let title = endpoint.title();
    table(page, &title, endpoint.measures.iter(), sides);
    for (outcome, counts) in &endpoint.failures {
        let each = counts.iter().enumerate();
        let counts: Vec<String> =
            each.map(|(side, n)| format!("{} {}", format::letter(side), number::count_or_none(*n))).collect();
        page.paragraph(Label::indent(2), Tone::Bad, &format!("{outcome}: {}", counts.join(", ")));
    }
}

fn table<'m>(page: &mut Page, title: &str, measures: impl Iterator<Item = &'m Measure>, sides: usize) {
    page.line(&[(Tone::Accent, title)]);
    let rows = measures.map(|measure| row(measure, sides)).collect();
    page.table(&Table { label: "", columns: columns(sides), rows });
}

fn foot(page: &mut Page, comparison: &Comparison) {
    page.heading("Differences", "");
    page.paragraph(
        Label::indent(0),
        Tone::Dim,
        "Response times of successes, from the instant a request was due to its last byte; ∞: so many requests failed \
         that the quantile is among them. A refused difference is not computed; the rule beside it is the reason.",
    );
    if comparison.judgement.claims.is_empty() {
        let text = "No claim on a difference was made: that takes repeated runs in random order.";
        page.paragraph(Label::indent(0), Tone::Normal, text);
    }
    for (head, list) in format::conclusions(&comparison.judgement) {
        page.heading(head, "");
        for item in list {
            page.paragraph(Label::new("–", 2), Tone::Normal, item);
        }
    }
}

fn columns(sides: usize) -> Vec<Column<'static>> {
    let values = (0..sides).map(|side| Column { head: HEADS[side % HEADS.len()][0], rank: 0 });
    let differences = (1..sides).flat_map(|side| {
        let [_, difference, ratio] = HEADS[side % HEADS.len()];
        [Column { head: difference, rank: 2 }, Column { head: ratio, rank: 1 }]
    });
    values.chain(differences).collect()
}

fn row(measure: &Measure, sides: usize) -> (String, Vec<Cell>) {
    let values = measure.values.iter().map(|value| Cell::plain(format::value(*value, &measure.unit)));
    let differences = (1..sides).flat_map(|side| {
        let tone = if format::is_refused(measure, side) { Tone::Warn } else { Tone::Normal };
        format::difference(measure, side).map(|text| Cell { text, tone })
    });
    (measure.name.clone(), values.chain(differences).collect())
}
