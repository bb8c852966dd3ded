//! What a gRPC step says besides its method and first message: how it streams, and how long it may take.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a call goes on after its first message. The default is that of a unary call: that message and no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallOptions {
    /// Messages that are sent after the first, in turn.
    pub then: Vec<Value>,
    /// How many times all messages are sent.
    pub repeat: u32,
    /// Pause from one message that is sent to the next, counted from when the call is due.
    pub every: Duration,
    /// When a stream of responses that may never end has lasted long enough.
    pub cancel_after: Option<CancelAfter>,
    /// How long the server is told it may take (`grpc-timeout`); none: it is not told.
    pub deadline: Option<Duration>,
    /// Whether messages are sent compressed (gzip).
    pub compress: bool,
}

/// When a stream of responses has lasted long enough. The call is then cancelled, and that is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAfter {
    /// When this many messages have come.
    Messages(u64),
    /// This long after the call was due.
    Time(Duration),
}

impl Default for CallOptions {
    fn default() -> Self {
        CallOptions {
            then: Vec::new(),
            repeat: 1,
            every: Duration::ZERO,
            cancel_after: None,
            deadline: None,
            compress: false,
        }
    }
}

impl CallOptions {
    /// How many messages are sent in all.
    pub fn messages(&self) -> u64 {
        (self.then.len() as u64 + 1) * u64::from(self.repeat)
    }
}
