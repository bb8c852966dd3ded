//! The report as text for a terminal: verdict first, then why, then the numbers.

pub(crate) mod line;
mod phases;
mod streams;
pub(crate) mod table;

use evidence::{Claim, Finding, Severity, Verdict};

use crate::number;
use crate::profiles::window::in_words;
use crate::source;
use crate::summary::{Arrivals, CpuUse, End, Row, Summary, Times, quantile_text};
use line::{Line, MIN_WIDTH, Tone, fit, wrap};
use table::{Cell, Column, Table};

/// Where the text of the last lines begins.
const FOOT: usize = 11;
/// Where what the source of an imported run says begins.
const SOURCE: usize = 28;

/// How many findings of one rule and severity are told one by one.
const FINDINGS_OF_A_RULE: usize = 6;

/// Whether escape codes for colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape codes.
    Plain,
    /// ANSI colours.
    Colour,
}

/// The report as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(summary: &Summary, style: Style, width: usize) -> String {
    let mut page = Page { width: width.max(MIN_WIDTH), lines: Vec::new() };
    page.verdict(summary);
    page.claims(summary);
    page.findings(&summary.judgement.findings);
    page.source(summary);
    for phase in summary.phases_with_rows() {
        page.phase(summary, phase);
    }
    page.request_phases(summary);
    page.streams(summary);
    page.foot(summary);
    let mut out = String::new();
    for line in &page.lines {
        out.push_str(&line.render(style, page.width));
        out.push('\n');
    }
    out
}

/// The tone of a verdict.
fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail => Tone::Bad,
        Verdict::Inconclusive | Verdict::Invalid => Tone::Warn,
        Verdict::Measured => Tone::Accent,
    }
}

pub(crate) fn severity_tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fail => Tone::Bad,
        Severity::Invalid | Severity::Inconclusive | Severity::Caution => Tone::Warn,
        Severity::Info => Tone::Dim,
    }
}

struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn push(&mut self, line: &Line) {
        self.lines.push(line.clone());
    }

    fn gap(&mut self) {
        self.lines.push(Line::new());
    }

    fn heading(&mut self, text: &str) {
        self.gap();
        self.push(Line::new().add(Tone::Strong, text));
    }

    /// Text wrapped at `indent`, the first line preceded by `label` inside the indent.
    fn paragraph(&mut self, (label, indent): (&str, usize), tone: Tone, text: &str) {
        for (i, part) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let mut line = Line::new();
            line.add(Tone::Dim, if i == 0 { label } else { "" }).pad_to(indent).add(tone, part);
            self.push(&line);
        }
    }

    fn verdict(&mut self, summary: &Summary) {
        let verdict = summary.judgement.verdict;
        let name = verdict.to_string();
        let indent = name.len() + 2;
        for (i, part) in wrap(&summary.judgement.because, self.width - indent).iter().enumerate() {
            let mut line = Line::new();
            line.add(tone(verdict), if i == 0 { &name } else { "" }).pad_to(indent).add(Tone::Strong, part);
            self.push(&line);
        }
        if summary.judgement.because.trim().is_empty() {
            self.push(Line::new().add(tone(verdict), &name));
        }
        let header = &summary.header;
        let span = number::span(u64::from(header.seconds));
        let mut text = format!("{} · {} · {span}", header.name, header.started_at);
        if header.end == End::Completed {
            text.push_str(" · completed");
        }
        self.paragraph(("", 0), Tone::Dim, &text);
        if header.end != End::Completed {
            self.paragraph(("", 0), Tone::Warn, &format!("The run was {}.", header.end_in_words()));
        }
    }

    fn claims(&mut self, summary: &Summary) {
        if summary.claims.is_empty() {
            return;
        }
        self.heading("Claims");
        for asked in &summary.claims {
            let claim = &asked.claim;
            let mut head = Line::new();
            head.add(tone(claim.verdict), &claim.verdict.to_string()).add(Tone::Normal, "  ");
            head.add(Tone::Accent, &claim.name).add(Tone::Normal, "  ");
            let text = if head.width() + claim.text.chars().count() <= self.width { &claim.text } else { "" };
            self.push(head.add(Tone::Dim, text));
            if text.is_empty() {
                self.paragraph(("", 6), Tone::Dim, &claim.text);
            }
            let mut seen = vec![glued(&asked.observed()), glued(&format!("asked {}", asked.bound()))];
            seen.extend(asked.interval().map(|i| glued(&format!("95 % interval {i}"))));
            seen.push(glued(&format!("n = {}", number::count(claim.samples))));
            let seen = seen.join(" · ");
            self.paragraph(("", 6), Tone::Normal, &seen);
            if claim.verdict != Verdict::Pass {
                for reason in brief_reasons(claim, &summary.judgement.findings) {
                    self.paragraph(("", 6), tone(claim.verdict), &reason);
                }
            }
        }
    }

    /// Findings of one rule and severity are told together: what it found each time, then once why it
    /// matters and what to do.
    fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.heading("Findings");
        for alike in findings.chunk_by(|a, b| (&a.rule, a.severity) == (&b.rule, b.severity)) {
            let first = &alike[0];
            let mut head = Line::new();
            head.add(severity_tone(first.severity), &first.severity.to_string());
            self.push(head.add(Tone::Accent, &format!("  {} {}", first.rule, first.title)));
            for finding in alike.iter().take(FINDINGS_OF_A_RULE) {
                self.paragraph(("  –", 6), Tone::Normal, &told_with_scope(finding));
            }
            if alike.len() > FINDINGS_OF_A_RULE {
                let more = format!("and {} more like these", alike.len() - FINDINGS_OF_A_RULE);
                self.paragraph(("  –", 6), Tone::Dim, &more);
            }
            self.paragraph(("why", 6), Tone::Dim, &first.why);
            self.paragraph(("next", 6), Tone::Normal, &first.next);
        }
    }

    fn phase(&mut self, summary: &Summary, phase: &str) {
        let span = summary.phases.iter().find(|p| p.name == phase);
        let when = span.map_or_else(String::new, |p| {
            format!("  {} to {} s", number::plain(p.start_s), number::plain(p.end_s))
        });
        let name = if phase.is_empty() { "(no phase)" } else { phase };
        self.gap();
        self.push(Line::new().add(Tone::Strong, &format!("Phase {name}")).add(Tone::Dim, &when));
        let table = endpoints(summary.rows_of(phase));
        self.lines.extend(table.lines(self.width));
    }

    fn request_phases(&mut self, summary: &Summary) {
        if let Some(table) = phases::table(summary) {
            self.gap();
            self.push(
                Line::new()
                    .add(Tone::Strong, "Requests")
                    .add(Tone::Dim, "  where their time goes: mean, share"),
            );
            self.lines.extend(table.lines(self.width));
        }
    }

    fn streams(&mut self, summary: &Summary) {
        if let Some(table) = streams::table(summary) {
            self.gap();
            self.push(
                Line::new()
                    .add(Tone::Strong, "Streams")
                    .add(Tone::Dim, "  messages, and the time until the first one came"),
            );
            self.lines.extend(table.lines(self.width));
        }
    }

    fn legend(&mut self, summary: &Summary) {
        if summary.rows.is_empty() {
            return;
        }
        let mut text = match &summary.header.source {
            None => "Times run from the instant a request was due to its last byte, of successes.".to_owned(),
            Some(source) => {
                format!("Times are those of {}, from when a request was sent, of successes.", source.tool)
            }
        };
        let rough = |row: &Row| [0.9, 0.95, 0.99].into_iter().any(|q| row.response_time.is_rough(q));
        if summary.rows.iter().any(rough) {
            text.push_str(" ~ marks a quantile with fewer than 20 answers beyond it.");
        }
        self.paragraph(("", 0), Tone::Dim, &text);
    }

    fn arrivals(&mut self, label: &str, arrivals: &Arrivals) {
        let count = number::count;
        let text = format!(
            "{} due, {} started, {} dropped (cap {}, late {})",
            count(arrivals.scheduled),
            count(arrivals.started),
            count(arrivals.dropped()),
            count(arrivals.dropped_cap),
            count(arrivals.dropped_late)
        );
        let tone = if arrivals.dropped() > 0 { Tone::Warn } else { Tone::Normal };
        self.paragraph((label, FOOT), tone, &text);
    }

    /// Where an imported run comes from.
    fn source(&mut self, summary: &Summary) {
        let Some(source) = &summary.header.source else { return };
        self.heading(&source::title(source));
        for (label, text) in source::lines(source) {
            self.paragraph((&fit(&label, SOURCE - 2), SOURCE), Tone::Normal, &text);
        }
    }

    fn foot(&mut self, summary: &Summary) {
        self.legend(summary);
        self.gap();
        if let Some(arrivals) = summary.arrivals {
            self.arrivals("arrivals", &arrivals);
        }
        for scenario in summary.scenarios.iter().filter(|_| summary.scenarios.len() > 1) {
            if let Some(arrivals) = scenario.arrivals {
                self.arrivals(&format!("  {}", fit(&scenario.name, FOOT - 3)), &arrivals);
            }
        }
        for (name, users) in summary.virtual_users() {
            let text = match summary.scenarios.len() {
                1 => users.in_words(),
                _ => format!("{name} {}", users.in_words()),
            };
            self.paragraph(("users", FOOT), Tone::Normal, &text);
        }
        let books = &summary.books;
        let mut text =
            format!("{} ended, {} failed", number::count(books.answered()), number::count(books.failed()));
        for (outcome, n) in books.failures() {
            text.push_str(&format!(" · {outcome} {}", number::count(n)));
        }
        self.paragraph(("requests", FOOT), if books.failed() > 0 { Tone::Warn } else { Tone::Normal }, &text);
        let cpu: Vec<String> = summary.cpu.iter().map(cpu_in_words).collect();
        self.paragraph(("CPU", FOOT), Tone::Normal, &cpu.join("; "));
        let lag = &summary.generator.start_lag;
        let times = format!(
            "p50 {}, p99 {}, max {}",
            number::time_or_none(lag.p50_ms),
            number::time_or_none(lag.p99_ms),
            number::time_or_none(lag.max_ms)
        );
        self.paragraph(("start lag", FOOT), Tone::Normal, &times);
        if let Some(folded @ 1..) = summary.generator.folded_endpoints {
            let text =
                format!("{} names more than are told apart; they are counted as one", number::count(folded));
            self.paragraph(("endpoints", FOOT), Tone::Warn, &text);
        }
        let kept = summary.failed.len() + summary.slowest.len();
        if kept > 0 {
            let text = format!(
                "{} failed and {} slowest exchanges kept whole",
                summary.failed.len(),
                summary.slowest.len()
            );
            self.paragraph(("exemplars", FOOT), Tone::Normal, &text);
        }
        for profiled in &summary.profiles {
            self.paragraph(("profile", FOOT), Tone::Normal, &in_words(profiled));
        }
        for (what, path) in &summary.files {
            self.paragraph((what, FOOT.max(what.len() + 1)), Tone::Accent, path);
        }
    }
}

