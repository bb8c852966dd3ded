//! Reads `[objectives]` and checks that what they name exists.

use std::collections::BTreeSet;

use super::section::{Issues, Section};
use crate::model::Workload;
use crate::nearest::nearest;
use crate::objective::{self, Measure, Objective, is_series};
use evidence::SeriesKey;

/// The name of the machine's own series, as of a target.
const HOST: &str = "host";

/// The names that objectives may use.
struct Known {
    endpoints: BTreeSet<String>,
    scenarios: BTreeSet<String>,
    phases: BTreeSet<String>,
    targets: BTreeSet<String>,
    /// Those of the targets whose series have names that the plan cannot know.
    watched: BTreeSet<String>,
}

/// Read all objectives against a workload that is complete but for them.
pub(super) fn read(root: &Section<'_>, workload: &Workload) -> Vec<Objective> {
    let known = Known::of(root, workload);
    let mut objectives = Vec::new();
    for item in root.entries("objectives") {
        let Some(text) = item.text() else { continue };
        let is_endpoint = |name: &str| known.endpoints.contains(name);
        let parsed = objective::parse_among(&item.key, text, &is_endpoint);
        if let Some(objective) = item.issues.check(&item.span(), parsed) {
            known.check(&objective, item.issues, &item.span());
            objectives.push(objective);
        }
    }
    objectives
}

impl Known {
    /// The names that the plan has, those of scenarios and steps that are wrong otherwise included.
    fn of(root: &Section<'_>, workload: &Workload) -> Known {
        let name = |section: &Section<'_>| section.get("name")?.text().map(str::to_owned);
        let scenarios = root.tables("scenarios", "a scenario");
        Known {
            endpoints: scenarios.iter().flat_map(every_step).filter_map(|step| name(&step)).collect(),
            scenarios: scenarios.iter().filter_map(name).collect(),
            phases: workload.phases.iter().map(|p| p.name.clone()).collect(),
            targets: (workload.targets.keys().cloned())
                .chain([SeriesKey::GENERATOR, HOST].map(str::to_owned))
                .collect(),
            watched: (workload.targets.iter())
                .filter(|(_, target)| !target.observe.is_empty())
                .map(|(name, _)| name.clone())
                .chain([HOST.to_owned()])
                .collect(),
        }
    }

    fn check(&self, objective: &Objective, issues: &Issues<'_>, span: &std::ops::Range<usize>) {
        let filter = &objective.filter;
        let mut must = vec![
            ("scenario", &filter.scenario, &self.scenarios),
            ("phase", &filter.phase, &self.phases),
            ("endpoint", &filter.endpoint, &self.endpoints),
        ];
        if let Measure::Series { target, name, .. } = &objective.measure {
            must.push(("target", target, &self.targets));
            let is_watched = target.as_ref().is_some_and(|target| self.watched.contains(target));
            if !is_series(name) && !is_watched {
                issues.add(span, unknown("series", name, objective::SERIES.into_iter()));
            }
        }
        for (what, name, known) in must {
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
