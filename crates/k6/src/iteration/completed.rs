//! Between scripts and the engine: what scripts ask for is passed on, what has ended is counted and noted for them.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use engine::exchange::{CompletedTimes, OperationName};
use engine::iteration::{Context, Verdict};
use engine::program::UnusableOrigin;
use evidence::{Instant, Outcome};

use super::{Completion, rejected, shortened, websocket};
use crate::added_values::AddedValues;
use crate::http::{
    Expected, Failure, HopEnd, HopTags, HttpRequest, HttpResponse, NextHop, Withheld, protocol, timings,
};
use crate::metrics::Builtin;
use crate::script::{Level, LogLine};
use crate::vu::{Ended, EngineRequests, Operation, OperationSlot, Vu};
use crate::websocket::SocketEvent;

/// Pass on what the script asks for.
///
/// # Errors
/// Why the run cannot go on.
pub(super) fn ask(vu: &Vu, context: &mut Context<'_>) -> Result<(), String> {
    super::grpc::close(vu, context);
    websocket::pass_on(vu, context);
    let requests = std::mem::take(&mut vu.asked.borrow_mut().requests);
    for name in requests {
        match wait(vu, name, context) {
            None => submit(vu, name, context),
            Some(until) => context.timer(name, until),
        }
    }
    for (name, at) in vu.asked.borrow_mut().timers.drain(..) {
        context.timer(name, at);
    }
    for name in vu.asked.borrow_mut().cancelled.drain(..) {
        context.cancel_timer(name);
    }
    count(vu, context);
    Ok(())
}

/// Count what was added to metrics, and checks.
pub(super) fn count(vu: &Vu, context: &mut Context<'_>) {
    let EngineRequests { samples, values, checks, .. } = &mut *vu.asked.borrow_mut();
    let registry = &mut *vu.shared.registry.borrow_mut();
    for (series, value) in samples.drain(..) {
        registry.add_value(series, value, context);
    }
    if let Some(output) = vu.shared.script.value_output().filter(|_| !values.is_empty()) {
        let epoch_unix_ns = context.epoch_unix_ns();
        (output.sink)(AddedValues { epoch_unix_ns, values: std::mem::take(values) });
    }
    for (check, result) in checks.drain(..) {
        registry.count_check(check, result, context);
    }
}

/// Until when a request waits for its turn; none where it need not. Those that redirects lead to never do, nor do gRPC calls,
/// as in k6.
fn wait(vu: &Vu, name: OperationName, context: &Context<'_>) -> Option<Instant> {
    let is_http = |slot: &OperationSlot| matches!(slot.operation, Operation::Http(_));
    vu.operations.borrow().get(name).filter(|slot| is_http(slot))?;
    let limit = vu.shared.script.settings().rate_limit.as_ref()?;
    let now_ns = context.epoch_unix_ns() + i128::from(context.now().as_nanos());
    let wait = limit.wait(u64::try_from(now_ns).unwrap_or_default());
    (!wait.is_zero()).then(|| context.now() + wait)
}

/// A timer has fired: the turn of a request has come, or the script waits for it.
pub(super) fn timer(vu: &Vu, name: OperationName, context: &mut Context<'_>) {
    let mut operations = vu.operations.borrow_mut();
    let Some(slot) = operations.get_mut(name) else { return };
    match &mut slot.operation {
        Operation::Timer(_) => operations.end(name, Ended::Timer),
        Operation::Http(operation) => {
            operation.due = context.now();
            drop(operations);
            submit(vu, name, context);
        }
        Operation::SocketTimer(socket, session) => {
            let (socket, session) = (socket.clone(), *session);
            operations.remove(name);
            let mut state = socket.session.borrow_mut();
            state.timers.retain(|timer| *timer != name);
            state.push(SocketEvent::Timer(name));
            operations.notify(session);
        }
        Operation::Grpc(_) | Operation::WebSocket(_) => {}
    }
}

/// Submit a request; one that cannot be sent has ended.
fn submit(vu: &Vu, name: OperationName, context: &mut Context<'_>) {
    let mut operations = vu.operations.borrow_mut();
    let Some(slot) = operations.get_mut(name) else { return };
    let operation = match &mut slot.operation {
        Operation::Http(operation) => operation,
        Operation::Grpc(operation) => {
            if let Err(reply) = super::grpc::submit(vu, operation, name, context) {
                operations.end(name, Ended::Grpc(reply));
            }
            return;
        }
        Operation::WebSocket(socket) => {
            let socket = socket.clone();
            drop(operations);
            if let Err(why) = websocket::submit(vu, &socket, name, context) {
                websocket::not_opened(vu, &socket, why.to_string());
                vu.operations.borrow_mut().notify(name);
            }
            return;
        }
        Operation::Timer(_) | Operation::SocketTimer(..) => return,
    };
    let url = &operation.request.url;
    let mut is_our_limit = false;
    let refusal = operation.request.refusal();
    match refusal {
        Some(_) => vu.shared.script.requests().add_unsent(url.as_str()),
        None => vu.shared.script.requests().mark_sent(),
    }
    let usable = refusal.map_or(Ok(()), Err).and_then(|()| {
        let origin = url.origin_by(|origin| context.origin(origin));
        is_our_limit = matches!(origin, Err(UnusableOrigin::TooMany(_)));
        origin.map_err(|error| Failure::new(1000, error.to_string()))
    });
    match usable {
        Ok(origin) => {
            let endpoint = match &operation.request.name {
                Some(name) => context.endpoint(shortened(name)),
                None => url.endpoint_by(|url| context.url_endpoint(shortened(url))),
            };
            let draft = context.request(name);
            (draft.origin, draft.endpoint) = (origin, endpoint);
            operation.draft(draft, &vu.shared.script.settings().http.user_agent, vu.unix_ms());
        }
        Err(failure) => {
            let response = Rc::new(operation.refused(failure));
            let hop = Hop { request: &operation.request, response: Some(&response), status: 0 };
            // What the generator does not send is not a failure of the target.
            if !is_our_limit {
                sample(vu, &hop, &CompletedTimes::default());
            }
            operations.end(name, Ended::Http(response));
        }
    }
}

