//! What a virtual user has asked for and not been given yet.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use engine::exchange::OperationName;

use crate::grpc::{GrpcOperation, GrpcReply};
use crate::http::{HttpOperation, HttpResponse};
use crate::js::{Kept, Resolver};
use crate::websocket::WebSocket;

/// What an operation of a script is, until it has ended.
#[derive(Debug)]
pub(crate) enum Operation {
    /// A request.
    Http(Box<HttpOperation>),
    /// A gRPC call, or connecting for one.
    Grpc(Box<GrpcOperation>),
    /// A timer; one that fires again and again has the time between.
    Timer(Option<Duration>),
    /// A session, which has ended whenever there is something of it to be seen.
    WebSocket(Rc<WebSocket>),
    /// A timer of a session, whose script sees that it has fired as something of the session of this name.
    SocketTimer(Rc<WebSocket>, OperationName),
}

/// What waits for the end of an operation.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// The fiber, which looks itself.
    Fiber,
    Promise(Resolver),
    /// A function, to be called.
    Callback(Callback),
}

/// A function, and what it is called with.
#[derive(Debug)]
pub(crate) struct Callback {
    pub(crate) function: Kept,
    pub(crate) arguments: Vec<Kept>,
}

#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// A request, in this way.
    Http(Rc<HttpResponse>),
    /// A gRPC call.
    Grpc(Rc<GrpcReply>),
    /// A timer has fired.
    Timer,
    /// There is something to be seen of a session.
    WebSocket,
}

/// An operation of a script.
#[derive(Debug)]
pub(crate) struct OperationSlot {
    pub(crate) operation: Operation,
    pub(crate) waiter: Waiter,
    pub(crate) ended: Option<Ended>,
}

/// Operations by name.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    slots: BTreeMap<OperationName, OperationSlot>,
    /// Those that have ended, in that order; some of them may be gone, or under way again.
    ended: VecDeque<OperationName>,
}

impl Operations {
    /// Add one of a name that none has.
    pub(crate) fn insert(&mut self, name: OperationName, slot: OperationSlot) {
        self.slots.insert(name, slot);
    }

    pub(crate) fn get(&self, name: OperationName) -> Option<&OperationSlot> {
        self.slots.get(&name)
    }

    pub(crate) fn get_mut(&mut self, name: OperationName) -> Option<&mut OperationSlot> {
        self.slots.get_mut(&name)
    }

    pub(crate) fn remove(&mut self, name: OperationName) -> Option<OperationSlot> {
        // What the fiber waits for is mostly what has just ended.
        self.ended.pop_back_if(|last| *last == name);
        self.slots.remove(&name)
    }

    /// Note how one has ended.
    pub(crate) fn end(&mut self, name: OperationName, ended: Ended) {
        if let Some(slot) = self.slots.get_mut(&name) {
            slot.ended = Some(ended);
            self.ended.push_back(name);
        }
    }

    /// Note that there is something to be seen of a session, unless that is noted.
    pub(crate) fn notify(&mut self, name: OperationName) {
        if !self.has_ended(name) {
            self.end(name, Ended::WebSocket);
        }
    }

    /// All that there was to be seen of a session was seen.
    pub(crate) fn quiet(&mut self, name: OperationName) {
        let ended = self.slots.get_mut(&name).and_then(|slot| slot.ended.take());
        if ended.is_some() {
            self.ended.retain(|one| *one != name);
        }
    }

    /// The same of all sessions.
    pub(crate) fn quiet_sockets(&mut self) {
        let is_socket = |(name, slot): (&OperationName, &OperationSlot)| {
            matches!(slot.operation, Operation::WebSocket(_)).then_some(*name)
        };
        let names: Vec<OperationName> = self.slots.iter().filter_map(is_socket).collect();
        names.into_iter().for_each(|name| self.quiet(name));
    }

    /// The sessions under way.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &Rc<WebSocket>> {
        self.slots.values().filter_map(|slot| match &slot.operation {
            Operation::WebSocket(socket) => Some(socket),
            _ => None,
        })
    }

    /// Whether one has ended.
    pub(crate) fn has_ended(&self, name: OperationName) -> bool {
        self.get(name).is_some_and(|slot| slot.ended.is_some())
    }

    /// Remove the one that ended first.
    pub(crate) fn take_ended(&mut self) -> Option<(OperationName, OperationSlot)> {
        while let Some(name) = self.ended.pop_front() {
            if self.has_ended(name) {
                return self.slots.remove(&name).map(|slot| (name, slot));
            }
        }
        None
    }

    pub(crate) fn has_ended_one(&self) -> bool {
        self.ended.iter().any(|name| self.has_ended(*name))
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&OperationSlot) -> bool) {
        self.slots.retain(|_, slot| keep(slot));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.ended.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer() -> OperationSlot {
        OperationSlot { operation: Operation::Timer(None), waiter: Waiter::Fiber, ended: None }
    }

    #[test]
    fn those_that_have_ended_are_taken_in_that_order() {
        let mut operations = Operations::default();
        (1..=5).for_each(|name| operations.insert(name, timer()));
        assert!(!operations.has_ended_one());
        [4, 2, 9, 5, 1].into_iter().for_each(|name| operations.end(name, Ended::Timer));
        // The fiber takes one itself, and one was cleared after it had ended.
        operations.remove(1);
        operations.remove(2);
        let mut taken = Vec::new();
        while let Some((name, _)) = operations.take_ended() {
            taken.push(name);
        }
        assert_eq!(taken, [4, 5]);
        assert!(!operations.has_ended_one() && !operations.is_empty());
        operations.end(3, Ended::Timer);
        assert!(operations.has_ended_one() && operations.has_ended(3));
    }

    #[test]
    fn a_fiber_that_waits_again_and_again_leaves_nothing() {
        let mut operations = Operations::default();
        for name in 1..1_000 {
            operations.insert(name, timer());
            operations.end(name, Ended::Timer);
            operations.remove(name);
        }
        assert!(operations.is_empty() && operations.ended.is_empty());
    }
}
