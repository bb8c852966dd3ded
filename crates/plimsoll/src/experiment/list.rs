//! The list of the runs of an experiment or a capacity search, by digest, in the folder that holds them. It is written anew
//! after each run, so that what ends in any way can be resumed and judged.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use archive::Stored;
use evidence::Run as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::outputs::note;
use crate::received::Received;

/// The name of the list.
pub(crate) const FILE: &str = "experiment.json";
/// A longer list is none that this command wrote.
const MAX_BYTES: u64 = 16 << 20;

/// A run that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MadeRun {
    /// Its file, in the folder of the list.
    pub(crate) file: String,
    /// The digest of its evidence.
    pub(crate) digest: String,
    /// When it began.
    pub(crate) started_at: String,
}

/// A list of runs with what they are for.
pub(crate) trait RunList: Serialize + DeserializeOwned {
    /// The extension of its folder.
    const KIND: &'static str;
    /// What it is a list of.
    const WHAT: &'static str;

    /// Its runs, in the order in which they were made.
    fn runs(&self) -> impl Iterator<Item = &MadeRun>;

    /// It may come from others: what is wrong with it, if anything is.
    fn check(&self) -> Result<(), String>;

    /// Read the list in `folder`.
    fn read(folder: &Path) -> CommandResult<Self> {
        let path = folder.join(FILE);
        let (at, what) = (path.display(), Self::WHAT);
        let mut text = String::new();
        let file = fs::File::open(&path)
            .with_context(|| format!("{at} cannot be read; name the folder of {what}"))
            .map_err(Failure::usage)?;
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .with_context(|| format!("{at} cannot be read"))
            .map_err(Failure::usage)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Failure::usage(anyhow!("{at} is longer than {MAX_BYTES} bytes")));
        }
        let list: Self = serde_json::from_str(&text)
            .with_context(|| format!("{at} is no list of the runs of {what}"))
            .map_err(Failure::usage)?;
        let outside = list.runs().find(|run| !is_inside(&run.file));
        let outside = outside.map(|run| format!("the run `{}` cannot be one of its runs", run.file));
        match outside.or(list.check().err()) {
            Some(wrong) => Err(Failure::usage(anyhow!("{at}: {wrong}"))),
            None => Ok(list),
        }
    }

    /// Write the list into `folder`, whole or not at all.
    fn write(&self, folder: &Path) -> CommandResult<()> {
        let path = folder.join(FILE);
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", path.display())).map_err(Failure::own)
    }

    /// Make a folder for it: `asked`, or by name and time.
    fn make_folder(asked: Option<&Path>, name: &str, at: &str) -> CommandResult<PathBuf> {
        let usual = || PathBuf::from(archive::file_name(name, at)).with_extension(Self::KIND);
        let folder = asked.map_or_else(usual, Path::to_owned);
        fs::create_dir(&folder).map_err(|error| {
            let path = folder.display();
            match error.kind() {
                ErrorKind::AlreadyExists => Failure::usage(anyhow!(
                    "{path} is there already; name another folder with `-o DIR`, or go on with it by `--resume {path}`"
                )),
                _ => Failure::own(anyhow::Error::new(error).context(format!("cannot make the folder {path}"))),
            }
        })?;
        Ok(folder)
    }
}

/// Say where the runs are of what did not come to its end.
pub(crate) fn note_kept(folder: &Path) {
    let folder = folder.display();
    note(format_args!("the runs are in {folder}; go on with `--resume {folder}`"));
}

fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// A run of the list in `folder`.
pub(crate) fn stored(folder: &Path, run: &MadeRun) -> CommandResult<StoredRun> {
    StoredRun::of(Stored::open(&folder.join(&run.file)).map_err(Failure::usage)?)
}

/// The runs of a list, which must be those that were recorded. They may come from others: from then on the command can do
/// nothing else.
pub(crate) fn received(folder: &Path, runs: &[&MadeRun]) -> CommandResult<Vec<StoredRun>> {
    let files: Vec<PathBuf> = runs.iter().map(|run| folder.join(&run.file)).collect();
    let stored = received_files(&files)?;
    for (run, stored) in runs.iter().zip(&stored) {
        if stored.run.digest().unwrap_or_default() != run.digest {
            return Err(Failure::usage(anyhow!(
                "{} is not the run that was recorded: its digest differs",
                folder.join(&run.file).display()
            )));
        }
    }
    Ok(stored)
}

/// Read run files that may come from others; from then on the command can do nothing else.
pub(crate) fn received_files(files: &[PathBuf]) -> CommandResult<Vec<StoredRun>> {
    let paths = || files.iter().map(PathBuf::as_path);
    Received::check(paths())?;
    let received = Received::at(paths())?;
    received.reach().confine();
    received.read()?.into_iter().map(|run: Stored| StoredRun::of(run)).collect()
}
