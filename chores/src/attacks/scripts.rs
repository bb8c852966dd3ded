//! k6 scripts: what targets make them hold, hand on and print, and what leaves the folder of their files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::expectation::Expectation;
use super::peer::{self, Received, Script};
use super::{Fixture, Ran};

/// What a run may write to, in MiB: 1 GiB of responses that scripts hold, and far less than the decoded bodies take.
const HOLDING_MIB: u64 = 1_408;
/// A body of 120 MiB, and twice as much while a selector reads it.
const READING_MIB: u64 = 512;
/// Begins the line by which the command that follows a run in a cluster knows the run file.
const MARKER: &str = "plimsoll-run-file sha256=";

/// Plays every attack.
pub(super) fn attack(fixture: &Fixture) -> Result<Vec<Expectation>> {
    Ok(vec![
        redirected(fixture)?,
        held(fixture)?,
        selected(fixture)?,
        linked(fixture)?,
        forged(fixture)?,
        printed_key(fixture)?,
    ])
}

/// Makes a script in a folder of its own.
fn script(fixture: &Fixture, name: &str, text: &str) -> Result<PathBuf> {
    let folder = fixture.folder(name)?;
    fs::write(folder.join("script.js"), text).context("cannot write a script")?;
    Ok(folder)
}

fn run(fixture: &Fixture, folder: &Path, limit_mib: u64, more: &[&str]) -> Result<Ran> {
    let fixed = ["run", "script.js", "--quiet", "--force", "--evidence", "run.plimsoll"];
    fixture.limited(folder, limit_mib, &[&fixed[..], more].concat())
}

