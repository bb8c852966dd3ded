//! Between scripts and the engine, of sessions of WebSocket.

use std::rc::Rc;

use engine::exchange::{CompletedTimes, OperationName, Response};
use engine::iteration::{Context, MessagePosition, Verdict};
use evidence::Outcome;
use wire::RequestBytes;
use wire::websocket::ABNORMAL;

use super::{Completion, rejected, shortened};
use crate::metrics::Builtin;
use crate::vu::{Operation, Vu};
use crate::websocket::{NotOpened, SocketEvent, SocketKind, WebSocket};

/// The code with which sessions are closed that an iteration leaves open which has thrown.
const GOING_AWAY: u16 = 1001;

/// A part of a response.
pub(super) struct ReceivedPart<'a> {
    pub(super) name: OperationName,
    pub(super) response: &'a Response,
    /// What the session has sent and received so far.
    pub(super) bytes: RequestBytes,
}

/// Submit a handshake; why it cannot be sent.
pub(super) fn submit(
    vu: &Vu,
    socket: &WebSocket,
    name: OperationName,
    context: &mut Context<'_>,
) -> Result<(), NotOpened> {
    let requests = vu.shared.script.requests();
    if let Some(why) = socket.refusal() {
        requests.add_unsent(&socket.asked.text);
        return Err(NotOpened(why));
    }
    requests.mark_sent();
    let origin =
        context.websocket_origin(&socket.asked.url.origin).map_err(|error| NotOpened(error.to_string()))?;
    let endpoint = match socket.name() {
        url if url == socket.asked.text => context.url_endpoint(shortened(url)),
        name => context.endpoint(shortened(name)),
    };
    let draft = context.request(name);
    (draft.origin, draft.endpoint) = (origin, endpoint);
    socket.draft(draft, &vu.shared.script.settings().http.user_agent, vu.unix_ms());
    socket.session.borrow_mut().request = context.last_request();
    Ok(())
}

/// A session that has not been opened, for this reason, which the script is to see.
pub(super) fn not_opened(vu: &Vu, socket: &WebSocket, why: String) {
    sample_begin(vu, socket);
    let mut session = socket.session.borrow_mut();
    session.push(SocketEvent::NotOpened(why));
    session.over();
    drop(session);
    // As in k6, a session that k6/websockets could not open has no duration.
    if socket.asked.kind == SocketKind::Blocking {
        sample_duration(vu, socket);
    }
}

/// A part of a response was received: what the script is to see of it, and the verdict on a handshake.
pub(super) fn received(vu: &Vu, part: &ReceivedPart<'_>) -> Verdict {
    let mut operations = vu.operations.borrow_mut();
    let socket = match operations.get(part.name).map(|slot| &slot.operation) {
        Some(Operation::WebSocket(socket)) => socket.clone(),
        _ => return Verdict::Accepted,
    };
    let verdict = take(vu, &socket, part);
    sample_bytes(vu, &socket, part.bytes);
    if socket.session.borrow().has_events() {
        operations.notify(part.name);
    }
    vu.asked.borrow_mut().sockets.push(socket);
    verdict
}

fn take(vu: &Vu, socket: &Rc<WebSocket>, part: &ReceivedPart<'_>) -> Verdict {
    let mut session = socket.session.borrow_mut();
    let response = part.response;
    if let Some(why) = response.cut_reason() {
        session.lose(&why);
        return Verdict::Accepted;
    }
    if session.was_opened() || session.is_ending() {
        session.receive(&response.body);
        return Verdict::Accepted;
    }
    let is_first = session.response.is_none();
    session.respond(response);
    if is_first {
        let cookies = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        socket.asked.jar.set_lines(&socket.asked.url, cookies.map(|(_, value)| value), vu.unix_ms());
    }
    if response.status != 101 {
        // The rest of it may follow.
        return Verdict::Accepted;
    }
    match socket.agreed(response) {
        Ok(compression) => {
            session.open(compression);
            session.receive(&response.body);
            drop(session);
            sample_begin(vu, socket);
            Verdict::Accepted
        }
        Err(error) => {
            session.refused = Some(error);
            session.close_connection();
            rejected(Outcome::Protocol, error.to_string())
        }
    }
}

/// Its connection is closed: what the script is to see of that, and the verdict on a handshake without success.
pub(super) fn ended(
    vu: &Vu,
    socket: &WebSocket,
    completion: &Completion<'_>,
    times: &CompletedTimes,
) -> Verdict {
    sample_bytes(vu, socket, RequestBytes { sent: times.bytes_out, received: times.bytes_in });
    let mut session = socket.session.borrow_mut();
    if session.was_opened() {
        if session.is_open() {
            let reason = "unexpected EOF".to_owned();
            session.push(SocketEvent::Closed { code: ABNORMAL, reason });
        }
        session.over();
        let is_given_up = session.is_given_up;
        drop(session);
        // As in k6, one that its iteration has left open has no duration.
        if !is_given_up {
            sample_duration(vu, socket);
        }
        return Verdict::Accepted;
    }
    let status = session.status();
    drop(session);
    let why = socket.not_opened(completion.transport, times);
    not_opened(vu, socket, why.clone());
    match status {
        400.. => rejected(Outcome::of_http_status(status), format!("status {status}")),
        _ => rejected(Outcome::Protocol, why),
    }
}

/// Send what scripts have sent, and close the connections of sessions that are to end.
pub(super) fn pass_on(vu: &Vu, context: &mut Context<'_>) {
    let sockets = std::mem::take(&mut vu.asked.borrow_mut().sockets);
    for socket in sockets {
        let mut session = socket.session.borrow_mut();
        let Some(request) = session.request else { continue };
        let outgoing = session.take_outgoing();
        if !outgoing.is_empty() {
            context.send(request, MessagePosition::NotLast, |outbox| outbox.extend_from_slice(&outgoing));
        }
        if session.is_ending() {
            context.cut(request);
        }
    }
}

/// Close the sessions that an iteration leaves open which has thrown, and open none that it has asked for.
pub(super) fn give_up(vu: &Vu) {
    let sockets: Vec<_> = vu.operations.borrow().sockets().cloned().collect();
    for socket in sockets {
        let mut session = socket.session.borrow_mut();
        if session.request.is_none() {
            session.over();
            vu.asked.borrow_mut().requests.retain(|name| *name != session.name);
        }
        session.is_given_up = true;
        session.end(GOING_AWAY, "");
        drop(session);
        vu.asked.borrow_mut().sockets.push(socket);
    }
}

/// Count that it was begun, and how long its handshake took.
fn sample_begin(vu: &Vu, socket: &WebSocket) {
    let took = vu.now.get().since(socket.asked.due).as_secs_f64() * 1e3;
    vu.samples_in(
        socket.asked.group.id,
        &[(Builtin::WsSessions, 1.0), (Builtin::WsConnecting, took)],
        &socket.tags(),
    );
}

fn sample_duration(vu: &Vu, socket: &WebSocket) {
    let took = vu.now.get().since(socket.asked.due).as_secs_f64() * 1e3;
    vu.samples_in(socket.asked.group.id, &[(Builtin::WsSessionDuration, took)], &socket.tags());
}

fn sample_bytes(vu: &Vu, socket: &WebSocket, all: RequestBytes) {
    let RequestBytes { sent, received } = socket.session.borrow_mut().not_counted(all);
    vu.samples(&[(Builtin::DataSent, sent as f64), (Builtin::DataReceived, received as f64)], &Vec::new());
}
