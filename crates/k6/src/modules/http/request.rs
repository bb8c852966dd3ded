//! Requests as scripts write them: URL, body and params.

use std::time::Duration;

use super::expected::expectation;
use crate::http::{BodyForm, DEFAULT_TIMEOUT, HttpRequest};
use crate::js::{Scope, Thrown, Value};
use crate::modules::defining::{base64, tags};
use crate::script::{Bodies, Failures};
use crate::vu::Vu;

/// What a request is called with.
pub(super) struct Arguments<'js> {
    pub(super) method: String,
    pub(super) url: Value<'js>,
    pub(super) body: Value<'js>,
    pub(super) params: Value<'js>,
}

/// An element of a batch: a URL, `[method, url, body, params]`, or an object with these.
pub(super) fn of_batch<'js>(given: &Value<'js>) -> Result<Arguments<'js>, Thrown> {
    let undefined = given.scope().undefined();
    if given.is_array() {
        return Ok(Arguments {
            method: given.at(0)?.text()?.to_uppercase(),
            url: given.at(1)?,
            body: given.at(2)?,
            params: given.at(3)?,
        });
    }
    if given.is_object() && !given.get("name")?.is_string() {
        let method = given.get("method")?;
        let method = if method.is_nullish() { "GET".to_owned() } else { method.text()?.to_uppercase() };
        return Ok(Arguments {
            method,
            url: given.get("url")?,
            body: given.get("body")?,
            params: given.get("params")?,
        });
    }
    Ok(Arguments { method: "GET".to_owned(), url: given.clone(), body: undefined.clone(), params: undefined })
}

/// Whether failures of this request are exceptions.
pub(super) fn throws(params: &Value<'_>) -> Result<bool, Thrown> {
    let given = if params.is_object() { params.get("throw")? } else { params.scope().undefined() };
    if given.is_undefined() {
        return Ok(Vu::of(params.scope()).shared.script.settings().http.failures == Failures::Thrown);
    }
    Ok(given.is_truthy())
}

/// The request.
///
/// # Errors
/// What its parts throw, or why it is none.
pub(super) fn read(arguments: &Arguments<'_>) -> Result<HttpRequest, Thrown> {
    let scope = arguments.url.scope();
    let vu = Vu::of(scope);
    let defaults = &vu.shared.script.settings().http;
    let (url, name) = url_of(&arguments.url)?;
    let url = vu.shared.urls.borrow_mut().url(&url).map_err(|error| scope.throw(&error.to_string()))?;
    let mut request = HttpRequest {
        method: arguments.method.clone(),
        url,
        headers: Vec::new(),
        body: Vec::new(),
        timeout: DEFAULT_TIMEOUT,
        redirects: defaults.redirects,
        name,
        tags: Vec::new(),
        expected: vu.http.expected.borrow().clone(),
        form: if defaults.bodies == Bodies::Kept { BodyForm::Text } else { BodyForm::Discarded },
    };
    if let Some(user) = &request.url.user {
        request.headers.push(("authorization".to_owned(), format!("Basic {}", base64(user.as_bytes()))));
    }
    if arguments.params.is_object() {
        read_params(&arguments.params, &mut request)?;
    }
    read_body(&arguments.body, &mut request)?;
    if !request.headers.iter().any(|(name, _)| name == "user-agent") {
        request.headers.push(("user-agent".to_owned(), defaults.user_agent.clone()));
    }
    Ok(request)
}

/// A URL, and what it is called where `http.url` made it.
fn url_of(value: &Value<'_>) -> Result<(String, Option<String>), Thrown> {
    if value.is_object() && value.get("url")?.is_string() {
        let name = value.get("name")?.text()?.to_string();
        return Ok((value.get("url")?.text()?.to_string(), Some(name)));
    }
    Ok((value.text()?.to_string(), None))
}

