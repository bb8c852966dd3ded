//! `k6/ws` and `k6/websockets`: how scripts open sessions, and what they see of them.

mod params;

use std::rc::Rc;
use std::time::Duration;

use wire::websocket::Message;

use crate::js::{Call, Scope, Thrown, Value};
use crate::metrics::Builtin;
use crate::modules::defining::add;
use crate::modules::display::go_type;
use crate::script::{Failures, Level, LogLine};
use crate::vu::{Callback, Operation, OperationSlot, Stage, Vu, Wait, Waiter};
use crate::websocket::{Session, SocketEvent, SocketKind, WebSocket, close_error};

/// What scripts get of sessions, by module.
const BLOCKING: &str = include_str!("websocket/ws.js");
const CONCURRENT: &str = include_str!("websocket/websockets.js");

/// `k6/ws`. Its code, as that of `k6/websockets`, may use no collections: a script may have none.
pub(super) fn blocking(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    scope.ensure_typed_arrays()?;
    let functions = functions(scope)?;
    add(&functions, "open", 2, |call| open(call, SocketKind::Blocking))?;
    add(&functions, "wait", 1, wait)?;
    add(&functions, "timer", 2, set_timer)?;
    add(&functions, "stopTimers", 1, stop_timers)?;
    add(&functions, "throws", 0, |call| {
        let failures = Vu::of(call.scope()).shared.script.settings().http.failures;
        Ok(call.scope().boolean(failures == Failures::Thrown))
    })?;
    scope.run(BLOCKING, "k6/ws")?.call(&scope.undefined(), &[functions])
}

/// `k6/websockets`
pub(super) fn concurrent(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    scope.ensure_typed_arrays()?;
    let functions = functions(scope)?;
    add(&functions, "open", 4, |call| open(call, SocketKind::Concurrent))?;
    add(&functions, "next", 1, |call| {
        let socket = socket(call)?;
        let event = socket.session.borrow_mut().next_event();
        event.map_or_else(|| Ok(call.scope().undefined()), |event| shown(call.scope(), &socket, event))
    })?;
    add(&functions, "warn", 1, |call| {
        let text = call.argument(0).text()?.to_string();
        Vu::of(call.scope()).log(LogLine { level: Level::Warning, text, fields: Vec::new() });
        Ok(call.scope().undefined())
    })?;
    add(&functions, "goType", 1, |call| Ok(call.scope().string(go_type(&call.argument(0)))))?;
    scope.run(CONCURRENT, "k6/websockets")?.call(&scope.undefined(), &[functions])
}

/// What both modules do with sessions.
fn functions(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let functions = scope.object();
    add(&functions, "send", 2, send)?;
    add(&functions, "ping", 1, |call| {
        let now = Vu::of(call.scope()).time();
        let socket = socket(call)?;
        let sent = socket.session.borrow_mut().ping(now);
        count_control(call.scope(), &socket);
        passed_on(call, sent.err().map(|error| error.to_string()))
    })?;
    add(&functions, "close", 3, |call| {
        let (code, reason) = (call.argument(1).as_number()? as u16, call.argument(2).text()?.to_string());
        let socket = socket(call)?;
        socket.session.borrow_mut().close(code, &reason);
        count_control(call.scope(), &socket);
        passed_on(call, None)
    })?;
    add(&functions, "end", 1, |call| {
        socket(call)?.session.borrow_mut().close_connection();
        passed_on(call, None)
    })?;
    add(&functions, "received", 1, |call| {
        sample(Vu::of(call.scope()), &*socket(call)?, (Builtin::WsMsgsReceived, 1.0));
        Ok(call.scope().undefined())
    })?;
    add(&functions, "response", 1, response)?;
    Ok(functions)
}

fn socket(call: &Call<'_, '_>) -> Result<Rc<WebSocket>, Thrown> {
    call.argument(0).held().ok_or_else(|| call.scope().throw_type_error("not a session of WebSocket"))
}

fn sample(vu: &Vu, socket: &WebSocket, value: (Builtin, f64)) {
    vu.samples_in(socket.asked.group.id, &[value], &socket.tags());
}

/// As in k6, a ping and a close frame are messages that `k6/websockets` has sent.
fn count_control(scope: Scope<'_>, socket: &WebSocket) {
    if socket.asked.kind == SocketKind::Concurrent {
        sample(Vu::of(scope), socket, (Builtin::WsMsgsSent, 1.0));
    }
}

/// What the session has to send is sent; `error` is why something is not.
fn passed_on<'js>(call: &Call<'js, '_>, error: Option<String>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    Vu::of(scope).asked.borrow_mut().sockets.push(socket(call)?);
    Ok(error.map_or_else(|| scope.undefined(), |error| scope.string(&error)))
}

/// `open(url, params, protocols, notify)`: the session. Its script is notified by a function, or waits.
fn open<'js>(call: &Call<'js, '_>, kind: SocketKind) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    if vu.stage.get() == Stage::Init {
        return Err(scope.throw("using websockets in the init context is not supported"));
    }
    let asked = params::read(call, kind)?;
    let session = Session::new(vu.shared.script.budget());
    let socket = Rc::new(WebSocket::new(asked, session));
    let waiter = match kind {
        SocketKind::Blocking => Waiter::Fiber,
        SocketKind::Concurrent => {
            Waiter::Callback(Callback { function: call.argument(3).keep(), arguments: Vec::new() })
        }
    };
    let name = vu.begin(Operation::WebSocket(socket.clone()), waiter);
    socket.session.borrow_mut().name = name;
    vu.asked.borrow_mut().requests.push(name);
    scope.hold(socket)
}

