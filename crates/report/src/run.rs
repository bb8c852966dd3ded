//! What the report of a run says.

mod endpoints;
mod exchanges;
mod failures;
mod head;
mod machine;
mod profiles;
mod totals;

use std::time::Duration;

use evidence::metric::MetricKind;
use evidence::{Claim, Finding, Reason, Verdict};

use crate::charts;
use crate::document::{
    Block, Case, ChartBlock, ClaimBlock, Claims, Column, Document, FactLayout, Facts, Forms, Paragraph,
    ParagraphKind, Reported, Row, Section, Table,
};
use crate::summary::{
    BesideK6, ClaimSummary, MarkedEvent, MetricNumbers, RunEndState, ScriptMetric, Summary,
};
use crate::{card, diagnosis, number, source};

impl Reported for Summary {
    fn document(&self) -> Document {
        Document {
            name: self.header.name.clone(),
            title: self.header.name.clone(),
            subject: Some(head::subject(self)),
            verdict: head::verdict(self),
            facts: head::facts(self),
            tiles: head::tiles(self),
            tiles_note: head::tiles_note(self),
            sections: sections(self),
            progress: head::progress(self),
            length: Some(Duration::from_secs(u64::from(self.header.seconds))),
            properties: vec![
                ("workload_digest", self.header.workload_digest.clone()),
                ("started_at", self.header.started_at.clone()),
            ],
            cases: self.claims.iter().map(|shown| case(self, shown)).collect(),
            footer: "Made by Plimsoll from the run's archive; the same archive always gives the same report.",
        }
    }

    fn json(&self) -> String {
        crate::json::json(self)
    }
}

/// In the order of a page.
fn sections(summary: &Summary) -> Vec<Section> {
    let is_under_way = summary.header.end == RunEndState::UnderWay;
    if is_under_way && summary.outcomes.completed() == 0 {
        return not_ended_yet(summary);
    }
    let mut sections = vec![claims(summary)];
    sections.extend(imported(summary));
    sections.push(course(summary));
    sections.push(endpoints::section(summary));
    sections.extend(failures::sections(summary));
    sections.push(
        Section::cards(card::of_run(&summary.judgement.findings), "No rule reported a finding.")
            .into_result(),
    );
    sections.extend(marks(summary));
    sections.extend(endpoints::other_phases(summary));
    sections.extend([capacity(summary), distributions(summary)].into_iter().flatten());
    sections.extend(summary.diagnosis.as_ref().map(diagnosis::of_run));
    sections.extend(beside_k6(summary));
    sections.extend(metrics(summary));
    sections.push(totals::section(summary));
    sections.extend(machine::unlike_workers(summary));
    sections.extend(machine::sections(summary));
    sections.extend(profiles::sections(summary));
    sections.extend(exchanges::sections(summary));
    sections.push(totals::files(summary));
    sections.push(head::environment(summary));
    sections
}

/// Of a run under way of which nothing can be said but what it offers.
fn not_ended_yet(summary: &Summary) -> Vec<Section> {
    let text = Block::text(ParagraphKind::Plain, "No request has ended yet.");
    let mut sections = vec![Section::new("results", "Results", vec![text])];
    if summary.timeline.seconds > 0 {
        sections.push(course(summary));
    }
    sections.push(head::environment(summary));
    sections
}

fn claims(summary: &Summary) -> Section {
    let mut all: Vec<&ClaimSummary> = summary.claims.iter().collect();
    all.sort_by_key(|shown| shown.urgency());
    let claims: Vec<ClaimBlock> = all.into_iter().map(|shown| claim(summary, shown)).collect();
    let is_judged = !claims.is_empty() && summary.header.end != RunEndState::UnderWay;
    let hint = is_judged.then(|| {
        Block::text(
            ParagraphKind::Hint,
            "Each end of an interval holds at 95 %, or at the confidence of the claim, for this run only; another run may \
             differ by more.",
        )
    });
    let is_brief = summary.header.end == RunEndState::UnderWay;
    let none = "The run has no objectives: it was measured, not judged.";
    let claims = Claims { claims, none, is_brief };
    Section::new("objectives", "Objectives", std::iter::once(Block::Claims(claims)).chain(hint).collect())
        .into_result()
}

