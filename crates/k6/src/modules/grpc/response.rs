//! Responses to calls, as objects whose properties are made when they are read first.

use std::ffi::CStr;
use std::rc::Rc;

use crate::grpc::GrpcReply;
use crate::js::{Scope, Shared, Thrown, Value};

impl Shared for GrpcReply {
    const CLASS: &'static CStr = c"Response";

    /// In k6's order.
    const PROPERTIES: &'static [&'static str] = &["message", "error", "headers", "trailers", "status"];

    fn property<'js>(scope: Scope<'js>, of: &Rc<Self>, place: usize) -> Result<Value<'js>, Thrown> {
        match place {
            0 => scope.parse_json(&of.message, "message"),
            1 => scope.parse_json(&of.error_json(), "error"),
            2 => scope.parse_json(&of.headers_json(), "headers"),
            3 => scope.parse_json(&of.trailers_json(), "trailers"),
            _ => Ok(scope.number(of.code.number().into())),
        }
    }
}

/// A response for a script.
pub(crate) fn response_object(scope: Scope<'_>, reply: Rc<GrpcReply>) -> Result<Value<'_>, Thrown> {
    scope.hold(reply)
}

/// What responses inherit from.
pub(super) fn set_prototype(scope: Scope<'_>) -> Result<(), Thrown> {
    scope.set_class_prototype::<GrpcReply>(scope.object())
}
