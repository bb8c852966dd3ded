//! Live samples: on a terminal a view that is updated in place, elsewhere a line a second.

use std::collections::BTreeMap;
use std::time::Duration;

use ::report::{Style, WatchView, number};
use evidence::{Notice, Observed, Sample, SeriesKey, TerminalText};

use crate::failure::CommandResult;
use crate::screen::{self, Stream};
use crate::standard_output;

/// Values on the line of one target; a page of metrics may have a thousand.
const MOST_VALUES: usize = 12;
/// Lines of a terminal whose height is not known.
const ROWS: usize = 24;
/// The series of the machine: shown on a terminal and kept in the run file, but too many for a line a second.
const HOST: &str = "host";

pub(super) enum Shown {
    Terminal(WatchView, Style),
    Lines,
}

impl Shown {
    /// For a watch of this length, if it is known.
    pub(super) fn new(length: Option<Duration>) -> Shown {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_dumb || !Stream::Output.is_terminal() || !Stream::Error.is_terminal() {
            return Shown::Lines;
        }
        let style = if std::env::var_os("NO_COLOR").is_none() { Style::Colour } else { Style::Plain };
        Shown::Terminal(WatchView::new(length), style)
    }

    pub(super) fn show(&mut self, seen: &Observed) -> CommandResult<()> {
        match self {
            Shown::Lines => standard_output::print(&lines(seen))?,
            Shown::Terminal(view, style) => {
                view.take(seen);
                seen.notices.iter().for_each(|notice| screen::note(line_of(notice)));
                // A failure to draw fails nothing.
                let _ = screen::draw(&panel(view, *style));
            }
        }
        Ok(())
    }

    /// The last samples stay on the screen.
    pub(super) fn end(&self) {
        if let Shown::Terminal(view, style) = self {
            // A failure to draw fails nothing.
            let _ = screen::print(&panel(view, *style));
        }
    }
}

fn panel(view: &WatchView, style: Style) -> TerminalText {
    view.panel(style, Stream::Error.width(), Stream::Error.height().unwrap_or(ROWS))
}

/// A line for each target, and one for each notice.
fn lines(seen: &Observed) -> TerminalText {
    let mut by_target: BTreeMap<&str, (u32, Vec<String>)> = BTreeMap::new();
    // Series with parts come last: they are the first to be left out.
    let mut samples: Vec<&(SeriesKey, Sample)> = seen.samples.iter().collect();
    samples.sort_by_key(|(series, _)| !series.part.is_empty());
    for (series, sample) in samples {
        if matches!(&*series.target, SeriesKey::GENERATOR | HOST) {
            continue;
        }
        let (second, values) = by_target.entry(&series.target).or_default();
        *second = sample.at.second().max(*second);
        values.push(value(series, sample));
    }
    let mut text = TerminalText::default();
    for (target, (second, mut values)) in by_target {
        let others = values.len().saturating_sub(MOST_VALUES);
        values.truncate(MOST_VALUES);
        let others = if others > 0 { format!("  and {others} more") } else { String::new() };
        text.line(format_args!("{second:>6} s  {target}  {}{others}", values.join("  ")));
    }
    for notice in &seen.notices {
        text.line(line_of(notice));
    }
    text
}

fn line_of(Notice { at, observer, kind, text, .. }: &Notice) -> String {
    format!("{:>6} s  {observer}  {kind}: {text}", at.second())
}

fn value(series: &SeriesKey, sample: &Sample) -> String {
    let part = if series.part.is_empty() { String::new() } else { format!("[{}]", series.part) };
    format!("{}{part} {}", series.name, number::with_unit(Some(sample.value), &series.unit))
}
