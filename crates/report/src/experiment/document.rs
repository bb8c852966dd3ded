//! What the report of an experiment says.

use evidence::{MetricAnswer, PairOrder};

use super::{ExperimentSummary, PairOfRuns, costs, dots, format};
use crate::charts::Chart;
use crate::document::{
    Block, Case, Cell, ChartBlock, Document, Mark, Paragraph, ParagraphKind, Row, Section, Table,
    VerdictBlock, WHOLE_EXPERIMENT,
};
use crate::number;

pub(super) fn of(experiment: &ExperimentSummary) -> Document {
    let judgement = &experiment.judgement;
    let [a, b] = &experiment.arms;
    let basis = Paragraph::new(ParagraphKind::Basis, format::basis(judgement));
    Document {
        name: experiment.name.clone(),
        title: format!("{}: is B worse than A?", experiment.name),
        verdict: VerdictBlock {
            verdict: Some(judgement.verdict),
            word: judgement.verdict.to_string(),
            answer: None,
            because: judgement.because.clone(),
            assumes: None,
            case: WHOLE_EXPERIMENT,
        },
        facts: vec![Paragraph::labelled("A", a), Paragraph::labelled("B", b), basis],
        sections: vec![
            metrics(&judgement.metrics),
            pairs(&judgement.metrics),
            Section::findings(&judgement.findings, "None."),
            moved_most(experiment),
            also_moved(experiment),
            Section::new("runs", "Runs", vec![Block::Table(runs(experiment))]),
        ],
        properties: vec![("pairs", judgement.pairs.to_string())],
        cases: judgement.metrics.iter().map(case).collect(),
        footer: "Made by Plimsoll from the runs' archives; the same archives always give the same report.",
        ..Document::default()
    }
}

fn metrics(all: &[MetricAnswer]) -> Section {
    let heads = [
        ("verdict", 0),
        ("A", 5),
        ("B", 4),
        ("effect", 0),
        ("interval", 1),
        ("margin", 3),
        ("p", 6),
        ("SD of pairs", 7),
        ("detectable", 2),
    ];
    let row = |metric: &MetricAnswer| {
        let cells = [
            format::value(metric, metric.medians[0]),
            format::value(metric, metric.medians[1]),
            format::effect_or_none(metric),
            format::interval(metric),
            format::margin(metric),
            format::probability(metric.p),
            format::deviation(metric),
            format::smallest_detectable(metric),
        ];
        let verdict = Cell::marked(metric.verdict.to_string(), Mark::Verdict(metric.verdict.verdict()));
        Row { note: metric.of.clone(), ..Row::judged(&metric.name, verdict, cells) }
    };
    let table = Table::new("metric", heads, all.iter().map(row));
    let reasons = reasons(all).into_iter().map(|(names, because)| {
        Paragraph::labelled(names.join(", "), because).with_kind(ParagraphKind::Basis)
    });
    let too_coarse = all.iter().filter_map(format::too_coarse);
    let too_coarse = too_coarse.map(|sentence| Paragraph::new(ParagraphKind::Notice, sentence));
    let hint = Block::text(
        ParagraphKind::Hint,
        "A and B: medians of all runs. Interval: the one that decides. Of REGRESSED and IMPROVED it excludes 0 at the level of all \
         metrics and looks; of EQUIVALENT and NO_REGRESSION it lies within the margin; of INCONCLUSIVE it does neither. NOT_SHOWN: no \
         difference is shown, and versions at the same moment cannot show that there is none. Detectable: the smallest change that would \
         have been found with 95 % probability at the last look, with the standard deviation at its upper 80 % limit.",
    );
    let paragraphs = reasons.chain(too_coarse).map(Block::Paragraph).chain([hint]);
    let blocks = std::iter::once(Block::Table(table)).chain(paragraphs).collect();
    Section::unheaded("metrics", "Metrics that decide", blocks)
}

