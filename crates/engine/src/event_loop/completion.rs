//! What happens when an operation or an iteration ends.

use std::borrow::Cow;
use std::time::Duration;

use evidence::{Instant, Outcome, ResponseStatus};

use super::EventLoop;
use super::timers::Timer;
use crate::EngineError;
use crate::accounting::Ending;
use crate::exchange::Purpose;
use crate::exemplars::failure_reason;
use crate::index::{EndpointPhase, OperationIndex, PhaseIndex, ScenarioPhase, UserIndex};
use crate::iteration::{Context, Event, IterationRequest, Progress, Rejection};
use crate::network::{EndedOperation, GivingUp};
use crate::operation::{Operation, OperationToken, VuSlotPosition};
use crate::program::OriginKind;

/// Only responses are continued; a request that failed could otherwise be repeated for ever.
const A_BUG: &str =
    ": only one that was answered can continue. This is a bug in what drives the virtual users";
/// The status of a response that switches to the protocol that was asked for.
const SWITCHING: u16 = 101;
/// Why a request whose time limit has passed when it is asked for is not sent.
const NO_TIME_LEFT: &str = "not sent: the generator was late by the whole time limit";

impl EventLoop {
    /// Complete everything that has ended on the wire. What follows from it may end at once too.
    ///
    /// All of it ended by the instant at which this looks at the clock, so that no response time is too short. It is too long by
    /// what it took to read the last of these responses after this one: of fewer than [`super::COMPLETED_AT_ONCE`] sockets.
    pub(super) fn complete_ended(&mut self) -> Result<(), EngineError> {
        while !self.network.ended.is_empty() || !self.network.received.is_empty() {
            let mut now = self.look_at_clock()?;
            if !self.network.received.is_empty() {
                self.hand_over_received(now)?;
            }
            let mut ended = std::mem::take(&mut self.network.ended);
            for one in ended.drain(..) {
                // The script of the one before may have held the loop for long.
                if self.script_cpu.ended_at() > now {
                    now = self.look_at_clock()?;
                }
                self.complete(one, now)?;
            }
            // Keep the memory, and what has ended meanwhile.
            ended.append(&mut self.network.ended);
            self.network.ended = ended;
            self.network.flush(&mut self.operations)?;
        }
        Ok(())
    }

    /// Hand the parts of responses to their iterations that were received for them.
    #[cold]
    fn hand_over_received(&mut self, now: Instant) -> Result<(), EngineError> {
        while let Some(token) = self.network.received.pop_front() {
            let now = now.max(self.script_cpu.ended_at());
            // Its iteration may have given it up meanwhile.
            let Some(index) = self.operations.index_of(token) else { continue };
            let bytes = self.network.bytes_of(index, &self.operations);
            let operation = self.operations.get_mut(index);
            operation.has_received = false;
            let (owner, name) = (operation.owner, operation.name);
            let mut response = std::mem::take(&mut operation.response);
            let event = Event::Received { name, response: &response, bytes: &bytes };
            let mut progress = self.resume_iteration(owner, now, event, Some(index));
            response.forget_body();
            let is_switched = response.status == SWITCHING;
            let operation = self.operations.get_mut(index);
            operation.response = response;
            if is_switched && operation.draft.purpose == Purpose::WebSocket && !operation.is_recorded {
                let farewell = std::mem::take(&mut operation.draft.farewell);
                operation.add_bytes(bytes);
                self.end(index, None, progress.take_rejection(), now);
                self.operations.get_mut(index).begin_session(farewell);
            }
            self.do_requested(owner, progress, now)?;
        }
        Ok(())
    }

    /// Count the end of an operation, for its iteration too.
    #[inline]
    fn end(
        &mut self,
        index: OperationIndex,
        transport: Option<Outcome>,
        rejection: Option<Rejection>,
        now: Instant,
    ) {
        let outcome = transport.or(rejection.as_ref().map(|it| it.outcome)).unwrap_or(Outcome::Ok);
        self.record(index, outcome, rejection.as_ref().map_or("", |it| &it.reason), now);
        let owner = self.operations.get(index).owner;
        if let Some(active) = &mut self.users.get_mut(owner).active
            && active.outcome == Outcome::Ok
        {
            active.outcome = outcome;
        }
    }

    fn look_at_clock(&mut self) -> Result<Instant, EngineError> {
        let now = self.clock.now();
        self.perturbation.looked(now, self.in_flight.now);
        self.roll_tick(now)?;
        Ok(now)
    }

