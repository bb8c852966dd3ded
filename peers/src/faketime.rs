//! A time of day that can be set while a process runs, as an administrator sets a machine's: through libfaketime,
//! which is loaded before the process's own libraries. The monotonic clock is unaffected.
//!
//! It does not work for programs that call the clock before libraries are initialised, such as those with jemalloc
//! (Redis). A process should end by itself: one that is killed leaves two small files of the library in `/dev/shm`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};

const LIBRARY: &str = "libfaketime.so.1";

/// A clock for processes that are started with [`env`](Self::env); it shows the true time until it is set.
#[derive(Debug)]
pub struct Clock {
    library: PathBuf,
    folder: TempDir,
}

impl Clock {
    /// Whether the library is installed.
    pub fn is_installed() -> bool {
        library_paths().iter().any(|path| path.exists())
    }

    /// A clock that shows the true time.
    ///
    /// # Errors
    /// When the library is missing, or no file can be written.
    pub fn start() -> Result<Self, PeerError> {
        let paths = library_paths();
        let library = paths.iter().find(|path| path.exists()).ok_or_else(|| PeerError::Missing {
            program: LIBRARY,
            looked: paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
            package: "libfaketime",
        })?;
        let folder = TempDir::with_prefix("peers-clock-").tried(|| "make a temporary folder".to_owned())?;
        let clock = Clock { library: library.clone(), folder };
        clock.set(0)?;
        Ok(clock)
    }

    /// The environment of a process that uses this clock.
    #[must_use]
    pub fn env(&self) -> [(&'static str, String); 5] {
        let path = |path: &Path| path.display().to_string();
        let on = || "1".to_owned();
        [
            ("LD_PRELOAD", path(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", path(&self.file())),
            ("FAKETIME_NO_CACHE", on()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", on()),
            // The times of files are not changed.
            ("NO_FAKE_STAT", on()),
        ]
    }

    /// Sets it this many seconds ahead of the true time, or behind; it runs on from there.
    ///
    /// # Errors
    /// When its file cannot be replaced.
    pub fn set(&self, ahead_s: i64) -> Result<(), PeerError> {
        let tried = || format!("write {}", self.file().display());
        // In one step: a reader finds the old content or the new.
        let fresh = self.folder.path().join("fresh");
        std::fs::write(&fresh, format!("{ahead_s:+}\n")).tried(tried)?;
        std::fs::rename(&fresh, self.file()).tried(tried)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ahead")
    }
}

fn library_paths() -> Vec<PathBuf> {
    let by_machine = format!("/usr/lib/{}-linux-gnu/faketime", std::env::consts::ARCH);
    let folders =
        [by_machine.as_str(), "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime"];
    folders.iter().map(|folder| Path::new(folder).join(LIBRARY)).collect()
}
