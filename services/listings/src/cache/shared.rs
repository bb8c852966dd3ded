//! The cache in Redis, for several replicas on one database. No read that begins after a write was answered, on any
//! replica, finds an answer from before the write; this also holds while Redis does not answer, and after it has
//! restarted empty or from an old file.
//!
//! *Fill tokens.* Each scope is one hash in Redis with a token and the answers that depend on the scope. A reader that
//! misses gets the token before it queries the database, and adds the answer only while the scope still has that token.
//! A write *closes* the scopes that it affects before its commit: their answers are deleted, and until a scope is
//! opened, none can be added. It *opens* them after the commit and before it is answered; all tokens issued before then
//! no longer match. So no answer read before a commit is found after the write was answered. A process that ends in
//! between leaves scopes closed; they expire after longer than any commit can take.
//!
//! *Generations.* A write that cannot reach Redis cannot close scopes, while other replicas may still reach Redis. So
//! the database has a generation number: such a write increments it in its own transaction, and is answered only when
//! no replica uses the earlier generation any more. Each answer in Redis carries the generation that its reader used
//! before it queried the database; a replica uses only answers of its current generation. A replica may use a
//! generation for [`GENERATION_TTL`] after the query that read it *began*; a replica that does not reach the database
//! has none, and uses nothing from Redis.
//!
//! *Restarts.* Every key contains the run id of the Redis process, so that answers from an earlier process, or from an
//! old file, are not found. All replicas of a database must be configured alike. A Redis that fails over to a replica
//! of itself with missing writes is not supported.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::FromRedisValue;

use super::{CachedValue, ObservedGeneration};
use crate::redis_link::{ADD, CLOSE, LOOK_UP, OPEN, RedisLink, RedisUnreachable, ScriptId, TAG};
use crate::scope::CacheScope;

/// How long a generation may be used. The maintenance task of the store reads it five times as often.
pub const GENERATION_TTL: Duration = Duration::from_millis(500);
/// Allows for different clock rates of two machines.
const CLOCK_RATE_MARGIN: Duration = Duration::from_millis(20);
const ANSWER_TTL: Duration = Duration::from_secs(300);
/// Longer than any commit can take.
const CLOSED_TTL_MS: &[u8] = b"120000";

/// Keys of one call of a script at most: Redis answers nobody else while it runs.
const MAX_KEYS: usize = 128;

/// The token with which an answer may be added, and the generation used before the database was queried.
#[derive(Debug, Clone)]
pub(crate) struct SharedFillToken {
    text: String,
    generation: i64,
}

/// Scopes that a write has closed or failed to close.
#[derive(Debug, Default)]
pub struct ClosedScopes {
    scopes: Vec<String>,
    closing_token: String,
    has_failed: bool,
}

impl ClosedScopes {
    /// Whether there is no scope to open.
    pub(crate) fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Whether the write must increment the generation.
    pub(crate) fn needs_generation(&self) -> bool {
        self.has_failed
    }
}

/// The cache in Redis.
#[derive(Debug)]
pub struct SharedCache {
    link: RedisLink,
    /// How long answers with counts may be used.
    counts_for: Duration,
    generation: Mutex<Option<ObservedGeneration>>,
    /// The random prefix of this process's tokens.
    token_prefix: String,
    token_count: AtomicU64,
}

impl SharedCache {
    /// A cache whose answers with counts may be used for this long.
    #[must_use]
    pub fn new(link: RedisLink, counts_for: Duration) -> Self {
        let token_prefix = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        Self { link, counts_for, generation: Mutex::new(None), token_prefix, token_count: AtomicU64::new(0) }
    }

    /// Uses this generation until it expires.
    pub(crate) fn use_generation(&self, generation: ObservedGeneration) {
        *self.generation.lock().unwrap_or_else(PoisonError::into_inner) = Some(generation);
    }

    /// The current generation; `None` when it has expired.
    fn current_generation(&self) -> Option<i64> {
        let generation = *self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        let current = generation.filter(|generation| generation.observed_at.elapsed() < GENERATION_TTL);
        current.map(|generation| generation.number)
    }

    fn new_token(&self, marker: &str) -> String {
        format!("{marker}{}-{}", self.token_prefix, self.token_count.fetch_add(1, Ordering::Relaxed))
    }

