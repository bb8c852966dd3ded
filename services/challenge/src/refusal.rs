//! Every reason to refuse a request, with its codes for HTTP and gRPC in one table, so that both transports agree.

use http::StatusCode;
use kit::auth::Denied;

use crate::operations::Refusal;
use crate::rules::ClaimRefusal;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:ident, $grpc:literal;)*) => {
        /// A reason to refuse a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its unique name, as in `errorCode`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            #[must_use]
            pub fn grpc(self) -> i32 {
                match self { $(Self::$name => $grpc,)* }
            }
        }
    };
}

codes! {
    /// The body or message is malformed, or lacks its ids.
    InvalidRequest = "INVALID_REQUEST", BAD_REQUEST, 3;
    /// The body or message has too many bytes.
    TooLarge = "REQUEST_TOO_LARGE", PAYLOAD_TOO_LARGE, 3;
    /// The body did not arrive in time, or the caller's deadline has passed.
    TooSlow = "REQUEST_TIMEOUT", REQUEST_TIMEOUT, 4;
    /// No user is named, or the token is invalid.
    Unauthenticated = "UNAUTHENTICATED", UNAUTHORIZED, 16;
    /// The caller is authenticated, but not allowed.
    Forbidden = "FORBIDDEN", FORBIDDEN, 7;
    /// No such path.
    NotFound = "NOT_FOUND", NOT_FOUND, 5;
    /// The path takes another method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, 12;
    /// No challenge has the id.
    ChallengeNotFound = "CHALLENGE_NOT_FOUND", NOT_FOUND, 5;
    /// No goal of the challenge has the id.
    GoalNotFound = "GOAL_NOT_FOUND", NOT_FOUND, 5;
    /// Claim: the goal is not active.
    GoalNotActive = "GOAL_NOT_ACTIVE", BAD_REQUEST, 9;
    /// Claim: the target is not reached.
    GoalNotCompleted = "GOAL_NOT_COMPLETED", BAD_REQUEST, 9;
    /// Claim, selection: a prerequisite is not completed.
    PrerequisitesNotMet = "PREREQUISITES_NOT_MET", BAD_REQUEST, 9;
    /// Selection: the target of a goal is reached.
    GoalAlreadyCompleted = "GOAL_ALREADY_COMPLETED", BAD_REQUEST, 9;
    /// Selection: no goal is left to draw.
    InsufficientGoals = "INSUFFICIENT_GOALS", BAD_REQUEST, 3;
    /// Claim, selection: the reward was granted before.
    AlreadyClaimed = "ALREADY_CLAIMED", CONFLICT, 6;
    /// Claim: the reward could not be granted.
    RewardGrantFailed = "REWARD_GRANT_FAILED", BAD_GATEWAY, 13;
    /// Too many requests at once.
    Overloaded = "OVERLOADED", SERVICE_UNAVAILABLE, 8;
    /// Too many requests of one user at once.
    UserBusy = "TOO_MANY_REQUESTS", TOO_MANY_REQUESTS, 8;
    /// A dependency of the service does not answer.
    Unavailable = "UNAVAILABLE", SERVICE_UNAVAILABLE, 14;
}

impl From<&Refusal> for Code {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::UnknownChallenge(_) => Self::ChallengeNotFound,
            Refusal::UnknownGoal(_) => Self::GoalNotFound,
            Refusal::NotClaimable(ClaimRefusal::NotActive) => Self::GoalNotActive,
            Refusal::NotClaimable(ClaimRefusal::NotCompleted) => Self::GoalNotCompleted,
            Refusal::NotClaimable(ClaimRefusal::PrerequisitesUnmet) => Self::PrerequisitesNotMet,
            Refusal::NotClaimable(ClaimRefusal::AlreadyClaimed) => Self::AlreadyClaimed,
            Refusal::Invalid(_) => Self::InvalidRequest,
            Refusal::SelectedLocked(_) => Self::PrerequisitesNotMet,
            Refusal::SelectedCompleted(_) => Self::GoalAlreadyCompleted,
            Refusal::SelectedClaimed(_) => Self::AlreadyClaimed,
            Refusal::NoGoalLeft => Self::InsufficientGoals,
            Refusal::NotGranted => Self::RewardGrantFailed,
            Refusal::Overloaded => Self::Overloaded,
            Refusal::Unavailable => Self::Unavailable,
        }
    }
}

impl From<Denied> for Code {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Unauthenticated(_) => Self::Unauthenticated,
            Denied::Forbidden(_) => Self::Forbidden,
            Denied::Unavailable(_) => Self::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_unique_and_documented() {
        let documentation = include_str!("../../../docs/challenge.md");
        for (index, code) in Code::ALL.iter().enumerate() {
            let same_name = Code::ALL.iter().filter(|other| other.name() == code.name()).count();
            assert_eq!(same_name, 1, "{}", code.name());
            assert!(documentation.contains(&format!("`{}`", code.name())), "{}", code.name());
            assert!(Code::ALL[..index].iter().all(|other| other != code));
        }
    }
}
