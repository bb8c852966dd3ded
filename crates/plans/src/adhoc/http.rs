//! Ad-hoc runs of one HTTP request.

use std::time::Duration;

use super::names::endpoint_name;
use super::pace::Pace;
use super::texts::TemplateReader;
use super::{AdhocError, AdhocParts, Sources, TARGET, single_target};
use workload::LoadedPlan;
use workload::address::{is_visible_ascii, with_local_host};
use workload::connection::Connecting;
use workload::http::HttpOptions;
use workload::model::{Expect, Flow, HttpOrigin, Request, Step, Target};
use workload::template::{Part, Template};
use workload::think::Think;

/// The longest URL, in bytes.
const MAX_URL_BYTES: usize = 64 << 10;
/// The largest body, in bytes: the run file contains it.
const MAX_BODY_BYTES: usize = 16 << 20;

/// The options of `plimsoll http`.
#[derive(Debug, Clone)]
pub struct AdhocHttp {
    pub requests: AdhocRequests,
    /// Names and values; values are templates. Requests of a list may have such headers themselves.
    pub headers: Vec<(String, String)>,
    /// `USER:PASSWORD` for requests without `authorization`, a template.
    pub basic_auth: Option<String>,
    /// The body of requests that have none themselves.
    pub body: Option<Body>,
    /// How many redirects are followed; with 0 a redirect is the response.
    pub redirects: u32,
    /// How connections are made.
    pub connecting: Connecting,
    /// Time limit of a request, from its due instant.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    pub pace: Pace,
}

/// The requests of an ad-hoc run.
#[derive(Debug, Clone)]
pub enum AdhocRequests {
    /// One, repeated.
    One(UrlRequest),
    /// Those of a list, in order.
    Listed(RequestList),
}

#[derive(Debug, Clone)]
pub struct UrlRequest {
    /// The URL; without a scheme it is `http://`. The part after the host is a template.
    pub url: String,
    /// The method; none: `GET`, or `POST` with a body.
    pub method: Option<String>,
}

#[derive(Debug, Clone)]
pub struct RequestList {
    pub name: String,
    pub content: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Template(String),
    /// Literal text, such as the content of a file.
    Exact(String),
}

impl Body {
    /// The content of a file, as literal text.
    ///
    /// # Errors
    /// [`AdhocError`] if it is not text, or too large.
    pub fn of_file(name: &str, bytes: Vec<u8>) -> Result<Body, AdhocError> {
        if bytes.len() > MAX_BODY_BYTES {
            return Err(AdhocError(format!(
                "{name} is larger than {MAX_BODY_BYTES} bytes; a body is at most that"
            )));
        }
        String::from_utf8(bytes)
            .map(Body::Exact)
            .map_err(|_| AdhocError(format!("{name} is not UTF-8; bodies must be text")))
    }
}

/// The plan of an ad-hoc run of one request.
pub(super) fn one(
    adhoc: &AdhocHttp,
    request: &UrlRequest,
    sources: Sources<'_>,
) -> Result<LoadedPlan, AdhocError> {
    let shape = adhoc.pace.resolve()?;
    let mut texts = TemplateReader::new(sources);
    let (origin, path) = split_url(&request.url)?;
    let path = texts.template("the URL", &path)?;
    check_path(&path)?;
    let method = match &request.method {
        Some(method) => method_of(method)?,
        None => if adhoc.body.is_some() { "POST" } else { "GET" }.to_owned(),
    };
    let body = body(adhoc.body.as_ref(), &mut texts)?;
    let headers = texts.headers(&adhoc.headers)?;
    let basic_auth = texts.basic_auth(adhoc.basic_auth.as_ref())?;
    let shown = path.source().split('?').next().unwrap_or_default();
    let step = Step {
        name: endpoint_name(&format!("{method} {shown}")),
        request: Request::Http {
            target: TARGET.to_owned(),
            method,
            path,
            headers,
            body,
            options: HttpOptions { redirects: adhoc.redirects, basic_auth, compress: false },
        },
        timeout: adhoc.timeout,
        think: Think::default(),
        expect: Expect::default(),
        extract: Vec::new(),
    };
    let connecting = adhoc.connecting.clone();
    let parts = AdhocParts {
        name: format!("{}:{}", origin.host, origin.port),
        seed: adhoc.seed,
        targets: single_target(Target { http: Some(origin), connecting, ..Target::default() }),
        flow: Flow::Sequence(vec![step]),
        shape,
        timeout: adhoc.timeout,
    };
    parts.plan(texts)
}

pub(super) fn body(body: Option<&Body>, texts: &mut TemplateReader<'_>) -> Result<Template, AdhocError> {
    Ok(match body {
        None => Template::default(),
        Some(Body::Template(text)) => texts.template("--body", text)?,
        Some(Body::Exact(text)) => Template::literal(text),
    })
}

/// A method, in capitals.
pub(super) fn method_of(method: &str) -> Result<String, AdhocError> {
    let upper = method.to_ascii_uppercase();
    if upper.is_empty() || !upper.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') || upper == "CONNECT" {
        return Err(AdhocError(format!("`{method}` is not a method; write `GET`, `POST`, `PUT` …")));
    }
    Ok(upper)
}

/// The origin of a URL, and its path and query.
pub(super) fn split_url(url: &str) -> Result<(HttpOrigin, String), AdhocError> {
    if url.len() > MAX_URL_BYTES {
        return Err(AdhocError(format!("a URL is at most {MAX_URL_BYTES} bytes long")));
    }
    let url = with_local_host(url);
    let whole = if url.contains("://") { url.into_owned() } else { format!("http://{url}") };
    let after = whole.find("://").map_or(0, |at| at + 3);
    let end = whole[after..].find(['/', '?', '#']).map_or(whole.len(), |at| after + at);
    // A password with a `/` in it looks like the end of the host.
    let origin = HttpOrigin::parse(&whole[..end]);
    if whole[after..end].contains('@') || (origin.is_err() && whole[end..].contains('@')) {
        return Err(AdhocError(
            "a URL has no user and password in it; use `-a 'user:${env.PASSWORD}'`".to_owned(),
        ));
    }
    let origin = origin.map_err(AdhocError)?;
    // A fragment is not sent.
    let path = whole[end..].split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((origin, path))
}

/// Check that a path contains only characters that a URL may contain.
pub(super) fn check_path(path: &Template) -> Result<(), AdhocError> {
    let is_sound = |part: &Part| !matches!(part, Part::Literal(text) if !is_visible_ascii(text));
    if path.parts().iter().all(is_sound) {
        return Ok(());
    }
    Err(AdhocError("a URL has no blanks and visible ASCII only; percent-encode the rest".to_owned()))
}
