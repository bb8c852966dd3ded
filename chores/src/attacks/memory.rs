//! Peers that send more than was asked for. The command meets them with a limit on the memory that it can write to.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::Fixture;
use super::expectation::Expectation;
use super::peer::{self, Script};

/// What a run that watches one service may write to, in MiB: far above what it needs, far below what these peers send.
const WATCHING_MIB: u64 = 384;
/// With bodies that are kept for checks (256 MiB in the whole run), and one JSON document of 256 MiB.
const CHECKING_MIB: u64 = 896;

/// Plays every attack.
pub(super) fn attack(fixture: &Fixture) -> Result<Vec<Expectation>> {
    let page = |more: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n{more}\r\n");
    let bomb = gzip_of_zeros(2 << 30)?;
    let inflated = page(&format!("content-encoding: gzip\r\ncontent-length: {}\r\n", bomb.len()));
    let metrics = [
        ("2 GiB of metrics in a page of 2 MB", Script::once([inflated.into_bytes(), bomb].concat())),
        (
            "a page of metrics without end",
            endless(&page("connection: close\r\n"), &"a_metric{x=\"1\"} 1\n".repeat(4096)),
        ),
        ("a header of metrics without end", endless("HTTP/1.1 200 OK\r\nx: ", &"y".repeat(65_536))),
    ];
    let mut outcomes = Vec::new();
    for (what, script) in metrics {
        let url = format!("http://{}/metrics", peer::serve(script)?);
        outcomes.push(watched(fixture, what, &url)?);
    }
    let redis = [
        ("a value of 8 GiB from Redis", endless("$8589934592\r\n", &"x".repeat(65_536))),
        ("lists in lists without end from Redis", endless("", &"*1\r\n".repeat(16_384))),
    ];
    for (what, script) in redis {
        outcomes.push(watched(fixture, what, &format!("redis://{}", peer::serve(script)?))?);
    }
    // AuthenticationOk, then a message of almost 2 GiB; or errors of 64 KiB without end.
    let accepted = b"R\0\0\0\x08\0\0\0\0".to_vec();
    let notice = [b"N\0\x01\0\x04".to_vec(), vec![b'x'; 65_536]].concat();
    let postgres = [
        (
            "a message of 2 GiB from PostgreSQL",
            [accepted.clone(), b"S\x7f\xff\xff\xff".to_vec()].concat(),
            vec![b'x'; 65_536],
        ),
        ("notices without end from PostgreSQL", accepted, notice),
    ];
    for (what, head, endless) in postgres {
        let address = peer::serve(Script { head, endless })?;
        outcomes.push(watched(fixture, what, &format!("postgresql://me@{address}/shop?sslmode=disable"))?);
    }
    let body = endless("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", &"[".repeat(65_536));
    outcomes.push(checked(fixture, "bodies without end, 64 users, a check on each", peer::serve(body)?)?);
    let head = endless("HTTP/1.1 200 OK\r\n", &"x-name: value\r\n".repeat(4096));
    outcomes.push(checked(fixture, "headers without end, 64 users", peer::serve(head)?)?);
    Ok(outcomes)
}

fn endless(head: &str, endless: &str) -> Script {
    Script { head: head.as_bytes().to_vec(), endless: endless.as_bytes().to_vec() }
}

/// `monitor` for three seconds.
fn watched(fixture: &Fixture, what: &str, target: &str) -> Result<Expectation> {
    let folder = fixture.folder(what)?;
    let ran = fixture.limited(
        &folder,
        WATCHING_MIB,
        &["monitor", target, "--for", "3s", "-o", "watched.plimsoll"],
    )?;
    Ok(outcome(what, WATCHING_MIB, &ran))
}

/// A run of three seconds that checks every body.
fn checked(fixture: &Fixture, what: &str, target: SocketAddr) -> Result<Expectation> {
    let folder = fixture.folder(what)?;
    let plan = format!(
        "version = 1\nprecheck = false\n[targets.shop]\nurl = \"http://{target}\"\n[[phases]]\nname = \"steady\"\nduration = \"3s\"\n\
         [[scenarios]]\nname = \"play\"\nexecutor = \"constant-vus\"\nvus = 64\n[[scenarios.steps]]\nname = \"get\"\n\
         get = \"${{shop.url}}/\"\ntimeout = \"2s\"\nexpect = {{ json = {{ \"$.a\" = 1 }} }}\n"
    );
    fs::write(folder.join("plan.toml"), plan).context("cannot write a plan")?;
    let ran =
        fixture.limited(&folder, CHECKING_MIB, &["run", "plan.toml", "--quiet", "-o", "run.plimsoll"])?;
    Ok(outcome(what, CHECKING_MIB, &ran).unless(folder.join("run.plimsoll").exists(), "there is no run file"))
}

fn outcome(what: &str, limit_mib: u64, ran: &super::Ran) -> Expectation {
    let happened = format!(
        "{} MiB at most of {limit_mib} allowed, {:.1} s, {}",
        ran.peak_mib,
        ran.took.as_secs_f64(),
        ran.ending()
    );
    Expectation::new(what, happened)
        .unless(ran.is_orderly(), "it did not end by itself")
        .unless(!ran.stderr.contains("memory allocation"), "it ran out of memory")
}

/// So many zeros, compressed by gzip.
fn gzip_of_zeros(bytes: u64) -> Result<Vec<u8>> {
    let zeros = vec![0; 1 << 20];
    gzip((0..bytes >> 20).map(move |_| zeros.clone()))
}

/// These bytes, compressed by gzip.
pub(super) fn gzip(parts: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Result<Vec<u8>> {
    let mut gzip = Command::new("gzip")
        .arg("-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start gzip")?;
    let mut input = gzip.stdin.take().context("gzip has an input")?;
    let mut parts = parts;
    let writer = std::thread::spawn(move || parts.try_for_each(|part| input.write_all(&part)));
    let output = gzip.wait_with_output().context("cannot read from gzip")?;
    ensure!(output.status.success() && writer.join().is_ok_and(|written| written.is_ok()), "gzip failed");
    Ok(output.stdout)
}
