//! Where a step takes a value of its response from.

use crate::toml_text::{key, quoted};

/// A value of a response, under the name by which later steps use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extraction {
    pub(crate) name: String,
    pub(crate) source: ExtractionSource,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExtractionSource {
    /// A path of RFC 9535.
    Json(String),
    /// A regular expression in the body.
    Regex(String),
    /// A whole header.
    Header(String),
    /// A regular expression in the values of a header.
    HeaderRegex { header: String, regex: String },
}

impl Extraction {
    /// As an entry of the table `extract`.
    pub(crate) fn toml(&self) -> String {
        let source = match &self.source {
            ExtractionSource::Json(path) => quoted(path),
            ExtractionSource::Regex(regex) => format!("{{ regex = {} }}", quoted(regex)),
            ExtractionSource::Header(name) => format!("{{ header = {} }}", quoted(name)),
            ExtractionSource::HeaderRegex { header, regex } => {
                format!("{{ header = {}, regex = {} }}", quoted(header), quoted(regex))
            }
        };
        format!("{} = {source}", key(&self.name))
    }
}
