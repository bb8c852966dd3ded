//! Hostile peers, and peers that use another protocol.

use super::*;

/// The error that these bytes bring to a connection with stream 1 open.
fn fate(bytes: &[u8]) -> Result<(), WireError> {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    let result = peer.receive(bytes);
    if let Err(error) = result {
        assert_eq!(peer.receive(b""), Err(error));
        assert_eq!((peer.connection.capacity(), peer.connection.open_requests()), (0, 1));
        assert!(peer.sent().last().unwrap().starts_with("goaway"));
    }
    result
}

#[test]
fn a_peer_of_another_protocol_is_named() {
    let other = Err(WireError::NotHttp2);
    for opening in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &frame(kind::PING, 0, 0, &[0; 8])] {
        let mut connection = Connection::new(Config::default());
        assert_eq!(connection.receive(opening, &mut Recorded::default()), other);
    }
}

#[test]
fn broken_frames_end_the_connection() {
    let malformed = |why| Err(WireError::Malformed(why));
    let never = malformed("a frame on a stream that was never opened");
    let interrupted = malformed("a header block interrupted");
    let begun = frame(kind::HEADERS, 0, 1, OK);
    for (bytes, expect) in [
        (frame(kind::DATA, 0, 0, b"x"), never),
        (frame(kind::DATA, 0, 2, b"x"), never),
        (frame(kind::HEADERS, END, 3, OK), never),
        (frame(kind::RST_STREAM, 0, 3, &[0; 4]), never),
        (frame(kind::RST_STREAM, 0, 1, &[0; 3]), Err(WireError::FrameSize)),
        (frame(kind::DATA, 0, 1, &[0; (16 << 10) + 1]), Err(WireError::FrameSize)),
        (frame(kind::SETTINGS, 0, 0, &[0; 7]), Err(WireError::FrameSize)),
        (frame(kind::SETTINGS, flag::ACK, 0, &[0; 6]), Err(WireError::FrameSize)),
        (frame(kind::SETTINGS, 0, 1, &[]), malformed("a connection frame on a stream")),
        (frame(kind::PING, 0, 1, &[0; 8]), malformed("a connection frame on a stream")),
        (frame(kind::PING, 0, 0, &[0; 7]), Err(WireError::FrameSize)),
        (frame(kind::GOAWAY, 0, 0, &[0; 7]), Err(WireError::FrameSize)),
        (frame(kind::PRIORITY, 0, 1, &[0; 4]), Err(WireError::FrameSize)),
        (frame(kind::PUSH_PROMISE, 4, 1, &[0; 5]), malformed("a push that was forbidden")),
        (frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4]), malformed("a window update of nothing")),
        (frame(kind::CONTINUATION, 4, 1, &[]), malformed("a continuation of nothing")),
        ([&begun[..], &frame(kind::PING, 0, 0, &[0; 8])].concat(), interrupted),
        ([&begun[..], &frame(kind::CONTINUATION, 4, 3, &[])].concat(), interrupted),
        (frame(kind::HEADERS, END, 1, &[0x80]), Err(WireError::HpackError)),
        (frame(kind::HEADERS, END | flag::PADDED, 1, &[9, 0x88]), malformed("more padding than payload")),
        (frame(kind::HEADERS, END | flag::PRIORITY, 1, &[0; 4]), Err(WireError::FrameSize)),
        (frame(kind::PRIORITY, 0, 1, &[0; 5]), Ok(())),
        (frame(99, 0xff, 77, b"an extension"), Ok(())),
    ] {
        assert_eq!(fate(&bytes), expect, "{bytes:x?}");
    }
}

#[test]
fn floods_are_bounded() {
    let flood = |what| Err(WireError::Flood(what));
    assert_eq!(fate(&frame(kind::PING, 0, 0, &[0; 8]).repeat(20_000)), flood("frames that ask for a reply"));
    assert_eq!(fate(&frame(kind::SETTINGS, 0, 0, &[]).repeat(20_000)), flood("frames that ask for a reply"));
    assert_eq!(fate(&frame(kind::PING, flag::ACK, 0, &[0; 8]).repeat(20_000)), Ok(()));
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, OK);
    let empty = frame(kind::DATA, 0, 1, &[]).repeat(1_001);
    assert_eq!(fate(&[head, empty].concat()), flood("empty DATA frames"));
    let begun = frame(kind::HEADERS, 0, 1, OK);
    let parts = frame(kind::CONTINUATION, 0, 1, &[]).repeat(100);
    assert_eq!(fate(&[&begun[..], &parts].concat()), flood("continuations of a header block"));
    let parts = frame(kind::CONTINUATION, 0, 1, &[0x88; 16 << 10]).repeat(5);
    assert_eq!(fate(&[begun, parts].concat()), Err(WireError::HeadTooLarge));
}