/// A request has ended: count it, and note it for the script, or follow its redirect.
pub(super) fn request(vu: &Vu, context: &mut Context<'_>, completion: &Completion<'_>) -> Verdict {
    let times = context.completed_times().unwrap_or_default();
    let mut operations = vu.operations.borrow_mut();
    let Some(slot) = operations.get_mut(completion.name) else { return Verdict::Accepted };
    let operation = match &mut slot.operation {
        Operation::Http(operation) => operation,
        Operation::Grpc(operation) => {
            let (reply, verdict) = super::grpc::ended(vu, operation, completion, context);
            operations.end(completion.name, Ended::Grpc(reply));
            return verdict;
        }
        Operation::WebSocket(socket) => {
            let socket = socket.clone();
            let verdict = websocket::ended(vu, &socket, completion, &times);
            operations.notify(completion.name);
            return verdict;
        }
        Operation::Timer(_) | Operation::SocketTimer(..) => return Verdict::Accepted,
    };
    let mut hop = operation.request.clone();
    let end = HopEnd {
        response: completion.response,
        transport: completion.transport,
        times: &times,
        now_ms: vu.unix_ms(),
        memory: completion.memory(vu),
    };
    let next = operation.ended(&end);
    warn_of_redirect(vu, operation.withheld.as_ref());
    if matches!(next, NextHop::Follow) && hop.awaits_challenge(completion.response.status) {
        // A challenge is not a failure: the next hop answers it.
        Rc::make_mut(&mut hop).expected = Expected::Statuses(Rc::new([(401, 401)]));
    }
    let verdict = match &next {
        NextHop::Done(response) if completion.transport.is_none() && response.status == 0 => {
            let why = response.failure.as_ref().map_or("", Failure::log_text);
            rejected(Outcome::Check, why.to_owned())
        }
        _ => verdict(&hop, completion),
    };
    match next {
        NextHop::Follow => {
            operation.due = context.now();
            drop(operations);
            sample(vu, &Hop { request: &hop, response: None, status: completion.response.status }, &times);
            submit(vu, completion.name, context);
        }
        NextHop::Done(response) => {
            sample(vu, &Hop { request: &hop, response: Some(&response), status: response.status }, &times);
            operations.end(completion.name, Ended::Http(response));
        }
    }
    verdict
}

/// Say once in a run that a redirect to another origin gets no secrets.
fn warn_of_redirect(vu: &Vu, withheld: Option<&Withheld>) {
    let Some(text) = withheld.and_then(Withheld::text) else { return };
    if !vu.shared.script.0.has_warned_of_redirects.swap(true, Ordering::Relaxed) {
        vu.log(LogLine { level: Level::Warning, text, fields: Vec::new() });
    }
}

/// What the response is for the run's own counts. As in k6, checks have no part in it.
fn verdict(request: &HttpRequest, completion: &Completion<'_>) -> Verdict {
    let status = completion.response.status;
    if completion.transport.is_some() || request.expected.includes(status) != Some(false) {
        return Verdict::Accepted;
    }
    rejected(Outcome::of_http_status(status), format!("status {status}"))
}

/// One request that has ended.
struct Hop<'a> {
    request: &'a HttpRequest,
    /// None where a redirect is followed.
    response: Option<&'a HttpResponse>,
    status: u16,
}

/// Add the values of k6's metrics for one request.
fn sample(vu: &Vu, hop: &Hop<'_>, times: &CompletedTimes) {
    let tags = HopTags {
        request: hop.request,
        status: hop.status,
        protocol: protocol(times.is_http2),
        failure: hop.response.and_then(|response| response.failure.as_ref()),
    };
    let timings = timings(times);
    let values = [
        (Builtin::HttpReqs, 1.0),
        (Builtin::HttpReqDuration, timings.duration()),
        (Builtin::HttpReqBlocked, timings.blocked),
        (Builtin::HttpReqConnecting, timings.connecting),
        (Builtin::HttpReqTlsHandshaking, timings.tls_handshaking),
        (Builtin::HttpReqSending, timings.sending),
        (Builtin::HttpReqWaiting, timings.waiting),
        (Builtin::HttpReqReceiving, timings.receiving),
    ];
    vu.samples(&values, &tags);
    // Bytes belong to the virtual user, as in k6.
    let bytes = [(Builtin::DataSent, times.bytes_out as f64), (Builtin::DataReceived, times.bytes_in as f64)];
    vu.samples(&bytes, &Vec::new());
    if let Some(is_expected) = hop.request.expected.includes(hop.status) {
        vu.sample(Builtin::HttpReqFailed.into(), f64::from(u8::from(!is_expected)), &tags);
    }
}
