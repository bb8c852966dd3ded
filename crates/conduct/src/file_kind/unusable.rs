//! Files that cannot be used whatever they should be: missing, a folder, empty, compressed, no text.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use workload::nearest::nearest;
use workload::redact::shown_address;

use super::FileKind;

/// What a command wants.
struct Wanted {
    noun: &'static str,
    /// What names of such files end with.
    endings: &'static [&'static str],
    /// Where a user has one from.
    origin: &'static str,
}

const CONFIGURATION: &[&str] = &["toml"];

impl Wanted {
    /// The noun with its article.
    fn one(&self) -> String {
        let article = if self.noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {}", self.noun)
    }

    /// By the first kind that is accepted.
    fn of(accepted: &[FileKind]) -> Wanted {
        let wanted = |noun, endings, origin| Wanted { noun, endings, origin };
        match accepted.first() {
            Some(FileKind::RunFile) => {
                wanted("run file", &["plimsoll"], "`plimsoll run PLAN -o FILE.plimsoll` writes one")
            }
            Some(FileKind::Experiment) => {
                wanted("experiment", CONFIGURATION, "`plimsoll ab --help` shows what is in one")
            }
            Some(FileKind::Search) => wanted(
                "search for capacity",
                CONFIGURATION,
                "`plimsoll capacity --help` shows what is in one",
            ),
            Some(FileKind::Results) => wanted(
                "file of results",
                &["csv", "json", "ndjson", "jtl", "log", "hlog", "bin"],
                "`plimsoll import --help` lists what is read",
            ),
            Some(FileKind::OpenApi) => wanted(
                "source of a plan",
                &["yaml", "yml", "json", "har", "txt", "sh"],
                "a source is a URL, an OpenAPI description, a HAR file or curl commands",
            ),
            _ => wanted("plan", CONFIGURATION, "`plimsoll new URL` writes one"),
        }
    }
}

/// How many files of a folder are named.
const NAMED: usize = 5;

/// Why nothing can be read there, if it is not a file; none for what can be read, such as a pipe.
pub(super) fn without_content(
    path: &Path,
    found: io::Result<Metadata>,
    accepted: &[FileKind],
) -> Option<String> {
    let wanted = Wanted::of(accepted);
    let shown = path.display();
    match found {
        Ok(metadata) if metadata.is_dir() => Some(match candidates(path, &wanted) {
            names if names.is_empty() => {
                format!("{shown} is not {}: it is a folder without one; {}", wanted.one(), wanted.origin)
            }
            names => {
                format!(
                    "{shown} is not {}: it is a folder; name one in it: {}",
                    wanted.one(),
                    listed(path, &names)
                )
            }
        }),
        Ok(_) => None,
        Err(error) if error.kind() == ErrorKind::NotFound => Some(missing(path, &wanted, accepted)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(format!(
            "{shown} may not be read by this user: `chmod u+r {shown}`, or read it as its owner (`ls -l {shown}`)"
        )),
        Err(error) => Some(format!("{shown} cannot be read: {error}; check the path")),
    }
}

/// The files of this folder that may be of the kind.
pub(super) fn here(kind: FileKind) -> Option<String> {
    let mut names = candidates(Path::new("."), &Wanted::of(&[kind]));
    names.retain(|name| super::at(Path::new(name)) == Some(kind));
    (!names.is_empty()).then(|| listed(Path::new(""), &names))
}

fn missing(path: &Path, wanted: &Wanted, accepted: &[FileKind]) -> String {
    let (shown, noun) = (path.display(), wanted.noun);
    if let Some(url) = path.to_str().filter(|path| path.contains("://")) {
        let url = shown_address(url);
        return format!(
            "`{url}` is a URL and not {}: `plimsoll {url}` loads it, `plimsoll new {url}` writes a plan of it",
            wanted.one()
        );
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return format!("there is no {noun} {shown}: the folder {} is missing", folder.display());
    }
    let mut names = candidates(folder, wanted);
    // What is known to be of another kind is not meant.
    let may_be = |name: &String| super::at(&folder.join(name)).is_none_or(|kind| accepted.contains(&kind));
    names.retain(may_be);
    // Endings are alike, whatever the name.
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stems: Vec<String> = names.iter().map(|name| stem(Path::new(name))).collect();
    let similar = nearest(&stem(path), stems.iter().map(String::as_str));
    let similar = similar.and_then(|similar| stems.iter().position(|stem| stem == similar));
    let within = if folder == Path::new(".") { Path::new("") } else { folder };
    match similar.map(|at| &names[at]) {
        Some(near) => {
            format!(
                "there is no {noun} {shown}; did you mean {}?",
                listed(within, std::slice::from_ref(near))
            )
        }
        None if names.is_empty() => {
            format!("there is no {noun} {shown}, nor another in its folder; {}", wanted.origin)
        }
        None => {
            // Names say little of the sources of plans.
            let is_source = |name: &String| super::at(&folder.join(name)).is_some();
            names.retain(|name| !accepted.contains(&FileKind::OpenApi) || is_source(name));
            match names.is_empty() {
                true => format!("there is no {noun} {shown}; {}", wanted.origin),
                false => format!("there is no {noun} {shown}; its folder has {}", listed(within, &names)),
            }
        }
    }
}

/// The names of files in `folder` that may be what is wanted, in their order.
fn candidates(folder: &Path, wanted: &Wanted) -> Vec<String> {
    let is_wanted = |name: &String| {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| wanted.endings.contains(&ending))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_wanted).collect();
    names.sort_unstable();
    names
}

fn listed(folder: &Path, names: &[String]) -> String {
    let named = names.iter().take(NAMED).map(|name| format!("`{}`", folder.join(name).display()));
    let named = named.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Why a file whose kind is not known, and which begins with `head`, cannot be used; none if it may be.
pub(super) fn by_content(path: &Path, head: &[u8], accepted: &[FileKind]) -> Option<String> {
    let wanted = Wanted::of(accepted);
    let (one, origin) = (wanted.one(), wanted.origin);
    let shown = path.display().to_string();
    if head.is_empty() {
        return Some(format!("{shown} is not {one}: it is empty; {origin}"));
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return Some(match shown.strip_suffix(".gz") {
            Some(name) if name.ends_with(".pb") => {
                format!("{shown} is a profile (pprof): `plimsoll profile {shown}`")
            }
            Some(name) => format!("{shown} is compressed (gzip): `gunzip -k {shown}`, then name {name}"),
            None => format!("{shown} is compressed (gzip): `gunzip -c < {shown} > FILE`, then name that"),
        });
    }
    // A character that the end of what was read divides is none that is wrong.
    let is_text =
        std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| !head.contains(&0));
    (!is_text).then(|| format!("{shown} is not {one}: it is not text (UTF-8); {origin}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_user_is_said_to_be_unreadable() {
        let denied = Err(ErrorKind::PermissionDenied.into());
        let said = without_content(Path::new("plan.toml"), denied, &[FileKind::Plan]).unwrap_or_default();
        assert!(said.starts_with("plan.toml may not be read by this user: `chmod u+r plan.toml`"), "{said}");
    }

    #[test]
    fn text_that_is_cut_within_a_character_is_text() {
        let of = |head: &[u8]| by_content(Path::new("x"), head, &[FileKind::Plan]);
        assert_eq!(of(&"é".as_bytes()[..1]), None);
        assert!(of(b"a\xff\xffb").is_some_and(|said| said.contains("it is not text")));
    }
}
