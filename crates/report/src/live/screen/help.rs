//! The keys.

use super::ScreenChoice;
use crate::document::terminal::line::{TextLine, Tone};
use crate::number;

const KEYS: [(&str, &str); 8] = [
    ("↑ ↓, k j, e", "another endpoint for the heat map; above the first come all"),
    ("+ -, s", "seconds in a column of the heat map: 1, 5, 30, 300"),
    ("p, space", "freeze the screen, never the load; other keys still work"),
    ("m", "mark an event: its time is shown in the report"),
    ("?, h", "this help; the same key or any other leaves it"),
    ("q q, Ctrl-C", "stop: wait for what is in flight, then judge; again: at once"),
    ("Ctrl-Z", "suspend the program, and with it the load"),
    ("", ""),
];

const WORDS: [&str; 12] = [
    "Numbers are of the last five seconds, and of the whole run so far.",
    "",
    "Objectives are decided by the rule of the verdict, from the requests that",
    "have ended. It is not a verdict: that comes at the end, with what is in",
    "flight now, stalls of the generator and the rules of validity.",
    "0.8 % of 5 %   so many were slow or failed, of so many that may be.",
    "·├─●─┤··┃···   the same on a wide screen: that share at ●, its 95 % limits",
    "               at ├ ┤, and what is allowed at ┃.",
    "\"Decided in about …\" holds if shares and arrivals go on as they are.",
    "",
    "Messages are kept and printed when this screen is left.",
    "",
];

pub(super) fn lines() -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut title = TextLine::new();
    title.add(Tone::Strong, " Keys");
    lines.push(title);
    for (keys, what) in KEYS {
        let mut line = TextLine::new();
        line.add(Tone::Accent, &format!("  {keys}")).pad_to(16).add(Tone::Normal, what);
        lines.push(line);
    }
    for text in WORDS {
        let mut line = TextLine::new();
        line.add(Tone::Normal, &format!(" {text}"));
        lines.push(line);
    }
    lines
}

/// The line at the bottom.
pub(super) fn keys(choice: ScreenChoice) -> TextLine {
    let pause = if choice.is_paused { "continue" } else { "pause" };
    let help = if choice.is_help { "back" } else { "help" };
    let mut line = TextLine::new();
    for (key, what) in
        [("q", "stop"), ("p", pause), ("↑↓", "endpoint"), ("+-", "scale"), ("m", "mark"), ("?", help)]
    {
        line.add(Tone::Strong, &format!(" {key}")).add(Tone::Dim, &format!(" {what} "));
    }
    line
}

/// The line at the bottom while it is asked whether the run shall be stopped.
pub(super) fn asking(has_objectives: bool) -> TextLine {
    let mut line = TextLine::new();
    let why = if has_objectives { " An incomplete run cannot pass." } else { " The run is not complete." };
    line.add(Tone::Warn, why).add(Tone::Strong, "  q").add(Tone::Dim, " stop it");
    line.add(Tone::Strong, "  any other key").add(Tone::Dim, " go on");
    line
}

/// The line at the bottom once the load is over.
pub(super) fn stopping(in_flight: u64) -> TextLine {
    let mut line = TextLine::new();
    let requests = if in_flight == 1 { "request" } else { "requests" };
    let waiting = format!(" waiting for {} {requests} in flight ", number::count(in_flight));
    line.add(Tone::Warn, &waiting).add(Tone::Strong, " q").add(Tone::Dim, " end at once");
    line
}