/// A claim's reasons, where those that a finding tells in full are named by its rule alone; cautions change
/// no verdict and are left to the findings.
fn brief_reasons(claim: &Claim, findings: &[Finding]) -> Vec<String> {
    let told_by =
        |reason: &String| findings.iter().find(|f| reason.starts_with(&format!("{} {} (", f.rule, f.title)));
    let mut plain = Vec::new();
    let mut rules: Vec<&str> = Vec::new();
    for reason in &claim.reasons {
        match told_by(reason) {
            None => plain.push(reason.clone()),
            Some(_) if reason.contains("(caution)") || reason.contains("(info)") => {}
            Some(finding) if rules.contains(&finding.rule.as_str()) => {}
            Some(finding) => rules.push(&finding.rule),
        }
    }
    if !rules.is_empty() {
        plain.push(format!("because of {}, below", rules.join(", ")));
    }
    plain
}

/// What was found, with the parts of its scope that the sentence does not name itself.
fn told_with_scope(finding: &Finding) -> String {
    let scope = &finding.scope;
    let named = [
        ("phase", &scope.phase),
        ("scenario", &scope.scenario),
        ("endpoint", &scope.endpoint),
        ("objective", &scope.objective),
    ];
    let untold = named.iter().filter_map(|(what, name)| {
        let name = name.as_ref().filter(|name| !finding.what.contains(name.as_str()))?;
        Some(format!("{what} {name}"))
    });
    let untold: Vec<String> = untold.collect();
    if untold.is_empty() { finding.what.clone() } else { format!("{} ({})", finding.what, untold.join(", ")) }
}

