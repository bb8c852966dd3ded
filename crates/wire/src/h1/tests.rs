use proptest::prelude::*;

use super::*;
use crate::deviation::Deviations;
use crate::event::{Processing, Scheme};
use crate::headers::Headers;
use crate::recorded::Recorded;

fn start(connection: &mut Connection, token: Token, method: &str) -> Result<(), StartError> {
    let (authority, headers) = (&b"h"[..], &Headers::new());
    let (method, path, scheme) = (method.as_bytes(), &b"/"[..], Scheme::Http);
    connection.start(token, &Request { method, path, authority, scheme, headers, body: b"" })
}

fn begin(connection: &mut Connection, token: Token, method: &str) {
    start(connection, token, method).unwrap();
    connection.sent(usize::MAX);
}

/// The events of one request whose response arrives in these pieces, then how it ended: the error, or
/// whether the connection is reusable.
fn answer<'a>(method: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut connection = Connection::new();
    begin(&mut connection, 1, method);
    let mut seen = Recorded::default();
    let mut result = Ok(());
    for piece in pieces {
        result = result.and_then(|()| connection.receive(piece, &mut seen));
    }
    let alive = connection.open_requests() == 0 && connection.reusable();
    let result = result.and_then(|()| if alive { Ok(()) } else { connection.closed(&mut seen) });
    assert_eq!(connection.reusable(), alive && result.is_ok());
    let mut lines = seen.lines;
    lines.push(match result {
        Ok(()) if alive => "reusable".to_owned(),
        Ok(()) => "closed".to_owned(),
        Err(error) => error.to_string(),
    });
    lines
}

#[track_caller]
fn check(method: &str, response: &str, expect: &[&str]) {
    for size in [usize::MAX, 1, 2, 7, 50] {
        assert_eq!(answer(method, response.as_bytes().chunks(size)), expect, "in pieces of {size}");
    }
}

#[test]
fn bodies_end_where_the_head_says() {
    let head = "1 head 200 Content-Length=3";
    let got = "1 body abc";
    check("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", &[head, got, "1 done", "reusable"]);
    check(
        "GET",
        "HTTP/1.1 200\r\ncontent-length: 3, 3\r\ncontent-length: 3\r\n\r\nabc",
        &["1 head 200 content-length=3, 3 content-length=3", got, "1 done", "reusable"],
    );
    check(
        "GET",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        &["1 head 200 transfer-encoding=Chunked", got, "1 done", "reusable"],
    );
    check("GET", "HTTP/1.1 200 OK\r\n\r\nabc", &["1 head 200", got, "1 done", "closed"]);
    check(
        "GET",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        &["1 head 200 content-length=0", "1 done", "reusable"],
    );
}

#[test]
fn some_responses_have_no_body_whatever_they_say() {
    let with_length = "1 head 200 content-length=3";
    check("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", &[with_length, "1 done", "reusable"]);
    check("GET", "HTTP/1.1 204 No Content\r\n\r\n", &["1 head 204", "1 done", "reusable"]);
    check(
        "GET",
        "HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n",
        &["1 head 304 transfer-encoding=chunked", "1 done", "reusable"],
    );
    check(
        "GET",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\na: b\r\n\r\nHTTP/1.1 204 X\r\n\r\n",
        &["1 head 204", "1 done", "reusable"],
    );
}

#[test]
fn connections_live_as_long_as_both_sides_say() {
    let cases = [
        ("HTTP/1.1 204 X\r\nconnection: x, Close\r\n\r\n", "1 head 204 connection=x, Close", "closed"),
        ("HTTP/1.0 204 X\r\n\r\n", "1 head 204", "closed"),
        ("HTTP/1.0 204 X\r\nconnection: keep-alive\r\n\r\n", "1 head 204 connection=keep-alive", "reusable"),
    ];
    for (response, head, end) in cases {
        check("GET", response, &[head, "1 done", end]);
    }
}

/// What a server of HTTP/2 sends first: SETTINGS with one parameter (RFC 9113, section 6.5).
#[test]
fn a_server_of_http2_is_named() {
    let settings = "\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64";
    check("GET", settings, &["the server speaks HTTP/2 on this port, and not HTTP/1.x"]);
}

