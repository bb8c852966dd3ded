//! The bytes of a request are those of its own stream, and whether it may have been processed.

use super::*;
use crate::event::{Event, OpenRequest, Processing, RequestBytes};

/// The bytes of the requests that ended, and whether those that failed may have been processed.
fn ends(peer: &mut Peer, bytes: &[u8]) -> Vec<(Token, RequestBytes, Option<Processing>)> {
    let mut ends = Vec::new();
    let mut take = |event: Event<'_>| match event {
        Event::Done { token, bytes } => ends.push((token, bytes, None)),
        Event::Failed { request: OpenRequest { token, bytes, processing }, .. } => {
            ends.push((token, bytes, Some(processing)));
        }
        _ => {}
    };
    peer.connection.receive(bytes, &mut take).unwrap();
    ends
}

fn bytes(sent: u64, received: u64) -> RequestBytes {
    RequestBytes { sent, received }
}

/// Bytes of a request's head frame: of `GET` or `POST` with 3 bytes of body, and authority `h` for the first time.
fn head_bytes(peer: &Peer) -> u64 {
    FrameHeader::read(peer.connection.outgoing()).map_or(0, |h| (HEADER_BYTES + h.length) as u64)
}

#[test]
fn frames_count_for_their_own_stream_and_frames_of_the_connection_for_none() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    let first = head_bytes(&peer);
    peer.connection.sent(usize::MAX);
    peer.start(2, "POST", b"abc");
    let second = head_bytes(&peer) + 9 + 3;
    peer.connection.sent(usize::MAX);
    let input = [
        frame(kind::HEADERS, flag::END_HEADERS, 3, OK),
        frame(kind::PING, 0, 0, &[0; 8]),
        frame(kind::HEADERS, flag::END_HEADERS, 1, OK),
        frame(kind::DATA, flag::PADDED, 3, b"\x02world\0\0"),
        frame(kind::WINDOW_UPDATE, 0, 3, &[0, 0, 0, 9]),
        frame(kind::DATA, flag::END_STREAM, 1, &[0; 1000]),
        frame(kind::HEADERS, flag::END_STREAM, 3, b""),
        frame(kind::CONTINUATION, flag::END_HEADERS, 3, b""),
    ];
    let ends = ends(&mut peer, &input.concat());
    assert_eq!(
        ends,
        [(1, bytes(first, 9 + 1 + 9 + 1000), None), (2, bytes(second, 9 + 1 + 9 + 8 + 9 + 9), None)]
    );
}

#[test]
fn a_cancelled_request_has_the_bytes_that_were_sent_and_received() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "POST", &[b'x'; 50_000]);
    peer.start(2, "GET", b"");
    peer.connection.sent(20_000);
    // A frame of the stream, and a part of another.
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, OK);
    let data = frame(kind::DATA, 0, 1, &[0; 100]);
    assert_eq!(ends(&mut peer, &[&head[..], &data[..60]].concat()), []);
    let open = |request: Option<OpenRequest>| request.map(|request| (request.bytes, request.processing));
    assert_eq!(open(peer.connection.cancel(1)), Some((bytes(20_000, 10 + 60), Processing::Answered)));
    assert_eq!(open(peer.connection.cancel(2)), Some((bytes(0, 0), Processing::NotSent)));
    assert_eq!(open(peer.connection.cancel(2)), None);
}

#[test]
fn held_back_bytes_count_once_they_are_sent() {
    let mut peer = Peer::greeted(&[(4, 10)]);
    peer.start(1, "POST", &[b'x'; 30]);
    let head = head_bytes(&peer);
    peer.connection.sent(usize::MAX);
    let open = |peer: &Peer| {
        let mut open = Vec::new();
        peer.connection.for_each_open(&mut |request| open.push(request.bytes.sent));
        open
    };
    assert_eq!(open(&peer), [head + 9 + 10]);
    peer.number(kind::WINDOW_UPDATE, 1, 15);
    assert_eq!(open(&peer), [head + 9 + 10]);
    peer.connection.sent(usize::MAX);
    assert_eq!(open(&peer), [head + 9 + 10 + 9 + 15]);
}

#[test]
fn requests_that_the_peer_did_not_process_are_distinguished() {
    let mut peer = Peer::greeted(&[]);
    for token in 1..=5 {
        peer.start(token, "GET", b"");
    }
    peer.connection.sent(usize::MAX);
    peer.start(6, "GET", b"");
    let input = [
        frame(kind::RST_STREAM, 0, 1, &7_u32.to_be_bytes()),
        frame(kind::RST_STREAM, 0, 3, &2_u32.to_be_bytes()),
        frame(kind::HEADERS, flag::END_HEADERS, 5, OK),
        frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 7, 0, 0, 0, 0]),
    ];
    let failed: Vec<_> = ends(&mut peer, &input.concat()).iter().map(|end| (end.0, end.2)).collect();
    let refused = Some(Processing::Refused);
    assert_eq!(failed, [(1, refused), (2, Some(Processing::Answered)), (5, refused), (6, refused)]);
    let mut left = Vec::new();
    peer.connection.for_each_open(&mut |request| left.push((request.token, request.processing)));
    left.sort_by_key(|request| request.0);
    assert_eq!(left, [(3, Processing::Answered), (4, Processing::Unanswered)]);
}

#[test]
fn a_peer_that_began_to_answer_has_processed_the_request_whatever_it_says_later() {
    let mut peer = Peer::greeted(&[]);
    [1, 2].into_iter().for_each(|token| peer.start(token, "GET", b""));
    peer.connection.sent(usize::MAX);
    let input = [
        frame(kind::HEADERS, flag::END_HEADERS, 1, OK),
        frame(kind::HEADERS, flag::END_HEADERS, 3, OK),
        frame(kind::RST_STREAM, 0, 1, &7_u32.to_be_bytes()),
        frame(kind::GOAWAY, 0, 0, &[0; 8]),
    ];
    let ends = ends(&mut peer, &input.concat());
    let answered = Some(Processing::Answered);
    assert_eq!(ends.iter().map(|end| (end.0, end.2)).collect::<Vec<_>>(), [(1, answered), (2, answered)]);
}
