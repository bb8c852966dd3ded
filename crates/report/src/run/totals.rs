//! The counts of the whole run, and its files, in text.

use crate::document::{Block, FactLayout, Facts, Forms, Paragraph, ParagraphKind, Section};
use crate::number::{self, brief};
use crate::profiles::captured;
use crate::summary::{
    Arrivals, CpuUse, ScenarioTotal, Summary, quantile_text, spread_of_workers, statuses_in_words,
};
use crate::text::fit;

/// Where the names of scenarios are cut, in columns.
const MAX_SCENARIO: usize = 8;

/// The kind of the file that the digest is of.
const EVIDENCE: &str = "evidence";

/// The kind of the file that shows exchanges in full.
const HTML: &str = "HTML";

/// The counts of the whole run, CPU of the generator and the targets, and how the generator fared.
pub(super) fn section(summary: &Summary) -> Section {
    let mut facts: Vec<Paragraph> = summary.arrivals.iter().map(|of| arrivals("arrivals", of)).collect();
    let of_scenarios = summary.scenarios.iter().filter_map(|scenario| Some((scenario, scenario.arrivals?)));
    if of_scenarios.clone().count() > 1 {
        let label = |name: &str| format!("  {}", fit(name, MAX_SCENARIO));
        let of = |(scenario, of): (&ScenarioTotal, Arrivals)| match of.dropped() {
            0 => arrivals(&label(&scenario.name), &of).with_kind(ParagraphKind::Detail),
            _ => arrivals(&label(&scenario.name), &of),
        };
        facts.extend(of_scenarios.map(of));
    }
    facts.extend(summary.virtual_users().map(|(name, users)| {
        match summary.scenarios.len() {
            1 => Paragraph::labelled("users", users.in_words()),
            _ => Paragraph::labelled("users", format!("{name} {}", users.in_words()))
                .with_kind(ParagraphKind::Detail),
        }
    }));
    facts.push(requests(summary));
    if !summary.statuses.is_empty() {
        facts.push(Paragraph::labelled("statuses", statuses_in_words(&summary.statuses)));
    }
    facts.extend(machine(summary));
    let facts = Block::Facts(Facts::new(FactLayout::Sentences, facts));
    Section::unheaded("totals", "The whole run", vec![facts]).only(Forms::Text)
}

fn arrivals(label: &str, arrivals: &Arrivals) -> Paragraph {
    let count = number::count;
    let text = format!(
        "{} due, {} started, {} dropped: VU\u{a0}limit\u{a0}{}, generator\u{a0}late\u{a0}{}",
        count(arrivals.scheduled),
        count(arrivals.started),
        count(arrivals.dropped()),
        count(arrivals.dropped_cap),
        count(arrivals.dropped_late)
    );
    notice_if(arrivals.dropped() > 0, Paragraph::labelled(label, text))
}

fn notice_if(is_notice: bool, paragraph: Paragraph) -> Paragraph {
    if is_notice { paragraph.with_kind(ParagraphKind::Notice) } else { paragraph }
}

fn requests(summary: &Summary) -> Paragraph {
    let outcomes = &summary.outcomes;
    let mut text = match outcomes.failed() {
        Some(failed) => format!("{} ended, {} failed", outcomes.completed_text(), number::count(failed)),
        None if outcomes.are_counted() => {
            format!("{} ended, failures not known", outcomes.completed_text())
        }
        None => "none counted".to_owned(),
    };
    for (outcome, n) in outcomes.failures() {
        text.push_str(&format!(" · {outcome} {}", number::count(n)));
    }
    text.push_str(&outcomes.retried_text());
    notice_if(outcomes.known_failures() > 0, Paragraph::labelled("requests", text))
}

fn machine(summary: &Summary) -> Vec<Paragraph> {
    let generator = &summary.generator;
    let cpu: Vec<String> = summary.cpu.iter().map(cpu_in_words).collect();
    let lag = &generator.start_lag;
    let times = format!(
        "p50 {}, p99 {}, max {}",
        number::time_or_none(lag.p50_ms),
        quantile_text(lag, 0.99, lag.p99_ms),
        number::time_or_none(lag.max_ms)
    );
    let mut facts = vec![Paragraph::labelled("CPU", cpu.join("; ")), Paragraph::labelled("start lag", times)];
    facts.extend(spread_of_workers(&summary.workers).map(|spread| Paragraph::labelled("workers", spread)));
    if let Some(perturbed @ 1..) = generator.perturbed_requests {
        let ended = number::counted(summary.outcomes.completed(), "request");
        let (were, perturbed) = (brief::were(perturbed), number::count(perturbed));
        let text = format!("{perturbed} of {ended} {were} in flight during a stall of the generator");
        facts.push(Paragraph::labelled("stalls", text));
    }
    if let Some(folded @ 1..) = generator.folded_endpoints {
        let text = format!("{} names beyond the limit are counted as one", number::count(folded));
        facts.push(Paragraph::labelled("endpoints", text).with_kind(ParagraphKind::Notice));
    }
    facts
}

fn cpu_in_words(cpu: &CpuUse) -> String {
    let Some(seconds) = cpu.cpu_seconds else { return format!("{} {}", cpu.target, cpu.note) };
    let mut text = format!("{} {}", cpu.target, number::cpu(seconds));
    if let Some(per_1000) = cpu.per_1000_requests_s {
        text.push_str(&format!(" ({} per 1,000 requests, {})", number::cpu(per_1000), cpu.part_of_run()));
    }
    if !cpu.note.is_empty() {
        text.push_str(&format!(", {}", cpu.note));
    }
    text
}

/// What was recorded, and where it is.
pub(super) fn files(summary: &Summary) -> Section {
    let mut facts = Vec::new();
    let (failed, slowest) = (summary.failed.len(), summary.slowest.len());
    if failed + slowest > 0 {
        let are_kept = summary.files.iter().any(|(kind, _)| kind == EVIDENCE || kind == HTML);
        let place = if are_kept { "full text in the HTML report" } else { "--html FILE shows them" };
        let text = format!("{failed} failed, {slowest} slowest ({place})");
        facts.push(Paragraph::labelled("exchanges", text));
    }
    let profiles = summary.profiles.iter();
    facts.extend(profiles.map(|profile| Paragraph::labelled("profile", captured::one_line(profile))));
    for (kind, path) in &summary.files {
        facts.push(Paragraph::labelled(kind, path).with_kind(ParagraphKind::Path));
        if kind == EVIDENCE {
            facts.push(Paragraph::labelled("digest", summary.header.digest_in_words()));
        }
    }
    let facts = Block::Facts(Facts::new(FactLayout::Sentences, facts));
    Section::unheaded("files", "Files", vec![facts]).only(Forms::Text).into_result()
}