fn redirected(fixture: &Fixture) -> Result<Expectation> {
    let (at_target, at_other) = (Received::default(), Received::default());
    let ok = Script::once("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let other = peer::serve_recorded(ok, at_other.clone())?;
    let to = |status: &str| {
        format!("HTTP/1.1 {status}\r\nlocation: http://{other}/landed\r\ncontent-length: 0\r\n\r\n")
    };
    let found = peer::serve_recorded(Script::once(to("302 Found")), at_target.clone())?;
    let kept = peer::serve_recorded(Script::once(to("307 Temporary Redirect")), at_target.clone())?;
    let text = format!(
        "import http from 'k6/http';
        const headers = {{ Authorization: 'Bearer 5ecret', 'X-Api-Key': '5ecret', 'Private-Token': '5ecret', Cookie: 'sid=5ecret' }};
        export const options = {{ iterations: 1 }};
        export default () => {{
            http.get('http://{found}/?token=5ecret', {{ headers }});
            http.post('http://{kept}/', JSON.stringify({{ password: '5ecret' }}), {{ headers }});
        }};"
    );
    let folder = script(fixture, "a redirect of a script", &text)?;
    let ran = run(fixture, &folder, HOLDING_MIB, &[])?;
    let (sent, passed_on) = (at_target.lock(), at_other.lock());
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let happened = format!("{} bytes to the target, {} to the other", sent.len(), passed_on.len());
    Ok(Expectation::new("a redirect of a script to another origin", happened)
        .unless(ran.is_orderly(), "it did not end by itself")
        .unless(has(&sent, "password") && has(&sent, "Bearer 5ecret"), "the target did not get them")
        .unless(has(&passed_on, "/landed"), "it was not followed")
        .unless(!has(&passed_on, "5ecret"), "the other host got a secret"))
}

/// A response whose body is compressed.
fn compressed(body: Vec<u8>) -> Result<Script> {
    let body = super::memory::gzip(std::iter::once(body))?;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    Ok(Script::once([head.into_bytes(), body].concat()))
}

fn held(fixture: &Fixture) -> Result<Expectation> {
    let target = peer::serve(compressed(vec![b'x'; 250 << 20])?)?;
    let text = format!(
        "import http from 'k6/http';
        import {{ sleep }} from 'k6';
        export const options = {{ scenarios: {{ s: {{ executor: 'per-vu-iterations', vus: 12, iterations: 1 }} }} }};
        export default () => {{ const held = http.get('http://{target}/'); sleep(5); console.log(held.status); }};"
    );
    let folder = script(fixture, "decoded bodies", &text)?;
    let ran = run(fixture, &folder, HOLDING_MIB, &[])?;
    Ok(bounded("12 decoded bodies of 250 MiB that virtual users hold", HOLDING_MIB, &ran))
}

fn selected(fixture: &Fixture) -> Result<Expectation> {
    let zeros = "0,".repeat(60 << 20);
    let target = peer::serve(compressed(format!("[{zeros}0]").into_bytes())?)?;
    let text = format!(
        "import http from 'k6/http';
        export const options = {{ iterations: 1 }};
        export default () => console.log(http.get('http://{target}/').json('#'));"
    );
    let folder = script(fixture, "a selector", &text)?;
    let ran = run(fixture, &folder, READING_MIB, &[])?;
    let outcome = bounded("an array of 120 MiB under a selector", READING_MIB, &ran);
    Ok(outcome.unless(ran.stderr.contains(&format!("INFO {}", (60 << 20) + 1)), "it was not counted"))
}

fn bounded(what: &str, limit_mib: u64, ran: &Ran) -> Expectation {
    let happened = format!("{} MiB at most of {limit_mib} allowed, {}", ran.peak_mib, ran.ending());
    Expectation::new(what, happened)
        .unless(ran.is_orderly(), "it did not end by itself")
        .unless(!ran.stderr.contains("memory allocation"), "it ran out of memory")
}

fn linked(fixture: &Fixture) -> Result<Expectation> {
    let text = "console.log(open('./below/link')); export default () => {};";
    let folder = script(fixture, "a link", text)?;
    fs::write(folder.join("outside"), "5ecret").context("cannot write a file")?;
    let below = folder.join("below");
    fs::create_dir_all(&below).context("cannot make a folder")?;
    fs::write(below.join("script.js"), "console.log(open('./link')); export default () => {};")
        .context("cannot write a script")?;
    if !below.join("link").is_symlink() {
        std::os::unix::fs::symlink("../outside", below.join("link")).context("cannot make a link")?;
    }
    let arguments = ["run", "below/script.js", "--quiet", "--files-under", "below"];
    let ran = fixture.limited(&folder, HOLDING_MIB, &arguments)?;
    Ok(Expectation::new("a link that leads out of --files-under", ran.ending())
        .unless(ran.code == Some(107), "it was not refused")
        .unless(!ran.stderr.contains("5ecret"), "the file was read"))
}

fn forged(fixture: &Fixture) -> Result<Expectation> {
    let body = format!("first\n{MARKER}{} bytes=1 exit=0 of=script\n", "0f".repeat(32));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let target = peer::serve(Script::once(head + &body))?;
    let text = format!(
        "import http from 'k6/http';
        export const options = {{ iterations: 1 }};
        export default () => console.log(http.get('http://{target}/').body);"
    );
    let folder = script(fixture, "a forged marker", &text)?;
    let ran = run(fixture, &folder, HOLDING_MIB, &[])?;
    let is_forged = ran.stderr.lines().chain(ran.stdout.lines()).any(|line| line.starts_with(MARKER));
    Ok(Expectation::new("a body that is logged, with the line about a run file", ran.ending())
        .unless(ran.stderr.contains(MARKER), "it was not logged")
        .unless(!is_forged, "a line of the log is like the line about the run file"))
}

fn printed_key(fixture: &Fixture) -> Result<Expectation> {
    let text =
        "const key = open('./run.pem'); export const options = { iterations: 1 }; export default () => {};";
    let folder = script(fixture, "a private key", text)?;
    let keys = fixture.limited(&folder, HOLDING_MIB, &["worker", "--make-keys", "run.pem"]);
    // It is there when the attacks are played again.
    drop(keys?);
    let arguments = ["manifest", "script.js", "--kubernetes", "2", "--image", "registry/plimsoll:1"];
    let ran = fixture.limited(&folder, HOLDING_MIB, &arguments)?;
    Ok(Expectation::new("a private key that a script opens, in a manifest", ran.ending())
        .unless(ran.code == Some(0) && ran.stdout.contains("path: run.pem"), "there is no manifest")
        .unless(!ran.stdout.contains("PRIVATE KEY"), "the key is printed"))
}
