//! In steady state an exchange allocates nothing. Counted by thread, so that other tests do not matter.
#![allow(unsafe_code, reason = "a global allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wire::{Connection, Event, Headers, Request, Scheme, grpc, h1, h2};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came; the counter neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is being torn down has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Allocations in the second thousand of exchanges; the first may grow buffers.
fn in_steady_state(mut exchange: impl FnMut(u64)) -> u64 {
    (0..1000).for_each(&mut exchange);
    let before = ALLOCATIONS.get();
    (1000..2000).for_each(&mut exchange);
    ALLOCATIONS.get() - before
}

fn headers() -> Headers {
    let mut headers = Headers::new();
    headers.push(b"accept", b"application/json");
    headers.push_secret(b"authorization", b"Bearer x");
    headers
}

#[test]
fn http1_exchanges_allocate_nothing() {
    let mut connection = h1::Connection::new();
    let headers = headers();
    let (method, path, authority) = (&b"POST"[..], &b"/a?b=c"[..], &b"host:80"[..]);
    let request = Request { method, path, authority, scheme: Scheme::Http, headers: &headers, body: b"body" };
    let response = b"HTTP/1.1 200 OK\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    // Cut in its head, so that the partial head is counted too.
    let (start, rest) = response.split_at(20);
    let mut done = 0;
    let allocations = in_steady_state(|token| {
        connection.start(token, &request).unwrap();
        connection.sent(usize::MAX);
        for piece in [start, rest] {
            let mut count = |event: Event<'_>| done += u64::from(matches!(event, Event::Done { .. }));
            connection.receive(piece, &mut count).unwrap();
        }
    });
    assert_eq!((allocations, done), (0, 2000));
}

#[test]
fn grpc_exchanges_allocate_nothing() {
    let mut connection = h2::Connection::new(h2::Config::default());
    let (mut headers, mut body) = (headers(), Vec::new());
    grpc::push_headers(&mut headers, None);
    grpc::frame_message(&mut body, b"a message");
    let (method, path, authority) = (&b"POST"[..], &b"/package.Service/Method"[..], &b"host:80"[..]);
    let request = Request { method, path, authority, scheme: Scheme::Http, headers: &headers, body: &body };
    // Settings, and a connection window for all that follows.
    let opening = b"\0\0\0\x04\0\0\0\0\0\0\0\x04\x08\0\0\0\0\0\x40\0\0\0";
    connection.receive(opening, &mut |_: Event<'_>| {}).unwrap();
    let (mut deframer, mut calls) = (grpc::Deframer::default(), 0);
    let mut response =
        b"\0\0\x01\x01\x04\0\0\0\0\x88\0\0\x06\0\0\0\0\0\0\0\0\0\0\x01m\0\0\x0f\x01\x05\0\0\0\0\
        \0\x0bgrpc-status\x010"
            .to_vec();
    let allocations = in_steady_state(|token| {
        connection.start(token, &request).unwrap();
        connection.sent(usize::MAX);
        let stream = (2 * token as u32 + 1).to_be_bytes();
        for at in [5, 15, 30] {
            response[at..at + 4].copy_from_slice(&stream);
        }
        let mut take = |event: Event<'_>| match event {
            Event::Body { chunk, .. } => {
                deframer.push(chunk, |message| assert_eq!(message.payload(), b"m")).unwrap()
            }
            Event::Trailers { headers, .. } => {
                calls += u64::from(grpc::Status::from_trailers(&headers).is_some());
            }
            _ => {}
        };
        connection.receive(&response, &mut take).unwrap();
        deframer.clear();
    });
    assert_eq!((allocations, calls), (0, 2000));
}
