//! `--policy FILE`: what a script must show besides its thresholds, in a file beside it.

use std::collections::BTreeMap;
use std::path::Path;

use evidence::{Claim, Judgement, Verdict};
use workload::plan::{LoadedPlan, Policy, load_policy};
use workload::{Schemas, Workload};

use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::outputs;
use crate::plan::Disk;

/// The options cannot be used; the policy is one of them.
const UNUSABLE: u8 = 104;

/// The script's workload as a plan, with what the policy at `path` adds.
pub(super) fn applied(path: Option<&Path>, workload: Workload) -> CommandResult<LoadedPlan> {
    let policy = match path {
        Some(path) => load_policy(path, &Disk, &environment, workload)
            .map_err(|errors| Failure::Script { code: UNUSABLE, error: errors.into() })?,
        None => Policy { workload, schemas: Schemas::default(), tls: BTreeMap::new(), env: BTreeMap::new() },
    };
    let Policy { workload, schemas, tls, env } = policy;
    Ok(LoadedPlan { workload, tables: BTreeMap::new(), schemas, tls, env })
}

/// The objectives of the policy that were violated.
pub(super) fn violated(judgement: &Judgement) -> Vec<&str> {
    let is_violated = |claim: &&Claim| claim.holds_in_k6.is_none() && claim.verdict == Verdict::Fail;
    judgement.claims.iter().filter(is_violated).map(|claim| claim.name.as_str()).collect()
}

/// Say which objectives of the policy were violated.
pub(super) fn note_violated(judgement: &Judgement) {
    let violated = violated(judgement);
    if !violated.is_empty() {
        outputs::note(format_args!("objectives of the policy were violated: {}", violated.join(", ")));
    }
}