/// Text that is not broken between its words.
fn glued(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

fn cpu_in_words(cpu: &CpuUse) -> String {
    let Some(seconds) = cpu.cpu_seconds else { return format!("{} {}", cpu.target, cpu.note) };
    let mut text = format!("{} {}", cpu.target, number::cpu(seconds));
    if let Some(per_1000) = cpu.per_1000_requests_s {
        text.push_str(&format!(" ({} per 1,000 requests)", number::cpu(per_1000)));
    }
    if !cpu.note.is_empty() {
        text.push_str(&format!(", {}", cpu.note));
    }
    text
}

const COLUMNS: [Column; 12] = [
    Column { head: "dropped", rank: 5 },
    Column { head: "requests", rank: 0 },
    Column { head: "done/s", rank: 6 },
    Column { head: "failed", rank: 0 },
    Column { head: "avg", rank: 9 },
    Column { head: "p50", rank: 2 },
    Column { head: "p90", rank: 8 },
    Column { head: "p95", rank: 0 },
    Column { head: "p99", rank: 1 },
    Column { head: "max", rank: 3 },
    Column { head: "svc p50", rank: 11 },
    Column { head: "svc p95", rank: 10 },
];

fn endpoints<'a>(rows: impl Iterator<Item = &'a Row>) -> Table {
    let rows: Vec<&Row> = rows.collect();
    // Several scenarios may have an endpoint of one name: then the scenario tells them apart.
    let is_one_of_several = |row: &Row| rows.iter().filter(|r| r.label() == row.label()).count() > 1;
    let label = |row: &Row| match is_one_of_several(row) {
        true => format!("{} / {}", row.scenario, row.label()),
        false => row.label().to_owned(),
    };
    let cells = |row: &&Row| (label(row), cells(row));
    Table { label: "endpoint", columns: COLUMNS.to_vec(), rows: rows.iter().map(cells).collect() }
}

fn cells(row: &Row) -> Vec<Cell> {
    let outcomes = &row.outcomes;
    let warn = |text: String, n: u64| Cell { text, tone: if n > 0 { Tone::Bad } else { Tone::Normal } };
    let dropped = row.arrivals.map(|a| a.dropped());
    let times = if row.has_requests() { &row.response_time } else { &row.iteration_time };
    let mut cells = vec![
        warn(number::count_or_none(dropped), dropped.unwrap_or(0)),
        Cell::plain(number::count_or_none(outcomes.requests)),
        Cell::plain(
            row.completed_per_s
                .map_or_else(|| number::NOT_MEASURED.to_owned(), |r| number::significant(r, 4)),
        ),
        warn(number::share(outcomes.failed(), outcomes.answered()), outcomes.failed()),
    ];
    cells.extend(quantiles(times).map(Cell::plain));
    let service = &row.service_time;
    cells.push(Cell::plain(number::time_or_none(service.p50_ms)));
    cells.push(Cell::plain(quantile_text(service, 0.95, service.p95_ms)));
    cells
}

fn quantiles(times: &Times) -> [String; 6] {
    [
        number::time_or_none(times.avg_ms),
        number::time_or_none(times.p50_ms),
        quantile_text(times, 0.90, times.p90_ms),
        quantile_text(times, 0.95, times.p95_ms),
        quantile_text(times, 0.99, times.p99_ms),
        number::time_or_none(times.max_ms),
    ]
}
