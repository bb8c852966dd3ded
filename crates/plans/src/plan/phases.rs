//! Reads `[[phases]]`, and the phases that a scenario names.

use std::ops::Range;
use std::time::Duration;

use evidence::Key;

use super::section::{Item, Section};
use workload::model::Phase;
use workload::nearest::nearest;
use workload::schedule::MAX_STAGE;

/// The name of the single phase of a plan without phases.
pub(super) const DEFAULT_PHASE: &str = "run";
/// Keys of the load, which scenarios have.
const LOAD: [&str; 8] =
    ["executor", "rate", "start_rate", "stages", "vus", "start_vus", "iterations", "max_vus"];

/// Read all phases; none if the plan has none.
pub(super) fn read(root: &Section<'_>) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut start = Duration::ZERO;
    for section in root.tables("phases", "a phase") {
        let name = section.need("name", "`name = \"warm-up\"`").and_then(|item| {
            let name = item.text()?;
            if name.is_empty() || Key::is_beside_load(name) || phases.iter().any(|phase| phase.name == name) {
                item.wrong(format!(
                    "a phase cannot be called `{name}`: names are unique, not empty, not `setup` or `teardown`"
                ));
            }
            Some(name.to_owned())
        });
        let duration = section.need("duration", "`duration = \"10s\"`").and_then(|item| {
            let duration = item.duration()?;
            if duration.is_zero() {
                item.wrong("a phase lasts longer than 0");
            }
            Some(duration)
        });
        section.finish_beside(&LOAD, "a scenario: the load of `[[scenarios]]` is offered in its `phases`");
        // A phase with an error is kept, so that it causes no errors elsewhere.
        let end = start.saturating_add(duration.unwrap_or(Duration::from_secs(1))).min(MAX_STAGE);
        phases.push(Phase { name: name.unwrap_or_default(), start, end });
        start = end;
    }
    phases
}

/// The time range of the phases named in `item`, which must be consecutive.
pub(super) fn covered(item: &Item<'_>, phases: &[Phase]) -> Option<Range<Duration>> {
    let mut indices = Vec::new();
    for name in item.items() {
        let text = name.text()?;
        let Some(index) = phases.iter().position(|phase| phase.name == text) else {
            let hint = match nearest(text, phases.iter().map(|p| p.name.as_str())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name one of `[[phases]]`".to_owned(),
            };
            name.wrong(format!("there is no phase `{text}`; {hint}"));
            return None;
        };
        indices.push(index);
    }
    let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
        item.wrong("name one phase or more, or leave `phases` out");
        return None;
    };
    if indices.windows(2).any(|pair| pair[1] != pair[0] + 1) {
        item.wrong("a scenario's phases must follow one another, in order and without a gap");
        return None;
    }
    Some(phases[*first].start..phases[*last].end)
}
