//! Files below a folder: a file of commands may name those that lie beside or below it, and no others.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use workload::Files;

/// More than a plan takes of any file.
const MOST_BYTES: u64 = 2 << 20;

/// A folder, and what is below it.
pub(super) struct Beneath {
    folder: OwnedFd,
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
        let folder = openat(CWD, &path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .with_context(|| format!("{} cannot be opened", path.display()))?;
        Ok(Beneath { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Files for Beneath {
    /// Links and `..` may not lead out of the folder; the kernel sees to that.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inner = path.strip_prefix(&self.path).unwrap_or(path);
        let outside = || io::Error::other(format!("it is not below {}", self.path.display()));
        if inner.is_absolute() {
            return Err(outside());
        }
        // Without waiting for a process that writes into a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = openat2(&self.folder, inner, flags, Mode::empty(), resolve);
        let file = File::from(opened.map_err(|error| match error {
            rustix::io::Errno::XDEV => outside(),
            other => other.into(),
        })?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
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
