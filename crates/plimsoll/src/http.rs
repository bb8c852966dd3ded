//! `plimsoll http`: an ad-hoc run against a URL, or over a list of requests.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use conduct::failure::{CommandResult, Failure};
use conduct::signals::Listener;
use plans::adhoc::{AdhocHttp, AdhocRequests, Body, DEFAULT_USERS, RequestList, UrlRequest, http as plan_of};
use plans::target_list::MAX_BYTES;
use workload::{Connecting, HttpVersion, Reuse};

use crate::adhoc;
use crate::arguments::{HttpArguments, RequestArguments};

/// How many redirects `-L` follows.
const FOLLOWED: u32 = 10;

pub(crate) fn http(arguments: &HttpArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let requests = match &arguments.targets {
        Some(path) => AdhocRequests::Listed(read_list(path)?),
        None => AdhocRequests::One(UrlRequest {
            url: arguments.url.clone().unwrap_or_default(),
            method: arguments.request.method.clone(),
        }),
    };
    let request = &arguments.request;
    let options = AdhocHttp {
        requests,
        headers: headers(request),
        basic_auth: request.basic_auth.clone(),
        body: body(request)?,
        redirects: if request.location { FOLLOWED } else { request.redirects },
        connecting: connecting(arguments),
        timeout: request.timeout,
        seed: arguments.pace.seed,
        pace: adhoc::pace(&arguments.pace, users(arguments)),
    };
    let plan = plan_of(&options, adhoc::SOURCES);
    adhoc::conduct(&listener, plan, &arguments.keep)
}

/// Requests under way at once, where an option says so.
fn users(arguments: &HttpArguments) -> Option<u32> {
    match (arguments.connections, arguments.parallel) {
        (connections, None) => connections,
        (connections, Some(each)) => Some(connections.unwrap_or(DEFAULT_USERS).saturating_mul(each)),
    }
}

/// How the target is connected to: `-c` is the number of connections, whatever the protocol.
fn connecting(arguments: &HttpArguments) -> Connecting {
    let is_closed = arguments.pace.rate.is_none() || arguments.parallel.is_some();
    let connections = arguments.connections.or(is_closed.then_some(DEFAULT_USERS));
    let loops = u32::from(arguments.keep.options.loops);
    Connecting {
        http: if arguments.http2 { HttpVersion::Http2 } else { HttpVersion::Auto },
        reuse: Some(if arguments.disable_keepalive { Reuse::Never } else { Reuse::Pool }),
        connections: connections.map(|all| all.div_ceil(loops)),
        ..adhoc::connecting(&arguments.connect)
    }
}

/// The name of a list and its content; reading stops just past the largest list that is accepted.
fn read_list(path: &Path) -> CommandResult<RequestList> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let mut content = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    let read = match is_stdin {
        true => std::io::stdin().lock().take(most).read_to_end(&mut content),
        false => File::open(path).and_then(|file| file.take(most).read_to_end(&mut content)),
    };
    read.with_context(|| format!("{name} cannot be read")).map_err(Failure::usage)?;
    Ok(RequestList { name, content })
}

/// Every header that an option asks for.
fn headers(request: &RequestArguments) -> Vec<(String, String)> {
    let mut headers = request.headers.clone();
    let named =
        [("content-type", &request.content_type), ("accept", &request.accept), ("cookie", &request.cookies)];
    headers.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
    headers
}

fn body(request: &RequestArguments) -> CommandResult<Option<Body>> {
    if let Some(path) = &request.body_file {
        let name = path.display().to_string();
        let bytes =
            std::fs::read(path).with_context(|| format!("{name} cannot be read")).map_err(Failure::usage)?;
        return Body::of_file(&name, bytes).map(Some).map_err(Failure::usage);
    }
    Ok(request.body.clone().map(Body::Template))
}
