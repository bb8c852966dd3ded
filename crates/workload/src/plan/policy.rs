//! Policy files: what a script beside them must show, and what is watched meanwhile. They have the keys of a plan that do
//! not say what is sent.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use evidence::Key;

use super::data::DataSets;
use super::section::Section;
use super::verify::ValueNames;
use super::{PlanErrors, check_version, objectives, observation, parsed, targets};
use crate::connection::TlsFiles;
use crate::files::Files;
use crate::message::Schemas;
use crate::model::{Phase, Workload};

/// A policy, applied to the workload of a script.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The workload, with the phases, targets, profiles and objectives of the policy.
    pub workload: Workload,
    /// The descriptions of gRPC targets.
    pub schemas: Schemas,
    /// The contents of the files in targets' `tls` tables, by target: contain secrets, never to be stored.
    pub tls: BTreeMap<String, TlsFiles>,
    /// The environment variables that the policy uses, with their values: secrets, never to be stored.
    pub env: BTreeMap<String, String>,
}

/// Read the policy at `path` for this workload, which has one phase. Paths in it are relative to its folder; `env` looks up
/// environment variables.
///
/// # Errors
/// [`PlanErrors`]: all errors of the policy at once.
pub fn load_policy(
    path: &Path,
    files: &dyn Files,
    env: &dyn Fn(&str) -> Option<String>,
    mut workload: Workload,
) -> Result<Policy, PlanErrors> {
    parsed(path, files, "the policy", |root, folder| {
        check_version(root);
        let mut targets = targets::read(root, folder);
        let data = DataSets::default();
        let names = ValueNames { issues: root.issues, data: &data, targets: &targets, env };
        let env = names.check(&[], &[]);
        let phases = read_phases(root, workload.phases.last().map_or(Duration::ZERO, |phase| phase.end));
        workload.phases = phases.unwrap_or(workload.phases);
        workload.profiles = observation::read_marks(root, &workload.phases, &targets.named);
        for (name, message) in targets::resolve_ready(&mut targets.named) {
            root.issues.add(&super::key_span(root, "targets", &name), message);
        }
        workload.targets = targets.named;
        workload.family = root.get("family").and_then(|item| item.confidence());
        workload.leak_margin = root.get("leak_margin").and_then(|item| item.margin());
        let own = objectives::read_of_script(root, &workload);
        workload.objectives.extend(own);
        root.finish();
        Policy { workload, schemas: targets.schemas, tls: targets.tls, env }
    })
}

/// The phases of a policy, the last of which lasts until `end`; none where it has none.
fn read_phases(root: &Section<'_>, end: Duration) -> Option<Vec<Phase>> {
    let sections = root.tables("phases", "a phase");
    let (last, before) = sections.split_last()?;
    let mut phases: Vec<Phase> = Vec::new();
    for section in before {
        let start = phases.last().map_or(Duration::ZERO, |phase| phase.end);
        let duration = section.need("duration", "`duration = \"10s\"`").and_then(|item| {
            let duration = item.duration()?;
            if duration.is_zero() || start + duration >= end {
                item.wrong(format!(
                    "a phase lasts longer than 0 and ends before the load, which takes {} s",
                    end.as_secs_f64()
                ));
                return None;
            }
            Some(duration)
        });
        // A phase with an error is kept, so that it causes no errors elsewhere.
        let until = start + duration.unwrap_or_default();
        phases.push(Phase { name: read_name(section, &phases), start, end: until });
        section.finish();
    }
    if let Some(item) = last.get("duration") {
        item.wrong("the last phase lasts until the end of the load: leave its `duration` out");
    }
    let start = phases.last().map_or(Duration::ZERO, |phase| phase.end);
    phases.push(Phase { name: read_name(last, &phases), start, end });
    last.finish();
    Some(phases)
}

fn read_name(section: &Section<'_>, others: &[Phase]) -> String {
    let Some(item) = section.need("name", "`name = \"warm-up\"`") else { return String::new() };
    let name = item.text().unwrap_or_default();
    if name.is_empty() || Key::is_beside_load(name) || others.iter().any(|phase| phase.name == name) {
        item.wrong(format!(
            "a phase cannot be called `{name}`: names are unique, not empty, not `setup` or `teardown`"
        ));
    }
    name.to_owned()
}

#[cfg(test)]
mod tests;
