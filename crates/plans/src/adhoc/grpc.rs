//! Ad-hoc runs of one gRPC call.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::names::endpoint_name;
use super::pace::Pace;
use super::texts::TemplateReader;
use super::{AdhocError, AdhocParts, Sources, TARGET, single_target};
use crate::descriptions;
use workload::LoadedPlan;
use workload::address::{Origin, with_local_host};
use workload::call::{CallOptions, CancelAfter, MAX_MESSAGES};
use workload::connection::Connecting;
use workload::files::Files;
use workload::message::{SchemaError, Schemas};
use workload::model::{Expect, Flow, GrpcOrigin, Request, Step, Target};
use workload::think::Think;

/// The options of `plimsoll grpc`.
#[derive(Debug, Clone)]
pub struct AdhocGrpc {
    /// `host:port`.
    pub address: String,
    /// `package.Service/Method`.
    pub method: String,
    /// The messages as JSON, one or several in a text (one after another, or as an array); strings in them are
    /// templates. Empty: one message without fields.
    pub messages: Vec<String>,
    /// Options of a stream.
    pub stream: AdhocStream,
    /// Names and values; values are templates.
    pub metadata: Vec<(String, String)>,
    /// `.proto` files; empty: the run uses server reflection.
    pub proto: Vec<PathBuf>,
    /// How connections are made.
    pub connecting: Connecting,
    /// Time limit of a call, from its due instant.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    pub pace: Pace,
}

/// Options of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdhocStream {
    /// How many times all messages are sent; by default once.
    pub repeat: Option<u32>,
    /// Interval between sent messages.
    pub every: Option<Duration>,
    /// When a stream of responses is cancelled.
    pub cancel_after: Option<CancelAfter>,
}

/// The plan of an ad-hoc run.
///
/// # Errors
/// [`AdhocError`] if the options are invalid.
pub fn grpc(adhoc: &AdhocGrpc, sources: Sources<'_>) -> Result<LoadedPlan, AdhocError> {
    let shape = adhoc.pace.resolve()?;
    let Origin { scheme, host, port } = origin(&adhoc.address).map_err(AdhocError)?;
    let call = Call::read(adhoc)?;
    let mut texts = TemplateReader::new(sources);
    call.messages().try_for_each(|message| check_message(message, &mut texts))?;
    let schemas = describe(adhoc, &call, sources.files)?;
    let metadata = texts.headers(&adhoc.metadata)?;
    let Call { method, message, options } = call;
    let step = Step {
        name: endpoint_name(&method),
        request: Request::Grpc { target: TARGET.to_owned(), method, metadata, message, call: options },
        timeout: adhoc.timeout,
        think: Think::default(),
        expect: Expect::default(),
        extract: Vec::new(),
    };
    let proto = adhoc.proto.iter().map(|path| path.display().to_string()).collect();
    let grpc = GrpcOrigin { scheme, host: host.clone(), port, proto };
    let connecting = adhoc.connecting.clone();
    let parts = AdhocParts {
        name: format!("{host}:{port}"),
        seed: adhoc.seed,
        targets: single_target(Target { grpc: Some(grpc), connecting, ..Target::default() }),
        flow: Flow::Sequence(vec![step]),
        shape,
        timeout: adhoc.timeout,
    };
    let mut plan = parts.plan(texts)?;
    plan.schemas = schemas;
    Ok(plan)
}

/// `host:port`, `:port`, or an address with a scheme, that of gRPC too.
pub(super) fn origin(address: &str) -> Result<Origin, String> {
    match (address.strip_prefix("grpc://"), address.strip_prefix("grpcs://")) {
        (Some(rest), _) => Origin::parse(&with_local_host(rest)),
        (_, Some(rest)) => Origin::parse(&format!("https://{}", with_local_host(rest))),
        _ => Origin::parse(&with_local_host(address)),
    }
}

/// A method, and what is sent to it.
struct Call {
    method: String,
    /// The first message.
    message: Value,
    /// The messages after the first, and how they are sent.
    options: CallOptions,
}

impl Call {
    fn read(adhoc: &AdhocGrpc) -> Result<Call, AdhocError> {
        let method = adhoc.method.trim_start_matches('/').to_owned();
        if !method.contains('/') {
            return Err(AdhocError(format!("`{method}` is not a call; write `package.Service/Method`")));
        }
        let mut messages = read_messages(&adhoc.messages)?.into_iter();
        let message = messages.next().ok_or_else(|| {
            AdhocError("--data: a call has at least one message; `--repeat 0` sends none".to_owned())
        })?;
        let options = CallOptions {
            then: messages.collect(),
            repeat: adhoc.stream.repeat.unwrap_or(1),
            every: adhoc.stream.every.unwrap_or_default(),
            cancel_after: adhoc.stream.cancel_after,
            ..CallOptions::default()
        };
        if options.messages() > MAX_MESSAGES {
            return Err(AdhocError(format!(
                "a call sends at most {MAX_MESSAGES} messages; lower `--repeat`"
            )));
        }
        Ok(Call { method, message, options })
    }

    /// The messages of one round.
    fn messages(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.message).chain(&self.options.then)
    }
}

/// All messages of the option `--data`; one without fields if the option is not given.
fn read_messages(texts: &[String]) -> Result<Vec<Value>, AdhocError> {
    let mut all = Vec::new();
    for text in texts {
        for value in serde_json::Deserializer::from_str(text).into_iter() {
            match value.map_err(|error| AdhocError(format!("--data: not JSON: {error}")))? {
                Value::Array(items) => all.extend(items),
                single => all.push(single),
            }
        }
    }
    if texts.is_empty() {
        all.push(Value::Object(serde_json::Map::new()));
    }
    Ok(all)
}

/// The descriptions in the `.proto` files, which must fit the call; empty without such files: the run uses server
/// reflection.
fn describe(adhoc: &AdhocGrpc, call: &Call, files: &dyn Files) -> Result<Schemas, AdhocError> {
    let mut schemas = Schemas::default();
    if !adhoc.proto.is_empty() {
        let wrong = |error: SchemaError| AdhocError(error.to_string());
        descriptions::load(&mut schemas, TARGET, &adhoc.proto, &[], files).map_err(wrong)?;
        let described = schemas.method(TARGET, &call.method).map_err(wrong)?;
        described.check(&call.options).map_err(wrong)?;
        for message in call.messages() {
            described.compile(message).map_err(|error| AdhocError(format!("--data: {error}")))?;
        }
    }
    Ok(schemas)
}

/// Check every text of a message, keys included.
fn check_message(message: &Value, texts: &mut TemplateReader<'_>) -> Result<(), AdhocError> {
    match message {
        Value::String(text) => texts.template("--data", text).map(|_| ()),
        Value::Array(items) => items.iter().try_for_each(|item| check_message(item, texts)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            texts.template("--data", key)?;
            check_message(value, texts)
        }),
        _ => Ok(()),
    }
}
