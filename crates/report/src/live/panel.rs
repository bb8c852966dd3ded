//! The live display as a few lines that are rewritten in place.

use evidence::stop_rule::RuleState;
use evidence::{Histogram, Outcome, TerminalText};
use figures::live::LiveNumbers;

use super::lines::{LEVELS, titled};
use super::{LiveView, failure_tone, failures, history, loads, progress, remaining};
use crate::document::terminal::Style;
use crate::document::terminal::line::{TextLine, Tone, rendered};
use crate::number;

/// Columns of the progress bar.
const BAR: usize = 24;
/// Columns of the histogram.
const COLUMNS: usize = 32;
/// The most outcomes of failures that are listed, each on a line.
const MAX_OUTCOMES: usize = 3;
/// The most stop rules that are listed.
const MAX_RULES: usize = 4;
/// How many lines there are without stop rules.
const FIXED_LINES: usize = 8 + MAX_OUTCOMES;
/// The percentiles shown.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

impl LiveView {
    /// How many lines [`LiveView::panel`] has: the same during the whole run.
    pub fn panel_lines(&self) -> usize {
        FIXED_LINES + self.stop_rules.states().len().min(MAX_RULES + 1)
    }

    /// [`LiveView::panel_lines`] lines, none wider than `width` columns, for a terminal on which they are rewritten in place.
    pub fn panel(&self, style: Style, width: usize) -> TerminalText {
        let now = self.now();
        let numbers = [head(&now), load(&now), completed(&now), times(&now), histogram(&now)];
        let [rate, p95] = history::lines(&self.figures, width);
        let fixed = numbers.into_iter().chain([rate, p95, statuses(&now)]).chain(self.outcome_lines(&now));
        let lines: Vec<TextLine> = fixed.chain(self.rule_lines()).collect();
        rendered(&lines, style, width)
    }

    /// A line for each of the most frequent outcomes of failures, with an example: as many lines as there may be.
    fn outcome_lines(&self, now: &LiveNumbers) -> [TextLine; MAX_OUTCOMES] {
        std::array::from_fn(|index| {
            let Some((outcome, count)) = now.failures.get(index) else { return titled("") };
            let mut line = titled(if index == 0 { "failed" } else { "" });
            line.add(Tone::Bad, &format!("{} {outcome}", number::count(*count)));
            if let Some((_, example)) = self.examples.iter().find(|(known, _)| known == outcome) {
                line.add(Tone::Dim, "  ").add(Tone::Normal, example);
            }
            let more = now.failures.len().saturating_sub(MAX_OUTCOMES);
            if index + 1 == MAX_OUTCOMES && more > 0 {
                line.add(Tone::Dim, &format!(" · and {more} more"));
            }
            line
        })
    }

    /// A line for each stop rule, those that do not hold first.
    fn rule_lines(&self) -> Vec<TextLine> {
        let mut states: Vec<RuleState<'_>> = self.stop_rules.states().collect();
        states.sort_by_key(|state| state.failing_since_s.is_none());
        let mut lines: Vec<TextLine> = states.iter().take(MAX_RULES).map(stop_rule).collect();
        if states.len() > MAX_RULES {
            let mut more = titled("");
            more.add(Tone::Dim, &format!("{} more stop rules", states.len() - MAX_RULES));
            lines.push(more);
        }
        lines
    }
}

/// `p95(list) < 50ms · 61.2 ms so far · fails since 0:34, ends the run from 1:00 on`
fn stop_rule(state: &RuleState<'_>) -> TextLine {
    let RuleState { rule, value, failing_since_s } = *state;
    let mut line = titled("rule");
    line.add(Tone::Normal, &rule.source).add(Tone::Dim, " · ");
    match (value, failing_since_s) {
        (None, _) => line.add(Tone::Dim, "nothing counted yet"),
        (Some(value), None) => line.add(Tone::Good, &format!("{} · holds", rule.watched.so_far(value))),
        (Some(value), Some(since_s)) => {
            let fails =
                format!("{} · fails since {}", rule.watched.so_far(value), number::clock(since_s.into()));
            let delay_s = rule.not_before.as_secs_f64().ceil() as u64;
            let ends = format!(", ends the run from {} on", number::clock(delay_s));
            line.add(Tone::Bad, &fails).add(Tone::Dim, if delay_s > 0 { &ends } else { "" })
        }
    };
    line
}

