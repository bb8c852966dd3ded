//! What a report says, apart from its form: blocks in sections. Each kind of result makes one document, and each form has
//! one writer: a [terminal](terminal), [HTML](html), [Markdown](markdown), [JUnit](junit).

mod blocks;
mod html;
mod junit;
pub(crate) mod markdown;
pub(crate) mod terminal;

use std::time::Duration;

use evidence::{ExperimentFinding, Verdict};

use crate::card::FindingCard;
pub use crate::test_suite::Undecided;

pub(crate) use blocks::{
    Block, Cell, ChartBlock, ClaimBlock, Claims, Column, Exchange, FactLayout, Facts, Findings, Mark,
    Paragraph, ParagraphKind, Row, Table,
};
pub use html::{LivePage, LiveState, html, live_html};
pub use junit::junit;
pub use markdown::{MAX_BYTES, markdown};
pub use terminal::{Detail, Style, terminal};

/// The test case of a run, in JUnit.
pub const WHOLE_RUN: &str = "(the whole run)";
/// That of an experiment.
pub const WHOLE_EXPERIMENT: &str = "(the whole experiment)";

/// A result that has a report in every form.
pub trait Reported {
    /// Its report, apart from the form.
    fn document(&self) -> Document;

    /// The result as indented JSON with a versioned schema, without a trailing newline.
    fn json(&self) -> String;
}

#[derive(Debug, Default)]
pub struct Document {
    /// The name of the run or experiment.
    pub(crate) name: String,
    /// Its title on a page.
    pub(crate) title: String,
    /// What was judged, in a line, where the report is long: it begins with this line, a terminal ends with the verdict's
    /// sentence and the results, and `facts` are on a page alone.
    pub(crate) subject: Option<String>,
    /// The verdict, or another word where there is none.
    pub(crate) verdict: VerdictBlock,
    /// What was compared or searched, and the basis of the result.
    pub(crate) facts: Vec<Paragraph>,
    /// The numbers at the top of a page.
    pub(crate) tiles: Vec<Tile>,
    /// What these are of.
    pub(crate) tiles_note: String,
    pub(crate) sections: Vec<Section>,
    /// How long it took, in JUnit.
    pub(crate) length: Option<Duration>,
    /// Properties of the test suite in JUnit.
    pub(crate) properties: Vec<(&'static str, String)>,
    /// Test cases in JUnit besides that of the whole.
    pub(crate) cases: Vec<Case>,
    /// How far a run is that is under way, from 0 to 1.
    pub(crate) progress: Option<f64>,
    /// The footer of a page.
    pub(crate) footer: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct VerdictBlock {
    /// None where nothing was to be decided.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) word: String,
    /// The answer, if it is more than the verdict.
    pub(crate) answer: Option<String>,
    pub(crate) because: String,
    /// What the verdict assumes: for a page, and a terminal that shows findings in full.
    pub(crate) assumes: Option<String>,
    /// The name of the whole as a test case in JUnit.
    pub(crate) case: &'static str,
}

/// A number at the top of a page.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) note: String,
    pub(crate) is_bad: bool,
}

/// Blocks with a heading.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its anchor on a page.
    pub(crate) id: String,
    pub(crate) heading: String,
    /// What follows the heading.
    pub(crate) note: String,
    /// Whether only a page shows its heading. The captions of its tables are headings then.
    pub(crate) is_unheaded: bool,
    pub(crate) forms: Forms,
    /// Whether a page shows it only when asked.
    pub(crate) is_folded: bool,
    /// Whether it is a result: where a report is long, a terminal shows it last.
    pub(crate) is_result: bool,
    pub(crate) blocks: Vec<Block>,
}

/// The forms that have a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    All,
    /// A page alone.
    Page,
    /// A terminal and Markdown.
    Text,
    /// All, but a terminal only where it shows everything in full.
    InFull,
}

/// A case of a test suite.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// The verdict in words.
    pub(crate) word: String,
    pub(crate) message: String,
    pub(crate) because: Vec<String>,
}

impl Document {
    /// The report of a run called `name` before there is anything to report.
    pub fn before(name: &str) -> Document {
        let (word, because) = ("NOT BEGUN".to_owned(), "The load has not begun.".to_owned());
        Document {
            name: name.to_owned(),
            title: name.to_owned(),
            verdict: VerdictBlock { word, because, ..VerdictBlock::default() },
            ..Document::default()
        }
    }

    /// The report of a run called `name` that could not be made, for this reason. `case` is the test case of such runs.
    pub fn not_run(name: &str, case: &'static str, why: &str) -> Document {
        let verdict = VerdictBlock {
            verdict: Some(Verdict::Invalid),
            word: "NOT RUN".to_owned(),
            because: why.to_owned(),
            case,
            ..VerdictBlock::default()
        };
        Document {
            name: name.to_owned(),
            title: name.to_owned(),
            subject: Some(name.to_owned()),
            verdict,
            ..Document::default()
        }
    }
}

impl Section {
    pub(crate) fn new(id: impl Into<String>, heading: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section {
            id: id.into(),
            heading: heading.into(),
            note: String::new(),
            is_unheaded: false,
            forms: Forms::All,
            is_folded: false,
            is_result: false,
            blocks,
        }
    }

    /// What limits a result, or on a page that nothing does.
    pub(crate) fn findings(findings: &[ExperimentFinding], none: &'static str) -> Section {
        Section::cards(findings.iter().map(FindingCard::from).collect(), none)
    }

    /// The same, by rule.
    pub(crate) fn cards(cards: Vec<FindingCard>, none: &'static str) -> Section {
        Section::new("findings", "Findings", vec![Block::Findings(Findings { cards, none })])
    }

    /// A section that has its heading on a page alone.
    pub(crate) fn unheaded(id: &'static str, heading: &'static str, blocks: Vec<Block>) -> Section {
        Section { is_unheaded: true, ..Section::new(id, heading, blocks) }
    }

    pub(crate) fn with_note(self, note: impl Into<String>) -> Section {
        Section { note: note.into(), ..self }
    }

    pub(crate) fn only(self, forms: Forms) -> Section {
        Section { forms, ..self }
    }

    pub(crate) fn folded(self) -> Section {
        Section { is_folded: true, ..self }
    }

    pub(crate) fn into_result(self) -> Section {
        Section { is_result: true, ..self }
    }
}
