//! What a report says, apart from its form: blocks of five kinds in sections. Each kind of result makes one document, and each
//! form has one writer: a [terminal](terminal), [HTML](html), [Markdown](markdown), [JUnit](junit).

mod html;
mod junit;
mod markdown;
mod terminal;

use evidence::{ExperimentFinding, Verdict};

use crate::html::charts::Chart;
use crate::html::view::verdict_class;

pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::terminal;

/// A result that has a report in every form.
pub trait Reported {
    /// Its report, apart from the form.
    fn document(&self) -> Document;

    /// The result as indented JSON with a versioned schema, without a trailing newline.
    fn json(&self) -> String;
}

/// A report.
#[derive(Debug)]
pub struct Document {
    /// The name of the run or experiment.
    pub(crate) name: String,
    /// Its title on a page.
    pub(crate) title: String,
    /// The verdict, or another word where there is none.
    pub(crate) verdict: VerdictBlock,
    /// What was compared or searched, and the basis of the result.
    pub(crate) facts: Vec<Paragraph>,
    pub(crate) sections: Vec<Section>,
    /// Properties of the test suite in JUnit.
    pub(crate) properties: Vec<(&'static str, String)>,
    /// Test cases in JUnit besides that of the whole.
    pub(crate) cases: Vec<Case>,
    /// The footer of a page.
    pub(crate) footer: &'static str,
}

/// The verdict.
#[derive(Debug)]
pub(crate) struct VerdictBlock {
    /// None where nothing was to be decided.
    pub(crate) verdict: Option<Verdict>,
    /// The word.
    pub(crate) word: String,
    /// The answer, if it is more than the verdict.
    pub(crate) answer: Option<String>,
    pub(crate) because: String,
    /// The name of the whole as a test case in JUnit.
    pub(crate) case: &'static str,
}

/// Blocks with a heading.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its anchor on a page.
    pub(crate) id: String,
    pub(crate) heading: String,
    /// What follows the heading.
    pub(crate) note: String,
    /// Whether only a page shows its heading.
    pub(crate) is_unheaded: bool,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug)]
pub(crate) enum Block {
    Paragraph(Paragraph),
    Table(DocumentTable),
    Findings(Findings),
    /// Only on a page.
    Chart(ChartBlock),
}

/// Text.
#[derive(Debug)]
pub(crate) struct Paragraph {
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) kind: ParagraphKind,
}

/// The role of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParagraphKind {
    /// Part of the result.
    Plain,
    /// The basis of the result.
    Basis,
    /// A restriction of the result.
    Notice,
    /// An explanation, only on a page.
    Hint,
    /// An item of a list.
    Item,
    /// Preformatted lines.
    Code,
}

impl Block {
    pub(crate) fn text(kind: ParagraphKind, text: impl Into<String>) -> Block {
        Block::Paragraph(Paragraph::new(kind, text))
    }
}

impl Paragraph {
    pub(crate) fn new(kind: ParagraphKind, text: impl Into<String>) -> Paragraph {
        Paragraph { label: String::new(), text: text.into(), kind }
    }

    pub(crate) fn labelled(label: impl Into<String>, text: impl Into<String>) -> Paragraph {
        Paragraph { label: label.into(), text: text.into(), kind: ParagraphKind::Plain }
    }

    fn is_code(&self) -> bool {
        self.kind == ParagraphKind::Code
    }

    pub(crate) fn of(self, kind: ParagraphKind) -> Paragraph {
        Paragraph { kind, ..self }
    }
}

impl ParagraphKind {
    /// Its class on a page.
    fn class(self) -> &'static str {
        match self {
            ParagraphKind::Plain | ParagraphKind::Item | ParagraphKind::Code => "plain",
            ParagraphKind::Basis | ParagraphKind::Hint => "hint",
            ParagraphKind::Notice => "notice",
        }
    }
}

