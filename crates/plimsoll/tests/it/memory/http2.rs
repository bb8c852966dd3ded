//! HTTP/2: heads that never end, and heads that are large once they are decoded.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use super::{run_within, serve};
use crate::command::TestFolder;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
}

/// Answers the first request on each connection with `begin`, and then with `piece` for ever.
fn serve_frames(begin: Vec<u8>, piece: Vec<u8>) -> SocketAddr {
    serve(move |mut stream: TcpStream| -> io::Result<()> {
        stream.write_all(b"\0\0\0\x04\0\0\0\0\0")?;
        let mut sent = [0; 4096];
        let mut received = 0;
        // Preface, settings and a request.
        while received < 100 {
            received += match stream.read(&mut sent)? {
                0 => return Ok(()),
                n => n,
            };
        }
        let mut rest = stream.try_clone()?;
        thread::spawn(move || while rest.read(&mut sent).is_ok_and(|n| n > 0) {});
        stream.write_all(&begin)?;
        loop {
            stream.write_all(&piece)?;
        }
    })
}

#[track_caller]
fn check(begin: Vec<u8>, piece: Vec<u8>, texts: &[&str]) {
    let address = serve_frames(begin, piece);
    let plan = format!(
        "version = 1\nprecheck = false\n[targets.web]\ngrpc = \"{address}\"\nproto = [\"a.proto\"]\n\
         [[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 20\nduration = \"1s\"\n\
         [[scenarios.steps]]\nname = \"call\"\ngrpc = \"web/a.S/Go\"\nmessage = {{}}\ntimeout = \"2s\"\n"
    );
    let proto = "syntax = \"proto3\"; package a; message M {} service S { rpc Go (M) returns (M); }";
    let folder = TestFolder::new(&plan);
    folder.write("a.proto", proto);
    let path = folder.path("a.proto").display().to_string();
    run_within(64, &plan.replace("a.proto", &path), texts);
}

#[test]
fn heads_without_end_and_heads_that_inflate_are_violations_of_the_protocol() {
    let literal = |value: &[u8]| [&b"\x40\x01a\x7f"[..], &[0xa1, 0x1e], value].concat();
    // Entries of 4,000 bytes, each referred to by one byte.
    let entry = literal(&[b'x'; 4_000]);
    let references = vec![0xbe; 12_000];
    let bomb = [&b"\x88"[..], &entry, &references].concat();
    let ping = [&b"\0\0\x08\x06\0\0\0\0\0"[..], &[0; 8]].concat();
    check(frame(HEADERS, END_HEADERS, &bomb), ping.clone(), &["protocol"]);
    check(frame(HEADERS, 0, b"\x88"), frame(CONTINUATION, 0, &[0xbe; 16_000]), &["protocol"]);
    check(frame(HEADERS, 0, b"\x88"), frame(CONTINUATION, 0, b""), &["protocol"]);
    let early_hints = frame(HEADERS, END_HEADERS, b"\x08\x03103");
    check(early_hints.clone(), early_hints, &["protocol"]);
    check(ping.clone(), ping, &[]);
}
