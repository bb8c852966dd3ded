//! Reads `[[scenarios]]`: how arrivals come about, when, and what an iteration does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::executors;
use super::phases::stretch;
use super::section::{Item, Section, Span};
use super::steps::{self, StepDraft};
use super::targets::Targets;
use crate::model::{Arrivals, Executor, Phase};

/// How long iterations under way at a scenario's end may take.
const DEFAULT_GRACEFUL_STOP: Duration = Duration::from_secs(30);
/// The most virtual users a plan may ask for.
pub(super) const MAX_VUS: u64 = 1_000_000;

/// A scenario as far as it can be made out, and what is needed to check it against the rest of the plan.
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
    pub(super) steps: Vec<StepDraft>,
}

/// Read all scenarios.
pub(super) fn read(root: &Section<'_>, phases: &[Phase], targets: &Targets) -> Vec<ScenarioDraft> {
    let sections = root.tables("scenarios", "a scenario");
    if root.get("scenarios").is_none() {
        root.issues.add(&root.span, "a plan needs one scenario or more: `[[scenarios]]`");
    }
    sections.iter().map(|section| read_scenario(section, phases, targets)).collect()
}

fn read_scenario(section: &Section<'_>, phases: &[Phase], targets: &Targets) -> ScenarioDraft {
    let name = section.need("name", "`name = \"play\"`").and_then(|item| {
        let name = item.text()?;
        if name.is_empty() || name.chars().any(|c| c.is_control() || c == '"') {
            item.wrong("a scenario's name is not empty and has no quotes or line breaks");
        }
        Some(name.to_owned())
    });
    let window = Window::read(section, phases);
    let arrivals = read_arrivals(section);
    let executor = executors::read(section, window.as_ref());
    executors::check_open_keys(section, executor.as_ref());
    let max_vus = section.get("max_vus").and_then(|item| item.whole(1..=MAX_VUS)).map(|n| n as u32);
    let preallocated_vus = read_preallocated(section, max_vus);
    let graceful_stop =
        section.get("graceful_stop").and_then(|item| item.duration()).unwrap_or(DEFAULT_GRACEFUL_STOP);
    let tags = section.entries("tags");
    let tags = tags.iter().filter_map(|item| Some((item.key.clone(), item.text()?.to_owned()))).collect();
    let setup = steps::read(section, "setup", targets);
    let read_steps = steps::read(section, "steps", targets);
    if section.get("steps").is_none() {
        section.issues.add(&section.span, "a scenario needs one step or more: `[[scenarios.steps]]`");
    }
    section.finish();
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
        steps: read_steps,
    }
}

fn read_preallocated(section: &Section<'_>, max_vus: Option<u32>) -> u32 {
    let Some(item) = section.get("preallocated_vus") else { return 0 };
    let vus = item.whole(0..=MAX_VUS).unwrap_or(0) as u32;
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

/// The stretch of time in which a scenario starts iterations.
pub(super) struct Window {
    start: Duration,
    /// How long it is; none if only the scenario itself says so.
    length: Option<Duration>,
    /// Whether the scenario names its phases.
    named: bool,
}

impl Window {
    fn read(section: &Section<'_>, phases: &[Phase]) -> Option<Window> {
        let start = section.get("start");
        if let Some(item) = section.get("phases") {
            let (from, to) = stretch(&item, phases)?;
            if let Some(start) = start {
                start
                    .issues
                    .add(&start.key_span, "its phases say when the scenario starts; leave out one of them");
            }
            return Some(Window { start: from, length: Some(to - from), named: true });
        }
        let start = start.map_or(Some(Duration::ZERO), |item| item.duration())?;
        let end = phases.last().map(|phase| phase.end);
        let length = end.map(|end| end.saturating_sub(start));
        if length.is_some_and(|length| length.is_zero()) {
            section.issues.add(&section.span, "the scenario starts after the last phase");
            return None;
        }
        Some(Window { start, length, named: false })
    }

    /// For how long a scenario of constant load runs.
    pub(super) fn duration(&self, section: &Section<'_>) -> Option<Duration> {
        self.length_of(section, ("duration", None))
    }

    /// The length of the scenario as `key` says it, else as its phases do, else the default.
    pub(super) fn length_of(
        &self,
        section: &Section<'_>,
        (key, default): (&'static str, Option<Duration>),
    ) -> Option<Duration> {
        match (section.get(key), self.length.or(default)) {
            (Some(item), Some(_)) if self.named => {
                let text = "its phases say how long the scenario lasts; leave out one of them";
                item.issues.add(&item.key_span, text);
                None
            }
            (Some(item), _) => self.fits(&item, item.duration()?),
            (None, Some(length)) => Some(length),
            (None, None) => {
                section
                    .issues
                    .add(&section.span, "a scenario needs `duration` or `phases`: `duration = \"75s\"`");
                None
            }
        }
    }

    /// `length`, if the scenario may last that long.
    pub(super) fn fits(&self, item: &Item<'_>, length: Duration) -> Option<Duration> {
        if length.is_zero() {
            item.wrong("a scenario lasts longer than 0");
            return None;
        }
        let Some(window) = self.length else { return Some(length) };
        if (self.named && length != window) || length > window {
            let what = if self.named { "its phases last" } else { "the phases last from its start" };
            item.wrong(format!("the scenario lasts {length:?}, {what} {window:?}; make them fit"));
            return None;
        }
        Some(length)
    }
}
