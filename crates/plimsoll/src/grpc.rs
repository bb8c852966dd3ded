//! `plimsoll grpc`: an ad-hoc run of one gRPC method.

use anyhow::Context;
use conduct::failure::{CommandResult, Failure};
use conduct::signals::Listener;
use conduct::{reflection, screen, standard_output};
use evidence::{TerminalText, visible};
use plans::adhoc::{AdhocGrpc, AdhocStream, Sources, TARGET, grpc as plan_of};
use workload::Connecting;
use workload::redact::shown_address;

use crate::adhoc;
use crate::arguments::GrpcArguments;
use crate::health_service::{self, WithHealth};

pub(crate) fn grpc(arguments: &GrpcArguments) -> CommandResult<u8> {
    let Some(method) = &arguments.method else { return list(arguments) };
    let listener = Listener::start()?;
    let call = &arguments.call;
    let request = AdhocGrpc {
        messages: call.data.iter().map(|data| message(data)).collect::<CommandResult<_>>()?,
        stream: AdhocStream { repeat: call.repeat, every: call.every, cancel_after: call.cancel_after },
        proto: call.proto.iter().chain(&call.protoset).cloned().collect(),
        ..request(arguments, method)
    };
    adhoc::conduct(&listener, plan_of(&request, adhoc::SOURCES), &arguments.keep)
}

/// A call of this method with one message without fields.
fn request(arguments: &GrpcArguments, method: &str) -> AdhocGrpc {
    let call = &arguments.call;
    AdhocGrpc {
        address: arguments.address.clone(),
        method: method.to_owned(),
        messages: Vec::new(),
        stream: AdhocStream::default(),
        metadata: call.headers.clone(),
        proto: Vec::new(),
        connecting: Connecting {
            connections: Some(call.connections.div_ceil(u32::from(arguments.keep.options.loops))),
            ..adhoc::connecting(&arguments.connect)
        },
        timeout: call.deadline,
        seed: arguments.pace.seed,
        pace: adhoc::pace(&arguments.pace, arguments.concurrency),
    }
}

/// The methods that the server lists, for who does not name one.
fn list(arguments: &GrpcArguments) -> CommandResult<u8> {
    // What is described here is not asked for.
    let health =
        AdhocGrpc { proto: vec![health_service::FILE.into()], ..request(arguments, health_service::CHECK) };
    let plan = plan_of(&health, Sources { files: &WithHealth, ..adhoc::SOURCES }).map_err(Failure::usage)?;
    let mut text = TerminalText::default();
    for method in reflection::methods(&plan, TARGET)? {
        let kind = match (method.takes_stream(), method.gives_stream()) {
            (false, false) => "unary",
            (true, false) => "client stream",
            (false, true) => "server stream",
            (true, true) => "stream both ways",
        };
        text.line(format_args!("{}  {}", visible(method.path().trim_start_matches("/")), kind));
    }
    standard_output::print(&text)?;
    let address = shown_address(&arguments.address);
    screen::note(format_args!("call one of them: plimsoll grpc {address} SERVICE/METHOD -d '{{}}'"));
    Ok(0)
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
