//! HTTP/1.1 against hyper.

use wire::Connection as _;
use wire::h1::Connection;

use crate::driver::Driver;
use crate::h1_peer;

fn connect(piece_bytes: usize) -> Driver<Connection> {
    Driver::connect(Connection::new(), h1_peer::serve(), piece_bytes)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn many_requests_on_one_connection() {
    for piece_bytes in [1 << 16, 100, 1] {
        let mut driver = connect(piece_bytes);
        for _ in 0..20 {
            assert_eq!(driver.fetch("GET", "/", b"").whole(), (200, &b""[..]));
            assert_eq!(driver.fetch("POST", "/", b"").whole(), (200, &b""[..]));
            assert_eq!(driver.fetch("POST", "/", b"hello").whole(), (200, &b"hello"[..]));
            assert_eq!(driver.fetch("PUT", "/chunked", b"hello").whole(), (200, &b"hello"[..]));
            assert_eq!(driver.fetch("HEAD", "/", b"").whole(), (200, &b""[..]));
            assert_eq!(driver.fetch("DELETE", "/nothing", b"").whole(), (204, &b""[..]));
            assert_eq!(driver.fetch("GET", "/missing", b"").whole(), (404, &b""[..]));
        }
        assert!(driver.machine.reusable());
    }
}

#[test]
fn large_bodies_both_ways() {
    let mut driver = connect(1 << 16);
    let body = pattern(5 << 20);
    for path in ["/", "/chunked"] {
        assert_eq!(driver.fetch("POST", path, &body).whole(), (200, &body[..]));
    }
}

#[test]
fn a_closing_peer_ends_the_connection_after_the_response() {
    let mut driver = connect(1 << 16);
    assert_eq!(driver.fetch("POST", "/close", b"bye").whole(), (200, &b"bye"[..]));
    assert!(!driver.machine.reusable());
    assert!(!driver.exchange().unwrap());
}
