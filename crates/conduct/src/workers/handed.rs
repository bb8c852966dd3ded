//! What is handed to workers: a plan or script with the files that it is read from, and all else that reading it depends on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use cluster::{HandedFile, Session};
use plans::{Overrides, load};
use serde::{Deserialize, Serialize};
use workload::{Files, LoadedPlan};

use crate::environment::Environment;
use crate::failure::{CommandResult, Failure};
use crate::file_kind::{self, FileKind};
use crate::manifest::sha256_hex;
use crate::plan::Disk;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandedJob {
    Plan(PlanJob),
    /// A script, in a form that only its own command knows.
    Script(serde_json::Value),
}

/// What a worker needs to read the same plan, besides files. Secrets are in it: it goes to workers that have proved
/// who they are, and nowhere else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanJob {
    path: String,
    targets: BTreeMap<String, String>,
    time_scale: Option<f64>,
    load: Option<f64>,
    seed: Option<u64>,
    until_decided: bool,
    abort_on_fail: bool,
    env: BTreeMap<String, String>,
}

/// What was read here, and how workers read it again.
pub struct HandOver {
    job: HandedJob,
    files: BTreeMap<String, Arc<[u8]>>,
}

/// Files that note what is read of them.
pub struct NotedFiles {
    files: Arc<dyn Files + Send + Sync>,
    read: Mutex<BTreeMap<PathBuf, Arc<[u8]>>>,
}

impl NotedFiles {
    /// Note what is read of these.
    pub fn over(files: Arc<dyn Files + Send + Sync>) -> NotedFiles {
        NotedFiles { files, read: Mutex::default() }
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<[u8]>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read, with the paths.
    pub fn content(&self) -> CommandResult<Vec<(String, Arc<[u8]>)>> {
        self.noted().iter().map(|(path, content)| Ok((named(path)?, content.clone()))).collect()
    }
}

impl Files for NotedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = self.files.read(path)?;
        self.noted().insert(path.to_owned(), content.as_slice().into());
        Ok(content)
    }
}

/// Read the plan at `path`, with these environment variables.
pub fn resolve(
    path: &Path,
    overrides: &Overrides,
    environment: &dyn Fn(&str) -> Option<String>,
) -> CommandResult<(LoadedPlan, HandOver)> {
    file_kind::refuse_others(path, &[FileKind::Plan])?;
    let files = NotedFiles::over(Arc::new(Disk));
    let env = RefCell::new(BTreeMap::new());
    let noted = |name: &str| {
        let value = environment(name)?;
        env.borrow_mut().insert(name.to_owned(), value.clone());
        Some(value)
    };
    let plan = load(path, &files, &noted, overrides).map_err(Failure::usage)?;
    let Overrides { targets, time_scale, load, seed, until_decided, abort_on_fail } = overrides.clone();
    let path = named(path)?;
    let env = env.into_inner();
    let job = PlanJob { path, targets, time_scale, load, seed, until_decided, abort_on_fail, env };
    Ok((plan, HandOver::new(HandedJob::Plan(job), &files)?))
}

impl HandOver {
    /// This job, with what was read for it.
    pub fn new(job: HandedJob, files: &NotedFiles) -> CommandResult<HandOver> {
        Ok(HandOver { job, files: files.content()?.into_iter().collect() })
    }

    /// Hand this over as well.
    pub fn add(&mut self, name: String, content: Arc<[u8]>) {
        self.files.insert(name, content);
    }

    /// The environment variables that the plan names, with their values; none of a script.
    pub fn environment(&self) -> Environment {
        match &self.job {
            HandedJob::Plan(job) => job.env.clone(),
            HandedJob::Script(_) => Environment::new(),
        }
    }

    pub(super) fn job(&self) -> CommandResult<serde_json::Value> {
        serde_json::to_value(&self.job).map_err(Failure::own)
    }

    /// Every file of it, with its digest and content.
    pub fn files(&self) -> Vec<(HandedFile, Arc<[u8]>)> {
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

/// What a worker is to run.
pub(crate) fn received(session: &Session) -> CommandResult<HandedJob> {
    serde_json::from_value(session.assignment.job.clone()).map_err(Failure::own)
}

/// The plan that a worker was handed.
pub(crate) fn received_plan(job: PlanJob, session: &Session) -> CommandResult<LoadedPlan> {
    let PlanJob { path, targets, time_scale, load: scale, seed, until_decided, abort_on_fail, env } = job;
    let overrides = Overrides { targets, time_scale, load: scale, seed, until_decided, abort_on_fail };
    load(Path::new(&path), &session.files, &|name| env.get(name).cloned(), &overrides).map_err(Failure::usage)
}
