//! HTTP/2 and gRPC against the `h2` crate.

use h2::server::Builder;
use wire::h2::{Config, Connection};
use wire::{Connection as _, HeaderView, Headers, WireError, grpc};

use crate::driver::Driver;
use crate::h2_peer;

fn connect(builder: &Builder, piece_bytes: usize) -> Driver<Connection> {
    Driver::connect(Connection::new(Config::default()), h2_peer::serve(builder.clone()), piece_bytes)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn requests_and_bodies_both_ways() {
    for piece_bytes in [1 << 16, 1000, 7] {
        let mut driver = connect(&Builder::new(), piece_bytes);
        assert_eq!(driver.fetch("GET", "/empty", b"").whole(), (200, &b""[..]));
        for length in [0, 1, 1000, 100_000] {
            let body = pattern(length);
            assert_eq!(driver.fetch("POST", "/echo", &body).whole(), (200, &body[..]));
        }
    }
}

#[test]
fn bodies_beyond_every_window() {
    let mut driver = connect(&Builder::new(), 1 << 16);
    // Eight times over, so that the connection's window must be given back both ways.
    for _ in 0..8 {
        let body = pattern(10 << 20);
        assert_eq!(driver.fetch("POST", "/echo", &body).whole(), (200, &body[..]));
    }
}

#[test]
fn a_starving_peer_gets_its_bodies_bit_by_bit() {
    let mut builder = Builder::new();
    builder.initial_window_size(100).max_frame_size(20_000).max_concurrent_streams(5);
    let mut driver = connect(&builder, 1 << 16);
    driver.fetch("GET", "/empty", b"");
    let bodies: Vec<Vec<u8>> = (0..5).map(|n| pattern(10_000 + n)).collect();
    for (token, body) in bodies.iter().enumerate() {
        driver.start(token as u64, "POST", "/echo", body);
    }
    assert_eq!(driver.machine.capacity(), 0);
    driver.finish().unwrap();
    for (token, body) in bodies.iter().enumerate() {
        assert_eq!(driver.take(token as u64).whole(), (200, &body[..]));
    }
}

#[test]
fn many_streams_at_once_many_times() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    for round in 0..50u64 {
        for token in 0..100 {
            driver.start(token, "POST", "/echo", &pattern((round * token) as usize));
        }
        driver.finish().unwrap();
        for token in 0..100 {
            assert_eq!(driver.take(token).whole(), (200, &pattern((round * token) as usize)[..]));
        }
    }
    assert!(driver.machine.reusable());
}

#[test]
fn a_grpc_call_from_message_to_status() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    let (mut headers, mut body) = (Headers::new(), Vec::new());
    grpc::push_headers(&mut headers, None);
    grpc::frame_message(&mut body, b"a message");
    for token in 0..5 {
        driver.post(token, "/grpc", &headers, &body);
    }
    driver.finish().unwrap();
    for token in 0..5 {
        let response = driver.take(token);
        assert_eq!(response.whole().0, 200);
        let mut deframer = grpc::Deframer::default();
        deframer.push(&response.body, |message| assert_eq!(message.payload(), b"a message")).unwrap();
        assert_eq!(deframer.finish(), Ok(1));
        let mut trailers = Headers::new();
        response.trailers.iter().for_each(|(name, value)| trailers.push(name, value));
        let view: HeaderView<'_> = trailers.view();
        let status = grpc::Status::from_trailers(&view).unwrap();
        let mut text = String::new();
        status.text_into(&mut text);
        assert_eq!((status.code.to_string(), text), ("FAILED_PRECONDITION".to_owned(), "not yet".to_owned()));
    }
}

#[test]
fn resets_fail_one_request_each() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    for (token, path) in ["/reset", "/refused", "/half", "/echo"].into_iter().enumerate() {
        driver.start(token as u64, "GET", path, b"");
    }
    driver.finish().unwrap();
    assert_eq!(driver.take(0).end, Some(Err(WireError::StreamReset(2))));
    assert_eq!(driver.take(1).end, Some(Err(WireError::RefusedStream)));
    assert_eq!(driver.take(2).end, Some(Err(WireError::StreamReset(8))));
    assert_eq!(driver.take(3).whole().0, 200);
    assert!(driver.machine.reusable());
}

#[test]
fn a_cancelled_request_leaves_the_connection_alive() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    driver.start(1, "GET", "/silent", b"");
    driver.start(2, "GET", "/empty", b"");
    while driver.machine.open_requests() > 1 {
        driver.exchange().unwrap();
    }
    driver.machine.cancel(1);
    assert_eq!(driver.fetch("GET", "/empty", b"").whole().0, 200);
}

#[test]
fn a_peer_that_shuts_down_finishes_what_is_open() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    driver.start(1, "POST", "/last", b"farewell");
    while driver.exchange().unwrap() {}
    assert_eq!(driver.take(1).whole(), (200, &b"farewell"[..]));
    assert_eq!((driver.machine.reusable(), driver.machine.capacity()), (false, 0));
}

#[test]
fn a_peer_that_gives_up_says_why() {
    let mut driver = connect(&Builder::new(), 1 << 14);
    driver.start(1, "POST", "/abrupt", b"x");
    assert_eq!(driver.finish(), Err(WireError::ConnectionEnded(11)));
    assert_eq!(driver.machine.open_requests(), 1);
}

/// The peer decodes what our encoder wrote, and sends it back in its own encoding: Huffman and all.
#[test]
fn header_compression_agrees_with_the_peer_in_any_order_and_size() {
    for table_bytes in [0, 200, 4096, 100_000] {
        let mut builder = Builder::new();
        builder.header_table_size(table_bytes);
        let mut driver = connect(&builder, 1 << 14);
        driver.fetch("GET", "/empty", b"");
        let mut random = 12345u32;
        let mut next = move |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % below
        };
        for _ in 0..400 {
            let mut headers = Headers::new();
            let count = next(10);
            for n in 0..count {
                let value: String = (0..next(60))
                    .map(|_| char::from(b'!' + next(if n % 2 == 0 { 2 } else { 94 }) as u8))
                    .collect();
                let kept = format!("value-{}", next(30));
                let value = if next(3) == 0 { value } else { kept };
                let name = format!("x-{n}-{}", next(4));
                headers.push(name.as_bytes(), value.as_bytes());
            }
            driver.post(1, "/headers", &headers, b"");
            driver.finish().unwrap();
            let mut seen = driver.take(1).fields;
            let mut sent: Vec<_> = headers.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
            seen.sort();
            sent.sort();
            assert_eq!(seen, sent);
        }
    }
}
