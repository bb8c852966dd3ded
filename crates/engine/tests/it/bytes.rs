//! The bytes of a request are those of its own stream, however it ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use evidence::memory::MemoryRun;
use evidence::{Metric, Outcome};
use workload::{HttpVersion, Step};

use crate::accounting::Accounting;
use crate::drive::drive;
use crate::plan::{Plan, Tuned, WEB, at_rate, get, ms, request, scenario, sequence};

const PREFACE_BYTES: usize = 24;
const FRAME_HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` in the static table.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// DATA frames of at most 10,000 bytes.
fn data(stream: u32, bytes: usize) -> Vec<u8> {
    let parts = (0..bytes).step_by(10_000);
    parts.flat_map(|from| frame(DATA, 0, stream, &vec![b'x'; (bytes - from).min(10_000)])).collect()
}

fn end(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, &[])
}

/// A request that a peer has received: its stream, and whether it has a body.
#[derive(Debug, Clone, Copy)]
struct ReceivedRequest {
    stream: u32,
    has_body: bool,
}

/// A peer that serves one connection and writes `answer` to the requests so far whenever another has come. Its thread
/// returns how many bytes of HEADERS and DATA frames it has read.
fn serve(answer: fn(&[ReceivedRequest]) -> Vec<u8>) -> (SocketAddr, JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut read = 0;
        // It ends when the client closes the connection.
        let _ = run(stream, answer, &mut read);
        read
    });
    (addr, thread)
}

fn run(mut stream: TcpStream, answer: fn(&[ReceivedRequest]) -> Vec<u8>, read: &mut u64) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE_BYTES])?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    let mut asked = Vec::new();
    loop {
        let mut header = [0; FRAME_HEADER_BYTES];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, s, t, u, v] = header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        stream.read_exact(&mut vec![0; length])?;
        if kind == HEADERS || kind == DATA {
            *read += (FRAME_HEADER_BYTES + length) as u64;
        }
        if kind == HEADERS {
            let has_body = flags & END_STREAM == 0;
            asked.push(ReceivedRequest { stream: u32::from_be_bytes([s, t, u, v]), has_body });
            stream.write_all(&answer(&asked))?;
        }
    }
}

fn post(name: &str, body: &str) -> Step {
    request("POST", name, "/").body(body)
}

/// Each step once, all at the same time, over one HTTP/2 connection.
fn ran(addr: SocketAddr, steps: impl IntoIterator<Item = Step>) -> crate::drive::FinishedRun {
    let mut plan =
        Plan::of(addr).connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(1)));
    for step in steps {
        let name = step.name.clone();
        plan = plan.scenario(scenario(&name, at_rate(10.0, ms(100)), sequence([step.within(ms(400))])));
    }
    drive(plan.compile())
}

fn received(run: &MemoryRun, endpoint: &str) -> u64 {
    run.count(Metric::BytesIn, |key| &*key.endpoint == endpoint)
}

#[test]
fn streams_of_one_connection_have_their_own_bytes() {
    let (addr, peer) = serve(|asked| {
        let [first, second] = asked else { return Vec::new() };
        let (large, small) =
            if first.has_body { (first.stream, second.stream) } else { (second.stream, first.stream) };
        let head = |stream| frame(HEADERS, END_HEADERS, stream, OK);
        let (begun, rest) = (data(large, 50_000), data(large, 50_000));
        [head(small), head(large), begun, data(small, 1_000), end(small), rest, end(large)].concat()
    });
    let ran = ran(addr, [get("small", "/"), post("large", "body")]);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("small"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.outcomes("large"), [(Outcome::Ok, 1)].into());
    let framed = |bytes, frames| bytes + frames * FRAME_HEADER_BYTES as u64;
    assert_eq!(received(run, "small"), framed(1 + 1_000, 3));
    assert_eq!(received(run, "large"), framed(1 + 100_000, 12));
    assert_eq!(run.all(Metric::BytesOut), peer.join().unwrap());
}

#[test]
fn bytes_of_a_stream_that_timed_out_are_its_own() {
    let (addr, _) = serve(|asked| {
        let [first, second] = asked else { return Vec::new() };
        let (large, small) =
            if first.has_body { (first.stream, second.stream) } else { (second.stream, first.stream) };
        let head = |stream| frame(HEADERS, END_HEADERS, stream, OK);
        let part = frame(DATA, END_STREAM, large, &[b'x'; 1_000])[..300].to_vec();
        [head(small), head(large), data(small, 10), end(small), data(large, 5_000), part].concat()
    });
    let ran = ran(addr, [get("small", "/"), post("large", "body")]);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("small"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.outcomes("large"), [(Outcome::Timeout, 1)].into());
    assert_eq!(received(run, "small"), 3 * 9 + 1 + 10);
    assert_eq!(received(run, "large"), 2 * 9 + 1 + 5_000 + 300);
}

#[test]
fn bytes_that_the_peers_window_held_back_are_counted_when_they_are_sent() {
    let (addr, peer) = serve(|asked| {
        // The first window of a connection and of a stream is 65,535 bytes.
        let more = 50_000_u32.to_be_bytes();
        [frame(WINDOW_UPDATE, 0, 0, &more), frame(WINDOW_UPDATE, 0, asked[0].stream, &more)].concat()
    });
    let ran = ran(addr, [post("held", &"x".repeat(200_000))]);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("held"), [(Outcome::Timeout, 1)].into());
    let sent = run.all(Metric::BytesOut);
    assert_eq!(sent, peer.join().unwrap());
    assert!(sent > 115_535 && sent < 116_000, "{sent}");
}

#[test]
fn bytes_of_an_http_1_request_that_timed_out_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst";
    let reader = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(part).unwrap();
        let mut read = Vec::new();
        // The connection is closed when the request times out.
        let _ = stream.read_to_end(&mut read);
        read.len() as u64
    });
    let step = get("s", "/").within(ms(300));
    let ran =
        drive(Plan::of(addr).scenario(scenario("s", at_rate(10.0, ms(100)), sequence([step]))).compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("s"), [(Outcome::Timeout, 1)].into());
    assert_eq!(run.all(Metric::BytesIn), part.len() as u64);
    assert_eq!(run.all(Metric::BytesOut), reader.join().unwrap());
}
