//! `k6/net/grpc`.

mod params;
mod reflecting;
mod response;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evidence::GrpcCode;
use workload::message::{Method, SchemaError};

use crate::grpc::{
    CALL_TIMEOUT, Description, GrpcCall, GrpcClient, GrpcConnection, GrpcContent, GrpcOperation, GrpcReply,
    HEALTH_CHECK, Reading, Tagging,
};
use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::sources::beside;
use crate::vu::{Ended, Operation, Stage, Vu, Wait, Waiter};

pub(crate) use response::response_object;

/// What is said of a call without a connection.
const NOT_CONNECTED: &str = "no gRPC connection, you must call connect first";

/// k6's names of codes, in their order, and of states of health.
const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];
const HEALTH: [&str; 4] = ["Unknown", "Serving", "NotServing", "ServiceUnkown"];

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    response::set_prototype(scope)?;
    let prototype = scope.object();
    add(&prototype, "load", 2, load)?;
    add(&prototype, "loadProtoset", 1, load_set)?;
    add(&prototype, "connect", 2, connect)?;
    add(&prototype, "invoke", 3, invoke)?;
    add(&prototype, "asyncInvoke", 3, invoke_async)?;
    add(&prototype, "healthCheck", 1, check_health)?;
    add(&prototype, "close", 0, close)?;
    scope.set_class_prototype::<GrpcClient>(prototype)?;
    let exports = scope.object();
    exports.set(
        "Client",
        &scope.constructor("Client", 0, |call| call.scope().hold(Rc::<GrpcClient>::default())),
    )?;
    exports.set("Stream", &scope.constructor("Stream", 2, refuse_stream))?;
    for (number, name) in CODES.iter().enumerate() {
        exports.set(&format!("Status{name}"), &scope.number(number as f64))?;
    }
    for (number, name) in HEALTH.iter().enumerate() {
        exports.set(&format!("HealthCheck{name}"), &scope.number(number as f64))?;
    }
    Ok(exports)
}

fn refuse_stream<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    Err(call.scope().throw("grpc.Stream is not supported: scripts make unary calls only"))
}

fn this(call: &Call<'_, '_>) -> Result<Rc<GrpcClient>, Thrown> {
    call.this().held().ok_or_else(|| call.scope().throw_type_error("not a grpc.Client"))
}

fn require_stage(scope: Scope<'_>, stage: Stage, otherwise: &str) -> Result<(), Thrown> {
    if Vu::of(scope).stage.get() == stage { Ok(()) } else { Err(scope.throw(otherwise)) }
}

/// `client.load(importPaths, ...files)`.
fn load<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_stage(scope, Stage::Init, "load must be called in the init context")?;
    let given = call.argument(0);
    if !given.is_nullish() && !given.is_array() {
        return Err(scope.throw_type_error("the import paths of client.load() must be an array of strings"));
    }
    let count = if given.is_array() { given.length()? } else { 0 };
    let folders: Vec<PathBuf> =
        (0..count).map(|index| full_path(&given.at(index)?)).collect::<Result<_, _>>()?;
    // With folders, names are relative to those.
    let path_of = |value: Value<'js>| match folders.is_empty() {
        true => full_path(&value),
        false => Ok(PathBuf::from(&*value.text()?)),
    };
    let files: Vec<PathBuf> =
        (1..call.count()).map(|index| path_of(call.argument(index))).collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Ok(scope.array());
    }
    let script = &Vu::of(scope).shared.script;
    describe(call, script.grpc().files(files, folders, script.sources()))
}

/// `client.loadProtoset(path)`.
fn load_set<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_stage(scope, Stage::Init, "load must be called in the init context")?;
    let path = full_path(&call.argument(0))?;
    let script = &Vu::of(scope).shared.script;
    let bytes = script.sources().open("", &path.to_string_lossy());
    let bytes = bytes.map_err(|why| scope.throw(&format!("couldn't open protoset: {why}")))?;
    let described = script.grpc().set(bytes.to_vec());
    let unreadable =
        |error| SchemaError(format!("couldn't unmarshal protoset file {}: {error}", path.display()));
    describe(call, described.map_err(unreadable))
}

