//! The list of an experiment's runs, in the folder that holds them: by digest, with arm, pair and order. It is written anew
//! after each run, so that an experiment that ends in any way can be resumed and judged.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use evidence::{ExperimentEnd, ExperimentJudgement, PairOrder};
use serde::{Deserialize, Serialize};
use workload::experiment::{Design, GateMetric};

use crate::failure::{CommandResult, Failure};

/// The name of the list.
pub(crate) const FILE: &str = "experiment.json";
const VERSION: u32 = 1;
/// A longer list is none that this command wrote.
const MAX_BYTES: u64 = 16 << 20;

/// The list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The version of this file.
    pub(crate) version: u32,
    /// The name of the experiment.
    pub(crate) name: String,
    /// What A and B are.
    pub(crate) arms: [String; 2],
    /// When it began.
    pub(crate) started_at: String,
    /// Of what it is made: a digest.
    pub(crate) definition: String,
    /// How often and how long.
    pub(crate) design: Design,
    /// What decides it.
    pub(crate) metrics: Vec<GateMetric>,
    /// Its runs, in the order in which they were made.
    pub(crate) runs: Vec<RecordedRun>,
    /// Why there are no more; none while it is under way.
    pub(crate) end: Option<ExperimentEnd>,
    /// How it was judged last.
    pub(crate) judgement: Option<ExperimentJudgement>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedRun {
    /// The number of its pair, from 1.
    pub(crate) pair: u32,
    /// Its arm: 0 is A, 1 is B.
    pub(crate) arm: usize,
    /// The order of its pair.
    pub(crate) order: PairOrder,
    /// Its file, in this folder.
    pub(crate) file: String,
    /// The digest of its evidence.
    pub(crate) digest: String,
    /// When it began.
    pub(crate) started_at: String,
}

/// A pair of which both runs are there.
pub(crate) struct RecordedPair<'a> {
    pub(crate) number: u32,
    pub(crate) order: PairOrder,
    /// A's run and B's.
    pub(crate) runs: [&'a RecordedRun; 2],
}

impl Record {
    pub(crate) fn version() -> u32 {
        VERSION
    }

    /// Read the list in `folder`.
    pub(crate) fn read(folder: &Path) -> CommandResult<Record> {
        let path = folder.join(FILE);
        let at = || path.display();
        let mut text = String::new();
        let file = fs::File::open(&path)
            .with_context(|| format!("{} cannot be read; name the folder of an experiment", at()))
            .map_err(Failure::usage)?;
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .with_context(|| format!("{} cannot be read", at()))
            .map_err(Failure::usage)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Failure::usage(anyhow!("{} is longer than {MAX_BYTES} bytes", at())));
        }
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("{} is no list of an experiment's runs", at()))
            .map_err(Failure::usage)?;
        record.check().map_err(|wrong| Failure::usage(anyhow!("{}: {wrong}", at())))?;
        Ok(record)
    }

    /// It may come from others: every file lies in its folder.
    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("version {} is not known; this command knows {VERSION}", self.version));
        }
        for run in &self.runs {
            let mut parts = Path::new(&run.file).components();
            let is_plain =
                matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None));
            if !is_plain || run.arm > 1 || run.pair == 0 {
                return Err(format!("the run `{}` of pair {} cannot be one of its runs", run.file, run.pair));
            }
        }
        Ok(())
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

    /// The pairs of which both runs are there, in the order of their numbers.
    pub(crate) fn pairs(&self) -> Vec<RecordedPair<'_>> {
        let mut by_number: BTreeMap<u32, [Option<&RecordedRun>; 2]> = BTreeMap::new();
        for run in &self.runs {
            by_number.entry(run.pair).or_default()[run.arm] = Some(run);
        }
        let mut pairs = Vec::new();
        for (number, runs) in by_number {
            if let [Some(a), Some(b)] = runs {
                pairs.push(RecordedPair { number, order: a.order, runs: [a, b] });
            }
        }
        pairs
    }
}

/// Make the folder of an experiment.
pub(crate) fn make_folder(asked: Option<&Path>, name: &str, at: &str) -> CommandResult<PathBuf> {
    let usual = || PathBuf::from(archive::file_name(name, at)).with_extension("ab");
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
