//! The parts of forms, as `-F` describes them and curl writes them.

use std::path::Path;

use super::files::Sources;
use crate::multipart::{BOUNDARY, PartHead};

/// A part's content, and the attributes after it.
struct Content {
    text: String,
    attributes: Vec<(String, String)>,
}

/// One part, of `name=text`, `name=@file` or `name=<file`, with `;type=` and `;filename=` after it.
///
/// # Errors
/// What is wrong with it.
pub(super) fn part(text: &str, is_literal: bool, sources: &mut Sources<'_>) -> Result<String, String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("`-F {text}`: write it as `-F name=value`"))?;
    if is_literal {
        return Ok(written(name, value, None, None));
    }
    if value.starts_with('(') || value == ")" {
        return Err(format!(
            "`-F {text}` begins parts within a part, which a draft does not have: write the step by hand"
        ));
    }
    let first = value.chars().next().filter(|c| matches!(c, '@' | '<'));
    let Content { text: content, attributes } = content(&value[first.map_or(0, char::len_utf8)..])?;
    let attribute =
        |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    if let Some((other, _)) =
        attributes.iter().find(|(name, _)| !matches!(name.as_str(), "type" | "filename"))
    {
        return Err(format!(
            "`-F {text}`: `;{other}` has nothing like it in a plan; quote a text that contains `;`"
        ));
    }
    let Some(kind) = first else {
        return Ok(written(name, &content, attribute("filename"), attribute("type")));
    };
    if content.contains(',') {
        return Err(format!("`-F {text}` names several files: write one `-F` for each"));
    }
    let body = sources.read(&content)?;
    let last = Path::new(&content).file_name().map(|name| name.to_string_lossy().into_owned());
    let file_name = attribute("filename").map(str::to_owned).or(last.filter(|_| kind == '@'));
    let guessed = file_name.as_ref().map(|_| media_type(&content).unwrap_or("application/octet-stream"));
    Ok(written(name, &body, file_name.as_deref(), attribute("type").or(guessed)))
}

fn written(name: &str, content: &str, file_name: Option<&str>, media_type: Option<&str>) -> String {
    format!("{}\r\n\r\n{content}\r\n", PartHead { name, file_name, media_type }.lines(BOUNDARY))
}

/// A text up to `;`, quoted or not, and what follows it.
fn content(value: &str) -> Result<Content, String> {
    let (text, mut rest) = word(value)?;
    let mut attributes = Vec::new();
    while let Some(more) = rest.strip_prefix(';') {
        let more = more.trim_start();
        let name = more.split(['=', ';']).next().unwrap_or_default().to_owned();
        let value = more[name.len()..].strip_prefix('=').unwrap_or_default();
        // A media type may have parameters of its own.
        let (value, after) = match name.as_str() {
            "type" => (value.to_owned(), ""),
            _ => word(value)?,
        };
        attributes.push((name.trim().to_owned(), value));
        rest = after;
    }
    Ok(Content { text, attributes })
}

/// A word that ends at `;`: in quotes with `\"` and `\\`, or without.
fn word(value: &str) -> Result<(String, &str), String> {
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find(';').unwrap_or(value.len());
        return Ok((value[..end].to_owned(), &value[end..]));
    };
    let mut text = String::new();
    let mut rest = quoted.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => return Ok((text, quoted[at + 1..].trim_start())),
            '\\' => text.extend(rest.next().map(|(_, c)| c)),
            c => text.push(c),
        }
    }
    Err(format!("`{value}` has a \" without its end"))
}

/// What curl knows of a file by its name.
fn media_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => return None,
    })
}
