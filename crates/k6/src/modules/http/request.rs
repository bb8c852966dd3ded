//! Requests as scripts write them: method, URL, body and params.

use std::borrow::Cow;

use super::refused::Refused;
use super::{body, params};
use crate::http::{BodyForm, Failure, HttpRequest};
use crate::js::{Thrown, Value};
use crate::modules::display::go_text;
use crate::script::{Bodies, Failures};
use crate::vu::Vu;

/// What a request is called with.
pub(super) struct Arguments<'js> {
    pub(super) method: Cow<'static, str>,
    pub(super) url: Value<'js>,
    pub(super) body: Value<'js>,
    pub(super) params: Value<'js>,
}

/// A method; `GET` where none is named.
pub(super) fn method(value: &Value<'_>) -> Result<Cow<'static, str>, Thrown> {
    let method = if value.is_nullish() { String::new() } else { value.text()?.to_string() };
    Ok(if method.is_empty() { Cow::Borrowed("GET") } else { Cow::Owned(method) })
}

/// What a request with these params does where it fails.
pub(super) fn failures(params: &Value<'_>) -> Result<Failures, Thrown> {
    let default = Vu::of(params.scope()).shared.script.settings().http.failures;
    let given = if params.is_object() { params.get("throw")? } else { params.scope().undefined() };
    Ok(match given {
        given if given.is_undefined() => default,
        given if given.is_truthy() => Failures::Thrown,
        _ => Failures::Returned,
    })
}

/// The request.
///
/// # Errors
/// [`Refused`] where its parts are not those of a request.
pub(super) fn read(arguments: &Arguments<'_>) -> Result<HttpRequest, Refused> {
    let vu = Vu::of(arguments.url.scope());
    let defaults = &vu.shared.script.settings().http;
    let (url, name) = url_of(&arguments.url)?;
    let invalid = |why: String| Refused::Failed(Failure::new(1020, format!("invalid URL: {why}")));
    let read = vu.shared.urls.borrow_mut().url(&url);
    let url = read.map_err(|error| {
        vu.shared.script.requests().add_unsent(&url);
        invalid(error.to_string())
    })?;
    let mut request = HttpRequest {
        redirects: defaults.redirects,
        redirect_secrets: defaults.redirect_secrets,
        name,
        expected: vu.http.expected.borrow().clone(),
        form: if defaults.bodies == Bodies::Kept { BodyForm::Text } else { BodyForm::Discarded },
        jar: vu.http.jar.borrow().clone(),
        failures: failures(&arguments.params)?,
        ..HttpRequest::new(arguments.method.clone(), url)
    };
    body::read(&arguments.body, &mut request)?;
    if arguments.params.is_object() {
        params::read(&arguments.params, &mut request)?;
    }
    Ok(request)
}

/// A URL, and what it is called where `http.url` made it.
fn url_of(value: &Value<'_>) -> Result<(String, Option<String>), Refused> {
    if value.is_string() {
        return Ok((value.text()?.to_string(), None));
    }
    if value.is_object() && value.get("clean_url")?.is_string() {
        let name = value.get("name")?.text()?.to_string();
        return Ok((value.get("url")?.text()?.to_string(), Some(name)));
    }
    let why = format!("invalid URL: '#{}'", go_text(value)?);
    Err(Refused::Failed(Failure::new(1020, why)))
}
