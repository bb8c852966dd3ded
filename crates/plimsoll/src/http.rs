//! `plimsoll http`: one request again and again, without a plan.

use anyhow::Context;
use workload::Template;
use workload::oneliner::{Body, HttpLine, basic_auth, http as plan_of};

use crate::arguments::{HttpArguments, RequestArguments};
use crate::failure::{Failure, Outcome};
use crate::line;
use crate::signals::Listener;

pub(crate) fn http(arguments: &HttpArguments) -> Outcome<u8> {
    let listener = Listener::start()?;
    let line = HttpLine {
        url: arguments.url.clone(),
        method: arguments.request.method.clone(),
        headers: headers(&arguments.request)?,
        body: body(&arguments.request)?,
        timeout: arguments.request.timeout,
        seed: arguments.pace.seed,
        pace: line::pace(&arguments.pace, arguments.connections),
    };
    line::follow(&listener, plan_of(&line, line::SOURCES), &arguments.keep)
}

/// Every header that an option asks for.
fn headers(request: &RequestArguments) -> Outcome<Vec<(String, String)>> {
    let mut headers = request.headers.clone();
    let named = [("content-type", &request.content_type), ("accept", &request.accept)];
    headers.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
    if let Some(credentials) = &request.basic_auth {
        let (name, value) = basic_auth(credentials).map_err(Failure::usage)?;
        headers.push((name, Template::literal(&value).source().to_owned()));
    }
    Ok(headers)
}

fn body(request: &RequestArguments) -> Outcome<Option<Body>> {
    if let Some(path) = &request.body_file {
        let name = path.display().to_string();
        let bytes =
            std::fs::read(path).with_context(|| format!("{name} cannot be read")).map_err(Failure::usage)?;
        return Body::of_file(&name, bytes).map(Some).map_err(Failure::usage);
    }
    Ok(request.body.clone().map(Body::Template))
}
