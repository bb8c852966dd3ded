//! Claims as stores persist them: the intent with its idempotency key, recorded before the reward is granted.

use std::time::Duration;

use kit::clock::UtcMs;

use super::event_key::EventKey;
use crate::catalog::Goal;
use crate::grant::Grant;
use crate::rules::ClaimRefusal;
use crate::user::UserId;

/// Refusals of attempts that were due, after which a claim ends without a grant: enough that a reward service which is
/// set up wrongly is noticed and mended before.
const MAX_REFUSALS: i32 = 8;
/// Longest time between two attempts at an open claim.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(600);

/// A claim that was begun: what to grant, under which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIntent {
    pub user: UserId,
    /// Which goal, by id: the goal may have been removed from the challenge file since.
    pub goal_id: String,
    /// The rotation period that the claim is for; 0 for goals that never rotate.
    pub period: i64,
    pub grant: Grant,
    pub begun_at: UtcMs,
}

/// What every claim of a deployment has in common.
#[derive(Debug, Clone)]
pub struct ClaimTerms {
    /// The players' namespace: several deployments may share a reward service.
    pub namespace: String,
    /// The longest that an attempt at a claim may take; until then there is no other.
    pub max_duration: Duration,
}

/// Which open claims are found. A claim that ended, by its grant or by its last refusal, is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenClaims {
    /// All: the process that began any of them has ended.
    All,
    /// Those to be tried again now.
    Due {
        /// The present.
        now: UtcMs,
        /// The longest time from an attempt at a claim to the next.
        longest_pause: Duration,
    },
}

impl OpenClaims {
    /// Those that are due, when an attempt is followed by the next after at least `min_pause`.
    #[must_use]
    pub fn due(now: UtcMs, min_pause: Duration) -> Self {
        Self::Due { now, longest_pause: min_pause.max(MAX_RETRY_PAUSE) }
    }

    /// The claims found are to be tried again until the first instant, or after the second: when the clock was set
    /// back, those of before are due later than any claim can be.
    pub(super) fn edges(self) -> [UtcMs; 2] {
        match self {
            Self::All => [UtcMs(i64::MAX / 4); 2],
            Self::Due { now, longest_pause } => [now, after(now, longest_pause)],
        }
    }
}

/// Why a claim was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimFailure {
    /// Whether the reward service refused the grant, or did not answer.
    pub kind: ClaimFailureKind,
    /// When it is tried again.
    pub retry_at: UtcMs,
}

/// See [`ClaimFailure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimFailureKind {
    /// The reward service refused the grant.
    Refused,
    /// It is not known whether the reward was granted.
    Unanswered,
}

impl ClaimFailure {
    /// The claim is tried again when it is twice as old, after at least `min_pause` and at most ten minutes.
    #[must_use]
    pub fn new(kind: ClaimFailureKind, intent: &ClaimIntent, min_pause: Duration, now: UtcMs) -> Self {
        let age_ms = now.0.saturating_sub(intent.begun_at.0);
        let pause_ms = age_ms.clamp(ms(min_pause), ms(min_pause.max(MAX_RETRY_PAUSE)));
        Self { kind, retry_at: UtcMs(now.0.saturating_add(pause_ms)) }
    }
}

fn after(start: UtcMs, pause: Duration) -> UtcMs {
    UtcMs(start.0.saturating_add(ms(pause)))
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// How a claim begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimStart {
    /// The intent is durable: the reward may be granted.
    Begun(ClaimIntent),
    /// The rules refuse the claim.
    Refused(ClaimRefusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// This call ended it.
    Claimed(UtcMs),
    /// It had been ended before.
    AlreadyClaimed,
}

/// Identifies a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClaimKey {
    pub(super) user: UserId,
    pub(super) goal_id: String,
    pub(super) period: i64,
}