fn read_params(params: &Value<'_>, request: &mut HttpRequest) -> Result<(), Thrown> {
    let scope = params.scope();
    for name in params.keys()? {
        let value = params.get(&name)?;
        if value.is_undefined() {
            continue;
        }
        match name.as_str() {
            "headers" => read_headers(&value, request)?,
            "tags" => {
                request.tags = tags(&value)?;
                let named = request.tags.iter().position(|(name, _)| name == "name");
                request.name = named.map(|at| request.tags.remove(at).1).or(request.name.take());
            }
            "timeout" => request.timeout = timeout(&value)?,
            "redirects" => request.redirects = value.as_number()?.max(0.0) as u32,
            "responseType" => request.form = form(&value)?,
            "responseCallback" => request.expected = expectation(&value)?,
            "cookies" => read_cookies(&value, request)?,
            "throw" => {}
            "auth" | "compression" | "jar" => {
                return Err(scope.throw(&format!("params.{name} of http requests is not supported")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Headers; those that the connection writes itself are left out.
fn read_headers(headers: &Value<'_>, request: &mut HttpRequest) -> Result<(), Thrown> {
    if !headers.is_object() {
        return Ok(());
    }
    for name in headers.keys()? {
        let value = headers.get(&name)?.text()?.to_string();
        let name = name.to_ascii_lowercase();
        let is_written =
            matches!(name.as_str(), "host" | "content-length" | "connection" | "transfer-encoding");
        if is_written {
            continue;
        }
        let is_valid = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
            && !value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        if !is_valid {
            return Err(headers.scope().throw(&format!(
                "the header \"{name}\" cannot be sent: its name or value has invalid characters"
            )));
        }
        request.headers.retain(|(known, _)| *known != name);
        request.headers.push((name, value.trim().to_owned()));
    }
    Ok(())
}

fn read_cookies(cookies: &Value<'_>, request: &mut HttpRequest) -> Result<(), Thrown> {
    let pairs: Vec<String> =
        tags(cookies)?.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !pairs.is_empty() {
        request.headers.push(("cookie".to_owned(), pairs.join("; ")));
    }
    Ok(())
}

/// A number of milliseconds, or a text such as `1m30s`.
fn timeout(value: &Value<'_>) -> Result<Duration, Thrown> {
    let wrong = |scope: Scope<'_>, text: &str| scope.throw(&format!("invalid timeout value: \"{text}\""));
    if value.is_number() {
        let milliseconds = value.as_number()?;
        return Duration::try_from_secs_f64(milliseconds / 1e3)
            .map_err(|_| wrong(value.scope(), &milliseconds.to_string()));
    }
    let text = value.text()?.to_string();
    crate::duration::parse(&text).ok_or_else(|| wrong(value.scope(), &text))
}

fn form(value: &Value<'_>) -> Result<BodyForm, Thrown> {
    match &*value.text()? {
        "text" => Ok(BodyForm::Text),
        "binary" => Ok(BodyForm::Binary),
        "none" => Ok(BodyForm::Discarded),
        other => Err(value.scope().throw(&format!(
            "{other} does not belong to ResponseType values, use one of [text, binary, none]"
        ))),
    }
}

/// A body: text or bytes as they are, the fields of an object as a form, with files as several parts.
fn read_body(body: &Value<'_>, request: &mut HttpRequest) -> Result<(), Thrown> {
    if body.is_nullish() {
        return Ok(());
    }
    if let Some(bytes) = body.bytes() {
        request.body = bytes;
        return Ok(());
    }
    if !body.is_object() {
        request.body = body.text()?.as_bytes().to_vec();
        return Ok(());
    }
    let mut fields = Vec::new();
    for name in body.keys()? {
        let value = body.get(&name)?;
        if value.is_object() && value.get("__file")?.is_truthy() {
            return Err(body
                .scope()
                .throw("files in a form are not supported; build the body as text or bytes"));
        }
        let values = match value.is_array() {
            true => (0..value.length()?).map(|index| value.at(index)).collect::<Result<Vec<_>, _>>()?,
            false => vec![value],
        };
        for value in values {
            fields.push(format!(
                "{}={}",
                form_encoded(name.as_bytes()),
                form_encoded(value.text()?.as_bytes())
            ));
        }
    }
    request.body = fields.join("&").into_bytes();
    if !request.headers.iter().any(|(name, _)| name == "content-type") {
        let form = "application/x-www-form-urlencoded".to_owned();
        request.headers.push(("content-type".to_owned(), form));
    }
    Ok(())
}

fn form_encoded(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' ' => encoded.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) => encoded.push((*byte).into()),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
