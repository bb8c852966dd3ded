//! What all virtual users of a script share while it runs: what it asks of its whole test, and what they have done so far.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// What a script asks of its whole test.
#[derive(Debug, Default)]
pub struct TestRequests {
    /// The message of `exec.test.abort`.
    abort: OnceLock<String>,
    is_failed: AtomicBool,
    /// Whether a request was sent.
    has_sent: AtomicBool,
    /// The URL of the first request that could not be sent.
    unsent: OnceLock<String>,
    /// Why a virtual user could not be made.
    init_failure: OnceLock<InitFailure>,
}

/// What a script threw while it was evaluated for a virtual user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitFailure {
    pub message: String,
    /// Whether it has asked for the end of its test.
    pub is_abort: bool,
}

/// What a script has asked of its whole test in one process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOutcome {
    /// The message of the abort that it has asked for.
    pub abort: Option<String>,
    /// Whether it has marked its test as failed.
    pub is_marked_failed: bool,
    /// Whether it has sent a request.
    pub has_sent: bool,
    /// The URL of the first request that it could not send.
    pub unsent: Option<String>,
    /// Why a virtual user could not be made.
    pub init_failure: Option<InitFailure>,
}

impl TestRequests {
    /// What was asked for so far.
    pub fn asked(&self) -> TestOutcome {
        TestOutcome {
            abort: self.abort_message().map(str::to_owned),
            is_marked_failed: self.is_marked_failed(),
            has_sent: self.has_sent.load(Ordering::Relaxed),
            unsent: self.unsent.get().cloned(),
            init_failure: self.init_failure.get().cloned(),
        }
    }

    /// The same was asked for in another process.
    pub fn ask_too(&self, elsewhere: TestOutcome) {
        if let Some(message) = elsewhere.abort {
            self.abort(message);
        }
        if elsewhere.is_marked_failed {
            self.mark_failed();
        }
        if elsewhere.has_sent {
            self.mark_sent();
        }
        if let Some(url) = elsewhere.unsent {
            self.add_unsent(&url);
        }
        if let Some(failure) = elsewhere.init_failure {
            self.init_failure.get_or_init(|| failure);
        }
    }

    /// The message of the abort that the script has asked for first; none where it has not.
    pub fn abort_message(&self) -> Option<&str> {
        self.abort.get().map(String::as_str)
    }

    /// Whether the script has marked its test as failed.
    pub fn is_marked_failed(&self) -> bool {
        self.is_failed.load(Ordering::Relaxed)
    }

    /// The URL of the first request that could not be sent.
    pub fn first_unsent(&self) -> Option<&str> {
        self.unsent.get().map(String::as_str)
    }

    /// Why a virtual user could not be made, where one could not.
    pub fn init_failure(&self) -> Option<InitFailure> {
        self.init_failure.get().cloned()
    }

    pub(crate) fn fail_init(&self, message: String) {
        let is_abort = self.abort.get().is_some();
        self.init_failure.get_or_init(|| InitFailure { message, is_abort });
    }

    /// Whether any request was sent.
    pub fn has_sent(&self) -> bool {
        self.has_sent.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_sent(&self) {
        self.has_sent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn add_unsent(&self, url: &str) {
        self.unsent.get_or_init(|| url.to_owned());
    }

    /// Ask for the end of the run; what asks for it first says why.
    pub(crate) fn abort(&self, message: String) {
        self.abort.get_or_init(|| message);
    }

    pub(crate) fn mark_failed(&self) {
        self.is_failed.store(true, Ordering::Relaxed);
    }
}

/// What is counted of virtual users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Virtual users that were made.
    Made,
    /// Iterations that have begun.
    Begun,
    /// Iterations that came to their end.
    Completed,
    /// Iterations that were cancelled.
    Interrupted,
}

/// How many, over all scenarios and loops.
#[derive(Debug, Default)]
pub(crate) struct InstanceCounts([AtomicU64; 4]);

impl InstanceCounts {
    pub(crate) fn add(&self, counted: Counted) {
        self.0[counted as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, counted: Counted) -> u64 {
        self.0[counted as usize].load(Ordering::Relaxed)
    }

    /// Iterations that are under way.
    pub(crate) fn under_way(&self) -> u64 {
        let over = self.count(Counted::Completed) + self.count(Counted::Interrupted);
        self.count(Counted::Begun).saturating_sub(over)
    }
}
