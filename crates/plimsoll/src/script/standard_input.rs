//! A script that comes through standard input.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conduct::failure::{CommandResult, Failure};
use conduct::plan::Disk;
use workload::Files;

/// The name of a script that is standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The files of a script at this path: those of the disk, with standard input in the place of the script where it is that.
pub(super) fn files(script: &Path, full: &Path) -> CommandResult<Arc<dyn Files + Send + Sync>> {
    if script != Path::new(STANDARD_INPUT) {
        return Ok(Arc::new(Disk));
    }
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(Failure::own)?;
    Ok(Arc::new(WithStandardInput { path: full.to_owned(), text }))
}

struct WithStandardInput {
    path: PathBuf,
    text: Vec<u8>,
}

impl Files for WithStandardInput {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == self.path { Ok(self.text.clone()) } else { Disk.read(path) }
    }
}
