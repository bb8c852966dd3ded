//! `plimsoll grpc`: an ad-hoc run of one gRPC method.

use anyhow::Context;
use plans::adhoc::{AdhocGrpc, AdhocStream, grpc as plan_of};
use workload::Connecting;

use crate::adhoc;
use crate::arguments::GrpcArguments;
use crate::failure::{CommandResult, Failure};
use crate::signals::Listener;

pub(crate) fn grpc(arguments: &GrpcArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let call = &arguments.call;
    let request = AdhocGrpc {
        address: arguments.address.clone(),
        method: arguments.method.clone(),
        messages: call.data.iter().map(|data| message(data)).collect::<CommandResult<_>>()?,
        stream: AdhocStream { repeat: call.repeat, every: call.every, cancel_after: call.cancel_after },
        metadata: call.headers.clone(),
        proto: call.proto.iter().chain(&call.protoset).cloned().collect(),
        connecting: Connecting {
            connections: Some(call.connections.div_ceil(u32::from(arguments.keep.options.loops))),
            ..adhoc::connecting(&arguments.connect)
        },
        timeout: call.deadline,
        seed: arguments.pace.seed,
        pace: adhoc::pace(&arguments.pace, arguments.concurrency),
    };
    adhoc::conduct(&listener, plan_of(&request, adhoc::SOURCES), &arguments.keep)
}

/// The messages of an option: the text itself, or what a file or standard input has.
fn message(data: &str) -> CommandResult<String> {
    let Some(name) = data.strip_prefix('@') else { return Ok(data.to_owned()) };
    let read = match name {
        "-" => std::io::read_to_string(std::io::stdin().lock()),
        path => std::fs::read_to_string(path),
    };
    read.with_context(|| format!("--data: {name} cannot be read")).map_err(Failure::usage)
}
