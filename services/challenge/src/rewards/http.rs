//! Rewards granted by the game's own service, over HTTP.
//!
//! Every attempt at a grant has the same key; the service must grant once for each key. So an attempt with an unknown
//! outcome is retried, within bounds; a refused one is not.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use kit::client::{CallError, CallResponse, Client};
use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::{GrantError, GrantFuture, RewardClient, Token};
use crate::grant::Grant;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Before the second attempt; doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Also when `Retry-After` is longer: a player waits for the result.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The reward service, and how it is called.
#[derive(Debug, Clone)]
pub struct RewardSettings {
    /// The service, with the time that one attempt may take.
    pub client: Client,
    /// The bearer token for it.
    pub token: Token,
    /// Attempts at a grant before its claim is left open, at least 1.
    pub attempts: u32,
    /// The time that one attempt may take.
    pub timeout: Duration,
    /// Concurrent grants; further ones wait.
    pub in_flight: usize,
}

impl RewardSettings {
    /// The longest that a grant may take, including the wait for its slot.
    #[must_use]
    pub fn max_duration(&self) -> Duration {
        self.timeout * self.attempts + LONGEST_PAUSE * (self.attempts - 1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Grants by calling an HTTP service.
pub struct HttpRewards {
    settings: RewardSettings,
    namespace: String,
    slots: Semaphore,
    grants: Family<OutcomeLabel, Counter>,
    attempts: Counter,
    seconds: Histogram,
}

/// The body of a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GrantRequest<'a> {
    user_id: &'a str,
    namespace: &'a str,
    reward_type: &'a str,
    reward_id: &'a str,
    quantity: i32,
    idempotency_key: &'a str,
}

enum AttemptOutcome {
    Granted,
    Refused(String),
    /// To be retried, after the time in `Retry-After` if there was one.
    Unknown(String, Option<Duration>),
}

impl HttpRewards {
    /// Grants for players of `namespace`.
    #[must_use]
    pub fn new(settings: RewardSettings, namespace: &str, metrics: &Metrics) -> Self {
        let (grants, attempts, seconds) = (Family::default(), Counter::default(), seconds_histogram());
        metrics.register(|registry| {
            registry.register("grants", "Grants requested, by outcome", Family::clone(&grants));
            registry.register("grant_attempts", "Requests to the reward service", attempts.clone());
            registry.register("grant_seconds", "Time of a grant, all attempts included", seconds.clone());
        });
        let slots = Semaphore::new(settings.in_flight);
        Self { settings, namespace: namespace.to_owned(), slots, grants, attempts, seconds }
    }

    async fn grant_within_bounds(&self, grant: &Grant) -> Result<(), GrantError> {
        let whole = async {
            // The semaphore is never closed, so a slot always becomes free.
            let _slot = self.slots.acquire().await;
            self.grant_with_retries(grant).await
        };
        let timed_out = |_| Err(GrantError::Unanswered("the time for all attempts is over".to_owned()));
        tokio::time::timeout(self.settings.max_duration(), whole).await.unwrap_or_else(timed_out)
    }

    async fn grant_with_retries(&self, grant: &Grant) -> Result<(), GrantError> {
        let mut pause = FIRST_PAUSE;
        for attempts_left in (0..self.settings.attempts).rev() {
            match self.attempt(grant).await {
                AttemptOutcome::Granted => return Ok(()),
                AttemptOutcome::Refused(reason) => return Err(GrantError::Refused(reason)),
                AttemptOutcome::Unknown(reason, _) if attempts_left == 0 => {
                    return Err(GrantError::Unanswered(reason));
                }
                AttemptOutcome::Unknown(reason, requested) => {
                    tracing::debug!(reason, left = attempts_left, "a grant is retried");
                    tokio::time::sleep(requested.unwrap_or(pause).min(LONGEST_PAUSE)).await;
                    pause *= 2;
                }
            }
        }
        Err(GrantError::Unanswered("no attempt was allowed".to_owned()))
    }

    async fn attempt(&self, grant: &Grant) -> AttemptOutcome {
        let headers = match self.headers(grant).await {
            Ok(headers) => headers,
            Err(reason) => return AttemptOutcome::Unknown(reason, None),
        };
        self.attempts.inc();
        attempt_outcome(self.settings.client.call(Method::POST, headers, self.body(grant)).await)
    }

    async fn headers(&self, grant: &Grant) -> Result<HeaderMap, String> {
        let key = HeaderValue::from_str(&grant.idempotency_key).map_err(|error| error.to_string())?;
        Ok(HeaderMap::from_iter([
            (header::AUTHORIZATION, self.settings.token.authorization().await?),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (IDEMPOTENCY_KEY, key),
        ]))
    }

    fn body(&self, grant: &Grant) -> Bytes {
        let request = GrantRequest {
            user_id: grant.user.as_str(),
            namespace: &self.namespace,
            reward_type: &grant.reward_type,
            reward_id: &grant.reward_id,
            quantity: grant.quantity,
            idempotency_key: &grant.idempotency_key,
        };
        // Only texts and a number, which always serialise.
        serde_json::to_vec(&request).unwrap_or_default().into()
    }
}

impl RewardClient for HttpRewards {
    fn grant(&self, grant: Grant) -> GrantFuture<'_> {
        Box::pin(async move {
            let started = Instant::now();
            let granted = self.grant_within_bounds(&grant).await;
            let outcome = match granted {
                Ok(()) => "granted",
                Err(GrantError::Refused(_)) => "refused",
                Err(GrantError::Unanswered(_)) => "unanswered",
            };
            self.grants.get_or_create(&OutcomeLabel { outcome }).inc();
            self.seconds.observe(started.elapsed().as_secs_f64());
            granted
        })
    }
}

fn attempt_outcome(called: Result<CallResponse, CallError>) -> AttemptOutcome {
    match called {
        Ok(_) => AttemptOutcome::Granted,
        Err(CallError::Status(response)) => outcome_of_status(response.status, response.retry_after()),
        // Only the status matters, not the body.
        Err(CallError::TooLarge(status, _)) => outcome_of_status(status, None),
        Err(error) => AttemptOutcome::Unknown(error.to_string(), None),
    }
}

/// 409 means that the key was granted before, by an earlier attempt whose response was lost.
fn outcome_of_status(status: StatusCode, retry_after: Option<Duration>) -> AttemptOutcome {
    let reason = format!("the response was {status}");
    match status {
        status if status.is_success() || status == StatusCode::CONFLICT => AttemptOutcome::Granted,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            AttemptOutcome::Unknown(reason, retry_after)
        }
        status if status.is_server_error() => AttemptOutcome::Unknown(reason, retry_after),
        _ => AttemptOutcome::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attempts_with_an_unknown_outcome_are_retried() {
        let outcome = |status: u16| match outcome_of_status(StatusCode::from_u16(status).unwrap(), None) {
            AttemptOutcome::Granted => "granted",
            AttemptOutcome::Refused(_) => "refused",
            AttemptOutcome::Unknown(..) => "retried",
        };
        for (expected, statuses) in [
            ("granted", &[200, 201, 204, 409][..]),
            ("retried", &[408, 429, 500, 502, 503, 504, 599]),
            ("refused", &[301, 400, 401, 403, 404, 410, 422, 425]),
        ] {
            for status in statuses {
                assert_eq!(outcome(*status), expected, "{status}");
            }
        }
    }
}