/// Why metrics have their verdicts, each reason once, with the metrics that it is of.
fn reasons(all: &[MetricAnswer]) -> Vec<(Vec<&str>, &str)> {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for metric in all.iter().filter(|metric| !metric.because.is_empty()) {
        match reasons.iter_mut().find(|(_, because)| *because == metric.because) {
            Some((names, _)) => names.push(&metric.name),
            None => reasons.push((vec![&metric.name], &metric.because)),
        }
    }
    reasons
}

fn pairs(all: &[MetricAnswer]) -> Section {
    let chart = |metric: &MetricAnswer| {
        Some(Chart {
            title: metric.name.clone(),
            unit: "B against A, in % or percentage points".to_owned(),
            x_name: "pairs, in the order in which they were made",
            note: metric.verdict.to_string(),
            legend: Vec::new(),
            svg: dots::svg(metric)?,
        })
    };
    let charts = ChartBlock::new(all.iter().filter_map(chart).collect());
    let charts = ChartBlock { none: "There is nothing to draw.", ..charts };
    let hint = Block::text(
        ParagraphKind::Hint,
        "A dot is a pair, in the order in which they were made; the shaded band is the margin; at the right the mean with the \
         interval that decides.",
    );
    Section::new("dots", "Every pair", vec![Block::Chart(charts), hint])
}

fn moved_most(experiment: &ExperimentSummary) -> Section {
    let moved: Vec<String> = experiment.judgement.moved_most.iter().map(costs::line).collect();
    Section { note: costs::NOTE.to_owned(), ..Section::new("moved", costs::HEAD, lines(moved)) }
}

fn also_moved(experiment: &ExperimentSummary) -> Section {
    let moved = experiment.judgement.also_moved.iter().map(|mover| {
        let p = format::probability(Some(mover.p));
        format!("{}: {} (p {p})", mover.name, format::percent_with_sign(mover.effect))
    });
    Section {
        note: "decides nothing; of those listed one in twenty may be luck".to_owned(),
        ..Section::new("also-moved", "Also moved", lines(moved.collect()))
    }
}

fn lines(texts: Vec<String>) -> Vec<Block> {
    texts.into_iter().map(|text| Block::text(ParagraphKind::Plain, text)).collect()
}

fn runs(experiment: &ExperimentSummary) -> Table {
    let metrics = &experiment.judgement.metrics;
    let by_metric: Vec<(&MetricAnswer, Vec<Option<f64>>)> =
        metrics.iter().map(|metric| (metric, dots::changes(metric))).collect();
    let row = |(at, pair): (usize, &PairOfRuns)| {
        let changes = by_metric.iter().map(|(metric, changes)| {
            let change = changes.get(at).copied().flatten();
            number::or_not_measured(change, |change| format::effect(metric, change))
        });
        let order = if pair.order == PairOrder::Ab { "A, B" } else { "B, A" };
        let cells = std::iter::once(order.to_owned()).chain(changes).chain(pair.files.clone());
        Row::new(pair.number.to_string(), cells)
    };
    let names = metrics.iter().map(|metric| metric.name.clone());
    let heads = std::iter::once("order".to_owned()).chain(names).chain(["A".to_owned(), "B".to_owned()]);
    let rows = experiment.runs.iter().enumerate().map(row);
    let folded = format!("{} pairs, with the change of each metric and the run files", experiment.runs.len());
    let table = Table::new("pair", heads.map(|head| (head, 0)), rows);
    Table { folded: Some(folded), ..table }
}

fn case(metric: &MetricAnswer) -> Case {
    Case {
        name: metric.name.clone(),
        verdict: metric.verdict.verdict(),
        word: metric.verdict.to_string(),
        message: format!(
            "{}: {}, interval {}, margin {}, {} pairs",
            metric.of,
            format::effect_or_none(metric),
            format::interval_with_level(metric),
            format::margin(metric),
            metric.pairs
        ),
        because: vec![metric.because.clone()],
    }
}
