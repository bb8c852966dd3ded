//! Whether series of a target leak, one answer each.

use evidence::Verdict;
use serde::Serialize;

use crate::document::{Block, Case, Document, Paragraph, ParagraphKind, Reported, Section, VerdictBlock};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
const SCHEMA: &str = "plimsoll.leaks/1";

/// The answers on a run's series, the gravest first.
#[derive(Debug, Serialize)]
pub struct LeaksSummary {
    /// Of the run.
    pub name: String,
    /// By series.
    pub answers: Vec<LeakLine>,
    /// What restricts them.
    pub note: Option<String>,
}

/// The answer on a series.
#[derive(Debug, Serialize)]
pub struct LeakLine {
    /// The series and its target.
    pub series: String,
    /// The answer in a word.
    pub answer: String,
    /// As a verdict on that it does not leak.
    pub verdict: Verdict,
    /// One sentence with the numbers.
    pub because: String,
}

impl Reported for LeaksSummary {
    fn document(&self) -> Document {
        let answers = self.answers.iter();
        let gravest = answers.clone().next();
        let paragraphs = answers.clone().map(|LeakLine { series, answer, because, .. }| {
            Paragraph::labelled(format!("{answer} {series}"), because)
        });
        let note = self.note.iter().map(|note| Paragraph::new(ParagraphKind::Notice, note));
        let blocks = paragraphs.chain(note).map(Block::Paragraph).collect();
        let cases = answers.map(|LeakLine { series, answer, verdict, because }| Case {
            name: series.clone(),
            verdict: *verdict,
            word: answer.clone(),
            message: because.clone(),
            because: Vec::new(),
        });
        Document {
            name: self.name.clone(),
            title: format!("{}: does it leak?", self.name),
            verdict: VerdictBlock {
                verdict: gravest.map(|line| line.verdict),
                word: gravest.map(|line| line.answer.clone()).unwrap_or_default(),
                answer: None,
                because: format!("The gravest of the answers on {} series.", self.answers.len()),
                assumes: None,
                case: "leaks",
            },
            sections: vec![Section::unheaded("series", "Series", blocks)],
            cases: cases.collect(),
            footer: "Made by Plimsoll from a run's archive; the same archive always gives the same report.",
            ..Document::default()
        }
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}
