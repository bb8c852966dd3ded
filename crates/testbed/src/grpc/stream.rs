//! Serves one call: reads the message, delays the response, behaves as configured.

use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};

use crate::clock::now_ns;
use crate::freeze::nanos;
use crate::grpc::behaviour::GrpcBehaviour;
use crate::grpc::call::{Call, ConnectionOrder};
use crate::grpc::frames::{PREFIX_BYTES, framed, headers, trailers};
use crate::grpc::streaming::{self, MessageStream};
use crate::log::{BODY_LIMIT, Entry, Outcome, Served};

/// Most bytes of a request.
const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// Serves a call to its end; a client that left before it is noted.
pub(super) async fn serve(call: Call, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let (head, body) = request.into_parts();
    let shared = &call.server.shared;
    let behaviour = call.server.behaviour(head.uri.path());
    if let GrpcBehaviour::EarlyStatus { code } = behaviour {
        let entry = shared.log.received(served(&head, &[], now_ns(), call.connection));
        // A client that has left already is its own matter.
        let _ = answer(&call, entry, behaviour, &[], &mut respond).await;
        shared.log.ending(entry, Some(code), Outcome::Answered);
        return;
    }
    if behaviour == GrpcBehaviour::EchoEach {
        if let Ok(body) = streaming::echo(body, &mut respond).await {
            let entry = shared.log.received(served(&head, &body, now_ns(), call.connection));
            shared.log.ending(entry, Some(0), Outcome::Answered);
        }
        return;
    }
    let Ok(body) = read(body).await else { return };
    let received_ns = now_ns();
    let entry = shared.log.received(served(&head, &body, received_ns, call.connection));
    let behaviour = call.server.behaviour(head.uri.path());
    let delay = if let GrpcBehaviour::Fixed { delay, .. } = &behaviour { *delay } else { Duration::ZERO };
    let due_ns = shared.unfreeze_at_ns(shared.unfreeze_at_ns(received_ns).saturating_add(nanos(delay)));
    let left = std::future::poll_fn(|cx| respond.poll_reset(cx));
    tokio::select! {
        () = wait_until(due_ns) => {}
        _ = left => return shared.log.gone(entry),
    }
    if answer(&call, entry, behaviour, message_of(&body), &mut respond).await.is_err() {
        shared.log.gone(entry);
    }
}

async fn answer(
    call: &Call,
    entry: Entry,
    behaviour: GrpcBehaviour,
    request: &[u8],
    respond: &mut SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let log = &call.server.shared.log;
    let answered = |code| log.ending(entry, Some(code), Outcome::Answered);
    match behaviour {
        GrpcBehaviour::Fixed { message, code, .. } => {
            answered(code);
            unary(respond, framed(&message), trailers(code, ""))
        }
        GrpcBehaviour::Echo | GrpcBehaviour::EchoEach => {
            answered(0);
            unary(respond, framed(request), trailers(0, ""))
        }
        GrpcBehaviour::EarlyStatus { code } => respond.send_response(early(code), true).map(drop),
        GrpcBehaviour::Stream { count, gap, end } => {
            streaming::stream(call, entry, MessageStream { count, gap, end }, respond).await
        }
        GrpcBehaviour::Status { code, message } => {
            answered(code);
            headers(respond)?.send_trailers(trailers(code, &message))
        }
        GrpcBehaviour::TrailersOnly { code, message } => {
            answered(code);
            let mut response = Response::new(());
            *response.headers_mut() = trailers(code, &message);
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
            respond.send_response(response, true).map(drop)
        }
        GrpcBehaviour::Never => until_left(call, entry, respond).await,
        GrpcBehaviour::Half => {
            let mut stream = headers(respond)?;
            stream.send_data(Bytes::from_static(b"\0\0\0\0\x64first"), false)?;
            std::future::poll_fn(|cx| stream.poll_reset(cx)).await?;
            log.gone(entry);
            Ok(())
        }
        GrpcBehaviour::Reset { reason } => {
            log.ending(entry, None, Outcome::Reset);
            respond.send_reset(Reason::from(reason));
            Ok(())
        }
        GrpcBehaviour::GoAway => {
            answered(0);
            unary(respond, framed(b""), trailers(0, ""))?;
            order(call, ConnectionOrder::GoAway);
            Ok(())
        }
        GrpcBehaviour::Abort { reason } => {
            log.ending(entry, None, Outcome::Closed);
            order(call, ConnectionOrder::Abort(reason));
            // Ending the stream here would reset it before the connection is aborted.
            let _ = std::future::poll_fn(|cx| respond.poll_reset(cx)).await;
            Ok(())
        }
        GrpcBehaviour::Garbage(bytes) => {
            answered(0);
            unary(respond, bytes.into(), trailers(0, ""))
        }
        GrpcBehaviour::Http(status) => {
            answered(status);
            plain(respond, status)
        }
    }
}

fn early(code: u16) -> Response<()> {
    let mut response = Response::new(());
    *response.headers_mut() = trailers(code, "");
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

async fn until_left(call: &Call, entry: Entry, respond: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
    std::future::poll_fn(|cx| respond.poll_reset(cx)).await?;
    call.server.shared.log.gone(entry);
    Ok(())
}

fn order(call: &Call, order: ConnectionOrder) {
    // The connection may have ended already, which is what the order asks for.
    let _ = call.orders.send(order);
}

fn unary(respond: &mut SendResponse<Bytes>, data: Bytes, trailers: HeaderMap) -> Result<(), h2::Error> {
    let mut stream = headers(respond)?;
    stream.send_data(data, false)?;
    stream.send_trailers(trailers)
}

fn plain(respond: &mut SendResponse<Bytes>, status: u16) -> Result<(), h2::Error> {
    let mut response = Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
    respond.send_response(response, false)?.send_data(Bytes::from_static(b"not a gRPC server\n"), true)
}

/// The message of a request; all of it when it is shorter than the prefix.
fn message_of(body: &[u8]) -> &[u8] {
    body.get(PREFIX_BYTES..).unwrap_or(body)
}

async fn read(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        if bytes.len() + data.len() > MESSAGE_LIMIT {
            return Err(Reason::ENHANCE_YOUR_CALM.into());
        }
        bytes.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len())?;
    }
    Ok(bytes)
}

fn served(head: &http::request::Parts, body: &[u8], received_ns: u64, connection: u64) -> Served {
    let pairs = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    Served {
        received_ns,
        answered_ns: None,
        connection,
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: pairs.collect(),
        body: message_of(body).iter().copied().take(BODY_LIMIT).collect(),
        status: None,
        outcome: Outcome::Held,
    }
}

/// Sleeps until the instant `due_ns` has passed, never less.
async fn wait_until(due_ns: u64) {
    loop {
        let left_ns = due_ns.saturating_sub(now_ns());
        if left_ns == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_nanos(left_ns)).await;
    }
}
