//! One unary gRPC call, again and again.

use std::path::PathBuf;
use std::time::Duration;

use super::{Common, LineError, Pace, Sources, TARGET, Texts, endpoint_name, one};
use crate::call::CallOptions;
use crate::connection::Connecting;
use crate::message::{SchemaError, Schemas};
use crate::model::{Expect, Flow, GrpcOrigin, Request, Step, Target};
use crate::plan::{LoadedPlan, grpc_authority};
use crate::template::Template;

/// How many connections calls are spread over, unless the line says.
const DEFAULT_CONNECTIONS: u32 = 4;

/// What the options of `plimsoll grpc` say.
#[derive(Debug, Clone)]
pub struct GrpcLine {
    /// `host:port`.
    pub address: String,
    /// `package.Service/Method`.
    pub method: String,
    /// The message as JSON; strings in it are templates.
    pub message: String,
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

/// The plan that a line comes to.
///
/// # Errors
/// [`LineError`] says what is wrong and what to do.
pub fn grpc(line: &GrpcLine, sources: Sources<'_>) -> Result<LoadedPlan, LineError> {
    let shape = line.pace.resolve()?;
    let (scheme, host, port) = grpc_authority(&line.address).map_err(LineError)?;
    let method = line.method.trim_start_matches('/').to_owned();
    if !method.contains('/') {
        return Err(LineError(format!("`{method}` is no call; write `package.Service/Method`")));
    }
    let message: serde_json::Value = serde_json::from_str(&line.message)
        .map_err(|error| LineError(format!("--data: no JSON: {error}")))?;
    let mut texts = Texts::new(sources);
    check_message(&message, &mut texts)?;
    let schemas = describe(line, (&method, &message), sources)?;
    let metadata = line.metadata.iter().map(|header| texts.header(header)).collect::<Result<_, _>>()?;
    let step = Step {
        name: endpoint_name(&method),
        request: Request::Grpc {
            target: TARGET.to_owned(),
            method,
            metadata,
            message,
            call: CallOptions::default(),
        },
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

/// What the line's `.proto` files say, which must fit the call; nothing where it names none: the target itself is
/// asked before the load.
fn describe(
    line: &GrpcLine,
    (method, message): (&str, &serde_json::Value),
    sources: Sources<'_>,
) -> Result<Schemas, LineError> {
    let mut schemas = Schemas::default();
    if !line.proto.is_empty() {
        let wrong = |error: SchemaError| LineError(error.to_string());
        schemas.load(TARGET, &line.proto, sources.files).map_err(wrong)?;
        let described = schemas.method(TARGET, method).map_err(wrong)?;
        described.compile(message).map_err(|error| LineError(format!("--data: {error}")))?;
    }
    Ok(schemas)
}

/// Check every text of a message, keys included.
fn check_message(message: &serde_json::Value, texts: &mut Texts<'_>) -> Result<(), LineError> {
    match message {
        serde_json::Value::String(text) => texts.template("--data", text).map(|_: Template| ()),
        serde_json::Value::Array(items) => items.iter().try_for_each(|item| check_message(item, texts)),
        serde_json::Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            texts.template("--data", key)?;
            check_message(value, texts)
        }),
        _ => Ok(()),
    }
}
