//! Secrets in every place where a user may put one: none may be printed, kept or sent to another host.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::Fixture;
use super::expectation::Expectation;
use super::peer::{self, Received, Script};

/// Values that occur nowhere else, by the variable that has them.
const SECRETS: [(&str, &str); 3] =
    [("API_TOKEN", "tok-5f1c9a7e33"), ("DB_PW", "pw-0b7d/41@aa"), ("BASIC", "basic-77aa90")];
/// What they look like in headers and URLs.
const ENCODED: [&str; 2] = ["pw-0b7d%2F41%40aa", "bWU6YmFzaWMtNzdhYTkw"];

/// Plays every attack.
pub(super) fn attack(fixture: &Fixture) -> Result<Vec<Expectation>> {
    let folder = fixture.folder("secrets")?;
    // A target that repeats nothing, and one that sends the caller to another origin.
    let (at_target, at_other) = (Received::default(), Received::default());
    let ok = Script::once("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let other = peer::serve_recorded(ok, at_other.clone())?;
    let redirect =
        format!("HTTP/1.1 302 Found\r\nlocation: http://{other}/landed\r\ncontent-length: 0\r\n\r\n");
    let target = peer::serve_recorded(Script::once(redirect), at_target.clone())?;
    fs::write(folder.join("plan.toml"), plan(target, other)).context("cannot write a plan")?;
    let url = format!("http://{target}/?key=${{env.API_TOKEN}}");
    let commands: [(&str, Vec<&str>); 3] = [
        (
            "a plan",
            vec![
                "run",
                "plan.toml",
                "-o",
                "plan.plimsoll",
                "--html",
                "a.html",
                "--json",
                "a.json",
                "--md",
                "a.md",
            ],
        ),
        ("a plan, shown", vec!["run", "plan.toml", "--once"]),
        (
            "the command line",
            vec![
                "http",
                &url,
                "-a",
                "me:${env.BASIC}",
                "-H",
                "x-api-key: ${env.API_TOKEN}",
                "-n",
                "10",
                "--redirects",
                "1",
                "-c",
                "1",
                "-o",
                "adhoc.plimsoll",
                "--html",
                "b.html",
            ],
        ),
    ];
    let mut outcomes: Vec<Expectation> = commands
        .iter()
        .map(|(what, arguments)| outcome(fixture, &folder, what, arguments))
        .collect::<Result<_>>()?;
    let (sent, passed_on) = (at_target.lock(), at_other.lock());
    outcomes.push(
        Expectation::new(
            "a redirect to another origin",
            format!("{} bytes to the target, {} to the other", sent.len(), passed_on.len()),
        )
        .unless(contains(&sent, ENCODED[1]) && contains(&sent, SECRETS[0].1), "the target did not get them")
        .unless(contains(&passed_on, "/landed"), "it was not followed")
        .unless(!has_secret(&passed_on), "the other host got a secret"),
    );
    Ok(outcomes)
}

/// Runs a command with secrets in its environment, and looks for them in what it printed and wrote.
fn outcome(fixture: &Fixture, folder: &Path, what: &str, arguments: &[&str]) -> Result<Expectation> {
    let ran = with_secrets(fixture, folder, arguments)?;
    let printed = [&ran.stdout, &ran.stderr].iter().any(|text| has_secret(text.as_bytes()));
    let kept = files_with_secrets(folder)?;
    Ok(Expectation::new(format!("secrets from the environment in {what}"), ran.ending())
        .unless(ran.is_orderly(), "it did not end by itself")
        .unless(!printed, "a secret was printed")
        .unless(kept.is_empty(), format!("a secret is in {kept:?}")))
}

fn with_secrets(fixture: &Fixture, folder: &Path, arguments: &[&str]) -> Result<super::Ran> {
    let set = SECRETS.map(|(name, value)| format!("{name}={value}"));
    let mut command = std::process::Command::new("env");
    command.args(set).arg(&fixture.binary).args(arguments);
    super::ended(command, folder)
}

fn has_secret(bytes: &[u8]) -> bool {
    let secrets = SECRETS.iter().map(|(_, value)| *value).chain(ENCODED);
    secrets.into_iter().any(|secret| contains(bytes, secret))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// The names of files in `folder` that have a secret.
fn files_with_secrets(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).context("cannot list a folder")? {
        let path = entry.context("cannot list a folder")?.path();
        if path.is_file() && has_secret(&fs::read(&path).context("cannot read a file")?) {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}

/// A plan with a secret in an observer, a query, a header and a body.
fn plan(target: SocketAddr, other: SocketAddr) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.shop]\nurl = \"http://{target}\"\n[targets.other]\nurl = \"http://{other}\"\n[targets.db.observe]\n\
         postgres = {{ url = \"postgresql://me:${{env.DB_PW}}@127.0.0.1:1/shop\" }}\n[[phases]]\nname = \"steady\"\n\
         duration = \"1s\"\n[[scenarios]]\nname = \"play\"\nexecutor = \"constant-vus\"\nvus = 1\n[[scenarios.steps]]\n\
         name = \"post\"\npost = \"${{shop.url}}/?key=${{env.API_TOKEN}}\"\nredirects = 1\n\
         headers = {{ authorization = \"Bearer ${{env.API_TOKEN}}\" }}\nbody = \"${{env.API_TOKEN}}\"\n[[scenarios.steps]]\nname = \"get\"\n\
         get = \"${{other.url}}/\"\n"
    )
}
