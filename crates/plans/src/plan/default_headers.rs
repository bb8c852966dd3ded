//! Reads headers: those of a target or a scenario, which a step sends unless it has its own of that name, and each of a step.

use super::section::{Item, Section, Span};
use workload::template::Template;

/// A header of a target or a scenario.
pub(super) struct DefaultHeader {
    /// In lower case.
    pub(super) name: String,
    pub(super) value: Template,
    /// Where the value is.
    pub(super) span: Span,
}

/// Read the table `headers` of a target or a scenario.
pub(super) fn read(section: &Section<'_>) -> Vec<DefaultHeader> {
    let mut headers: Vec<DefaultHeader> = Vec::new();
    for item in section.entries("headers") {
        let Some((name, value)) = read_header(&item) else { continue };
        if headers.iter().any(|header| header.name == name) {
            item.issues
                .add(&item.key_span, format!("the header `{name}` is there twice; its case does not matter"));
        }
        headers.push(DefaultHeader { name, value, span: item.span() });
    }
    headers
}

/// A header's name, in lower case, and its value.
pub(super) fn read_header(item: &Item<'_>) -> Option<(String, Template)> {
    let name = item.key.to_ascii_lowercase();
    if !is_header_name(&name) {
        item.issues.add(&item.key_span, format!("`{}` is not a header name", item.key));
    }
    let value = item.template()?;
    if value.source().chars().any(|c| c.is_control()) {
        item.wrong("a header's value has no line breaks or other control characters");
    }
    Some((name, value))
}

/// A token of RFC 9110, section 5.6.2, or a pseudo-header's name.
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