#[test]
fn broken_responses_are_named() {
    let malformed = |why: &str| format!("the peer broke the protocol: {why}");
    for (response, why) in [
        ("\0garbage", "no HTTP/1.x response"),
        ("HTTP/2.0 200 OK\r\n\r\n", "no HTTP/1.x response"),
        ("HTTP/1.1 2x0 OK\r\n\r\n", "an invalid status"),
        ("HTTP/1.1 099 OK\r\n\r\n", "a status below 100"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "an invalid header name"),
        ("HTTP/1.1 200 OK\r\n a: b\r\n\r\n", "an invalid header name"),
        ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", "an invalid header name"),
        ("HTTP/1.1 200 OK\r\na\0 : b\r\n\r\n", "an invalid header name"),
        ("HTTP/1.1 200 OK\r\na : b\rc\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 OK\r\na: b\r\n c\0\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 OK\r\ncontent-length : 1\r\ncontent-length: 2\r\n\r\n", "conflicting content-lengths"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding : gzip\r\n\r\n", "a transfer-encoding other than chunked"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n 2\r\n\r\n", "an invalid content-length"),
        ("HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 OK\r\na: b\0\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 OK\r\na: \x1b[2J\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 OK\r\na: \x7f\r\n\r\n", "an invalid header value"),
        ("HTTP/1.1 200 O\x1bK\r\n\r\n", "an invalid status"),
        ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "an invalid content-length"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "conflicting content-lengths"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "a transfer-encoding other than chunked"),
    ] {
        check("GET", response, &[&malformed(why)]);
    }
    let surplus = malformed("bytes that belong to no request");
    check("GET", "HTTP/1.1 204 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n", &["1 head 204", "1 done", &surplus]);
    let blank = malformed("a blank line before the response");
    check("GET", "\nHTTP/1.1 204 X\r\n\r\n", &[&blank]);
}

#[test]
fn what_clients_understand_is_read_and_named() {
    let chunked = "5\r\nhello\r\n0\r\n\r\n";
    for (head, body, expect, end) in [
        ("a : b\r\ncontent-length: 5", "hello", "a=b content-length=5 (blank-before-colon)", "reusable"),
        ("a: b\r\n  c\r\ncontent-length: 5", "hello", "a=b c content-length=5 (folded-field)", "reusable"),
        ("a b: c\r\ncontent-length: 5", "hello", "content-length=5 (blank-in-name)", "reusable"),
        // Where another reader may find another end of the body, nothing more is read.
        (
            "content-length: 3\r\ntransfer-encoding: chunked",
            chunked,
            "content-length=3 transfer-encoding=chunked (length-and-chunked)",
            "closed",
        ),
        (
            "transfer-encoding: chunked\r\ncontent-length: 999",
            chunked,
            "transfer-encoding=chunked content-length=999 (length-and-chunked)",
            "closed",
        ),
        ("content-length : 5", "hello", "content-length=5 (blank-before-colon)", "closed"),
        ("content-length:\r\n 5", "hello", "content-length=5 (folded-field)", "closed"),
        ("transfer-encoding\t: chunked", chunked, "transfer-encoding=chunked (blank-before-colon)", "closed"),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        check("GET", &response, &[&format!("1 head 200 {expect}"), "1 body hello", "1 done", end]);
    }
    let head = "1 head 200 transfer-encoding=chunked (chunked-in-http-1.0)";
    let response = format!("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunked}");
    check("GET", &response, &[head, "1 body hello", "1 done", "closed"]);
    let switched = ["1 head 101 (switch-unasked)", "1 done", "closed"];
    check("GET", "HTTP/1.1 101 Switching Protocols\r\n\r\n", &switched);
}

#[test]
fn no_byte_after_an_ambiguous_response_is_read_as_another_one() {
    let smuggled = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for ambiguous in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "content-length : 0\r\n\r\n",
        "content-length:\r\n 0\r\n\r\n",
    ] {
        let mut connection = Connection::new();
        begin(&mut connection, 1, "GET");
        let mut seen = Recorded::default();
        let response = format!("HTTP/1.1 200 OK\r\n{ambiguous}{smuggled}");
        assert!(connection.receive(response.as_bytes(), &mut seen).is_err(), "{ambiguous}");
        assert!(!connection.reusable() && start(&mut connection, 2, "GET") == Err(StartError::NotReady));
        assert_eq!(seen.lines.iter().filter(|line| line.contains("head")).count(), 1, "{:?}", seen.lines);
    }
}

