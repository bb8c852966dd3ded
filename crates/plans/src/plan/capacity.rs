//! Reads experiment files of capacity searches.

use std::path::Path;
use std::time::Duration;

use super::objectives::KnownNames;
use super::section::{Item, Section};
use super::{Overrides, PlanErrors, check_version, experiment, load, parsed};
use workload::capacity::{CapacityExperiment, PLACEHOLDER, Search, Searched};
use workload::experiment::Arm;
use workload::files::Files;
use workload::model::Workload;
use workload::objective::{self, Measure, Objective};

const ONE_ARM: &str = "a capacity is that of one arm, such as `[arms.service]` with `start = \"./service\"`";

/// Read the capacity search at `path`, and its plan. Paths in it are relative to its folder; `env` looks up environment
/// variables, which the plan may use.
///
/// # Errors
/// [`PlanErrors`]: all errors of the experiment at once, or those of its plan.
pub fn load_capacity(
    path: &Path,
    files: &dyn Files,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<CapacityExperiment, PlanErrors> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // The names in the objectives are those of the plan, so that the plan is read first.
    let plan_name = |root: &Section<'_>| {
        root.get("plan").filter(Item::is_text).and_then(|item| item.text()).map(str::to_owned)
    };
    let named = parsed(path, files, "the experiment", |root, _| plan_name(root));
    let plan = named.ok().flatten().map(|name| folder.join(name));
    let workload = match &plan {
        Some(plan) => Some(load(plan, files, env, &Overrides::default())?.workload),
        None => None,
    };
    parsed(path, files, "the experiment", |root, _| {
        check_version(root);
        root.need("plan", "`plan = \"plan.toml\"`").and_then(|item| item.text());
        let arm = arm(root, workload.as_ref());
        let usual = workload.as_ref().map_or(Searched::Rate, |workload| searched_in(workload, &arm));
        let search = search(root, usual, &arm);
        let slos = workload.as_ref().map(|workload| slos(root, workload)).unwrap_or_default();
        root.finish();
        let name = path.file_stem().map_or("capacity".into(), |stem| stem.to_string_lossy().into_owned());
        CapacityExperiment { name, plan: plan.unwrap_or_default(), folder, arm, search, slos }
    })
}

/// What is searched unless the file names it: the number in the arm's commands, else the rate of open scenarios, else the
/// virtual users.
pub fn searched_in(workload: &Workload, arm: &Arm) -> Searched {
    if has_placeholder(arm) {
        return Searched::Number;
    }
    match workload.scenarios.iter().any(|scenario| scenario.executor.is_open()) {
        true => Searched::Rate,
        false => Searched::Users,
    }
}

/// The objectives that `texts` ask for, of the phase that is measured.
///
/// # Errors
/// A message about the first that cannot be used.
pub fn slos_for(workload: &Workload, texts: &[String]) -> Result<Vec<Objective>, String> {
    let known = KnownNames::with_endpoints(workload);
    let mut slos = Vec::new();
    for (number, text) in (1..).zip(texts) {
        let name = if texts.len() == 1 { "slo".to_owned() } else { format!("slo {number}") };
        let parsed = objective::parse_among(&name, text, &|name| known.is_endpoint(name));
        let slo = parsed.map_err(|error| format!("'{text}': {}", error.message))?;
        if let Some(wrong) = wrong(&slo, &known).into_iter().next() {
            return Err(format!("{text}: {wrong}"));
        }
        slos.push(slo);
    }
    of_one_phase(workload, slos)
}

/// The plan's own objectives that a search can hold: those on times, failures and checks, of the phase that is measured.
/// Rates rise with the load that is searched, and observed series are not about requests.
pub fn slos_of(workload: &Workload) -> Vec<Objective> {
    let known = KnownNames::with_endpoints(workload);
    let is_held = |of: &&Objective| of.measure.watched().is_some() && wrong(of, &known).is_empty();
    let held: Vec<Objective> = workload.objectives.iter().filter(is_held).cloned().collect();
    let measured = workload.measured_phase(&held).map(|phase| phase.name.clone());
    let of_phase = held.into_iter().filter(|of| of.filter.phase.is_none() || of.filter.phase == measured);
    of_one_phase(workload, of_phase.collect()).unwrap_or_default()
}

fn has_placeholder(arm: &Arm) -> bool {
    arm.start.iter().chain(arm.env.values()).any(|text| text.contains(PLACEHOLDER))
}

fn arm(root: &Section<'_>, workload: Option<&Workload>) -> Arm {
    let entries = root.entries("arms");
    match &entries[..] {
        [one] => {
            let section = one.section(&format!("arm `{}`", one.key));
            section.and_then(|section| experiment::arm(&section, workload)).unwrap_or_default()
        }
        [] => {
            root.need("arms", ONE_ARM);
            Arm::default()
        }
        [_, second, ..] => {
            second.wrong(ONE_ARM);
            Arm::default()
        }
    }
}

