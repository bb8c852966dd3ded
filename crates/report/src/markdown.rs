//! The report as Markdown.

use crate::Summary;

/// The report as Markdown.
pub fn markdown(summary: &Summary) -> String {
    format!("# {}\n", summary.judgement.verdict)
}
