//! Calls that send further messages after the first, or that are cut short after a time.

use std::time::Duration;

use super::PlanIteration;
use crate::exchange::OperationName;
use crate::iteration::{Context, MessagePosition, RequestId};
use crate::program::{CallProgram, StepContent};

/// A call under way that sends further messages or is to be cut short.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenCall {
    request: RequestId,
    /// How many of its messages were sent.
    sent: u64,
    pace: Pace,
}

/// Whether messages of a call are sent at their instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    OnTime,
    /// The peer did not read: what was due meanwhile follows at once.
    HeldUp,
}

/// When a message that may not be sent is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The lowest bit of a timer's name: whether it sends the next message or cuts the call short. The other bits are
/// the call's number, from 1.
const NEXT: OperationName = 0;
const CUT: OperationName = 1;

impl PlanIteration {
    fn call(&self) -> Option<&CallProgram> {
        match &self.current().content {
            StepContent::Grpc(call) => Some(call),
            StepContent::Http(_) => None,
        }
    }

    /// The current step has just been sent: ask for the timers of its call.
    pub(super) fn schedule_call(&mut self, context: &mut Context<'_>) {
        let Some(call) = self.call() else { return };
        let next = call.is_paced().then(|| self.due + call.every);
        let cut = call.cut_after().map(|time| self.due + time);
        if next.is_none() && cut.is_none() {
            return;
        }
        let Some(request) = context.last_request() else { return };
        self.calls = self.calls.wrapping_add(1) & (OperationName::MAX >> 1);
        self.open_call = Some(OpenCall { request, sent: 1, pace: Pace::OnTime });
        let name = self.calls << 1;
        for (kind, at) in [(NEXT, next), (CUT, cut)] {
            if let Some(at) = at {
                context.timer(name | kind, at);
            }
        }
    }

    /// A timer of a call has fired. It may be one of an earlier call, which has ended since.
    pub(super) fn call_timer_fired(&mut self, timer: OperationName, context: &mut Context<'_>) {
        let Some(open) = self.open_call.filter(|_| timer >> 1 == self.calls) else { return };
        if timer & 1 == CUT {
            context.cut(open.request);
        } else {
            self.send_next(open, context);
        }
    }

    /// Send the next message, or wait until the peer has read more of those before it. Its instant does not depend on
    /// when those were sent.
    fn send_next(&mut self, open: OpenCall, context: &mut Context<'_>) {
        if !context.may_send(open.request) {
            context.timer(self.calls << 1 | NEXT, context.now + TRY_AGAIN_AFTER);
            self.open_call = Some(OpenCall { pace: Pace::HeldUp, ..open });
            return;
        }
        let Some(call) = self.call() else { return };
        let (now, counters) = (context.now, context.counters);
        let scope = self.scope(now, counters);
        let sent = open.sent + 1;
        let is_last = sent >= call.total;
        let position = if is_last { MessagePosition::Last } else { MessagePosition::NotLast };
        let mut encoded = Ok(());
        context.send(open.request, position, |out| encoded = call.push_message(open.sent, &scope, out));
        if let Err(error) = encoded {
            context.fail(open.request, self.unsendable(error));
            return;
        }
        if !is_last {
            let after = call.every.saturating_mul(u32::try_from(sent).unwrap_or(u32::MAX));
            let at = match open.pace {
                Pace::OnTime => self.due + after,
                // That it is late is not the generator's fault.
                Pace::HeldUp => context.now.max(self.due + after),
            };
            context.timer(self.calls << 1 | NEXT, at);
        }
        self.open_call = Some(OpenCall { sent, ..open });
    }
}