fn search(root: &Section<'_>, usual: Searched, arm: &Arm) -> Search {
    let defaults = Search { searched: usual, ..Search::default() };
    let Some(section) = root.get("search").and_then(|item| item.section("`search`")) else { return defaults };
    let what = section.get("what");
    let searched = what.as_ref().and_then(searched).unwrap_or(usual);
    if let Some(item) = what.as_ref().filter(|_| (searched == Searched::Number) != has_placeholder(arm)) {
        item.wrong(format!(
            "`number` belongs to `{PLACEHOLDER}` in `start` or `env`, which then is each level in turn"
        ));
    }
    let length = |key, usual| section.get(key).and_then(|item| item.duration()).unwrap_or(usual);
    let count = |key, range, usual: u32| {
        let found = section.get(key).and_then(|item| item.whole(range));
        found.and_then(|n| u32::try_from(n).ok()).unwrap_or(usual)
    };
    let at = |key| section.get(key).and_then(|item| level(&item, searched));
    let search = Search {
        searched,
        from: at("from"),
        to: at("to"),
        is_more_better: section
            .get("better")
            .and_then(|item| is_more_better(&item, searched))
            .unwrap_or(false),
        step: section.get("step").and_then(|item| longer_than_0(&item)),
        warm_up: section.get("warm_up").and_then(|item| item.duration()),
        spacing: section.get("spacing").and_then(|item| item.margin()).unwrap_or(defaults.spacing),
        levels: count("levels", 5..=15, defaults.levels),
        levels_for_diagnosis: false,
        repeats: count("repeats", 2..=10, defaults.repeats),
        hold: length("hold", defaults.hold),
        overload: length("overload", defaults.overload),
        rest: length("rest", defaults.rest),
        budget: section.get("budget").and_then(|item| longer_than_0(&item)),
        seed: section.get("seed").and_then(|item| item.whole(0..=u64::MAX)).unwrap_or(defaults.seed),
        at_least: at("at_least"),
    };
    check_bounds(&section, &search);
    section.finish();
    search
}

fn check_bounds(section: &Section<'_>, search: &Search) {
    let Some(item) = section.get("to") else { return };
    if let (Some(from), Some(to)) = (search.from, search.to)
        && from >= to
    {
        item.wrong("`to` is above `from`");
    }
}

fn searched(item: &Item<'_>) -> Option<Searched> {
    match item.text()? {
        "rate" => Some(Searched::Rate),
        "users" => Some(Searched::Users),
        "number" => Some(Searched::Number),
        _ => {
            item.wrong("`what` takes `\"rate\"`, `\"users\"` or `\"number\"`");
            None
        }
    }
}

fn is_more_better(item: &Item<'_>, searched: Searched) -> Option<bool> {
    match item.text()? {
        "lower" => Some(false),
        "higher" if searched == Searched::Number => Some(true),
        "higher" => {
            item.wrong("`better` applies only to a number in the start command, such as threads: more load is never better");
            None
        }
        _ => {
            item.wrong("`better` takes `\"lower\"` or `\"higher\"`");
            None
        }
    }
}

/// A rate such as `"300/s"`, or a whole number.
fn level(item: &Item<'_>, searched: Searched) -> Option<f64> {
    match searched {
        Searched::Rate => item.rate().filter(|rate| {
            let is_positive = *rate > 0.0;
            if !is_positive {
                item.wrong(format!("`{}` is above 0", item.key));
            }
            is_positive
        }),
        Searched::Users | Searched::Number => item.whole(1..=1_000_000).map(|n| n as f64),
    }
}

fn longer_than_0(item: &Item<'_>) -> Option<Duration> {
    let duration = item.duration()?;
    if duration.is_zero() {
        item.wrong(format!("`{}` is longer than 0", item.key));
    }
    Some(duration)
}

fn slos(root: &Section<'_>, workload: &Workload) -> Vec<Objective> {
    let known = KnownNames::with_endpoints(workload);
    let mut slos = Vec::new();
    let entries = root.entries("slo");
    for item in &entries {
        let Some(text) = item.text() else { continue };
        let parsed = objective::parse_among(&item.key, text, &|name| known.is_endpoint(name));
        let Some(slo) = item.issues.check_lines(&item.span(), parsed) else { continue };
        wrong(&slo, &known).into_iter().for_each(|wrong| item.wrong(wrong));
        slos.push(slo);
    }
    match (of_one_phase(workload, slos), entries.last()) {
        (Ok(slos), _) => slos,
        (Err(wrong), Some(last)) => {
            last.wrong(wrong);
            Vec::new()
        }
        (Err(_), None) => Vec::new(),
    }
}

/// What keeps an objective from being searched for.
fn wrong(slo: &Objective, known: &KnownNames) -> Vec<String> {
    let unknown = known.check_names(&slo.measure, &slo.filter);
    let mut wrong: Vec<String> = unknown.into_iter().map(|unknown| unknown.message).collect();
    let is_share = matches!(slo.measure, Measure::ErrorRate | Measure::CheckRate { .. });
    if is_share && !(slo.bound > 0.0 && slo.bound < 1.0) {
        wrong.push(
            "a share that is searched for is above 0 % and below 100 %: no number of requests shows 0 %"
                .to_owned(),
        );
    }
    if !is_share && slo.bound <= 0.0 {
        wrong.push("its bound is above 0".to_owned());
    }
    wrong
}

/// All objectives are of the phase that is measured: one of them names it, or it is the longest.
fn of_one_phase(workload: &Workload, mut slos: Vec<Objective>) -> Result<Vec<Objective>, String> {
    let Some(phase) = workload.measured_phase(&slos).filter(|_| workload.phases.len() > 1) else {
        return Ok(slos);
    };
    for slo in &mut slos {
        match &slo.filter.phase {
            Some(other) if *other != phase.name => {
                return Err(format!(
                    "all objectives are about one phase: `{other}` and `{}` are two",
                    phase.name
                ));
            }
            Some(_) => {}
            None => {
                slo.filter.phase = Some(phase.name.clone());
                slo.source = format!("{} in {}", slo.source, phase.name);
            }
        }
    }
    Ok(slos)
}
