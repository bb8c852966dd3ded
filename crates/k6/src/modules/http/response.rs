//! Responses, as objects whose properties are made when they are read.

use std::borrow::Cow;
use std::ffi::CStr;
use std::rc::Rc;
use std::str::Utf8Chunk;

use engine::HeldBytes;
use engine::tls_offer::TlsVersion;

use crate::http::{BodyForm, HttpResponse, SetCookie, is_json, select, shown_name, status_text};
use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::modules::defining::add;
use crate::modules::html;
use crate::vu::Vu;

/// Why what has no body has no JSON, in k6's words.
const NO_BODY: &str = "the body is null so we can't transform it to JSON - this likely was because of a request error getting the \
                       response";

/// The same of HTML.
const NO_BODY_TO_PARSE: &str = "the body is null so we can't transform it to HTML - this likely was because of a request error \
                                getting the response";

/// A response for a script.
pub(crate) fn response_object(scope: Scope<'_>, response: Rc<HttpResponse>) -> Result<Value<'_>, Thrown> {
    scope.hold(response)
}

impl Shared for HttpResponse {
    const CLASS: &'static CStr = c"Response";

    /// In k6's order.
    const PROPERTIES: &'static [&'static str] = &[
        "remote_ip",
        "remote_port",
        "url",
        "status",
        "status_text",
        "proto",
        "headers",
        "cookies",
        "body",
        "timings",
        "tls_version",
        "tls_cipher_suite",
        "ocsp",
        "error",
        "error_code",
        "request",
        "clickLink",
        "html",
        "json",
        "submitForm",
    ];

    fn property<'js>(scope: Scope<'js>, of: &Rc<Self>, place: usize) -> Result<Value<'js>, Thrown> {
        Ok(match place {
            0 => scope.string(&of.remote.map_or_else(String::new, |remote| remote.ip().to_string())),
            1 => scope.number(of.remote.map_or(0, |remote| remote.port()).into()),
            2 => scope.string(&of.url),
            3 => scope.number(of.status.into()),
            4 => scope.string(&status_text(of.status)),
            5 => scope.string(of.protocol),
            6 => headers(scope, of)?,
            7 => cookies(scope, of)?,
            8 => body(scope, of)?,
            9 => timings(scope, of)?,
            10 => scope.string(match of.tls.map(|tls| tls.version) {
                Some(TlsVersion::Tls12) => "tls1.2",
                Some(TlsVersion::Tls13) => "tls1.3",
                None => "",
            }),
            11 => scope.string(&of.tls.map_or_else(String::new, |tls| tls.cipher_suite())),
            12 => ocsp(scope)?,
            13 => scope.string(of.failure.as_ref().map_or("", |failure| failure.text.as_str())),
            14 => scope.number(of.failure.as_ref().map_or(0, |failure| failure.code).into()),
            15 => request_of(scope, of)?,
            _ => scope.class_prototype::<HttpResponse>()?.get(Self::PROPERTIES[place])?,
        })
    }
}

/// What responses inherit from, but for what sends requests.
pub(super) fn prototype(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let prototype = scope.object();
    add(&prototype, "html", 0, html)?;
    add(&prototype, "json", 0, json)?;
    Ok(prototype)
}

fn body<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let Some(request) = &response.request else { return Ok(scope.array()) };
    Ok(match &response.body {
        None => scope.null(),
        Some(body) if request.form == BodyForm::Binary => scope.array_buffer(body),
        Some(body) => scope.string(&MeanwhileMemory::of(scope).text(body)?),
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
        let Some(set) = SetCookie::parse(&String::from_utf8_lossy(line)) else { continue };
        let cookie = scope.object();
        cookie.set("name", &scope.string(&set.name))?;
        cookie.set("value", &scope.string(&set.value))?;
        cookie.set("domain", &scope.string(&set.domain))?;
        cookie.set("path", &scope.string(&set.path))?;
        cookie.set("http_only", &scope.boolean(set.http_only))?;
        cookie.set("secure", &scope.boolean(set.secure))?;
        cookie.set("max_age", &scope.number(set.max_age as f64))?;
        cookie.set("expires", &scope.number(set.shown_expires_ms()))?;
        let known = object.get(&set.name)?;
        let list = if known.is_array() { known } else { scope.array() };
        list.put(list.length()?, cookie)?;
        object.set(&set.name, &list)?;
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

/// What the script asked for; null where that is not a request.
fn request_of<'js>(scope: Scope<'js>, response: &HttpResponse) -> Result<Value<'js>, Thrown> {
    let Some(request) = &response.request else { return Ok(scope.null()) };
    let object = scope.object();
    object.set("method", &scope.string(&request.method))?;
    object.set("url", &scope.string(&request.url.shown()))?;
    let headers = scope.object();
    let settings = Vu::of(scope).shared.script.settings();
    let of_run = request.header("user-agent").is_none().then_some(("user-agent", &settings.http.user_agent));
    let given = request.headers.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in of_run.into_iter().chain(given) {
        let values = scope.array();
        values.put(0, scope.string(value))?;
        headers.set(&shown_name(name.as_bytes()), &values)?;
    }
    object.set("headers", &headers)?;
    object.set("body", &scope.string_of(&request.body))?;
    let cookies = scope.object();
    for (name, value) in &request.cookies {
        let cookie = scope.object();
        cookie.set("name", &scope.string(name))?;
        cookie.set("value", &scope.string(value))?;
        cookie.set("replace", &scope.boolean(false))?;
        let known = cookies.get(name)?;
        let list = if known.is_array() { known } else { scope.array() };
        list.put(list.length()?, cookie)?;
        cookies.set(name, &list)?;
    }
    object.set("cookies", &cookies)?;
    Ok(object)
}

