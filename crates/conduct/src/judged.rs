//! Station 8: a run file, read back and judged. The judge reads the file alone, whether the run ended a second or a
//! year ago.

use std::path::Path;

use ::report::Summary;
use anyhow::Context;
use archive::Stored;
use evidence::diagnosis::Diagnosis;
use evidence::{Judgement, Manifest, Provenance, Run, Verdict};
use workload::Workload;

use crate::failure::{CommandResult, Failure};
use crate::{clock, code_waits, integrity};

/// The judgement of a run file, and the report's data.
pub struct Judged {
    /// What the judge found.
    pub judgement: Judgement,
    pub summary: Summary,
    /// Whether the run failed because nothing succeeded, whatever was asked.
    pub has_no_success: bool,
}

impl Judged {
    /// The verdict that decides the exit code of a script where k6 would say 0, if any does.
    pub fn beyond_k6(&self) -> Option<Verdict> {
        match self.judgement.verdict {
            Verdict::Invalid => Some(Verdict::Invalid),
            _ if self.has_no_success => Some(Verdict::Fail),
            _ => None,
        }
    }

    /// Append the judgement to the run file at `path`, dated now.
    pub fn append_to(&self, path: &Path) -> CommandResult<()> {
        archive::append_judgement(path, &self.judgement, &clock::rfc3339(clock::now())).map_err(Failure::own)
    }
}

/// Read and judge the run file at `path`.
pub fn judge_file(path: &Path) -> CommandResult<Judged> {
    judge(Stored::open(path).map_err(Failure::usage)?)
}

/// Judge this run file.
pub fn judge(run: Stored) -> CommandResult<Judged> {
    judge_by(run, &[])
}

/// Judge this run file by its objectives and these.
pub fn judge_by(run: Stored, objectives: &[String]) -> CommandResult<Judged> {
    let StoredRun { run, mut workload, provenance } = StoredRun::judge(run)?;
    let more = plans::asked(&workload, objectives).map_err(Failure::usage)?;
    workload.objectives.extend(more);
    let judgement = ::judge::judge(&run, &workload, provenance).map_err(Failure::own)?;
    let summary = Summary::of(&run, &workload, &judgement).map_err(Failure::own)?;
    let diagnosis = diagnosis_by(&run, &workload, &judgement)?;
    let summary = summary.with_diagnosis(Some(diagnosis).filter(Diagnosis::has_levels));
    let has_no_success = judgement.verdict == Verdict::Fail
        && ::judge::has_no_success(&run, &workload).map_err(Failure::own)?;
    Ok(Judged { judgement, summary, has_no_success })
}

/// What limits the service that this run loaded.
pub fn diagnosis(run: &Stored, workload: &Workload, provenance: Provenance) -> CommandResult<Diagnosis> {
    let judgement = ::judge::judge(run, workload, provenance).map_err(Failure::own)?;
    diagnosis_by(run, workload, &judgement)
}

/// The judge knows no profiles: where the code waits is added to what it says.
fn diagnosis_by(run: &Stored, workload: &Workload, judgement: &Judgement) -> CommandResult<Diagnosis> {
    let found = ::judge::diagnosis::of_run(run, workload, judgement).map_err(Failure::own)?;
    Ok(Diagnosis { in_code: code_waits::of(run).map_err(Failure::own)?, ..found })
}

/// A run file with everything that is judged.
pub struct StoredRun {
    /// The evidence.
    pub run: Stored,
    /// What was offered.
    pub workload: Workload,
    /// Whether the evidence is as it was sealed.
    pub provenance: Provenance,
}

impl StoredRun {
    /// Read the workload of this run file, and compute the digest of its evidence.
    pub fn judge(run: Stored) -> CommandResult<StoredRun> {
        let workload = workload_of(run.path(), run.manifest())?;
        let provenance = integrity::verify(&run, run.path())?;
        Ok(StoredRun { run, workload, provenance })
    }

    /// The run as one side of a comparison, called `name`.
    pub fn side<'a>(&'a self, name: &'a str) -> ::judge::Side<'a> {
        let StoredRun { run, workload, provenance } = self;
        ::judge::Side { name, run, workload, provenance: *provenance }
    }
}

/// The workload in the manifest of the run file at `path`.
fn workload_of(path: &Path, manifest: &Manifest) -> CommandResult<Workload> {
    serde_json::from_value(manifest.workload.clone())
        .with_context(|| format!("{}: the workload in its manifest cannot be read", path.display()))
        .map_err(Failure::usage)
}
