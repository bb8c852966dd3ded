//! A document as one self-contained HTML file: it loads nothing and can be read without scripts.
//!
//! The template escapes every text; only drawings made here are inserted as markup.

use askama::Template;
use evidence::{Severity, Verdict};

use super::blocks::verdict_class;
use super::{Block, Document, FactLayout, Forms, Row, Section, Table};
use crate::number;
use crate::profiles::flame;
use crate::{policy, text};

/// The most rows a table has; the archive has all.
const MAX_ROWS: usize = 300;

#[derive(Template)]
#[template(path = "document.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    document: &'a Document,
    word: &'a str,
    class: &'static str,
    sections: Vec<&'a Section>,
}

impl Page<'_> {
    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn severity_class(&self, severity: &Severity) -> &'static str {
        match severity {
            Severity::Invalid => "invalid",
            Severity::Inconclusive => "inconclusive",
            Severity::Fail => "fail",
            Severity::Caution => "caution",
            Severity::Info => "measured",
        }
    }

    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn verdict_class(&self, verdict: &Verdict) -> &'static str {
        verdict_class(*verdict)
    }

    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn figure(&self, figure: &evidence::Figure) -> String {
        number::with_unit(figure.value, &figure.unit)
    }
}

/// The document as one self-contained HTML file.
pub fn html(document: &Document) -> String {
    let has_flame =
        document.sections.iter().flat_map(|of| &of.blocks).any(|block| matches!(block, Block::Flame(_)));
    // A flame graph brings its style with it.
    let styles = [Some(policy::STYLE), has_flame.then_some(flame::STYLE)];
    let styles: Vec<&str> = styles.into_iter().flatten().collect();
    let is_on_page = |section: &&Section| section.forms != Forms::Text && !section.blocks.is_empty();
    let page = Page {
        policy: policy::content_security_policy(&styles, &[policy::SCRIPT]),
        style: policy::STYLE,
        script: policy::SCRIPT,
        document,
        word: &document.verdict.word,
        class: document.verdict.verdict.map_or("measured", verdict_class),
        sections: document.sections.iter().filter(is_on_page).collect(),
    };
    text::page(&page)
}

impl Table {
    fn shown(&self) -> &[Row] {
        &self.rows[..self.rows.len().min(MAX_ROWS)]
    }

    fn left_out(&self) -> usize {
        self.rows.len().saturating_sub(MAX_ROWS)
    }
}