#[test]
fn a_deviation_is_named_in_every_response_also_where_its_head_is_known() {
    let mut connection = Connection::new();
    let (mut recent, mut deviations) = (Some(RecentHead::default()), Vec::new());
    struct Keeping<'a>(&'a mut Option<RecentHead>, &'a mut Vec<Deviations>);
    impl Events for Keeping<'_> {
        fn event(&mut self, event: Event<'_>) {
            if let Event::Head { head, .. } = event {
                self.1.push(head.deviations);
            }
        }
        fn take_head(&mut self, _: Token) -> Option<RecentHead> {
            self.0.take()
        }
        fn keep_head(&mut self, _: Token, head: RecentHead) {
            *self.0 = Some(head);
        }
    }
    for response in ["101 X", "200 OK\r\na : b\r\ncontent-length: 0", "204 X"] {
        for token in 0..4 {
            connection = Connection::new();
            begin(&mut connection, token, "GET");
            let bytes = format!("HTTP/1.1 {response}\r\n\r\n");
            connection.receive(bytes.as_bytes(), &mut Keeping(&mut recent, &mut deviations)).unwrap();
        }
    }
    assert!(connection.reusable());
    let counts: Vec<usize> = deviations.iter().map(|some| some.iter().count()).collect();
    assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn interim_responses_are_passed_over_and_do_not_go_on_for_ever() {
    let interim = |count: usize| "HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n".repeat(count);
    let last = "HTTP/1.1 204 X\r\n\r\n";
    check("GET", &(interim(100) + last), &["1 head 204", "1 done", "reusable"]);
    check("GET", &(interim(101) + last), &["the peer broke the protocol: too many interim responses"]);
}

#[test]
fn premature_ends_of_a_response_are_distinguished() {
    let cut = "the connection was closed in the middle of a response";
    check("GET", "", &["the connection was closed before any response"]);
    check("GET", "HTTP/1.1 200 OK\r\n", &[cut]);
    check(
        "GET",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
        &["1 head 200 content-length=3", "1 body ab", cut],
    );
}

#[test]
fn heads_beyond_the_limits_are_refused_in_bounded_memory() {
    let too_large = "the response head is too large";
    let with = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
    let taken = |fields: String| {
        let response = with(&fields);
        let lines = answer("GET", response.as_bytes().chunks(100_000));
        assert!(lines[0].starts_with("1 head 200") && lines[1..] == ["1 done", "reusable"], "{lines:?}");
    };
    taken(format!("content-length: 0\r\n{}", "a: b\r\n".repeat(1023)));
    taken(format!("content-length: 0\r\na: {}\r\n", "x".repeat(1_000_000)));
    check("GET", &with(&"a: b\r\n".repeat(1025)), &[too_large]);
    for response in
        [with(&format!("a: {}", "x".repeat(1 << 20))), with(&format!("a: {}\r\n", "x".repeat(1 << 20)))]
    {
        assert_eq!(answer("GET", response.as_bytes().chunks(100_000)), [too_large]);
    }
    let mut connection = Connection::new();
    begin(&mut connection, 1, "GET");
    let mut seen = Recorded::default();
    let endless = [b'x'; 1000];
    connection.receive(b"HTTP/1.1 200 OK\r\na: ", &mut seen).unwrap();
    while connection.receive(&endless, &mut seen).is_ok() {}
    assert!(connection.partial.capacity() <= 4 * MAX_HEAD_BYTES);
}

#[test]
fn a_connection_carries_one_request_after_the_other() {
    let mut connection = Connection::new();
    let mut seen = Recorded::default();
    for token in 1..=2 {
        assert_eq!(connection.capacity(), 1);
        begin(&mut connection, token, "GET");
        assert_eq!(connection.capacity(), 0);
        assert_eq!(start(&mut connection, 9, "GET"), Err(StartError::NotReady));
        connection.for_each_open(&mut |open| assert_eq!(open.token, token));
        connection.receive(b"HTTP/1.1 204 X\r\n\r\n", &mut seen).unwrap();
    }
    assert_eq!(seen.lines, ["1 head 204", "1 done", "2 head 204", "2 done"]);
    assert_eq!(connection.closed(&mut seen), Ok(()));
    assert_eq!((connection.capacity(), connection.reusable()), (0, false));
}

