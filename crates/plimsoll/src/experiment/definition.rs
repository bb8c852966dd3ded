//! What an experiment is made of: from a file, or from the command line.

use std::path::Path;

use anyhow::anyhow;
use sha2::{Digest as _, Sha256};
use stats::Looks;
use workload::Workload;
use workload::experiment::{Arm, Design, Experiment};
use workload::plan::{ExperimentOverrides, Overrides, load, load_experiment, metrics_for};

use crate::arguments::AbArguments;
use crate::environment::environment;
use crate::failure::{CommandResult, Failure};
use crate::plan::Disk;

/// The experiment that the arguments ask for.
pub(crate) fn read(arguments: &AbArguments) -> CommandResult<Experiment> {
    let file = arguments.file.as_deref().ok_or_else(|| Failure::usage(anyhow!("name an experiment")))?;
    let mut experiment = match (&arguments.a, &arguments.b) {
        (Some(a), Some(b)) => of_commands(file, [a, b], arguments)?,
        _ => {
            let given = ExperimentOverrides { check_looks: &check_looks, env: &environment };
            load_experiment(file, &Disk, &given).map_err(Failure::usage)?
        }
    };
    let design = &mut experiment.design;
    design.slot = arguments.slot.or(design.slot);
    design.budget = arguments.budget.or(design.budget);
    design.seed = arguments.seed.unwrap_or(design.seed);
    if !arguments.looks.is_empty() {
        check_looks(&arguments.looks).map_err(|wrong| Failure::usage(anyhow!("--looks: {wrong}")))?;
        design.looks.clone_from(&arguments.looks);
    }
    if !arguments.gate.is_empty() {
        let workload = plan(&experiment.plan)?;
        experiment.metrics = metrics_for(&workload, &arguments.gate)
            .map_err(|wrong| Failure::usage(anyhow!("--gate {wrong}")))?;
    }
    Ok(experiment)
}

fn of_commands(file: &Path, starts: [&String; 2], arguments: &AbArguments) -> CommandResult<Experiment> {
    let workload = plan(file)?;
    let arm = |start: &String| Arm {
        start: Some(start.clone()),
        ready: arguments.ready.clone(),
        reset: arguments.reset.clone(),
        ..Arm::default()
    };
    Ok(Experiment {
        name: workload.name.clone(),
        plan: file.to_owned(),
        folder: ".".into(),
        arms: starts.map(arm),
        design: Design::default(),
        metrics: metrics_for(&workload, &[]).map_err(|wrong| Failure::usage(anyhow!(wrong)))?,
    })
}

fn plan(path: &Path) -> CommandResult<Workload> {
    let loaded = load(path, &Disk, &environment, &Overrides::default()).map_err(Failure::usage)?;
    Ok(loaded.workload)
}

/// A digest of what makes two sessions the same experiment: everything but the time that it may take.
pub(crate) fn digest(experiment: &Experiment, workload: &Workload) -> CommandResult<String> {
    let design = Design { budget: None, ..experiment.design.clone() };
    let parts = (&experiment.arms, &design, &experiment.metrics, workload);
    let text = serde_json::to_string(&parts).map_err(Failure::own)?;
    Ok(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is wrong with a list of looks, if anything is.
pub(crate) fn check_looks(at: &[u32]) -> Result<(), String> {
    Looks::new(at).map(drop).map_err(|_| {
        let known: Vec<String> = Looks::known().map(|looks| format!("{looks:?}")).collect();
        format!(
            "there are no constants for looks after {at:?} pairs; take one number from {} to {}, or one of {}",
            stats::looks::FEWEST_PAIRS,
            stats::looks::MOST_PAIRS,
            known.join(", ")
        )
    })
}
