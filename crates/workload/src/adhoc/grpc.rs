//! One gRPC call, again and again.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::{AdhocError, Common, Pace, Sources, TARGET, Texts, endpoint_name, one};
use crate::call::{CallOptions, CancelAfter};
use crate::connection::Connecting;
use crate::message::{SchemaError, Schemas};
use crate::model::{Expect, Flow, GrpcOrigin, Request, Step, Target};
use crate::plan::{LoadedPlan, MAX_MESSAGES, grpc_authority};
use crate::template::Template;

/// How many connections calls are spread over, unless the line says.
const DEFAULT_CONNECTIONS: u32 = 4;

/// What the options of `plimsoll grpc` say.
#[derive(Debug, Clone)]
pub struct GrpcAdhoc {
    /// `host:port`.
    pub address: String,
    /// `package.Service/Method`.
    pub method: String,
    /// The messages as JSON, one or several in a text (one after another, or as an array); strings in them are
    /// templates. None: one that is empty.
    pub messages: Vec<String>,
    /// How the call streams.
    pub stream: StreamLine,
    /// Names and values; values are templates.
    pub metadata: Vec<(String, String)>,
    /// `.proto` files; none: the target is asked what it serves.
    pub proto: Vec<PathBuf>,
    /// How it is connected to.
    pub connecting: Connecting,
    /// Due instant of a call → failure.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// How much is sent.
    pub pace: Pace,
}

/// How a call streams, as far as a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamLine {
    /// How many times all messages are sent; 1 unless said otherwise.
    pub repeat: Option<u32>,
    /// Pause from one message that is sent to the next.
    pub every: Option<Duration>,
    /// When a stream of responses has lasted long enough.
    pub cancel_after: Option<CancelAfter>,
}

/// The plan that a line comes to.
///
/// # Errors
/// [`AdhocError`] says what is wrong and what to do.
pub fn grpc(line: &GrpcAdhoc, sources: Sources<'_>) -> Result<LoadedPlan, AdhocError> {
    let shape = line.pace.resolve()?;
    let (scheme, host, port) = grpc_authority(&line.address).map_err(AdhocError)?;
    let method = line.method.trim_start_matches('/').to_owned();
    if !method.contains('/') {
        return Err(AdhocError(format!("`{method}` is no call; write `package.Service/Method`")));
    }
    let (message, call) = messages(line)?;
    let mut texts = Texts::new(sources);
    std::iter::once(&message).chain(&call.then).try_for_each(|message| check_message(message, &mut texts))?;
    let schemas = describe(line, (&method, &message, &call), sources)?;
    let metadata = line.metadata.iter().map(|header| texts.header(header)).collect::<Result<_, _>>()?;
    let step = Step {
        name: endpoint_name(&method),
        request: Request::Grpc { target: TARGET.to_owned(), method, metadata, message, call },
        timeout: line.timeout,
        think: Duration::ZERO,
        expect: Expect::default(),
        extract: Vec::new(),
    };
    let connections = line.connecting.connections.unwrap_or(DEFAULT_CONNECTIONS);
    let proto = line.proto.iter().map(|path| path.display().to_string()).collect();
    let grpc = GrpcOrigin { scheme, host: host.clone(), port, proto, connections };
    let common = Common {
        name: format!("{host}:{port}"),
        seed: line.seed,
        targets: one(Target { grpc: Some(grpc), connecting: line.connecting.clone(), ..Target::default() }),
        flow: Flow::Sequence(vec![step]),
        shape,
        timeout: line.timeout,
    };
    let mut plan = common.plan(texts)?;
    plan.schemas = schemas;
    Ok(plan)
}

/// The first message, and how the call goes on after it.
fn messages(line: &GrpcAdhoc) -> Result<(Value, CallOptions), AdhocError> {
    let mut all = Vec::new();
    for text in &line.messages {
        for value in serde_json::Deserializer::from_str(text).into_iter() {
            match value.map_err(|error| AdhocError(format!("--data: no JSON: {error}")))? {
                Value::Array(items) => all.extend(items),
                one => all.push(one),
            }
        }
    }
    if line.messages.is_empty() {
        all.push(Value::Object(serde_json::Map::new()));
    }
    let mut all = all.into_iter();
    let first = all.next().ok_or_else(|| {
        AdhocError("--data: a call has at least one message; `--repeat 0` sends none".to_owned())
    })?;
    let call = CallOptions {
        then: all.collect(),
        repeat: line.stream.repeat.unwrap_or(1),
        every: line.stream.every.unwrap_or_default(),
        cancel_after: line.stream.cancel_after,
        ..CallOptions::default()
    };
    if call.messages() > MAX_MESSAGES {
        return Err(AdhocError(format!("a call sends at most {MAX_MESSAGES} messages; lower `--repeat`")));
    }
    Ok((first, call))
}

/// What the line's `.proto` files say, which must fit the call; nothing where it names none: the target itself is
/// asked before the load.
fn describe(
    line: &GrpcAdhoc,
    (method, message, call): (&str, &Value, &CallOptions),
    sources: Sources<'_>,
) -> Result<Schemas, AdhocError> {
    let mut schemas = Schemas::default();
    if !line.proto.is_empty() {
        let wrong = |error: SchemaError| AdhocError(error.to_string());
        schemas.load(TARGET, &line.proto, sources.files).map_err(wrong)?;
        let described = schemas.method(TARGET, method).map_err(wrong)?;
        described.check(call).map_err(wrong)?;
        for message in std::iter::once(message).chain(&call.then) {
            described.compile(message).map_err(|error| AdhocError(format!("--data: {error}")))?;
        }
    }
    Ok(schemas)
}

/// Check every text of a message, keys included.
fn check_message(message: &Value, texts: &mut Texts<'_>) -> Result<(), AdhocError> {
    match message {
        Value::String(text) => texts.template("--data", text).map(|_: Template| ()),
        Value::Array(items) => items.iter().try_for_each(|item| check_message(item, texts)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            texts.template("--data", key)?;
            check_message(value, texts)
        }),
        _ => Ok(()),
    }
}
