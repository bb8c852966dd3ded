//! Command lines of Locust, whose short options mean something else here: they are answered all at once.

use evidence::visible;

use super::is_bare;

const NOT_RUN: &str =
    "a Locust file (Python) is not run: `plimsoll new URL` writes a plan for `plimsoll run PLAN`";

fn is_locust_file(word: &str) -> bool {
    word.ends_with(".py") && word.contains("locust")
}

/// What is said of a Locust file where a verb is expected.
pub(super) fn of_file(word: &str) -> Option<&'static str> {
    word.ends_with(".py").then_some(NOT_RUN)
}

/// What Locust's own options come to, all at once; none of another command line.
pub(super) fn hint(words: &[&str]) -> Option<String> {
    let value = |names: &[&str]| {
        let at = words.iter().position(|word| names.contains(word))?;
        words.get(at + 1).filter(|value| !value.starts_with('-')).copied()
    };
    let host = value(&["--host"]).filter(|_| words.contains(&"--headless") || words[0].starts_with('-'));
    // One without options of Locust is recognised by what is in it.
    let has_its_option = ["--headless", "-u", "--users"].iter().any(|option| words.contains(option));
    let given = words.iter().find(|word| is_locust_file(word)).filter(|_| has_its_option).copied();
    let file = value(&["-f", "--locustfile"]).filter(|file| file.ends_with(".py")).or(given);
    let users = value(&["-u", "--users"]).filter(|users| is_bare(users)).unwrap_or("NUMBER");
    if host.is_none() && file.is_none() {
        return None;
    }
    let url = host.map_or("URL".into(), workload::redact::shown_address);
    let duration = value(&["-t", "--run-time"]).unwrap_or("DURATION");
    let file = file.map(|_| format!("; {NOT_RUN}"));
    Some(format!(
        "these are options of Locust; its users are `plimsoll {} -c {users} -z {}`, and `--ramp DURATION` starts them one after the \
         other{}",
        visible(&url),
        visible(duration),
        file.unwrap_or_default()
    ))
}
