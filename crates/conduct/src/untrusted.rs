//! Run files that may come from others: checked, copied where they must be, and read by a confined process. A command
//! that is interrupted leaves no copy.

use std::path::Path;

use crate::failure::{CommandResult, Failure};
use crate::file_kind::{self, FileKind};
use crate::signals::HeldSignals;
use archive::{Readable, Stored};

use crate::confine::Reach;

/// Run files that are about to be read.
pub struct UntrustedRunFiles {
    // Deleted before a signal that was held back ends the process.
    sources: Vec<Readable>,
    held: HeldSignals,
}

impl UntrustedRunFiles {
    /// Checks run files before anything is made for the command's outputs.
    pub fn check<'a>(paths: impl IntoIterator<Item = &'a Path>) -> CommandResult<()> {
        paths.into_iter().try_for_each(|path| {
            Readable::check(path).or_else(|error| {
                file_kind::refuse_others(path, &[FileKind::RunFile])?;
                Err(Failure::usage(error))
            })
        })
    }

    /// From here on Ctrl-C and SIGTERM wait until the files are open, or the copy of one is given up for them.
    pub fn at<'a>(paths: impl IntoIterator<Item = &'a Path>) -> CommandResult<UntrustedRunFiles> {
        let mut received = UntrustedRunFiles { sources: Vec::new(), held: HeldSignals::begin()? };
        for path in paths {
            let source = Readable::at_unless(&|| received.held.came(), path).map_err(Failure::usage)?;
            received.sources.push(source);
        }
        Ok(received)
    }

    /// The files within reach of a process that reads these.
    pub fn reach(&self) -> Reach {
        self.sources.iter().fold(Reach::default(), Reach::run_file)
    }

    /// Opens them; no copy is left then.
    pub fn read(mut self) -> CommandResult<Vec<Stored>> {
        let sources = std::mem::take(&mut self.sources);
        sources.into_iter().map(|source| Stored::read(source).map_err(Failure::usage)).collect()
    }

    /// Opens the only one.
    pub fn read_one(self) -> CommandResult<Stored> {
        let opened = self.read()?.pop();
        opened.ok_or_else(|| Failure::own(anyhow::anyhow!("there is no run file to be read")))
    }
}
