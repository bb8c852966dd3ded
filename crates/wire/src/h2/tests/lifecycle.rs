//! Requests and responses from start to end, and the ends of connections.

use super::*;

#[test]
fn the_opening_says_who_we_are() {
    let mut peer = Peer { connection: Connection::new(Config::default()), seen: Recorded::default() };
    let opening = peer.connection.outgoing();
    assert_eq!(&opening[..PREFACE.len()], PREFACE);
    peer.connection.sent(PREFACE.len());
    assert_eq!(peer.sent(), ["0 kind 4 of 12", "0 window 67043329"]);
    assert_eq!(peer.connection.capacity(), 100);
}

#[test]
fn a_response_with_body_and_trailers() {
    let mut peer = Peer::greeted(&[]);
    peer.start(7, "POST", b"abc");
    assert_eq!(peer.sent(), ["1 head", "1 data 3 end"]);
    peer.frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&[(":status", "200"), ("a", "b")]));
    peer.frame(kind::DATA, 0, 1, b"hello ");
    peer.frame(kind::DATA, flag::PADDED, 1, b"\x02world\0\0");
    peer.frame(kind::HEADERS, END, 1, &block(&[("grpc-status", "0")]));
    assert_eq!(peer.events(), ["7 head 200 a=b", "7 body hello world", "7 trailers grpc-status=0", "7 done"]);
    assert_eq!(peer.connection.open_requests(), 0);
    assert!(peer.connection.reusable());
}

#[test]
fn a_grpc_response_of_a_head_alone_has_its_status_in_trailers() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "POST", b"abc");
    peer.start(2, "GET", b"");
    peer.frame(kind::HEADERS, END, 1, &block(&[(":status", "200"), ("grpc-status", "5")]));
    peer.frame(kind::HEADERS, END, 3, &block(&[(":status", "204")]));
    assert_eq!(
        peer.events(),
        ["1 head 200 grpc-status=5", "1 trailers grpc-status=5", "1 done", "2 head 204", "2 done"]
    );
}

#[test]
fn interim_heads_do_not_go_on_for_ever() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    for _ in 0..=100 {
        peer.frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&[(":status", "103")]));
    }
    assert_eq!(peer.events(), ["1 failed: the peer broke the protocol: too many interim responses"]);
}

#[test]
fn interim_heads_are_skipped_and_blocks_may_come_in_parts() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "HEAD", b"");
    peer.frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&[(":status", "103"), ("link", "x")]));
    let head = block(&[(":status", "200"), ("content-length", "12")]);
    let first = [&[1u8, 0, 0, 0, 0, 9][..], &head[..5], &[0]].concat();
    peer.frame(kind::HEADERS, flag::END_STREAM | flag::PADDED | flag::PRIORITY, 1, &first);
    peer.frame(kind::CONTINUATION, 0, 1, &head[5..9]);
    peer.frame(kind::CONTINUATION, flag::END_HEADERS, 1, &head[9..]);
    assert_eq!(peer.events(), ["1 head 200 content-length=12", "1 done"]);
}

#[test]
fn streams_fail_one_by_one() {
    let mut peer = Peer::greeted(&[]);
    for token in 1..=4 {
        peer.start(token, "GET", b"");
    }
    peer.number(kind::RST_STREAM, 1, 7);
    peer.number(kind::RST_STREAM, 3, 2);
    peer.frame(kind::HEADERS, flag::END_HEADERS, 5, &block(&[(":status", "abc")]));
    peer.frame(kind::HEADERS, flag::END_HEADERS, 7, &block(&[(":status", "200"), ("content-length", "2")]));
    peer.frame(kind::DATA, flag::END_STREAM, 7, b"abc");
    assert_eq!(
        peer.events(),
        [
            "1 failed: the stream was refused unprocessed",
            "2 failed: the stream was reset with HTTP/2 error code 2",
            "3 failed: the peer broke the protocol: an invalid status",
            "4 head 200 content-length=2",
            "4 failed: the body's length differs from its content-length"
        ]
    );
    assert_eq!(peer.sent()[4..], ["5 reset 1", "7 reset 1"]);
    assert!(peer.connection.reusable() && peer.connection.open_requests() == 0);
}

#[test]
fn streams_that_lie_about_their_bodies_fail() {
    let mut peer = Peer::greeted(&[]);
    for (token, method) in [(1, "GET"), (2, "HEAD"), (3, "GET"), (4, "GET"), (5, "GET")] {
        peer.start(token, method, b"");
    }
    peer.frame(kind::DATA, 0, 1, b"x");
    peer.frame(kind::HEADERS, flag::END_HEADERS, 3, OK);
    peer.frame(kind::DATA, 0, 3, b"x");
    peer.frame(kind::HEADERS, END, 5, &block(&[(":status", "200"), ("content-length", "2")]));
    peer.frame(kind::HEADERS, flag::END_HEADERS, 7, OK);
    peer.frame(kind::HEADERS, flag::END_HEADERS, 7, OK);
    peer.frame(kind::HEADERS, END, 9, &block(&[(":status", "100")]));
    let events = peer.events();
    let failed: Vec<&str> =
        events.iter().filter_map(|line| line.split_once(" failed: ")).map(|f| f.1).collect();
    assert_eq!(
        failed,
        [
            "the peer broke the protocol: a body before its head",
            "the peer broke the protocol: a body in answer to HEAD",
            "the body's length differs from its content-length",
            "the peer broke the protocol: a second response head",
            "the peer broke the protocol: an interim response that cannot be one"
        ]
    );
}