/// Nothing is said of the state of certificates.
fn ocsp(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let object = scope.object();
    for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
        object.set(name, &scope.number(0.0))?;
    }
    object.set("revocation_reason", &scope.string(""))?;
    object.set("status", &scope.string(""))?;
    Ok(object)
}

/// The body as JSON, which is parsed once, or what a selector selects of it.
fn json<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, this) = (call.scope(), call.this());
    let Some(response) = this.held::<HttpResponse>() else { return json_of_copy(call) };
    let selector = call.argument(0);
    let Some(body) = response.body.as_deref() else { return Err(scope.throw(NO_BODY)) };
    if call.count() == 0
        && let Some(parsed) = this.kept_beside::<HttpResponse>()
    {
        return Ok(parsed);
    }
    let mut memory = MeanwhileMemory::of(scope);
    let text = memory.text(body)?;
    if selector.is_nullish() {
        memory.take(text.len())?;
        let parsed = scope.parse_json(&text, "response.json()")?;
        if parsed.is_object() {
            this.keep_beside::<HttpResponse>(&parsed);
        }
        return Ok(parsed);
    }
    let selector = selector.text()?.to_string();
    // As in k6, a selector finds nothing in what is not JSON. To know that, texts with escapes are decoded, and how deep the text is
    // nested is noted.
    memory.take(2 * text.len())?;
    if !is_json(&text) {
        return Ok(scope.undefined());
    }
    // Only what makes lists and the like copies something; at most, all of the text.
    let copies = selector.bytes().filter(|byte| matches!(byte, b'#' | b'@' | b'[' | b'{' | b'!')).count();
    memory.take(copies * text.len())?;
    match select(&text, &selector) {
        Some(value) => scope.parse_json(&value, "response.json()"),
        None => Ok(scope.undefined()),
    }
}

/// `json()` of an object that a script has copied the properties of a response to.
fn json_of_copy<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let body = call.this().get("body")?;
    match body.is_string() && call.argument(0).is_nullish() {
        true => scope.parse_json(&body.text()?, "response.json()"),
        false => Err(scope.throw_type_error("not a response")),
    }
}

/// What a body takes besides itself while something is made of it.
struct MeanwhileMemory<'js> {
    scope: Scope<'js>,
    held: HeldBytes,
}

impl<'js> MeanwhileMemory<'js> {
    fn of(scope: Scope<'js>) -> MeanwhileMemory<'js> {
        MeanwhileMemory { scope, held: HeldBytes::new(Vu::of(scope).shared.script.budget()) }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Thrown> {
        let taken = self.held.grow(bytes);
        taken.map_err(|error| self.scope.throw(&format!("the body of a response cannot be read: {error}")))
    }

    /// These bytes as text: what is not UTF-8 becomes U+FFFD, which is longer.
    fn text<'b>(&mut self, bytes: &'b [u8]) -> Result<Cow<'b, str>, Thrown> {
        if let Ok(text) = str::from_utf8(bytes) {
            return Ok(Cow::Borrowed(text));
        }
        let replaced = |chunk: Utf8Chunk<'_>| {
            chunk.valid().len()
                + if chunk.invalid().is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() }
        };
        let length: usize = bytes.utf8_chunks().map(replaced).sum();
        self.take(length)?;
        let mut text = String::with_capacity(length);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Ok(Cow::Owned(text))
    }
}

/// `html(selector)`: the body as a document, or what is selected of it.
fn html<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, this) = (call.scope(), call.this());
    let Some(response) = this.held::<HttpResponse>() else {
        return Err(scope.throw_type_error("not a response"));
    };
    let Some(body) = response.body.as_deref() else { return Err(scope.throw(NO_BODY_TO_PARSE)) };
    let selection = html::parsed(scope, &MeanwhileMemory::of(scope).text(body)?, &response.url)?;
    match call.count() {
        0 => Ok(selection),
        _ => {
            let selector = call.argument(0);
            let selector = if selector.is_nullish() { scope.string("") } else { selector };
            selection.get("find")?.call(&selection, &[scope.string(&selector.text()?)])
        }
    }
}
