//! `POST /telemetry`

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::Api;
use super::response::{accepted, device_busy, error, overloaded, refused};
use crate::caller::Caller;
use crate::intake::BodyFormat;
use crate::sample::Priority;

/// Announces the highest priority of the samples in the body, before the body is read.
pub(crate) const PRIORITY_HEADER: &str = "x-telemetry-priority";

pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let began = Instant::now();
    if !api.acceptor.has_space_for(announced_priority(&headers)) {
        return overloaded();
    }
    #[cfg(feature = "faults")]
    let _faults = kit::faults::inject().await;
    let Some(format) = body_format(&headers) else {
        let why = "the body must be application/json or application/x-protobuf, and not compressed";
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    };
    // Services and administrators send for many devices, and have no bound of their own.
    let place = caller.device().map(|id| api.device_limit.enter(id));
    if let Some(None) = place {
        return device_busy();
    }
    let (body, _memory) = match api.bodies.read(body).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    match api.acceptor.accept(&caller, format, &body, began).await {
        Ok(outcome) => accepted(&outcome, api.accepted_status),
        Err(why) => refused(&why),
    }
}

/// The priority that a request announces; `None` without the header, or with an unknown priority.
pub(crate) fn announced_priority(headers: &HeaderMap) -> Option<Priority> {
    headers.get(PRIORITY_HEADER).and_then(|word| word.to_str().ok()).and_then(Priority::from_word)
}

fn body_format(headers: &HeaderMap) -> Option<BodyFormat> {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return None;
    }
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Some(BodyFormat::Json) };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    match kind {
        "application/json" => Some(BodyFormat::Json),
        "application/x-protobuf" | "application/protobuf" => Some(BodyFormat::Protobuf),
        _ if kind.eq_ignore_ascii_case("application/json") => Some(BodyFormat::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_body_is_read_from_its_headers_only() {
        let read = |name: header::HeaderName, value: &str| {
            body_format(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
        };
        assert_eq!(body_format(&HeaderMap::new()), Some(BodyFormat::Json));
        for (value, expect) in [
            ("application/json", Some(BodyFormat::Json)),
            ("Application/JSON; charset=utf-8", Some(BodyFormat::Json)),
            ("application/x-protobuf", Some(BodyFormat::Protobuf)),
            ("text/plain", None),
            ("", None),
        ] {
            assert_eq!(read(header::CONTENT_TYPE, value), expect, "{value}");
        }
        assert_eq!(read(header::CONTENT_ENCODING, "gzip"), None);
    }

    #[test]
    fn the_announced_priority_is_read() {
        let read = |value: &str| {
            announced_priority(&HeaderMap::from_iter([(
                PRIORITY_HEADER.parse().unwrap(),
                value.parse().unwrap(),
            )]))
        };
        assert_eq!(
            [read("HIGH"), read("MEDIUM"), read("urgent")],
            [Some(Priority::High), Some(Priority::Medium), None]
        );
        assert_eq!(announced_priority(&HeaderMap::new()), None);
    }
}
