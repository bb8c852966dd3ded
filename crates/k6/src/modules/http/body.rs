//! Bodies of requests: text or bytes as they are, the fields of an object as a form, in several parts where files are among
//! them; compressed where the script asks for it.

use std::ffi::CStr;
use std::rc::Rc;

use super::refused::Refused;
use crate::http::{Failure, FieldContent, FormField, FormFile, HttpRequest, as_pairs, as_parts, boundary};
use crate::js::{Call, Shared, Thrown, Value};
use crate::modules::display::{go_text, go_type};
use crate::script::{Level, LogLine};
use crate::vu::Vu;

/// Marks what `http.file` returns.
struct FileMark;

impl Shared for FileMark {
    const CLASS: &'static CStr = c"FileData";
}

/// `http.file(data, filename, contentType)`.
pub(super) fn file<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let data = call.argument(0);
    if !data.is_string() && data.bytes().is_none() {
        let why = format!("invalid type {}, expected string or ArrayBuffer", go_type(&data));
        return Err(scope.throw(&why));
    }
    let file = scope.hold(Rc::new(FileMark))?;
    let or =
        |given: Value<'js>, default: &str| if given.is_nullish() { scope.string(default) } else { given };
    let now_ns = format!("{:.0}000000", Vu::of(scope).unix_ms());
    file.set("data", &data)?;
    file.set("filename", &or(call.argument(1), &now_ns))?;
    file.set("content_type", &or(call.argument(2), "application/octet-stream"))?;
    Ok(file)
}

/// Read the body of a request.
pub(super) fn read(body: &Value<'_>, request: &mut HttpRequest) -> Result<(), Refused> {
    if body.is_nullish() {
        return Ok(());
    }
    if body.is_string() {
        request.body = body.text()?.to_string().into_bytes();
        return Ok(());
    }
    if let Some(bytes) = body.bytes() {
        request.body = bytes;
        return Ok(());
    }
    if !body.is_object() || body.is_array() {
        let why = format!("unknown request body type {}", go_type(body));
        return Err(Refused::Failed(Failure::new(0, why)));
    }
    let mut has_file = false;
    for name in body.keys()? {
        has_file |= body.get(&name)?.held::<FileMark>().is_some();
    }
    let content_type = if has_file {
        let fields = parts(body)?;
        let boundary = boundary(&fields);
        request.body = as_parts(&fields, &boundary);
        format!("multipart/form-data; boundary={boundary}")
    } else {
        request.body = as_pairs(&pairs(body)?);
        "application/x-www-form-urlencoded".to_owned()
    };
    if request.header("content-type").is_none() {
        request.set_header("Content-Type", content_type);
    }
    Ok(())
}

/// The fields of a form by name, an element of an array each.
fn pairs(body: &Value<'_>) -> Result<Vec<(String, String)>, Thrown> {
    let mut names = body.keys()?;
    names.sort();
    let mut pairs = Vec::new();
    for name in names {
        let value = body.get(&name)?;
        if value.is_array() {
            for index in 0..value.length()? {
                pairs.push((name.clone(), go_text(&value.at(index)?)?));
            }
        } else {
            pairs.push((name, go_text(&value)?));
        }
    }
    Ok(pairs)
}

fn parts(body: &Value<'_>) -> Result<Vec<FormField>, Thrown> {
    let mut parts = Vec::new();
    for name in body.keys()? {
        let value = body.get(&name)?;
        let content = match value.held::<FileMark>() {
            None => FieldContent::Text(go_text(&value)?),
            Some(_) => {
                let data = value.get("data")?;
                let text = || Ok(data.text()?.to_string().into_bytes());
                FieldContent::File(FormFile {
                    data: data.bytes().map_or_else(text, Ok)?,
                    name: value.get("filename")?.text()?.to_string(),
                    content_type: value.get("content_type")?.text()?.to_string(),
                })
            }
        };
        parts.push(FormField { name, content });
    }
    Ok(parts)
}

/// Compress the body of a request by these algorithms, one after another.
pub(super) fn compress(given: &Value<'_>, request: &mut HttpRequest) -> Result<(), Refused> {
    let algorithms = given.text()?.to_string();
    if algorithms.trim().is_empty() || request.body.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = algorithms.split(',').map(str::trim).collect();
    let mut coded = request.body.clone();
    for name in &names {
        coded = wire::coding::encode(name, &coded).ok_or_else(|| {
            let why = match *name {
                "br" => "params.compression \"br\" of http requests is not supported".to_owned(),
                _ => format!(
                    "unknown compression algorithm {name}, supported algorithms are [gzip deflate zstd br]"
                ),
            };
            Refused::Failed(Failure::new(0, why))
        })?;
    }
    request.coded_body = Some(coded);
    let coding = names.join(", ");
    match request.header("content-encoding") {
        Some(header) if header != coding => {
            let text = format!(
                "the compression {coding} and the header Content-Encoding {header} of the {} request for {} differ: \
                 the header is sent as it is",
                request.method,
                request.url.as_str()
            );
            let line = LogLine { level: Level::Warning, text, fields: Vec::new() };
            Vu::of(given.scope()).log(line);
        }
        Some(_) => {}
        None => request.set_header("Content-Encoding", coding),
    }
    Ok(())
}
