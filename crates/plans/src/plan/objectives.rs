//! Reads `[objectives]` and checks that the names in them exist.

use std::collections::BTreeSet;
use std::time::Duration;

use evidence::SeriesKey;

use super::errors::PlanErrors;
use super::section::{Issues, Item, Section, Span};
use workload::model::Workload;
use workload::nearest::nearest;
use workload::objective::{self, Filter, Measure, Objective, Quantity, is_series};

/// The target name of the machine's series.
const HOST: &str = "host";

/// The names that objectives may use.
pub(super) struct KnownNames {
    /// None where they are not known before the run.
    endpoints: Option<BTreeSet<String>>,
    scenarios: BTreeSet<String>,
    phases: BTreeSet<String>,
    targets: BTreeSet<String>,
    /// Targets with observers, whose series' names are not known before the run.
    observed: BTreeSet<String>,
}

/// Read all objectives of a workload that is otherwise complete. Scenarios and steps with errors are known by their names.
pub(super) fn read(root: &Section<'_>, workload: &Workload) -> Vec<Objective> {
    let name = |section: &Section<'_>| section.get("name")?.text().map(str::to_owned);
    let scenarios = root.tables("scenarios", "a scenario");
    let endpoints = scenarios.iter().flat_map(every_step).filter_map(|step| name(&step)).collect();
    let scenarios = scenarios.iter().filter_map(name).collect();
    read_among(root, &KnownNames { endpoints: Some(endpoints), scenarios, ..KnownNames::collect(workload) })
}

/// Read the objectives of a policy, which is beside a script: its endpoints are named while it runs.
pub(super) fn read_of_script(root: &Section<'_>, workload: &Workload) -> Vec<Objective> {
    read_among(root, &KnownNames::collect(workload))
}

/// The objectives that options `--objective` give, each named by its text, about a workload whose steps are known; those of scripts and imports are
/// not.
///
/// # Errors
/// [`PlanErrors`]: what is wrong with them, each with its place.
pub fn asked(workload: &Workload, asks: &[String]) -> Result<Vec<Objective>, PlanErrors> {
    let endpoints: BTreeSet<String> = workload.steps().map(|step| step.name.clone()).collect();
    let endpoints = Some(endpoints).filter(|endpoints| !endpoints.is_empty());
    let known = KnownNames { endpoints, ..KnownNames::collect(workload) };
    let mut objectives: Vec<Objective> = Vec::new();
    for text in asks {
        let name = text.trim();
        if workload.objectives.iter().chain(&objectives).any(|known| known.name == name) {
            continue;
        }
        let issues = Issues::new("--objective", text);
        let span = 0..text.len();
        let is_endpoint = |name: &str| workload.steps().any(|step| step.name == name);
        let parsed = objective::parse_among(name, text, &is_endpoint);
        if let Some(objective) = issues.check_lines(&span, parsed) {
            known.check(&objective.measure, &objective.filter, &issues, &span);
            objectives.push(objective);
        }
        issues.finish()?;
    }
    Ok(objectives)
}

fn read_among(root: &Section<'_>, known: &KnownNames) -> Vec<Objective> {
    let mut objectives = Vec::new();
    for item in root.entries("objectives") {
        let Some(written) = WrittenObjective::read(&item) else { continue };
        let is_endpoint = |name: &str| match &known.endpoints {
            Some(endpoints) => endpoints.contains(name),
            None => !is_series(name),
        };
        let parsed = objective::parse_among(&item.key, written.text, &is_endpoint);
        if parsed.is_err() {
            known.check_quantity(written.text, &is_endpoint, item.issues, &written.span);
        }
        if let Some(mut objective) = item.issues.check_lines(&written.span, parsed) {
            known.check(&objective.measure, &objective.filter, item.issues, &written.span);
            objective.abort_after = written.abort_after;
            if objective.abort_after.is_some() && objective.measure.watched().is_none() {
                item.wrong(NOT_WATCHED);
            }
            objectives.push(objective);
        }
    }
    objectives
}

/// Why some objectives cannot stop a run.
const NOT_WATCHED: &str = "`abort_on` is for times, `error_rate` and `check_rate`; rates a second and observed series \
                           are judged when the run is over";

/// An objective as the plan writes it: a text, or a table with that text and what happens when it fails.
struct WrittenObjective<'a> {
    text: &'a str,
    span: Span,
    abort_after: Option<Duration>,
}

