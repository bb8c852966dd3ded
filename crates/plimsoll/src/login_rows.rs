//! Data that a login and the steps after it both use: their rows differ, which is seldom meant. Said before a run.

use evidence::visible;
use workload::Workload;
use workload::model::{Flow, Scenario, Step};
use workload::template::{Part, Value};

use crate::literal_values::places;

/// Which scenarios take rows of the same data in their set-up and in their iterations.
pub(crate) fn warnings(workload: &Workload) -> impl Iterator<Item = String> {
    workload.scenarios.iter().filter_map(warning)
}

fn warning(scenario: &Scenario) -> Option<String> {
    if matches!(scenario.flow, Flow::Script { .. }) {
        return None;
    }
    let (login, set) =
        scenario.setup.iter().flat_map(|step| sets(step).map(move |set| (step, set))).next()?;
    let step = scenario.flow.steps().find(|step| sets(step).any(|other| other == set))?;
    let [login, step, set, name] =
        [&login.name, &step.name, set, &scenario.name].map(|name| visible(name).into_owned());
    Some(format!(
        "warning: in `{name}`, `{login}` is sent once for each virtual user, with a row of `{set}` of its own, and `{step}` has the row of \
         each iteration: the values differ. What must fit the login is extracted from its response: `extract = {{ … }}`"
    ))
}

/// The data whose rows a step takes.
fn sets(step: &Step) -> impl Iterator<Item = &str> {
    let parts = places(step).into_iter().flat_map(|(_, template)| template.parts());
    parts.filter_map(|part| match part {
        Part::Value(Value::Data { set, .. })
        | Part::JsonValue(Value::Data { set, .. })
        | Part::UrlValue(Value::Data { set, .. }) => Some(set.as_str()),
        _ => None,
    })
}
