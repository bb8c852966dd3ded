//! A capacity search as Markdown for the summary of a CI job.

use std::fmt::Write;

use evidence::capacity::shown_level;

use super::{CapacitySummary, format};
use crate::markdown::{MAX_BYTES, MAX_NAME, MAX_TEXT, fitted, text};
use crate::number;

/// The search as Markdown.
pub fn markdown(search: &CapacitySummary) -> String {
    let mut out = String::new();
    let judgement = &search.judgement;
    // Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.
    let _ = writeln!(out, "## 📏 {}: {}\n", judgement.verdict, text(&format::answer(judgement), MAX_TEXT));
    let _ = writeln!(out, "{}\n", text(&judgement.because, MAX_TEXT));
    for slo in &judgement.slos {
        let first = if slo.breaks_first { " (breaks first)" } else { "" };
        let _ = writeln!(out, "- **{}** {}{first}", text(&slo.name, MAX_NAME), text(&slo.of, MAX_TEXT));
    }
    let _ = writeln!(out, "- **target** {}", text(&search.arm, MAX_TEXT));
    let _ = writeln!(out, "- **at its limit** {}", text(&format::limit(judgement), MAX_TEXT));
    if let Some(hold) = format::hold(judgement) {
        let _ = writeln!(out, "- **hold** {}", text(&hold, MAX_TEXT));
    }
    let _ = writeln!(out, "- {}\n", text(&format::basis(search), MAX_TEXT));
    levels(&mut out, search);
    overload(&mut out, search);
    for finding in &judgement.findings {
        let (name, what) = (text(&finding.name, MAX_NAME), text(&finding.what, MAX_TEXT));
        let _ = writeln!(out, "\n**{} {name}**: {what} {}", finding.severity, text(&finding.next, MAX_TEXT));
    }
    fitted(out, MAX_BYTES)
}

fn levels(out: &mut String, search: &CapacitySummary) {
    let judgement = &search.judgement;
    if judgement.levels.is_empty() {
        return;
    }
    let slos: Vec<String> = judgement.slos.iter().map(|slo| text(&slo.name, MAX_NAME)).collect();
    let _ = writeln!(out, "| level | | {} | within the bound by | goodput | probes |", slos.join(" | "));
    let _ = writeln!(out, "| ---: | --- | {} ---: | ---: | ---: |", "---: | ".repeat(slos.len()));
    for level in &judgement.levels {
        let values =
            judgement.slos.iter().zip(&level.medians).map(|(slo, value)| format::of_slo(slo, *value));
        let values: Vec<String> = values.collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            shown_level(level.level, &judgement.unit),
            format::verdict(level),
            values.join(" | "),
            format::margin(level),
            number::rate(level.goodput),
            level.probes
        );
    }
}

fn overload(out: &mut String, search: &CapacitySummary) {
    let Some(overload) = &search.judgement.overload else { return };
    let _ = writeln!(out, "\n### Beyond the capacity\n\n| {} |", format::OVERLOAD_HEADS.join(" | "));
    let _ = writeln!(out, "|{}", " ---: |".repeat(format::OVERLOAD_HEADS.len()));
    for part in &overload.parts {
        let _ = writeln!(out, "| {} |", format::overload_cells(part).join(" | "));
    }
    if let Some(recovery) = format::recovery(&search.judgement) {
        let _ = writeln!(out, "\nAfter the overload it is {}", text(&recovery, MAX_TEXT));
    }
}
