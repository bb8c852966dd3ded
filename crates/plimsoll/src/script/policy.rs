//! `--policy FILE`: what a script must show besides its thresholds, in a file beside it.

use conduct::failure::{CommandResult, Failure};
use conduct::screen;
use evidence::{Claim, Judgement, Verdict};
use plans::{Policy, load_policy};
use std::collections::BTreeMap;
use workload::LoadedPlan;
use workload::{Files, Schemas, Workload};

use k6::ScriptInputs;

/// The options cannot be used; the policy is one of them.
const UNUSABLE: u8 = 104;

/// The script's workload as a plan, with what its policy adds.
pub(super) fn applied(
    inputs: &ScriptInputs,
    files: &dyn Files,
    workload: Workload,
) -> CommandResult<LoadedPlan> {
    let policy = match &inputs.policy {
        Some(path) => load_policy(path, files, &|name| inputs.variable(name), workload)
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
        screen::note(format_args!("objectives of the policy were violated: {}", violated.join(", ")));
    }
}
