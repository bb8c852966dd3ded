//! `plimsoll compare`: run files side by side, what may be said of their differences and what may not.

use std::path::Path;

use ::report::summary::{self, Comparison, MAX_SIDES};
use anyhow::anyhow;
use archive::{Integrity, Stored};
use evidence::Run;
use judge::Provenance;
use workload::Workload;

use crate::arguments::CompareArguments;
use crate::failure::{Failure, Outcome};
use crate::{judged, outputs};

/// A run file, read.
struct Opened {
    name: String,
    run: Stored,
    workload: Workload,
    provenance: Provenance,
}

pub(crate) fn compare(arguments: &CompareArguments) -> Outcome<u8> {
    if arguments.files.len() > MAX_SIDES {
        return Err(Failure::usage(anyhow!("at most {MAX_SIDES} run files can be laid side by side")));
    }
    let opened: Vec<Opened> = arguments.files.iter().map(|path| open(path)).collect::<Outcome<_>>()?;
    let sides: Vec<judge::Side<'_>> = opened.iter().map(judged_side).collect();
    let judgement = judge::compare(&sides, &arguments.expect).map_err(Failure::own)?;
    let shown: Vec<summary::Side<'_>> = opened.iter().map(shown_side).collect();
    let comparison = Comparison::of(&shown, &judgement).map_err(Failure::own)?;
    outputs::write_comparison(&comparison, arguments)?;
    Ok(judge::exit_code(judgement.verdict))
}

fn open(path: &Path) -> Outcome<Opened> {
    let run = Stored::open(path).map_err(Failure::usage)?;
    let workload = judged::workload_of(path, run.manifest())?;
    let provenance = match run.verify_digest().map_err(Failure::usage)? {
        Integrity::Intact => Provenance::Intact,
        Integrity::Changed => Provenance::Changed,
        Integrity::Unsealed => Provenance::Unsealed,
    };
    Ok(Opened { name: path.display().to_string(), run, workload, provenance })
}

fn judged_side(opened: &Opened) -> judge::Side<'_> {
    let Opened { name, run, workload, provenance } = opened;
    judge::Side { name, run, workload, provenance: *provenance }
}

fn shown_side(opened: &Opened) -> summary::Side<'_> {
    let Opened { name, run, workload, .. } = opened;
    summary::Side { name, run, workload }
}