#[test]
fn replies_that_are_sent_are_no_flood() {
    let mut peer = Peer::greeted(&[]);
    for _ in 0..20_000 {
        peer.frame(kind::PING, 0, 0, b"01234567");
        assert_eq!(peer.sent(), ["ping ack 01234567"]);
    }
}

#[test]
fn a_head_of_too_many_fields_fails_its_stream_alone() {
    let mut peer = Peer::greeted(&[]);
    peer.start(1, "GET", b"");
    peer.start(2, "GET", b"");
    peer.frame(kind::HEADERS, END, 1, &[0x88; 200]);
    peer.frame(kind::HEADERS, END, 3, OK);
    assert_eq!(peer.events(), ["1 failed: the response head is too large", "2 head 200", "2 done"]);
}

#[test]
fn a_control_character_in_a_field_fails_its_stream_alone() {
    let mut peer = Peer::greeted(&[]);
    for token in 1..=3 {
        peer.start(token, "GET", b"");
    }
    peer.frame(kind::HEADERS, END, 1, &block(&[(":status", "200"), ("x-name", "a\u{1b}[2J")]));
    peer.frame(kind::HEADERS, flag::END_HEADERS, 3, OK);
    peer.frame(kind::HEADERS, END, 3, &block(&[("grpc-status", "0"), ("grpc-message", "a\nPASS")]));
    peer.frame(kind::HEADERS, END, 5, OK);
    let failed = "failed: the peer broke the protocol: a control character in a header value";
    let events = [&format!("1 {failed}"), "2 head 200", &format!("2 {failed}"), "3 head 200", "3 done"];
    assert_eq!(peer.events(), events);
}

/// Frames that are nearly right, so that every part of the machine is reached.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let head = prop_oneof![
        Just(OK.to_vec()),
        Just(block(&[(":status", "200"), ("content-length", "4")])),
        Just(block(&[("grpc-status", "0")])),
        Just(b"\x88\x40\x01a\x01b\xbe".to_vec()),
    ];
    let stream = prop_oneof![4 => 0..5u32, 1 => any::<u32>()];
    let usual = prop_oneof![
        3 => (Just(kind::HEADERS), prop_oneof![Just(END), Just(4), Just(0)], head),
        2 => (Just(kind::DATA), 0..2u8, prop::collection::vec(any::<u8>(), 0..6)),
        1 => (Just(kind::CONTINUATION), prop_oneof![Just(4), Just(0)], Just(vec![])),
        1 => (Just(kind::WINDOW_UPDATE), Just(0), (0..100u32).prop_map(|n| n.to_be_bytes().to_vec())),
        1 => (Just(kind::SETTINGS), Just(0), (0..100u32).prop_map(|n| {
            [&4u16.to_be_bytes()[..], &n.to_be_bytes()].concat()
        })),
        1 => (Just(kind::GOAWAY), Just(0), Just(vec![0, 0, 0, 1, 0, 0, 0, 0])),
        1 => (Just(kind::RST_STREAM), Just(0), Just(vec![0, 0, 0, 8])),
        1 => (any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)),
    ];
    (stream, usual).prop_map(|(stream, (kind, flags, payload))| frame(kind, flags, stream, &payload))
}

/// Events, bytes to be sent, and the end, after the bytes arrived in pieces of this many.
fn outcome(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<u8>, Result<(), WireError>) {
    let mut peer = Peer::greeted(&[(4, 20)]);
    peer.start(1, "GET", b"");
    peer.start(2, "POST", &[b'x'; 50]);
    let (mut rest, mut result) = (bytes, Ok(()));
    for &cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        result = result.and_then(|()| peer.receive(piece));
    }
    let result = result.and_then(|()| peer.connection.closed(&mut peer.seen));
    let partial = peer.connection.incoming.held_bytes();
    assert!(partial < 200_000, "{partial} bytes are held");
    (peer.events(), peer.connection.outgoing().to_vec(), result)
}

proptest! {
    #[test]
    fn any_cut_of_the_same_bytes_yields_the_same(
        frames in prop::collection::vec(any_frame(), 0..30),
        cuts in prop::collection::vec(1..30usize, 1..20),
    ) {
        let bytes = frames.concat();
        prop_assert_eq!(outcome(&bytes, &cuts), outcome(&bytes, &[usize::MAX]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, cuts in prop::collection::vec(1..30usize, 1..20)) {
        let _ = outcome(&bytes, &cuts);
    }

    #[test]
    fn arbitrary_small_frames_never_panic(
        frames in prop::collection::vec((0..11u8, any::<u8>(), 0..6u32, prop::collection::vec(any::<u8>(), 0..24)), 0..40),
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(kind, flags, id, payload)| frame(*kind, *flags, *id, payload)).collect();
        let _ = outcome(&bytes, &[usize::MAX]);
    }
}
