//! A plan of one URL.

use std::collections::BTreeSet;

use workload::Template;
use workload::template::Value;

use crate::draft::Draft;
use crate::error::DraftError;
use crate::names::step_name;
use crate::plan::{FlowDraft, PlanDraft, StepDraft, TargetDraft};
use crate::render;
use crate::secrets::Variables;
use crate::text::Text;
use crate::url::split;

/// A plan that gets `url`, in which values such as `${random(1, 9)}` may be.
///
/// # Errors
/// [`DraftError`] if it is not a URL of HTTP.
pub fn of_url(url: &str) -> Result<Draft, DraftError> {
    let wrong = |why: String| DraftError::at("the URL", why);
    let parts = split(url).map_err(wrong)?;
    let mut variables = Variables::default();
    let path = Template::parse(&template_path(url, &parts.path)).map_err(|error| wrong(error.message))?;
    for value in path.values() {
        if let Value::Env(name) = value {
            variables.declare(name, "in the URL");
        }
    }
    let shown = parts.path.split('?').next().unwrap_or_default();
    let mut step = StepDraft::new("GET", 0, Text::of_template(&path));
    step.name = step_name(&format!("GET {shown}"), &mut BTreeSet::new());
    step.auth = parts.user.as_ref().map(|user| basic_auth(user, &mut variables));
    step.comments.push(
        "A second step would be another [[scenarios.steps]]: POST with `json = { … }`, for example.".into(),
    );
    Ok(render::draft(PlanDraft {
        source: parts.origin.clone(),
        targets: vec![TargetDraft { name: "api".to_owned(), url: parts.origin, keys: Vec::new() }],
        scenario: "visit",
        flow: FlowDraft::Sequence,
        setup: Vec::new(),
        steps: vec![step],
        variables,
        files: Vec::new(),
        notes: Vec::new(),
    }))
}

/// The path and query of the URL; quotes and blanks within `${…}` stay as they are.
fn template_path(url: &str, encoded: &str) -> String {
    if !url.contains("${") {
        return encoded.to_owned();
    }
    let after = url.find("://").map_or(0, |at| at + 3);
    let path = url[after..].find(['/', '?']).map_or("/", |at| &url[after + at..]);
    let path = path.split('#').next().unwrap_or_default();
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// `user:password` without the password.
pub(crate) fn basic_auth(user: &str, variables: &mut Variables) -> Text {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let hidden = variables.text("PASSWORD", password, &format!("the password of the user `{name}`"));
    Text::literal(name).and(":").then(&hidden)
}
