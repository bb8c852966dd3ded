//! A card with the verdict of a run, its objectives and its first numbers: small enough for a chat or a pull request.

use std::fmt::Write as _;

use evidence::Verdict;

use crate::document::markdown;
use crate::drawing::{self, Background, Palette};
use crate::number;
use crate::summary::{ClaimSummary, Row, Summary};

/// The most objectives that a card lists.
const MAX_OBJECTIVES: usize = 6;
const WIDTH: f64 = 640.0;
const MARGIN: f64 = 20.0;
const LINE: f64 = 24.0;
/// Where the texts of objectives begin, after their verdicts.
const INDENT: f64 = 124.0;
/// The columns of the verdict's sentence, and the lines that it may take.
const COLUMNS: usize = 92;
const MAX_LINES: usize = 3;
/// The columns of the run's name.
const NAME_COLUMNS: usize = 68;
/// Before the name of a phase.
const OF_PHASE: &str = "Numbers of phase";

/// A verdict with its objectives and numbers.
#[derive(Debug)]
pub struct VerdictCard {
    name: String,
    when: String,
    verdict: Verdict,
    because: String,
    objectives: Vec<Objective>,
    /// How many objectives are not listed.
    left_out: usize,
    /// The phase that the numbers are of, where there are several.
    phase: Option<String>,
    /// Name and value of each number.
    numbers: Vec<(&'static str, String)>,
}

#[derive(Debug)]
struct Objective {
    verdict: Verdict,
    name: String,
    text: String,
    observed: String,
}

impl VerdictCard {
    /// The card of a run.
    pub fn new(summary: &Summary) -> VerdictCard {
        let mut claims: Vec<&ClaimSummary> = summary.claims.iter().collect();
        claims.sort_by_key(|shown| shown.urgency());
        let mut objectives: Vec<Objective> = claims.into_iter().map(objective).collect();
        let left_out = objectives.len().saturating_sub(MAX_OBJECTIVES);
        objectives.truncate(MAX_OBJECTIVES);
        let header = &summary.header;
        VerdictCard {
            name: header.name.clone(),
            when: format!("{} · {}", header.started_at, number::length(header.elapsed_s)),
            verdict: summary.judgement.verdict,
            because: summary.judgement.because.clone(),
            objectives,
            left_out,
            phase: phase(summary),
            numbers: numbers(summary),
        }
    }

    /// As Markdown, with texts of others escaped.
    pub fn markdown(&self) -> String {
        let text = |raw: &str| markdown::text(raw, 300);
        let VerdictCard { name, when, verdict, because, .. } = self;
        let mut out = format!(
            "**{} {verdict}** {} · {}\n\n{}\n",
            markdown::sign(*verdict),
            text(name),
            text(when),
            text(because)
        );
        if !self.objectives.is_empty() {
            out.push_str("\n| | objective | observed |\n| --- | --- | ---: |\n");
        }
        for Objective { verdict, name, text: of, observed } in &self.objectives {
            let sign = markdown::sign(*verdict);
            // Writing to a String cannot fail.
            let _ =
                writeln!(out, "| {sign} {verdict} | **{}** {} | {} |", text(name), text(of), text(observed));
        }
        if self.left_out > 0 {
            let _ = writeln!(out, "\n{} more objectives are in the report.", self.left_out);
        }
        if !self.numbers.is_empty() {
            let numbers = self.numbers.iter().map(|(name, value)| format!("{name} **{}**", text(value)));
            let _ = writeln!(out, "\n{}", numbers.collect::<Vec<_>>().join(" · "));
        }
        if let Some(phase) = &self.phase {
            let _ = writeln!(out, "\n{OF_PHASE} {}", text(phase));
        }
        out
    }

    /// As an SVG file.
    pub fn svg(&self, background: Background) -> String {
        let mut drawing = CardDrawing { palette: Palette::of(background), out: String::new(), y: 0.0 };
        drawing.head(self);
        drawing.objectives(self);
        drawing.numbers(self);
        drawing.file(self.verdict)
    }
}

/// A card that is drawn from its top to its bottom.
struct CardDrawing {
    palette: Palette,
    out: String,
    /// The baseline of the next line.
    y: f64,
}

impl CardDrawing {
    /// A text at the column `x` of the present line, in a colour of the palette, cut to so many characters.
    fn text(&mut self, x: f64, style: TextStyle, text: &str, columns: usize) {
        let TextStyle { size, weight, colour, anchor } = style;
        let colour = self.palette.get(colour);
        let attributes = format!(
            "font-size=\"{size}\" font-weight=\"{weight}\" text-anchor=\"{anchor}\" fill=\"{colour}\""
        );
        drawing::text(&mut self.out, (x, self.y), &attributes, text, columns);
    }

