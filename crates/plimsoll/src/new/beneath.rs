//! Files below a folder: a file of commands may name those that lie beside or below it, and no others.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use workload::Files;

#[cfg(target_os = "linux")]
use linux::Folder;
#[cfg(not(target_os = "linux"))]
use other::Folder;

/// More than a plan takes of any file.
const MOST_BYTES: u64 = 2 << 20;

/// A folder, and what is below it.
pub(super) struct Beneath {
    folder: Folder,
    path: PathBuf,
}

impl Beneath {
    /// The folder of the file `source`, or the folder `source` itself.
    pub(super) fn open(source: &Path) -> anyhow::Result<Beneath> {
        let path = match source.parent() {
            _ if source.is_dir() => source,
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let path = path.canonicalize().with_context(|| format!("{} cannot be read", path.display()))?;
        let folder = Folder::open(&path).with_context(|| format!("{} cannot be opened", path.display()))?;
        Ok(Beneath { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Files for Beneath {
    /// Links and `..` may not lead out of the folder.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inner = path.strip_prefix(&self.path).unwrap_or(path);
        let outside = || io::Error::other(format!("it is not below {}", self.path.display()));
        if inner.is_absolute() {
            return Err(outside());
        }
        let file = self.folder.file(inner)?.ok_or_else(outside)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
    use rustix::io::Errno;

    use super::{File, Path, io};

    /// An open folder, beneath which the kernel resolves paths.
    pub(super) struct Folder(OwnedFd);

    impl Folder {
        pub(super) fn open(path: &Path) -> io::Result<Folder> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Folder(openat(CWD, path, flags, Mode::empty())?))
        }

        /// None if the path leads out of the folder.
        pub(super) fn file(&self, inner: &Path) -> io::Result<Option<File>> {
            // Without waiting for a process that writes into a pipe.
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.0, inner, flags, Mode::empty(), resolve) {
                Ok(file) => Ok(Some(File::from(file))),
                Err(Errno::XDEV) => Ok(None),
                Err(other) => Err(other.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    use super::{File, Path, PathBuf, io};

    /// A folder whose paths are resolved before they are opened: whoever changes links between the two may lead out of it.
    pub(super) struct Folder(PathBuf);

    impl Folder {
        pub(super) fn open(path: &Path) -> io::Result<Folder> {
            Ok(Folder(path.to_owned()))
        }

        /// None if the path leads out of the folder.
        pub(super) fn file(&self, inner: &Path) -> io::Result<Option<File>> {
            let path = self.0.join(inner).canonicalize()?;
            if !path.starts_with(&self.0) {
                return Ok(None);
            }
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
            OpenOptions::new().read(true).custom_flags(flags).open(path).map(Some)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_below_the_folder_are_read_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir_all(below.join("sub")).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        fs::write(below.join("sub/body"), "b").unwrap();
        fs::write(below.join("commands"), "c").unwrap();
        symlink("../secret", below.join("out")).unwrap();
        symlink("sub/body", below.join("in")).unwrap();
        let files = Beneath::open(&below.join("commands")).unwrap();
        let whole = below.canonicalize().unwrap().join("sub/body");
        for inside in ["sub/body", "in", "sub/../sub/body", whole.to_str().unwrap()] {
            assert_eq!(files.read(Path::new(inside)).unwrap(), b"b", "{inside}");
        }
        for outside in
            ["../secret", "out", "sub/../../secret", "/etc/hostname", "/proc/self/environ", "sub", "absent"]
        {
            assert!(files.read(Path::new(outside)).is_err(), "{outside}");
        }
    }
}
