//! A form with parts: each property of its schema is a part, and so is each item of a list. The types of parts are those of
//! the tables of OpenAPI 3.0.4 and 3.1.1 ("Encoding Object").

use serde_json::Value;

use super::document::{Document, escaped};
use super::sample;
use super::schema::Flat;
use crate::error::DraftError;
use crate::json::Json;
use crate::multipart::{BOUNDARY, PartHead, end};
use crate::text::Text;

const OCTETS: &str = "application/octet-stream";
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// What is written, or why it cannot be drafted.
type Drafted = Result<Text, String>;

/// The form of `fields`, which are values of the media type `described` at `pointer`.
pub(super) fn form(
    document: &Document<'_>,
    described: &Value,
    pointer: &str,
    fields: &[(String, Json)],
) -> Result<Drafted, DraftError> {
    let schema = described.get("schema").unwrap_or(&Value::Null);
    let flat = Flat::read(document, schema, &format!("{pointer}/schema"))?;
    let has_example = described.get("example").or(described.get("examples")).is_some();
    let mut out = Text::default();
    for (name, value) in fields {
        let encoding = described.get("encoding").and_then(|encodings| encodings.get(name));
        let headers =
            match headers(document, encoding, &format!("{pointer}/encoding/{}/headers", escaped(name)))? {
                Ok(headers) => headers,
                Err(why) => return Ok(Err(format!("the form field `{name}` {why}"))),
            };
        let mut part = Part { document, name, schema: None, encoding, headers, is_known: true };
        if let Some((property, at)) = flat.property(name) {
            part.is_known = has_example || sample::of_schema(document, property, &at, 0)?.is_known;
            part.schema = Some(Flat::read(document, property, &at)?);
        }
        match part.written(value)? {
            Ok(written) => out.push(&written),
            Err(why) => return Ok(Err(format!("the form field `{name}` {why}"))),
        }
    }
    Ok(Ok(out.and(&end(BOUNDARY))))
}

/// The headers of a part that are required or have an example, each with the line end before it.
fn headers(document: &Document<'_>, encoding: Option<&Value>, pointer: &str) -> Result<Drafted, DraftError> {
    let mut out = Text::default();
    let described = encoding.and_then(|encoding| encoding.get("headers")).and_then(Value::as_object);
    for (name, header) in
        described.into_iter().flatten().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"))
    {
        let (header, at) = document.resolved(header, &format!("{pointer}/{}", escaped(name)))?;
        let sample = sample::of_described(document, header, &at)?;
        if !sample.is_example && header.get("required").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        if name.eq_ignore_ascii_case("content-disposition")
            || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
        {
            return Ok(Err(format!("has the header `{name}`, which must be written by hand")));
        }
        out = out.and(&format!("\r\n{name}: ")).then(&sample.value.plain().in_header());
    }
    Ok(Ok(out))
}

/// A property of a form, which is one part, or several where it is a list.
struct Part<'v> {
    document: &'v Document<'v>,
    name: &'v str,
    schema: Option<Flat<'v>>,
    encoding: Option<&'v Value>,
    /// Those that the description adds, each with the line end before it.
    headers: Text,
    /// The description has a value of it.
    is_known: bool,
}

impl Part<'_> {
    fn written(&self, value: &Json) -> Result<Drafted, DraftError> {
        if let Some(key) =
            ["style", "explode", "allowReserved"].iter().find(|key| self.encoded(key).is_some())
            && !self.document.is_3_0()
        {
            return Ok(Err(format!("has `{key}`, which is not drafted for forms with parts")));
        }
        let Json::List(items) = value else { return Ok(self.one(value, self.schema.as_ref())) };
        let item = self.schema.as_ref().and_then(Flat::items);
        let item = item.map(|(schema, at)| Flat::read(self.document, schema, &at)).transpose()?;
        let parts: Result<Vec<Text>, String> =
            items.iter().map(|value| self.one(value, item.as_ref())).collect();
        Ok(parts.map(|parts| Text::joined(&parts, "")))
    }

    fn encoded(&self, key: &str) -> Option<&Value> {
        self.encoding.and_then(|encoding| encoding.get(key))
    }

    /// One part; null is none.
    fn one(&self, value: &Json, schema: Option<&Flat<'_>>) -> Drafted {
        if *value == Json::Plain(Value::Null) {
            return Ok(Text::default());
        }
        let usual = self.usual_type(value, schema);
        let asked = self.encoded("contentType").and_then(Value::as_str);
        let media_type = match asked {
            Some(asked) => asked
                .split(',')
                .map(str::trim)
                .find(|one| !one.contains('*'))
                .ok_or_else(|| format!("has any type of `{asked}`, and its content is unknown"))?,
            None => usual,
        };
        let is_json = media_type.contains("json");
        let is_text = media_type.starts_with("text/");
        let content = match value {
            value if is_json => value.written(),
            Json::List(_) => return Err("is a list within a list, which a form does not have".to_owned()),
            Json::Object(_) => return Err(format!("is an object that is written as `{media_type}`")),
            value if self.is_known || is_text || media_type == OCTETS => value.plain(),
            _ => return Err(format!("has the type `{media_type}` and no example")),
        };
        if content.source().contains(BOUNDARY) {
            return Err(format!("contains `{BOUNDARY}`, which separates the parts"));
        }
        let is_file = usual == OCTETS || !(is_json || is_text);
        let head = PartHead {
            name: self.name,
            file_name: is_file.then_some(self.name),
            media_type: (asked.is_some() || usual != TEXT).then_some(media_type),
        };
        Ok(Text::literal(&head.lines(BOUNDARY))
            .then(&self.headers)
            .and("\r\n\r\n")
            .then(&content)
            .and("\r\n"))
    }

    /// The media type of a part without `contentType`.
    fn usual_type(&self, value: &Json, schema: Option<&Flat<'_>>) -> &'static str {
        if matches!(value, Json::Object(_)) {
            return JSON;
        }
        let Some(schema) = schema else { return TEXT };
        let format = schema.get("format").and_then(Value::as_str);
        let is_binary = match self.document.is_3_0() {
            true => matches!(format, Some("binary" | "byte")),
            // Descriptions that were written for 3.0 say so in 3.1, too.
            false => {
                format == Some("binary")
                    || schema.get("contentEncoding").is_some()
                    || (schema.type_name().is_none() && !self.is_known)
            }
        };
        if is_binary { OCTETS } else { TEXT }
    }
}
