//! Files where a verb is expected, and files of other machines.

use std::fs;
use std::path::Path;

use evidence::visible;
use workload::nearest::nearest;

use super::is_url;

/// What the names of plans, scripts and run files end with.
const ENDINGS: [&str; 6] = ["toml", "js", "ts", "mjs", "cjs", "plimsoll"];

fn has_ending(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

fn verb_of(name: &str) -> &'static str {
    if name.ends_with(".plimsoll") { "report" } else { "run" }
}

/// What to write for the name of a file that is not there.
pub(super) fn misspelt(word: &str) -> Option<String> {
    let path = Path::new(word);
    path.extension()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| has_ending(name)).collect();
    let shown = visible(word);
    if let Some(near) = nearest(&path.file_name()?.to_string_lossy(), names.iter().map(String::as_str)) {
        let near = folder.map_or_else(|| near.into(), |folder| folder.join(near)).display().to_string();
        let (verb, near) = (verb_of(&near), visible(&near));
        let host = match has_ending(word) || word.contains('/') {
            true => String::new(),
            false => format!(" A host is loaded by its URL: `plimsoll http://{shown}/`."),
        };
        return Some(format!(
            "there is no verb and no file `{shown}`; did you mean `plimsoll {verb} {near}`?{host}"
        ));
    }
    has_ending(word).then(|| {
        let here = match names.as_slice() {
            [] => "its folder has no plan, script or run file; `plimsoll new URL` writes a plan".to_owned(),
            names => {
                let listed = names.iter().take(5).map(|name| format!("`{}`", visible(name)));
                format!("its folder has {}", listed.collect::<Vec<_>>().join(", "))
            }
        };
        format!("there is no file `{shown}` to give to `plimsoll {}`: {here}", verb_of(word))
    })
}

/// What to write for the URL of a plan or script.
pub(super) fn of_another_machine(word: &str) -> Option<String> {
    let (_, name) = word.rsplit_once('/').filter(|_| is_url(word) && has_ending(word))?;
    let url = workload::redact::shown_address(word);
    Some(format!(
        "plans and scripts are local files: `curl -O {}`, then `plimsoll run {}`",
        visible(&url),
        visible(name)
    ))
}
