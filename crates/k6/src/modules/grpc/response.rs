//! Responses to calls, as objects whose properties are made when they are read first.

use std::ffi::CStr;
use std::rc::Rc;

use crate::grpc::GrpcReply;
use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::modules::defining::add;

impl Shared for GrpcReply {
    const CLASS: &'static CStr = c"Response";
}

/// The properties, in k6's order.
const PROPERTIES: [&str; 5] = ["message", "error", "headers", "trailers", "status"];

/// A response for a script.
pub(crate) fn response_object(scope: Scope<'_>, reply: Rc<GrpcReply>) -> Result<Value<'_>, Thrown> {
    scope.hold(reply)
}

/// What responses inherit from.
pub(super) fn set_prototype(scope: Scope<'_>) -> Result<(), Thrown> {
    let prototype = scope.object();
    // Native functions capture nothing, so that each property needs one of its own.
    macro_rules! getter {
        ($name:literal, $read:expr) => {
            let getter = scope.function($name, 0, |call| {
                let read: for<'js> fn(Scope<'js>, &GrpcReply) -> Result<Value<'js>, Thrown> = $read;
                let value = read(call.scope(), &*this(call)?)?;
                call.this().define($name, &value)?;
                Ok(value)
            });
            prototype.set_accessors($name, getter, scope.undefined())?;
        };
    }
    getter!("message", |scope, reply| scope.parse_json(&reply.message, "message"));
    getter!("error", |scope, reply| scope.parse_json(&reply.error_json(), "error"));
    getter!("headers", |scope, reply| scope.parse_json(&reply.headers_json(), "headers"));
    getter!("trailers", |scope, reply| scope.parse_json(&reply.trailers_json(), "trailers"));
    getter!("status", |scope, reply| Ok(scope.number(reply.code.number().into())));
    add(&prototype, "toJSON", 0, all)?;
    scope.set_class_prototype::<GrpcReply>(prototype)
}

fn this(call: &Call<'_, '_>) -> Result<Rc<GrpcReply>, Thrown> {
    call.this().held().ok_or_else(|| call.scope().throw_type_error("not a response"))
}

fn all<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let object = call.scope().object();
    for name in PROPERTIES {
        object.set(name, &call.this().get(name)?)?;
    }
    Ok(object)
}