impl<'a> WrittenObjective<'a> {
    fn read(item: &Item<'a>) -> Option<WrittenObjective<'a>> {
        if item.is_array() {
            item.wrong("an objective is one text with a name of its own: `fast = \"p95 < 200ms\"`");
            return None;
        }
        if !item.is_table() {
            return Some(WrittenObjective { text: item.text()?, span: item.span(), abort_after: None });
        }
        let section = item.section(&format!("the objective `{}`", item.key))?;
        let is = section.need("is", "`is = \"p95(list) < 50ms\"`");
        let abort_on = section.get("abort_on");
        let delay = section.get("abort_after");
        if let Some(on) = abort_on.as_ref().filter(|on| on.text().is_some_and(|on| on != "fail")) {
            on.wrong("`abort_on` takes `\"fail\"`");
        }
        if let Some(delay) = delay.as_ref().filter(|_| abort_on.is_none()) {
            delay.wrong("`abort_after` is the delay of `abort_on = \"fail\"`, which is missing");
        }
        let abort_after = delay.and_then(|delay| delay.duration());
        section.finish();
        let is = is?;
        let abort_after = abort_on.map(|_| abort_after.unwrap_or_default());
        Some(WrittenObjective { text: is.text()?, span: is.span(), abort_after })
    }
}

impl KnownNames {
    /// The names in the workload, those of endpoints too.
    pub(super) fn with_endpoints(workload: &Workload) -> KnownNames {
        let endpoints = workload.steps().map(|step| step.name.clone()).collect();
        KnownNames { endpoints: Some(endpoints), ..KnownNames::collect(workload) }
    }

    /// The names of a run that has no plan.
    pub(super) fn measured(workload: &Workload, endpoints: &[String], scenarios: &[String]) -> KnownNames {
        let of = |names: &[String]| names.iter().cloned().collect();
        KnownNames {
            endpoints: Some(of(endpoints)),
            scenarios: of(scenarios),
            ..KnownNames::collect(workload)
        }
    }

    /// Whether an endpoint has this name.
    pub(super) fn is_endpoint(&self, name: &str) -> bool {
        self.endpoints.as_ref().is_some_and(|endpoints| endpoints.contains(name))
    }

    /// The names in the workload, without those of endpoints.
    fn collect(workload: &Workload) -> KnownNames {
        KnownNames {
            endpoints: None,
            scenarios: workload.scenarios.iter().map(|scenario| scenario.name.clone()).collect(),
            phases: workload.phases.iter().map(|p| p.name.clone()).collect(),
            targets: (workload.targets.keys().cloned())
                .chain([SeriesKey::GENERATOR, HOST].map(str::to_owned))
                .collect(),
            observed: (workload.targets.iter())
                .filter(|(_, target)| !target.observe.is_empty())
                .map(|(name, _)| name.clone())
                .chain([HOST.to_owned()])
                .collect(),
        }
    }

    fn check(&self, measure: &Measure, filter: &Filter, issues: &Issues<'_>, span: &Span) {
        for UnknownName { name, message } in self.check_names(measure, filter) {
            issues.add(&issues.place_of(span, &name), message);
        }
    }

    /// Of an objective whose bound is wrong: check the names in what it compares.
    fn check_quantity(
        &self,
        text: &str,
        is_endpoint: &dyn Fn(&str) -> bool,
        issues: &Issues<'_>,
        span: &Span,
    ) {
        let Some((compared, _)) = text.split_once(['<', '>']) else { return };
        let Ok(Quantity::Measure { measure, filter }) =
            objective::parse_quantity(compared.trim_end(), is_endpoint)
        else {
            return;
        };
        self.check(&measure, &filter, issues, span);
    }

    /// What is wrong with the names in a measure.
    pub(super) fn check_names(&self, measure: &Measure, filter: &Filter) -> Vec<UnknownName> {
        let mut wrong = Vec::new();
        let mut references =
            vec![("scenario", &filter.scenario, &self.scenarios), ("phase", &filter.phase, &self.phases)];
        references.extend(self.endpoints.as_ref().map(|known| ("endpoint", &filter.endpoint, known)));
        if let Measure::Series { target, name, .. } = measure {
            references.push(("target", target, &self.targets));
            let is_observed = target.as_ref().is_some_and(|target| self.observed.contains(target));
            if !is_series(name) && !is_observed {
                wrong.push(unknown("series", name, objective::SERIES.into_iter()));
            }
        }
        for (what, name, known) in references {
            if let Some(name) = name
                && !known.contains(name)
            {
                wrong.push(unknown(what, name, known.iter().map(String::as_str)));
            }
        }
        wrong
    }
}

fn every_step<'a>(scenario: &Section<'a>) -> Vec<Section<'a>> {
    [scenario.tables("setup", "a step"), scenario.tables("steps", "a step")].into_iter().flatten().collect()
}

/// A name that nothing has.
pub(super) struct UnknownName {
    name: String,
    pub(super) message: String,
}

/// What there is, in words.
fn all_of<'a>(known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
    match &known[..] {
        [] => "the plan has none yet".to_owned(),
        [only] => format!("there is only {only}"),
        all => format!("there are {}", all.join(", ")),
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> UnknownName {
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => all_of(known),
    };
    UnknownName { name: name.to_owned(), message: format!("there is no {what} `{name}`; {hint}") }
}
