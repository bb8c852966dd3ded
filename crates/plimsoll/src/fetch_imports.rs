//! `plimsoll fetch-imports`: fetches the modules that a k6 script imports by URL into the import cache, and locks what they are. The
//! script is evaluated as a run evaluates it first; none of its functions is called.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::plan::Disk;
use conduct::screen;
use conduct::web_agent::Downloader;
use k6::options::Flags;
use k6::{
    IMPORT_LOCK, ImportLock, ImportLockError, LogLine, RemoteError, RemoteModules, Script, ScriptSource,
    cached_file,
};
use report::number;

use crate::arguments::FetchImportsArguments;
use crate::script::default_import_cache;

/// The exit code of input that cannot be used, also where a script throws: its message has lines.
const UNUSABLE: u8 = 2;

pub(crate) fn fetch_imports(arguments: &FetchImportsArguments) -> CommandResult<u8> {
    let path = std::path::absolute(&arguments.script).map_err(Failure::usage)?;
    let folder = arguments.import_cache.clone().or_else(default_import_cache);
    let folder = folder
        .ok_or_else(|| Failure::usage(anyhow!("HOME is not set: name a folder with --import-cache")))?;
    let lock_path = path.with_file_name(IMPORT_LOCK);
    let modules = Arc::new(FetchedModules {
        folder,
        locked: locked(&lock_path)?,
        update: arguments.update,
        downloader: Downloader::default(),
        read: Mutex::default(),
    });
    evaluate(path, arguments, modules.clone())?;
    let read = modules.read.lock().unwrap_or_else(PoisonError::into_inner);
    let script = arguments.script.display();
    if read.is_empty() {
        screen::note(format_args!("{script} imports no module by URL that is not built in"));
        return Ok(0);
    }
    let written = write(&lock_path, &ImportLock::of(&*read).text());
    written.map_err(|error| Failure::own(anyhow!("{}", unwritable(&lock_path, &error))))?;
    let (count, cache) = (number::counted(read.len() as u64, "module"), modules.folder.display());
    screen::note(format_args!("{count} of {script} in {cache}, locked by {}", lock_path.display()));
    Ok(0)
}

/// Evaluate a script, which reads all modules that it imports.
fn evaluate(
    path: PathBuf,
    arguments: &FetchImportsArguments,
    remote: Arc<FetchedModules>,
) -> CommandResult<()> {
    if !path.is_file() {
        return Err(Failure::usage(anyhow!("{} is not a file", arguments.script.display())));
    }
    let flags = Flags { env: arguments.env.clone(), ..Flags::default() };
    let mut env: BTreeMap<String, String> = std::env::vars().collect();
    env.extend(flags.variables().map_err(Failure::usage)?);
    let source = ScriptSource {
        path,
        files: Arc::new(Disk),
        files_under: None,
        remote: Some(remote),
        env,
        withheld_env: Vec::new(),
        shared_arrays: BTreeMap::new(),
    };
    let log = Arc::new(|line: LogLine| screen::note(line.text));
    Script::load(source, log)
        .map(drop)
        .map_err(|error| Failure::Script { code: UNUSABLE, error: error.into() })
}

/// What an earlier call has locked; none where there was none.
fn locked(path: &Path) -> CommandResult<Option<ImportLock>> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let lock = ImportLock::parse(&text);
            Ok(Some(lock.map_err(|error| Failure::usage(anyhow!("{}: {error}", path.display())))?))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::usage(anyhow!("cannot read {}: {error}", path.display()))),
    }
}

/// Write a file, which is there whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.inspect_err(|_| drop(fs::remove_file(&part)))
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

fn elsewhere(why: String) -> RemoteError {
    RemoteError::Elsewhere(why.into())
}

/// The modules of the cache, and those that are fetched into it.
struct FetchedModules {
    folder: PathBuf,
    locked: Option<ImportLock>,
    /// Whether modules that are there are fetched again, and may be others than the locked ones.
    update: bool,
    downloader: Downloader,
    /// The text of each that was read, by its URL.
    read: Mutex<BTreeMap<String, String>>,
}

impl RemoteModules for FetchedModules {
    fn read(&self, url: &str) -> Result<Vec<u8>, RemoteError> {
        let text = self.cached_or_fetched(url)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(url.to_owned(), text.clone());
        Ok(text.into_bytes())
    }
}

impl FetchedModules {
    fn cached_or_fetched(&self, url: &str) -> Result<String, RemoteError> {
        let file = cached_file(&self.folder, url);
        let cached = if self.update { None } else { fs::read_to_string(&file).ok() };
        if let Some(text) = cached.filter(|text| self.check(url, text).is_ok()) {
            return Ok(text);
        }
        let text =
            self.downloader.text(url).map_err(|why| elsewhere(format!("cannot fetch {url}: {why}")))?;
        self.check(url, &text)?;
        let kept = fs::create_dir_all(&self.folder).and_then(|()| write(&file, &text));
        kept.map_err(|error| elsewhere(unwritable(&file, &error)))?;
        screen::note(format_args!("fetched {url} ({})", number::bytes(text.len() as f64)));
        Ok(text)
    }

    /// Whether a module is the locked one; one that was not imported before is.
    fn check(&self, url: &str, text: &str) -> Result<(), ImportLockError> {
        let Some(locked) = self.locked.as_ref().filter(|_| !self.update) else { return Ok(()) };
        match locked.check(url, text.as_bytes()) {
            Err(ImportLockError::Unlocked { .. }) => Ok(()),
            checked => checked,
        }
    }
}
