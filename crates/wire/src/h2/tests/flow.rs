//! Flow control both ways, and header blocks above a frame.

use super::*;

const INITIAL_WINDOW: u16 = 4;

#[test]
fn a_body_waits_for_the_windows() {
    let mut peer = Peer::greeted(&[(INITIAL_WINDOW, 10)]);
    peer.start(1, "POST", &[b'x'; 25]);
    assert_eq!(peer.sent(), ["1 head", "1 data 10"]);
    peer.number(kind::WINDOW_UPDATE, 1, 5);
    assert_eq!(peer.sent(), ["1 data 5"]);
    peer.settings(&[(INITIAL_WINDOW, 12)]);
    assert_eq!(peer.sent(), ["settings ack", "1 data 2"]);
    // A smaller window leaves the stream in debt until it is paid off.
    peer.settings(&[(INITIAL_WINDOW, 2)]);
    peer.number(kind::WINDOW_UPDATE, 1, 10);
    assert_eq!(peer.sent(), ["settings ack"]);
    peer.number(kind::WINDOW_UPDATE, 1, 100);
    assert_eq!(peer.sent(), ["1 data 8 end"]);
    peer.frame(kind::HEADERS, END, 1, OK);
    assert_eq!(peer.sent(), [""; 0]);
}

#[test]
fn a_body_continues_until_it_is_ended() {
    let mut peer = Peer::greeted(&[(INITIAL_WINDOW, 10)]);
    let headers = &Headers::new();
    let (method, path, authority) = (&b"POST"[..], &b"/"[..], &b"h"[..]);
    let request = Request { method, path, authority, scheme: Scheme::Http, headers, body: b"" };
    let first = peer.connection.start_open(1, &request).unwrap();
    assert_eq!(peer.sent(), ["1 head"]);
    peer.connection.send(first, b"1234");
    peer.connection.send(first, b"56");
    assert_eq!(peer.sent(), ["1 data 4", "1 data 2"]);
    // What the window holds back goes with the end, if that is known by then.
    peer.connection.send(first, b"7890-1234");
    assert_eq!(peer.sent(), ["1 data 4"]);
    peer.connection.end_body(first);
    peer.connection.end_body(first);
    assert_eq!(peer.sent(), [""; 0]);
    peer.number(kind::WINDOW_UPDATE, 1, 100);
    assert_eq!(peer.sent(), ["1 data 5 end"]);
    // A body that is out already is ended by itself, whatever the windows are.
    let second = peer.connection.start_open(2, &Request { body: b"1234567890", ..request }).unwrap();
    assert_eq!(peer.sent(), ["3 head", "3 data 10"]);
    peer.connection.end_body(second);
    assert_eq!(peer.sent(), ["3 data 0 end"]);
    // A response ends a body that is not complete; what is sent after that is dropped.
    let third = peer.connection.start_open(3, &request).unwrap();
    peer.sent();
    peer.frame(kind::HEADERS, END, 5, OK);
    assert_eq!(peer.sent(), ["5 reset 8"]);
    peer.connection.send(third, b"late");
    peer.connection.end_body(third);
    assert_eq!(peer.sent(), [""; 0]);
}

#[test]
fn streams_share_the_connection_window_in_turn() {
    let mut peer = Peer::greeted(&[]);
    for token in 1..=3 {
        peer.start(token, "POST", &[b'x'; 40_000]);
    }
    assert_eq!(
        peer.sent(),
        [
            "1 head",
            "1 data 16384",
            "1 data 16384",
            "1 data 7232 end",
            "3 head",
            "3 data 16384",
            "3 data 9151",
            "5 head"
        ]
    );
    peer.number(kind::WINDOW_UPDATE, 0, 20_000);
    assert_eq!(peer.sent(), ["3 data 14465 end", "5 data 5535"]);
    peer.connection.cancel(3);
    assert!(peer.connection.ready.is_empty());
    assert_eq!(peer.sent(), ["5 reset 8"]);
}

#[test]
fn a_response_before_the_request_is_out_ends_the_request() {
    let mut peer = Peer::greeted(&[(INITIAL_WINDOW, 10)]);
    peer.start(1, "POST", &[b'x'; 25]);
    peer.sent();
    peer.frame(kind::HEADERS, END, 1, &block(&[(":status", "413")]));
    assert_eq!(peer.events(), ["1 head 413", "1 done"]);
    assert_eq!(peer.sent(), ["1 reset 8"]);
}

#[test]
fn our_windows_are_given_back_by_halves() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    peer.frame(kind::HEADERS, flag::END_HEADERS, 1, OK);
    peer.sent();
    let payload = vec![0; 16 << 10];
    let mut updates = Vec::new();
    for _ in 0..(64 << 20) / payload.len() {
        peer.frame(kind::DATA, 0, 1, &payload);
        updates.extend(peer.sent());
        peer.seen = Recorded::default();
    }
    let stream = updates.iter().filter(|update| *update == "1 window 4194304").count();
    let connection = updates.iter().filter(|update| *update == "0 window 33554432").count();
    assert_eq!((stream, connection, updates.len()), (16, 2, 18));
}

#[test]
fn windows_that_overflow_are_errors() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "POST", b"x");
    peer.number(kind::WINDOW_UPDATE, 1, MAX_31_BITS);
    assert_eq!(peer.events(), ["1 failed: the peer broke HTTP/2 flow control"]);
    peer.start(2, "POST", b"x");
    peer.number(kind::WINDOW_UPDATE, 3, 0);
    assert_eq!(peer.events(), ["2 failed: the peer broke the protocol: a window update of nothing"]);
    let overflow = frame(kind::WINDOW_UPDATE, 0, 0, &MAX_31_BITS.to_be_bytes());
    assert_eq!(peer.receive(&overflow), Err(WireError::FlowControl));
    assert_eq!(peer.sent().last().unwrap(), "goaway 3");
}

#[test]
fn a_head_above_a_frame_is_continued() {
    let mut peer = Peer::greeted(&[]);
    let mut headers = Headers::new();
    headers.push(b"a", &[b'x'; 40_000]);
    let (method, path, authority) = (&b"PUT"[..], &b"/"[..], &b"h"[..]);
    let request = Request { method, path, authority, scheme: Scheme::Http, headers: &headers, body: b"" };
    peer.connection.start(1, &request).unwrap();
    assert_eq!(peer.sent(), ["1 begun head end", "1 continuation", "1 last continuation"]);
}
