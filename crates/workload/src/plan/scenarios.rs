//! Reads `[[scenarios]]`: how arrivals come about, when, and what an iteration does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::phases::stretch;
use super::section::{Item, Section, Span};
use super::steps::{self, StepDraft};
use super::targets::Targets;
use crate::model::{Executor, Phase, Stage};
use crate::nearest::nearest;
use crate::schedule::MAX_STAGE;

/// How long iterations under way at a scenario's end may take.
const DEFAULT_GRACEFUL_STOP: Duration = Duration::from_secs(30);
/// The most virtual users a plan may ask for.
const MAX_VUS: u64 = 1_000_000;

/// A scenario as far as it can be made out, and what is needed to check it against the rest of the plan.
pub(super) struct ScenarioDraft {
    pub(super) name: Option<String>,
    pub(super) span: Span,
    pub(super) executor: Option<Executor>,
    pub(super) start: Duration,
    pub(super) graceful_stop: Duration,
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
    let executor = read_executor(section, window.as_ref());
    let max_vus = section.get("max_vus").and_then(|item| item.whole(1..=MAX_VUS)).map(|n| n as u32);
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
        start: window.map(|window| window.start).unwrap_or_default(),
        graceful_stop,
        max_vus,
        tags,
        setup,
        steps: read_steps,
    }
}

/// The stretch of time in which a scenario starts iterations.
struct Window {
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
    fn duration(&self, section: &Section<'_>) -> Option<Duration> {
        let item = section.get("duration");
        match (item, self.length) {
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
    fn fits(&self, item: &Item<'_>, length: Duration) -> Option<Duration> {
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

const EXECUTORS: [&str; 3] = ["constant-arrival-rate", "ramping-arrival-rate", "constant-vus"];

fn read_executor(section: &Section<'_>, window: Option<&Window>) -> Option<Executor> {
    read_arrivals(section);
    let item = section.need("executor", "`executor = \"constant-arrival-rate\"`");
    let kind = item.as_ref().and_then(|item| item.text());
    let keys: &[&'static str] = match kind {
        Some("constant-arrival-rate") => &["rate", "duration"],
        Some("ramping-arrival-rate") => &["start_rate", "stages"],
        Some("constant-vus") => &["vus", "duration"],
        _ => &["rate", "duration", "start_rate", "stages", "vus"],
    };
    for key in ["rate", "duration", "start_rate", "stages", "vus"] {
        if let (Some(item), false) = (section.get(key), keys.contains(&key)) {
            let text = format!("`{key}` does not go with this executor; it takes `{}`", keys.join("` and `"));
            item.issues.add(&item.key_span, text);
        }
    }
    match kind? {
        "constant-arrival-rate" => {
            let rate = section.need("rate", "`rate = \"300/s\"`").and_then(|item| positive_rate(&item));
            let duration = window.and_then(|window| window.duration(section));
            Some(Executor::ConstantArrivalRate { rate: rate?, duration: duration? })
        }
        "ramping-arrival-rate" => read_ramp(section, window),
        "constant-vus" => {
            let vus = section.need("vus", "`vus = 10`").and_then(|item| item.whole(1..=MAX_VUS));
            let duration = window.and_then(|window| window.duration(section));
            Some(Executor::ConstantVus { vus: vus? as u32, duration: duration? })
        }
        other => {
            let hint = match nearest(other, EXECUTORS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are `{}`", EXECUTORS.join("`, `")),
            };
            item?.wrong(format!("there is no executor `{other}`; {hint}"));
            None
        }
    }
}

/// `arrivals` is part of the plan's shape; only even ones exist so far.
fn read_arrivals(section: &Section<'_>) {
    if let Some(item) = section.get("arrivals")
        && item.text().is_some_and(|text| text != "even")
    {
        item.wrong("only `arrivals = \"even\"`, the default, is supported yet");
    }
}

fn positive_rate(item: &Item<'_>) -> Option<f64> {
    let rate = item.rate()?;
    if rate <= 0.0 {
        item.wrong("a rate is above 0");
        return None;
    }
    Some(rate)
}

fn read_ramp(section: &Section<'_>, window: Option<&Window>) -> Option<Executor> {
    let start_rate = section.get("start_rate").map_or(Some(0.0), |item| item.rate());
    let item = section.need("stages", "`stages = [{ to = \"300/s\", over = \"10s\" }]`")?;
    let mut stages = Vec::new();
    for entry in item.items() {
        let stage = entry.section("a stage")?;
        let to = stage.need("to", "`to = \"300/s\"`").and_then(|item| item.rate());
        let over = stage.need("over", "`over = \"10s\"`").and_then(|item| item.duration());
        stage.finish();
        stages.push(Stage { to: to?, over: over? });
    }
    let start_rate = start_rate?;
    if start_rate <= 0.0 && stages.iter().all(|stage| stage.to <= 0.0) {
        item.wrong("no stage has a rate above 0, so nothing would be offered");
        return None;
    }
    let length = stages.iter().try_fold(Duration::ZERO, |sum, stage| sum.checked_add(stage.over))?;
    if length > MAX_STAGE {
        item.wrong("the stages last longer than 30 days");
        return None;
    }
    window?.fits(&item, length)?;
    Some(Executor::RampingArrivalRate { start_rate, stages })
}
