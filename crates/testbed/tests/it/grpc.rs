//! What each behaviour of the gRPC target does, seen by the client side of another HTTP/2 library's users.

use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Error, Reason};
use http::{HeaderMap, Request};
use testbed::{GrpcBehaviour, Outcome, Site, Target, now_ns};

use crate::client::LIMIT;

/// What came back: HTTP status, headers, data, trailers.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: HeaderMap,
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
}

impl Reply {
    fn code(&self) -> Option<&str> {
        let block = self.trailers.as_ref().unwrap_or(&self.headers);
        block.get("grpc-status").map(|value| value.to_str().unwrap())
    }
}

async fn connect(target: &Target) -> SendRequest<Bytes> {
    let stream = tokio::net::TcpStream::connect(target.addr()).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn call(client: &SendRequest<Bytes>, path: &str, message: &[u8]) -> Result<Reply, Error> {
    let request = Request::post(format!("http://x{path}")).header("te", "trailers").body(()).unwrap();
    let mut ready = client.clone().ready().await?;
    let (response, mut stream) = ready.send_request(request, false)?;
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    stream.send_data([&[0], &length[..], message].concat().into(), true)?;
    let (head, mut body) = response.await?.into_parts();
    let mut data = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        data.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await?;
    Ok(Reply { status: head.status.as_u16(), headers: head.headers, data, trailers })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn once(behaviour: GrpcBehaviour) -> (Result<Reply, Error>, Target) {
    let target = testbed::grpc(behaviour).unwrap();
    let reply = run(async { call(&connect(&target).await, "/p.S/M", b"ping").await });
    (reply, target)
}

#[test]
fn answers_messages_and_logs_what_was_sent() {
    let (reply, target) = once(GrpcBehaviour::ok("pong"));
    let reply = reply.unwrap();
    assert_eq!((reply.status, reply.data.as_slice()), (200, &b"\0\0\0\0\x04pong"[..]));
    assert_eq!(reply.code(), Some("0"));
    let served = &target.log()[0];
    assert_eq!((served.path.as_str(), served.body.as_slice()), ("/p.S/M", &b"ping"[..]));
    assert_eq!((served.status, served.outcome, served.connection), (Some(0), Outcome::Answered, 1));
    assert_eq!(served.header("te"), Some("trailers"));
}

#[test]
fn a_message_larger_than_every_window_is_echoed() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let message = vec![7; 1 << 20];
    let reply = run(async { call(&connect(&target).await, "/p.S/M", &message).await.unwrap() });
    assert_eq!(&reply.data[5..], message);
}

#[test]
fn statuses_come_in_trailers_or_in_headers_alone() {
    let (reply, _target) = once(GrpcBehaviour::status(14));
    let reply = reply.unwrap();
    assert_eq!((reply.code(), reply.trailers.is_some()), (Some("14"), true));
    let (reply, _target) = once(GrpcBehaviour::TrailersOnly { code: 8, message: "full".to_owned() });
    let reply = reply.unwrap();
    assert_eq!((reply.code(), reply.trailers.is_some()), (Some("8"), false));
    assert_eq!(reply.headers["grpc-message"], "full");
}

#[test]
fn an_unknown_method_is_unimplemented() {
    let target = testbed::grpc(Site::new().at("/p.S/M", GrpcBehaviour::Echo)).unwrap();
    let reply = run(async { call(&connect(&target).await, "/p.S/Other", b"").await.unwrap() });
    assert_eq!(reply.code(), Some("12"));
}

#[test]
fn a_delay_is_held_and_the_client_waits_no_less() {
    let hold = Duration::from_millis(20);
    let sent_ns = now_ns();
    let (reply, target) = once(GrpcBehaviour::after(hold));
    let read_ns = now_ns();
    assert_eq!(reply.unwrap().code(), Some("0"));
    let served = &target.log()[0];
    assert!(served.held().unwrap() >= hold);
    assert!(sent_ns <= served.received_ns && served.answered_ns.unwrap() <= read_ns);
}

#[test]
fn a_reset_carries_its_reason() {
    let (reply, target) = once(GrpcBehaviour::Reset { reason: 7 });
    assert_eq!(reply.unwrap_err().reason(), Some(Reason::REFUSED_STREAM));
    assert_eq!(target.log()[0].outcome, Outcome::Reset);
}

#[test]
fn an_abort_ends_the_connection_with_its_reason() {
    let target = testbed::grpc(GrpcBehaviour::Abort { reason: 11 }).unwrap();
    let ended = run(async {
        let stream = tokio::net::TcpStream::connect(target.addr()).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        let connection = tokio::spawn(connection);
        assert!(call(&client, "/p.S/M", b"").await.is_err());
        connection.await.unwrap()
    });
    let error = ended.unwrap_err();
    assert!(error.is_go_away(), "{error}");
    assert_eq!(error.reason(), Some(Reason::ENHANCE_YOUR_CALM));
    assert_eq!(target.log()[0].outcome, Outcome::Closed);
}

#[test]
fn goaway_lets_the_answer_through_and_takes_no_more() {
    let target = testbed::grpc(GrpcBehaviour::GoAway).unwrap();
    run(async {
        let client = connect(&target).await;
        assert_eq!(call(&client, "/p.S/M", b"").await.unwrap().code(), Some("0"));
        let refused = async {
            while call(&client, "/p.S/M", b"").await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, refused).await.expect("the connection takes no more streams");
    });
}

#[test]
fn garbage_and_other_statuses_arrive_as_they_are() {
    let (reply, _target) = once(GrpcBehaviour::Garbage(b"xx".to_vec()));
    assert_eq!(reply.unwrap().data, b"xx");
    let (reply, target) = once(GrpcBehaviour::Http(503));
    let reply = reply.unwrap();
    assert_eq!((reply.status, reply.code()), (503, None));
    assert_eq!(target.log()[0].status, Some(503));
}

/// Calls, waits until the target holds the call, and leaves.
fn check_left(behaviour: GrpcBehaviour) {
    let target = testbed::grpc(behaviour).unwrap();
    run(async {
        let client = connect(&target).await;
        let calling = tokio::spawn(async move { call(&client, "/p.S/M", b"").await });
        while target.requests() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(target.log()[0].outcome, Outcome::Held);
        calling.abort();
    });
    assert!(target.wait_for(LIMIT, |log| log[0].outcome == Outcome::Gone));
}

#[test]
fn a_call_that_is_never_ended_is_held_until_its_client_leaves() {
    check_left(GrpcBehaviour::Never);
    check_left(GrpcBehaviour::Half);
    check_left(GrpcBehaviour::after(Duration::from_secs(3600)));
}

#[test]
fn stopping_ends_its_connections() {
    let mut target = testbed::grpc(GrpcBehaviour::Never).unwrap();
    run(async {
        let client = connect(&target).await;
        let calling = tokio::spawn(async move { call(&client, "/p.S/M", b"").await.map(drop) });
        while target.requests() == 0 {
            tokio::task::yield_now().await;
        }
        target.stop();
        assert!(calling.await.unwrap().is_err());
    });
}