fn head(now: &LiveNumbers) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Strong, &progress(now)).add(Tone::Normal, "  ");
    line.add(Tone::Accent, &bar(now)).add(Tone::Normal, "  ");
    line.add(Tone::Accent, &now.phase).add(Tone::Dim, &format!("  {}", remaining(now)));
    line
}

fn load(now: &LiveNumbers) -> TextLine {
    let mut line = titled("load");
    line.add(Tone::Normal, &loads(now)).add(Tone::Dim, " · ");
    line.add(Tone::Normal, &format!("{} in flight", number::count(now.in_flight)));
    line
}

fn completed(now: &LiveNumbers) -> TextLine {
    let mut line = titled("requests");
    line.add(Tone::Normal, &number::count(now.completed)).add(Tone::Dim, " · ");
    line.add(failure_tone(now), &failures(now));
    line
}

fn times(now: &LiveNumbers) -> TextLine {
    let mut line = titled("times");
    for (index, (name, quantile)) in PERCENTILES.into_iter().enumerate() {
        let time = now.response.quantile(quantile).finite_us().map(|us| us / 1_000.0);
        line.add(Tone::Dim, if index > 0 { " · " } else { "" });
        line.add(Tone::Normal, &format!("{name} {}", number::time_or_none(time)));
    }
    let longest = now.response.max_us().map(|us| us as f64 / 1_000.0);
    line.add(Tone::Dim, " · ").add(Tone::Normal, &format!("max {}", number::time_or_none(longest)));
    line
}

/// The distribution of response times between the shortest and the longest.
fn histogram(now: &LiveNumbers) -> TextLine {
    let mut line = titled("");
    if let (Some(shortest), Some(longest)) = (now.response.min_us(), now.response.max_us()) {
        let time = |us: u64| number::time(us as f64 / 1_000.0);
        line.add(Tone::Dim, &format!("{} ", time(shortest)));
        line.add(Tone::Accent, &columns(&now.response, shortest, longest));
        line.add(Tone::Dim, &format!(" {}", time(longest)));
    }
    line
}

/// How many requests were answered with a status of each class; those with an expected one are `ok`.
fn statuses(now: &LiveNumbers) -> TextLine {
    let mut line = titled("answers");
    let ok = now.completed - now.failed;
    line.add(Tone::Good, &format!("{} ok", number::count(ok)));
    for class in ["check", "4xx", "429", "5xx", "503", "gRPC status", "no answer"] {
        let of_class = now.failures.iter().filter(|(outcome, _)| class_of(*outcome) == class);
        let count: u64 = of_class.map(|(_, count)| count).sum();
        if count > 0 {
            line.add(Tone::Dim, " · ").add(Tone::Bad, &format!("{} {class}", number::count(count)));
        }
    }
    line
}

fn class_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Check => "check",
        Outcome::Http4xx => "4xx",
        Outcome::Http429 => "429",
        Outcome::Http5xx => "5xx",
        Outcome::Http503 => "503",
        Outcome::Grpc(_) => "gRPC status",
        _ => "no answer",
    }
}

/// The histogram between two times, in columns of equal ratio: on a linear scale the few long times would take nearly all
/// columns. The fullest column has the full height, an empty column is blank.
fn columns(response: &Histogram, shortest: u64, longest: u64) -> String {
    let low = (shortest.max(1) as f64).ln();
    let width = ((longest.max(1) as f64).ln() - low).max(f64::MIN_POSITIVE);
    let mut counts = [0u64; COLUMNS];
    for (from, _, count) in response.buckets() {
        let column = ((from.max(1) as f64).ln() - low) / width * COLUMNS as f64;
        counts[(column as usize).min(COLUMNS - 1)] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let level = |count: u64| match count {
        0 => ' ',
        count => LEVELS[((count * LEVELS.len() as u64).div_ceil(most) - 1).min(7) as usize],
    };
    counts.into_iter().map(level).collect()
}

fn bar(now: &LiveNumbers) -> String {
    let by_time = f64::from(now.elapsed_s) / f64::from(now.total_s.max(1));
    let by_number = now.iterations.map_or(0.0, |(done, planned)| done as f64 / planned.max(1) as f64);
    let filled = ((by_time.max(by_number) * BAR as f64) as usize).min(BAR);
    "━".repeat(filled) + &"┄".repeat(BAR - filled)
}
