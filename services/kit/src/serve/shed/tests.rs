use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use tokio::task::JoinSet;

use super::*;
use crate::backlog::Backlog;
use crate::limit::Limit;
use crate::metrics::Metrics;
use crate::serve::GatePolicy;
use crate::serve::frames::{CONNECTION, PREFACE_BYTES, flag, kind, write_frame};

const POLICY: GatePolicy = GatePolicy {
    metric: "refused_early",
    is_exempt: |_path| false,
    refusal: || (StatusCode::TOO_MANY_REQUESTS, [("reason", "overload")]).into_response(),
};

/// A server behind a gate that counts the requests that it parses, and a client of it.
struct Pair {
    backlog: Backlog,
    parsed: Arc<AtomicUsize>,
    client: SendRequest<String>,
}

/// The response to each request repeats its header `value`.
async fn echo(request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
    Ok(request.headers()["value"].to_str().unwrap().to_owned().into_response())
}

impl Pair {
    async fn start() -> Self {
        let (backlog, parsed) = (Backlog::default(), Arc::new(AtomicUsize::new(0)));
        let gate = Gate::new(&backlog, &Limit::new(8), POLICY, &Metrics::new("demo"));
        let (near, far) = tokio::io::duplex(16 * 1024);
        let counted = Arc::clone(&parsed);
        let service = service_fn(move |request| {
            counted.fetch_add(1, Ordering::Relaxed);
            echo(request)
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        tokio::spawn(server.serve_connection(TokioIo::new(Shedding::new(far, gate)), service));
        let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(near)).await.unwrap();
        tokio::spawn(connection);
        Self { backlog, parsed, client }
    }

    fn parsed(&self) -> usize {
        self.parsed.load(Ordering::Relaxed)
    }

    /// Sends a request with a large body, and with headers that the client's next requests may refer to; checks the
    /// response.
    fn send(&self, path: &str, value: usize) -> impl Future<Output = StatusCode> + use<> {
        let request = hyper::Request::post(format!("http://service{path}"))
            .header("value", value.to_string())
            .header("x-agent", "the same in each")
            .body("a body".repeat(1_000))
            .unwrap();
        let mut client = self.client.clone();
        async move {
            let (head, body) = client.send_request(request).await.unwrap().into_parts();
            let body = axum::body::to_bytes(axum::body::Body::new(body), 100).await.unwrap();
            match head.status {
                StatusCode::OK => assert_eq!(body, value.to_string()),
                _ => assert_eq!(head.headers["reason"], "overload"),
            }
            head.status
        }
    }

    async fn send_all(&self, values: std::ops::Range<usize>) -> Vec<StatusCode> {
        values.map(|value| self.send("/work", value)).collect::<JoinSet<_>>().join_all().await
    }
}

/// Its client sends more data than the connection's window has, so that it stops unless what is dropped is given back.
#[tokio::test(start_paused = true)]
async fn while_the_process_is_behind_nothing_of_a_surplus_request_is_parsed_and_each_is_answered() {
    let pair = Pair::start().await;
    let expect = |statuses: Vec<StatusCode>, status| {
        assert!(statuses.iter().all(|one| *one == status), "{statuses:?}");
    };
    for round in 0..3 {
        expect(pair.send_all(0..100).await, StatusCode::OK);
        pair.backlog.limit_to(0, 0);
        let until_asked = async { while pair.send("/work", round).await == StatusCode::OK {} };
        tokio::time::timeout(std::time::Duration::from_secs(10), until_asked).await.expect("it is refused");
        let before = pair.parsed();
        expect(pair.send_all(0..1_000).await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(pair.parsed(), before);
        assert_eq!(pair.send("/grpc.health.v1.Health/Check", 1).await, StatusCode::OK);
        assert_eq!(pair.parsed(), before + 1);
        pair.backlog.limit_to(1_000_000, 0);
        expect(pair.send_all(0..100).await, StatusCode::OK);
        pair.backlog.release();
    }
    expect(pair.send_all(0..100).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_its_connection_waits_for_a_turn_is_refused_although_there_is_space() {
    let pair = Pair::start().await;
    assert_eq!(pair.send("/work", 0).await, StatusCode::OK);
    pair.backlog.limit_to(0, 0);
    pair.backlog.limit_turns_to(0);
    while pair.send("/work", 1).await == StatusCode::OK {}
    pair.backlog.limit_to(1_000_000, 0);
    for value in 0..10 {
        assert_eq!(pair.send("/work", value).await, StatusCode::TOO_MANY_REQUESTS);
    }
    pair.backlog.limit_turns_to(1);
    assert_eq!(pair.send("/work", 2).await, StatusCode::TOO_MANY_REQUESTS, "it came before its turn");
    assert_eq!(pair.send("/work", 3).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_connection_on_which_nothing_came_needs_no_turn() {
    let pair = Pair::start().await;
    pair.backlog.limit_to(0, 0);
    pair.backlog.limit_turns_to(0);
    while pair.send("/work", 0).await == StatusCode::OK {}
    pair.backlog.limit_to(1_000_000, 0);
    assert_eq!(pair.send("/work", 1).await, StatusCode::TOO_MANY_REQUESTS);
    for _ in 0..100 {
        tokio::time::advance(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(pair.send("/work", 2).await, StatusCode::OK);
}

/// A client that has acknowledged that it refers to no earlier headers, after this preface.
fn requests_without_table() -> Requests {
    let (mut requests, mut replies) = (Requests::default(), Vec::new());
    requests.table.server_sent(1);
    let mut input = vec![b'P'; PREFACE_BYTES];
    write_frame(&mut input, kind::SETTINGS, flag::ACK, CONNECTION, &[]);
    requests.passed(&input);
    requests.table.request(true, &mut replies);
    assert!(!replies.is_empty() && !requests.table.is_empty());
    sort(&mut requests, &[frame(kind::SETTINGS, flag::ACK, CONNECTION, &[])].concat(), 0);
    assert!(requests.table.is_empty());
    requests
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_frame(&mut out, kind, flags, stream, payload);
    out
}

/// What is passed on, what is replied, and how many are refused.
fn sort(requests: &mut Requests, input: &[u8], space: usize) -> (Vec<u8>, Vec<u8>, u64) {
    let (mut passed, mut replies) = (Vec::new(), Vec::new());
    let mut sorted = Sorted { passed: &mut passed, replies: &mut replies, space, refusal: b"no" };
    let refused = requests.sort(input, &mut sorted);
    (passed, replies, refused)
}

#[test]
fn what_a_client_sends_after_its_request_was_refused_is_dropped_and_its_window_given_back() {
    let mut requests = requests_without_table();
    let head = |stream| frame(kind::HEADERS, flag::END_HEADERS, stream, b"block");
    let data = |stream, flags| frame(kind::DATA, flags, stream, b"1234567");
    let refusal = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, b"no");
    assert_eq!(sort(&mut requests, &head(1), 0), (Vec::new(), refusal, 1));
    let two = [data(1, 0), data(1, 0)].concat();
    let window = frame(kind::WINDOW_UPDATE, 0, CONNECTION, &14_u32.to_be_bytes());
    assert_eq!(sort(&mut requests, &two, 1), (Vec::new(), window, 0));
    let admitted = [head(3), data(3, flag::END_STREAM)].concat();
    assert_eq!(sort(&mut requests, &admitted, 1), (admitted, Vec::new(), 0));
    let end = [data(1, flag::END_STREAM), frame(kind::RST_STREAM, 0, 5, &[0; 4])].concat();
    assert_eq!(sort(&mut requests, &end, 1).0, frame(kind::RST_STREAM, 0, 5, &[0; 4]), "5 was not refused");
    sort(&mut requests, &head(7), 0);
    let farewell = frame(kind::RST_STREAM, 0, 7, &[0; 4]);
    assert_eq!(sort(&mut requests, &farewell, 1), (Vec::new(), Vec::new(), 0));
}

#[test]
fn a_request_that_cannot_be_skipped_is_left_to_the_server() {
    let whole = flag::END_HEADERS | flag::END_STREAM;
    let parts = [frame(kind::HEADERS, 0, 1, b"be"), frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"gin")];
    let large = frame(kind::HEADERS, whole, 3, &[0; 5_000]);
    for input in [parts.concat(), large, frame(kind::HEADERS, whole, 5, b"/grpc.health.v1.Health/Check")] {
        assert_eq!(sort(&mut requests_without_table(), &input, 0), (input, Vec::new(), 0));
    }
}

/// An indexed header, one of the static table with another value, and one with a name of its own: not to be remembered.
const REFERRING: &[u8] = b"\x83\xbe\xff\x01\x04\x05/path\x10\x01a\x02bc";

#[test]
fn a_block_is_skipped_that_no_later_one_can_refer_to() {
    let whole = flag::END_HEADERS | flag::END_STREAM;
    let remembered = b"\x83\x44\x05/path";
    let cases: [(&[u8], u8, u64); 7] = [
        (REFERRING, whole, 1),
        (REFERRING, whole | flag::PADDED, 0),
        (REFERRING, whole | flag::PRIORITY, 0),
        (remembered, whole, 0),
        (b"\x20\x83", whole, 0),
        (b"\x00\x05short", whole, 0),
        (b"\xff\xff\xff\xff\xff\x01", whole, 0),
    ];
    for (block, flags, refused) in cases {
        let mut input = vec![b'P'; PREFACE_BYTES];
        write_frame(&mut input, kind::HEADERS, flags, 1, block);
        assert_eq!(sort(&mut Requests::default(), &input, 0).2, refused, "{block:x?} {flags}");
    }
}

#[test]
fn where_the_health_was_asked_for_no_block_is_skipped_that_may_refer_to_it() {
    let whole = flag::END_HEADERS | flag::END_STREAM;
    let named = frame(kind::HEADERS, whole, 1, b"\x44\x1c/grpc.health.v1.Health/Check");
    let input = [vec![b'P'; PREFACE_BYTES], named].concat();
    let referring = frame(kind::HEADERS, whole, 3, REFERRING);
    for cut in [input.len(), PREFACE_BYTES + 20] {
        let mut requests = Requests::default();
        let (first, rest) = input.split_at(cut);
        requests.passed(first);
        requests.passed(rest);
        assert_eq!(sort(&mut requests, &referring, 0), (referring.clone(), Vec::new(), 0));
    }
    let mut requests = Requests::default();
    assert_eq!(sort(&mut requests, &input, 0).0, input);
    assert_eq!(sort(&mut requests, &referring, 0).2, 0);
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_changes_nothing(
        frames in prop::collection::vec((0..4_u8, any::<bool>(), 1..20_usize), 1..30),
        spaces in prop::collection::vec(0..2_usize, 30),
        cuts in prop::collection::vec(1..40_usize, 1..40),
    ) {
        let (mut whole, mut cut) = (requests_without_table(), requests_without_table());
        let (mut expected, mut found) = ((Vec::new(), 0), (Vec::new(), 0));
        let mut stream = 1;
        for ((what, is_end, length), space) in frames.into_iter().zip(spaces) {
            let end = if is_end { flag::END_STREAM } else { 0 };
            let payload = vec![7; length];
            let input = match what {
                0 | 1 => { stream += 2; frame(kind::HEADERS, flag::END_HEADERS | end, stream, &payload) }
                2 => frame(kind::DATA, end, stream, &payload),
                _ => frame(kind::RST_STREAM, 0, stream, &payload),
            };
            let (passed, _, refused) = sort(&mut whole, &input, space);
            expected.0.extend(passed);
            expected.1 += refused;
            let mut rest = &input[..];
            for length in cuts.iter().cycle() {
                let (part, after) = rest.split_at((*length).min(rest.len()));
                let (passed, _, refused) = sort(&mut cut, part, space);
                found.0.extend(passed);
                found.1 += refused;
                rest = after;
                if rest.is_empty() { break }
            }
        }
        prop_assert_eq!(expected, found);
    }
}

#[test]
fn frames_for_the_client_fit_only_between_those_of_the_server() {
    let written = [
        frame(kind::SETTINGS, 0, CONNECTION, &[]),
        frame(kind::HEADERS, 0, 1, b"be"),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"gin"),
        frame(kind::DATA, flag::END_STREAM, 1, b"body"),
    ];
    let block_end = written[0].len() + written[1].len() + written[2].len();
    let ends = [written[0].len(), block_end, block_end + written[3].len()];
    let mut responses = Responses::default();
    for (index, byte) in written.concat().into_iter().enumerate() {
        responses.written(&[byte]);
        assert_eq!(responses.is_between_frames(), ends.contains(&(index + 1)), "after {} bytes", index + 1);
    }
    assert_eq!((responses.take_settings(), responses.take_settings()), (1, 0));
}
