//! The files of a script: modules and what `open()` reads, read when the script is first evaluated and kept for all virtual users.

mod import_cache;
mod imports;
mod nesting;
mod typescript;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use workload::Files;

use crate::js::{Bytecode, ModuleSource};

pub use import_cache::{IMPORT_LOCK, ImportLock, ImportLockError, RemoteError, RemoteModules, cached_file};
pub(crate) use import_cache::{ImportCache, is_remote};

/// Whether files that were not read before may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// They may: the script is evaluated for the first time.
    Open,
    /// They may not, so that each virtual user finds what the first evaluation found.
    Closed,
}

/// The files of a script.
pub(crate) struct Sources {
    files: Arc<dyn Files + Send + Sync>,
    /// Files are read below this folder only.
    below: Option<PathBuf>,
    /// Reads modules that are imported by URL.
    remote: Option<Arc<dyn RemoteModules>>,
    read: Mutex<Read>,
}

struct Read {
    reading: Reading,
    /// Modules by their full names.
    modules: BTreeMap<String, Module>,
    /// What was opened, by full path.
    opened: BTreeMap<String, Arc<[u8]>>,
    /// The elements of each `SharedArray`, as JSON, by its name.
    shared_arrays: BTreeMap<String, Arc<[String]>>,
}

#[derive(Clone)]
enum Module {
    Text(Arc<str>),
    Bytecode(Bytecode),
}

impl Module {
    fn source(self) -> ModuleSource {
        match self {
            Module::Text(text) => ModuleSource::Text((*text).into()),
            Module::Bytecode(bytecode) => ModuleSource::Bytecode(bytecode),
        }
    }
}

impl Sources {
    pub(crate) fn new(
        files: Arc<dyn Files + Send + Sync>,
        below: Option<PathBuf>,
        remote: Option<Arc<dyn RemoteModules>>,
    ) -> Sources {
        let (modules, opened, shared_arrays) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let read = Mutex::new(Read { reading: Reading::Open, modules, opened, shared_arrays });
        Sources { files, below: below.map(|below| normal(&below)), remote, read }
    }

