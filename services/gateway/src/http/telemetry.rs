//! `POST /telemetry`

use super::Api;
use super::answer::{error, overloaded, refused, taken};
use crate::intake::Form;
use crate::sample::Priority;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use std::sync::Arc;
use std::time::Instant;

/// Names the highest priority of the samples in the body, so that it is known before the body is read.
pub(crate) const PRIORITY: &str = "x-telemetry-priority";

pub(super) async fn handle(State(api): State<Arc<Api>>, headers: HeaderMap, body: Body) -> Response {
    let began = Instant::now();
    if !api.acceptor.has_room_for(announced(&headers)) {
        return overloaded();
    }
    #[cfg(feature = "faults")]
    let _held = kit::faults::inject().await;
    let Some(form) = form(&headers) else {
        let why = "the body must be application/json or application/x-protobuf, and not compressed";
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    };
    let (body, _held) = match api.bodies.read(body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    match api.acceptor.take((form, &body), began).await {
        Ok(outcome) => taken(&outcome),
        Err(why) => refused(&why),
    }
}

/// What a request says of its samples, when that can be understood.
pub(crate) fn announced(headers: &HeaderMap) -> Option<Priority> {
    headers.get(PRIORITY).and_then(|word| word.to_str().ok()).and_then(Priority::of)
}

fn form(headers: &HeaderMap) -> Option<Form> {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return None;
    }
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Some(Form::Json) };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    match kind {
        "application/json" => Some(Form::Json),
        "application/x-protobuf" | "application/protobuf" => Some(Form::Protobuf),
        _ if kind.eq_ignore_ascii_case("application/json") => Some(Form::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_body_is_read_and_nothing_else_is_guessed() {
        let read = |name: header::HeaderName, value: &str| {
            form(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
        };
        assert_eq!(form(&HeaderMap::new()), Some(Form::Json));
        for (value, expect) in [
            ("application/json", Some(Form::Json)),
            ("Application/JSON; charset=utf-8", Some(Form::Json)),
            ("application/x-protobuf", Some(Form::Protobuf)),
            ("text/plain", None),
            ("", None),
        ] {
            assert_eq!(read(header::CONTENT_TYPE, value), expect, "{value}");
        }
        assert_eq!(read(header::CONTENT_ENCODING, "gzip"), None);
    }

    #[test]
    fn what_a_request_says_of_its_samples_is_read() {
        let read = |value: &str| {
            announced(&HeaderMap::from_iter([(PRIORITY.parse().unwrap(), value.parse().unwrap())]))
        };
        assert_eq!(
            [read("HIGH"), read("MEDIUM"), read("urgent")],
            [Some(Priority::High), Some(Priority::Medium), None]
        );
        assert_eq!(announced(&HeaderMap::new()), None);
    }
}
