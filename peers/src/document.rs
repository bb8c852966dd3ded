//! Tables in documents that say what a test found out: the test compares them, or writes them. And the code in which the
//! tests are that a document names.

use std::path::{Path, PathBuf};

use crate::error::{PeerError, Tried as _};

/// The text between the lines `<!-- begin NAME -->` and `<!-- end NAME -->` of a document. With `WRITE_DOCS` in the
/// environment it becomes `found` before it is read.
///
/// # Errors
/// When the document cannot be read or written, or lacks one of the lines.
pub fn section(document: &Path, name: &str, found: &str) -> Result<String, PeerError> {
    let cannot =
        |what: &str, source| PeerError::System { what: format!("{what} {}", document.display()), source };
    let text = std::fs::read_to_string(document).map_err(|error| cannot("read", error))?;
    let [begin, end] = ["begin", "end"].map(|mark| format!("<!-- {mark} {name} -->\n"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?)));
    let Some((before, (documented, after))) = parts else {
        let missing = std::io::Error::other(format!("it lacks the lines of the section `{name}`"));
        return Err(cannot("compare", missing));
    };
    if std::env::var_os("WRITE_DOCS").is_none() {
        return Ok(documented.to_owned());
    }
    let text = [before, &begin, found, &end, after].concat();
    std::fs::write(document, text).map_err(|error| cannot("write", error))?;
    Ok(found.to_owned())
}

/// The files of Rust in a folder and those below it, each with its text.
///
/// # Errors
/// When one cannot be read.
pub fn sources(folder: &Path) -> Result<Vec<(PathBuf, String)>, PeerError> {
    let tried = || format!("read {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).tried(tried)? {
        let path = entry.tried(tried)?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).tried(|| format!("read {}", path.display()))?;
            found.push((path, text));
        }
    }
    Ok(found)
}