/// A path; as in k6, relative to the main module, whichever calls.
fn full_path(path: &Value<'_>) -> Result<PathBuf, Thrown> {
    let main = Vu::of(path.scope()).shared.script.main();
    let path = path.text()?.to_string();
    Ok(beside(main, path.strip_prefix("file://").unwrap_or(&path)))
}

/// Give the client a description; returns its methods.
fn describe<'js>(
    call: &Call<'js, '_>,
    described: Result<Arc<Description>, SchemaError>,
) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let description = described.map_err(|error| scope.throw(&error.to_string()))?;
    let described: Vec<serde_json::Value> = description.methods.iter().map(method_facts).collect();
    this(call)?.descriptions.borrow_mut().push(description);
    scope.parse_json(&serde_json::Value::Array(described).to_string(), "k6/net/grpc")
}

fn method_facts(method: &Method) -> serde_json::Value {
    serde_json::json!({
        "package": method.package(),
        "service": method.service(),
        "full_method": method.path(),
        "name": method.name(),
        "is_client_stream": method.takes_stream(),
        "is_server_stream": method.gives_stream(),
    })
}

/// `client.connect(address, params)`.
fn connect<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    require_stage(scope, Stage::Calling, "connecting to a gRPC server in the init context is not supported")?;
    let client = this(call)?;
    let params = params::connecting(&call.argument(0), &call.argument(1))?;
    let connection = Rc::new(params.connection);
    let opening =
        Request { connection: connection.clone(), timeout: params.timeout, content: GrpcContent::Connect };
    let reply = wait_for(scope, opening)?;
    if reply.code != GrpcCode::OK {
        return Err(scope.throw(&reply.text));
    }
    if let Some(metadata) = params.reflecting {
        // What another server said of itself is not needed any more.
        *client.reflected.borrow_mut() = None;
        let described = reflecting::describe(scope, &connection, &metadata)?;
        *client.reflected.borrow_mut() = Some(described);
    }
    *client.connection.borrow_mut() = Some(connection);
    Ok(scope.boolean(true))
}

/// `client.close()`.
fn close<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    if let Some(connection) = this(call)?.connection.take() {
        Vu::of(scope).asked.borrow_mut().closed.push(connection);
    }
    Ok(scope.undefined())
}

/// What is asked of a connection.
struct Request {
    connection: Rc<GrpcConnection>,
    timeout: Duration,
    content: GrpcContent,
}

/// Begin an operation, and ask for it.
fn begin(vu: &Vu, request: Request, waiter: Waiter) -> u32 {
    vu.shared.script.requests().mark_sent();
    let Request { connection, timeout, content } = request;
    let operation = GrpcOperation { connection, due: vu.time(), timeout, content };
    let name = vu.begin(Operation::Grpc(Box::new(operation)), waiter);
    vu.asked.borrow_mut().requests.push(name);
    name
}

/// What came of an operation.
fn wait_for(scope: Scope<'_>, request: Request) -> Result<Rc<GrpcReply>, Thrown> {
    let vu = Vu::of(scope);
    let name = begin(vu, request, Waiter::Fiber);
    vu.wait(scope, Wait::For(name))?;
    match vu.take_ended(name) {
        Some(Ended::Grpc(reply)) => Ok(reply),
        _ => Err(scope.throw("the call was not sent")),
    }
}

/// A call that is ready to be sent; or one that is over, because its message is too long.
enum Invocation {
    Ready(Request),
    Over(GrpcReply),
}

