//! Text that would act on a terminal, or pretend to be a line of the command, from every source of text.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::expectation::Expectation;
use super::peer::{self, Script};
use super::{Fixture, Ran};

/// Clears the screen, in 7 and 8 bits; text from right to left; a tag; a character without width; a line of its own.
const TEXT: &str = "a\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\u{200b}\u{2028}\nPASS forged";
/// The same as TOML and JSON write it.
const TOML: &str = "a\\u001b[2J\\u009b31m\\u202e\\U000e0041\\u200b\\u2028\\nPASS forged";

/// Plays every attack.
pub(super) fn attack(fixture: &Fixture) -> Result<Vec<Expectation>> {
    let header = TEXT.replace('\n', " ").replace(['\u{1b}', '\u{9b}'], "");
    let response =
        format!("HTTP/1.1 500 {header}\r\nx-name: {header}\r\ncontent-length: {}\r\n\r\n{TEXT}", TEXT.len());
    let target = peer::serve(Script::once(response))?;
    let broken = peer::serve(Script::once(format!("HTTP/1.1 {TEXT}\r\n\r\n")))?;
    let redis = peer::serve(Script::once(format!("-ERR {}\r\n", TEXT.replace('\n', " "))))?;
    let folder = fixture.folder("terminal")?;
    let plan = plan(&format!("http://{target}"));
    let at = |name: &str| folder.join(name);
    write(&at("plan.toml"), &plan)?;
    write(&at("hostile.toml"), &plan.replace("constant-vus", TOML))?;
    write(&at("named.toml"), &plan.replace("\"get\"", &format!("\"{TOML}\"")))?;
    write(&at("k6.json"), &format!("{{\"metrics\":{{\"{}\":{{}}}}}}", TOML.replace("\\U000e0041", "")))?;
    let url = |address| format!("http://{address}/");
    let cases: [(&str, Vec<String>); 11] = [
        ("a response, shown", words(&["run", "plan.toml", "--once"])),
        ("a response, at the precheck", words(&["run", "plan.toml"])),
        (
            "a response, under load",
            [words(&["http", "-n", "20", "-c", "1", "-o", "a.plimsoll"]), vec![url(target)]].concat(),
        ),
        (
            "a response that is not HTTP",
            [words(&["http", "-n", "20", "-c", "1", "-o", "b.plimsoll"]), vec![url(broken)]].concat(),
        ),
        ("a run file with it", words(&["report", "a.plimsoll"])),
        ("names in a plan", words(&["check", "named.toml"])),
        ("a value in a plan", words(&["check", "hostile.toml"])),
        ("the name of a file", words(&["report", TEXT])),
        ("an option", words(&["report", &format!("--{TEXT}")])),
        ("results of another tool", words(&["import", "k6.json"])),
        (
            "an error of Redis",
            vec![
                "monitor".to_owned(),
                format!("redis://{redis}"),
                "--for".to_owned(),
                "2s".to_owned(),
                "-o".to_owned(),
                "m.plimsoll".to_owned(),
            ],
        ),
    ];
    let played = cases.iter().map(|(what, arguments)| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = fixture.limited(&folder, 512, &arguments)?;
        Ok(outcome(&format!("{what} (`{}`)", arguments[0]), &ran))
    });
    played.collect()
}

fn outcome(attack: &str, ran: &Ran) -> Expectation {
    let text = format!("{}{}", ran.stdout, ran.stderr);
    let acting: Vec<char> = text.chars().filter(|char| acts(*char)).collect();
    let forged = text.lines().any(|line| line.trim_start().starts_with("PASS forged"));
    let happened = format!(
        "{} bytes printed, {}",
        text.len(),
        ran.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"))
    );
    Expectation::new(attack, happened)
        .unless(ran.is_orderly(), "it did not end by itself")
        .unless(!text.is_empty(), "nothing was printed")
        .unless(acting.is_empty(), format!("{acting:?} reached the terminal"))
        .unless(!forged, "a line was forged")
}

/// Whether a character does something on a terminal besides appearing.
fn acts(char: char) -> bool {
    let hidden = ['\u{200b}', '\u{2028}', '\u{202e}'];
    (char.is_control() && char != '\n')
        || hidden.contains(&char)
        || ('\u{e0000}'..='\u{e007f}').contains(&char)
}

fn plan(url: &str) -> String {
    format!(
        "version = 1\nprecheck = true\n[targets.shop]\nurl = \"{url}\"\n[[phases]]\nname = \"steady\"\nduration = \"1s\"\n\
         [[scenarios]]\nname = \"play\"\nexecutor = \"constant-vus\"\nvus = 1\n\
         [[scenarios.steps]]\nname = \"get\"\nget = \"${{shop.url}}/\"\n"
    )
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