    fn head(&mut self, card: &VerdictCard) {
        self.y = 40.0;
        self.text(MARGIN, TextStyle::bold(26.0, colour_of(card.verdict)), &card.verdict.to_string(), 20);
        let ended = TextStyle { anchor: "end", ..TextStyle::plain(11.0, "soft") };
        self.text(WIDTH - MARGIN, ended, &card.when, 50);
        self.y = 64.0;
        self.text(MARGIN, TextStyle::bold(14.0, "ink"), &card.name, NAME_COLUMNS);
        self.y = 88.0;
        for part in crate::text::wrap(&card.because.replace('`', ""), COLUMNS).iter().take(MAX_LINES) {
            self.text(MARGIN, TextStyle::plain(12.5, "ink"), part, COLUMNS);
            self.y += 17.0;
        }
        self.y += 8.0;
    }

    fn objectives(&mut self, card: &VerdictCard) {
        let line = self.palette.get("line");
        for Objective { verdict, name, text, observed } in &card.objectives {
            let (above, right) = (self.y - 16.0, WIDTH - MARGIN);
            let _ = write!(self.out, "<path d=\"M{MARGIN} {above:.1}H{right}\" stroke=\"{line}\"/>");
            self.text(MARGIN, TextStyle::bold(11.0, colour_of(*verdict)), &verdict.to_string(), 14);
            let described = if text.is_empty() { name.clone() } else { format!("{name}: {text}") };
            self.text(INDENT, TextStyle::plain(12.0, "ink"), &described, 60);
            let ended = TextStyle { anchor: "end", ..TextStyle::plain(12.0, "soft") };
            self.text(right, ended, observed, 20);
            self.y += LINE;
        }
        if card.left_out > 0 {
            let more = format!("{} more objectives are in the report", card.left_out);
            self.text(INDENT, TextStyle::plain(12.0, "soft"), &more, 60);
            self.y += LINE;
        }
        self.y += 14.0;
    }

    fn numbers(&mut self, card: &VerdictCard) {
        if card.numbers.is_empty() {
            return;
        }
        let width = (WIDTH - 2.0 * MARGIN) / card.numbers.len() as f64;
        for (at, (name, value)) in card.numbers.iter().enumerate() {
            let x = MARGIN + at as f64 * width;
            self.text(x, TextStyle::plain(11.0, "soft"), name, 16);
            self.y += 20.0;
            self.text(x, TextStyle::bold(17.0, "ink"), value, 14);
            self.y -= 20.0;
        }
        self.y += 40.0;
        if let Some(phase) = &card.phase {
            self.text(MARGIN, TextStyle::plain(11.0, "soft"), &format!("{OF_PHASE} {phase}"), COLUMNS);
            self.y += 14.0;
        }
    }

    fn file(mut self, verdict: Verdict) -> String {
        let (height, colour) = (self.y.ceil(), self.palette.get(colour_of(verdict)));
        let _ = write!(self.out, "<rect width=\"6\" height=\"{height}\" fill=\"{colour}\"/>");
        drawing::file(WIDTH, height, &self.palette, "", &self.out)
    }
}

/// How a text looks.
struct TextStyle {
    size: f64,
    weight: u16,
    /// Its name in the palette.
    colour: &'static str,
    anchor: &'static str,
}

impl TextStyle {
    fn plain(size: f64, colour: &'static str) -> TextStyle {
        TextStyle { size, weight: 400, colour, anchor: "start" }
    }

    fn bold(size: f64, colour: &'static str) -> TextStyle {
        TextStyle { weight: 650, ..TextStyle::plain(size, colour) }
    }
}

fn objective(shown: &ClaimSummary) -> Objective {
    Objective {
        verdict: shown.claim.verdict,
        name: shown.claim.name.clone(),
        text: shown.explained(),
        observed: shown.observed(),
    }
}

/// The phase of the headline, if the run has several.
fn phase(summary: &Summary) -> Option<String> {
    let headline = summary.headline.as_ref().filter(|_| summary.phases.len() > 1)?;
    Some(headline.phase.clone())
}

/// The numbers that a reader looks for first, all of the phase of the headline.
fn numbers(summary: &Summary) -> Vec<(&'static str, String)> {
    let outcomes = summary.headline.as_ref().map_or(&summary.outcomes, |headline| &headline.outcomes);
    if !outcomes.are_counted() {
        return Vec::new();
    }
    let mut numbers = vec![("requests", outcomes.completed_text()), ("failed", outcomes.failed_share())];
    let is_shown = |row: &&Row| summary.headline.as_ref().is_none_or(|of| of.phase == row.phase);
    let arrivals = summary.rows.iter().filter(is_shown).filter_map(|row| row.arrivals);
    let dropped: u64 = arrivals.map(|arrivals| arrivals.dropped()).sum();
    if dropped > 0 {
        numbers.push(("dropped", number::count(dropped)));
    }
    if let Some(headline) = &summary.headline {
        let times = &headline.response_time;
        numbers.push(("throughput", number::or_not_measured(headline.throughput_per_s, number::rate)));
        numbers.push(("p50", number::time_or_none(times.p50_ms)));
        numbers.push(("p95", crate::summary::quantile_text(times, 0.95, times.p95_ms)));
        numbers.push(("p99", crate::summary::quantile_text(times, 0.99, times.p99_ms)));
    }
    numbers
}

fn colour_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
        Verdict::Measured => "measured",
    }
}