    /// For each scope the answer under `key`, or the token with which one may be added.
    pub(crate) async fn look_up(
        &self,
        scopes: &[CacheScope],
        key: &str,
    ) -> Vec<Result<CachedValue, Option<SharedFillToken>>> {
        let Some(generation) = self.current_generation().filter(|_| !scopes.is_empty()) else {
            return vec![Err(None); scopes.len()];
        };
        let token = self.new_token("");
        let names: Vec<String> = scopes.iter().map(CacheScope::to_string).collect();
        // The scopes of one look-up are of one kind.
        let counted = scopes.iter().any(CacheScope::has_counts);
        let age = if counted { self.counts_for.min(ANSWER_TTL) } else { ANSWER_TTL };
        let age_ms = age.as_millis().to_string();
        let arguments = [key.as_bytes(), token.as_bytes(), age_ms.as_bytes()];
        let found: Result<Vec<Vec<Option<Vec<u8>>>>, _> = self.run_on(LOOK_UP, &names, &arguments).await;
        let Ok(found) = found else { return vec![Err(None); scopes.len()] };
        let outcome = |pair: &[Option<Vec<u8>>]| {
            let answer = pair.get(1).and_then(Option::as_deref);
            answer.and_then(|bytes| decode(bytes, generation)).ok_or_else(|| {
                let text = pair.first().cloned().flatten().and_then(|token| String::from_utf8(token).ok());
                let text = text.filter(|token| !token.starts_with('!'))?;
                Some(SharedFillToken { text, generation })
            })
        };
        let mut outcomes: Vec<_> = found.concat().chunks(2).map(outcome).collect();
        outcomes.resize_with(scopes.len(), || Err(None));
        outcomes
    }

    /// Adds an answer. When this fails, the answer is not cached.
    pub(crate) async fn add(
        &self,
        scope: &CacheScope,
        key: &str,
        token: SharedFillToken,
        value: &CachedValue,
    ) {
        let Ok(json) = serde_json::to_string(value) else { return };
        let answer = format!("{}\n{json}", token.generation);
        let keys = |run_id: &str| vec![redis_key(run_id, &scope.to_string())];
        let arguments = [key.as_bytes(), token.text.as_bytes(), answer.as_bytes()];
        let _not_cached = self.link.run::<i64>(ADD, keys, &arguments).await;
    }

    /// Closes scopes before a commit.
    pub(crate) async fn close(&self, scopes: &BTreeSet<CacheScope>) -> ClosedScopes {
        let scopes: Vec<String> = scopes.iter().map(CacheScope::to_string).collect();
        let closing_token = self.new_token("!");
        let closed = self.run_on::<i64>(CLOSE, &scopes, &[closing_token.as_bytes(), CLOSED_TTL_MS]).await;
        ClosedScopes { has_failed: closed.is_err(), scopes, closing_token }
    }

    /// Opens the scopes after the commit. True when no replica can find an answer from before the commit any more.
    pub(crate) async fn open(&self, closed: &ClosedScopes) -> bool {
        let opened = self.run_on::<i64>(OPEN, &closed.scopes, &[closed.closing_token.as_bytes()]).await;
        opened.is_ok() && !closed.has_failed
    }

    /// Runs a script on the keys of these scopes, a bounded number at a time, one after another: Redis answers others in
    /// between.
    async fn run_on<T: FromRedisValue>(
        &self,
        script: ScriptId,
        scopes: &[String],
        arguments: &[&[u8]],
    ) -> Result<Vec<T>, RedisUnreachable> {
        let mut answers = Vec::new();
        for part in scopes.chunks(MAX_KEYS) {
            let keys = |run_id: &str| part.iter().map(|scope| redis_key(run_id, scope)).collect();
            answers.push(self.link.run(script, keys, arguments).await?);
        }
        Ok(answers)
    }

    /// Whether Redis answers.
    pub(crate) fn is_up(&self) -> bool {
        self.link.is_up()
    }
}

/// Returns when no replica uses a generation any more that was replaced before this call.
pub(crate) async fn wait_for_generation_expiry() {
    tokio::time::sleep(GENERATION_TTL + CLOCK_RATE_MARGIN).await;
}

fn redis_key(run_id: &str, scope: &str) -> String {
    format!("{TAG}:{run_id}:{scope}")
}

fn decode(answer: &[u8], current_generation: i64) -> Option<CachedValue> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let generation: i64 = std::str::from_utf8(&answer[..end]).ok()?.parse().ok()?;
    if generation != current_generation {
        return None;
    }
    serde_json::from_slice(&answer[end + 1..]).ok()
}
