//! What is said before a run of objectives that get too few requests to be decided.

use std::time::Duration;

use evidence::visible;
use judge::ExpectedObservations;
use report::number;

/// Which objectives get too few requests to be decided, and why.
pub(crate) fn warnings(expected: &[ExpectedObservations]) -> impl Iterator<Item = String> {
    let too_few = expected.iter().filter(|objective| objective.are_too_few());
    too_few.map(|objective| format!("warning: `{}` {}", visible(&objective.name), warning(objective)))
}

/// Why an objective is not decided, or may not be.
fn warning(objective: &ExpectedObservations) -> String {
    let (expected, least) = (objective.expected.unwrap_or(0), objective.least.unwrap_or(0));
    let needed = number::count(objective.needed.unwrap_or(0));
    let most = if objective.is_at_most { "at most " } else { "" };
    let count = format!("{most}{}", number::count(expected));
    let longer = match (objective.time_needed, expected) {
        (Some(_), _) if objective.is_at_most => "plan more virtual users, or a longer run".to_owned(),
        (Some(time), _) => format!("plan {} at this rate, or a higher rate", duration(time)),
        (None, 0) => "none of the plan's steps makes any: check its endpoint, scenario and phase".to_owned(),
        (None, _) => "plan more iterations".to_owned(),
    };
    let stays = if expected < least { "will stay" } else { "may stay" };
    format!(
        "{stays} undecided: it gets {count} requests and needs about {needed}, even if none misses its bound; {longer}"
    )
}

/// A time in whole seconds, rounded up.
pub(crate) fn duration(time: Duration) -> String {
    number::duration(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}
