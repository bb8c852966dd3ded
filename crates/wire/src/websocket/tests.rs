use proptest::prelude::*;

use super::*;
use crate::headers::Headers;

const LIMIT: usize = 1 << 20;

/// What a message is, as text.
fn shown(message: Message<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match message {
        Message::Text(content) => format!("text {}", text(content)),
        Message::Binary(content) => format!("binary {content:?}"),
        Message::Ping(content) => format!("ping {}", text(content)),
        Message::Pong(content) => format!("pong {}", text(content)),
        Message::Close { code, reason } => format!("close {code} {}", text(reason)),
    }
}

/// The messages in these bytes, and the error that ends them, when they come in pieces of this length.
fn received(client: &mut Client, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut all = Vec::new();
    for part in bytes.chunks(piece) {
        if let Err(error) = client.receive(part, &mut |message| all.push(shown(message))) {
            all.push(format!("{} {error}", error.close_code()));
            break;
        }
    }
    all
}

#[track_caller]
fn check_with(compression: Compression, bytes: &[u8], expect: &[&str]) {
    for piece in [bytes.len().max(1), 1, 3] {
        let mut client = Client::new(compression, LIMIT);
        assert_eq!(received(&mut client, bytes, piece), expect, "in pieces of {piece}");
    }
}

#[track_caller]
fn check(bytes: &[u8], expect: &[&str]) {
    check_with(Compression::None, bytes, expect);
}