/// A claim as a store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredClaim {
    pub(super) intent: ClaimIntent,
    pub(super) granted_at: Option<UtcMs>,
    /// When it is tried again, unless it has ended.
    pub(super) retry_at: UtcMs,
    /// How often the reward service refused it when it was due.
    pub(super) refusals: i32,
    /// When it ended without a grant. The user may claim again.
    pub(super) refused_at: Option<UtcMs>,
    /// Whether this differs from the stored row.
    pub(super) is_changed: bool,
}

impl StoredClaim {
    /// The user of a stored claim; `None` when another program wrote an invalid id: the claim is skipped.
    pub(super) fn user(id: &str, key: &str) -> Option<UserId> {
        let user = UserId::new(id);
        if user.is_none() {
            tracing::warn!(key, "a claim is skipped: its user id is invalid");
        }
        user
    }

    pub(super) fn begun(key: &ClaimKey, goal: &Goal, terms: &ClaimTerms, now: UtcMs) -> Self {
        let ClaimKey { user, goal_id, period } = key.clone();
        let parts = ["claim", &terms.namespace, user.as_str(), &period.to_string(), &goal_id];
        let EventKey(hash) = EventKey::from_parts(&parts);
        let grant = Grant {
            idempotency_key: format!("claim-{hash:032x}"),
            user: user.clone(),
            reward_type: goal.reward.kind.to_owned(),
            reward_id: goal.reward.id.clone(),
            quantity: goal.reward.quantity,
        };
        Self {
            intent: ClaimIntent { user, goal_id, period, grant, begun_at: now },
            granted_at: None,
            retry_at: after(now, terms.max_duration),
            refusals: 0,
            refused_at: None,
            is_changed: true,
        }
    }

    /// The claim after its reward was granted and the user's progress was then removed by another program: the goal was
    /// completed again, so it is a claim with a key of its own, the same for every attempt at it.
    pub(super) fn again(&self, goal: &Goal, terms: &ClaimTerms, now: UtcMs) -> Self {
        let mut again = Self::begun(&self.intent.key(), goal, terms, now);
        let before = &self.intent.grant.idempotency_key;
        let EventKey(hash) = EventKey::from_parts(&["claim again", before]);
        again.intent.grant.idempotency_key = format!("claim-{hash:032x}");
        again
    }

    /// Whether this is the claim that was begun with an intent, and it has not ended with a grant.
    pub(super) fn is_open(&self, intent: &ClaimIntent) -> bool {
        self.granted_at.is_none() && self.intent.grant.idempotency_key == intent.grant.idempotency_key
    }

    pub(super) fn grant(&mut self, now: UtcMs) {
        self.granted_at = Some(now);
        self.refused_at = None;
        self.is_changed = true;
    }

    /// The user claims once more what had ended without a grant: it is open, so that it is tried again if this attempt
    /// fails.
    pub(super) fn reopen(&mut self, terms: &ClaimTerms, now: UtcMs) {
        if self.refused_at.take().is_some() {
            self.refusals = 0;
            self.retry_at = after(now, terms.max_duration);
            self.is_changed = true;
        }
    }

    /// An attempt failed. Refusals before the claim was due do not count: a user's own attempts and those of several
    /// replicas may be many within seconds.
    pub(super) fn leave(&mut self, failure: ClaimFailure, now: UtcMs) {
        let was_due = self.retry_at <= now;
        self.retry_at = failure.retry_at;
        self.is_changed = true;
        match failure.kind {
            // It may have been granted, also if another replica's attempt was refused for the last time meanwhile.
            ClaimFailureKind::Unanswered => self.refused_at = None,
            ClaimFailureKind::Refused if was_due => self.count_refusal(now),
            ClaimFailureKind::Refused => {}
        }
    }

    fn count_refusal(&mut self, now: UtcMs) {
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals >= MAX_REFUSALS {
            let (goal, key) = (&self.intent.goal_id, &self.intent.grant.idempotency_key);
            tracing::error!(goal, key, "a claim was refused for the last time: it ended without a grant");
            self.refused_at = Some(now);
        }
    }
}

impl ClaimIntent {
    pub(super) fn key(&self) -> ClaimKey {
        ClaimKey { user: self.user.clone(), goal_id: self.goal_id.clone(), period: self.period }
    }
}