#[test]
fn a_cancelled_stream_is_reset_and_what_still_comes_is_ignored() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    peer.start(2, "GET", b"");
    peer.sent();
    peer.connection.cancel(1);
    assert_eq!(peer.sent(), ["1 reset 8"]);
    // The block enters the table although its stream is gone, for the next one uses it.
    peer.frame(kind::HEADERS, flag::END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    peer.frame(kind::DATA, flag::END_STREAM, 1, b"late");
    peer.number(kind::WINDOW_UPDATE, 1, 1);
    peer.number(kind::RST_STREAM, 1, 0);
    peer.frame(kind::HEADERS, END, 3, b"\x88\xbe");
    assert_eq!(peer.events(), ["2 head 200 a=b", "2 done"]);
}

#[test]
fn capacity_is_the_least_of_what_both_sides_allow() {
    let mut peer = Peer::greeted(&[(3, 2)]);
    peer.start(1, "GET", b"");
    assert_eq!(peer.connection.capacity(), 1);
    peer.start(2, "GET", b"");
    let headers = Headers::new();
    let (method, path, authority) = (&b"GET"[..], &b"/"[..], &b"h"[..]);
    let request = Request { method, path, authority, scheme: Scheme::Https, headers: &headers, body: b"" };
    assert_eq!(peer.connection.start(3, &request), Err(StartError::NotReady));
    peer.settings(&[(3, 0)]);
    assert_eq!((peer.connection.capacity(), peer.connection.reusable()), (0, true));
    peer.settings(&[(3, 1000)]);
    assert_eq!(peer.connection.capacity(), 98);
}

#[test]
fn a_stream_that_exceeds_a_limit_not_yet_known_is_distinguished_from_one_that_is_refused() {
    let mut peer = Peer::new();
    for token in 1..=4 {
        peer.start(token, "GET", b"");
    }
    peer.settings(&[(3, 2)]);
    for stream in [7, 5, 3] {
        peer.number(kind::RST_STREAM, stream, 7);
    }
    let refused = "failed: the stream was refused unprocessed";
    let early = format!("{refused}: it was opened before the peer's limit on streams arrived");
    assert_eq!(peer.events(), [format!("4 {early}"), format!("3 {early}"), format!("2 {refused}")]);
    peer.start(5, "GET", b"");
    peer.number(kind::RST_STREAM, 9, 7);
    assert_eq!(peer.events(), [format!("5 {refused}")]);
}

#[test]
fn a_departing_peer_finishes_what_it_took() {
    let mut peer = Peer::greeted(&[]);
    for token in 1..=3 {
        peer.start(token, "GET", b"");
    }
    peer.frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0, b'b', b'y', b'e']);
    let gone = "failed: the peer is going away with HTTP/2 error code 0";
    assert_eq!(peer.events(), [format!("2 {gone}"), format!("3 {gone}")]);
    assert_eq!((peer.connection.capacity(), peer.connection.reusable()), (0, false));
    peer.frame(kind::HEADERS, END, 1, OK);
    assert_eq!(peer.events(), ["1 head 200", "1 done"]);
    assert_eq!(peer.connection.closed(&mut peer.seen), Ok(()));
}

#[test]
fn ends_of_connections_are_distinguished() {
    let end_after = |frames: &[Vec<u8>]| {
        let mut peer = Peer::greeted(&[]);
        peer.start(1, "GET", b"");
        peer.receive(&frames.concat()).unwrap();
        let end = peer.connection.closed(&mut peer.seen);
        let mut open = Vec::new();
        peer.connection.for_each_open(&mut |request| open.push(request.token));
        assert_eq!((open, peer.connection.reusable()), (vec![1], false));
        end
    };
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, OK);
    assert_eq!(end_after(&[]), Err(WireError::ClosedBeforeResponse));
    assert_eq!(end_after(&[head[..5].to_vec()]), Err(WireError::UnexpectedEof));
    assert_eq!(end_after(&[head]), Err(WireError::UnexpectedEof));
    let goaway = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]);
    assert_eq!(end_after(&[goaway]), Err(WireError::ConnectionEnded(11)));
}

#[test]
fn identifiers_run_out() {
    let mut peer = Peer::greeted(&[]);
    peer.connection.next_id = MAX_31_BITS;
    peer.start(1, "GET", b"");
    assert_eq!((peer.connection.capacity(), peer.connection.reusable()), (0, false));
    peer.frame(kind::HEADERS, END, MAX_31_BITS, OK);
    assert_eq!(peer.events(), ["1 head 200", "1 done"]);
}