    /// Take an operation off the wire and end it with an outcome that the generator decides.
    pub(super) fn give_up(
        &mut self,
        operation: OperationToken,
        outcome: Outcome,
        now: Instant,
    ) -> Result<(), EngineError> {
        if let Some(index) = self.operations.index_of(operation) {
            self.network.abandon(index, GivingUp::TimedOut, &mut self.operations)?;
        }
        self.complete(EndedOperation::new(operation, Some(outcome)), now)
    }

    fn complete(&mut self, ended: EndedOperation, now: Instant) -> Result<(), EngineError> {
        // It may have been ended for another reason since it was put into the list.
        let Some(index) = self.operations.index_of(ended.operation) else { return Ok(()) };
        if self.network.send_again(&ended, &mut self.operations)? {
            return Ok(());
        }
        self.network.release_cut(index, &mut self.operations)?;
        let operation = self.operations.get_mut(index);
        let (owner, name) = (operation.owner, operation.name);
        let response = std::mem::take(&mut operation.response);
        let event = Event::Completed { name, response: &response, transport: ended.transport };
        let mut progress = self.resume_iteration(owner, now, event, Some(index));
        self.operations.get_mut(index).response = response;
        if matches!(progress, Progress::Continuing) {
            if let Some(outcome) = ended.transport {
                let why = format!("a request ended with `{outcome}`, and its iteration continues it{A_BUG}");
                return Err(EngineError::Aborted(why));
            }
            self.operations.renew(index);
            self.network.submit(index, &mut self.operations)?;
            return self.do_requested(owner, Progress::WAITING, now);
        }
        let rejection = progress.take_rejection().filter(|_| ended.transport.is_none());
        self.end(index, ended.transport, rejection, now);
        self.operations.close(index);
        self.do_requested(owner, progress, now)
    }

    /// Count the end of an operation, with the results of its checks; `detail` is the reason of the verdict on it.
    pub(super) fn record(&mut self, index: OperationIndex, outcome: Outcome, detail: &str, now: Instant) {
        if self.operations.get(index).is_recorded {
            return;
        }
        self.look_at_window(now);
        self.in_flight.change(-1, now);
        let operation = self.operations.get(index);
        let phase = self.phase_at(operation.draft.due);
        let exchange = operation.exchange(phase, outcome, now);
        let due = operation.draft.due;
        let status = self.status_of(operation, outcome);
        let reason = match outcome {
            Outcome::Ok => Cow::Borrowed(""),
            _ => failure_reason(operation, outcome, detail),
        };
        self.accounting.request_ended(&exchange, self.window.window);
        self.accounting.resulted(&exchange, Ending { status, reason: &reason }, operation);
        if self.perturbation.concerns(due) {
            self.accounting.perturbed_request(&exchange);
        }
        for (check, result) in self.checks.drain(..) {
            self.accounting.checked(exchange.at, check, result);
        }
        self.exemplars.add(self.operations.get_mut(index), &exchange, &reason);
    }

    /// The status of its response, where one had begun. That of gRPC comes last.
    fn status_of(&self, operation: &Operation, outcome: Outcome) -> Option<ResponseStatus> {
        let response = &operation.response;
        if response.status == 0 {
            return None;
        }
        match (self.program.origin(operation.draft.origin).kind, outcome) {
            (OriginKind::Http | OriginKind::WebSocket, _) => Some(ResponseStatus::Http(response.status)),
            (OriginKind::Grpc, Outcome::Grpc(code)) => Some(ResponseStatus::Grpc(code)),
            (OriginKind::Grpc, _) => outcome.is_answer().then(|| ResponseStatus::Grpc(response.grpc_code())),
        }
    }

    /// Resume an iteration and do what it asks for.
    pub(super) fn resume(
        &mut self,
        user: UserIndex,
        now: Instant,
        event: Event<'_>,
    ) -> Result<(), EngineError> {
        let progress = self.resume_iteration(user, now, event, None);
        self.do_requested(user, progress, now)
    }

