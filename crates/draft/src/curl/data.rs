//! The data of a command: pieces of its body or of its query.

use super::files::Sources;
use crate::url::encoded;

/// What `-d` and its relatives give.
#[derive(Debug, Clone, Default)]
pub(super) struct Data {
    /// The pieces as they are sent, joined; none if there is no such option.
    pub(super) text: Option<String>,
    pub(super) is_json: bool,
}

impl Data {
    /// Add the value of the option `name`.
    ///
    /// # Errors
    /// What is wrong with a file that it names.
    pub(super) fn add(&mut self, name: &str, value: &str, sources: &mut Sources<'_>) -> Result<(), String> {
        let file = value.strip_prefix('@').filter(|_| name != "data-raw");
        let piece = match (name, file) {
            ("data-urlencode", _) => url_encoded(value, sources)?,
            // Without its line breaks and zero bytes.
            ("data" | "data-ascii", Some(path)) => sources.read(path)?.replace(['\r', '\n', '\0'], ""),
            (_, Some(path)) => sources.read(path)?,
            (_, None) => value.to_owned(),
        };
        let separator = if name == "json" { "" } else { "&" };
        self.text = Some(match self.text.take() {
            Some(before) => format!("{before}{separator}{piece}"),
            None => piece,
        });
        self.is_json |= name == "json";
        Ok(())
    }

    /// The content type where no header names one.
    pub(super) fn content_type(&self) -> &'static str {
        if self.is_json { "application/json" } else { "application/x-www-form-urlencoded" }
    }
}

/// A piece of `--data-urlencode` or `--url-query`: `text`, `=text`, `name=text`, `@file` or `name@file`.
///
/// # Errors
/// What is wrong with a file that it names.
pub(super) fn url_encoded(value: &str, sources: &mut Sources<'_>) -> Result<String, String> {
    // As curl does, a blank is `+`.
    let encode = |text: &str| encoded(text).replace("%20", "+");
    match value.split_once(['=', '@']) {
        None => Ok(encode(value)),
        Some((name, rest)) => {
            let is_file = value[name.len()..].starts_with('@');
            let text = if is_file { sources.read(rest)? } else { rest.to_owned() };
            let name = if name.is_empty() { String::new() } else { format!("{name}=") };
            Ok(name + &encode(&text))
        }
    }
}
