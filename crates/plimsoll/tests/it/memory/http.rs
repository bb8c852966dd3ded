//! HTTP: metrics, profiles, and targets whose bodies are checked.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use flate2::{Compress, Compression, FlushCompress};

use super::{quiet_load, run_within, serve};
use crate::command::HANG;

/// A megabyte inflates to so many.
const GZIP_RATIO: usize = 900;

/// Gzip that inflates to `mib` MiB of zeros, and ends there without its checksum.
fn gzip_bomb(mib: usize) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::best(), false);
    let mut piece = Vec::with_capacity(64 << 10);
    // After a full flush the same bytes mean the same again.
    deflate.compress_vec(&vec![0; 1 << 20], &mut piece, FlushCompress::Full).unwrap();
    assert!(deflate.total_in() == 1 << 20 && piece.len() < (1 << 20) / GZIP_RATIO);
    [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(), piece.repeat(mib)].concat()
}

/// Answers each request on a connection with `head`, and then with what `body` writes.
fn answer(stream: TcpStream, head: &str, body: impl Fn(&mut TcpStream) -> io::Result<()>) -> io::Result<()> {
    let mut requests = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n")?;
        body(&mut stream)?;
    }
}

fn endless(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    let pieces = piece.repeat((64 << 10) / piece.len());
    loop {
        stream.write_all(&pieces)?;
    }
}

fn serve_bomb(head: &'static str) -> std::net::SocketAddr {
    let bomb = gzip_bomb(2_000);
    serve(move |stream| {
        let head = format!("content-length: {}\r\n{head}", bomb.len());
        answer(stream, &head, |stream| stream.write_all(&bomb))
    })
}

#[test]
fn a_page_of_metrics_is_not_inflated_beyond_its_limit() {
    let address = serve_bomb("content-encoding: gzip\r\n");
    let plan = quiet_load(&format!("[targets.shop.observe]\nprometheus = \"http://{address}/metrics\"\n"));
    run_within(128, &plan, &["larger than 8388608 bytes"]);
}

#[test]
fn an_endless_page_of_metrics_is_not_read_to_its_end() {
    let address = serve(|stream| answer(stream, "", |stream| endless(stream, b"process_a{b=\"c\"} 1\n")));
    let plan = quiet_load(&format!("[targets.shop.observe]\nprometheus = \"http://{address}/metrics\"\n"));
    run_within(128, &plan, &["larger than 8388608 bytes"]);
}

#[test]
fn a_head_of_metrics_without_end_is_not_read_to_its_end() {
    let address = serve(|mut stream| {
        let mut request = [0; 1024];
        let _length = stream.read(&mut request)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
        endless(&mut stream, b"y")
    });
    let plan = quiet_load(&format!("[targets.shop.observe]\nprometheus = \"http://{address}/metrics\"\n"));
    run_within(64, &plan, &["cannot be read"]);
}

fn profiled(address: std::net::SocketAddr) -> String {
    let plan = quiet_load(&format!("[targets.shop.observe]\npprof = \"http://{address}/debug/pprof\"\n"));
    let profile = "[[profiles]]\nat = \"in phase steady\"\nlength = \"1s\"\nkinds = [\"cpu\", \"heap\"]\n";
    plan.replace("[[scenarios]]", &format!("{profile}[[scenarios]]"))
}

#[test]
fn a_profile_is_not_inflated_beyond_its_limit() {
    run_within(256, &profiled(serve_bomb("")), &["cannot be read"]);
    run_within(256, &profiled(serve_bomb("content-encoding: gzip\r\n")), &["larger than"]);
}

/// Users that each need the whole body.
fn checked(address: std::net::SocketAddr, users: usize) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.web]\nurl = \"http://{address}\"\n\
         [[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = {users}\nduration = \"2s\"\n\
         [[scenarios.steps]]\nname = \"get\"\nget = \"${{web.url}}/\"\ntimeout = \"6s\"\n\
         expect = {{ body_contains = \"needle\" }}\n"
    )
}

#[test]
fn bodies_that_many_users_keep_for_checks_share_one_budget() {
    const USERS: usize = 60;
    let body = Arc::new(vec![b'x'; 12 << 20]);
    let sent = Arc::new((Mutex::new(0), Condvar::new()));
    let address = serve(move |stream| {
        let (body, sent) = (body.clone(), sent.clone());
        // The end comes when all of them have the rest, so that all of that is kept at once.
        answer(stream, &format!("content-length: {}\r\n", body.len() + 1), |stream| {
            stream.write_all(&body)?;
            let (count, changed) = &*sent;
            *count.lock().unwrap() += 1;
            changed.notify_all();
            drop(changed.wait_timeout_while(count.lock().unwrap(), HANG, |count| *count < USERS).unwrap());
            stream.write_all(b"x")
        })
    });
    // A body that grows is copied, and the allocator asks for more than a block to align it, in each loop at once.
    run_within(
        384,
        &checked(address, USERS).replace("\"6s\"", "\"60s\""),
        &["the bodies that plimsoll keeps at once for checks", "bodies or extracted values were cut"],
    );
}

#[test]
fn endless_bodies_end_with_the_time_limit() {
    let address =
        serve(|stream| answer(stream, "content-length: 1000000000000\r\n", |stream| endless(stream, b"x")));
    run_within(384, &checked(address, 60), &["timeout"]);
}

#[test]
fn endless_heads_are_violations_of_the_protocol() {
    let flood = |begin: &'static [u8], piece: &'static [u8]| {
        serve(move |mut stream| {
            let mut request = [0; 1024];
            let _length = stream.read(&mut request)?;
            stream.write_all(begin)?;
            endless(&mut stream, piece)
        })
    };
    let head = flood(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n");
    let interim = b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n";
    run_within(64, &checked(head, 60), &["protocol"]);
    run_within(64, &checked(flood(b"", interim), 60), &["protocol"]);
    let stray = flood(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", interim);
    run_within(64, &checked(stray, 60), &[]);
}

#[test]
fn bodies_that_inflate_are_not_inflated_beyond_the_limit_of_checks() {
    let address = serve_bomb("content-encoding: gzip\r\n");
    run_within(320, &checked(address, 2), &["longer than 16777216 bytes when it is decoded"]);
}
