//! What happens when an operation or an iteration ends.

use evidence::{Instant, Outcome};

use super::EventLoop;
use crate::EngineError;
use crate::accounting::Exchange;
use crate::exemplars::exemplar;
use crate::iteration::{Context, Event, Progress, Want};
use crate::operation::{Ended, OperationToken, VuSlot};

impl EventLoop {
    /// Settle everything that has ended on the wire; what follows from it may end at once too.
    pub(super) fn settle_ended(&mut self) -> Result<(), EngineError> {
        while !self.network.ended.is_empty() {
            let now = self.clock.now();
            self.roll(now)?;
            let mut ended = std::mem::take(&mut self.network.ended);
            for one in ended.drain(..) {
                self.complete(one, now)?;
            }
            // Keep the memory, and what has ended meanwhile.
            ended.append(&mut self.network.ended);
            self.network.ended = ended;
            self.network.flush(&mut self.operations)?;
        }
        Ok(())
    }

    /// Take an operation off the wire and end it with an outcome of the generator's own.
    pub(super) fn give_up(
        &mut self,
        operation: OperationToken,
        (outcome, now): (Outcome, Instant),
    ) -> Result<(), EngineError> {
        if let Some(place) = self.operations.place_of(operation) {
            self.network.abandon(place, &mut self.operations)?;
        }
        self.complete(Ended { operation, transport: Some(outcome) }, now)
    }

    fn complete(&mut self, ended: Ended, now: Instant) -> Result<(), EngineError> {
        // It may have been ended for another reason since it was put into the list.
        let Some(place) = self.operations.place_of(ended.operation) else { return Ok(()) };
        self.network.let_go(place, &mut self.operations)?;
        let operation = self.operations.get_mut(place);
        let (owner, want) = (operation.owner, operation.want);
        let response = std::mem::take(&mut operation.response);
        let event = Event::Completed { want, response: &response, transport: ended.transport };
        let progress = self.ask(owner, (now, event), Some(place));
        self.operations.get_mut(place).response = response;
        if std::mem::take(&mut self.opinion.goes_on) {
            self.operations.renew(place);
            self.network.submit(place, &mut self.operations)?;
            return self.follow(owner, (progress, now));
        }
        let outcome = ended.transport.or(self.opinion.outcome).unwrap_or(Outcome::Ok);
        self.record(place, (outcome, now));
        self.operations.close(place);
        if let Some(active) = &mut self.users.get_mut(owner).active
            && active.outcome == Outcome::Ok
        {
            active.outcome = outcome;
        }
        self.follow(owner, (progress, now))
    }

    /// Enter an operation's end into the books, with the iteration's opinion of it.
    pub(super) fn record(&mut self, place: u32, (outcome, now): (Outcome, Instant)) {
        self.in_flight.change(-1, now);
        let operation = self.operations.get(place);
        let endpoint = operation.draft.endpoint;
        let phase = self.program.phase_at(operation.draft.due);
        let exchange = Exchange {
            endpoint,
            phase,
            outcome,
            response_ns: now.since(operation.draft.due).as_nanos() as u64,
            service_ns: (operation.sent != Instant::NEVER)
                .then(|| now.since(operation.sent).as_nanos() as u64),
            bytes_in: operation.bytes_in,
            bytes_out: operation.bytes_out,
            first_message_ns: operation.first_message_ns(),
            messages: (operation.response.messages, operation.draft.messages),
            phases: operation.phases(now).filter(|_| outcome.is_answer()),
        };
        self.books.request_ended(&exchange);
        for (check, held) in &self.opinion.checks {
            self.books.checked((endpoint, phase), *check, *held);
        }
        if let Some(kind) = self.keeper.wants(&exchange) {
            let reason = operation.reason();
            let detail = match (reason.as_deref(), self.opinion.detail.as_str()) {
                (Some(detail), _) => detail,
                (None, "") if outcome.is_failure() => explain(outcome),
                (None, detail) => detail,
            };
            self.books.keep(exemplar(&self.program, (operation, &exchange), (kind, detail)));
        }
        self.opinion.clear();
    }

    /// Resume an iteration and do what it wants.
    pub(super) fn resume(
        &mut self,
        user: u32,
        (now, event): (Instant, Event<'_>),
    ) -> Result<(), EngineError> {
        let progress = self.ask(user, (now, event), None);
        self.follow(user, (progress, now))
    }

    fn ask(&mut self, user: u32, (now, event): (Instant, Event<'_>), completed: Option<u32>) -> Progress {
        self.opinion.clear();
        let mut context = Context {
            now,
            operations: &mut self.operations,
            wants: &mut self.wants,
            opinion: &mut self.opinion,
            counters: &self.counters,
            completed,
        };
        self.users.get_mut(user).iteration.resume(event, &mut context)
    }

    fn follow(&mut self, user: u32, (progress, now): (Progress, Instant)) -> Result<(), EngineError> {
        if let Some(why) = self.opinion.abort.take() {
            return Err(EngineError::Aborted(why));
        }
        let serial = self.users.get(user).serial;
        let mut wants = std::mem::take(&mut self.wants);
        for want in wants.drain(..) {
            match want {
                Want::Timer(want, at) => self.timers.push(std::cmp::Reverse((at, user, serial, want))),
                Want::Request(operation) => self.begin(operation, (user, now))?,
                Want::More(request) => self.network.send_more(request, &mut self.operations),
                Want::Cut(request) => self.network.cut(request, &mut self.operations),
            }
        }
        self.wants = wants;
        if progress == Progress::Done {
            self.end_iteration(user, now)?;
        }
        Ok(())
    }

    fn begin(&mut self, operation: u32, (user, now): (u32, Instant)) -> Result<(), EngineError> {
        let scenario = self.users.get(user).scenario;
        let of = self.sources[scenario].seats();
        let entry = self.operations.get_mut(operation);
        entry.owner = user;
        entry.seat = self.users.seat_of(user).map(|nth| VuSlot { nth, of });
        entry.begun = now;
        let (endpoint, due, deadline) = (entry.draft.endpoint, entry.draft.due, entry.draft.deadline);
        self.earliest_deadline = self.earliest_deadline.min(deadline);
        self.in_flight.change(1, now);
        self.books.request_begun(endpoint, self.program.phase_at(due));
        Ok(self.network.submit(operation, &mut self.operations)?)
    }

    fn end_iteration(&mut self, user: u32, now: Instant) -> Result<(), EngineError> {
        let scenario = self.users.get(user).scenario;
        self.network.end_iteration(user, &mut self.operations)?;
        if let Some(active) = self.users.release(user, now) {
            let took = now.since(active.due).as_nanos() as u64;
            self.books.iteration_done((scenario, active.phase), (active.outcome, took));
            if let Some(seat) = self.users.seat_of(user) {
                self.sources[scenario].seat_is_free(seat, now);
            }
        }
        Ok(())
    }
}

fn explain(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Timeout => "no complete response within the step's time limit",
        Outcome::Refused => "the connection was refused",
        Outcome::Reset => "the connection was reset or closed before the response was complete",
        Outcome::Tls => "the TLS handshake failed",
        Outcome::Protocol => "the peer did not speak the protocol",
        _ => "",
    }
}
