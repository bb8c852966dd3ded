//! A comparison as text for a terminal: what it is, what doubts it, the numbers side by side, what follows.

use evidence::SidedFinding;

use super::words;
use crate::number;
use crate::summary::{Comparison, EndpointTable, Measure, PhaseTable};
use crate::terminal::line::{Line, MIN_WIDTH, Tone, wrap};
use crate::terminal::table::{Cell, Column, Table};
use crate::terminal::{Style, severity_tone};

/// How many findings of one rule are told one by one.
const FINDINGS_OF_A_RULE: usize = 6;
/// How many observed series of a target are shown; the other reports have more.
const SERIES: usize = 10;

/// The heads of the columns of each side: its value, its difference from A, its ratio to A.
const HEADS: [[&str; 3]; 10] = [
    ["A", "", ""],
    ["B", "B − A", "B ÷ A"],
    ["C", "C − A", "C ÷ A"],
    ["D", "D − A", "D ÷ A"],
    ["E", "E − A", "E ÷ A"],
    ["F", "F − A", "F ÷ A"],
    ["G", "G − A", "G ÷ A"],
    ["H", "H − A", "H ÷ A"],
    ["I", "I − A", "I ÷ A"],
    ["J", "J − A", "J ÷ A"],
];

/// The comparison as text, no line wider than `width` columns; `width` below 20 counts as 20.
pub fn terminal(comparison: &Comparison, style: Style, width: usize) -> String {
    let mut page = Page { width: width.max(MIN_WIDTH), lines: Vec::new() };
    page.head(comparison);
    page.findings(&comparison.judgement.findings);
    for phase in &comparison.phases {
        page.phase(phase, comparison.sides.len());
    }
    for pair in &comparison.profiles {
        page.heading(&format!("Profile {}", words::profile_title(pair)));
        for line in words::profile_text(pair).lines() {
            page.line(&[(Tone::Normal, line)]);
        }
    }
    page.foot(comparison);
    let lines = page.lines.iter().map(|line| line.render(style, page.width) + "\n");
    lines.collect()
}

struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn line(&mut self, pieces: &[(Tone, &str)]) {
        let mut line = Line::new();
        for (tone, text) in pieces {
            line.add(*tone, text);
        }
        self.lines.push(line);
    }

    fn heading(&mut self, text: &str) {
        self.line(&[]);
        self.line(&[(Tone::Strong, text)]);
    }

    fn paragraph(&mut self, (label, indent): (&str, usize), tone: Tone, text: &str) {
        for (i, part) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let mut line = Line::new();
            line.add(Tone::Dim, if i == 0 { label } else { "" }).pad_to(indent).add(tone, part);
            self.lines.push(line);
        }
    }

    fn head(&mut self, comparison: &Comparison) {
        let judgement = &comparison.judgement;
        let verdict = judgement.verdict.to_string();
        self.paragraph((&verdict, verdict.len() + 2), Tone::Strong, &judgement.because);
        for side in &comparison.sides {
            let run = &side.run;
            let span = number::span(u64::from(run.seconds));
            let text = format!(
                "{} · {} · {} · {span} · {}",
                side.name,
                run.name,
                run.started_at,
                run.end_in_words()
            );
            self.paragraph((side.letter, 3), Tone::Normal, &text);
        }
        for told in &comparison.unmatched {
            self.paragraph(("", 3), Tone::Warn, told);
        }
    }

    fn findings(&mut self, findings: &[SidedFinding]) {
        if findings.is_empty() {
            return;
        }
        self.heading("Findings");
        for alike in findings
            .chunk_by(|a, b| (&a.finding.rule, a.finding.severity) == (&b.finding.rule, b.finding.severity))
        {
            let first = &alike[0].finding;
            let severity = first.severity.to_string();
            let title = format!("  {} {}", first.rule, first.title);
            self.line(&[(severity_tone(first.severity), &severity), (Tone::Accent, &title)]);
            for found in alike.iter().take(FINDINGS_OF_A_RULE) {
                let text = format!("[{}] {}", words::letters(&found.sides), found.finding.what);
                self.paragraph(("  –", 6), Tone::Normal, &text);
            }
            if alike.len() > FINDINGS_OF_A_RULE {
                let more = format!("and {} more like these", alike.len() - FINDINGS_OF_A_RULE);
                self.paragraph(("  –", 6), Tone::Dim, &more);
            }
            self.paragraph(("why", 6), Tone::Dim, &first.why);
            self.paragraph(("next", 6), Tone::Normal, &first.next);
        }
    }

    fn phase(&mut self, phase: &PhaseTable, sides: usize) {
        if phase.endpoints.is_empty() && phase.costs.is_empty() && phase.series.is_empty() {
            return;
        }
        let length = |length: &Option<f64>| match length {
            Some(seconds) => format!("{} s", number::plain(*seconds)),
            None => "absent".to_owned(),
        };
        let lengths: Vec<String> = phase.covered_s.iter().map(length).collect();
        let lengths = match lengths.first() {
            Some(first) if lengths.iter().all(|length| length == first) => first.clone(),
            _ => lengths.join(", "),
        };
        self.heading(&format!("Phase {}  {lengths}", phase.name));
        for endpoint in &phase.endpoints {
            self.endpoint(endpoint, sides);
        }
        if !phase.costs.is_empty() {
            self.table("What a request cost", phase.costs.iter(), sides);
        }
        for target in &phase.series {
            let striking = words::striking(target, SERIES);
            if !striking.is_empty() {
                let (shown, all) = (striking.len(), target.series.len());
                let title = format!("{}: means that moved most ({shown} of {all} series)", target.target);
                self.table(&title, striking.into_iter().map(|pair| &pair.mean), sides);
            }
        }
    }

    fn endpoint(&mut self, endpoint: &EndpointTable, sides: usize) {
        let title = format!("{} of {}", endpoint.label(), endpoint.scenario);
        self.table(&title, endpoint.measures.iter(), sides);
        for (outcome, counts) in &endpoint.failures {
            let each = counts.iter().enumerate();
            let counts: Vec<String> =
                each.map(|(side, n)| format!("{} {}", words::letter(side), number::count(*n))).collect();
            self.paragraph(("", 2), Tone::Bad, &format!("{outcome}: {}", counts.join(", ")));
        }
    }

    fn table<'m>(&mut self, title: &str, measures: impl Iterator<Item = &'m Measure>, sides: usize) {
        self.line(&[(Tone::Accent, title)]);
        let table =
            Table { label: "", columns: columns(sides), rows: measures.map(|m| row(m, sides)).collect() };
        self.lines.extend(table.lines(self.width));
    }

    fn foot(&mut self, comparison: &Comparison) {
        let judgement = &comparison.judgement;
        self.heading("Differences");
        self.paragraph(
            ("", 0),
            Tone::Dim,
            "Times run from the instant a request was due to its last byte, of successes; ∞ is beyond all answers. A \
             refused difference is not formed: the rule beside it says why.",
        );
        if judgement.claims.is_empty() {
            let text = "No claim on a difference was made: that takes repeated runs in random order.";
            self.paragraph(("", 0), Tone::Normal, text);
        }
        for (head, list) in [
            ("What this comparison supports", &judgement.supports),
            ("What it does not", &judgement.does_not_support),
            ("What would settle it", &judgement.would_settle),
        ] {
            self.heading(head);
            for item in list {
                self.paragraph(("–", 2), Tone::Normal, item);
            }
        }
    }
}

fn columns(sides: usize) -> Vec<Column> {
    let values = (0..sides).map(|side| Column { head: HEADS[side % HEADS.len()][0], rank: 0 });
    let differences = (1..sides).flat_map(|side| {
        let [_, difference, ratio] = HEADS[side % HEADS.len()];
        [Column { head: difference, rank: 2 }, Column { head: ratio, rank: 1 }]
    });
    values.chain(differences).collect()
}

fn row(measure: &Measure, sides: usize) -> (String, Vec<Cell>) {
    let values = measure.values.iter().map(|value| Cell::plain(words::value(*value, &measure.unit)));
    let differences = (1..sides).flat_map(|side| {
        let tone = if words::is_refused(measure, side) { Tone::Warn } else { Tone::Normal };
        words::difference(measure, side).map(|text| Cell { text, tone })
    });
    (measure.name.clone(), values.chain(differences).collect())
}
