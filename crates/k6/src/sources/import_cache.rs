//! Modules that scripts import by URL: a run fetches nothing, it reads them from a folder that `plimsoll fetch-imports` or the user
//! fills. A lock file beside the script says what they have to be.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use workload::Files;

/// The name of the lock file.
pub const IMPORT_LOCK: &str = "plimsoll-imports.lock";

/// Whether a module has a URL instead of a file.
pub(crate) fn is_remote(name: &str) -> bool {
    name.starts_with("https://") || name.starts_with("http://")
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The file of the module at `url`: the SHA-256 of the URL in hexadecimal digits, and `.js`.
pub fn cached_file(folder: &Path, url: &str) -> PathBuf {
    folder.join(digest(url.as_bytes()) + ".js")
}

/// Reads modules that are imported by URL.
pub trait RemoteModules: Send + Sync {
    /// The module at this URL.
    ///
    /// # Errors
    /// [`RemoteError`], whose text the script gets as an exception.
    fn read(&self, url: &str) -> Result<Vec<u8>, RemoteError>;
}

/// Modules in a folder.
pub(crate) struct ImportCache {
    pub(crate) folder: PathBuf,
    /// What they have to be; anything where there is none.
    pub(crate) lock: Option<ImportLock>,
    /// Reads the folder's files.
    pub(crate) files: Arc<dyn Files + Send + Sync>,
}

impl RemoteModules for ImportCache {
    fn read(&self, url: &str) -> Result<Vec<u8>, RemoteError> {
        let file = cached_file(&self.folder, url);
        let bytes = match self.files.read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RemoteError::Missing { url: url.to_owned(), file });
            }
            Err(error) => return Err(RemoteError::Unreadable { file, error }),
        };
        if let Some(lock) = &self.lock {
            lock.check(url, &bytes)?;
        }
        Ok(bytes)
    }
}

/// Why a module at a URL cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// It is not in the cache.
    #[error(
        "\"{url}\" is not in the import cache, and a run fetches nothing: `plimsoll fetch-imports SCRIPT` fetches all modules that \
         the script imports by URL, or save this one with\n  curl -fsSL --create-dirs -o '{}' '{url}'",
        file.display()
    )]
    Missing { url: String, file: PathBuf },
    /// Its file in the cache cannot be read.
    #[error("can't read \"{}\": {error}", file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    /// It is not the one that is locked.
    #[error(transparent)]
    Lock(#[from] ImportLockError),
    /// Of another reader than the cache.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

/// The SHA-256 of each module that a script imports by URL. As text each line is `DIGEST  URL`, as `sha256sum` writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportLock(BTreeMap<String, String>);

/// Why a module is not the one that the lock file means.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportLockError {
    #[error("line {0} of {IMPORT_LOCK} is not a SHA-256 in 64 hexadecimal digits, two spaces and a URL")]
    Line(usize),
    #[error("\"{url}\" is not in {IMPORT_LOCK}: `plimsoll fetch-imports SCRIPT` adds it")]
    Unlocked { url: String },
    #[error(
        "\"{url}\" has the SHA-256 {found}, and {IMPORT_LOCK} has {locked}: `plimsoll fetch-imports SCRIPT` fetches it again, and with \
         `--update` accepts what its server has now"
    )]
    Changed { url: String, found: String, locked: String },
}

impl ImportLock {
    /// The lock that a text is.
    ///
    /// # Errors
    /// [`ImportLockError::Line`]: the first line that has another form.
    pub fn parse(text: &str) -> Result<ImportLock, ImportLockError> {
        let entry = |(number, line): (usize, &str)| {
            let entry = line.split_once("  ").filter(|(digest, url)| {
                digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_remote(url)
            });
            let (digest, url) = entry.ok_or(ImportLockError::Line(number + 1))?;
            Ok((url.to_owned(), digest.to_ascii_lowercase()))
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Ok(ImportLock(lines.map(entry).collect::<Result<_, _>>()?))
    }

    /// Of these modules: URL and text.
    pub fn of<'m>(modules: impl IntoIterator<Item = (&'m String, &'m String)>) -> ImportLock {
        ImportLock(modules.into_iter().map(|(url, text)| (url.clone(), digest(text.as_bytes()))).collect())
    }

    /// As text.
    pub fn text(&self) -> String {
        let lines = self.0.iter().map(|(url, digest)| format!("{digest}  {url}\n"));
        lines.collect()
    }

    /// Check that a module is the one that is meant.
    ///
    /// # Errors
    /// [`ImportLockError::Unlocked`] and [`ImportLockError::Changed`].
    pub fn check(&self, url: &str, bytes: &[u8]) -> Result<(), ImportLockError> {
        let locked = self.0.get(url).ok_or_else(|| ImportLockError::Unlocked { url: url.to_owned() })?;
        let found = digest(bytes);
        match found == *locked {
            true => Ok(()),
            false => Err(ImportLockError::Changed { url: url.to_owned(), found, locked: locked.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_comes_back_as_it_was_and_knows_what_changed() {
        let modules = BTreeMap::from([
            ("https://x.test/a.js".to_owned(), "a".to_owned()),
            ("https://x.test/b.js".to_owned(), String::new()),
        ]);
        let lock = ImportLock::of(&modules);
        // As `printf '' | sha256sum` has it.
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert!(lock.text().ends_with(&format!("{of_nothing}  https://x.test/b.js\n")), "{}", lock.text());
        assert_eq!(ImportLock::parse(&format!("# modules\n\n{}", lock.text())), Ok(lock.clone()));
        assert_eq!(lock.check("https://x.test/a.js", b"a"), Ok(()));
        assert!(lock.check("https://x.test/b.js", b"b").unwrap_err().to_string().contains(of_nothing));
        let unlocked = ImportLockError::Unlocked { url: "https://x.test/c.js".to_owned() };
        assert_eq!(lock.check("https://x.test/c.js", b""), Err(unlocked));
        for (line, text) in [(1, "e3b0  https://x.test/b.js"), (2, &*format!("#\n{of_nothing}  ./b.js"))] {
            assert_eq!(ImportLock::parse(text), Err(ImportLockError::Line(line)));
        }
    }
}