/// The verdict on a claim, and in words. Of a run that is under way it is that so far: what is in flight may still decide what it
/// leaves open now.
fn answer(summary: &Summary, verdict: Verdict) -> (Verdict, String) {
    let (verdict, word) = match (&summary.header.end, verdict) {
        (RunEndState::UnderWay, Verdict::Pass) => (verdict, "met so far"),
        (RunEndState::UnderWay, Verdict::Fail) => (verdict, "violated so far"),
        (RunEndState::UnderWay, Verdict::Inconclusive | Verdict::Invalid) => {
            (Verdict::Inconclusive, "undecided so far")
        }
        _ => return (verdict, verdict.to_string()),
    };
    (verdict, word.to_owned())
}

fn claim(summary: &Summary, shown: &ClaimSummary) -> ClaimBlock {
    let claim = &shown.claim;
    let (verdict, word) = answer(summary, claim.verdict);
    ClaimBlock {
        verdict,
        word,
        name: claim.name.clone(),
        text: shown.text().to_owned(),
        described: shown.described(),
        observed: shown.observed(),
        bound: shown.bound(),
        interval: shown.interval(),
        samples: number::count(claim.samples),
        figures: shown.figures(),
        reasons: shown.reasons(),
    }
}

fn case(summary: &Summary, shown: &ClaimSummary) -> Case {
    let claim = &shown.claim;
    let mut message = format!("{}: {}", claim.text, shown.beside_bound());
    if let Some(interval) = shown.interval() {
        message.push_str(&format!(", interval {interval}, each end at 95 %"));
    }
    message.push_str(&format!(", n = {}", number::count(claim.samples)));
    if let Some(holds) = claim.holds_in_k6 {
        message.push_str(if holds { ", met in k6" } else { ", not met in k6" });
    }
    let (verdict, word) = answer(summary, claim.verdict);
    let mut because: Vec<String> = claim.reasons.iter().map(Reason::to_string).collect();
    because.extend(next_steps(summary, claim));
    Case { name: claim.name.clone(), verdict, word, message, because }
}

/// What the findings that keep a claim from a pass say to do next.
fn next_steps(summary: &Summary, claim: &Claim) -> impl Iterator<Item = String> {
    let findings = summary.judgement.findings.iter();
    let keeps = |finding: &&Finding| {
        let effect = finding.effect_on(&claim.name);
        claim.verdict != Verdict::Pass
            && effect.is_some_and(|effect| effect.on(Verdict::Pass) != Verdict::Pass)
    };
    findings.filter(keeps).map(|finding| format!("Next ({}): {}", finding.rule, finding.next))
}

/// The source of an imported run.
fn imported(summary: &Summary) -> Option<Section> {
    let of = summary.header.source.as_ref()?;
    let lines = source::lines(of).into_iter().map(|(label, text)| Paragraph::labelled(label, text));
    let facts = Facts::new(FactLayout::Sentences, lines.collect());
    Some(Section::new("source", source::title(of), vec![Block::Facts(facts)]))
}

/// The events that a user marked, by the numbers that the charts give them.
fn marks(summary: &Summary) -> Option<Section> {
    let mark = |(index, mark): (usize, &MarkedEvent)| {
        let label = format!("{} · {}", index + 1, number::clock(mark.at_s as u64));
        Paragraph::labelled(label, &mark.text)
    };
    let marks: Vec<Paragraph> = summary.marks.iter().enumerate().map(mark).collect();
    let facts = Block::Facts(Facts::new(FactLayout::Sentences, marks));
    (!summary.marks.is_empty()).then(|| Section::new("marks", "Marks", vec![facts]))
}

