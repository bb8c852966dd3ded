//! The list of an experiment's runs, by digest, in the folder that holds them. It is written anew after each run, so that what
//! ends in any way can be resumed and judged.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::StoredRun;
use conduct::untrusted::UntrustedRunFiles;
use evidence::{ExperimentEnd, Run as _};
use serde::{Deserialize, Serialize};

use crate::design::{Design, RecordedRun, RunPlace as _, Terms};
use crate::slot::MadeRun;

/// The name of the list.
pub const FILE: &str = "experiment.json";
const VERSION: u32 = 1;
/// Lists without a kind are of this one.
const OLDEST_KIND: &str = "ab";
/// A longer list is none that this command wrote.
const MAX_BYTES: u64 = 16 << 20;

/// The list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Record<D: Design> {
    /// The version of this file.
    version: u32,
    /// What it is a list of.
    #[serde(default = "oldest_kind")]
    kind: String,
    /// The name of the experiment.
    pub(crate) name: String,
    /// When it began.
    started_at: String,
    /// Of what it is made: a digest.
    pub(crate) definition: String,
    #[serde(flatten)]
    /// What kind it is, with what judging its runs again takes.
    pub design: D,
    /// Its runs, in the order in which they were made.
    pub(crate) runs: Vec<RecordedRun<D::RunPlace>>,
    /// Why there are no more; none while it is under way.
    pub(crate) end: Option<ExperimentEnd>,
    /// How it was judged last.
    pub(crate) judgement: Option<D::Judgement>,
}

fn oldest_kind() -> String {
    OLDEST_KIND.to_owned()
}

/// The kind of the list in `folder`; none where it names none.
pub fn kind(folder: &Path) -> CommandResult<Option<String>> {
    #[derive(Deserialize)]
    struct OfKind {
        kind: Option<String>,
    }
    let path = folder.join(FILE);
    let text = text(&path, "an experiment")?;
    let of_kind: Option<OfKind> = serde_json::from_str(&text).ok();
    Ok(of_kind.and_then(|of| of.kind))
}

/// The list at `path`, which may come from others.
fn text(path: &Path, what: &str) -> CommandResult<String> {
    let at = path.display();
    let mut text = String::new();
    let file = fs::File::open(path)
        .with_context(|| format!("{at} cannot be read; name the folder of {what}"))
        .map_err(Failure::usage)?;
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("{at} cannot be read"))
        .map_err(Failure::usage)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(Failure::usage(anyhow!("{at} is longer than {MAX_BYTES} bytes"))),
        false => Ok(text),
    }
}

impl<D: Design> Record<D> {
    /// An experiment that begins at this time.
    pub(crate) fn begun(design: D, name: &str, started_at: &str, definition: String) -> Record<D> {
        Record {
            version: VERSION,
            kind: D::TERMS.kind.to_owned(),
            name: name.to_owned(),
            started_at: started_at.to_owned(),
            definition,
            design,
            runs: Vec::new(),
            end: None,
            judgement: None,
        }
    }

    /// Read the list in `folder`, which may come from others.
    pub fn read(folder: &Path) -> CommandResult<Record<D>> {
        let path = folder.join(FILE);
        let (at, what) = (path.display(), D::TERMS.what);
        let text = text(&path, what)?;
        let list: Record<D> = serde_json::from_str(&text)
            .with_context(|| format!("{at} is not a list of the runs of {what}"))
            .map_err(Failure::usage)?;
        list.check().map_err(|wrong| Failure::usage(anyhow!("{at}: {wrong}")))?;
        Ok(list)
    }

    fn check(&self) -> Result<(), String> {
        let Terms { kind, runs_a_step, .. } = D::TERMS;
        let is_foreign = |run: &&RecordedRun<D::RunPlace>| {
            !is_inside(&run.made.file) || run.place.step() == 0 || run.place.side() >= runs_a_step
        };
        if let Some(run) = self.runs.iter().find(is_foreign) {
            return Err(format!("the run `{}` cannot be one of its runs", run.made.file));
        }
        if self.version != VERSION || self.kind != kind {
            return Err(format!(
                "a list of kind `{}`, version {}, is not known; this command knows `{kind}`, version {VERSION}",
                self.kind, self.version
            ));
        }
        self.design.check(&self.runs)
    }

