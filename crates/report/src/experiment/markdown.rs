//! An experiment as Markdown for the summary of a CI job.

use std::fmt::Write;

use super::{ExperimentSummary, costs, format};
use crate::markdown::{MAX_BYTES, MAX_NAME, MAX_TEXT, fitted, text};

/// The experiment as Markdown.
pub fn markdown(experiment: &ExperimentSummary) -> String {
    let mut out = String::new();
    let judgement = &experiment.judgement;
    // Writing to a String cannot fail, so the results of `writeln!` are ignored in this file.
    let _ = writeln!(out, "## 📏 {}\n\n{}\n", judgement.verdict, text(&judgement.because, MAX_TEXT));
    for (letter, arm) in ["A", "B"].iter().zip(&experiment.arms) {
        let _ = writeln!(out, "- **{letter}** {}", text(arm, MAX_TEXT));
    }
    let _ = writeln!(out, "- {}\n", text(&format::basis(judgement), MAX_TEXT));
    let _ = writeln!(out, "| metric | verdict | A | B | effect | 95 % interval | margin | p | visible |");
    let _ = writeln!(out, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for metric in &judgement.metrics {
        let cells = [
            text(&metric.name, MAX_NAME),
            metric.verdict.to_string().replace('_', "\\_"),
            format::value(metric, metric.medians[0]),
            format::value(metric, metric.medians[1]),
            format::effect_or_none(metric),
            format::interval(metric),
            format::margin(metric),
            format::probability(metric.p).replace('<', "&lt;"),
            format::smallest_visible(metric),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    for sentence in judgement.metrics.iter().filter_map(format::too_coarse) {
        let _ = writeln!(out, "\n{}", text(&sentence, MAX_TEXT));
    }
    for finding in &judgement.findings {
        let (name, what) = (text(&finding.name, MAX_NAME), text(&finding.what, MAX_TEXT));
        let _ = writeln!(out, "\n**{} {name}**: {what} {}", finding.severity, text(&finding.next, MAX_TEXT));
    }
    if !judgement.moved_most.is_empty() {
        let _ = writeln!(out, "\n### {} ({})\n", costs::HEAD, costs::NOTE);
        for moved in &judgement.moved_most {
            let _ = writeln!(out, "- {}", text(&costs::line(moved), MAX_TEXT));
        }
    }
    if !judgement.also_moved.is_empty() {
        let _ = writeln!(out, "\n### Also moved (decides nothing)\n");
        for mover in &judgement.also_moved {
            let name = text(&mover.name, MAX_NAME);
            let _ = writeln!(out, "- {name}: {:+.1} % (p {:.4})", mover.effect * 100.0, mover.p);
        }
    }
    fitted(out, MAX_BYTES)
}
