//! The blocks of a document.

use evidence::Verdict;

use crate::card::FindingCard;
use crate::charts::Chart;
use crate::number;

/// A part of a section.
#[derive(Debug)]
pub(crate) enum Block {
    Paragraph(Paragraph),
    Facts(Facts),
    Table(Table),
    Claims(Claims),
    Findings(Findings),
    /// Only on a page.
    Chart(ChartBlock),
    /// A flame graph as markup, only on a page.
    Flame(String),
    /// Only on a page.
    Exchange(Exchange),
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
    /// The same in detail: a terminal has it only where it shows everything in full.
    Detail,
    /// A restriction of the result.
    Notice,
    /// Something that failed.
    Failure,
    /// The path of a file.
    Path,
    /// An explanation, only on a page.
    Hint,
    /// An item of a list.
    Item,
    /// Preformatted lines; with a label a page folds them.
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

    pub(crate) fn with_kind(self, kind: ParagraphKind) -> Paragraph {
        Paragraph { kind, ..self }
    }

    pub(super) fn is_code(&self) -> bool {
        self.kind == ParagraphKind::Code
    }
}

impl ParagraphKind {
    /// Its class on a page.
    pub(super) fn class(self) -> &'static str {
        match self {
            ParagraphKind::Basis | ParagraphKind::Detail | ParagraphKind::Hint => "hint",
            ParagraphKind::Notice => "notice",
            _ => "plain",
        }
    }
}

/// Named values, or sentences with labels.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) layout: FactLayout,
    /// With a caption each; a single group has none.
    pub(crate) groups: Vec<(String, Vec<Paragraph>)>,
}

/// How a page lays facts out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactLayout {
    /// Short values, side by side.
    Values,
    /// Sentences, one below the other.
    Sentences,
    /// Groups, each in a box.
    Boxes,
}

impl Facts {
    pub(crate) fn new(layout: FactLayout, facts: Vec<Paragraph>) -> Facts {
        Facts { layout, groups: vec![(String::new(), facts)] }
    }

    pub(super) fn class(&self) -> &'static str {
        match self.layout {
            FactLayout::Values => "health",
            FactLayout::Sentences => "source",
            FactLayout::Boxes => "groups",
        }
    }
}

/// Columns of this rank or a higher one are not on a page for a narrow screen.
const LESS: u8 = 2;

#[derive(Debug)]
pub(crate) struct Table {
    /// The head of the column of labels.
    pub(crate) label: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// What it shows, where the section has several.
    pub(crate) caption: String,
    /// What follows the caption.
    pub(crate) caption_note: String,
    /// Without it a table is in every form; with it on a page alone, below this line.
    pub(crate) folded: Option<String>,
    /// What a page says where it has no rows.
    pub(crate) none: &'static str,
}

/// A column of cells.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    /// What it has in common with its neighbours, above their heads on a page.
    pub(crate) group: &'static str,
    /// The column with the highest rank is dropped first where space is scarce; rank 0 never.
    pub(crate) rank: u8,
    /// Whether Markdown has it, whatever its rank.
    pub(crate) is_in_markdown: bool,
    /// Whether its cells are words, which begin at its left.
    pub(crate) is_words: bool,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// Below the label, on a page.
    pub(crate) note: String,
    pub(crate) cells: Vec<Cell>,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) mark: Mark,
    /// Below the text, on a page.
    pub(crate) notes: Vec<String>,
}

/// What distinguishes a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    /// It says whether something is good.
    Verdict(Verdict),
    /// It counts what must not be.
    Bad,
    /// It matters less.
    Dim,
}

impl Column {
    /// A column of numbers.
    pub(crate) fn new(head: impl Into<String>, rank: u8) -> Column {
        Column { head: head.into(), group: "", rank, is_in_markdown: false, is_words: false }
    }

    pub(crate) fn words(head: impl Into<String>, rank: u8) -> Column {
        Column { is_words: true, ..Column::new(head, rank) }
    }

    /// A column that Markdown never leaves out.
    pub(crate) fn in_markdown(self) -> Column {
        Column { is_in_markdown: true, ..self }
    }

    /// Its class on a page; a narrow screen leaves the ones that matter less out of a table with groups.
    pub(super) fn class(&self) -> &'static str {
        match (self.is_words, !self.group.is_empty() && self.rank >= LESS) {
            (true, false) => "w",
            (true, true) => "w less",
            (false, false) => "n",
            (false, true) => "n less",
        }
    }
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), mark: Mark::None, notes: Vec::new() }
    }

    pub(crate) fn marked(text: impl Into<String>, mark: Mark) -> Cell {
        Cell { mark, ..Cell::new(text) }
    }

    /// A number that is marked where it counts anything.
    pub(crate) fn bad_if(text: impl Into<String>, is_bad: bool) -> Cell {
        Cell::marked(text, if is_bad { Mark::Bad } else { Mark::None })
    }

    /// The class of its badge on a page, if it has one.
    pub(super) fn badge(&self) -> Option<&'static str> {
        match self.mark {
            Mark::Verdict(verdict) => Some(verdict_class(verdict)),
            _ => None,
        }
    }

    pub(super) fn class(&self) -> &'static str {
        match self.mark {
            Mark::Bad => " bad",
            Mark::Dim => " dim",
            Mark::None | Mark::Verdict(_) => "",
        }
    }
}