    /// Write the list into `folder`, whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> CommandResult<()> {
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
    pub(crate) fn make_folder(&self, asked: Option<&Path>) -> CommandResult<PathBuf> {
        let usual =
            || PathBuf::from(archive::file_name(&self.name, &self.started_at)).with_extension(D::TERMS.kind);
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

    /// The steps of which all runs are there, in the order of their numbers.
    pub(crate) fn steps(&self) -> Vec<Vec<&RecordedRun<D::RunPlace>>> {
        let mut by_number: BTreeMap<u32, BTreeMap<usize, &RecordedRun<D::RunPlace>>> = BTreeMap::new();
        for run in &self.runs {
            by_number.entry(run.place.step()).or_default().insert(run.place.side(), run);
        }
        let steps = by_number.into_values().map(|sides| sides.into_values().collect::<Vec<_>>());
        steps.filter(|runs| runs.len() == D::TERMS.runs_a_step).collect()
    }

    /// Leave out the runs of a step that is not complete: its runs belong next to each other, and are made anew.
    pub(crate) fn drop_incomplete(&mut self) {
        let complete: Vec<u32> =
            self.steps().iter().filter_map(|runs| runs.first()).map(|run| run.place.step()).collect();
        self.runs.retain(|run| complete.contains(&run.place.step()));
    }

    /// The runs of one of the steps, measured from their files in `folder`.
    pub(crate) fn measured_in(
        &self,
        folder: &Path,
        before: &[D::Step],
        runs: &[&RecordedRun<D::RunPlace>],
    ) -> CommandResult<D::Step> {
        let stored = runs.iter().map(|run| stored(folder, &run.made)).collect::<CommandResult<Vec<_>>>()?;
        self.measured(before, runs, &stored)
    }

    /// The same from their evidence.
    fn measured(
        &self,
        before: &[D::Step],
        runs: &[&RecordedRun<D::RunPlace>],
        stored: &[StoredRun],
    ) -> CommandResult<D::Step> {
        let sides: Vec<_> =
            runs.iter().zip(stored).map(|(run, stored)| stored.side(&run.made.file)).collect();
        self.design.measure(before, runs[0], &sides)
    }

    /// Its steps, measured. The files in `folder` may come from others: from then on the command can do nothing else.
    pub fn received_steps(&self, folder: &Path) -> CommandResult<Vec<D::Step>> {
        let steps = self.steps();
        let made: Vec<&MadeRun> = steps.iter().flatten().map(|run| &run.made).collect();
        let stored = received(folder, &made)?;
        let mut measured = Vec::new();
        for (runs, stored) in steps.iter().zip(stored.chunks(D::TERMS.runs_a_step)) {
            let step = self.measured(&measured, runs, stored)?;
            measured.push(step);
        }
        Ok(measured)
    }

    /// What is reported of the experiment in `folder`, judged again.
    pub fn judged_again(&self, folder: &Path) -> CommandResult<D::Summary> {
        let steps = self.received_steps(folder)?;
        let end = self.end.clone().unwrap_or(ExperimentEnd::Interrupted);
        let judgement = self.design.judge(&steps, end)?;
        Ok(self.summary(judgement))
    }

    pub(crate) fn summary(&self, judgement: D::Judgement) -> D::Summary {
        self.design.summary(&self.name, &self.steps(), judgement)
    }
}

fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// A run of the list in `folder`.
pub(crate) fn stored(folder: &Path, run: &MadeRun) -> CommandResult<StoredRun> {
    StoredRun::judge(Stored::open(&folder.join(&run.file)).map_err(Failure::usage)?)
}

/// The runs of a list, which must be those that were recorded. They may come from others: from then on the command can do
/// nothing else.
fn received(folder: &Path, runs: &[&MadeRun]) -> CommandResult<Vec<StoredRun>> {
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
    UntrustedRunFiles::check(paths())?;
    let received = UntrustedRunFiles::at(paths())?;
    received.reach().confine();
    received.read()?.into_iter().map(|run: Stored| StoredRun::judge(run)).collect()
}
