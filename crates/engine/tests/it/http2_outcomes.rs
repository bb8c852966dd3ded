//! Every response of an HTTP/2 peer gives the right outcome, and no fault affects other requests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Site};
use workload::HttpVersion;

use crate::accounting::Accounting;
use crate::drive::drive;
use crate::plan::{Plan, Tuned, WEB, at_rate, get, ms, scenario, sequence};

const COUNT: u64 = 10;
const PREFACE_BYTES: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` in the static table.
const OK: &[u8] = &[0x88];

/// A frame on the request's stream.
#[derive(Debug, Clone)]
struct Frame(u8, u8, Vec<u8>);

fn frame(kind: u8, flags: u8, payload: impl Into<Vec<u8>>) -> Frame {
    Frame(kind, flags, payload.into())
}

impl Frame {
    fn write(&self, stream: u32) -> Vec<u8> {
        let Frame(kind, flags, payload) = self;
        let stream = if *kind == GOAWAY { 0 } else { stream };
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[*kind, *flags], &stream.to_be_bytes(), payload].concat()
    }
}

/// A peer that answers each request with these frames.
fn peer_that_answers(frames: Vec<Frame>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let frames = frames.clone();
            // A client may close the connection before the whole answer is sent.
            thread::spawn(move || serve(stream, &frames));
        }
    });
    addr
}

fn serve(mut stream: TcpStream, answer: &[Frame]) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE_BYTES])?;
    stream.write_all(&frame(SETTINGS, 0, []).write(0))?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, _, s, t, u, v] = header;
        stream.read_exact(&mut vec![0; u32::from_be_bytes([0, a, b, c]) as usize])?;
        if kind == HEADERS {
            let id = u32::from_be_bytes([s, t, u, v]);
            stream.write_all(&answer.iter().flat_map(|frame| frame.write(id)).collect::<Vec<_>>())?;
        }
    }
}

/// A healthy target gets requests at the same time as the faulty peer, by the same loop.
fn check(what: &str, frames: impl Into<Vec<Frame>>, expected: Outcome) {
    let good = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(peer_that_answers(frames.into()))
        .connecting(WEB, |c| c.http = HttpVersion::Http2)
        .http("good", good.addr())
        .scenario(scenario("bad", at_rate(50.0, ms(200)), sequence([get("bad", "/").within(ms(1_000))])))
        .scenario(scenario("good", at_rate(100.0, ms(400)), sequence([get("good", "/").at("good")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("bad"), [(expected, COUNT)].into(), "{what}");
    assert_eq!(run.outcomes("good"), [(Outcome::Ok, 40)].into(), "beside {what}");
}

#[test]
fn complete_responses_are_ok() {
    let head = frame(HEADERS, END_HEADERS, OK);
    check("a body", [head.clone(), frame(DATA, END_STREAM, *b"hi")], Outcome::Ok);
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, *b"\0\x01x\x01y");
    check("trailers without a status", [head, frame(DATA, 0, *b"hi"), trailers], Outcome::Ok);
    let cut = [frame(HEADERS, END_STREAM, []), frame(CONTINUATION, END_HEADERS, OK)];
    check("a head in two frames", cut, Outcome::Ok);
}

#[test]
fn malformed_heads_are_protocol_errors() {
    let head = |block: &[u8]| [frame(HEADERS, END_HEADERS | END_STREAM, block)];
    check("no status", head(b"\0\x01x\x01y"), Outcome::Protocol);
    check("a name in capitals", head(b"\x88\0\x01X\x01y"), Outcome::Protocol);
    check("a line break", head(b"\x88\0\x01x\x03a\r\n"), Outcome::Protocol);
    check("a header of HTTP/1.1", head(b"\x88\0\x0aconnection\x05close"), Outcome::Protocol);
    check("an index beyond all tables", head(b"\xff\xff\xff\xff\x0f"), Outcome::Protocol);
    check("a number without end", head(&[0xff; 40]), Outcome::Protocol);
}

#[test]
fn heads_that_are_too_long_are_protocol_errors() {
    let mut field = b"\x88\0\x01x\x7f\x81\x7c".to_vec();
    field.resize(field.len() + 16_000, b'y');
    let again = frame(CONTINUATION, 0, field[1..].to_vec());
    let long = [&[frame(HEADERS, 0, field)][..], &vec![again; 5]].concat();
    check("five times 16 kB of headers", long, Outcome::Protocol);
    let endless = [&[frame(HEADERS, 0, OK)][..], &vec![frame(CONTINUATION, 0, []); 1_000]].concat();
    check("a head without end", endless, Outcome::Protocol);
    // An index that refers to the same 16 kB many times: small on the wire, large when decoded.
    let mut bomb = b"\x88\x40\x01x\x7f\x81\x1e".to_vec();
    bomb.resize(bomb.len() + 4_000, b'y');
    bomb.resize(bomb.len() + 10_000, 0xbe);
    check("a bomb", [frame(HEADERS, END_HEADERS | END_STREAM, bomb)], Outcome::Protocol);
}

#[test]
fn bodies_that_contradict_their_length_are_protocol_errors() {
    let head = |length: u8| frame(HEADERS, END_HEADERS, [0x88, 0x0f, 0x0d, 1, length]);
    check("less than promised", [head(b'5'), frame(DATA, END_STREAM, *b"hi")], Outcome::Protocol);
    check("more than promised", [head(b'1'), frame(DATA, END_STREAM, *b"hi")], Outcome::Protocol);
    check("no length", [head(b'x'), frame(DATA, END_STREAM, [])], Outcome::Protocol);
    let empty = [&[frame(HEADERS, END_HEADERS, OK)][..], &vec![frame(DATA, 0, []); 2_000]].concat();
    check("a flood of nothing", empty, Outcome::Protocol);
    check("a push", [frame(PUSH_PROMISE, END_HEADERS, *b"\0\0\0\x02\x88")], Outcome::Protocol);
}

#[test]
fn streams_that_the_peer_ends_are_resets() {
    let reset = frame(RST_STREAM, 0, [0, 0, 0, 2]);
    check("a reset", [reset.clone()], Outcome::Reset);
    check("a flood of resets", vec![reset.clone(); 5_000], Outcome::Reset);
    check("a reset in mid-answer", [frame(HEADERS, END_HEADERS, OK), reset], Outcome::Reset);
    check("a GOAWAY that accepts no stream", [frame(GOAWAY, 0, [0; 8])], Outcome::Reset);
}

/// Thousands of requests that are all reset share connections with some that are answered.
#[test]
fn resets_of_every_stream_of_one_endpoint_affect_no_other_endpoint() {
    let site = Site::new().at("/bad", GrpcBehaviour::Reset { reason: 8 }).otherwise(GrpcBehaviour::Http(200));
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(2)))
        .scenario(scenario("bad", at_rate(2_000.0, ms(1_000)), sequence([get("bad", "/bad")])))
        .scenario(scenario("good", at_rate(100.0, ms(1_000)), sequence([get("good", "/good")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("bad"), [(Outcome::Reset, 2_000)].into());
    assert_eq!(run.outcomes("good"), [(Outcome::Ok, 100)].into());
    assert_eq!((run.all(Metric::Requests), target.requests(), target.connections()), (2_100, 2_100, 2));
}
