//! Progress while a run goes on, drawn from the same ticks that are recorded.

use std::io::{IsTerminal, Write};

use ::report::{LiveView, Style};
use evidence::sink::{Sink, SinkError};
use evidence::{RunEnd, Sample, SeriesKey, Tick};
use workload::Workload;

use crate::outputs::{tell, width};

/// How many seconds pass between two lines where there is no terminal to rewrite a line on.
const LINE_EVERY_S: u32 = 5;

/// Draws progress on standard error.
pub(crate) struct Live {
    view: LiveView,
    is_terminal: bool,
    style: Style,
    last_line_s: u32,
}

impl Live {
    pub(crate) fn new(workload: &Workload) -> Live {
        let style = if std::env::var_os("NO_COLOR").is_none() { Style::Colour } else { Style::Plain };
        let is_terminal = std::io::stderr().is_terminal();
        Live { view: LiveView::new(workload), is_terminal, style, last_line_s: 0 }
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let mut stderr = std::io::stderr().lock();
        if self.is_terminal {
            // Back to the line's start and clear to its end: the line is drawn over itself.
            write!(stderr, "\r\x1b[K{}", self.view.line(self.style, width(&stderr)))?;
            return stderr.flush();
        }
        let now_s = self.view.now().elapsed_s;
        if now_s >= self.last_line_s + LINE_EVERY_S {
            self.last_line_s = now_s;
            writeln!(stderr, "{}", self.view.line(Style::Plain, width(&stderr)))?;
        }
        Ok(())
    }
}

impl Sink for Live {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.view.take(tick);
        Ok(())
    }

    fn samples(&mut self, _samples: &[(SeriesKey, Sample)]) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.draw().map_err(|error| SinkError(format!("cannot draw progress: {error}")))
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        if self.is_terminal {
            tell("");
        }
        Ok(())
    }
}
