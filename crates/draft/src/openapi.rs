//! A plan of the operations of an OpenAPI 3 description.
//!
//! Read leniently: of a description only what a request needs is used, so that 3.0 and 3.1 are read alike, and what is
//! wrong elsewhere in it does no harm.

mod document;
mod login;
mod operation;
mod parameters;
mod parts;
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
use crate::draft::Draft;
use crate::error::DraftError;
use crate::names::{step_name, target_name};
use crate::plan::{FlowDraft, PlanDraft, Selection, StepDraft, StepState, TargetDraft};
use crate::render;
use crate::secrets::Variables;
use crate::text::Text;
use crate::url::split;
use document::Document;
use login::Credentials;
use operation::{METHODS, Operation};

/// A description of an API.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    pub(crate) value: Value,
    /// How scalars are written in YAML where that is not how JSON writes them, by their places (RFC 6901).
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
    let setup = writer.setup();
    Ok(render::draft(PlanDraft {
        source: title(value, name),
        targets: writer.targets,
        scenario: "use",
        flow: FlowDraft::Mix,
        setup,
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

/// An operation: its place, path, method, path item and description.
type Described<'a> = (String, &'a str, &'static str, &'a Value, &'a Value);

/// All operations in order.
fn operations<'a>(document: &'a Document<'a>) -> Result<Vec<Described<'a>>, DraftError> {
    let paths = document.root.get("paths").and_then(Value::as_object);
    let paths = paths.ok_or_else(|| document.wrong("/paths", "is missing: there is no operation"))?;
    let mut all = Vec::new();
    for (path, item) in paths {
        let (item, pointer) = document.resolved(item, &format!("/paths/{}", document::escaped(path)))?;
        for method in METHODS {
            let operation = item.get(method);
            all.extend(
                operation
                    .map(|operation| (format!("{pointer}/{method}"), path.as_str(), method, item, operation)),
            );
        }
    }
    Ok(all)
}

/// Makes steps of operations.
struct Writer<'a> {
    document: &'a Document<'a>,
    server: Option<&'a str>,
    targets: Vec<TargetDraft>,
    target_names: BTreeSet<String>,
    step_names: BTreeSet<String>,
    steps: Vec<StepDraft>,
    /// The step that logs in, and what other operations use of it.
    login: Option<StepDraft>,
    credentials: Credentials,
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
            login: None,
            credentials: Credentials::new(),
            variables: Variables::default(),
            notes: Vec::new(),
        }
    }

    /// The login, if a step that is sent uses what it gives.
    fn setup(&mut self) -> Vec<StepDraft> {
        let login = self.login.take();
        let is_used = |login: &StepDraft| {
            let names = login.extract.iter().map(|extraction| &extraction.name);
            let mut active = self.steps.iter().filter(|step| step.is_active());
            active.any(|step| names.clone().any(|name| step.uses(name)))
        };
        login.filter(is_used).into_iter().collect()
    }

    fn add_operations(&mut self) -> Result<(), DraftError> {
        let described = operations(self.document)?;
        for (at, path, method, item, operation) in &described {
            let operation = Operation { document: self.document, path, method, item, operation, pointer: at };
            if self.login.is_none() {
                self.take_login(&operation)?;
            }
        }
        for (at, path, method, item, operation) in &described {
            if self.steps.len() == MAX_STEPS {
                self.notes.push(format!("only the first {MAX_STEPS} operations are in the plan"));
                return Ok(());
            }
            let operation = Operation { document: self.document, path, method, item, operation, pointer: at };
            let target = self.target_of(&operation)?;
            let mut step = operation.step(target, &mut self.variables, &self.credentials)?;
            step.name = step_name(&step.name, &mut self.step_names);
            if let StepState::Impossible(why) = &step.state {
                self.notes.push(format!("`{}` is not sent: {why}", step.name));
            }
            self.steps.push(step);
        }
        Ok(())
    }

    /// Log in with this operation, if it gives what others need.
    fn take_login(&mut self, operation: &Operation<'_>) -> Result<(), DraftError> {
        let Some(login) = login::of(operation)? else { return Ok(()) };
        let target = self.target_of(operation)?;
        let mut step = operation.login_step(target, &mut self.variables)?;
        step.name = step_name(&format!("log in: {}", step.name), &mut self.step_names);
        step.comments.push("Each virtual user logs in once, and its steps send what it is given.".into());
        step.state = StepState::Active;
        let given = Text::variable(&login.extraction.name);
        self.credentials.extend(login.schemes.into_iter().map(|scheme| (scheme, given.clone())));
        step.extract = vec![login.extraction];
        self.login = Some(step);
        Ok(())
    }

    fn target_of(&mut self, operation: &Operation<'_>) -> Result<usize, DraftError> {
        let path = operation.pointer.rsplit_once('/').map_or("", |(path, _)| path);
        let owners = [(operation.operation, operation.pointer), (operation.item, path)];
        let url = servers::base_url(self.document, &owners, self.server)?;
        Ok(self.target(url))
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