/// The bytes of a request that ends, and of what has not ended.
fn bytes_of(connection: &mut Connection, pieces: &[&[u8]]) -> (Option<RequestBytes>, Vec<OpenRequest>) {
    let mut done = None;
    for piece in pieces {
        let mut take = |event: Event<'_>| {
            if let Event::Done { bytes, .. } = event {
                done = Some(bytes);
            }
        };
        let _ = connection.receive(piece, &mut take);
    }
    let mut open = Vec::new();
    connection.for_each_open(&mut |request| open.push(request));
    (done, open)
}

#[test]
fn all_bytes_of_a_request_and_its_response_are_counted() {
    let response =
        "HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let request = "GET / HTTP/1.1\r\nhost: h\r\n\r\n".len() as u64;
    for size in [1, 3, 1000] {
        let mut connection = Connection::new();
        for token in 1..=2 {
            begin(&mut connection, token, "GET");
            let pieces: Vec<&[u8]> = response.as_bytes().chunks(size).collect();
            let bytes = RequestBytes { sent: request, received: response.len() as u64 };
            assert_eq!(bytes_of(&mut connection, &pieces), (Some(bytes), vec![]), "in pieces of {size}");
        }
    }
    let (head, surplus) = ("HTTP/1.1 204 X\r\n\r\n", "HTTP");
    let mut connection = Connection::new();
    begin(&mut connection, 1, "GET");
    let (done, _) = bytes_of(&mut connection, &[[head, surplus].concat().as_bytes()]);
    assert_eq!(
        done.map(|bytes| bytes.received),
        Some(head.len() as u64),
        "what follows is not the request's"
    );
}

#[test]
fn a_request_without_a_complete_response_says_how_far_it_came() {
    let open = |sent: usize, received: &[u8]| {
        let mut connection = Connection::new();
        start(&mut connection, 1, "GET").unwrap();
        connection.sent(sent);
        let (_, open) = bytes_of(&mut connection, &[received]);
        assert_eq!(connection.cancel(1), open.first().copied());
        (open[0].bytes.sent, open[0].bytes.received, open[0].processing)
    };
    assert_eq!(open(0, b""), (0, 0, Processing::NotSent));
    assert_eq!(open(5, b""), (5, 0, Processing::Unanswered));
    assert_eq!(open(usize::MAX, b""), (27, 0, Processing::Unanswered));
    assert_eq!(open(usize::MAX, b"HTTP"), (27, 4, Processing::Answered));
    assert_eq!(open(usize::MAX, b"HTTP/1.1 200 X\r\nbad name: x\r\n\r\n"), (27, 31, Processing::Answered));
}

#[test]
fn what_may_leave_a_stray_response_ends_the_connection() {
    let mut seen = Recorded::default();
    let mut cancelled = Connection::new();
    begin(&mut cancelled, 1, "GET");
    cancelled.cancel(2);
    assert_eq!(cancelled.open_requests(), 1);
    cancelled.cancel(1);
    assert_eq!((cancelled.open_requests(), cancelled.reusable()), (0, false));

    let mut early = Connection::new();
    start(&mut early, 1, "HEAD").unwrap();
    early.sent(5);
    early.receive(b"HTTP/1.1 400 Bad\r\ncontent-length: 5\r\n\r\n", &mut seen).unwrap();
    assert_eq!(seen.lines, ["1 head 400 content-length=5", "1 done"]);
    assert!(!early.reusable());
}

/// Events as text, with the memory of one kind of requests.
#[derive(Default)]
struct Remembering {
    recorded: Recorded,
    head: RecentHead,
}

impl Events for Remembering {
    fn event(&mut self, event: Event<'_>) {
        self.recorded.event(event);
    }

    fn take_head(&mut self, _token: Token) -> Option<RecentHead> {
        Some(std::mem::take(&mut self.head))
    }

    fn keep_head(&mut self, _token: Token, head: RecentHead) {
        self.head = head;
    }
}

