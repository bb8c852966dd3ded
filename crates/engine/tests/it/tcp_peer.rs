//! Hand-made peers over TCP.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A peer that calls `serve` with each connection, on a thread of its own; they count from 1.
pub(crate) fn serving(serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (nth, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let serve = serve.clone();
            thread::spawn(move || serve(nth + 1, stream));
        }
    });
    addr
}

/// Read the head of a request. False: the client has closed the connection.
pub(crate) fn read_head(stream: &mut TcpStream) -> bool {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(b"\r\n\r\n") {
        if !stream.read(&mut byte).is_ok_and(|n| n > 0) {
            return false;
        }
        seen.push(byte[0]);
    }
    true
}
