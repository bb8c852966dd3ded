//! Confines a command that reads files from other people, once it has opened its outputs: it may read the files that were
//! named, and write their copies and its outputs. No other file, no network, no other program.
//!
//! The kernel enforces this (Landlock): files since Linux 5.13, TCP since 6.7, signals since 6.12. Where it cannot, the
//! command continues without. Confine before any thread starts: a thread that exists already stays unconfined.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};

use crate::screen;

/// The newest kernel interface whose restrictions are requested; an older kernel enforces those it has.
const NEWEST: ABI = ABI::V10;

/// The files within a command's reach.
#[derive(Default)]
pub struct Reach {
    rules: Vec<(PathBuf, BitFlags<AccessFs>)>,
}

impl Reach {
    /// This file may be read.
    pub fn file(self, path: &Path) -> Reach {
        self.with(path, AccessFs::ReadFile)
    }

    /// This run file may be read. If it is read from a copy, SQLite works in the copy's folder, which goes away at the
    /// end: for that, empty folders beside it may be removed.
    pub fn run_file(self, source: &archive::Readable) -> Reach {
        match source.folder() {
            None => self.file(source.opened()),
            Some(folder) => {
                let reach = self.run_files_in(folder);
                folder.parent().into_iter().fold(reach, |reach, path| reach.with(path, AccessFs::RemoveDir))
            }
        }
    }

    /// New files may be made in this folder.
    pub fn new_files_in(self, folder: &Path) -> Reach {
        self.with(folder, AccessFs::MakeReg | AccessFs::WriteFile)
    }

    /// SQLite may write files in this folder, and remove those that it keeps beside them.
    pub fn run_files_in(self, folder: &Path) -> Reach {
        let contents = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        self.with(folder, contents | AccessFs::ReadDir | AccessFs::MakeReg | AccessFs::RemoveFile)
    }

    fn with(mut self, path: &Path, access: impl Into<BitFlags<AccessFs>>) -> Reach {
        self.rules.push((path.to_owned(), access.into()));
        self
    }

    /// From here on the process can do nothing else.
    pub fn confine(self) {
        if let Err(error) = self.restrict() {
            screen::note(format_args!("plimsoll: continues without confinement: {error}"));
        }
    }

    fn restrict(self) -> Result<RestrictionStatus, RulesetError> {
        let mut ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?
            .create()?;
        for (path, access) in &self.rules {
            // A path that cannot be opened here gets no rule, and opening it later reports why; a pipe needs no rule.
            if let Ok(place) = PathFd::new(path) {
                let _ = (&mut ruleset).add_rule(PathBeneath::new(place, *access));
            }
        }
        ruleset.restrict_self()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use landlock::{LandlockStatus, RulesetStatus};

    use super::*;

    /// What `work` returns in a thread that is confined to `reach`, and which ABI the kernel has; none without Landlock.
    fn confined<T: Send + 'static>(
        reach: Reach,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<(ABI, T)> {
        let thread = thread::spawn(move || {
            let status = reach.restrict().unwrap();
            match (status.ruleset, status.landlock) {
                (RulesetStatus::NotEnforced, _) => None,
                (_, LandlockStatus::Available { effective_abi, .. }) => Some((effective_abi, work())),
                (_, none) => panic!("restricted by {none:?}"),
            }
        });
        thread.join().unwrap()
    }

    fn kind<T>(tried: std::io::Result<T>) -> Option<ErrorKind> {
        tried.err().map(|error| error.kind())
    }

    #[test]
    fn only_named_files_can_be_read_and_none_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let [named, other] = ["named", "other"].map(|name| folder.path().join(name));
        fs::write(&named, "1").unwrap();
        fs::write(&other, "2").unwrap();
        let reach = Reach::default().file(&named).file(&folder.path().join("absent"));
        let tried = confined(reach, move || {
            let new = other.with_file_name("new");
            let denied = [
                kind(fs::read(&other)),
                kind(fs::write(&other, "")),
                kind(fs::write(&named, "")),
                kind(File::create(&new)),
                kind(fs::remove_file(&other)),
                kind(fs::rename(&named, &new)),
                kind(fs::read_dir(other.parent().unwrap())),
                kind(std::process::Command::new("true").status()),
            ];
            (fs::read(&named).unwrap(), denied, kind(fs::read(other.with_file_name("absent"))))
        });
        let Some((_, (read, denied, absent))) = tried else { return };
        assert_eq!(read, b"1");
        assert_eq!(denied, [Some(ErrorKind::PermissionDenied); 8]);
        assert_eq!(absent, Some(ErrorKind::NotFound), "a missing file is still reported as missing");
    }

    #[test]
    fn the_network_is_out_of_reach() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let tried = confined(Reach::default(), move || {
            (kind(TcpStream::connect(address)), kind(TcpListener::bind("127.0.0.1:0")))
        });
        let Some((ABI::V4 | ABI::V5 | ABI::V6 | ABI::V7 | ABI::V8 | ABI::V9 | ABI::V10, tried)) = tried
        else {
            return;
        };
        assert_eq!(tried, (Some(ErrorKind::PermissionDenied), Some(ErrorKind::PermissionDenied)));
    }

    #[test]
    fn a_folder_for_new_files_gives_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old");
        fs::write(&old, "1").unwrap();
        let reach = Reach::default().new_files_in(folder.path());
        let tried = confined(reach, move || {
            let mut options = OpenOptions::new();
            let made = kind(options.write(true).create_new(true).open(old.with_file_name("new")));
            (made, [kind(fs::read(&old)), kind(fs::remove_file(&old))])
        });
        let Some((_, (made, denied))) = tried else { return };
        assert_eq!((made, denied), (None, [Some(ErrorKind::PermissionDenied); 2]));
    }
}
