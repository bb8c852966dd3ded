//! With what scripts open sessions.

use wire::websocket::Compression;

use crate::http::{CookieJar, Url};
use crate::js::{Call, Thrown, Value};
use crate::modules::defining::tags;
use crate::vu::Vu;
use crate::websocket::{NotOpened, SocketKind, SocketRequest};

/// Read `(url, params, protocols)`.
///
/// # Errors
/// What is wrong with them, in k6's words.
pub(super) fn read(call: &Call<'_, '_>, kind: SocketKind) -> Result<SocketRequest, Thrown> {
    let (vu, given) = (Vu::of(call.scope()), call.argument(0));
    if given.is_nullish() && kind == SocketKind::Concurrent {
        return Err(call.scope().throw("WebSocket requires a url"));
    }
    let text = if given.is_nullish() { String::new() } else { given.text()?.to_string() };
    let url = url_of(&text, kind);
    let mut request = SocketRequest {
        kind,
        wrong_url: url.as_ref().err().map(ToString::to_string),
        url: url.unwrap_or_default(),
        text,
        headers: Vec::new(),
        jar: vu.http.jar.borrow().clone(),
        tags: Vec::new(),
        compression: Compression::None,
        group: vu.group.borrow().clone(),
        due: vu.time(),
    };
    // As in k6, the other module tries to open it.
    if let (SocketKind::Concurrent, Some(why)) = (kind, &request.wrong_url) {
        return Err(call.scope().throw(why));
    }
    let params = call.argument(1);
    if params.is_object() {
        read_params(&params, &mut request)?;
    }
    let protocols = protocols(&call.argument(2))?;
    if !protocols.is_empty() {
        let is_set = |(name, _): &(String, String)| name.eq_ignore_ascii_case("sec-websocket-protocol");
        if request.headers.iter().any(is_set) {
            let why = "websocket: duplicate header not allowed: Sec-Websocket-Protocol";
            return Err(call.scope().throw(why));
        }
        request.headers.push(("Sec-WebSocket-Protocol".to_owned(), protocols.join(", ")));
    }
    Ok(request)
}

/// Where the handshake of a session with this URL is sent.
///
/// # Errors
/// Why it cannot be sent, in k6's words.
fn url_of(text: &str, kind: SocketKind) -> Result<Url, NotOpened> {
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    let sent = match (scheme.to_ascii_lowercase().as_str(), kind) {
        ("ws", _) => format!("http:{rest}"),
        ("wss", _) => format!("https:{rest}"),
        (_, SocketKind::Blocking) => return Err(NotOpened("malformed ws or wss URL".to_owned())),
        (scheme, SocketKind::Concurrent) => {
            let why = format!("WebSocket requires url with scheme ws or wss, but got \"{scheme}\"");
            return Err(NotOpened(why));
        }
    };
    let url = Url::parse(&sent).map_err(|error| {
        let why = error.to_string().replacen(&sent, text, 1);
        NotOpened(match kind {
            SocketKind::Blocking => why,
            SocketKind::Concurrent => {
                format!("WebSocket requires valid url, but got \"{text}\" which resulted in {why}")
            }
        })
    })?;
    match text.split_once('#') {
        Some((_, fragment)) if kind == SocketKind::Concurrent && !fragment.is_empty() => {
            Err(NotOpened(format!("WebSocket requires no url fragment, but got \"{fragment}\"")))
        }
        _ => Ok(url),
    }
}

fn read_params(params: &Value<'_>, request: &mut SocketRequest) -> Result<(), Thrown> {
    let scope = params.scope();
    for name in params.keys()? {
        let value = params.get(&name)?;
        match name.as_str() {
            "headers" if value.is_object() => {
                for name in value.keys()? {
                    let text = value.get(&name)?.text()?.trim().to_owned();
                    request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                    request.headers.push((name, text));
                }
            }
            "tags" => {
                let of = match request.kind {
                    SocketKind::Blocking => "ws.connect() metric tags",
                    SocketKind::Concurrent => "WebSocket tags option",
                };
                request.tags = tags(&value, |why| scope.throw(&format!("invalid {of}: {why}")))?;
            }
            "jar" => {
                if let Some(jar) = value.held::<CookieJar>() {
                    request.jar = jar;
                }
            }
            "compression" => request.compression = compression(&value, request.kind)?,
            "headers" => {}
            name if request.kind == SocketKind::Concurrent => {
                return Err(scope.throw(&format!("unknown WebSocket's option {name}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn compression(value: &Value<'_>, kind: SocketKind) -> Result<Compression, Thrown> {
    let algorithm = value.text()?.trim().to_owned();
    match algorithm.as_str() {
        "" if kind == SocketKind::Blocking => Ok(Compression::None),
        "deflate" => Ok(Compression::Deflate),
        _ => Err(value.scope().throw(&format!(
            "unsupported compression algorithm '{algorithm}', supported algorithm is 'deflate'"
        ))),
    }
}

/// One protocol, or several.
fn protocols(given: &Value<'_>) -> Result<Vec<String>, Thrown> {
    if given.is_string() {
        return Ok(vec![given.text()?.to_string()]);
    }
    let count = if given.is_array() { given.length()? } else { 0 };
    (0..count).map(|index| Ok(given.at(index)?.text()?.to_string())).collect()
}
