//! What the report of a capacity search says.

use evidence::Verdict;
use evidence::capacity::{CapacityLevel, LevelVerdict, Recovery, shown_level};

use super::{CapacitySummary, format};
use crate::charts;
use crate::diagnosis::ledger;
use crate::document::{
    Block, Case, Cell, ChartBlock, Document, Mark, Paragraph, ParagraphKind, Row, Section, Table,
    VerdictBlock,
};
use crate::number;

pub(super) fn of(search: &CapacitySummary) -> Document {
    let judgement = &search.judgement;
    let answer = format::answer(judgement);
    Document {
        name: search.name.clone(),
        title: format!("Capacity of {}", search.name),
        verdict: VerdictBlock {
            verdict: Some(judgement.verdict),
            word: judgement.verdict.to_string(),
            answer: Some(answer.clone()),
            because: judgement.because.clone(),
            assumes: None,
            case: "capacity",
        },
        facts: facts(search),
        sections: vec![
            plots(search),
            levels(search),
            ledger::section(judgement.diagnosis.as_ref()),
            overload(search),
            Section::findings(&judgement.findings, "Nothing limits the answer."),
            Section::new("probes", "Probes", vec![Block::Table(probes(search))]),
        ],
        properties: vec![("answer", answer)],
        cases: cases(search),
        footer: "Made by Plimsoll from the runs of one search; the same runs always give the same report.",
        ..Document::default()
    }
}

fn facts(search: &CapacitySummary) -> Vec<Paragraph> {
    let judgement = &search.judgement;
    let mut facts = vec![Paragraph::labelled("target", &search.arm)];
    for slo in &judgement.slos {
        let first = if slo.breaks_first { "; it breaks first" } else { "" };
        facts.push(Paragraph::labelled("holds", format!("{}{first}", slo.of)));
    }
    facts.push(Paragraph::labelled("limit", format::limit(judgement)));
    facts.extend(format::hold(judgement).map(|hold| Paragraph::labelled("hold", hold)));
    facts.extend(format::recovery(judgement).map(|recovery| Paragraph::labelled("after", recovery)));
    facts.push(Paragraph::new(ParagraphKind::Basis, format::basis(search)));
    facts
}

fn plots(search: &CapacitySummary) -> Section {
    let mut all = charts::by_load(&search.judgement);
    let others = all.split_off(all.len().min(1));
    let first = ChartBlock { is_wide: true, none: "There is nothing to draw.", ..ChartBlock::new(all) };
    let hint = Block::text(
        ParagraphKind::Hint,
        "Lines join the medians of each load, dots are single probes. A probe that was ended early because its target was far \
         beyond the bound has the value that it had until then.",
    );
    let others = ChartBlock::new(others);
    let blocks = vec![Block::Chart(first), Block::Chart(others), hint];
    Section::new("plots", "Load against response time", blocks)
}

fn levels(search: &CapacitySummary) -> Section {
    let judgement = &search.judgement;
    let row = |level: &CapacityLevel| {
        let verdict = match level.verdict {
            LevelVerdict::Holds => Verdict::Pass,
            LevelVerdict::Breaks => Verdict::Fail,
            LevelVerdict::Open => Verdict::Inconclusive,
        };
        let values = judgement.slos.iter().zip(&level.medians);
        let values = values.map(|(slo, value)| format::of_slo(slo, *value));
        let last = [format::margin(level), number::rate(level.goodput), level.probes.to_string()];
        let verdict = Cell::marked(format::verdict(level), Mark::Verdict(verdict));
        Row::judged(shown_level(level.level, &judgement.unit), verdict, values.chain(last))
    };
    let heads = heads(search, [("", 0)], [("within the bound by", 1), ("goodput", 2), ("probes", 3)]);
    let table = Table {
        none: "No level was probed repeatedly.",
        ..Table::new("level", heads, judgement.levels.iter().map(row))
    };
    let hint = Block::text(
        ParagraphKind::Hint,
        "A level holds where every objective is within its bound, one-sided at 97.5 % by Student’s t with the deviation pooled \
         over all levels, and breaks where one is beyond it. “Within the bound by” is of the tightest objective: how much \
         longer its times, or how much higher its odds, could be.",
    );
    let blocks = vec![Block::Table(table), hint];
    Section::unheaded("levels", "Level by level", blocks)
}

/// The objectives as heads between others.
fn heads<const F: usize, const L: usize>(
    search: &CapacitySummary,
    first: [(&str, u8); F],
    last: [(&str, u8); L],
) -> Vec<(String, u8)> {
    let owned = |(head, rank): (&str, u8)| (head.to_owned(), rank);
    let slos = search.judgement.slos.iter().map(|slo| (slo.name.clone(), 0));
    first.map(owned).into_iter().chain(slos).chain(last.map(owned)).collect()
}

fn overload(search: &CapacitySummary) -> Section {
    let section = |blocks| Section {
        note: "loads are multiples of the capacity, all in one run".to_owned(),
        ..Section::new("overload", "Beyond the capacity", blocks)
    };
    let Some(overload) = &search.judgement.overload else { return section(Vec::new()) };
    let [label, heads @ ..] = format::OVERLOAD_HEADS;
    let rows = overload.parts.iter().map(|part| {
        let [label, cells @ ..] = format::overload_cells(part);
        Row::new(label, cells)
    });
    let table = Table::new(label, heads.into_iter().zip([0, 0, 1, 3, 2, 1, 4]), rows);
    let hint = Block::text(
        ParagraphKind::Hint,
        "One run, in this order. “Kept”: correct answers a second, of those at the capacity. “In time”: of the correct \
         answers, those within the bound. “Quick refusals”: of what was not answered correctly, what was refused within \
         100 ms.",
    );
    section(vec![Block::Table(table), hint])
}

fn probes(search: &CapacitySummary) -> Table {
    let judgement = &search.judgement;
    let rows = judgement.probes.iter().zip(&search.runs).map(|(probe, run)| {
        let values = judgement.slos.iter().zip(&probe.values);
        let first = [format!("{:?}", probe.stage).to_lowercase(), shown_level(probe.level, "")];
        let values = values.map(|(slo, value)| format::of_slo(slo, *value));
        let last = [number::rate(probe.goodput), number::percent(probe.failed, 1.0), run.file.clone()];
        Row::new(probe.number.to_string(), first.into_iter().chain(values).chain(last))
    });
    let heads = heads(search, [("stage", 0), ("level", 0)], [("goodput", 0), ("failed", 0), ("run file", 0)]);
    let folded = format!("All {} probes in the order in which they were made", judgement.probes.len());
    Table { folded: Some(folded), ..Table::new("probe", heads, rows) }
}

fn cases(search: &CapacitySummary) -> Vec<Case> {
    let judgement = &search.judgement;
    let case = |name: &str, verdict: Verdict, message: String| Case {
        name: name.to_owned(),
        verdict,
        word: verdict.to_string(),
        message,
        because: Vec::new(),
    };
    let hold = judgement.hold.as_ref().zip(format::hold(judgement));
    let overload = judgement.overload.as_ref().zip(format::recovery(judgement));
    let hold = hold.map(|(hold, text)| case("hold", hold.verdict, text));
    // What happens beyond the capacity was not promised: it is shown, and fails nothing.
    let overload = overload.map(|(overload, text)| match overload.recovery {
        Recovery::Recovered => case("overload", Verdict::Pass, text),
        _ => case("overload", Verdict::Measured, text),
    });
    hold.into_iter().chain(overload).collect()
}