#[test]
fn a_head_that_came_twice_is_known() {
    let (mut connection, mut seen) = (Connection::new(), Remembering::default());
    let mut known = || {
        begin(&mut connection, 1, "GET");
        connection.receive(b"HTTP/1.1 204 X\r\n\r\n", &mut seen).unwrap();
        seen.head.at_start_of(b"HTTP/1.1 204 X\r\n\r\nHTTP", RequestKind::Other).is_some()
    };
    assert_eq!([known(), known(), known()], [false, true, true]);
}

/// Responses that follow each other, some of them with the same head.
fn next_response() -> impl Strategy<Value = (&'static str, &'static str)> {
    let head = prop_oneof![
        Just("HTTP/1.1 200 OK\r\nDate: 1\r\nContent-Length: 2\r\n\r\n"),
        Just("HTTP/1.1 200 OK\r\nDate: 2\r\nContent-Length: 2\r\n\r\n"),
        Just("HTTP/1.1 204 None\r\n\r\n"),
        Just("HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 204 None\r\n\r\n"),
    ];
    (prop_oneof![4 => Just("GET"), 1 => Just("HEAD")], head)
}

proptest! {
    #[test]
    fn a_head_that_comes_again_says_what_it_said_to_a_fresh_connection(
        responses in prop::collection::vec(next_response(), 1..12)
    ) {
        let (mut connection, mut seen) = (Connection::new(), Remembering::default());
        for (method, head) in responses {
            let body = if method == "HEAD" || !head.contains("Length") { "" } else { "ab" };
            let response = format!("{head}{body}");
            begin(&mut connection, 1, method);
            connection.receive(response.as_bytes(), &mut seen).unwrap();
            let mut lines = std::mem::take(&mut seen.recorded).lines;
            lines.push("reusable".to_owned());
            prop_assert!(connection.reusable() && connection.open_requests() == 0);
            prop_assert_eq!(lines, answer(method, std::iter::once(response.as_bytes())));
        }
    }
}

/// Responses that are nearly right, so that every part of the machine is reached.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let line =
        prop_oneof![Just("HTTP/1.1 200 OK\r\n"), Just("HTTP/1.0 404 \r\n"), Just("HTTP/1.1 100 C\r\n\r\n")];
    let field = prop_oneof![
        Just("content-length: 10\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("connection: close\r\n"),
        Just("x: y\r\n"),
        Just("broken\r\n"),
    ];
    let body = prop_oneof![
        Just("0123456789"),
        Just("5\r\nabcde\r\n"),
        Just("A;x=y\r\n0123456789\r\n"),
        Just("0\r\n\r\n"),
        Just("0\r\na: b\r\n\r\n"),
        Just("HTTP/1.1 204 X\r\n\r\n"),
    ];
    let (lines, fields) = (prop::collection::vec(line, 1..3), prop::collection::vec(field, 0..4));
    (lines, fields, prop::collection::vec(body, 0..4)).prop_map(|(lines, fields, bodies)| {
        [&lines.concat(), &fields.concat(), "\r\n", &bodies.concat()].concat().into_bytes()
    })
}

