//! The params of requests.

use std::time::Duration;

use super::body;
use super::expected::expectation;
use super::refused::Refused;
use crate::http::{Authentication, BodyForm, CookieJar, Failure, HttpRequest, cookie_pair};
use crate::js::Value;
use crate::modules::defining::tags;
use crate::modules::display::go_type;
use crate::script::{Level, LogLine};
use crate::vu::Vu;

/// Headers that the connection writes itself.
const OF_CONNECTION: [&str; 6] =
    ["connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

fn failed<T>(why: String) -> Result<T, Refused> {
    Err(Refused::Failed(Failure::new(0, why)))
}

/// Read params into a request, whose body has been read.
pub(super) fn read(params: &Value<'_>, request: &mut HttpRequest) -> Result<(), Refused> {
    let mut compression = None;
    for name in params.keys()? {
        let value = params.get(&name)?;
        if value.is_nullish() && name != "responseCallback" {
            continue;
        }
        match name.as_str() {
            "headers" => read_headers(&value, request)?,
            "tags" => {
                let wrong = |why: String| {
                    Refused::Failed(Failure::new(0, format!("invalid HTTP request metric tags: {why}")))
                };
                request.tags = tags(&value, wrong)?;
                let named = request.tags.iter().position(|(name, _)| name == "name");
                request.name = named.map(|at| request.tags.remove(at).1).or(request.name.take());
            }
            "timeout" => request.timeout = timeout(&value)?,
            "redirects" => request.redirects = value.as_number()?.max(0.0) as u32,
            "responseType" => request.form = form(&value)?,
            "responseCallback" if value.is_undefined() => {}
            "responseCallback" => match expectation(&value) {
                Some(expected) => request.expected = expected,
                None => failed("unsupported responseCallback".to_owned())?,
            },
            "auth" => request.authentication = authentication(&value)?,
            "jar" => {
                if let Some(jar) = value.held::<CookieJar>() {
                    request.jar = jar;
                }
            }
            "compression" => compression = Some(value),
            _ => {}
        }
    }
    let cookies = params.get("cookies")?;
    if cookies.is_object() {
        read_cookies(&cookies, request)?;
    }
    match compression {
        Some(algorithms) => body::compress(&algorithms, request),
        None => Ok(()),
    }
}

/// Headers; those that the connection writes itself are left out.
fn read_headers(headers: &Value<'_>, request: &mut HttpRequest) -> Result<(), Refused> {
    if !headers.is_object() {
        return Ok(());
    }
    for name in headers.keys()? {
        let value = headers.get(&name)?.text()?.to_string();
        if !OF_CONNECTION.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            request.set_header(&name, value.trim().to_owned());
        } else if !is_written_so(&name, &value, request) {
            let text = format!(
                "the header \"{name}: {value}\" of the {} request for {} is not sent: the connection writes its own",
                request.method,
                request.url.as_str()
            );
            let line = LogLine { level: Level::Warning, text, fields: Vec::new() };
            Vu::of(headers.scope()).log(line);
        }
    }
    Ok(())
}

/// Whether the connection writes such a header with the same meaning.
fn is_written_so(name: &str, value: &str, request: &HttpRequest) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "content-length" => value.trim().parse() == Ok(request.body.len()),
        "connection" => value.eq_ignore_ascii_case("keep-alive"),
        "keep-alive" => true,
        _ => false,
    }
}

/// Cookies: values, or objects with a `value` and whether it replaces that of the jar.
fn read_cookies(cookies: &Value<'_>, request: &mut HttpRequest) -> Result<(), Refused> {
    let mut pairs: Vec<String> = request.header("cookie").into_iter().map(str::to_owned).collect();
    for name in cookies.keys()? {
        let given = cookies.get(&name)?;
        if given.is_nullish() {
            continue;
        }
        let is_full = given.is_object();
        let value = if is_full { given.get("value")? } else { given.clone() };
        let value = if value.is_nullish() { String::new() } else { value.text()?.to_string() };
        if is_full && given.get("replace")?.is_truthy() {
            request.replaced_cookies.push(name.clone());
        }
        pairs.push(cookie_pair(&name, &value));
        request.cookies.push((name, value));
    }
    if !pairs.is_empty() {
        request.set_header("Cookie", pairs.join("; "));
    }
    Ok(())
}

fn authentication(value: &Value<'_>) -> Result<Authentication, Refused> {
    match &*value.text()? {
        "digest" => Ok(Authentication::Digest),
        "ntlm" => Err(value.scope().throw("params.auth \"ntlm\" of http requests is not supported").into()),
        _ => Ok(Authentication::Basic),
    }
}

/// A number of milliseconds, or a text such as `1m30s`.
fn timeout(value: &Value<'_>) -> Result<Duration, Refused> {
    if value.is_number() {
        let seconds = value.as_number()?.max(0.0) / 1e3;
        return Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    if !value.is_string() {
        return failed(format!(
            "invalid timeout value: unable to use type {} as a duration value",
            go_type(value)
        ));
    }
    let text = value.text()?.to_string();
    match crate::duration::parse(&text) {
        Some(timeout) => Ok(timeout),
        None => failed(format!("invalid timeout value: time: invalid duration {text:?}")),
    }
}

fn form(value: &Value<'_>) -> Result<BodyForm, Refused> {
    match &*value.text()? {
        "text" => Ok(BodyForm::Text),
        "binary" => Ok(BodyForm::Binary),
        "none" => Ok(BodyForm::Discarded),
        other => failed(format!("{other} does not belong to ResponseType values")),
    }
}