fn invocation(call: &Call<'_, '_>) -> Result<Invocation, Thrown> {
    let scope = call.scope();
    require_stage(scope, Stage::Calling, "invoking RPC methods in the init context is not supported")?;
    let client = this(call)?;
    let connection = client.connection.borrow().clone().ok_or_else(|| scope.throw(NOT_CONNECTED))?;
    let name = call.argument(0);
    let name = if name.is_nullish() { String::new() } else { name.text()?.to_string() };
    if name.is_empty() {
        return Err(scope.throw("method to invoke cannot be empty"));
    }
    let path = if name.starts_with('/') { name } else { format!("/{name}") };
    let missing = || scope.throw(&format!("method \"{path}\" not found in file descriptors"));
    let method = client.method(&path).ok_or_else(missing)?;
    let given = call.argument(1);
    if given.is_undefined() {
        return Err(scope.throw("request cannot be nil"));
    }
    if given.is_null() {
        return Err(scope.throw_type_error("Cannot convert undefined or null to object"));
    }
    let params = params::invoking(&call.argument(2))?;
    let json = given.json()?.unwrap_or_else(|| "null".to_owned());
    let message = method.encode_json(&json);
    let message = message.map_err(|error| {
        scope.throw(&format!("unable to serialise request object to protocol buffer: {error}"))
    })?;
    let mut messages = Vec::new();
    wire::grpc::frame_message(&mut messages, &message);
    let grpc_call = GrpcCall {
        path,
        name: params.name,
        tags: params.tags,
        metadata: params.metadata,
        messages,
        reading: if params.discards { Reading::Discarded(method) } else { Reading::Message(method) },
        tagging: Tagging::Method,
    };
    if let Some(most) = connection.most_sent.filter(|most| message.len() > *most) {
        return Ok(Invocation::Over(GrpcReply::too_long_to_send(&grpc_call, message.len(), most)));
    }
    Ok(Invocation::Ready(Request {
        connection,
        timeout: params.timeout,
        content: GrpcContent::Call(grpc_call),
    }))
}

/// `client.invoke(method, request, params)`.
fn invoke<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    match invocation(call)? {
        Invocation::Ready(request) => response_object(scope, wait_for(scope, request)?),
        Invocation::Over(reply) => response_object(scope, Rc::new(reply)),
    }
}

/// `client.asyncInvoke(method, request, params)`: what cannot be sent rejects the promise.
fn invoke_async<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let invocation = invocation(call);
    let (promise, resolver) = scope.promise()?;
    match invocation {
        Ok(Invocation::Ready(request)) => drop(begin(Vu::of(scope), request, Waiter::Promise(resolver))),
        Ok(Invocation::Over(reply)) => resolver.fulfil(response_object(scope, Rc::new(reply))?)?,
        Err(Thrown) => resolver.reject(scope.take_thrown())?,
    }
    Ok(promise)
}

/// `client.healthCheck(service)`.
fn check_health<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let connection = this(call)?.connection.borrow().clone().ok_or_else(|| scope.throw(NOT_CONNECTED))?;
    let service = call.argument(0);
    let service = if service.is_nullish() { String::new() } else { service.text()?.to_string() };
    let described = Vu::of(scope).shared.script.grpc().health();
    let method = described.method(HEALTH_CHECK).expect("the built-in description has it").clone();
    let message = method.encode_json(&serde_json::json!({ "service": service }).to_string());
    let message = message.map_err(|error| scope.throw(&error.to_string()))?;
    let mut messages = Vec::new();
    wire::grpc::frame_message(&mut messages, &message);
    let grpc_call = GrpcCall {
        path: HEALTH_CHECK.to_owned(),
        name: None,
        tags: Vec::new(),
        metadata: Vec::new(),
        messages,
        reading: Reading::Message(method),
        tagging: Tagging::Status,
    };
    let request = Request { connection, timeout: CALL_TIMEOUT, content: GrpcContent::Call(grpc_call) };
    let reply = wait_for(scope, request)?;
    if reply.code != GrpcCode::OK {
        let code = CODES[usize::from(reply.code.number())];
        return Err(scope.throw(&format!("rpc error: code = {code} desc = {}", reply.text)));
    }
    scope.parse_json(&reply.message, "k6/net/grpc")
}
