//! `plimsoll grpc`: one call again and again, without a plan.

use workload::Connecting;
use workload::oneliner::{GrpcLine, StreamLine, grpc as plan_of};

use crate::arguments::GrpcArguments;
use crate::failure::Outcome;
use crate::line;
use crate::signals::Listener;

pub(crate) fn grpc(arguments: &GrpcArguments) -> Outcome<u8> {
    let listener = Listener::start()?;
    let call = &arguments.call;
    let line = GrpcLine {
        address: arguments.address.clone(),
        method: arguments.method.clone(),
        messages: call.data.clone(),
        stream: StreamLine { repeat: call.repeat, every: call.every, cancel_after: call.cancel_after },
        metadata: call.headers.clone(),
        proto: call.proto.clone(),
        connecting: Connecting {
            connections: Some(call.connections.div_ceil(u32::from(arguments.keep.course.loops))),
            ..line::connecting(&arguments.connect)
        },
        timeout: call.deadline,
        seed: arguments.pace.seed,
        pace: line::pace(&arguments.pace, arguments.concurrency),
    };
    line::follow(&listener, plan_of(&line, line::SOURCES), &arguments.keep)
}
