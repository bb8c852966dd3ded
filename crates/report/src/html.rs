//! The report as one HTML file.

use crate::Summary;

/// The report as one self-contained HTML file.
pub fn html(summary: &Summary) -> String {
    format!("<!doctype html><title>{}</title>", summary.judgement.verdict)
}
