//! What the report of a comparison says.

use evidence::{RuleId, Scope};

use super::measures::{heads, row, table};
use super::{format, overview};
use crate::charts;
use crate::document::{
    Block, Cell, ChartBlock, Column, Document, Forms, Mark, Paragraph, ParagraphKind, Row, Section, Table,
    VerdictBlock,
};
use crate::number;
use crate::summary::{
    Comparison, EndpointTable, LargestDifference, Measure, ObjectiveOfSide, ObjectiveSides, PhaseTable,
    SeriesPair, TargetSeries,
};

/// How many observed series of a target are shown; a page has all.
const MAX_SERIES: usize = 10;

pub(super) fn of(comparison: &Comparison) -> Document {
    let judgement = &comparison.judgement;
    let sides = comparison.sides.iter().map(|side| {
        Paragraph::labelled(side.letter, format!("{} · {}", side.name, format::run_in_words(&side.run)))
    });
    let unmatched = comparison.unmatched.iter();
    let unmatched = unmatched.map(|sentence| Paragraph::new(ParagraphKind::Notice, sentence));
    let phases = comparison.phases.iter().enumerate().map(|(at, of)| phase(at, of, comparison.sides.len()));
    let mut sections: Vec<Section> = objectives(comparison).into_iter().chain(largest(comparison)).collect();
    sections.push(overview::of(comparison));
    sections.extend([plots(comparison), Section::cards(format::cards(judgement), "None.")]);
    let conclusions = format::conclusions(judgement).map(|(head, list)| {
        let items = list.iter().map(|item| Block::text(ParagraphKind::Item, item));
        Section::new(head.replace(' ', "-").to_lowercase(), head, items.collect())
    });
    let [supports, does_not_support, would_settle] = conclusions;
    let details =
        phases.chain(profiles(comparison)).chain([differences(comparison), supports, does_not_support]);
    sections.extend(details.map(|section| section.only(Forms::InFull)));
    sections.push(would_settle);
    Document {
        name: "comparison".to_owned(),
        title: format!("{} runs side by side", comparison.sides.len()),
        verdict: VerdictBlock {
            verdict: Some(judgement.verdict),
            word: judgement.verdict.to_string(),
            answer: None,
            because: because(comparison),
            assumes: None,
            case: "comparison",
        },
        facts: sides.chain(unmatched).collect(),
        sections,
        footer: "Made by Plimsoll from the runs' archives; the same archives always give the same report.",
        ..Document::default()
    }
}

/// That the plans offer different loads; or new failures, then the largest known difference. Then what may be concluded.
fn because(comparison: &Comparison) -> String {
    let because = &comparison.judgement.because;
    let of_load = comparison.judgement.findings.iter().find(|of| of.finding.rule == RuleId::C3);
    if let Some(of_load) = of_load.filter(|of| of.finding.scope == Scope::default()) {
        return format!("{} {because}", of_load.finding.what);
    }
    let is_new = |of: &&LargestDifference| of.measure == "failed" && of.baseline == 0.0 && of.value > 0.0;
    let new_failures = comparison.largest.iter().find(is_new);
    let largest = comparison.largest.iter().find(|of| !of.is_rough() && Some(*of) != new_failures);
    let sentences = new_failures.into_iter().chain(largest).map(difference).chain([because.clone()]);
    sentences.collect::<Vec<_>>().join(" ")
}

/// `p50 of list: 8.4 ms in A, 14.5 ms in B (× 1.73).`
fn difference(of: &LargestDifference) -> String {
    let [baseline, value] = [of.baseline, of.value].map(|value| number::with_unit(Some(value), &of.unit));
    let factor = of.ratio.map_or_else(String::new, |ratio| format!(" ({})", format::factor(ratio, false)));
    let measure = match of.measure.as_str() {
        "failed" => "Error rate",
        "throughput" => "Throughput",
        quantile => quantile,
    };
    format!("{measure} of {}: {baseline} in A, {value} in {}{factor}.", of.label, of.side)
}

