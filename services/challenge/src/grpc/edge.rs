//! What every gRPC port does before and after an rpc: no call lasts without end, and bytes that are no message are
//! the caller's mistake, not a failure of ours.

use super::status::{ERROR_CODE, answer};
use crate::refusal::Code;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use kit::grpc::requested_timeout;
use std::time::Duration;
use tonic::Status;

/// Longest time until a call's message has arrived and its answer begins.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Runs the call within its own deadline and ours.
pub async fn run(request: Request, next: Next) -> Response {
    let wait = requested_timeout(request.headers()).map_or(MAX_WAIT, |asked| asked.min(MAX_WAIT));
    readable(within(wait, next.run(request)).await)
}

async fn within(wait: Duration, call: impl Future<Output = Response>) -> Response {
    let late = |_| answer(Code::TooSlow, "the deadline has passed; what was asked may have been done");
    tokio::time::timeout(wait, call).await.unwrap_or_else(late)
}

/// The framing below the rpcs reports messages that it cannot read as internal errors, and larger ones as out of
/// range. Refusals of ours carry their word and are left alone.
fn readable(response: Response) -> Response {
    let headers = response.headers();
    if headers.contains_key(ERROR_CODE) {
        return response;
    }
    match headers.get(Status::GRPC_STATUS).map(|value| value.as_bytes()) {
        Some(b"11") => answer(Code::TooLarge, "the message is too large"),
        Some(b"13") => answer(Code::InvalidRequest, "the message cannot be read"),
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_lasts_longer_than_its_deadline_is_ended() {
        let late = within(Duration::from_millis(1), std::future::pending()).await;
        assert_eq!(
            (&late.headers()["grpc-status"], &late.headers()["error-code"]),
            (&"4".parse().unwrap(), &"REQUEST_TIMEOUT".parse().unwrap())
        );
    }

    #[test]
    fn what_the_framing_cannot_read_is_the_callers_mistake_and_our_own_refusals_stay() {
        let read = |status: Status| readable(status.into_http());
        let code = |response: &Response| response.headers()["grpc-status"].to_str().unwrap().to_owned();
        for unreadable in [Status::internal("no message"), Status::out_of_range("too large")] {
            assert_eq!(code(&read(unreadable)), "3");
        }
        assert_eq!(code(&readable(answer(Code::RewardGrantFailed, "later"))), "13");
        assert_eq!(code(&read(Status::unavailable("later"))), "14");
    }
}
