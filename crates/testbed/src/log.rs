//! What a target knows of the requests it read.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a request's body that the log keeps.
pub const BODY_LIMIT: usize = 64 * 1024;

/// Requests that the log keeps; later ones are served and counted, and not kept.
pub const LOG_LIMIT: usize = 500_000;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Not ended by the target: still held, left hanging on purpose, or cut off when the target stopped.
    Held,
    /// The whole answer was handed to the kernel.
    Answered,
    /// The connection was closed instead of a whole answer.
    Closed,
    /// The connection (HTTP) or the stream (gRPC) was reset instead of a whole answer.
    Reset,
    /// The client left before the answer could be written.
    Gone,
}

/// One request, as the target saw it. Instants are those of [`crate::now_ns`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// When the request had been read to its last byte.
    pub received_ns: u64,
    /// Just before the last byte of the answer was written, or before the connection was closed or reset
    /// in its place. None while the target has done neither.
    pub answered_ns: Option<u64>,
    /// The connection it came by; numbered from 1 in the order of acceptance.
    pub connection: u64,
    /// The method; empty when the bytes were no request.
    pub method: String,
    /// The path without its query; empty when the bytes were no request.
    pub path: String,
    /// The query without its question mark; empty when there is none.
    pub query: String,
    /// Headers in the order sent, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body up to [`BODY_LIMIT`]; for gRPC the message without its five bytes of prefix.
    pub body: Vec<u8>,
    /// The status answered: HTTP's, or the gRPC code. None when none was sent.
    pub status: Option<u16>,
    /// What became of it.
    pub outcome: Outcome,
}

impl Served {
    /// How long the target held the request: nothing that waited for its answer can have waited less.
    pub fn held(&self) -> Option<Duration> {
        self.answered_ns.map(|answered_ns| Duration::from_nanos(answered_ns - self.received_ns))
    }

    /// The first value of the header `name`, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The place of a request in the log; none when the log was full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry(Option<usize>);

#[derive(Debug, Default)]
struct Entries {
    served: Vec<Served>,
    read: u64,
}

/// The log of one target.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Mutex<Entries>,
    changed: Condvar,
}

impl Log {
    /// Notes a request that was read, before anything is done about it.
    pub(crate) fn received(&self, served: Served) -> Entry {
        let mut log = self.lock();
        log.read += 1;
        let entry = (log.served.len() < LOG_LIMIT).then_some(log.served.len());
        if entry.is_some() {
            log.served.push(served);
        }
        drop(log);
        self.changed.notify_all();
        Entry(entry)
    }

    /// Notes the end of a request at the present instant; to be called just before the act that ends it,
    /// so that the log has it before the client can see the end.
    pub(crate) fn ending(&self, entry: Entry, status: Option<u16>, outcome: Outcome) {
        self.amend(entry, |served| {
            served.answered_ns = Some(crate::now_ns());
            served.status = status;
            served.outcome = outcome;
        });
    }

    /// Corrects the outcome of a request whose client turned out to have left.
    pub(crate) fn gone(&self, entry: Entry) {
        self.amend(entry, |served| served.outcome = Outcome::Gone);
    }

    fn amend(&self, entry: Entry, change: impl FnOnce(&mut Served)) {
        let mut log = self.lock();
        if let Some(served) = entry.0.and_then(|index| log.served.get_mut(index)) {
            change(served);
        }
        drop(log);
        self.changed.notify_all();
    }

    /// Every request kept, in the order in which they were read.
    pub(crate) fn served(&self) -> Vec<Served> {
        self.lock().served.clone()
    }

    /// Requests read, kept or not.
    pub(crate) fn read(&self) -> u64 {
        self.lock().read
    }

    /// Waits until `enough` holds of the requests kept; false when `limit` passed first.
    pub(crate) fn wait(&self, limit: Duration, enough: impl Fn(&[Served]) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut log = self.lock();
        while !enough(&log.served) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            log = self.changed.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
