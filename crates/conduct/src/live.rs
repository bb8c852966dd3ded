//! Progress during a run, drawn from the same ticks that are recorded.

mod display;
mod keys;
mod news;
mod objectives;

use ::report::{LiveView, Style};
use engine::{Command, Control};
use evidence::sink::{Sink, SinkError};
use evidence::{Ending, Instance, Notice, NoticeKind, Observed, RunEnd, TerminalText, Tick};
use workload::Workload;

use crate::marks::Marker;
use crate::run_request::Progress;
use crate::screen::{self, Stream};
use display::Display;
use news::ObjectiveNews;

/// How many seconds pass between two lines where there is no terminal to rewrite a line on.
const LINE_EVERY_S: u32 = 5;

/// What is drawn on standard error.
enum Canvas {
    /// Lines, one after the other, for a file or a pipe, each after the letter of its run where there are two.
    Log { last_s: u32, letter: Option<char>, objectives: Box<ObjectiveNews> },
    /// One line, drawn over itself, on a terminal of which no keys can be read.
    Line,
    /// The whole screen; none once it is left.
    Screen(Option<Display>),
}

/// Draws progress on standard error.
pub(crate) struct Live {
    view: LiveView,
    canvas: Canvas,
    style: Style,
    /// By what the run is stopped.
    control: Control,
    /// The whole seconds that were drawn.
    drawn_s: u32,
    /// The observers' notices, for the end: each observer keeps a bounded number.
    notices: Vec<Notice>,
    /// Workers that are gone, and the notices that are printed once another one goes on: that all are gone is the failure of the run.
    lost: Vec<(Instance, Option<Notice>)>,
}

impl Live {
    /// Of a run with so many loops that `control` stops; `progress` says whether it is one of two.
    pub(crate) fn new(workload: &Workload, loops: u16, control: &Control, progress: Progress) -> Live {
        let style = if std::env::var_os("NO_COLOR").is_none() { Style::Colour } else { Style::Plain };
        let view = LiveView::new(workload, loops);
        if screen::is_drawable() {
            // The first figures come when a second is over.
            let _ = screen::draw(TerminalText::default().line("the load begins"));
        }
        let mut canvas = Canvas::new(workload, loops, style, control);
        if let (Canvas::Log { letter, .. }, Progress::OneOfTwo(of)) = (&mut canvas, progress) {
            *letter = Some(of);
        }
        Live {
            view,
            canvas,
            style,
            control: control.clone(),
            drawn_s: 0,
            notices: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// A key on its screen marks events of the run.
    pub(crate) fn mark_by(&self, marker: Marker) {
        if let Canvas::Screen(Some(display)) = &self.canvas {
            display.mark_by(marker);
        }
    }

    /// Print which workers are gone, where the part of the generator that hands something over is none of them.
    fn say_lost_beside(&mut self, present: Instance) {
        // The screen has them at its top.
        let is_shown = matches!(self.canvas, Canvas::Screen(_));
        if !is_shown && !self.lost.iter().any(|(worker, _)| worker.is_in_process_of(present)) {
            self.lost.iter_mut().filter_map(|(_, notice)| notice.take()).for_each(|notice| say(&notice));
        }
    }

    fn draw(&mut self) -> std::io::Result<()> {
        if self.control.command() != Command::Run {
            self.view.stop();
        }
        match &mut self.canvas {
            Canvas::Screen(display) => {
                // A run that is over before its screen was drawn needs none.
                if self.view.is_under_way() {
                    display.iter().for_each(Display::refresh);
                }
                Ok(())
            }
            Canvas::Line => screen::draw(&self.view.line(self.style, Stream::Error.width())),
            Canvas::Log { last_s, letter, objectives } => {
                let now_s = self.view.now().elapsed_s;
                if now_s < *last_s + LINE_EVERY_S {
                    return Ok(());
                }
                *last_s = now_s;
                let of_run = letter.map(|letter| format!("{letter} · ")).unwrap_or_default();
                let mut lines = TerminalText::default();
                lines.piece("", &of_run).append(&self.view.line(Style::Plain, Stream::Error.width()));
                for news in objectives.after(now_s) {
                    lines.line(format_args!("{of_run}{news}"));
                }
                screen::print(&lines)
            }
        }
    }
}

impl Canvas {
    fn new(workload: &Workload, loops: u16, style: Style, control: &Control) -> Canvas {
        let display = || Display::start(workload, loops, style, control).ok();
        match screen::is_drawable() {
            false => {
                let objectives = Box::new(ObjectiveNews::new(workload, loops));
                Canvas::Log { last_s: 0, letter: None, objectives }
            }
            true => match screen::full::is_possible().then(display).flatten() {
                Some(display) => Canvas::Screen(Some(display)),
                None => Canvas::Line,
            },
        }
    }
}

impl Sink for Live {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.view.take(tick);
        self.say_lost_beside(tick.instance);
        match &mut self.canvas {
            Canvas::Screen(Some(display)) => display.take(tick),
            Canvas::Log { objectives, .. } => objectives.take(tick),
            Canvas::Screen(None) | Canvas::Line => {}
        }
        // What is recorded may be made durable a second later.
        if self.view.is_under_way() && self.view.complete_s() > self.drawn_s {
            self.drawn_s = self.view.complete_s();
            self.flush()?;
        }
        Ok(())
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        if let Canvas::Screen(Some(display)) = &self.canvas {
            display.observe(observed);
        }
        // What stopped the run was said when it did, and the report lists marks.
        let is_news = |notice: &&Notice| !matches!(notice.kind, NoticeKind::Stopped | NoticeKind::Mark);
        for notice in observed.notices.iter().filter(is_news) {
            match notice.instance.filter(|_| notice.kind == NoticeKind::Gone) {
                Some(worker) => self.lost.push((worker, Some(notice.clone()))),
                None => self.notices.push(notice.clone()),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.draw().map_err(|error| SinkError(format!("cannot draw progress: {error}")))
    }

    /// Clears the drawing: the report follows.
    fn end(&mut self, end: &RunEnd) -> Result<(), SinkError> {
        if let Canvas::Screen(display) = &mut self.canvas {
            drop(display.take());
        }
        let cleared = screen::print(&TerminalText::default());
        cleared.map_err(|error| SinkError(format!("cannot clear what was drawn: {error}")))?;
        self.notices.iter().for_each(say);
        if !matches!(end.ending, Ending::Aborted(_)) {
            self.lost.iter_mut().filter_map(|(_, notice)| notice.take()).for_each(|notice| say(&notice));
        }
        Ok(())
    }
}

fn say(notice: &Notice) {
    screen::note(format_args!("{}: {} (at {:.0?})", notice.observer, notice.text, notice.at.offset()));
}
