//! A plan of the operations of an OpenAPI 3 description.
//!
//! Read leniently: of a description only what a request needs is used, so that 3.0 and 3.1 are read alike, and what is
//! wrong elsewhere in it does no harm.

mod document;
mod operation;
mod parameters;
mod request_body;
mod responses;
mod sample;
mod schema;
mod security;
mod serialise;
mod servers;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::MAX_STEPS;
use crate::error::DraftError;
use crate::names::{step_name, target_name};
use crate::plan::{Draft, FlowDraft, PlanDraft, Selection, StepDraft, StepState, TargetDraft};
use crate::render;
use crate::secrets::Variables;
use crate::text::Text;
use crate::url::split;
use document::Document;
use operation::{METHODS, Operation};

/// A description of an API.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    pub(crate) value: Value,
    /// How scalars stand in YAML where that is not how JSON writes them, by their places (RFC 6901).
    pub(crate) texts: BTreeMap<String, String>,
}

impl From<Value> for Description {
    fn from(value: Value) -> Description {
        Description { value, texts: BTreeMap::new() }
    }
}

/// What a description does not say.
#[derive(Debug, Clone, Default)]
pub struct OpenApiOptions {
    /// The address of the server, in place of the description's; with a path it is the whole base URL.
    pub server: Option<String>,
    /// Which operations are sent.
    pub selection: Selection,
}

/// A plan of the operations in `description`, which was read from `name`.
///
/// # Errors
/// [`DraftError`], if the description has no usable server or operation.
pub fn of_openapi(
    name: &str,
    description: &Description,
    options: &OpenApiOptions,
) -> Result<Draft, DraftError> {
    let document = Document::new(name, description);
    let value = &description.value;
    let version = value.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(document.wrong("/openapi", "is not version 3 of OpenAPI, as `openapi: 3.1.0` would say"));
    }
    let mut writer = Writer::new(&document, options.server.as_deref());
    writer.add_operations()?;
    choose(&document, &mut writer.steps, options.selection, &mut writer.notes)?;
    Ok(render::draft(PlanDraft {
        source: title(value, name),
        targets: writer.targets,
        scenario: "use",
        flow: FlowDraft::Mix,
        setup: Vec::new(),
        steps: writer.steps,
        variables: writer.variables,
        files: Vec::new(),
        notes: writer.notes,
    }))
}

fn title(value: &Value, name: &str) -> String {
    match value.pointer("/info/title").and_then(Value::as_str) {
        Some(title) => format!("{name}, the description of \"{}\",", render::one_line(title)),
        None => name.to_owned(),
    }
}

/// Makes steps of operations.
struct Writer<'a> {
    document: &'a Document<'a>,
    server: Option<&'a str>,
    targets: Vec<TargetDraft>,
    target_names: BTreeSet<String>,
    step_names: BTreeSet<String>,
    steps: Vec<StepDraft>,
    variables: Variables,
    notes: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(document: &'a Document<'a>, server: Option<&'a str>) -> Writer<'a> {
        Writer {
            document,
            server,
            targets: Vec::new(),
            target_names: BTreeSet::new(),
            step_names: BTreeSet::new(),
            steps: Vec::new(),
            variables: Variables::default(),
            notes: Vec::new(),
        }
    }

    fn add_operations(&mut self) -> Result<(), DraftError> {
        let paths = self.document.root.get("paths").and_then(Value::as_object);
        let paths =
            paths.ok_or_else(|| self.document.wrong("/paths", "is missing: there is no operation"))?;
        for (path, item) in paths {
            let (item, pointer) =
                self.document.resolved(item, &format!("/paths/{}", document::escaped(path)))?;
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                if self.steps.len() == MAX_STEPS {
                    self.notes.push(format!("only the first {MAX_STEPS} operations are in the plan"));
                    return Ok(());
                }
                let at = format!("{pointer}/{method}");
                let owners = [(operation, at.as_str()), (item, pointer.as_str())];
                let url = servers::base_url(self.document, &owners, self.server)?;
                let target = self.target(url);
                let operation =
                    Operation { document: self.document, path, method, item, operation, pointer: &at };
                let mut step = operation.step(target, &mut self.variables)?;
                step.name = step_name(&step.name, &mut self.step_names);
                if let StepState::Impossible(why) = &step.state {
                    self.notes.push(format!("`{}` is not sent: {why}", step.name));
                }
                self.steps.push(step);
            }
        }
        Ok(())
    }

    /// The index of the target with this base URL, which is added if it is new.
    fn target(&mut self, url: String) -> usize {
        if let Some(known) = self.targets.iter().position(|target| target.url == url) {
            return known;
        }
        let host = split(&url).map(|parts| parts.host).unwrap_or_default();
        let name = target_name(&host, &mut self.target_names);
        self.targets.push(TargetDraft { name, url, keys: Vec::new() });
        self.targets.len() - 1
    }
}

/// Decide which steps are sent.
fn choose(
    document: &Document<'_>,
    steps: &mut [StepDraft],
    selection: Selection,
    notes: &mut Vec<String>,
) -> Result<(), DraftError> {
    if selection == Selection::All {
        let possible = steps.iter_mut().filter(|step| step.is_possible());
        possible.for_each(|step| step.state = StepState::Active);
    } else if !steps.iter().any(StepDraft::is_active) {
        // Made-up values are better than no step.
        let reading = steps.iter_mut().filter(|step| operation::is_safe(&step.method) && step.is_possible());
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
fn basic(variables: &mut Variables) -> Text {
    let user = variables.text("USER_NAME", "", "the user of the API");
    let password = variables.text("PASSWORD", "", "the password of the user of the API");
    user.and(":").then(&password)
}