/// `wait(session)`: the next thing that is seen of it.
fn wait<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, socket) = (call.scope(), socket(call)?);
    let vu = Vu::of(scope);
    loop {
        let event = socket.session.borrow_mut().next_event();
        let (name, is_over) = {
            let session = socket.session.borrow();
            (session.name, session.is_over())
        };
        if let Some(event) = event {
            return shown(scope, &socket, event);
        }
        if is_over {
            vu.operations.borrow_mut().remove(name);
            return Ok(scope.undefined());
        }
        vu.operations.borrow_mut().quiet(name);
        vu.wait(scope, Wait::For(name))?;
    }
}

/// One thing of a session, as its module gets it.
fn shown<'js>(scope: Scope<'js>, socket: &WebSocket, event: SocketEvent) -> Result<Value<'js>, Thrown> {
    let vu = Vu::of(scope);
    let seen = scope.object();
    let kind = match event {
        SocketEvent::Open => "open",
        SocketEvent::Text(text) => {
            seen.set("data", &scope.string_of(&text))?;
            "message"
        }
        SocketEvent::Binary(bytes) => {
            seen.set("data", &scope.array_buffer(&bytes))?;
            "binaryMessage"
        }
        SocketEvent::Ping => "ping",
        SocketEvent::Pong(content) => {
            let sent = socket.session.borrow_mut().answered_ping(&content);
            match sent {
                Some(sent) => {
                    let took = vu.time().since(sent).as_secs_f64() * 1e3;
                    sample(vu, socket, (Builtin::WsPing, took));
                }
                None if socket.asked.kind == SocketKind::Concurrent => {
                    let text =
                        format!("received pong for unknown ping ID {}", String::from_utf8_lossy(&content));
                    vu.log(LogLine { level: Level::Warning, text, fields: Vec::new() });
                }
                None => {}
            }
            "pong"
        }
        SocketEvent::Closed { code, reason } => {
            seen.set("code", &scope.number(code.into()))?;
            seen.set("reason", &scope.string(&reason))?;
            seen.set("error", &scope.string(&close_error(code, &reason)))?;
            "closed"
        }
        SocketEvent::Failed(error) => {
            seen.set("error", &scope.string(&error))?;
            "failed"
        }
        SocketEvent::NotOpened(error) => {
            seen.set("error", &scope.string(&error))?;
            "notOpened"
        }
        SocketEvent::Timer(name) => {
            seen.set("timer", &scope.number(name.into()))?;
            "timer"
        }
    };
    seen.set("type", &scope.string(kind))?;
    Ok(seen)
}

/// `send(session, message)`: a text or bytes; why it is not sent.
fn send<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, socket) = (call.scope(), socket(call)?);
    let message = call.argument(1);
    let sent = match message.bytes() {
        Some(bytes) if !message.is_string() => socket.session.borrow_mut().send(Message::Binary(&bytes)),
        _ => {
            let text = message.text()?.to_string();
            socket.session.borrow_mut().send(Message::Text(text.as_bytes()))
        }
    };
    // As in k6, also one that is not sent.
    sample(Vu::of(scope), &socket, (Builtin::WsMsgsSent, 1.0));
    passed_on(call, sent.err().map(|error| error.to_string()))
}

/// `timer(session, ms)`: the name of a timer of it.
fn set_timer<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, socket) = (call.scope(), socket(call)?);
    let after = Duration::try_from_secs_f64(call.argument(1).as_number()?.max(0.0) / 1e3);
    let session = socket.session.borrow().name;
    let name = Vu::of(scope).begin_socket_timer(after.unwrap_or(Duration::MAX), (socket.clone(), session));
    socket.session.borrow_mut().timers.push(name);
    Ok(scope.number(name.into()))
}

/// `stopTimers(session)`.
fn stop_timers<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let vu = Vu::of(call.scope());
    let timers = std::mem::take(&mut socket(call)?.session.borrow_mut().timers);
    timers.into_iter().for_each(|timer| vu.cancel_timer(timer));
    Ok(call.scope().undefined())
}

/// `response(session)`: the response to its handshake; `undefined` where there was none.
fn response<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (scope, socket) = (call.scope(), socket(call)?);
    let session = socket.session.borrow();
    let Some(response) = &session.response else { return Ok(scope.undefined()) };
    let (headers, extensions) = (scope.object(), scope.array());
    for (name, _) in &response.headers {
        headers.set(name, &scope.string(&response.values(name).collect::<Vec<_>>().join(", ")))?;
    }
    for (index, extension) in (0..).zip(response.values("Sec-Websocket-Extensions")) {
        extensions.put(index, scope.string(extension))?;
    }
    let shown = scope.object();
    shown.set("status", &scope.number(response.status.into()))?;
    shown.set("headers", &headers)?;
    shown.set("body", &scope.string_of(&response.body))?;
    shown.set("protocol", &scope.string(session.protocol()))?;
    shown.set("extensions", &extensions)?;
    Ok(shown)
}

/// A session's slot, which a script is notified of.
pub(crate) fn show<'js>(
    scope: Scope<'js>,
    name: engine::exchange::OperationName,
    slot: OperationSlot,
) -> Result<(), Thrown> {
    let vu = Vu::of(scope);
    let (Operation::WebSocket(socket), Waiter::Callback(callback)) = (&slot.operation, &slot.waiter) else {
        return Ok(());
    };
    let (socket, function) = (socket.clone(), scope.kept(&callback.function));
    // The function may wait, and more may be received meanwhile.
    vu.operations.borrow_mut().insert(name, OperationSlot { ended: None, ..slot });
    function.call(&scope.undefined(), &[])?;
    let session = socket.session.borrow();
    let mut operations = vu.operations.borrow_mut();
    if session.has_events() {
        operations.notify(name);
    } else if session.is_over() {
        operations.remove(name);
    }
    Ok(())
}