/// The same bytes, cut at these places.
fn pieces<'a>(mut bytes: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut cuts = cuts.iter().cycle();
    std::iter::from_fn(move || {
        let (piece, rest) = bytes.split_at((*cuts.next()?).min(bytes.len()));
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

proptest! {
    #[test]
    fn any_cut_of_the_same_bytes_yields_the_same_events(
        bytes in response(),
        flip in prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>())),
        cuts in prop::collection::vec(1..40usize, 1..20),
    ) {
        let mut bytes = bytes;
        if let Some((at, byte)) = flip {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for method in ["GET", "HEAD"] {
            prop_assert_eq!(answer(method, pieces(&bytes, &cuts)), answer(method, [&bytes[..]].into_iter()));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, cuts in prop::collection::vec(1..40usize, 1..20)) {
        answer("GET", pieces(&bytes, &cuts));
        let with_head = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", &bytes[..]].concat();
        answer("GET", pieces(&with_head, &cuts));
    }
}

#[test]
fn requests_announce_a_close_once_that_is_asked_for() {
    let mut connection = Connection::new();
    connection.announce_close();
    start(&mut connection, 1, "GET").unwrap();
    assert_eq!(connection.outgoing(), b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
}

#[test]
fn equal_requests_are_the_same_bytes_on_every_connection() {
    let mut headers = Headers::new();
    headers.push(b"x-a", b"1");
    let (path, authority, scheme) = (&b"/p?q"[..], &b"h:1"[..], Scheme::Http);
    for (method, body, is_kept) in [
        (&b"GET"[..], &b""[..], true),
        (b"HEAD", b"", true),
        (b"POST", b"a body", true),
        (b"POST", &[b'x'; 20_000], false),
    ] {
        let request = Request { method, path, authority, scheme, headers: &headers, body };
        let mut alone = Connection::new();
        alone.start(1, &request).unwrap();
        let mut rendered = RenderedRequest::default();
        for _ in 0..3 {
            let mut connection = Connection::new();
            connection.start_equal(7, &request, &mut rendered).unwrap();
            assert_eq!(connection.outgoing(), alone.outgoing());
            assert_eq!(rendered.bytes().is_some(), is_kept, "{} bytes", body.len());
            assert_eq!(connection.start_equal(8, &request, &mut rendered), Err(StartError::NotReady));
            connection.sent(usize::MAX);
            // The response to HEAD has no body, whatever its length says.
            let length = if method == b"HEAD" { 5 } else { 0 };
            let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            let mut seen = Recorded::default();
            connection.receive(response.as_bytes(), &mut seen).unwrap();
            assert!(connection.reusable() && seen.lines.last().is_some_and(|line| line == "7 done"));
        }
    }
}

#[test]
fn an_equal_request_that_announces_the_close_or_is_refused_is_not_kept() {
    let (headers, mut rendered) = (Headers::new(), RenderedRequest::default());
    let (authority, scheme) = (&b"h"[..], Scheme::Http);
    let refused = Request { method: b"GET", path: b"/ x", authority, scheme, headers: &headers, body: b"" };
    assert!(Connection::new().start_equal(1, &refused, &mut rendered).is_err());
    let mut closing = Connection::new();
    closing.announce_close();
    let request = Request { path: b"/", ..refused };
    closing.start_equal(1, &request, &mut rendered).unwrap();
    assert!(closing.outgoing().windows(CLOSE.len()).any(|part| part == CLOSE) && rendered.bytes().is_none());
    Connection::new().start_equal(1, &request, &mut rendered).unwrap();
    let mut closing = Connection::new();
    closing.announce_close();
    closing.start_equal(1, &request, &mut rendered).unwrap();
    assert!(closing.outgoing().windows(CLOSE.len()).any(|part| part == CLOSE));
}

/// A connection that was asked to switch.
fn upgrading() -> (Connection, StreamId) {
    let mut connection = Connection::new();
    let (authority, headers, body) = (&b"h"[..], &Headers::new(), &b""[..]);
    let (method, path, scheme) = (&b"GET"[..], &b"/"[..], Scheme::Http);
    let request = Request { method, path, authority, scheme, headers, body };
    let stream = connection.start_upgrade(1, &request, "websocket").unwrap();
    (connection, stream)
}

#[test]
fn a_connection_that_switches_carries_bytes_until_it_is_closed() {
    let (mut connection, stream) = upgrading();
    let request = "GET / HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
    assert_eq!(connection.outgoing(), request.as_bytes());
    connection.sent(request.len());
    let mut seen = Recorded::default();
    connection.receive(b"HTTP/1.1 101 Switching\r\nx: y\r\n\r\nfirst", &mut seen).unwrap();
    connection.send(stream, b"a part");
    assert_eq!(connection.outgoing(), b"a part");
    connection.sent(4);
    connection.receive(b" second", &mut seen).unwrap();
    let mut open = Vec::new();
    connection.for_each_open(&mut |request| open.push(request.bytes));
    assert_eq!(open, [RequestBytes { sent: request.len() as u64 + 4, received: 32 + 12 }]);
    connection.closed(&mut seen).unwrap();
    assert_eq!(seen.lines, ["1 head 101 x=y", "1 body first second", "1 done"]);
    assert!(!connection.reusable());
}

#[test]
fn a_connection_that_was_asked_to_switch_and_has_not_carries_no_other_request() {
    let (mut connection, _) = upgrading();
    connection.sent(usize::MAX);
    let mut seen = Recorded::default();
    connection.receive(b"HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno", &mut seen).unwrap();
    assert_eq!(seen.lines, ["1 head 403 content-length=2", "1 body no", "1 done"]);
    assert!(!connection.reusable() && connection.capacity() == 0);
}
