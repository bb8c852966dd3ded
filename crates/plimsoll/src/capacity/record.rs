//! The list of a search's probes, in the folder that holds them: by digest, with stage and level. It is written anew after each
//! probe, so that a search that ends in any way can be resumed and judged.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use evidence::capacity::{CapacityJudgement, Ceiling, ProbeStage, SearchEnd};
use judge::capacity::{CapacityRules, SearchRange};
use serde::{Deserialize, Serialize};
use workload::Objective;
use workload::capacity::Search;

use crate::failure::{CommandResult, Failure};

/// The name of the list.
pub(super) const FILE: &str = "experiment.json";
/// What distinguishes it from the list of another kind of experiment.
const KIND: &str = "capacity";
const VERSION: u32 = 1;
/// A longer list is none that this command wrote.
const MAX_BYTES: u64 = 16 << 20;

/// The list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The version of this file.
    pub(super) version: u32,
    /// `capacity`.
    pub(super) kind: String,
    /// The name of the experiment.
    pub(super) name: String,
    /// What is loaded.
    pub(super) arm: String,
    /// When it began.
    pub(super) started_at: String,
    /// Of what it is made: a digest.
    pub(super) definition: String,
    /// How it is searched.
    pub(super) search: Search,
    /// What must hold.
    pub(super) slos: Vec<Objective>,
    /// What was found out before the first probe.
    pub(super) resolved: Resolved,
    /// Its probes, in the order in which they were made.
    pub(super) runs: Vec<RecordedProbe>,
    /// Why there are no more; none while it is under way.
    pub(super) end: Option<SearchEnd>,
    /// How it was judged last.
    pub(super) judgement: Option<CapacityJudgement>,
}

/// The numbers of a search that come from its plan and from this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Resolved {
    /// The easiest level, the hardest, and where the search begins.
    pub(super) easiest: f64,
    pub(super) hardest: f64,
    pub(super) start: f64,
    /// Why there is nothing harder.
    pub(super) ceiling: Ceiling,
    /// The plan's own level, where levels scale its load.
    pub(super) plan_level: Option<f64>,
    /// Requests a second that the generator is proven for.
    pub(super) proven_per_s: f64,
    /// Requests a second that count for each objective at the plan's level.
    pub(super) per_s: Vec<f64>,
    /// How long each probe is.
    pub(super) step_s: f64,
    /// How much of its beginning is left out.
    pub(super) warm_up_s: u32,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedProbe {
    /// Its number, from 1.
    pub(super) number: u32,
    /// What it was for.
    pub(super) stage: ProbeStage,
    /// Its level.
    pub(super) level: f64,
    /// Its file, in this folder.
    pub(super) file: String,
    /// The digest of its evidence.
    pub(super) digest: String,
    /// When it began.
    pub(super) started_at: String,
}

impl Record {
    pub(super) fn kind_and_version() -> (String, u32) {
        (KIND.to_owned(), VERSION)
    }

    /// How its probes are planned and judged.
    pub(super) fn rules(&self) -> CapacityRules<'_> {
        let (search, resolved) = (&self.search, &self.resolved);
        CapacityRules {
            slos: &self.slos,
            range: SearchRange {
                easiest: resolved.easiest,
                hardest: resolved.hardest,
                start: resolved.start,
                is_whole: search.searched.is_whole(),
                is_more_better: search.is_more_better,
            },
            spacing: search.spacing,
            levels: search.levels,
            repeats: search.repeats,
            seed: search.seed,
            is_held: !search.hold.is_zero(),
            is_overloaded: !search.overload.is_zero() && resolved.plan_level.is_some(),
            plan_level: resolved.plan_level,
            warm_up_s: resolved.warm_up_s,
            step_s: resolved.step_s,
            per_s: &resolved.per_s,
            proven_per_s: Some(resolved.proven_per_s),
            at_least: search.at_least,
            ceiling: Some((resolved.hardest, resolved.ceiling)),
            unit: search.searched.unit(),
        }
    }

    /// Read the list in `folder`.
    pub(super) fn read(folder: &Path) -> CommandResult<Record> {
        let path = folder.join(FILE);
        let at = || path.display();
        let mut text = String::new();
        let file = fs::File::open(&path)
            .with_context(|| format!("{} cannot be read; name the folder of a capacity search", at()))
            .map_err(Failure::usage)?;
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .with_context(|| format!("{} cannot be read", at()))
            .map_err(Failure::usage)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Failure::usage(anyhow!("{} is longer than {MAX_BYTES} bytes", at())));
        }
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("{} is no list of a capacity search's probes", at()))
            .map_err(Failure::usage)?;
        record.check().map_err(|wrong| Failure::usage(anyhow!("{}: {wrong}", at())))?;
        Ok(record)
    }

    /// It may come from others: every file lies in its folder, and every level is a number that can be one.
    fn check(&self) -> Result<(), String> {
        if self.version != VERSION || self.kind != KIND {
            return Err(format!(
                "a list of kind `{}`, version {}, is not known; this command knows `{KIND}`, version {VERSION}",
                self.kind, self.version
            ));
        }
        let resolved = &self.resolved;
        let levels = [resolved.easiest, resolved.hardest, resolved.start];
        let of_runs = self.runs.iter().map(|run| run.level);
        if !levels.into_iter().chain(of_runs).all(|level| level.is_finite() && level > 0.0) {
            return Err("a level is above 0".to_owned());
        }
        if !(self.search.spacing > 0.0 && self.search.spacing <= 1.0) || self.search.levels > 100 {
            return Err("its grid cannot be one".to_owned());
        }
        for run in &self.runs {
            let mut parts = Path::new(&run.file).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                return Err(format!("the run `{}` cannot be one of its probes", run.file));
            }
        }
        Ok(())
    }

    /// Write the list into `folder`, whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> CommandResult<()> {
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
}

/// Make the folder of a search.
pub(super) fn make_folder(asked: Option<&Path>, name: &str, at: &str) -> CommandResult<PathBuf> {
    let usual = || PathBuf::from(archive::file_name(name, at)).with_extension(KIND);
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
