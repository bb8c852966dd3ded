//! What is searched: from an experiment file, or from a plan and the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::plan::{self, Disk};
use plans::{Overrides, load_capacity, searched_in, slos_for, slos_of};
use workload::capacity::{CapacityExperiment, PLACEHOLDER, Search, Searched};
use workload::experiment::Arm;
use workload::{Objective, Workload};

use crate::ab::definition::refuse_plan;
use crate::arguments::{BetterNumber, CapacityArguments, DiagnoseArguments, SearchArguments};

/// The rate, a second, from which the search of a URL begins.
const FIRST_RATE: u32 = 200;
/// What of the offered requests must be answered correctly where a diagnosis has no objective.
const ANSWERED: f64 = 0.95;
/// How long each level of a diagnosis is, the longest pause after it, and all of them.
const LEVEL: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_secs(3);
const DIAGNOSED_WITHIN: Duration = Duration::from_secs(300);

/// The search that the arguments ask for. The plan of a URL is written to `drafts`.
pub(super) fn read(arguments: &CapacityArguments, drafts: &Path) -> CommandResult<CapacityExperiment> {
    let file = arguments.file.as_deref().ok_or_else(|| Failure::usage(anyhow!("name an experiment")))?;
    let url = url_of(file);
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
        experiment.slos = asked_objectives(&workload, &arguments.objectives)?;
    }
    override_search(&mut experiment.search, &arguments.search);
    check(&experiment)?;
    Ok(experiment)
}

/// The search that arranges the levels of load for a diagnosis. Without an objective 95 % of what is offered must be answered correctly.
pub(crate) fn for_diagnosis(
    arguments: &DiagnoseArguments,
    drafts: &Path,
) -> CommandResult<CapacityExperiment> {
    let DiagnoseArguments { subject, objectives, start, ready, reset, step, budget, .. } = arguments;
    let url = url_of(subject).map(|url| plan_of_url(url, drafts)).transpose()?;
    let file = url.as_deref().unwrap_or(subject);
    let mut experiment = match file_kind::at(file) {
        Some(FileKind::Search) => load_capacity(file, &Disk, &environment).map_err(Failure::usage)?,
        _ => {
            file_kind::refuse_others(file, &[FileKind::Plan, FileKind::Search])?;
            of_plan_with(
                file,
                Arm { start: start.clone(), ready: ready.clone(), reset: reset.clone(), ..Arm::default() },
            )?
        }
    };
    let workload = plan::resolve(&experiment.plan, &Overrides::default())?.workload;
    if !objectives.is_empty() {
        experiment.slos = asked_objectives(&workload, objectives)?;
    }
    let search = &mut experiment.search;
    if search.searched == Searched::Number {
        return Err(Failure::usage(anyhow!(
            "`{PLACEHOLDER}` changes the target from level to level: a diagnosis needs levels of load"
        )));
    }
    if experiment.slos.is_empty() {
        let phase = workload.measured_phase(&[]).filter(|_| search.searched == Searched::Rate);
        let per_s = phase.map_or(0.0, |phase| workload.requests_per_s(phase));
        if per_s <= 0.0 {
            return Err(Failure::usage(anyhow!(
                "name what breaks at the limit: --objective 'p95 < 50ms', or objectives in the plan"
            )));
        }
        experiment.slos = asked_objectives(&workload, &[format!("goodput(all) >= {}/s", ANSWERED * per_s)])?;
    }
    *search = Search {
        levels_for_diagnosis: true,
        step: Some(step.unwrap_or(LEVEL)),
        budget: Some(budget.unwrap_or(DIAGNOSED_WITHIN)),
        rest: search.rest.min(REST),
        hold: Duration::ZERO,
        overload: Duration::ZERO,
        ..search.clone()
    };
    Ok(experiment)
}

fn asked_objectives(workload: &Workload, texts: &[String]) -> CommandResult<Vec<Objective>> {
    slos_for(workload, texts).map_err(|wrong| Failure::usage(anyhow!("--objective {wrong}")))
}

fn url_of(file: &Path) -> Option<&str> {
    file.to_str().filter(|text| ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)))
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
    let arm = Arm {
        start: arguments.start.clone(),
        ready: arguments.ready.clone(),
        reset: arguments.reset.clone(),
        ..Arm::default()
    };
    of_plan_with(file, arm)
}

fn of_plan_with(file: &Path, arm: Arm) -> CommandResult<CapacityExperiment> {
    let workload = plan::resolve(file, &Overrides::default())?.workload;
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
