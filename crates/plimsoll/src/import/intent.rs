//! `--intent`: the plan that another tool was to carry out. It says what was asked, which no result of a tool does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use conduct::failure::CommandResult;
use conduct::plan;
use evidence::{Missing, Source};
use import::PlannedRun;
use plans::Overrides;
use workload::LoadedPlan;
use workload::{Redactor, Workload};

use super::{Surveyed, source};

/// A run that is this many times as long as its plan, or as short, was another one.
const MOST_TIMES_AS_LONG: f64 = 2.0;
/// How many names an error lists.
const LISTED: usize = 8;

/// What the run was to offer, without secrets.
pub(super) struct Intent {
    pub(super) workload: Workload,
}

impl Intent {
    /// Read the plan.
    pub(super) fn read(path: &Path) -> CommandResult<Intent> {
        let LoadedPlan { workload, env, .. } = plan::resolve(path, &Overrides::default())?;
        Ok(Intent { workload: Redactor::new(&workload, &env).stored(&workload) })
    }

    /// Refuse a plan that is not that of these files.
    ///
    /// # Errors
    /// Where they have no scenario and no endpoint in common, or the run was much longer or shorter.
    pub(super) fn refuse_another_run(
        &self,
        files: &[Surveyed],
        length: Option<Duration>,
    ) -> anyhow::Result<()> {
        let scenarios = self.workload.scenarios.iter().map(|scenario| scenario.name.as_str());
        let planned: BTreeSet<&str> =
            scenarios.chain(self.workload.steps().map(|step| step.name.as_str())).collect();
        let names = names(files);
        ensure!(
            names.is_empty() || names.iter().any(|name| planned.contains(name)),
            "the plan of --intent has nothing in common with {}: the plan has {}, the file has {}; name the plan's \
             scenarios or steps as the tool names its own",
            files.iter().map(source::name).collect::<Vec<_>>().join(" and "),
            listed(&planned),
            listed(&names)
        );
        let Some(length) = length else { return Ok(()) };
        let planned_s = self.planned_end().as_secs_f64();
        let length_s = length.as_secs_f64();
        ensure!(
            length_s <= planned_s * MOST_TIMES_AS_LONG && planned_s <= length_s * MOST_TIMES_AS_LONG,
            "the plan of --intent takes {planned_s:.0} s and this run took {length_s:.0} s: it was not this plan that was \
             run, or not all of it"
        );
        Ok(())
    }

    fn planned_end(&self) -> Duration {
        self.workload.phases.last().map_or(Duration::ZERO, |phase| phase.end)
    }

    /// What the plan says of the run that its source does not.
    pub(super) fn planned(&self) -> PlannedRun {
        let mut scenarios: BTreeMap<String, Option<String>> = BTreeMap::new();
        for scenario in &self.workload.scenarios {
            for step in scenario.steps() {
                let known = scenarios.entry(step.name.clone()).or_insert_with(|| Some(scenario.name.clone()));
                if known.as_ref().is_some_and(|known| *known != scenario.name) {
                    *known = None;
                }
            }
        }
        let scenarios =
            scenarios.into_iter().filter_map(|(step, scenario)| Some((step, scenario?))).collect();
        let phases = self.workload.phases.iter().map(|phase| (phase.name.as_str(), phase.end));
        PlannedRun::new(phases, scenarios)
    }

    /// Say in `source` where the plan comes from, and what is no longer missing.
    pub(super) fn add_to(&self, source: &mut Source) {
        for known in [Missing::Arrivals, Missing::Model, Missing::TimeLimits] {
            source.missing.remove(&known);
        }
        source.facts.insert("intent".to_owned(), self.workload.name.clone());
        source.remarks.push(format!(
            "rates, VU limits, time limits, phases and objectives are those of the plan `{}`; whether {} was configured \
             alike is not in its results",
            self.workload.name, source.tool
        ));
    }
}

/// The scenarios and endpoints of the files; those of figures too.
fn names(files: &[Surveyed]) -> BTreeSet<&str> {
    let summaries = files.iter().flat_map(|file| &file.survey.summaries);
    let of_summaries = summaries.flat_map(|summary| [summary.scenario.as_str(), summary.endpoint.as_str()]);
    let of_requests = files.iter().flat_map(|file| &file.survey.names).map(String::as_str);
    of_summaries.chain(of_requests).filter(|name| !name.is_empty()).collect()
}

fn listed(names: &BTreeSet<&str>) -> String {
    let mut text: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        text.push(format!("{} more", names.len() - LISTED));
    }
    text.join(", ")
}
