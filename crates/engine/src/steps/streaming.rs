//! Calls that send further messages after the first, or that are cut short after a time.

use std::time::Duration;

use super::PlanIteration;
use crate::exchange::OperationName;
use crate::iteration::{Context, MessagePosition, RequestId};
use crate::program::{CallProgram, StepContent};

/// When messages that may not be sent yet are tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Of messages that are due at once, about so many bytes are sent in a turn of the loop.
const BYTES_A_TURN: usize = 64 * 1024;

/// A call under way that sends further messages or is to be cut short.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenCall {
    request: RequestId,
    /// How many of its messages were sent.
    sent: u64,
    pace: Pace,
}

/// When the next message of a call is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// At its instant.
    Scheduled,
    /// As soon as it can be: it is due already when the one before it is sent, because all are due at once, or because the
    /// peer has not read those before it in time.
    AtOnce,
}

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
        let cut = call.cut_after().map(|time| self.due + time);
        if call.total <= 1 && cut.is_none() {
            return;
        }
        let pace = if call.is_paced() { Pace::Scheduled } else { Pace::AtOnce };
        let Some(request) = context.last_request() else { return };
        let Some(draft) = context.draft_of(request) else { return };
        let (sent, sends_more) = (draft.messages, draft.sends_more);
        self.calls = self.calls.wrapping_add(1) & (OperationName::MAX >> 1);
        let open = OpenCall { request, sent, pace };
        self.open_call = Some(open);
        if sends_more {
            self.schedule_next(open, context);
        }
        if let Some(cut) = cut {
            context.timer(self.calls << 1 | CUT, cut);
        }
    }

    /// Ask for the timer of a call's next message. Where that is sent as soon as it can be, it is not late for its instant.
    fn schedule_next(&mut self, open: OpenCall, context: &mut Context<'_>) {
        let every = self.call().map_or(Duration::ZERO, |call| call.every);
        let due = self.due + every.saturating_mul(u32::try_from(open.sent).unwrap_or(u32::MAX));
        let pace = if due > context.now { Pace::Scheduled } else { open.pace };
        self.open_call = Some(OpenCall { pace, ..open });
        let timer = self.calls << 1 | NEXT;
        match pace {
            Pace::Scheduled => context.timer(timer, due),
            Pace::AtOnce => context.try_again(timer, context.now),
        }
    }

    /// A timer of a call has fired. It may be one of an earlier call, which has ended since.
    pub(super) fn call_timer_fired(&mut self, timer: OperationName, context: &mut Context<'_>) {
        let Some(open) = self.open_call.filter(|_| timer >> 1 == self.calls) else { return };
        if timer & 1 == CUT {
            context.cut(open.request);
        } else if context.may_send(open.request) {
            self.send_next(open, context);
        } else {
            self.open_call = Some(OpenCall { pace: Pace::AtOnce, ..open });
            context.try_again(timer, context.now + TRY_AGAIN_AFTER);
        }
    }

    /// Send the next message, and those that are due with it. Its instant does not depend on when those before it were
    /// sent.
    fn send_next(&mut self, mut open: OpenCall, context: &mut Context<'_>) {
        let Some(call) = self.call() else { return };
        let (now, clock, counters) = (context.now, context.clock, context.counters);
        let scope = self.scope(now, clock, counters);
        let mut bytes = 0;
        let is_last = loop {
            let is_last = open.sent + 1 >= call.total;
            let position = if is_last { MessagePosition::Last } else { MessagePosition::NotLast };
            let mut encoded = Ok(());
            context.send(open.request, position, |out| {
                encoded = call.push_message(open.sent, &scope, out);
                bytes = out.len();
            });
            if let Err(error) = encoded {
                context.fail(open.request, self.unsendable(error));
                return;
            }
            open.sent += 1;
            // No bytes: the request has ended.
            if is_last || call.is_paced() || bytes == 0 || bytes >= BYTES_A_TURN {
                break is_last;
            }
        };
        self.open_call = Some(open);
        if !is_last {
            self.schedule_next(open, context);
        }
    }
}
