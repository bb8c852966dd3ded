//! Calls that go on after their first message: what is still to be sent, and when they have lasted long enough.

use super::PlanIteration;
use crate::iteration::{Context, RequestId, Then, WantId};
use crate::program::{CallProgram, Content};

/// A call under way that has more to send or is to be ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenCall {
    request: RequestId,
    /// How many of its messages were sent.
    sent: u64,
}

/// What the lowest bit of a timer's name says; the others are the call's number, from 1.
const NEXT: WantId = 0;
const END: WantId = 1;

impl PlanIteration {
    fn call(&self) -> Option<&CallProgram> {
        match &self.current().content {
            Content::Grpc(call) => Some(call),
            Content::Http(_) => None,
        }
    }

    /// The current step has just been sent: ask to be resumed for what follows.
    pub(super) fn open_call(&mut self, context: &mut Context<'_>) {
        let Some(call) = self.call() else { return };
        let next = call.is_paced().then(|| self.due + call.every);
        let end = call.lasts().map(|time| self.due + time);
        if next.is_none() && end.is_none() {
            return;
        }
        let Some(request) = context.last_request() else { return };
        self.calls = self.calls.wrapping_add(1) & (WantId::MAX >> 1);
        self.open = Some(OpenCall { request, sent: 1 });
        let name = self.calls << 1;
        for (kind, at) in [(NEXT, next), (END, end)] {
            if let Some(at) = at {
                context.timer(name | kind, at);
            }
        }
    }

    /// A timer of a call has fired. It may be that of an earlier one, which has ended since.
    pub(super) fn go_on(&mut self, timer: WantId, context: &mut Context<'_>) {
        let Some(open) = self.open.filter(|_| timer >> 1 == self.calls) else { return };
        if timer & 1 == END {
            context.cut(open.request);
        } else {
            self.send_next(open, context);
        }
    }

    /// Send the next message. Each has an instant of its own, whenever those before it were sent.
    fn send_next(&mut self, open: OpenCall, context: &mut Context<'_>) {
        let Some(call) = self.call() else { return };
        let (now, counters) = (context.now, context.counters);
        let scope = self.scope(now, counters);
        let sent = open.sent + 1;
        let then = if sent < call.total { Then::More } else { Then::End };
        let mut encoded = Ok(());
        context.send(open.request, then, |out| encoded = call.push_message(open.sent, &scope, out));
        if let Err(what) = encoded {
            let endpoint = &self.program.endpoints[self.current().endpoint].name;
            context.abort(&format!("step `{endpoint}` cannot be sent: {what}"));
            return;
        }
        if then == Then::More {
            let after = call.every.saturating_mul(u32::try_from(sent).unwrap_or(u32::MAX));
            context.timer(self.calls << 1 | NEXT, self.due + after);
        }
        self.open = Some(OpenCall { sent, ..open });
    }
}
