//! A document as one self-contained HTML file.

use askama::Template;
use evidence::Severity;

use super::{Block, Document, Section};
use crate::html::view::verdict_class;
use crate::{policy, text};

/// The style of these pages beside that of runs.
const STYLE: &str = include_str!("../../templates/document.css");

#[derive(Template)]
#[template(path = "document.html")]
struct Page<'a> {
    policy: String,
    styles: [&'static str; 2],
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
}

/// The document as one self-contained HTML file.
pub fn html(document: &Document) -> String {
    let page = Page {
        policy: policy::content_security_policy(&[policy::STYLE, STYLE], &[policy::SCRIPT]),
        styles: [policy::STYLE, STYLE],
        script: policy::SCRIPT,
        document,
        word: &document.verdict.word,
        class: document.verdict.verdict.map_or("measured", verdict_class),
        sections: document.sections.iter().filter(|section| !section.blocks.is_empty()).collect(),
    };
    text::page(&page)
}
