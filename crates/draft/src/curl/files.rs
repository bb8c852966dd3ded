//! The files that commands name.

use std::path::Path;

use workload::Files;

/// The largest file that becomes part of a plan, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Reads files, and remembers their names.
pub(super) struct Sources<'a> {
    files: &'a dyn Files,
    /// The files that were read, as the commands name them.
    pub(super) read: Vec<String>,
}

impl Sources<'_> {
    pub(super) fn new(files: &dyn Files) -> Sources<'_> {
        Sources { files, read: Vec::new() }
    }

    /// The text of a file that a command names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(&mut self, path: &str) -> Result<String, String> {
        if path == "-" {
            return Err("reads standard input, which is not part of the command: name a file".to_owned());
        }
        let bytes = self
            .files
            .read(Path::new(path))
            .map_err(|error| format!("the file {path} cannot be read: {error}"))?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(format!(
                "the file {path} is larger than {MAX_FILE_BYTES} bytes: too large to be part of a plan"
            ));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("the file {path} is not UTF-8: bodies of a plan are text"))?;
        if !self.read.iter().any(|known| known == path) {
            self.read.push(path.to_owned());
        }
        Ok(text)
    }
}
