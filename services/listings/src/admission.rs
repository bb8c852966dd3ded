//! Which calls are worked on, the same for every transport: their caller is identified, within its rate limit, and within
//! the limit of calls in progress.

use std::sync::Arc;
use std::time::Duration;

use kit::auth::{Denied, Identity};
use kit::limit::{Limit, Permit};

use crate::caller::Caller;
use crate::limiter::{Limiter, Origin, RateLimitDecision};
use crate::methods::Method;

/// The message of a refusal because too many calls are in progress.
pub const OVERLOADED: &str = "too many requests at once; try again";

/// What a call must pass before it is worked on.
pub struct Admission {
    /// Identifies the caller.
    pub identity: Arc<Identity>,
    /// Bounds how often each caller calls.
    pub limiter: Arc<Limiter>,
    /// Bounds the calls in progress.
    pub limit: Limit,
}

/// A call that is worked on.
#[derive(Debug)]
pub struct Admitted {
    pub caller: Caller,
    /// Its slot among the calls in progress, freed when dropped.
    pub permit: Permit,
}

/// Why a call is not worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// Its caller is not identified.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// Its caller has reached the rate limit, and may call again after this time.
    #[error("rate limit exceeded; retry later")]
    RateLimited(Duration),
    /// The rate of its caller is unknown.
    #[error("the rate limit cannot be checked now; retry later")]
    RateUnknown,
    /// Too many calls are in progress.
    #[error("{OVERLOADED}")]
    Overloaded,
}

impl Admission {
    /// Identifies the caller of a request of this origin, and admits or refuses it.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub async fn admit(&self, method: &Method, origin: Origin<'_>) -> Result<Admitted, NotAdmitted> {
        let network = self.limiter.network(origin);
        let caller = Caller::authenticate(&self.identity, origin.headers, network, method.access).await?;
        let caller_key = self.limiter.caller_key(method, &caller, network);
        match self.limiter.admit(method, &caller_key).await {
            RateLimitDecision::Admitted => {}
            RateLimitDecision::Refused(retry_after) => return Err(NotAdmitted::RateLimited(retry_after)),
            RateLimitDecision::Unknown => return Err(NotAdmitted::RateUnknown),
        }
        let permit = self.limit.enter().ok_or(NotAdmitted::Overloaded)?;
        Ok(Admitted { caller, permit })
    }
}
