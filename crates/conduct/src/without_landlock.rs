//! In place of `confine.rs` where the kernel is not Linux: nothing confines a command that reads files from other people.

use std::path::Path;

use crate::screen;

/// The files within a command's reach.
#[derive(Default)]
pub struct Reach(());

impl Reach {
    /// This file may be read.
    pub fn file(self, _path: &Path) -> Reach {
        self
    }

    /// This run file may be read.
    pub fn run_file(self, _source: &archive::Readable) -> Reach {
        self
    }

    /// New files may be made in this folder.
    pub fn new_files_in(self, _folder: &Path) -> Reach {
        self
    }

    /// SQLite may write files in this folder.
    pub fn run_files_in(self, _folder: &Path) -> Reach {
        self
    }

    /// Says that nothing is confined.
    pub fn confine(self) {
        screen::note("plimsoll: continues without confinement: this system has no Landlock");
    }
}
