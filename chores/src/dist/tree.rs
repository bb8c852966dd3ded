//! Files as they will be installed, and the archives that carry them. Every archive has its entries sorted, owned by
//! root and dated alike, so that the same files give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// The date of everything in an archive: 1980-01-01, the first day that a zip archive can name.
pub(super) const DATE: u64 = 315_532_800;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    kind: EntryType,
    mode: u32,
    owner: u64,
    bytes: Vec<u8>,
}

/// Paths relative to the root of what is installed, without a leading slash.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileTree(BTreeMap<String, Node>);

impl FileTree {
    /// With a file of root that every user may read.
    pub(crate) fn file(self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(path, Node { kind: EntryType::Regular, mode: 0o644, owner: 0, bytes: bytes.into() })
    }

    /// With a file of root that every user may run.
    pub(crate) fn program(self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.with(path, Node { kind: EntryType::Regular, mode: 0o755, owner: 0, bytes: bytes.into() })
    }

    /// With an empty folder of the user with this number.
    pub(crate) fn folder(self, path: impl Into<String>, owner: u64, mode: u32) -> Self {
        self.with(path, Node { kind: EntryType::Directory, mode, owner, bytes: Vec::new() })
    }

    fn with(mut self, path: impl Into<String>, node: Node) -> Self {
        self.0.insert(path.into(), node);
        self
    }

    /// The same under another folder.
    pub(super) fn below(self, folder: &str) -> Self {
        Self(self.0.into_iter().map(|(path, node)| (format!("{folder}/{path}"), node)).collect())
    }

    /// With everything of `other`.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The files in order: path, mode, content.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        let files = self.0.iter().filter(|(_, node)| node.kind == EntryType::Regular);
        files.map(|(path, node)| (path.as_str(), node.mode, node.bytes.as_slice()))
    }

    /// Writes the files below a folder that is not there yet.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(super) fn write(&self, root: &Path) -> Result<()> {
        // Whatever the umask is.
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        let folders: BTreeSet<&str> = self.0.keys().flat_map(|path| ancestors(path)).collect();
        for folder in [""].into_iter().chain(folders) {
            let folder = root.join(folder);
            fs::create_dir(&folder).and_then(|()| set(&folder, 0o755)).context("cannot make a folder")?;
        }
        for (path, mode, bytes) in self.files() {
            let path = root.join(path);
            fs::write(&path, bytes).and_then(|()| set(&path, mode)).context("cannot write a file")?;
        }
        Ok(())
    }

    /// As a tar archive (POSIX ustar), with the folders above each path.
    ///
    /// # Errors
    /// When a path does not fit.
    pub(super) fn tar(&self) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        let folder = Node { kind: EntryType::Directory, mode: 0o755, owner: 0, bytes: Vec::new() };
        let folders: BTreeSet<&str> = self.0.keys().flat_map(|path| ancestors(path)).collect();
        let implied = folders.into_iter().filter(|path| !self.0.contains_key(*path));
        let mut all: Vec<(&str, &Node)> = self.0.iter().map(|(path, node)| (path.as_str(), node)).collect();
        all.extend(implied.map(|path| (path, &folder)));
        all.sort_unstable_by_key(|(path, _)| *path);
        for (path, node) in all {
            let mut header = Header::new_ustar();
            header.set_entry_type(node.kind);
            header.set_mode(node.mode);
            header.set_uid(node.owner);
            header.set_gid(node.owner);
            header.set_mtime(DATE);
            header.set_size(node.bytes.len() as u64);
            let path = if node.kind == EntryType::Directory { format!("{path}/") } else { path.to_owned() };
            archive
                .append_data(&mut header, &path, node.bytes.as_slice())
                .with_context(|| format!("cannot archive {path}"))?;
        }
        archive.into_inner().context("cannot end the archive")
    }
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Compressed, without a name or a date.
///
/// # Errors
/// Never in memory.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    encoder.write_all(bytes).context("cannot compress")?;
    encoder.finish().context("cannot compress")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn sample() -> FileTree {
        FileTree::default()
            .program("usr/bin/plimsoll", "ELF")
            .file("usr/share/man/man1/plimsoll.1", "page")
            .folder("data", 65532, 0o750)
    }

    #[test]
    fn an_archive_has_folders_before_their_files_and_owners_and_dates_alike() {
        let bytes = sample().tar().expect("short paths");
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries: Vec<String> = archive
            .entries()
            .expect("an archive")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let header = entry.header();
                assert_eq!(header.mtime().expect("set"), DATE);
                let path = entry.path().expect("UTF-8").display().to_string();
                format!("{path} {:o} {}", header.mode().expect("set"), header.uid().expect("set"))
            })
            .collect();
        let expect = [
            "data/ 750 65532",
            "usr/ 755 0",
            "usr/bin/ 755 0",
            "usr/bin/plimsoll 755 0",
            "usr/share/ 755 0",
            "usr/share/man/ 755 0",
            "usr/share/man/man1/ 755 0",
            "usr/share/man/man1/plimsoll.1 644 0",
        ];
        assert_eq!(entries, expect);
    }

    #[test]
    fn the_order_in_which_files_are_named_changes_no_byte() {
        let other = FileTree::default()
            .folder("data", 65532, 0o750)
            .and(FileTree::default().file("man/man1/plimsoll.1", "page").below("usr/share"))
            .program("usr/bin/plimsoll", "ELF");
        let packed = |tree: FileTree| gzip(&tree.tar().expect("short paths")).expect("in memory");
        assert_eq!(packed(sample()), packed(other));
    }

    #[test]
    fn what_was_compressed_is_read_back_and_has_no_date() {
        let packed = gzip(b"text").expect("in memory");
        assert_eq!(packed[4..8], [0; 4], "the date of RFC 1952");
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
        assert_eq!(text, "text");
    }
}
