//! The cache in Redis, for several replicas on one database. No read that begins after a write was answered, on any
//! replica, finds what was there before the write; with Redis gone, broken or empty as well.
//!
//! *Tickets.* Each scope is one hash in Redis with a ticket and the answers that depend on it. Whoever misses takes the
//! ticket before asking the database, and adds the answer only while the scope still has that ticket. A write *closes*
//! the scopes that it touches before its commit: their answers go, and until the scope is opened, nothing can be added.
//! It *opens* them after the commit and before it is answered, which makes every ticket void that was given out
//! before. What is read before a commit is therefore never found after its answer. A process that dies in between
//! leaves scopes closed, which ends by itself after longer than any commit can take.
//!
//! *Generations.* A write that cannot reach Redis cannot do this, and other replicas may still reach it. So the
//! database has the number of a generation: such a write raises it in its own transaction, and is answered only after
//! every replica has stopped to believe the earlier one. Each answer in Redis carries the generation that was believed
//! by whoever added it before they asked the database, and is used only by who believes the same. A generation is
//! believed for [`BELIEVED_FOR`] since the look at the database that found it *began*; a replica that does not reach
//! the database believes none, and uses nothing of Redis.
//!
//! *Restarts.* Every key begins with the name of the process of Redis, so what an earlier process was told, and what a
//! later one reads from an old file, is not found. All replicas of a database must be configured alike; a Redis that
//! hands over to a copy that has not heard everything is not provided for.

use super::Value;
use crate::redis_link::{ADD, CLOSE, LOOK, OPEN, RedisLink};
use crate::scope::Scope;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For so long a generation is believed without another look. The caretaker looks five times as often.
pub const BELIEVED_FOR: Duration = Duration::from_millis(500);
/// Clocks of two machines do not run at quite the same rate.
const MARGIN: Duration = Duration::from_millis(20);
const REMEMBERED_FOR_MS: &[u8] = b"300000";
/// Longer than any commit can take.
const CLOSED_FOR_MS: &[u8] = b"120000";

/// With what an answer may be added: the ticket, and the generation believed before the database was asked.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    text: String,
    generation: i64,
}

/// Scopes that a write has closed, or could not.
#[derive(Debug, Default)]
pub struct Closing {
    scopes: Vec<String>,
    ticket: String,
    failed: bool,
}

impl Closing {
    /// Whether there is nothing to open.
    pub(crate) fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Whether the write must raise the generation.
    pub(crate) fn needs_generation(&self) -> bool {
        self.failed
    }
}

/// Answers in Redis.
#[derive(Debug)]
pub struct Shared {
    link: RedisLink,
    believed: Mutex<Option<(i64, Instant)>>,
    name: String,
    tickets: AtomicU64,
}

impl Shared {
    /// Answers in this Redis.
    #[must_use]
    pub fn new(link: RedisLink) -> Self {
        let name = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        Self { link, believed: Mutex::new(None), name, tickets: AtomicU64::new(0) }
    }

    /// Believes a generation that was found by a look that began at this time.
    pub(crate) fn believe(&self, (generation, looked_at): (i64, Instant)) {
        *self.believed.lock().unwrap_or_else(PoisonError::into_inner) = Some((generation, looked_at));
    }

    fn believed(&self) -> Option<i64> {
        let believed = *self.believed.lock().unwrap_or_else(PoisonError::into_inner);
        believed.filter(|(_, at)| at.elapsed() < BELIEVED_FOR).map(|(generation, _)| generation)
    }

    fn new_ticket(&self, kind: &str) -> String {
        format!("{kind}{}-{}", self.name, self.tickets.fetch_add(1, Ordering::Relaxed))
    }

    /// Of each scope the answer under `key`, or with what one may be added.
    pub(crate) async fn look(&self, scopes: &[Scope], key: &str) -> Vec<Result<Value, Option<Ticket>>> {
        let Some(generation) = self.believed().filter(|_| !scopes.is_empty()) else {
            return vec![Err(None); scopes.len()];
        };
        let ticket = self.new_ticket("");
        let keys = |run: &str| scopes.iter().map(|scope| named(run, &scope.to_string())).collect();
        let arguments = [key.as_bytes(), ticket.as_bytes(), REMEMBERED_FOR_MS];
        let found: Result<Vec<Option<Vec<u8>>>, _> = self.link.run(LOOK, keys, &arguments).await;
        let Ok(found) = found else { return vec![Err(None); scopes.len()] };
        let one = |pair: &[Option<Vec<u8>>]| {
            let answer = pair.get(1).and_then(Option::as_deref);
            answer.and_then(|bytes| read(bytes, generation)).ok_or_else(|| {
                let text = pair.first().cloned().flatten().and_then(|ticket| String::from_utf8(ticket).ok());
                let text = text.filter(|ticket| !ticket.starts_with('!'))?;
                Some(Ticket { text, generation })
            })
        };
        let mut looked: Vec<_> = found.chunks(2).map(one).collect();
        looked.resize_with(scopes.len(), || Err(None));
        looked
    }

    /// Adds an answer. When this fails, it is not remembered.
    pub(crate) async fn add(&self, scope: &Scope, (key, ticket): (&str, Ticket), value: &Value) {
        let Ok(json) = serde_json::to_string(value) else { return };
        let answer = format!("{}\n{json}", ticket.generation);
        let keys = |run: &str| vec![named(run, &scope.to_string())];
        let arguments = [key.as_bytes(), ticket.text.as_bytes(), answer.as_bytes()];
        let _not_remembered = self.link.run::<i64>(ADD, keys, &arguments).await;
    }

    /// Before a commit.
    pub(crate) async fn close(&self, scopes: &BTreeSet<Scope>) -> Closing {
        let scopes: Vec<String> = scopes.iter().map(Scope::to_string).collect();
        let ticket = self.new_ticket("!");
        let keys = |run: &str| scopes.iter().map(|scope| named(run, scope)).collect();
        let closed = self.link.run::<i64>(CLOSE, keys, &[ticket.as_bytes(), CLOSED_FOR_MS]).await;
        Closing { failed: closed.is_err(), scopes, ticket }
    }

    /// After a commit; whether nobody can find any more what was there before.
    pub(crate) async fn open(&self, closing: &Closing) -> bool {
        let keys = |run: &str| closing.scopes.iter().map(|scope| named(run, scope)).collect();
        let opened = self.link.run::<i64>(OPEN, keys, &[closing.ticket.as_bytes()]).await;
        opened.is_ok() && !closing.failed
    }

    /// Whether Redis answers.
    pub(crate) fn is_up(&self) -> bool {
        self.link.is_up()
    }
}

/// Returns when no replica believes any more a generation that was raised before this was called.
pub(crate) async fn until_nobody_believes() {
    tokio::time::sleep(BELIEVED_FOR + MARGIN).await;
}

fn named(run: &str, scope: &str) -> String {
    format!("listings:{run}:{scope}")
}

fn read(answer: &[u8], believed: i64) -> Option<Value> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let generation: i64 = std::str::from_utf8(&answer[..end]).ok()?.parse().ok()?;
    if generation != believed {
        return None;
    }
    serde_json::from_slice(&answer[end + 1..]).ok()
}