/// The runs' own objectives, before everything else: what one run met and another did not is the first thing to know.
fn objectives(comparison: &Comparison) -> Option<Section> {
    let cell = |side: &Option<ObjectiveOfSide>| match side {
        Some(ObjectiveOfSide { verdict, observed }) => {
            Cell::marked(format!("{verdict} {observed}"), Mark::Verdict(*verdict))
        }
        None => Cell::marked("not in its plan", Mark::Dim),
    };
    let row = |of: &ObjectiveSides| {
        let text = Cell::new(&of.text);
        Row::of_cells(&of.name, std::iter::once(text).chain(of.sides.iter().map(cell)))
    };
    let sides = (0..comparison.sides.len()).map(|side| Column::words(format::letter(side), 0));
    let columns = std::iter::once(Column::words("claim", 1)).chain(sides);
    let rows = comparison.objectives.iter().map(row);
    let table = Table::of_columns("objective", columns, rows).without_empty_columns();
    let differing = comparison.objectives.iter().filter(|of| of.differs()).count();
    let note = match differing {
        0 => "the same verdicts in each run".to_owned(),
        differing => {
            format!(
                "{differing} of {} with verdicts that differ between the runs",
                comparison.objectives.len()
            )
        }
    };
    let section = || Section::new("objectives", "Objectives", vec![Block::Table(table)]).with_note(note);
    (!comparison.objectives.is_empty()).then(section)
}

/// What differs most, where anything does.
fn largest(comparison: &Comparison) -> Option<Section> {
    let several = comparison.phases.iter().filter(|phase| phase.is_measured).count() > 1;
    let is_pair = comparison.sides.len() == 2;
    let row = |of: &LargestDifference| {
        let phase = if several { format!(" in {}", of.phase) } else { String::new() };
        let cell = |value: f64, is_rough: bool| {
            let rough = if is_rough { format::ROUGH } else { "" };
            format!("{rough}{}", number::with_unit(Some(value), &of.unit))
        };
        let factor = number::or_not_measured(of.ratio, |ratio| format::factor(ratio, of.is_rough()));
        let [baseline, value] = [cell(of.baseline, of.rough[0]), cell(of.value, of.rough[1])];
        let side = (!is_pair).then(|| of.side.to_owned());
        let cells = [of.measure.clone(), baseline].into_iter().chain(side).chain([value, factor]);
        Row::new(format!("{}{phase}", of.label), cells)
    };
    let others = match is_pair {
        true => vec![Column::new("B", 0)],
        false => vec![Column::words("run", 0), Column::new("its value", 0)],
    };
    let columns = [Column::words("measure", 0), Column::new("A", 0)];
    let columns = columns.into_iter().chain(others).chain([Column::new("÷ A", 0)]);
    let table = Table::of_columns("endpoint", columns, comparison.largest.iter().map(row));
    let alike = Block::text(
        ParagraphKind::Plain,
        format!("{}: no endpoint differs by 5 %.", comparison.alike.join(", ")),
    );
    let basis = match comparison.largest.is_empty() {
        true => "One run of each does not exclude a difference.",
        false => {
            "Of each measure the endpoint that differs most between these runs. One run of each does not show whether it would \
             differ again, nor what caused the difference."
        }
    };
    let mut blocks = Vec::new();
    blocks.extend((!comparison.largest.is_empty()).then_some(Block::Table(table)));
    blocks.extend((!comparison.alike.is_empty()).then_some(alike));
    (!blocks.is_empty()).then(|| {
        blocks.push(Block::text(ParagraphKind::Basis, basis));
        Section::new("largest", "Largest differences", blocks)
            .with_note("one run each: no evidence of a change")
    })
}

