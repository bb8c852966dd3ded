//! Modules that scripts import by their URLs at jslib.k6.io, as implemented here: nothing is fetched.

mod summary;

use crate::js::{ModuleExports, ModuleSource};

/// What a library is made of.
enum Library {
    Text(&'static str),
    Native(ModuleExports),
}

/// The libraries by their names, which are unlike those of files.
const LIBRARIES: &[(&str, Library)] = &[
    ("jslib.k6.io/k6-summary", Library::Native(summary::exports)),
    ("jslib.k6.io/k6-utils", Library::Text(include_str!("library/k6-utils.js"))),
    ("jslib.k6.io/papaparse", Library::Text(include_str!("library/papaparse.js"))),
    ("jslib.k6.io/url", Library::Text(include_str!("library/url.js"))),
];

/// The name of the library at this URL, whose version may be any; none where there is no such library.
pub(crate) fn library(url: &str) -> Option<&'static str> {
    let (library, version) = url.strip_prefix("https://")?.strip_suffix("/index.js")?.rsplit_once('/')?;
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    let known = LIBRARIES.iter().find(|(name, _)| is_version && *name == library);
    known.map(|(name, _)| *name)
}

/// The library of this name; none where there is no such library.
pub(crate) fn library_source(name: &str) -> Option<ModuleSource> {
    let (_, library) = LIBRARIES.iter().find(|(known, _)| *known == name)?;
    Some(match library {
        Library::Text(text) => ModuleSource::Text((*text).into()),
        Library::Native(exports) => ModuleSource::Native(*exports),
    })
}
