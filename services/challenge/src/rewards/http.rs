//! Rewards granted by a service of the game's, over HTTP.
//!
//! Every attempt at a grant carries the same key; the service must grant once for each. So whatever leaves it unknown
//! whether a grant was made is asked again, within bounds, and what says no is not.

use super::{Grant, GrantError, Granting, RewardClient, Token};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use kit::client::{CallError, CallResponse, Client};
use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use serde::Serialize;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Before the second attempt; doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// However long `Retry-After` asks to wait: a player waits for the answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How rewards are asked for.
#[derive(Debug, Clone)]
pub struct RewardSettings {
    /// The service, with the time that one attempt may take.
    pub client: Client,
    /// What it knows us by.
    pub token: Token,
    /// Attempts at a grant before its claim is left open, at least 1.
    pub attempts: u32,
    /// The time that one attempt may take.
    pub timeout: Duration,
    /// Grants on their way at once; more wait.
    pub in_flight: usize,
}

impl RewardSettings {
    /// What a grant takes at most, waiting for its place included.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.timeout * self.attempts + LONGEST_PAUSE * (self.attempts - 1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// Grants by asking an HTTP service.
pub struct HttpRewards {
    settings: RewardSettings,
    namespace: String,
    places: Semaphore,
    grants: Family<Outcome, Counter>,
    attempts: Counter,
    seconds: Histogram,
}

/// What the service is asked.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    user_id: &'a str,
    namespace: &'a str,
    reward_type: &'a str,
    reward_id: &'a str,
    quantity: i32,
    idempotency_key: &'a str,
}

/// What one attempt ended in.
enum Attempt {
    Granted,
    Refused(String),
    /// To be asked again, not before the time that the service asked for.
    Unknown(String, Option<Duration>),
}

impl HttpRewards {
    /// Grants for players of `namespace`.
    #[must_use]
    pub fn new(settings: RewardSettings, namespace: &str, metrics: &Metrics) -> Self {
        let (grants, attempts, seconds) = (Family::default(), Counter::default(), seconds_histogram());
        metrics.register(|registry| {
            registry.register("grants", "Rewards asked for, by outcome", Family::clone(&grants));
            registry.register("grant_attempts", "Requests to the reward service", attempts.clone());
            registry.register("grant_seconds", "Time of a grant, all attempts included", seconds.clone());
        });
        let places = Semaphore::new(settings.in_flight);
        Self { settings, namespace: namespace.to_owned(), places, grants, attempts, seconds }
    }

    async fn within_bounds(&self, grant: &Grant) -> Result<(), GrantError> {
        let whole = async {
            // The semaphore is never closed, so a place always comes.
            let _place = self.places.acquire().await;
            self.until_known(grant).await
        };
        let over = |_| Err(GrantError::Unanswered("the time for all attempts is over".to_owned()));
        tokio::time::timeout(self.settings.longest(), whole).await.unwrap_or_else(over)
    }

    async fn until_known(&self, grant: &Grant) -> Result<(), GrantError> {
        let mut pause = FIRST_PAUSE;
        for left in (0..self.settings.attempts).rev() {
            match self.attempt(grant).await {
                Attempt::Granted => return Ok(()),
                Attempt::Refused(reason) => return Err(GrantError::Refused(reason)),
                Attempt::Unknown(reason, _) if left == 0 => return Err(GrantError::Unanswered(reason)),
                Attempt::Unknown(reason, wished) => {
                    tracing::debug!(reason, left, "a grant is asked for again");
                    tokio::time::sleep(wished.unwrap_or(pause).min(LONGEST_PAUSE)).await;
                    pause *= 2;
                }
            }
        }
        Err(GrantError::Unanswered("no attempt was allowed".to_owned()))
    }

    async fn attempt(&self, grant: &Grant) -> Attempt {
        let headers = match self.headers(grant).await {
            Ok(headers) => headers,
            Err(reason) => return Attempt::Unknown(reason, None),
        };
        self.attempts.inc();
        judged(self.settings.client.call(Method::POST, headers, self.body(grant)).await)
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
        let asked = Asked {
            user_id: grant.user.as_str(),
            namespace: &self.namespace,
            reward_type: &grant.reward_type,
            reward_id: &grant.reward_id,
            quantity: grant.quantity,
            idempotency_key: &grant.idempotency_key,
        };
        // Texts and a number only, which always serialise.
        serde_json::to_vec(&asked).unwrap_or_default().into()
    }
}

impl RewardClient for HttpRewards {
    fn grant(&self, grant: Grant) -> Granting<'_> {
        Box::pin(async move {
            let started = Instant::now();
            let granted = self.within_bounds(&grant).await;
            let outcome = match granted {
                Ok(()) => "granted",
                Err(GrantError::Refused(_)) => "refused",
                Err(GrantError::Unanswered(_)) => "unanswered",
            };
            self.grants.get_or_create(&Outcome { outcome }).inc();
            self.seconds.observe(started.elapsed().as_secs_f64());
            granted
        })
    }
}

fn judged(called: Result<CallResponse, CallError>) -> Attempt {
    match called {
        Ok(_) => Attempt::Granted,
        Err(CallError::Status(answer)) => by_status(answer.status, answer.retry_after()),
        // What it says is of no interest, only that it has said it.
        Err(CallError::TooLarge(status, _)) => by_status(status, None),
        Err(error) => Attempt::Unknown(error.to_string(), None),
    }
}

/// 409 means that the key was granted before: by an earlier attempt whose answer was lost.
fn by_status(status: StatusCode, retry_after: Option<Duration>) -> Attempt {
    let reason = format!("the answer was {status}");
    match status {
        status if status.is_success() || status == StatusCode::CONFLICT => Attempt::Granted,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Attempt::Unknown(reason, retry_after),
        status if status.is_server_error() => Attempt::Unknown(reason, retry_after),
        _ => Attempt::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_the_grant_unknown_is_asked_again() {
        let word = |status: u16| match by_status(StatusCode::from_u16(status).unwrap(), None) {
            Attempt::Granted => "granted",
            Attempt::Refused(_) => "refused",
            Attempt::Unknown(..) => "again",
        };
        for (word_expected, statuses) in [
            ("granted", &[200, 201, 204, 409][..]),
            ("again", &[408, 429, 500, 502, 503, 504, 599]),
            ("refused", &[301, 400, 401, 403, 404, 410, 422, 425]),
        ] {
            for status in statuses {
                assert_eq!(word(*status), word_expected, "{status}");
            }
        }
    }
}