    /// The same, with these shared arrays, whose elements are as JSON.
    pub(crate) fn with_shared_arrays(self, made: BTreeMap<String, Arc<[String]>>) -> Sources {
        self.read().shared_arrays = made;
        self
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on only what was read before can be read.
    pub(crate) fn close(&self) {
        self.read().reading = Reading::Closed;
    }

    /// The text of each module that is not compiled yet.
    pub(crate) fn texts(&self) -> Vec<(String, Arc<str>)> {
        let read = self.read();
        let texts = read.modules.iter().filter_map(|(name, module)| match module {
            Module::Text(text) => Some((name.clone(), text.clone())),
            Module::Bytecode(..) => None,
        });
        texts.collect()
    }

    pub(crate) fn set_bytecode(&self, name: &str, bytecode: Bytecode) {
        self.read().modules.insert(name.to_owned(), Module::Bytecode(bytecode));
    }

    /// The bytes of a file that the module `from` opens.
    ///
    /// # Errors
    /// Why they cannot be read, for an exception.
    pub(crate) fn open(&self, from: &str, path: &str) -> Result<Arc<[u8]>, String> {
        let full = beside(from, path.strip_prefix("file://").unwrap_or(path));
        let name = full.to_string_lossy().into_owned();
        let known = self.read().opened.get(&name).cloned();
        if let Some(bytes) = known {
            return Ok(bytes);
        }
        let bytes: Arc<[u8]> = self.read_new(&full)?.into();
        self.read().opened.insert(name, bytes.clone());
        Ok(bytes)
    }

    fn read_new(&self, path: &Path) -> Result<Vec<u8>, String> {
        let shown = path.display();
        if self.read().reading == Reading::Closed {
            return Err(format!(
                "\"{shown}\" was not opened when the script was evaluated first (__VU is 0 then): each virtual user \
                 must open the same files"
            ));
        }
        if let Some(below) = self.below.as_ref().filter(|below| !path.starts_with(below)) {
            return Err(format!("\"{shown}\" is not below \"{}\", as --files-under asks", below.display()));
        }
        let is_package =
            |error: &std::io::Error| error.kind() == ErrorKind::NotFound && path.extension().is_none();
        self.files.read(path).map_err(|error| match is_package(&error) {
            true => {
                format!("can't read \"{shown}\": {error}; a package of npm is bundled with the script first")
            }
            false => format!("can't read \"{shown}\": {error}"),
        })
    }

    fn read_remote(&self, url: &str) -> Result<Vec<u8>, String> {
        let remote = self.remote.as_ref();
        let remote =
            remote.ok_or_else(|| format!("\"{url}\" cannot be imported: there is no import cache"))?;
        remote.read(url).map_err(|error| error.to_string())
    }

    /// The module in a file.
    ///
    /// # Errors
    /// Why it cannot be read, for an exception.
    pub(crate) fn module(&self, name: &str) -> Result<ModuleSource, String> {
        let known = self.read().modules.get(name).cloned();
        if let Some(module) = known {
            return Ok(module.source());
        }
        let bytes = if is_remote(name) { self.read_remote(name)? } else { self.read_new(Path::new(name))? };
        let text = String::from_utf8(bytes).map_err(|_| format!("\"{name}\" is not UTF-8"))?;
        let text = match Path::new(name).extension().and_then(|ending| ending.to_str()) {
            Some("json") => format!("export default {text};"),
            Some("ts") => typescript::javascript(name, &text)?,
            // Standard input has no ending.
            None if is_standard_input(name) && !typescript::is_javascript(&text) => {
                typescript::javascript(name, &text)?
            }
            _ => text,
        };
        Ok(self.module_of(name, &text))
    }

    /// What a module imports and requires by names that are written out: each name with its line and column. Empty where the module
    /// cannot be read.
    pub(crate) fn imports(&self, name: &str) -> Vec<(String, usize, usize)> {
        match self.module(name) {
            Ok(ModuleSource::Text(text)) => {
                let text: &str = &text;
                nesting::parse_nested(name, text, || imports::of(text)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// A module that is none of the script's files, with its text.
    pub(crate) fn module_of(&self, name: &str, text: &str) -> ModuleSource {
        let mut read = self.read();
        let module = read.modules.entry(name.to_owned()).or_insert_with(|| Module::Text(text.into()));
        module.clone().source()
    }

    /// The elements of a `SharedArray`, as JSON; none where it has not been made.
    pub(crate) fn shared_array(&self, name: &str) -> Option<Arc<[String]>> {
        self.read().shared_arrays.get(name).cloned()
    }

    pub(crate) fn shared_arrays(&self) -> BTreeMap<String, Arc<[String]>> {
        self.read().shared_arrays.clone()
    }

    pub(crate) fn set_shared_array(&self, name: &str, elements: Vec<String>) {
        self.read().shared_arrays.insert(name.to_owned(), elements.into());
    }
}

fn is_standard_input(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|name| name == "-")
}

/// The full path of `path` as the file `from` means it.
pub(crate) fn beside(from: &str, path: &str) -> PathBuf {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    normal(&folder.join(path))
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let is_folder = |last: Component<'_>| matches!(last, Component::Normal(_));
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if normal.has_root() || normal.components().next_back().is_some_and(is_folder) =>
            {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file_that_asks() {
        for (from, path, full) in [
            ("tests/main.js", "./data.json", "tests/data.json"),
            ("tests/main.js", "../data.json", "data.json"),
            ("main.js", "../data.json", "../data.json"),
            ("/a/b/main.js", "../../../c", "/c"),
            ("/a/main.js", "/x/./y", "/x/y"),
            ("main.js", "lib/../x.js", "x.js"),
        ] {
            assert_eq!(beside(from, path), Path::new(full), "{from} {path}");
        }
    }
}
