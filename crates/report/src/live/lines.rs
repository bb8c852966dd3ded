//! What lines of the panel begin with and draw columns of.

use crate::document::terminal::line::{TextLine, Tone};

/// The heights of a column of a plot, the lowest first.
pub(super) const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A line with its title.
pub(super) fn titled(title: &str) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Dim, &format!("  {title:<9}"));
    line
}
