//! A plan of the operations of an OpenAPI 3 description.
//!
//! Read leniently: of a description only what a request needs is used, so that 3.0 and 3.1 are read alike, and what is
//! wrong elsewhere in it does no harm.

mod document;
mod operation;
mod parameters;
mod request_body;
mod sample;
mod security;
mod step;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::DraftError;
use crate::names::step_name;
use crate::plan::{Draft, FlowDraft, PlanDraft, Selection, StepDraft, StepState, TargetDraft};
use crate::render;
use crate::secrets::Variables;
use crate::url::split;
use crate::{MAX_STEPS, address};
use document::Document;
use operation::METHODS;

/// What a description does not say.
#[derive(Debug, Clone, Default)]
pub struct OpenApiOptions {
    /// The address of the server, in place of the description's; with a path it is the whole base URL.
    pub server: Option<String>,
    /// Which operations are sent.
    pub selection: Selection,
}

/// A plan of the operations in `value`, which was read from `name`.
///
/// # Errors
/// [`DraftError`], if the description has no usable server or operation.
pub fn of_openapi(name: &str, value: &Value, options: &OpenApiOptions) -> Result<Draft, DraftError> {
    let document = Document::new(name, value);
    let version = value.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(document.wrong("/openapi", "is not version 3 of OpenAPI, as `openapi: 3.1.0` would say"));
    }
    let url = server(&document, options.server.as_deref())?;
    let mut variables = Variables::default();
    let mut notes = Vec::new();
    let mut steps = steps(&document, &mut variables, &mut notes)?;
    choose(&document, &mut steps, options.selection, &mut notes)?;
    Ok(render::draft(PlanDraft {
        source: title(value, name),
        targets: vec![TargetDraft { name: "api".to_owned(), url, keys: Vec::new() }],
        scenario: "use",
        flow: FlowDraft::Mix,
        steps,
        variables,
        notes,
    }))
}

fn title(value: &Value, name: &str) -> String {
    match value.pointer("/info/title").and_then(Value::as_str) {
        Some(title) => format!("{name}, the description of \"{}\",", render::one_line(title)),
        None => name.to_owned(),
    }
}

/// The base URL: the option's, completed by the path of the first server where it has none itself.
fn server(document: &Document<'_>, given: Option<&str>) -> Result<String, DraftError> {
    let described = document.root.pointer("/servers/0/url").and_then(Value::as_str).unwrap_or("/");
    let described = with_defaults(described, document.root.pointer("/servers/0/variables"));
    let is_whole = described.contains("://");
    let place = document.place("/servers/0/url");
    let (url, place) = match given {
        Some(given) => {
            let parts = split(given).map_err(|why| DraftError::at("--server", why))?;
            let path = match (parts.path.as_str(), is_whole) {
                ("/", true) => split(&described).map(|parts| parts.path).unwrap_or_default(),
                ("/", false) => format!("/{}", described.trim_start_matches('/')),
                (path, _) => path.to_owned(),
            };
            (format!("{}{path}", parts.origin), "--server".to_owned())
        }
        None if is_whole => (described, place),
        None => {
            let why = format!("`{described}` has no host: give one with `--server http://127.0.0.1:8000`");
            return Err(DraftError::at(place, why));
        }
    };
    let parts = split(&url).map_err(|why| DraftError::at(place.clone(), why))?;
    if parts.path.contains(['?', '$', '{']) {
        return Err(DraftError::at(place, format!("`{url}` is no base URL: give one with `--server URL`")));
    }
    Ok(format!("{}{}", parts.origin, parts.path.trim_end_matches('/')))
}

/// `https://{region}.example.com` with the defaults of its variables.
fn with_defaults(url: &str, variables: Option<&Value>) -> String {
    let mut url = url.to_owned();
    for (name, variable) in variables.and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = variable.get("default").and_then(Value::as_str) {
            url = url.replace(&format!("{{{name}}}"), default);
        }
    }
    url
}

fn steps(
    document: &Document<'_>,
    variables: &mut Variables,
    notes: &mut Vec<String>,
) -> Result<Vec<StepDraft>, DraftError> {
    let paths = document.root.get("paths").and_then(Value::as_object);
    let paths = paths.ok_or_else(|| document.wrong("/paths", "is missing: there is no operation"))?;
    let mut taken = BTreeSet::new();
    let mut steps = Vec::new();
    for (path, item) in paths {
        let pointer = format!("/paths/{}", document::escaped(path));
        let (item, _) = document.resolved(item, &pointer)?;
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            if steps.len() == MAX_STEPS {
                notes.push(format!("only the first {MAX_STEPS} operations are in the plan"));
                return Ok(steps);
            }
            let at = format!("{pointer}/{method}");
            let described = operation::Operation { document, path, method, item, operation, pointer: &at };
            let mut step = described.step(variables)?;
            step.name = step_name(&step.name, &mut taken);
            steps.push(step);
        }
    }
    Ok(steps)
}

/// Decide which steps are sent.
fn choose(
    document: &Document<'_>,
    steps: &mut [StepDraft],
    selection: Selection,
    notes: &mut Vec<String>,
) -> Result<(), DraftError> {
    if selection == Selection::All {
        steps.iter_mut().for_each(|step| step.state = StepState::Active);
    } else if !steps.iter().any(StepDraft::is_active) {
        // Made-up values are better than no step.
        let reading = steps.iter_mut().filter(|step| operation::is_safe(&step.method));
        let made_up = reading.map(|step| step.state = StepState::Active).count();
        if made_up > 0 {
            notes.push(
                "the description has no example of any path's parameters: put real values into the steps"
                    .into(),
            );
        }
    }
    if !steps.iter().any(StepDraft::is_active) {
        let problem = "has no operation that only reads; `--all` makes steps of those that write, too";
        return Err(document.wrong("/paths", problem));
    }
    // Steps that are sent come first: the comments after them are there to be chosen from.
    steps.sort_by_key(|step| !step.is_active());
    Ok(())
}

/// `Basic` credentials of variables only.
fn basic(variables: &mut Variables) -> String {
    let user = variables.template("USER_NAME", "", "the user of the API");
    let password = address::basic_auth(":", variables);
    let password = password.rsplit(':').next().unwrap_or_default().to_owned();
    format!("basic:{user}:{password}")
}
