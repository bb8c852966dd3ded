//! A gRPC step, compiled: its messages, and when its call ends.

use std::time::Duration;

use workload::call::CancelAfter;
use workload::message::{EncodeError, MessageTemplate, Method};

use super::template::{CompiledTemplate, RenderScope};
use crate::exchange::{BodyReading, MAX_UNSENT_BYTES, RequestDraft};

/// A call, compiled.
#[derive(Debug)]
pub(crate) struct CallProgram {
    pub(crate) method: Method,
    pub(crate) path: Vec<u8>,
    /// The messages that are sent in turn; at least one.
    pub(crate) messages: Vec<MessageTemplate<CompiledTemplate>>,
    /// How many messages are sent in all.
    pub(crate) total: u64,
    pub(crate) every: Duration,
    /// Whether messages are sent compressed (gzip).
    pub(crate) compresses: bool,
    pub(crate) cancel_after: Option<CancelAfter>,
    /// The value of `grpc-timeout`.
    pub(crate) deadline: Option<Vec<u8>>,
}

impl CallProgram {
    /// Whether each message has its own instant.
    pub(crate) fn is_paced(&self) -> bool {
        !self.every.is_zero() && self.total > 1
    }

    /// After which time a stream is cut short, if the plan asks for that.
    pub(crate) fn cut_after(&self) -> Option<Duration> {
        match self.cancel_after {
            Some(CancelAfter::Time(time)) => Some(time),
            _ => None,
        }
    }

    /// Draft the call, with its first message or with those that are sent at once, as far as so many may be unsent.
    pub(crate) fn draft(&self, scope: &RenderScope<'_>, draft: &mut RequestDraft) -> Result<(), EncodeError> {
        draft.method.extend_from_slice(b"POST");
        draft.path.extend_from_slice(&self.path);
        wire::grpc::push_headers(&mut draft.headers, self.deadline.as_deref());
        let at_once = if self.is_paced() { 1 } else { self.total };
        let mut drafted = 0;
        while drafted < at_once && draft.body.len() <= MAX_UNSENT_BYTES {
            self.push_message(drafted, scope, &mut draft.body)?;
            drafted += 1;
        }
        draft.sends_more = drafted < self.total;
        if self.method.gives_stream() {
            let cut_after = match self.cancel_after {
                Some(CancelAfter::Messages(count)) => Some(count),
                _ => None,
            };
            draft.body_reading = BodyReading::Messages { cut_after };
        }
        if self.method.gives_stream() || self.method.takes_stream() {
            draft.messages = drafted;
        }
        Ok(())
    }

    /// Append the message that is sent as the `nth`, from 0, with its prefix.
    pub(crate) fn push_message(
        &self,
        nth: u64,
        scope: &RenderScope<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let message = &self.messages[(nth % self.messages.len() as u64) as usize];
        let start = wire::grpc::begin_message(out);
        message.encode(&mut |text, out| text.render(scope, out), out)?;
        if self.compresses {
            let plain = out.split_off(start);
            wire::coding::gzip(&plain, out);
            wire::grpc::mark_compressed(out, start);
        }
        wire::grpc::end_message(out, start);
        Ok(())
    }
}