    fn resume_iteration(
        &mut self,
        user: UserIndex,
        now: Instant,
        event: Event<'_>,
        completed: Option<OperationIndex>,
    ) -> Progress {
        self.checks.clear();
        let user = self.users.get_mut(user);
        let phase = user.active.map_or(PhaseIndex(0), |active| active.phase);
        let mut context = Context {
            now,
            clock: self.clock,
            control: &self.control,
            operations: &mut self.operations,
            requests: &mut self.requests,
            checks: &mut self.checks,
            counters: &self.counters,
            directory: &self.program.directory,
            met_names: &mut self.met_names,
            metrics: &mut self.metrics,
            script_cpu: &mut self.script_cpu,
            accounting: &mut self.accounting,
            at: ScenarioPhase { scenario: user.scenario, phase },
            network: &self.network,
            completed,
        };
        user.iteration.resume(event, &mut context)
    }

    /// Do what an iteration asks for after an event of `now`. The scripts of a batch of events run one after the other, and
    /// what follows from the later ones waits for the earlier ones.
    fn do_requested(&mut self, user: UserIndex, progress: Progress, now: Instant) -> Result<(), EngineError> {
        let now = now.max(self.script_cpu.ended_at());
        let serial = self.users.get(user).serial;
        let mut requests = std::mem::take(&mut self.requests);
        for request in requests.drain(..) {
            match request {
                IterationRequest::Timer { name, at, kind } => {
                    self.timers.add(Timer { at, user, serial, name, kind });
                }
                IterationRequest::CancelTimer(name) => self.timers.cancel(user, serial, name),
                IterationRequest::Submit(operation) => self.begin_request(operation, user, now)?,
                IterationRequest::SendMore(token) => self.network.send_more(token, &mut self.operations),
                IterationRequest::Cut(token) => self.network.cut(token, &mut self.operations),
                IterationRequest::Close(origin) => {
                    self.network.close_own(user, origin, &mut self.operations)?;
                }
                IterationRequest::Fail(token) => self.network.refuse(token, &mut self.operations)?,
            }
        }
        self.requests = requests;
        match progress {
            Progress::Waiting(_) => Ok(()),
            Progress::Continuing => {
                let why = format!("an iteration continues a request, and none has completed{A_BUG}");
                Err(EngineError::Aborted(why))
            }
            Progress::Yielding(_) => {
                self.yielded.push((user, serial));
                Ok(())
            }
            Progress::Done(_) => self.end_iteration(user, now),
            Progress::Abort(reason) => Err(EngineError::Aborted(reason)),
        }
    }

    fn begin_request(
        &mut self,
        operation: OperationIndex,
        user: UserIndex,
        now: Instant,
    ) -> Result<(), EngineError> {
        let scenario = self.users.get(user).scenario;
        let slots = self.sources[scenario.0].slot_count();
        let entry = self.operations.begin(operation, user);
        entry.vu_slot = self.users.slot_of(user).map(|slot| VuSlotPosition { slot, slots });
        entry.begun_at = now;
        let (endpoint, due, is_too_late) = (entry.draft.endpoint, entry.draft.due, entry.had_no_time_left());
        self.look_at_window(now);
        self.in_flight.change(1, now);
        let at = EndpointPhase { endpoint, phase: self.phase_at(due) };
        self.accounting.request_begun(at, self.window.window);
        if self.operations.get(operation).unsendable.is_some() {
            return Ok(());
        }
        if is_too_late {
            self.operations.get_mut(operation).unsendable = Some(NO_TIME_LEFT.to_owned());
            let ended = EndedOperation::new(self.operations.token(operation), Some(Outcome::Cancelled));
            self.network.ended.push(ended);
            return Ok(());
        }
        self.deadlines.add(operation, &self.operations);
        Ok(self.network.submit(operation, &mut self.operations)?)
    }

    fn end_iteration(&mut self, user: UserIndex, now: Instant) -> Result<(), EngineError> {
        let scenario = self.users.get(user).scenario;
        self.network.end_iteration(user);
        if let Some(active) = self.users.release(user, now) {
            let took = now.since(active.due).as_nanos() as u64;
            let at = ScenarioPhase { scenario, phase: active.phase };
            if active.outcome == Outcome::Cancelled {
                // The generator was too late for one of its requests: how long it would have taken is not known.
                self.accounting.iteration_cancelled(at, Duration::ZERO);
            } else {
                self.look_at_window(now);
                self.accounting.iteration_done(at, active.outcome, took, self.window.window);
                if self.perturbation.concerns(active.due) {
                    self.accounting.perturbed_iteration(at, active.outcome, took);
                }
            }
            if let Some(slot) = self.users.slot_of(user) {
                self.sources[scenario.0].release_slot(slot, now);
            }
        }
        Ok(())
    }
}