impl Table {
    /// A table of all forms, with the heads of its cells and the ranks of these.
    pub(crate) fn new<S: Into<String>>(
        label: &'static str,
        heads: impl IntoIterator<Item = (S, u8)>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Table {
        Table::of_columns(label, heads.into_iter().map(|(head, rank)| Column::new(head, rank)), rows)
    }

    /// The same, of these columns.
    pub(crate) fn of_columns(
        label: &'static str,
        columns: impl IntoIterator<Item = Column>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Table {
        Table {
            label,
            columns: columns.into_iter().collect(),
            rows: rows.into_iter().collect(),
            caption: String::new(),
            caption_note: String::new(),
            folded: None,
            none: "",
        }
    }

    pub(crate) fn captioned(self, caption: impl Into<String>, note: impl Into<String>) -> Table {
        Table { caption: caption.into(), caption_note: note.into(), ..self }
    }

    /// The same, without the columns in which no row has anything.
    pub(crate) fn without_empty_columns(mut self) -> Table {
        let has_content = |at: usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.cells.get(at));
            cells.any(|cell| !cell.text.is_empty() && cell.text != number::NOT_MEASURED)
        };
        let kept: Vec<bool> = (0..self.columns.len()).map(has_content).collect();
        let mut of_columns = kept.iter();
        self.columns.retain(|_| of_columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut of_cells = kept.iter();
            row.cells.retain(|_| of_cells.next() == Some(&true));
        }
        self
    }

    /// The groups of its columns with how many each has; none where no column has one.
    pub(super) fn groups(&self) -> Vec<(&'static str, usize)> {
        let mut groups: Vec<(&'static str, usize)> = Vec::new();
        for column in &self.columns {
            match groups.last_mut().filter(|(group, _)| *group == column.group) {
                Some((_, columns)) => *columns += 1,
                None => groups.push((column.group, 1)),
            }
        }
        groups.retain(|(group, _)| !group.is_empty());
        groups
    }
}

impl Row {
    pub(crate) fn new(label: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Row {
        Row::of_cells(label, cells.into_iter().map(Cell::new))
    }

    pub(crate) fn of_cells(label: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Row {
        Row { label: label.into(), note: String::new(), cells: cells.into_iter().collect() }
    }

    /// The same, whose first cell is a verdict.
    pub(crate) fn judged(
        label: impl Into<String>,
        verdict: Cell,
        cells: impl IntoIterator<Item = String>,
    ) -> Row {
        let mut row = Row::new(label, cells);
        row.cells.insert(0, verdict);
        row
    }
}

/// What was claimed, with the figures that decide it.
#[derive(Debug)]
pub(crate) struct Claims {
    pub(crate) claims: Vec<ClaimBlock>,
    /// What a page says where there are none.
    pub(crate) none: &'static str,
    /// Whether a page has a line for each instead of a table.
    pub(crate) is_brief: bool,
}

#[derive(Debug)]
pub(crate) struct ClaimBlock {
    pub(crate) verdict: Verdict,
    /// The verdict in words.
    pub(crate) word: String,
    pub(crate) name: String,
    /// What it says; empty where the name does.
    pub(crate) text: String,
    /// The text with what others say of it.
    pub(crate) described: String,
    pub(crate) observed: String,
    pub(crate) bound: String,
    pub(crate) interval: Option<String>,
    pub(crate) samples: String,
    /// The figures that a line of text has.
    pub(crate) figures: Vec<String>,
    /// Why its verdict is what it is.
    pub(crate) reasons: Vec<String>,
}

impl ClaimBlock {
    /// Its verdict as a sign.
    pub(super) fn sign(&self) -> &'static str {
        match self.verdict {
            Verdict::Pass => "✓",
            Verdict::Fail => "✗",
            Verdict::Measured => "–",
            Verdict::Inconclusive | Verdict::Invalid => "?",
        }
    }
}

/// What limits a result.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) cards: Vec<FindingCard>,
    /// What a page says where there are none.
    pub(crate) none: &'static str,
}

/// Plots, side by side.
#[derive(Debug)]
pub(crate) struct ChartBlock {
    pub(crate) charts: Vec<Chart>,
    /// (Class, label) of the lines that all have.
    pub(crate) key: &'static [(&'static str, &'static str)],
    /// Whether each takes the page's width.
    pub(crate) is_wide: bool,
    /// What a page says where there are none.
    pub(crate) none: &'static str,
}

impl ChartBlock {
    pub(crate) fn new(charts: Vec<Chart>) -> ChartBlock {
        ChartBlock { charts, key: &[], is_wide: false, none: "" }
    }

    /// What of the key any chart draws that has no legend of its own.
    pub(super) fn drawn_key(&self) -> Vec<(&'static str, &'static str)> {
        let keyed = || self.charts.iter().filter(|chart| chart.legend.is_empty());
        self.key.iter().copied().filter(|(class, _)| keyed().any(|chart| chart.draws(class))).collect()
    }
}

/// A recorded exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) outcome: String,
    pub(crate) is_failure: bool,
    pub(crate) endpoint: String,
    pub(crate) phase: String,
    pub(crate) at: String,
    pub(crate) response_time: String,
    pub(crate) service_time: String,
    pub(crate) detail: String,
    pub(crate) request: String,
    pub(crate) response: String,
}

/// The class of a verdict on a page.
pub(super) fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
        Verdict::Measured => "measured",
    }
}
