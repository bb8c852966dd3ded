//! The report as text for a terminal.

pub(crate) mod line;

use crate::Summary;

/// Whether escape codes for colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape codes.
    Plain,
    /// ANSI colours.
    Colour,
}

/// The report as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(summary: &Summary, _style: Style, _width: usize) -> String {
    format!("{}\n", summary.judgement.verdict)
}
