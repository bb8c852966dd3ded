//! Options of a gRPC call besides its method and first message: streaming, deadline, compression.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most messages that one call may send.
pub const MAX_MESSAGES: u64 = 1_000_000;

/// Options of a call. The default is a unary call: one message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallOptions {
    /// Messages that are sent after the first, in order.
    pub then: Vec<Value>,
    /// How many times all messages are sent.
    pub repeat: u32,
    /// Interval between sent messages, counted from the call's due instant.
    pub every: Duration,
    /// When a stream of responses is cancelled; none: it is read to its end.
    pub cancel_after: Option<CancelAfter>,
    /// The deadline that is sent to the server (`grpc-timeout`), if any.
    pub deadline: Option<Duration>,
    /// Whether messages are sent compressed (gzip).
    pub compress: bool,
}

/// When a stream of responses is cancelled. Such a call has not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAfter {
    /// After this many received messages.
    Messages(u64),
    /// This long after the call's due instant.
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
    /// How many messages are sent in total.
    pub fn messages(&self) -> u64 {
        (self.then.len() as u64 + 1) * u64::from(self.repeat)
    }
}
