//! What is searched: from an experiment file, or from a plan and the command line.

use std::path::Path;

use anyhow::anyhow;
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::plan::{self, Disk};
use plans::{Overrides, load_capacity, searched_in, slos_for, slos_of};
use workload::capacity::{CapacityExperiment, PLACEHOLDER, Search, Searched};
use workload::experiment::Arm;

use crate::arguments::{BetterNumber, CapacityArguments, SearchArguments};

/// The search that the arguments ask for.
pub(super) fn read(arguments: &CapacityArguments) -> CommandResult<CapacityExperiment> {
    let file = arguments.file.as_deref().ok_or_else(|| Failure::usage(anyhow!("name an experiment")))?;
    let mut experiment = match arguments.start.is_some() || arguments.running {
        true => of_plan(file, arguments)?,
        false => {
            file_kind::refuse_others(file, &[FileKind::Search, FileKind::Experiment])?;
            load_capacity(file, &Disk, &environment).map_err(Failure::usage)?
        }
    };
    if !arguments.objectives.is_empty() {
        let workload = plan::resolve(&experiment.plan, &Overrides::default())?.workload;
        experiment.slos = slos_for(&workload, &arguments.objectives)
            .map_err(|wrong| Failure::usage(anyhow!("--objective {wrong}")))?;
    }
    override_search(&mut experiment.search, &arguments.search);
    check(&experiment)?;
    Ok(experiment)
}

fn of_plan(file: &Path, arguments: &CapacityArguments) -> CommandResult<CapacityExperiment> {
    let workload = plan::resolve(file, &Overrides::default())?.workload;
    let arm = Arm {
        start: arguments.start.clone(),
        ready: arguments.ready.clone(),
        reset: arguments.reset.clone(),
        ..Arm::default()
    };
    let search = Search { searched: searched_in(&workload, &arm), ..Search::default() };
    let (plan, folder) = (file.to_owned(), ".".into());
    let slos = slos_of(&workload);
    Ok(CapacityExperiment { name: workload.name, plan, folder, arm, search, slos })
}

fn override_search(search: &mut Search, given: &SearchArguments) {
    search.from = given.from.or(search.from);
    search.to = given.to.or(search.to);
    search.at_least = given.at_least.or(search.at_least);
    search.is_more_better =
        given.better.map_or(search.is_more_better, |better| better == BetterNumber::Higher);
    search.step = given.step.or(search.step);
    search.hold = given.hold.unwrap_or(search.hold);
    search.overload = given.overload.unwrap_or(search.overload);
    search.levels = given.levels.unwrap_or(search.levels);
    search.repeats = given.repeats.unwrap_or(search.repeats);
    search.budget = given.budget.or(search.budget);
    search.seed = given.seed.unwrap_or(search.seed);
}

fn check(experiment: &CapacityExperiment) -> CommandResult<()> {
    let refused = |what: String| Err(Failure::usage(anyhow!(what)));
    let search = &experiment.search;
    if experiment.slos.is_empty() {
        return refused("name what must hold: --objective 'p95(list) < 50ms', `[slo]` in the file, or objectives in the plan".to_owned());
    }
    if let (Some(from), Some(to)) = (search.from, search.to)
        && from >= to
    {
        return refused(format!("--from {from} must be lower than --to {to}"));
    }
    match search.searched {
        Searched::Number if search.to.is_none() => refused(format!(
            "`{PLACEHOLDER}` is a number that is searched: name the highest, `to = 64` or --to 64"
        )),
        Searched::Number if search.is_more_better && search.at_least.is_some() => refused(
            "--at-least cannot be combined with `better = \"higher\"`: that search looks for the lowest number that meets the objectives"
                .to_owned(),
        ),
        Searched::Rate | Searched::Users if search.is_more_better => {
            refused(format!("`better` applies only when the start command contains `{PLACEHOLDER}`"))
        }
        _ => Ok(()),
    }
}
