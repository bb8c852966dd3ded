//! Run files that were received: what lies beside them, and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::expectation::Expectation;
use super::peer::{self, Script};
use super::{Fixture, Ran, forged};

/// How often a run file is damaged at random.
const DAMAGED: u64 = 200;
const VICTIM: &str = "three years of work\n";

/// A folder with a run file, one with a file that it must not reach, and the outputs of commands.
struct Received {
    folder: PathBuf,
    run: PathBuf,
    victim: PathBuf,
}

/// Plays every attack.
pub(super) fn attack(fixture: &Fixture) -> Result<Vec<Expectation>> {
    let source = run_file(fixture)?;
    let mut outcomes = Vec::new();
    for (index, arguments) in READERS.iter().enumerate() {
        let received = received(fixture, &format!("journal-{index}"), &source)?;
        let journal = forged::journal(&received.run, &received.victim);
        write(&beside(&received.run, "-journal"), &journal)?;
        let ran = fixture.traced(&received.folder, arguments)?;
        outcomes.push(received.outcome("a journal that names another file", arguments, &ran));
    }
    for (index, arguments) in READERS.iter().enumerate() {
        let received = received(fixture, &format!("log-{index}"), &source)?;
        let first_page = read(&received.run)?[..4096].to_vec();
        write(&beside(&received.run, "-wal"), &forged::log(&first_page))?;
        let before = read(&received.run)?;
        let ran = fixture.traced(&received.folder, arguments)?;
        let is_unchanged = before == read(&received.run)?;
        outcomes.push(
            received.outcome("a forged log", arguments, &ran).unless(is_unchanged, "the run file changed"),
        );
    }
    let received = received(fixture, "linked-log", &source)?;
    std::os::unix::fs::symlink(&received.victim, beside(&received.run, "-wal")).context("cannot link")?;
    let ran = fixture.traced(&received.folder, READERS[0])?;
    outcomes.push(received.outcome("a log that is a link to another file", READERS[0], &ran));
    outcomes.push(damaged(fixture, &source)?);
    Ok(outcomes)
}

/// Every command that reads run files of others.
const READERS: [&[&str]; 4] = [
    &["report", "run.plimsoll", "--html", "out.html", "--json", "out.json"],
    &["compare", "run.plimsoll", "run.plimsoll"],
    &["export", "--profiles", "profiles", "run.plimsoll"],
    &["leaks", "run.plimsoll"],
];

/// A run file of a hundred requests.
fn run_file(fixture: &Fixture) -> Result<PathBuf> {
    let folder = fixture.folder("run")?;
    let target = peer::serve(Script::once("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"))?;
    let url = format!("http://{target}/");
    let ran = fixture.traced(&folder, &["http", &url, "-n", "100", "-c", "2", "-o", "run.plimsoll"])?;
    ensure!(ran.code == Some(0), "a run ended with {}", ran.ending());
    Ok(folder.join("run.plimsoll"))
}

fn received(fixture: &Fixture, name: &str, source: &Path) -> Result<Received> {
    let folder = fixture.folder(name)?;
    let elsewhere = fixture.folder(&format!("{name}-elsewhere"))?;
    let received =
        Received { run: folder.join("run.plimsoll"), victim: elsewhere.join("thesis.txt"), folder };
    write(&received.run, &read(source)?)?;
    write(&received.victim, VICTIM.as_bytes())?;
    Ok(received)
}

impl Received {
    fn outcome(&self, what: &str, arguments: &[&str], ran: &Ran) -> Expectation {
        let folder = self.folder.display().to_string();
        let [temporary, outputs] = ["tmp", "out."].map(|name| format!("{folder}/{name}"));
        // The folder of `export`, as it is named.
        let allowed = [temporary, outputs, "profiles".to_owned()];
        let elsewhere = ran.trace.elsewhere(&allowed);
        Expectation::new(format!("{what}, `{}`", arguments[0]), ran.ending())
            .unless(
                fs::read(&self.victim).is_ok_and(|text| text == VICTIM.as_bytes()),
                "the other file is gone",
            )
            .unless(ran.is_orderly(), "it did not end by itself")
            .unless(elsewhere.is_empty(), format!("wrote or removed {elsewhere:?}"))
            .unless(ran.trace.connected.is_empty(), format!("connected: {:?}", ran.trace.connected))
    }
}

/// Run files with bytes changed at random: every command ends by itself, and writes what it was asked for.
fn damaged(fixture: &Fixture, source: &Path) -> Result<Expectation> {
    let sound = read(source)?;
    let received = received(fixture, "damaged", source)?;
    let (mut random, mut endings) = (0x9e37_79b9_7f4a_7c15_u64, [0_u64; 8]);
    let mut outcome = Vec::new();
    for _ in 0..DAMAGED {
        let mut bytes = sound.clone();
        for _ in 0..8 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = usize::try_from(random % u64::try_from(bytes.len())?)?;
            bytes[at] ^= random.to_be_bytes()[0] | 1;
        }
        write(&received.run, &bytes)?;
        let ran = fixture.limited(&received.folder, 512, READERS[0])?;
        let code = ran.code.and_then(|code| usize::try_from(code).ok()).filter(|code| *code < endings.len());
        match code {
            Some(code) if ran.is_orderly() => endings[code] += 1,
            _ => outcome.push(ran.ending()),
        }
    }
    let counted: Vec<String> = (0..)
        .zip(endings)
        .filter(|(_, count)| *count > 0)
        .map(|(code, count)| format!("{count} × exit code {code}"))
        .collect();
    Ok(Expectation::new(format!("{DAMAGED} run files with 8 bytes changed at random"), counted.join(", "))
        .unless(outcome.is_empty(), format!("{outcome:?}")))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
