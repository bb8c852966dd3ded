//! `--files-under`: files that are below a folder, wherever links lead.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use workload::Files;

/// Files that are read only if they are below a folder, with all links followed.
pub(crate) struct FilesBeneath {
    pub(crate) files: Arc<dyn Files + Send + Sync>,
    pub(crate) folder: PathBuf,
    /// Files, and folders with files, that may be anywhere.
    pub(crate) exempt: Vec<PathBuf>,
}

impl Files for FilesBeneath {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if !self.exempt.iter().any(|exempt| path.starts_with(exempt)) {
            let (real, folder) = (path.canonicalize()?, self.folder.canonicalize()?);
            if !real.starts_with(&folder) {
                let (folder, real) = (folder.display(), real.display());
                let why = format!("it is \"{real}\", which is not below \"{folder}\", as --files-under asks");
                return Err(io::Error::other(why));
            }
        }
        self.files.read(path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Disk;

    impl Files for Disk {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            std::fs::read(path)
        }
    }

    #[test]
    fn links_lead_within_the_folder_and_not_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| folder.path().join(name);
        std::fs::create_dir(of("below")).unwrap();
        for (path, text) in [("outside", "secret"), ("below/plain", "open")] {
            std::fs::write(of(path), text).unwrap();
        }
        symlink("plain", of("below/near")).unwrap();
        symlink(of("outside"), of("below/file")).unwrap();
        symlink("..", of("below/folder")).unwrap();
        symlink("below", of("linked")).unwrap();
        let beneath = |folder: &str, exempt: &[&str]| FilesBeneath {
            files: Arc::new(Disk),
            folder: of(folder),
            exempt: exempt.iter().map(|path| of(path)).collect(),
        };
        let below = beneath("below/../below", &[]);
        assert_eq!(below.read(&of("below/near")).unwrap(), b"open");
        for path in ["below/file", "below/folder/outside", "below/../outside", "outside"] {
            let error = below.read(&of(path)).unwrap_err().to_string();
            assert!(error.contains("not below"), "{error}");
        }
        assert_eq!(below.read(&of("below/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(beneath("linked", &[]).read(&of("linked/plain")).unwrap(), b"open");
        assert_eq!(beneath("below", &["below/folder"]).read(&of("below/folder/outside")).unwrap(), b"secret");
    }
}
