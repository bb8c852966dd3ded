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
    live: Option<Live<'a>>,
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

    /// A text as markup, with what is between backticks as code.
    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn coded(&self, text: &str) -> String {
        coded(text)
    }

    /// A name as markup that a narrow column breaks between its words.
    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn breakable(&self, name: &str) -> String {
        breakable(name)
    }

    #[allow(clippy::unused_self, reason = "templates call methods")]
    fn figure(&self, figure: &evidence::Figure) -> String {
        number::with_unit(figure.value, &figure.unit)
    }
}

/// What a live page adds to the report.
struct Live<'a> {
    style: &'static str,
    script: &'static str,
    state: &'a LiveState,
}

/// Which page of a run that is being watched this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveState {
    /// Higher than that of every page before it.
    pub version: u64,
    /// Whether no other page follows it.
    pub is_last: bool,
}

/// A page that keeps itself up to date while its server goes on.
#[derive(Debug)]
pub struct LivePage {
    pub html: String,
    /// Its Content-Security-Policy, which is in it as well.
    pub policy: String,
}

impl LiveState {
    fn line(&self) -> &'static str {
        if self.is_last { "The run is over." } else { "The run goes on." }
    }
}

/// The document as one self-contained HTML file.
pub fn html(document: &Document) -> String {
    page(document, None).html
}

/// The same file with a line at its end and a script that asks for the next one at `update`, below its own address.
pub fn live_html(document: &Document, state: &LiveState) -> LivePage {
    let live = Live { style: policy::LIVE_STYLE, script: policy::LIVE_SCRIPT, state };
    page(document, Some(live))
}

fn page(document: &Document, live: Option<Live<'_>>) -> LivePage {
    let has_flame =
        document.sections.iter().flat_map(|of| &of.blocks).any(|block| matches!(block, Block::Flame(_)));
    // A flame graph brings its style with it.
    let styles =
        [Some(policy::STYLE), has_flame.then_some(flame::STYLE), live.as_ref().map(|live| live.style)];
    let styles: Vec<&str> = styles.into_iter().flatten().collect();
    let policy = match &live {
        None => policy::content_security_policy(&styles, &[policy::SCRIPT]),
        Some(live) => policy::live_content_security_policy(&styles, &[policy::SCRIPT, live.script]),
    };
    let is_on_page = |section: &&Section| section.forms != Forms::Text && !section.blocks.is_empty();
    let page = Page {
        policy: policy.clone(),
        style: policy::STYLE,
        script: policy::SCRIPT,
        live,
        document,
        word: &document.verdict.word,
        class: document.verdict.verdict.map_or("measured", verdict_class),
        sections: document.sections.iter().filter(is_on_page).collect(),
    };
    LivePage { html: text::page(&page), policy }
}

impl Table {
    fn shown(&self) -> &[Row] {
        &self.rows[..self.rows.len().min(MAX_ROWS)]
    }

    fn left_out(&self) -> usize {
        self.rows.len().saturating_sub(MAX_ROWS)
    }
}

fn coded(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let part = |(at, part): (usize, &&str)| match at % 2 {
        // The last one without an end is no code.
        1 if at + 1 < parts.len() => format!("<code class=\"inline\">{}</code>", text::escape(part)),
        1 => format!("`{}", text::escape(part)),
        _ => text::escape(part),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Browsers break a name at blanks and hyphens only, else within a word.
fn breakable(name: &str) -> String {
    name.split_inclusive(['_', '/', '.', ':', '?', '&']).map(text::escape).collect::<Vec<_>>().join("<wbr>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_backticks_is_code_and_markup_stays_text() {
        assert_eq!(
            coded("`a < b` needs `c`"),
            "<code class=\"inline\">a &lt; b</code> needs <code class=\"inline\">c</code>"
        );
        assert_eq!(coded("a ` <b>"), "a ` &lt;b&gt;");
        assert_eq!(coded(""), "");
    }

    #[test]
    fn a_name_breaks_after_its_separators_and_markup_stays_text() {
        assert_eq!(breakable("GET /a_b?<i>"), "GET /<wbr>a_<wbr>b?<wbr>&lt;i&gt;");
        assert_eq!(breakable("list"), "list");
    }
}
