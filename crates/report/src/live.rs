//! The live display of a run, from the same ticks as the archive. It only formats: its caller prints.

mod lines;
pub mod objective;
pub mod screen;
mod watch;

use evidence::{TerminalText, Tick};
use figures::live::{Iteration, LiveFigures, LiveNumbers};
use workload::Workload;

use crate::document::terminal::Style;
use crate::document::terminal::line::{TextLine, Tone, rendered};
use crate::number;
pub use watch::WatchView;

/// The state of a run, from its ticks, in a line.
#[derive(Debug)]
pub struct LiveView {
    figures: LiveFigures,
    is_stopping: bool,
}

impl LiveView {
    /// The view of a run with so many loops that has not started.
    pub fn new(workload: &Workload, loops: u16) -> LiveView {
        LiveView { figures: LiveFigures::new(workload, loops), is_stopping: false }
    }

    /// Add one second of one loop.
    pub fn take(&mut self, tick: &Tick) {
        self.figures.take(tick);
    }

    /// From here on nothing new is begun.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// The whole seconds of which everything is here.
    pub fn complete_s(&self) -> u32 {
        self.figures.complete_s()
    }

    /// Whether a loop still offers load.
    pub fn is_under_way(&self) -> bool {
        self.figures.is_under_way()
    }

    /// The numbers of the last whole seconds.
    pub fn now(&self) -> LiveNumbers {
        self.figures.now()
    }

    /// One line of at most `width` columns, without a newline. If that is too narrow, the offered rate is left out first.
    pub fn line(&self, style: Style, width: usize) -> TerminalText {
        let now = self.now();
        let remaining =
            if self.is_stopping { "stopping: no new arrivals".to_owned() } else { remaining(&now) };
        let full = joined(&now, [loads(&now), failures(&now), remaining]);
        if full.width() <= width {
            return rendered([&full], style, width);
        }
        let throughput = format!("{} req/s", number::rate_or_none(Some(now.throughput_per_s)));
        let failed = format!("{} failed", number::count(now.failed));
        rendered([&joined(&now, [throughput, with_dropped(failed, &now), String::new()])], style, width)
    }
}

/// A line of these pieces, the most important first.
fn joined(now: &LiveNumbers, [loads, failures, remaining]: [String; 3]) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Strong, &progress(now)).add(Tone::Dim, " · ").add(Tone::Accent, &now.phase);
    let pieces = [
        (Tone::Normal, loads),
        (failure_tone(now), failures),
        (Tone::Normal, format!("p95 {}", number::time_or_none(now.p95_ms))),
        (Tone::Normal, format!("{} in flight", number::count(now.in_flight))),
        (Tone::Dim, remaining),
    ];
    for (tone, text) in pieces.iter().filter(|(_, text)| !text.is_empty()) {
        line.add(Tone::Dim, " · ").add(*tone, text);
    }
    line
}

fn progress(now: &LiveNumbers) -> String {
    let clock = |s: u32| number::clock(u64::from(s));
    match now.iterations {
        None => format!("{} / {}", clock(now.elapsed_s), clock(now.total_s)),
        Some(_) => clock(now.elapsed_s),
    }
}

fn remaining(now: &LiveNumbers) -> String {
    if let Some((done, planned)) = now.iterations {
        return format!("{} of {} done", number::count(done), number::count(planned));
    }
    match now.total_s.saturating_sub(now.elapsed_s) {
        0 => "waiting for the last responses".to_owned(),
        seconds => format!("{} left", number::duration(u64::from(seconds))),
    }
}

fn loads(now: &LiveNumbers) -> String {
    match now.iteration {
        Iteration::OneRequest => format!(
            "offered {}, throughput {}",
            number::rate(now.offered_per_s),
            number::rate(now.throughput_per_s)
        ),
        Iteration::SeveralRequests => format!(
            "throughput {} requests/s · iterations due {}/s",
            number::rate_or_none(Some(now.throughput_per_s)),
            number::rate_or_none(Some(now.offered_per_s))
        ),
    }
}

fn failures(now: &LiveNumbers) -> String {
    let share = number::share(now.failed, now.completed);
    let failed = match now.failed {
        0 => "0 failed".to_owned(),
        n => format!("{} failed ({share})", number::count(n)),
    };
    with_dropped(failed, now)
}

/// What was never sent has not failed.
fn with_dropped(failed: String, now: &LiveNumbers) -> String {
    match now.dropped {
        0 => failed,
        n => format!("{failed}, {} dropped", number::count(n)),
    }
}

fn failure_tone(now: &LiveNumbers) -> Tone {
    if now.failed + now.dropped > 0 { Tone::Bad } else { Tone::Good }
}
