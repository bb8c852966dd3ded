//! A plan as it is handed to workers: the files that it is read from, and all else that reading it depends on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use cluster::{HandedFile, Session};
use serde::{Deserialize, Serialize};
use workload::plan::{Files, LoadedPlan, Overrides, load};

use crate::arguments::OverrideArguments;
use crate::environment::{Environment, environment};
use crate::failure::{CommandResult, Failure};
use crate::manifest::sha256_hex;
use crate::plan::{Disk, overrides};

/// What a worker needs to read the same plan, besides files. Secrets are in it: it goes to workers that have proved
/// who they are, and nowhere else.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PlanJob {
    path: String,
    targets: BTreeMap<String, String>,
    time_scale: Option<f64>,
    load: Option<f64>,
    seed: Option<u64>,
    until_decided: bool,
    env: BTreeMap<String, String>,
}

/// A plan that was read here, and how workers read it again.
pub(crate) struct PlanHandOver {
    job: PlanJob,
    files: BTreeMap<String, Arc<[u8]>>,
}

/// The files of this machine, which notes what is read.
#[derive(Default)]
struct NotedFiles(RefCell<BTreeMap<PathBuf, Arc<[u8]>>>);

impl Files for NotedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = Disk.read(path)?;
        self.0.borrow_mut().insert(path.to_owned(), content.as_slice().into());
        Ok(content)
    }
}

impl PlanHandOver {
    /// Read the plan at `path`.
    pub(crate) fn resolve(
        path: &Path,
        arguments: &OverrideArguments,
    ) -> CommandResult<(LoadedPlan, PlanHandOver)> {
        PlanHandOver::resolve_with(path, arguments, &environment)
    }

    /// The same, with these environment variables.
    pub(crate) fn resolve_with(
        path: &Path,
        arguments: &OverrideArguments,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> CommandResult<(LoadedPlan, PlanHandOver)> {
        let files = NotedFiles::default();
        let env = RefCell::new(BTreeMap::new());
        let noted = |name: &str| {
            let value = environment(name)?;
            env.borrow_mut().insert(name.to_owned(), value.clone());
            Some(value)
        };
        let overrides = overrides(arguments);
        let plan = load(path, &files, &noted, &overrides).map_err(Failure::usage)?;
        let Overrides { targets, time_scale, load, seed, until_decided } = overrides;
        let path = named(path)?;
        let job = PlanJob { path, targets, time_scale, load, seed, until_decided, env: env.into_inner() };
        let files = files.0.into_inner().into_iter();
        let files =
            files.map(|(path, content)| Ok((named(&path)?, content))).collect::<CommandResult<_>>()?;
        Ok((plan, PlanHandOver { job, files }))
    }

    /// The environment variables that the plan names, with their values.
    pub(crate) fn environment(&self) -> &Environment {
        &self.job.env
    }

    pub(crate) fn job(&self) -> CommandResult<serde_json::Value> {
        serde_json::to_value(&self.job).map_err(Failure::own)
    }

    pub(crate) fn files(&self) -> Vec<(HandedFile, Arc<[u8]>)> {
        let handed = |(path, content): (&String, &Arc<[u8]>)| {
            let (digest, bytes) = (sha256_hex(content), content.len() as u64);
            (HandedFile { path: path.clone(), digest, bytes }, content.clone())
        };
        self.files.iter().map(handed).collect()
    }
}

fn named(path: &Path) -> CommandResult<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::usage(anyhow!("{} cannot be handed to workers: rename it to UTF-8", path.display()))
    })
}

/// The plan that a worker was handed.
pub(crate) fn received_plan(session: &Session) -> CommandResult<LoadedPlan> {
    let job: PlanJob = serde_json::from_value(session.assignment.job.clone()).map_err(Failure::own)?;
    let PlanJob { path, targets, time_scale, load: scale, seed, until_decided, env } = job;
    let overrides = Overrides { targets, time_scale, load: scale, seed, until_decided };
    load(Path::new(&path), &session.files, &|name| env.get(name).cloned(), &overrides).map_err(Failure::usage)
}
