//! A comparison as Markdown for the summary of a CI job.

use std::fmt::Write;

use super::format;
use crate::markdown::{MAX_BYTES, MAX_NAME, MAX_TEXT, findings, fitted, sign, text};
use crate::summary::{Comparison, Measure, PhaseTable};

/// The measures of an endpoint that are shown.
const SHOWN: [&str; 8] =
    ["offered", "throughput", "failed", "avg", "p50", "p95", "p99", "p95, failures as ∞"];

/// The comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    let judgement = &comparison.judgement;
    // Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.
    let (sign, because) = (sign(judgement.verdict), text(&judgement.because, MAX_TEXT));
    let _ = writeln!(out, "## {sign} {}\n\n{because}\n", judgement.verdict);
    for side in &comparison.sides {
        let (name, end) = (text(&side.name, MAX_TEXT), text(&side.run.end_in_words(), MAX_TEXT));
        let _ =
            writeln!(out, "- **{}** {name} · {} · {end}", side.letter, text(&side.run.started_at, MAX_NAME));
    }
    for sentence in &comparison.unmatched {
        let _ = writeln!(out, "- {}", text(sentence, MAX_TEXT));
    }
    out.push('\n');
    findings(&mut out, &format::cards(judgement));
    for phase in &comparison.phases {
        tables(&mut out, phase, comparison.sides.len());
    }
    for pair in &comparison.profiles {
        let title = text(&format::profile_title(pair), MAX_TEXT);
        // Indented and not fenced: a function's name could close a fence.
        let indented: String =
            format::profile_text(pair).lines().map(|line| format!("    {line}\n")).collect();
        let _ = writeln!(out, "\n### Profile {title}\n\n{indented}");
    }
    for (head, list) in format::conclusions(judgement) {
        let _ = writeln!(out, "\n### {head}\n");
        for item in list {
            let _ = writeln!(out, "- {}", text(item, MAX_TEXT));
        }
    }
    fitted(out, MAX_BYTES)
}

fn tables(out: &mut String, phase: &PhaseTable, sides: usize) {
    if phase.endpoints.is_empty() && phase.costs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### Phase {}\n", text(&phase.name, MAX_NAME));
    let heads = format::heads(sides);
    let _ = writeln!(out, "| endpoint | | {} |", heads.join(" | "));
    let _ = writeln!(out, "| --- | --- |{}", " ---: |".repeat(heads.len()));
    for endpoint in &phase.endpoints {
        for measure in endpoint.measures.iter().filter(|m| SHOWN.contains(&m.name.as_str())) {
            row(out, &endpoint.label, measure, sides);
        }
    }
    for measure in &phase.costs {
        row(out, "", measure, sides);
    }
    for sentence in format::cost_seconds(phase) {
        let _ = writeln!(out, "\n{}", text(&sentence, MAX_TEXT));
    }
}

fn row(out: &mut String, label: &str, measure: &Measure, sides: usize) {
    let values = measure.values.iter().map(|value| format::value(*value, &measure.unit));
    let differences = (1..sides).flat_map(|side| format::difference(measure, side));
    let cells: Vec<String> = values.chain(differences).collect();
    let (label, name) = (text(label, MAX_NAME), text(&measure.name, MAX_NAME));
    let _ = writeln!(out, "| {label} | {name} | {} |", cells.join(" | "));
}
