//! Findings as text: those of one rule and severity together, with why they matter and what to do once.

use evidence::{Finding, Severity};

use super::line::Tone;
use super::page::{Label, Page};

/// The most findings of one rule and severity that are listed.
const MAX_ALIKE: usize = 6;
/// The column where a finding's text begins.
const INDENT: usize = 6;

/// A finding and the sentence that it is listed with.
pub(crate) struct ListedFinding<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) text: String,
}

fn severity_tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fail => Tone::Bad,
        Severity::Invalid | Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    }
}

/// Add the section of findings; nothing without findings.
pub(crate) fn add(page: &mut Page, findings: &[ListedFinding<'_>]) {
    if findings.is_empty() {
        return;
    }
    page.heading("Findings", "");
    let group = |listed: &ListedFinding<'_>| (listed.finding.rule, listed.finding.severity);
    for alike in findings.chunk_by(|a, b| group(a) == group(b)) {
        let first = alike[0].finding;
        let title = format!("  {} {}", first.rule, first.title);
        page.line(&[(severity_tone(first.severity), &first.severity.to_string()), (Tone::Accent, &title)]);
        for listed in alike.iter().take(MAX_ALIKE) {
            page.paragraph(Label::new("  –", INDENT), Tone::Normal, &listed.text);
        }
        if alike.len() > MAX_ALIKE {
            let more = format!("and {} more like these", alike.len() - MAX_ALIKE);
            page.paragraph(Label::new("  –", INDENT), Tone::Dim, &more);
        }
        page.paragraph(Label::new("why", INDENT), Tone::Dim, &first.why);
        page.paragraph(Label::new("next", INDENT), Tone::Normal, &first.next);
    }
}