/// The throughput and the response times over time.
fn course(summary: &Summary) -> Section {
    let timeline = &summary.timeline;
    let each = if timeline.bin_s > 1 { format!("{} seconds", timeline.bin_s) } else { "second".to_owned() };
    let times = charts::response_times(summary);
    let of = if summary.outcomes.unknown.is_some() { "responses, failed or not" } else { "successes" };
    let left_out = match timeline.endpoints_left_out {
        0 => String::new(),
        n => format!(" {n} endpoints with fewer requests are only in the tables."),
    };
    let basis = match times.is_empty() {
        true => format!("One point per {each}."),
        false => format!(
            "Response times of {of}, from due instant to last byte; one point per {each}; logarithmic, each endpoint on a \
             scale of its own.{left_out}"
        ),
    };
    let mut all = charts::rates(summary);
    all.extend(times);
    let charts = ChartBlock {
        none: "There is no evidence to draw: the run has not one whole second.",
        key: &[
            ("p50", "p50"),
            ("p95", "p95"),
            ("p99", "p99"),
            ("bad-bar", "share that failed"),
            ("stall", "the generator stalled"),
        ],
        ..ChartBlock::new(if timeline.seconds == 0 { Vec::new() } else { all })
    };
    let blocks = vec![Block::Chart(charts), Block::text(ParagraphKind::Hint, basis)];
    Section::new("plots", "Throughput and response times", blocks).only(Forms::Page)
}

/// What the generator and the targets were at meanwhile.
fn capacity(summary: &Summary) -> Option<Section> {
    let mut charts = charts::in_flight(summary);
    charts.extend(charts::resources(summary));
    let is_drawn = summary.timeline.seconds > 0 && !charts.is_empty();
    let section =
        || Section::new("capacity", "In flight, CPU and memory", vec![Block::Chart(ChartBlock::new(charts))]);
    is_drawn.then(|| section().only(Forms::Page))
}

fn distributions(summary: &Summary) -> Option<Section> {
    let charts = charts::distributions(summary);
    let hint = "The share of requests that completed within a time. Failures and dropped arrivals count as infinitely \
                slow, so a curve ends where they begin.";
    let is_drawn = !charts.is_empty();
    let blocks = vec![Block::Chart(ChartBlock::new(charts)), Block::text(ParagraphKind::Hint, hint)];
    is_drawn.then(|| Section::new("distributions", "Distributions", blocks).only(Forms::Page))
}

fn beside_k6(summary: &Summary) -> Option<Section> {
    let beside = summary.beside_k6.as_ref()?;
    let heads = [("n", 0), ("p50", 0), ("p90", 1), ("p95", 0), ("p99", 0), ("max", 0)];
    let rows = beside.rows().into_iter().map(|(label, cells)| Row::new(label, cells));
    let table = Block::Table(Table::new("", heads, rows));
    let sentences = beside.sentences().into_iter().map(|text| Block::text(ParagraphKind::Plain, text));
    Some(Section::new("beside-k6", BesideK6::HEADING, std::iter::once(table).chain(sentences).collect()))
}

/// The metrics that the script made, then those that k6 makes of any script.
fn metrics(summary: &Summary) -> impl Iterator<Item = Section> {
    let sections = [("metrics", "Metrics of the script", false), ("k6-metrics", "Metrics of k6", true)];
    sections.into_iter().filter_map(|(id, heading, is_built_in)| {
        let metrics = summary.metrics.iter().filter(|metric| metric.is_built_in() == is_built_in);
        let rows: Vec<Row> = metrics.flat_map(ScriptMetric::rows).map(metric_row).collect();
        let numbers = MetricNumbers::HEADS.map(|(head, rank)| Column::new(head, rank));
        let columns =
            [Column::words("kind", 7).in_markdown(), Column::new("values", 5)].into_iter().chain(numbers);
        let is_empty = rows.is_empty();
        let table = Block::Table(Table::of_columns("metric", columns, rows));
        let section = Section::new(id, heading, vec![table]).with_note("over the whole run");
        let section = if is_built_in { section.only(Forms::InFull) } else { section };
        (!is_empty).then_some(section)
    })
}

fn metric_row((label, kind, numbers): (String, MetricKind, &MetricNumbers)) -> Row {
    let first = [kind.to_string(), number::count(numbers.count)];
    Row::new(label, first.into_iter().chain(numbers.cells()))
}
