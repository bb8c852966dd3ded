//! Responses, as objects whose properties are made when they are read.

use std::rc::Rc;

use crate::http::{BodyForm, HttpResponse, select};
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;

/// A response for a script.
pub(crate) fn response_object(scope: Scope<'_>, response: Rc<HttpResponse>) -> Result<Value<'_>, Thrown> {
    scope.hold(response)
}

/// What responses inherit from.
pub(super) fn set_prototype(scope: Scope<'_>) -> Result<(), Thrown> {
    let prototype = scope.object();
    let none = scope.undefined();
    macro_rules! getter {
        ($name:literal, $read:expr) => {
            let getter = scope.function($name, 0, |call| {
                let read: for<'js> fn(Scope<'js>, &HttpResponse) -> Result<Value<'js>, Thrown> = $read;
                read(call.scope(), &*this(call)?)
            });
            prototype.set_accessors($name, getter, none.clone())?;
        };
    }
    getter!("status", |scope, response| Ok(scope.number(response.status.into())));
    getter!("status_text", |scope, response| Ok(scope.string(&status_text(response.status))));
    getter!("url", |scope, response| Ok(scope.string(response.request.url.as_str())));
    getter!("proto", |scope, response| Ok(scope.string(response.protocol)));
    getter!("body", body);
    getter!("headers", headers);
    getter!("cookies", cookies);
    getter!("timings", timings);
    getter!("request", request);
    getter!("error", |scope, response| {
        Ok(scope.string(response.failure.as_ref().map_or("", |failure| failure.text.as_str())))
    });
    getter!("error_code", |scope, response| {
        Ok(scope.number(response.failure.as_ref().map_or(0, |failure| failure.code).into()))
    });
    add(&prototype, "json", 1, json)?;
    add(&prototype, "toJSON", 0, all)?;
    scope.set_class_prototype::<HttpResponse>(prototype);
    Ok(())
}

fn this(call: &Call<'_, '_>) -> Result<Rc<HttpResponse>, Thrown> {
    call.this().held().ok_or_else(|| call.scope().throw_type_error("not a response"))
}

fn body<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    Ok(match response.request.form {
        _ if response.status == 0 => scope.null(),
        BodyForm::Text => scope.string_of(&response.body),
        BodyForm::Binary => scope.array_buffer(&response.body),
        BodyForm::Discarded => scope.null(),
    })
}

/// Headers by name; several of one name are joined.
fn headers<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let object = scope.object();
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in response.headers.iter() {
        let (name, value) = (shown_name(name), String::from_utf8_lossy(value));
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend([", ", &value]),
            None => joined.push((name, value.into_owned())),
        }
    }
    for (name, value) in joined {
        object.set(&name, &scope.string(&value))?;
    }
    Ok(object)
}

/// The cookies that the response sets: by name, arrays of objects.
fn cookies<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let object = scope.object();
    for (_, line) in response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie")) {
        let line = String::from_utf8_lossy(line);
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
        let cookie = scope.object();
        for (key, text) in [("name", name), ("value", value)] {
            cookie.set(key, &scope.string(text))?;
        }
        for part in parts {
            let (key, text) = part.split_once('=').unwrap_or((part, ""));
            match key.to_ascii_lowercase().as_str() {
                "domain" => cookie.set("domain", &scope.string(text))?,
                "path" => cookie.set("path", &scope.string(text))?,
                "httponly" => cookie.set("http_only", &scope.boolean(true))?,
                "secure" => cookie.set("secure", &scope.boolean(true))?,
                "max-age" => cookie.set("max_age", &scope.number(text.parse().unwrap_or(0.0)))?,
                _ => {}
            }
        }
        let known = object.get(name)?;
        let list = if known.is_array() { known } else { scope.array() };
        list.put(list.length()?, cookie)?;
        object.set(name, &list)?;
    }
    Ok(object)
}

fn timings<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let object = scope.object();
    let timings = response.timings;
    for (name, value) in [
        ("duration", timings.duration()),
        ("blocked", timings.blocked),
        ("looking_up", timings.looking_up),
        ("connecting", timings.connecting),
        ("tls_handshaking", timings.tls_handshaking),
        ("sending", timings.sending),
        ("waiting", timings.waiting),
        ("receiving", timings.receiving),
    ] {
        object.set(name, &scope.number(value))?;
    }
    Ok(object)
}

fn request<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let object = scope.object();
    let request = &response.request;
    object.set("method", &scope.string(&request.method))?;
    object.set("url", &scope.string(request.url.as_str()))?;
    object.set("body", &scope.string_of(&request.body))?;
    let headers = scope.object();
    for (name, value) in &request.headers {
        let values = scope.array();
        values.put(0, scope.string(value))?;
        headers.set(name, &values)?;
    }
    object.set("headers", &headers)?;
    object.set("cookies", &scope.object())?;
    Ok(object)
}

/// The body as JSON, or what a selector selects of it.
fn json<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let response = this(call)?;
    let selector = call.argument(0);
    let text = String::from_utf8_lossy(&response.body);
    if selector.is_nullish() {
        return scope.parse_json(&text, "response.json()");
    }
    let parsed: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| scope.throw(&format!("cannot parse the body as JSON: {error}")))?;
    match select(&parsed, &selector.text()?) {
        Some(value) => scope.parse_json(&value.to_string(), "response.json()"),
        None => Ok(scope.undefined()),
    }
}

/// Everything, as a plain object: what `JSON.stringify` shows.
fn all<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, this) = (call.scope(), call.this());
    let object = scope.object();
    for name in [
        "url",
        "status",
        "status_text",
        "proto",
        "headers",
        "cookies",
        "body",
        "timings",
        "error",
        "error_code",
        "request",
    ] {
        object.set(name, &this.get(name)?)?;
    }
    Ok(object)
}

/// Such as `200 OK`; empty where there was no response.
fn status_text(status: u16) -> String {
    let reason = match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        0 => return String::new(),
        _ => return status.to_string(),
    };
    format!("{status} {reason}")
}

/// The name of a header as k6 shows it: `Content-Type`.
fn shown_name(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut is_first = true;
    for byte in name {
        let byte = if is_first { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        shown.push(byte.into());
        is_first = byte == b'-';
    }
    shown
}
