//! Reads `[objectives]` and checks that the names in them exist.

use std::collections::BTreeSet;

use evidence::SeriesKey;

use super::section::{Issues, Section, Span};
use crate::model::Workload;
use crate::nearest::nearest;
use crate::objective::{self, Measure, Objective, is_series};

/// The target name of the machine's series.
const HOST: &str = "host";

/// The names that objectives may use.
struct KnownNames {
    endpoints: BTreeSet<String>,
    scenarios: BTreeSet<String>,
    phases: BTreeSet<String>,
    targets: BTreeSet<String>,
    /// Targets with observers, whose series' names are not known before the run.
    observed: BTreeSet<String>,
}

/// Read all objectives of a workload that is otherwise complete.
pub(super) fn read(root: &Section<'_>, workload: &Workload) -> Vec<Objective> {
    let known = KnownNames::of(root, workload);
    let mut objectives = Vec::new();
    for item in root.entries("objectives") {
        let Some(text) = item.text() else { continue };
        let is_endpoint = |name: &str| known.endpoints.contains(name);
        let parsed = objective::parse_among(&item.key, text, &is_endpoint);
        if let Some(objective) = item.issues.check_objective(&item.span(), parsed) {
            known.check(&objective, item.issues, &item.span());
            objectives.push(objective);
        }
    }
    objectives
}

impl KnownNames {
    /// The names in the plan, including those of scenarios and steps with errors.
    fn of(root: &Section<'_>, workload: &Workload) -> KnownNames {
        let name = |section: &Section<'_>| section.get("name")?.text().map(str::to_owned);
        let scenarios = root.tables("scenarios", "a scenario");
        KnownNames {
            endpoints: scenarios.iter().flat_map(every_step).filter_map(|step| name(&step)).collect(),
            scenarios: scenarios.iter().filter_map(name).collect(),
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

    fn check(&self, objective: &Objective, issues: &Issues<'_>, span: &Span) {
        let filter = &objective.filter;
        let mut references = vec![
            ("scenario", &filter.scenario, &self.scenarios),
            ("phase", &filter.phase, &self.phases),
            ("endpoint", &filter.endpoint, &self.endpoints),
        ];
        if let Measure::Series { target, name, .. } = &objective.measure {
            references.push(("target", target, &self.targets));
            let is_observed = target.as_ref().is_some_and(|target| self.observed.contains(target));
            if !is_series(name) && !is_observed {
                issues.add(span, unknown("series", name, objective::SERIES.into_iter()));
            }
        }
        for (what, name, known) in references {
            if let Some(name) = name
                && !known.contains(name)
            {
                issues.add(span, unknown(what, name, known.iter().map(String::as_str)));
            }
        }
    }
}

fn every_step<'a>(scenario: &Section<'a>) -> Vec<Section<'a>> {
    [scenario.tables("setup", "a step"), scenario.tables("steps", "a step")].into_iter().flatten().collect()
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    };
    format!("there is no {what} `{name}`; {hint}")
}