/// A frame as a server sends it.
fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match content.len() {
        length @ 0..126 => bytes.push(length as u8),
        length @ 126..65_536 => {
            bytes.push(126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

#[test]
fn messages_of_the_standard_are_read() {
    // RFC 6455, section 5.7: a text, a text in two frames with a ping between them, and a pong.
    check(&[0x81, 5, 0x48, 0x65, 0x6c, 0x6c, 0x6f], &["text Hello"]);
    let fragments = [&frame(0x01, b"Hel")[..], &frame(0x89, b"Hello"), &frame(0x80, b"lo")].concat();
    check(&fragments, &["ping Hello", "text Hello"]);
    check(&frame(0x8a, b"Hello"), &["pong Hello"]);
    let pieces = [&frame(0x02, &[1])[..], &frame(0x00, &[]), &frame(0x00, &[2]), &frame(0x80, &[])].concat();
    check(&pieces, &["binary [1, 2]"]);
    check(&[frame(0x81, b""), frame(0x82, b""), frame(0x89, b"")].concat(), &["text ", "binary []", "ping "]);
    for length in [125, 126, 65_535, 65_536, LIMIT] {
        let bytes = frame(0x82, &vec![7; length]);
        let mut client = Client::new(Compression::None, LIMIT);
        assert_eq!(received(&mut client, &bytes, 10_000), [format!("binary {:?}", vec![7; length])]);
        assert_eq!(client.kept_bytes(), 0);
    }
}

#[test]
fn a_close_frame_ends_a_session() {
    check(&[frame(0x88, b"\x03\xe8bye"), frame(0x81, b"x")].concat(), &["close 1000 bye"]);
    check(&frame(0x88, b""), &["close 1005 "]);
    check(&frame(0x88, b"\x0f\xa0"), &["close 4000 "]);
    for code in [0_u16, 999, 1004, 1005, 1006, 1014, 1015, 2999, 5000] {
        let expect = format!("1002 websocket: bad close code {code}");
        check(&frame(0x88, &code.to_be_bytes()), &[&expect]);
    }
    check(&frame(0x88, b"\x03\xe8\xff"), &["1002 websocket: invalid utf8 payload in close frame"]);
}

#[test]
fn frames_that_break_the_protocol_end_a_session() {
    let check = |bytes: &[u8], why: &str| check(bytes, &[&format!("1002 websocket: {why}")]);
    check(&[0xc1, 0], "RSV1 set");
    check(&[0xa1, 0], "RSV2 set");
    check(&[0x91, 0], "RSV3 set");
    check(&[0x83, 0], "bad opcode 3");
    check(&[0x8f, 0], "bad opcode 15");
    check(&[0x81, 0x80, 0, 0, 0, 0], "bad MASK");
    check(&[0x89, 126, 0, 126], "len > 125 for control");
    check(&[0x09, 0], "FIN not set on control");
    check(&frame(0x80, b"x"), "continuation after FIN");
    check(&[frame(0x01, b"x"), frame(0x81, b"y")].concat(), "data before FIN");
}

#[test]
fn texts_are_checked_and_messages_are_limited() {
    check(&frame(0x81, b"\xff"), &["1007 websocket: a text message is not UTF-8"]);
    // A character may be cut by frames.
    check(&[frame(0x01, b"\xc3"), frame(0x80, b"\xa9")].concat(), &["text \u{e9}"]);
    let too_long = "1009 websocket: read limit exceeded";
    check(&[&[0x82, 127][..], &(LIMIT as u64 + 1).to_be_bytes()].concat(), &[too_long]);
    check(&[&[0x82, 127][..], &u64::MAX.to_be_bytes()].concat(), &[too_long]);
    let parts = [frame(0x02, &vec![0; LIMIT]), frame(0x80, &[0])].concat();
    let mut client = Client::new(Compression::None, LIMIT);
    assert_eq!(received(&mut client, &parts, 10_000), [too_long]);
    // Zeros compress to a thousandth.
    let bomb = Deflater::default().deflate(&vec![0; LIMIT + 1]);
    assert!(bomb.len() < LIMIT / 100);
    let mut client = Client::new(Compression::Deflate, LIMIT);
    assert_eq!(received(&mut client, &frame(0xc2, &bomb), 10_000), [too_long]);
}

#[test]
fn compressed_messages_are_read_as_the_standard_writes_them() {
    let check = |bytes: &[u8], expect: &[&str]| check_with(Compression::Deflate, bytes, expect);
    // RFC 7692, section 7.2.3: in one frame, in two, without compression, with a final block, in two blocks.
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    check(&frame(0xc1, &hello), &["text Hello"]);
    check(&[frame(0x41, &hello[..3]), frame(0x80, &hello[3..])].concat(), &["text Hello"]);
    check(&frame(0xc1, b"\x00\x05\x00\xfa\xffHello\x00"), &["text Hello"]);
    check(&frame(0xc1, &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]), &["text Hello"]);
    let blocks = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
    check(&frame(0xc1, &blocks), &["text Hello"]);
    // One that is not compressed, and an empty one.
    check(&[frame(0x81, b"plain"), frame(0xc1, &[0])].concat(), &["text plain", "text "]);
    check(&frame(0xc1, b"\xff\xff\xff"), &["1007 websocket: a compressed message is corrupt"]);
    check(&[0xc9, 0], &["1002 websocket: RSV1 set"]);
    check(&[frame(0x01, b"x"), vec![0xc0, 0]].concat(), &["1002 websocket: RSV1 set"]);
}

#[test]
fn frames_are_masked_and_control_frames_are_short() {
    let mut out = Vec::new();
    let mut client = Client::new(Compression::None, LIMIT);
    // RFC 6455, section 5.7.
    client.send(Message::Text(b"Hello"), [0x37, 0xfa, 0x21, 0x3d], &mut out);
    assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    let mut sent = |message| {
        let mut out = Vec::new();
        client.send(message, [0; 4], &mut out);
        (out[0], out[1], out.len())
    };
    assert_eq!(sent(Message::Ping(&[0; 200])), (0x89, 0x80 | 125, 131));
    assert_eq!(sent(Message::Close { code: 1000, reason: &[b'x'; 200] }), (0x88, 0x80 | 125, 131));
    assert_eq!(sent(Message::Close { code: NO_STATUS, reason: b"" }), (0x88, 0x80, 6));
}

proptest! {
    /// What is sent is received again, whatever it is, and however the bytes are cut.
    #[test]
    fn what_is_sent_is_what_is_read(
        texts in proptest::collection::vec(".{0,300}", 1..5),
        repeated in 0_usize..70_000,
        mask in any::<[u8; 4]>(),
        piece in 1_usize..5_000,
        compresses in any::<bool>(),
    ) {
        let compression = if compresses { Compression::Deflate } else { Compression::None };
        let (mut sender, mut receiver) = (Client::new(compression, LIMIT), Client::new(compression, LIMIT));
        let (mut bytes, mut expect) = (Vec::new(), Vec::new());
        let long = "ab".repeat(repeated / 2);
        for text in texts.iter().chain([&long]) {
            let mut masked = Vec::new();
            sender.send(Message::Text(text.as_bytes()), mask, &mut masked);
            bytes.extend(unmasked(&masked));
            expect.push(format!("text {text}"));
        }
        prop_assert_eq!(received(&mut receiver, &bytes, piece), expect);
        prop_assert!(!compresses || bytes.len() < long.len() + 4_000);
    }
}

/// A client's frame as a server would send it.
fn unmasked(masked: &[u8]) -> Vec<u8> {
    let head = match masked[1] & 0x7f {
        127 => 10,
        126 => 4,
        _ => 2,
    };
    let mut bytes = masked[..head].to_vec();
    bytes[1] &= 0x7f;
    let (mask, content) = masked[head..].split_at(4);
    bytes.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

#[test]
fn a_handshake_is_checked_against_its_key() {
    // RFC 6455, section 1.3: a key and its answer.
    let nonce = *b"the sample nonce";
    let digest = |input: &[u8]| {
        assert_eq!(input, b"dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
        [
            0xb3, 0x7a, 0x4f, 0x2c, 0xc0, 0x62, 0x4f, 0x16, 0x90, 0xf6, 0x46, 0x06, 0xcf, 0x38, 0x59, 0x45,
            0xb2, 0xbe, 0xc4, 0xea,
        ]
    };
    let plain = Handshake::new(nonce, Compression::None, digest);
    let deflate = Handshake::new(nonce, Compression::Deflate, digest);
    let fields = |handshake: &Handshake| {
        let mut headers = Headers::new();
        handshake.push_headers(&mut headers);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        headers.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect::<Vec<_>>()
    };
    let key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
    assert_eq!(fields(&plain), ["sec-websocket-version: 13", key]);
    let offer = "sec-websocket-extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    assert_eq!(fields(&deflate), ["sec-websocket-version: 13", key, offer]);

    let good = "upgrade: WebSocket|connection: keep-alive, Upgrade|sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    let answer = |handshake: &Handshake, status: u16, fields: &str| {
        let mut headers = Headers::new();
        for field in fields.split('|').filter_map(|field| field.split_once(": ")) {
            headers.push(field.0.as_bytes(), field.1.as_bytes());
        }
        handshake.agreed(status, headers.view())
    };
    assert_eq!(answer(&plain, 101, good), Ok(Compression::None));
    assert_eq!(answer(&plain, 200, good), Err(HandshakeError::Refused));
    for part in good.split('|') {
        let without = good.replace(part, "x: y");
        assert_eq!(answer(&plain, 101, &without), Err(HandshakeError::Refused), "without {part}");
    }
    assert_eq!(answer(&plain, 101, &good.replace("s3p", "s4p")), Err(HandshakeError::Refused));
    let extended = |extension: &str| format!("{good}|Sec-WebSocket-Extensions: {extension}");
    let agreed = extended(
        "x-other, permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=15",
    );
    assert_eq!(answer(&deflate, 101, &agreed), Ok(Compression::Deflate));
    assert_eq!(answer(&plain, 101, &agreed), Err(HandshakeError::Compression));
    assert_eq!(answer(&deflate, 101, &extended("permessage-deflate")), Err(HandshakeError::Compression));
    assert_eq!(answer(&deflate, 101, &extended("x-other")), Ok(Compression::None));
}
