//! Targets of k6 scripts, which hold what they receive as long as they like.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{run_script_within, serve};

/// The memory for what all virtual users hold.
const HELD_MIB: u64 = 1_024;

/// Answers every request with what this gives: further headers, and a body.
fn answer(mut stream: TcpStream, response: impl Fn() -> (String, Arc<Vec<u8>>)) -> std::io::Result<()> {
    let mut requests = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
        }
        let (head, body) = response();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{head}\r\n", body.len())?;
        stream.write_all(&body)?;
    }
}

/// A server of `mib` MiB of `piece`, between `begin` and `end`, compressed.
fn serve_compressed(begin: &str, piece: &str, end: &str, mib: usize) -> std::net::SocketAddr {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(begin.as_bytes()).unwrap();
    let part = piece.repeat((1 << 20) / piece.len());
    (0..mib).for_each(|_| gzip.write_all(part.as_bytes()).unwrap());
    gzip.write_all(end.as_bytes()).unwrap();
    let body = Arc::new(gzip.finish().unwrap());
    assert!(body.len() < mib * 2_000);
    serve(move |stream| answer(stream, || ("content-encoding: gzip\r\n".to_owned(), body.clone())))
}

#[test]
fn decoded_bodies_that_virtual_users_hold_share_one_budget() {
    let address = serve_compressed("", "x", "", 250);
    let script = format!(
        "import http from 'k6/http';
        import {{ sleep }} from 'k6';
        export const options = {{ scenarios: {{ s: {{ executor: 'per-vu-iterations', vus: 12, iterations: 1 }} }} }};
        export default function () {{
            const res = http.get('http://{address}/');
            sleep(5);
            console.log(res.status, res.error_code, res.error);
        }}"
    );
    let refused = "0 1000 the response body is too long: the bodies that plimsoll keeps at once";
    run_script_within(HELD_MIB, &script, &["INFO 200 0", refused]);
}

#[test]
fn a_selector_reads_a_body_without_a_document() {
    let address = serve_compressed("{\"a\":[", "0,", "0],\"b\":[{}]}", 120);
    let script = format!(
        "import http from 'k6/http';
        export const options = {{ iterations: 1 }};
        export default function () {{
            const res = http.get('http://{address}/', {{ timeout: '100s' }});
            console.log(res.json('a.#'), JSON.stringify(res.json('b')), res.json('c'));
        }}"
    );
    // The body, and twice as much while it is read.
    run_script_within(3 * 120 + 128, &script, &["INFO 62914561 [{}] undefined"]);
}

#[test]
fn cookies_are_as_many_and_as_long_as_stated() {
    let count = Arc::new(AtomicUsize::new(0));
    let (value, none) = ("x".repeat(3_900), Arc::new(Vec::new()));
    let address = serve(move |stream| {
        let response = || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let cookies = (0..4).map(|n| format!("set-cookie: c{number}_{n}={value}; path=/elsewhere\r\n"));
            (cookies.collect(), none.clone())
        };
        answer(stream, response)
    });
    let script = format!(
        "import http from 'k6/http';
        export const options = {{ vus: 16, iterations: 12000, duration: '110s', noCookiesReset: true }};
        export default function () {{
            http.get('http://{address}/');
            const held = http.cookieJar().cookiesForURL('http://{address}/elsewhere');
            if (__ITER === 700) console.log('held', Object.keys(held).length);
        }}"
    );
    run_script_within(64, &script, &["held 50"]);
}
