//! What a virtual user has asked for and not been given yet.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use engine::exchange::OperationName;

use crate::grpc::{GrpcOperation, GrpcReply};
use crate::http::{HttpOperation, HttpResponse};
use crate::js::{Kept, Resolver};

/// What an operation of a script is, until it has ended.
#[derive(Debug)]
pub(crate) enum Operation {
    /// A request.
    Http(Box<HttpOperation>),
    /// A gRPC call, or connecting for one.
    Grpc(Box<GrpcOperation>),
    /// A timer; one that fires again and again has the time between.
    Timer(Option<Duration>),
}

/// What waits for the end of an operation.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// The fiber, which looks itself.
    Fiber,
    /// A promise.
    Promise(Resolver),
    /// A function, to be called without arguments.
    Callback(Kept),
}

/// How an operation ended.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// A request, in this way.
    Http(Rc<HttpResponse>),
    /// A gRPC call.
    Grpc(Rc<GrpcReply>),
    /// A timer has fired.
    Timer,
}

/// An operation of a script.
#[derive(Debug)]
pub(crate) struct OperationSlot {
    pub(crate) operation: Operation,
    pub(crate) waiter: Waiter,
    pub(crate) ended: Option<Ended>,
}

/// Operations by name, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Operations(VecDeque<(OperationName, OperationSlot)>);

impl Operations {
    /// Add one of a name that none has.
    pub(crate) fn insert(&mut self, name: OperationName, slot: OperationSlot) {
        let at = self.0.partition_point(|(known, _)| *known < name);
        self.0.insert(at, (name, slot));
    }

    fn position(&self, name: OperationName) -> Option<usize> {
        self.0.binary_search_by_key(&name, |(known, _)| *known).ok()
    }

    pub(crate) fn get(&self, name: OperationName) -> Option<&OperationSlot> {
        self.position(name).map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, name: OperationName) -> Option<&mut OperationSlot> {
        let at = self.position(name)?;
        Some(&mut self.0[at].1)
    }

    pub(crate) fn remove(&mut self, name: OperationName) -> Option<OperationSlot> {
        self.0.remove(self.position(name)?).map(|(_, slot)| slot)
    }

    /// Remove one that has ended.
    pub(crate) fn take_ended(&mut self) -> Option<(OperationName, OperationSlot)> {
        let at = self.0.iter().position(|(_, slot)| slot.ended.is_some())?;
        self.0.remove(at)
    }

    pub(crate) fn has_ended_one(&self) -> bool {
        self.0.iter().any(|(_, slot)| slot.ended.is_some())
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&OperationSlot) -> bool) {
        self.0.retain(|(_, slot)| keep(slot));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
