//! Progress during a run, drawn from the same ticks that are recorded.

use ::report::{LiveView, Style};
use evidence::sink::{Sink, SinkError};
use evidence::{Notice, NoticeKind, Observed, RunEnd, TerminalText, Tick};
use workload::Workload;

use crate::screen::{self, Stream};

/// How many seconds pass between two lines where there is no terminal to rewrite a line on.
const LINE_EVERY_S: u32 = 5;

/// What can be drawn on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Canvas {
    /// Lines, one after the other, for a file or a pipe.
    Log,
    /// One line, drawn over itself.
    Line,
    /// As many lines as the panel has, drawn over themselves.
    Panel,
}

/// Draws progress on standard error.
pub(crate) struct Live {
    view: LiveView,
    canvas: Canvas,
    style: Style,
    last_line_s: u32,
    /// The observers' notices, for the end: each observer keeps a bounded number.
    notices: Vec<Notice>,
}

impl Live {
    pub(crate) fn new(workload: &Workload, loops: u16) -> Live {
        let style = if std::env::var_os("NO_COLOR").is_none() { Style::Colour } else { Style::Plain };
        let view = LiveView::new(workload, loops);
        Live { view, canvas: canvas(), style, last_line_s: 0, notices: Vec::new() }
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let width = Stream::Error.width();
        let fits = Stream::Error.height().is_none_or(|rows| rows > self.view.panel_lines() + 1);
        match self.canvas {
            Canvas::Panel if fits => screen::draw(&self.view.panel(self.style, width)),
            Canvas::Panel | Canvas::Line => screen::draw(&self.view.line(self.style, width)),
            Canvas::Log => {
                let now_s = self.view.now().elapsed_s;
                if now_s < self.last_line_s + LINE_EVERY_S {
                    return Ok(());
                }
                self.last_line_s = now_s;
                screen::print(&self.view.line(Style::Plain, width))
            }
        }
    }
}

/// A panel where the report follows on the same screen; one line where the report goes elsewhere.
fn canvas() -> Canvas {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match (Stream::Error.is_terminal() && !is_dumb, Stream::Output.is_terminal()) {
        (true, true) => Canvas::Panel,
        (true, false) => Canvas::Line,
        (false, _) => Canvas::Log,
    }
}

impl Sink for Live {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.view.take(tick);
        Ok(())
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        // What stopped the run was said when it did, and the report lists marks.
        let is_news = |notice: &&Notice| !matches!(notice.kind, NoticeKind::Stopped | NoticeKind::Mark);
        let news = observed.notices.iter().filter(is_news);
        self.notices.extend(news.cloned());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.draw().map_err(|error| SinkError(format!("cannot draw progress: {error}")))
    }

    /// Clears the drawing: the report follows.
    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        let cleared = screen::print(&TerminalText::default());
        cleared.map_err(|error| SinkError(format!("cannot clear what was drawn: {error}")))?;
        for notice in &self.notices {
            screen::note(format_args!(
                "{}: {} (at {:.0?})",
                notice.observer,
                notice.text,
                notice.at.offset()
            ));
        }
        Ok(())
    }
}