/// A table.
#[derive(Debug)]
pub(crate) struct DocumentTable {
    /// The head of the column of labels.
    pub(crate) label: &'static str,
    pub(crate) columns: Vec<DocumentColumn>,
    pub(crate) rows: Vec<DocumentRow>,
    /// What it shows, where the section has several.
    pub(crate) caption: String,
    /// Without it a table is in every form; with it on a page alone, below this line.
    pub(crate) folded: Option<String>,
    /// What a page says where it has no rows.
    pub(crate) none: &'static str,
}

/// A column of cells.
#[derive(Debug)]
pub(crate) struct DocumentColumn {
    pub(crate) head: String,
    /// The column with the highest rank is dropped first where space is scarce; rank 0 never.
    pub(crate) rank: u8,
}

/// A row.
#[derive(Debug)]
pub(crate) struct DocumentRow {
    pub(crate) label: String,
    /// Below the label, on a page.
    pub(crate) note: String,
    pub(crate) cells: Vec<DocumentCell>,
}

/// A cell.
#[derive(Debug)]
pub(crate) struct DocumentCell {
    pub(crate) text: String,
    /// Whether it is good, for those that say so.
    pub(crate) verdict: Option<Verdict>,
}

impl DocumentCell {
    /// The class of its badge on a page, if it has one.
    fn badge(&self) -> Option<&'static str> {
        self.verdict.map(verdict_class)
    }
}

impl Section {
    pub(crate) fn new(id: impl Into<String>, heading: impl Into<String>, blocks: Vec<Block>) -> Section {
        let (id, heading) = (id.into(), heading.into());
        Section { id, heading, note: String::new(), is_unheaded: false, blocks }
    }

    /// What limits a result, or on a page that nothing does.
    pub(crate) fn findings(findings: &[ExperimentFinding], none: &'static str) -> Section {
        let findings = Findings { findings: findings.to_vec(), none };
        Section::new("findings", "Findings", vec![Block::Findings(findings)])
    }

    /// A section that has its heading on a page alone.
    pub(crate) fn unheaded(id: &'static str, heading: &'static str, blocks: Vec<Block>) -> Section {
        Section { is_unheaded: true, ..Section::new(id, heading, blocks) }
    }
}

impl DocumentTable {
    /// A table of all forms, with the heads of its cells and the ranks of these.
    pub(crate) fn new<S: Into<String>>(
        label: &'static str,
        heads: impl IntoIterator<Item = (S, u8)>,
        rows: impl IntoIterator<Item = DocumentRow>,
    ) -> DocumentTable {
        let columns = heads.into_iter().map(|(head, rank)| DocumentColumn { head: head.into(), rank });
        let (columns, rows) = (columns.collect(), rows.into_iter().collect());
        DocumentTable { label, columns, rows, caption: String::new(), folded: None, none: "" }
    }
}

impl DocumentRow {
    pub(crate) fn new(label: impl Into<String>, cells: impl IntoIterator<Item = String>) -> DocumentRow {
        let cells = cells.into_iter().map(|text| DocumentCell { text, verdict: None });
        DocumentRow { label: label.into(), note: String::new(), cells: cells.collect() }
    }

    /// The same, whose first cell is a verdict.
    pub(crate) fn judged(
        label: impl Into<String>,
        verdict: DocumentCell,
        cells: impl IntoIterator<Item = String>,
    ) -> DocumentRow {
        let mut row = DocumentRow::new(label, cells);
        row.cells.insert(0, verdict);
        row
    }
}

/// What limits a result.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<ExperimentFinding>,
    /// What a page says where there are none.
    pub(crate) none: &'static str,
}

/// Plots, side by side.
#[derive(Debug)]
pub(crate) struct ChartBlock {
    pub(crate) charts: Vec<Chart>,
    /// Whether each takes the page's width.
    pub(crate) is_wide: bool,
    /// What a page says where there are none.
    pub(crate) none: &'static str,
}

/// A case of a test suite.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// The verdict in words.
    pub(crate) word: String,
    pub(crate) message: String,
    pub(crate) because: String,
}
