//! One request over HTTP, again and again.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{AdhocError, Common, Pace, Sources, TARGET, Texts, endpoint_name, one};
use crate::connection::Connecting;
use crate::http::HttpOptions;
use crate::model::{Expect, Flow, HttpOrigin, Request, Step, Target};
use crate::plan::{LoadedPlan, http_origin, is_target_text};
use crate::template::{Part, Template};

/// The longest URL.
const MAX_URL_BYTES: usize = 64 << 10;
/// The longest body: it is kept with the workload in the run file.
const MAX_BODY_BYTES: usize = 16 << 20;

/// What the options of `plimsoll http` say.
#[derive(Debug, Clone)]
pub struct HttpAdhoc {
    /// Where to; without a scheme it is `http://`. A template after the host.
    pub url: String,
    /// Such as `GET`; none: `GET`, or `POST` with a body.
    pub method: Option<String>,
    /// Names and values; values are templates.
    pub headers: Vec<(String, String)>,
    /// What is sent along.
    pub body: Option<Body>,
    /// How many redirects are followed; with 0 a redirect is the response.
    pub redirects: u32,
    /// How it is connected to.
    pub connecting: Connecting,
    /// Due instant of a request → failure.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// How much is sent.
    pub pace: Pace,
}

/// What is sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text with values in it.
    Template(String),
    /// Exactly this, as a file has it.
    Exact(String),
}

impl Body {
    /// Exactly what a file holds.
    ///
    /// # Errors
    /// [`AdhocError`] when it is no text or too large.
    pub fn of_file(name: &str, bytes: Vec<u8>) -> Result<Body, AdhocError> {
        if bytes.len() > MAX_BODY_BYTES {
            return Err(AdhocError(format!(
                "{name} is larger than {MAX_BODY_BYTES} bytes; a body is at most that"
            )));
        }
        String::from_utf8(bytes)
            .map(Body::Exact)
            .map_err(|_| AdhocError(format!("{name} is not UTF-8; bodies are text so far")))
    }
}

/// The header that `user:password` is sent in (RFC 7617).
///
/// # Errors
/// [`AdhocError`] when there is no colon.
pub fn basic_auth(credentials: &str) -> Result<(String, String), AdhocError> {
    if !credentials.contains(':') {
        return Err(AdhocError("basic auth is `user:password`".to_owned()));
    }
    Ok(("authorization".to_owned(), format!("Basic {}", STANDARD.encode(credentials))))
}

/// The plan that a line comes to.
///
/// # Errors
/// [`AdhocError`] says what is wrong and what to do.
pub fn http(line: &HttpAdhoc, sources: Sources<'_>) -> Result<LoadedPlan, AdhocError> {
    let shape = line.pace.resolve()?;
    let mut texts = Texts::new(sources);
    let (origin, path) = split_url(&line.url)?;
    let path = texts.template("the URL", &path)?;
    check_path(&path)?;
    let method = method(line)?;
    let body = match &line.body {
        None => Template::default(),
        Some(Body::Template(text)) => texts.template("--body", text)?,
        Some(Body::Exact(text)) => Template::literal(text),
    };
    let headers = line.headers.iter().map(|header| texts.header(header)).collect::<Result<_, _>>()?;
    let shown = path.source().split('?').next().unwrap_or_default();
    let step = Step {
        name: endpoint_name(&format!("{method} {shown}")),
        request: Request::Http {
            target: TARGET.to_owned(),
            method,
            path,
            headers,
            body,
            options: HttpOptions { redirects: line.redirects, ..HttpOptions::default() },
        },
        timeout: line.timeout,
        think: Duration::ZERO,
        expect: Expect::default(),
        extract: Vec::new(),
    };
    let common = Common {
        name: format!("{}:{}", origin.host, origin.port),
        seed: line.seed,
        targets: one(Target { http: Some(origin), connecting: line.connecting.clone(), ..Target::default() }),
        flow: Flow::Sequence(vec![step]),
        shape,
        timeout: line.timeout,
    };
    common.plan(texts)
}

fn method(line: &HttpAdhoc) -> Result<String, AdhocError> {
    let Some(method) = &line.method else {
        return Ok(if line.body.is_some() { "POST" } else { "GET" }.to_owned());
    };
    method_of(method)
}

/// A method, in capitals.
pub(super) fn method_of(method: &str) -> Result<String, AdhocError> {
    let upper = method.to_ascii_uppercase();
    if upper.is_empty() || !upper.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') || upper == "CONNECT" {
        return Err(AdhocError(format!("`{method}` is no method; write `GET`, `POST`, `PUT` …")));
    }
    Ok(upper)
}

/// The origin of a URL, and its path and query.
pub(super) fn split_url(url: &str) -> Result<(HttpOrigin, String), AdhocError> {
    if url.len() > MAX_URL_BYTES {
        return Err(AdhocError(format!("a URL is at most {MAX_URL_BYTES} bytes long")));
    }
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let after = whole.find("://").map_or(0, |at| at + 3);
    let end = whole[after..].find(['/', '?', '#']).map_or(whole.len(), |at| after + at);
    if whole[after..end].contains('@') {
        return Err(AdhocError("a URL has no user and password in it; use `-a user:password`".to_owned()));
    }
    let origin = http_origin(&whole[..end]).map_err(AdhocError)?;
    // What follows `#` is for whoever shows the answer.
    let path = whole[end..].split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((origin, path))
}

pub(super) fn check_path(path: &Template) -> Result<(), AdhocError> {
    let is_sound = |part: &Part| !matches!(part, Part::Literal(text) if !is_target_text(text));
    if path.parts().iter().all(is_sound) {
        return Ok(());
    }
    Err(AdhocError("a URL has no blanks and visible ASCII only; percent-encode the rest".to_owned()))
}
