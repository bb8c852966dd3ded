//! Reads `[[scenarios]]`: executor, window of time, and what an iteration does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::default_headers;
use super::executors;
use super::logins::{self, Logins};
use super::section::{Section, Span};
use super::steps::{self, StepDraft};
use super::targets::Targets;
use super::window::ScenarioWindow;
use workload::executor::{Arrivals, Executor, MAX_VUS};
use workload::model::Phase;

/// How long iterations under way at a scenario's end may take by default.
const DEFAULT_GRACEFUL_STOP: Duration = Duration::from_secs(30);

/// A scenario that may have errors, and what the checks of the whole plan need to know of it.
pub(super) struct ScenarioDraft {
    pub(super) name: Option<String>,
    pub(super) span: Span,
    pub(super) executor: Option<Executor>,
    pub(super) arrivals: Arrivals,
    pub(super) start: Duration,
    pub(super) graceful_stop: Duration,
    pub(super) preallocated_vus: u32,
    pub(super) max_vus: Option<u32>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) setup: Vec<StepDraft>,
    /// Whether it names a login that has an error: what that extracts is not known.
    pub(super) has_unknown_login: bool,
    pub(super) steps: Vec<StepDraft>,
}

pub(super) fn read(
    root: &Section<'_>,
    phases: &[Phase],
    targets: &Targets,
    logins: &Logins,
) -> Vec<ScenarioDraft> {
    let sections = root.tables("scenarios", "a scenario");
    if root.get("scenarios").is_none() {
        root.issues.add(&root.span, "a plan needs one scenario or more: `[[scenarios]]`");
    }
    sections.iter().map(|section| read_scenario(section, phases, targets, logins)).collect()
}

fn read_scenario(
    section: &Section<'_>,
    phases: &[Phase],
    targets: &Targets,
    logins: &Logins,
) -> ScenarioDraft {
    let name = section.need("name", "`name = \"play\"`").and_then(|item| {
        let name = item.text()?;
        if name.is_empty() || name.chars().any(|c| c.is_control() || c == '"') {
            item.wrong("a scenario's name is not empty and has no quotes or line breaks");
        }
        Some(name.to_owned())
    });
    let window = ScenarioWindow::read(section, phases);
    let arrivals = read_arrivals(section);
    let executor = executors::read(section, window.as_ref());
    executors::check_open_keys(section, executor.as_ref());
    let max_vus =
        section.get("max_vus").and_then(|item| item.whole(1..=u64::from(MAX_VUS))).map(|n| n as u32);
    let preallocated_vus = read_preallocated(section, max_vus);
    let graceful_stop =
        section.get("graceful_stop").and_then(|item| item.duration()).unwrap_or(DEFAULT_GRACEFUL_STOP);
    let tags = section.entries("tags");
    let tags = tags.iter().filter_map(|item| Some((item.key.clone(), item.text()?.to_owned()))).collect();
    // What a virtual user logs in by has no use for headers with what that extracts.
    let login = logins::of_scenario(section, logins);
    let has_unknown_login = login.is_none();
    let mut setup = login.unwrap_or_default();
    setup.extend(steps::read(section, "setup", targets, &[]));
    let headers = default_headers::read(section);
    let flow_steps = steps::read(section, "steps", targets, &headers);
    if section.get("steps").is_none() {
        section.issues.add(&section.span, "a scenario needs one step or more: `[[scenarios.steps]]`");
    }
    section.finish_beside(steps::KEYS, "a step: `[[scenarios.steps]]`");
    ScenarioDraft {
        name,
        span: section.span.clone(),
        executor,
        arrivals,
        start: window.map(|window| window.start).unwrap_or_default(),
        graceful_stop,
        preallocated_vus,
        max_vus,
        tags,
        setup,
        has_unknown_login,
        steps: flow_steps,
    }
}

fn read_preallocated(section: &Section<'_>, max_vus: Option<u32>) -> u32 {
    let Some(item) = section.get("preallocated_vus") else { return 0 };
    let vus = item.whole(0..=u64::from(MAX_VUS)).unwrap_or(0) as u32;
    if let Some(max) = max_vus.filter(|max| *max < vus) {
        item.wrong(format!("{vus} virtual users are more than `max_vus` allows, which is {max}"));
    }
    vus
}

fn read_arrivals(section: &Section<'_>) -> Arrivals {
    let Some(item) = section.get("arrivals") else { return Arrivals::Even };
    match item.text() {
        Some("poisson") => return Arrivals::Poisson,
        None | Some("even") => {}
        Some(other) => item.wrong(format!("arrivals are `even` or `poisson`, not `{other}`")),
    }
    Arrivals::Even
}
