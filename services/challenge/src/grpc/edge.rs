//! Applied to every rpc on every gRPC port: calls have a deadline, and a malformed message is reported as the caller's
//! error, not as an internal one.

use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use kit::grpc::requested_timeout;
use kit::serve::Respond;
use tonic::Status;

use super::status::{ERROR_CODE, refusal_response};
use crate::refusal::Code;

/// Longest time until a call's message has arrived and its response begins.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Runs each call within its own deadline and [`MAX_WAIT`].
pub struct Edge<R>(pub R);

impl<R: Respond> Respond for Edge<R> {
    async fn respond(&self, request: Request) -> Response {
        let wait = requested_timeout(request.headers()).map_or(MAX_WAIT, |timeout| timeout.min(MAX_WAIT));
        report_malformed(within(wait, self.0.respond(request)).await)
    }
}

async fn within(wait: Duration, call: impl Future<Output = Response>) -> Response {
    let timed_out = |_| {
        refusal_response(Code::TooSlow, "the deadline has passed; the operation may have been carried out")
    };
    tokio::time::timeout(wait, call).await.unwrap_or_else(timed_out)
}

/// The gRPC framing reports malformed messages as internal errors, and too large ones as out of range. Refusals of this
/// service have an error code and are returned unchanged.
fn report_malformed(response: Response) -> Response {
    let headers = response.headers();
    if headers.contains_key(ERROR_CODE) {
        return response;
    }
    match headers.get(Status::GRPC_STATUS).map(|value| value.as_bytes()) {
        Some(b"11") => refusal_response(Code::TooLarge, "the message is too large"),
        Some(b"13") => refusal_response(Code::InvalidRequest, "the message cannot be read"),
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_lasts_longer_than_its_deadline_is_ended() {
        let response = within(Duration::from_millis(1), std::future::pending()).await;
        assert_eq!(
            (&response.headers()["grpc-status"], &response.headers()["error-code"]),
            (&"4".parse().unwrap(), &"REQUEST_TIMEOUT".parse().unwrap())
        );
    }

    #[test]
    fn malformed_messages_are_invalid_arguments_and_refusals_are_unchanged() {
        let report = |status: Status| report_malformed(status.into_http());
        let code = |response: &Response| response.headers()["grpc-status"].to_str().unwrap().to_owned();
        for malformed in [Status::internal("no message"), Status::out_of_range("too large")] {
            assert_eq!(code(&report(malformed)), "3");
        }
        assert_eq!(code(&report_malformed(refusal_response(Code::RewardGrantFailed, "later"))), "13");
        assert_eq!(code(&report(Status::unavailable("later"))), "14");
    }
}
