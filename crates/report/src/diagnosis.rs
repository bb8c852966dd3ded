//! What limits a service: the answer, the ledger of its resources, the loads, and what to do next.

mod confirmation;
pub(crate) mod ledger;

use evidence::Verdict;
use evidence::diagnosis::{
    CodeWait, Confirmation, ConfirmationAnswer, DiagnosedLevel, Diagnosis, LedgerLine, LedgerStanding,
};
use serde::Serialize;

use crate::document::{
    Block, Document, Forms, Paragraph, ParagraphKind, Reported, Row, Section, Table, VerdictBlock,
};
use crate::number;

/// The name and version of the schema. A field may be added within a version, never change its meaning.
const SCHEMA: &str = "plimsoll.diagnosis/1";

/// How many lines of code are shown.
const MOST_LINES: usize = 3;

/// A diagnosis, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct DiagnosisSummary {
    pub name: String,
    /// What was read: a run file, or the folder of a search.
    pub source: String,
    /// MEASURED where a limit is named, INCONCLUSIVE where none is, INVALID where the evidence says nothing of the target.
    pub verdict: Verdict,
    pub diagnosis: Diagnosis,
    /// What the experiment shows that raises the limit; none where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

impl DiagnosisSummary {
    pub fn new(name: String, source: String, diagnosis: Diagnosis) -> DiagnosisSummary {
        let verdict = match (&diagnosis.refused, &diagnosis.limit) {
            (Some(_), _) => Verdict::Invalid,
            (None, Some(_)) => Verdict::Measured,
            (None, None) => Verdict::Inconclusive,
        };
        DiagnosisSummary { name, source, verdict, diagnosis, confirmation: None }
    }

    /// A limit that was to be confirmed: MEASURED where it is.
    pub fn confirmed(
        name: String,
        source: String,
        diagnosis: Diagnosis,
        confirmation: Confirmation,
    ) -> DiagnosisSummary {
        let verdict = match confirmation.answer {
            ConfirmationAnswer::Confirmed => Verdict::Measured,
            ConfirmationAnswer::NotConfirmed | ConfirmationAnswer::Inconclusive => Verdict::Inconclusive,
        };
        DiagnosisSummary { name, source, verdict, diagnosis, confirmation: Some(confirmation) }
    }

    /// What to do next; the experiment was made where its answer is known.
    fn next(&self) -> Section {
        match self.confirmation {
            Some(_) => next(&Diagnosis { confirm: None, ..self.diagnosis.clone() }),
            None => next(&self.diagnosis),
        }
    }

    /// The answer in capitals, and what it rests on.
    fn answer(&self) -> (&'static str, String) {
        if let Some(Confirmation { answer, because, resource, .. }) = &self.confirmation {
            let word = match answer {
                ConfirmationAnswer::Confirmed => "CONFIRMED",
                ConfirmationAnswer::NotConfirmed => "NOT CONFIRMED",
                ConfirmationAnswer::Inconclusive => "INCONCLUSIVE",
            };
            return (word, format!("{resource}: {because}"));
        }
        let word = match self.verdict {
            Verdict::Measured => "LIKELY",
            Verdict::Invalid => "INVALID",
            _ => "UNDETERMINED",
        };
        (word, self.diagnosis.sentence().to_owned())
    }
}

impl Reported for DiagnosisSummary {
    fn document(&self) -> Document {
        let diagnosis = &self.diagnosis;
        let (word, because) = self.answer();
        let likely = self.confirmation.is_some().then(|| Paragraph::labelled("likely", diagnosis.sentence()));
        Document {
            name: self.name.clone(),
            title: format!("What limits {}", self.name),
            verdict: VerdictBlock {
                verdict: Some(self.verdict),
                word: word.to_owned(),
                answer: None,
                because,
                assumes: None,
                case: "limit",
            },
            facts: likely.into_iter().chain([Paragraph::labelled("read", &self.source)]).collect(),
            sections: vec![
                confirmation::section(self.confirmation.as_ref()),
                ledger::section(Some(diagnosis)),
                self.next(),
                levels(diagnosis),
            ],
            properties: vec![("limit", diagnosis.limit.clone().unwrap_or_default())],
            footer: "Made by Plimsoll from run files; the same files always give the same report.",
            ..Document::default()
        }
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}

/// The section of a run's report.
pub(crate) fn of_run(diagnosis: &Diagnosis) -> Section {
    let mut section = ledger::section(Some(diagnosis));
    let limit = Paragraph::labelled("limit", &diagnosis.because);
    let others = next(diagnosis).blocks;
    section.blocks.insert(0, Block::Paragraph(limit));
    section.blocks.extend(others);
    section.only(Forms::InFull)
}

/// Why the others are not the limit, what to observe, and the experiment that would confirm it.
fn next(diagnosis: &Diagnosis) -> Section {
    let lost = diagnosis.ledger.iter().filter_map(|line| Some(("not the limit", why_lost(line)?)));
    let observe = diagnosis.observe.iter().map(|sentence| ("next", sentence.clone()));
    let confirm = diagnosis.confirm.iter().map(|sentence| ("to confirm", sentence.clone()));
    let in_code = diagnosis.in_code.iter().take(MOST_LINES).map(|wait| {
        let each = number::time(wait.wait_s * 1e3);
        let CodeWait { target, profile, place, .. } = wait;
        // A profile of mutexes has the stack that released the lock, and one of blocking that which waited.
        let at = if profile == "mutex" { "waited for the lock that is released at" } else { "waited at" };
        ("in the code", format!("{each} of a completion are {at} {place} of {target} ({profile} profile)."))
    });
    let all = in_code.chain(lost).chain(observe).chain(confirm);
    let blocks = all.map(|(label, sentence)| Block::Paragraph(Paragraph::labelled(label, sentence)));
    Section::unheaded("next", "What to do next", blocks.collect())
}

/// Why a resource is not the limit; none of one that is or may be.
fn why_lost(line: &LedgerLine) -> Option<String> {
    let name = &line.resource;
    match (line.standing, line.capacity_per_s) {
        (LedgerStanding::Suffices, Some(limits)) => {
            Some(format!("{name} suffices for {} or more.", number::rate(limits.low)))
        }
        (LedgerStanding::HeldForLonger, _) => {
            Some(format!("{name} is held for longer as the load grows: what is waited for meanwhile limits."))
        }
        (LedgerStanding::Contradicted, Some(limits)) => Some(format!(
            "{name} would be used up at {}, and more was served: its size is not what it seems.",
            limits.high.map_or_else(String::new, number::rate)
        )),
        _ => None,
    }
}

/// The loads that it rests on.
fn levels(diagnosis: &Diagnosis) -> Section {
    let row = |level: &DiagnosedLevel| {
        let offered = number::rate_or_none(level.offered_per_s);
        let cells = [
            number::rate(level.completions_per_s),
            number::time_or_none(level.response_s.map(|s| s * 1e3)),
            if level.breaks { "breaks".to_owned() } else { String::new() },
        ];
        Row::new(offered, cells)
    };
    let columns = [("completed", 0), ("mean response time", 0), ("", 0)];
    let table = Table::new("offered", columns, diagnosis.levels.iter().map(row));
    let hint = Block::text(
        ParagraphKind::Hint,
        "Requests a second. Loads that differ by less than 5 % are one level.",
    );
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table), hint] };
    Section::new("levels", "Levels of load", blocks)
}