fn plots(comparison: &Comparison) -> Section {
    let charts = charts::overlaid(comparison);
    let hint = Block::text(
        ParagraphKind::Hint,
        "Every run from its own start; response times of successes, logarithmic. Where a table refuses a difference, do not \
         read one off a plot either.",
    );
    let charts = ChartBlock { none: "There is nothing to draw.", ..ChartBlock::new(charts) };
    Section::new("plots", "Over time", vec![Block::Chart(charts), hint])
}

fn phase(at: usize, phase: &PhaseTable, sides: usize) -> Section {
    let lengths = format::phase_lengths(phase);
    let lengths = match lengths.first() {
        Some(first) if lengths.iter().all(|length| length == first) => first.clone(),
        _ => lengths.join(", "),
    };
    let mut blocks: Vec<Block> =
        phase.endpoints.iter().flat_map(|endpoint| of_endpoint(endpoint, sides)).collect();
    if !phase.costs.is_empty() {
        blocks.push(table("Costs per request", phase.costs.iter(), sides));
        blocks
            .extend(format::cost_seconds(phase).into_iter().map(|of| Block::text(ParagraphKind::Basis, of)));
    }
    blocks.extend(phase.series.iter().flat_map(|target| series(target, sides)));
    let section = Section::new(format!("phase-{}", at + 1), format!("Phase {}", phase.name), blocks);
    Section { note: lengths, ..section }
}

fn of_endpoint(endpoint: &EndpointTable, sides: usize) -> Vec<Block> {
    let failures = endpoint.failures.iter().map(|(outcome, counts)| {
        let each = counts.iter().enumerate();
        let counts: Vec<String> =
            each.map(|(side, n)| format!("{} {}", format::letter(side), number::count_or_none(*n))).collect();
        Block::text(ParagraphKind::Notice, format!("{outcome}: {}", counts.join(", ")))
    });
    let table = table(&endpoint.title(), endpoint.measures.iter(), sides);
    std::iter::once(table).chain(failures).collect()
}

/// What moved most, and on a page all series.
fn series(target: &TargetSeries, sides: usize) -> Vec<Block> {
    let moved = format::moved(target, MAX_SERIES);
    let all = target.series.len();
    let title = format!("{}: means that moved most ({} of {all} series)", target.target, moved.len());
    let moved_most =
        (!moved.is_empty()).then(|| table(&title, moved.into_iter().map(|pair| &pair.mean), sides));
    let named = |measure: &Measure, statistic: &str| {
        Row::new(format!("{} {statistic}", measure.name), row(measure, sides).1)
    };
    let both = |pair: &SeriesPair| [named(&pair.mean, "mean"), named(&pair.max, "highest")];
    let all = Table {
        folded: Some(format!("All observed series of {}", target.target)),
        ..Table::new("", heads(sides), target.series.iter().flat_map(both))
    };
    moved_most.into_iter().chain([Block::Table(all)]).collect()
}

fn profiles(comparison: &Comparison) -> impl Iterator<Item = Section> {
    comparison.profiles.iter().enumerate().map(|(at, pair)| {
        let text = Block::text(ParagraphKind::Code, format::profile_text(pair).to_string());
        let heading = format!("Profile {}", format::profile_title(pair));
        Section::new(format!("profile-{}", at + 1), heading, vec![text])
    })
}

fn differences(comparison: &Comparison) -> Section {
    let basis = Block::text(
        ParagraphKind::Basis,
        "Response times of successes, from the instant a request was due to its last byte; ∞: so many requests failed that the \
         quantile is among them; –: not measured. A refused difference is not computed; the rule beside it is the reason.",
    );
    let claims = &comparison.judgement.claims;
    let none = "No claim on a difference was made: that takes repeated runs in random order.";
    let none = claims.is_empty().then(|| Block::text(ParagraphKind::Plain, none));
    let claims = claims.iter().map(|claim| {
        Block::text(ParagraphKind::Item, format!("{} {} {}", claim.verdict, claim.name, claim.text))
    });
    let blocks = std::iter::once(basis).chain(none).chain(claims).collect();
    Section::new("differences", "Differences", blocks)
}
