//! What is searched: from an experiment file, or from a plan and the command line.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::plan::{self, Disk};
use plans::{Overrides, load_capacity, searched_in, slos_for, slos_of};
use workload::capacity::{CapacityExperiment, PLACEHOLDER, Search, Searched};
use workload::experiment::Arm;

use crate::ab::definition::refuse_plan;
use crate::arguments::{BetterNumber, CapacityArguments, SearchArguments};

/// The rate, a second, from which the search of a URL begins.
const FIRST_RATE: u32 = 200;

/// The search that the arguments ask for. The plan of a URL is written to `drafts`.
pub(super) fn read(arguments: &CapacityArguments, drafts: &Path) -> CommandResult<CapacityExperiment> {
    let file = arguments.file.as_deref().ok_or_else(|| Failure::usage(anyhow!("name an experiment")))?;
    let url =
        file.to_str().filter(|text| ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)));
    let drafted = url.map(|url| plan_of_url(url, drafts)).transpose()?;
    let file = drafted.as_deref().unwrap_or(file);
    let mut experiment = match arguments.start.is_some() || arguments.running || url.is_some() {
        true => of_plan(file, arguments)?,
        false => {
            refuse_plan(file, "`--running` (its targets run already) or `--start COMMAND`")?;
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

/// A plan that gets `url`, named after what it is for.
fn plan_of_url(url: &str, folder: &Path) -> CommandResult<PathBuf> {
    let path = folder.join("url.toml");
    let plan = format!(
        "version = 1\n[[scenarios]]\nname = \"get\"\nexecutor = \"constant-arrival-rate\"\nrate = \"{FIRST_RATE}/s\"\n\
         duration = \"60s\"\n[[scenarios.steps]]\nname = \"get\"\nget = {}\n",
        // A string of JSON is one of TOML.
        serde_json::Value::from(url)
    );
    std::fs::write(&path, plan)
        .map_err(|error| Failure::own(anyhow!("{} cannot be written: {error}", path.display())))?;
    Ok(path)
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
        return refused(
            "name what must hold: --objective 'p95 < 50ms', `[slo]` in the file, or objectives in the plan"
                .to_owned(),
        );
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
