//! The window of run time in which a scenario starts iterations.

use std::time::Duration;

use super::phases::covered;
use super::section::{Item, Section};
use workload::model::Phase;

/// The window in which a scenario starts iterations.
#[derive(Clone, Copy)]
pub(super) struct ScenarioWindow {
    pub(super) start: Duration,
    /// Its length; none if only the scenario's own keys determine it.
    length: Option<Duration>,
    limit: WindowLimit,
}

/// How the phases of a plan limit a scenario's length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WindowLimit {
    /// The scenario names its phases, and is as long as they are.
    NamedPhases,
    /// The scenario ends with the last phase of the plan at the latest.
    LastPhase,
}

impl ScenarioWindow {
    pub(super) fn read(section: &Section<'_>, phases: &[Phase]) -> Option<ScenarioWindow> {
        let start = section.get("start");
        if let Some(item) = section.get("phases") {
            let range = covered(&item, phases)?;
            if let Some(start) = start {
                start
                    .issues
                    .add(&start.key_span, "its phases say when the scenario starts; leave out one of them");
            }
            let length = Some(range.end - range.start);
            return Some(ScenarioWindow { start: range.start, length, limit: WindowLimit::NamedPhases });
        }
        let start = start.map_or(Some(Duration::ZERO), |item| item.duration())?;
        let end = phases.last().map(|phase| phase.end);
        let length = end.map(|end| end.saturating_sub(start));
        if length.is_some_and(|length| length.is_zero()) {
            section.issues.add(&section.span, "the scenario starts after the last phase");
            return None;
        }
        Some(ScenarioWindow { start, length, limit: WindowLimit::LastPhase })
    }

    /// The duration of a scenario of constant load.
    pub(super) fn duration(&self, section: &Section<'_>) -> Option<Duration> {
        self.length_of(section, "duration", None)
    }

    /// The length of the scenario: the value of `key`, else that of its phases, else the default.
    pub(super) fn length_of(
        &self,
        section: &Section<'_>,
        key: &'static str,
        default: Option<Duration>,
    ) -> Option<Duration> {
        match (section.get(key), self.length.or(default)) {
            (Some(item), Some(_)) if self.limit == WindowLimit::NamedPhases => {
                let text = "its phases say how long the scenario lasts; leave out one of them";
                item.issues.add(&item.key_span, text);
                None
            }
            (Some(item), _) => self.check_length(&item, item.duration()?),
            (None, Some(length)) => Some(length),
            (None, None) => {
                section
                    .issues
                    .add(&section.span, "a scenario needs `duration` or `phases`: `duration = \"75s\"`");
                None
            }
        }
    }

    /// `length`, if it fits the window.
    pub(super) fn check_length(&self, item: &Item<'_>, length: Duration) -> Option<Duration> {
        if length.is_zero() {
            item.wrong("a scenario lasts longer than 0");
            return None;
        }
        let Some(window) = self.length else { return Some(length) };
        let (fits, what) = match self.limit {
            WindowLimit::NamedPhases => (length == window, "its phases last"),
            WindowLimit::LastPhase => (length <= window, "the phases last from its start"),
        };
        if !fits {
            item.wrong(format!("the scenario lasts {length:?}, {what} {window:?}; make them fit"));
            return None;
        }
        Some(length)
    }
}
