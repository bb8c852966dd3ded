//! Requests of a list, one after the other and from the start again after the last.
//!
//! What differs from request to request is kept in a table, one row each; what several have in common, in steps:
//! so a list may be long and the workload stays small.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use super::http::{Body, check_path, method_of, split_url};
use super::{AdhocError, Common, Pace, Sources, Texts, endpoint_name, header_name};
use crate::connection::Connecting;
use crate::data::Table;
use crate::http::HttpOptions;
use crate::model::{DataFrom, DataSource, Expect, Flow, Pick, Request, Step, Target};
use crate::plan::LoadedPlan;
use crate::target_list::{Listed, ListedBody, parse};
use crate::template::Template;

/// The data set of the list.
const SET: &str = "list";
/// Names of endpoints that are told apart.
const MAX_NAMES: usize = 256;
/// The name of all others.
const OTHERS: &str = "all other paths";
/// Steps of a list: kinds of requests that differ in endpoint, host, method or names of headers.
const MAX_STEPS: usize = 4_096;
/// Hosts that the requests of a list go to.
const MAX_HOSTS: usize = 64;
/// What all requests of a list may take together, in bytes.
const MAX_TEXT_BYTES: usize = 512 << 20;

/// What the options of `plimsoll http --targets` say.
#[derive(Debug, Clone)]
pub struct ListAdhoc {
    /// The list's name.
    pub name: String,
    /// What it holds.
    pub list: Vec<u8>,
    /// Names and values for requests that have no such header themselves; values are templates.
    pub headers: Vec<(String, String)>,
    /// What is sent along with requests that have no body themselves.
    pub body: Option<Body>,
    /// How many redirects are followed; with 0 a redirect is the response.
    pub redirects: u32,
    /// How it is connected to.
    pub connecting: Connecting,
    /// Due instant of a request → failure.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// How much is sent.
    pub pace: Pace,
}

/// The plan that a list comes to. Unless the line says how much is sent, each request is sent once.
///
/// # Errors
/// [`AdhocError`] says what is wrong, in which line, and what to do.
pub fn list(line: &ListAdhoc, sources: Sources<'_>) -> Result<LoadedPlan, AdhocError> {
    let listed = parse(&line.list, &line.name).map_err(|error| AdhocError(error.to_string()))?;
    let once = Pace { requests: Some(listed.len() as u64), ..line.pace };
    let shape = if line.pace.is_open_ended() { once } else { line.pace }.resolve()?;
    let mut texts = Texts::new(sources);
    let headers = line.headers.iter().map(|header| texts.header(header)).collect::<Result<_, _>>()?;
    let body = match &line.body {
        None => Template::default(),
        Some(Body::Template(text)) => texts.template("--body", text)?,
        Some(Body::Exact(text)) => Template::literal(text),
    };
    let mut drawer = Drawer::new(
        Defaults {
            headers,
            body,
            timeout: line.timeout,
            redirects: line.redirects,
            connecting: line.connecting.clone(),
        },
        &listed,
    );
    let mut files = BodyFiles { sources, read: BTreeMap::new() };
    for request in &listed {
        let at = |message: AdhocError| AdhocError(format!("{}:{}: {message}", line.name, request.line));
        let body = files.body(request).map_err(at)?;
        drawer.put(request, body).map_err(at)?;
    }
    let Drawer { targets, steps, table, folded, .. } = drawer;
    let source =
        DataSource { from: DataFrom::File(line.name.clone()), pick: Pick::Sequential, rows: table.rows() };
    let common = Common {
        name: line.name.clone(),
        seed: line.seed,
        targets,
        flow: Flow::InTurn { data: SET.to_owned(), steps, folded: folded.len() as u64 },
        shape,
        timeout: line.timeout,
    };
    let mut plan = common.plan(texts)?;
    plan.workload.data.insert(SET.to_owned(), source);
    plan.tables.insert(SET.to_owned(), table);
    Ok(plan)
}

/// What requests have that do not say otherwise.
struct Defaults {
    headers: Vec<(String, Template)>,
    body: Template,
    timeout: Duration,
    redirects: u32,
    connecting: Connecting,
}

/// What requests of one step have in common.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    endpoint: String,
    target: String,
    method: String,
    headers: Vec<String>,
    has_body: bool,
}

/// Puts requests into the table and their kinds into steps.
struct Drawer {
    defaults: Defaults,
    targets: BTreeMap<String, Target>,
    kinds: HashMap<Kind, usize>,
    steps: Vec<Step>,
    table: Table,
    text_bytes: usize,
    names: std::collections::HashSet<String>,
    /// Names that were folded, by hash: they are only counted, and there may be a million.
    folded: std::collections::HashSet<u64>,
}

impl Drawer {
    fn new(defaults: Defaults, listed: &[Listed]) -> Drawer {
        let widest = listed.iter().map(|request| request.headers.len()).max().unwrap_or(0);
        let columns = ["step", "path", "body"].map(str::to_owned).into_iter().chain((0..widest).map(column));
        Drawer {
            defaults,
            targets: BTreeMap::new(),
            kinds: HashMap::new(),
            steps: Vec::new(),
            table: Table::with_columns(columns.collect()),
            text_bytes: 0,
            names: std::collections::HashSet::new(),
            folded: std::collections::HashSet::new(),
        }
    }

    fn put(&mut self, request: &Listed, body: Option<&str>) -> Result<(), AdhocError> {
        let method = method_of(&request.method)?;
        let (origin, path) = split_url(&request.url)?;
        check_path(&Template::literal(&path))?;
        let target = format!("{}://{}:{}", origin.scheme.name(), origin.host, origin.port);
        if !self.targets.contains_key(&target) {
            if self.targets.len() == MAX_HOSTS {
                return Err(AdhocError(format!("more than {MAX_HOSTS} hosts; split the list")));
            }
            let connecting = self.defaults.connecting.clone();
            let described = Target { http: Some(origin), connecting, ..Target::default() };
            self.targets.insert(target.clone(), described);
        }
        let names =
            request.headers.iter().map(|(name, _)| header_name(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some((name, _)) = request.headers.iter().find(|(_, value)| value.chars().any(char::is_control))
        {
            return Err(AdhocError(format!("the header `{name}` has a control character")));
        }
        let endpoint = self.endpoint(&method, path.split('?').next().unwrap_or_default());
        let kind = Kind { endpoint, target, method, headers: names, has_body: body.is_some() };
        let step = self.step(kind)?.to_string();
        let mut row = vec![step.as_str(), &path, body.unwrap_or_default()];
        row.extend(request.headers.iter().map(|(_, value)| value.as_str()));
        self.text_bytes += row.iter().map(|cell| cell.len()).sum::<usize>();
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(AdhocError(format!(
                "paths, headers and bodies of more than {MAX_TEXT_BYTES} bytes; split the list"
            )));
        }
        self.table.push(&row);
        Ok(())
    }

    fn endpoint(&mut self, method: &str, path: &str) -> String {
        let name = endpoint_name(&format!("{method} {path}"));
        if self.names.contains(&name) {
            return name;
        }
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.clone());
            return name;
        }
        use std::hash::BuildHasher;
        let hasher = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default();
        self.folded.insert(hasher.hash_one(&name));
        OTHERS.to_owned()
    }

    /// The step of a kind, made now if it is new.
    fn step(&mut self, kind: Kind) -> Result<usize, AdhocError> {
        if let Some(known) = self.kinds.get(&kind) {
            return Ok(*known);
        }
        if self.steps.len() == MAX_STEPS {
            return Err(AdhocError(format!(
                "more than {MAX_STEPS} kinds of requests (path, host, method, names of headers); split the list"
            )));
        }
        let own = kind.headers.iter().enumerate().map(|(at, name)| (name.clone(), cell(&column(at))));
        let is_own = |name: &String| kind.headers.contains(name);
        let default = self.defaults.headers.iter().filter(|(name, _)| !is_own(name)).cloned();
        let request = Request::Http {
            target: kind.target.clone(),
            method: kind.method.clone(),
            path: cell("path"),
            headers: own.chain(default).collect(),
            body: if kind.has_body { cell("body") } else { self.defaults.body.clone() },
            options: HttpOptions { redirects: self.defaults.redirects, ..HttpOptions::default() },
        };
        self.steps.push(Step {
            name: kind.endpoint.clone(),
            request,
            timeout: self.defaults.timeout,
            think: Duration::ZERO,
            expect: Expect::default(),
            extract: Vec::new(),
        });
        self.kinds.insert(kind, self.steps.len() - 1);
        Ok(self.steps.len() - 1)
    }
}

/// The column of the `at`-th header of a request.
fn column(at: usize) -> String {
    format!("header{at}")
}

/// The value of this column in the row of the request.
fn cell(column: &str) -> Template {
    Template::parse(&format!("${{{SET}.{column}}}")).expect("the names of set and columns are names")
}

/// The files that are bodies, each read once.
struct BodyFiles<'a> {
    sources: Sources<'a>,
    read: BTreeMap<String, String>,
}

impl BodyFiles<'_> {
    fn body<'b>(&'b mut self, request: &'b Listed) -> Result<Option<&'b str>, AdhocError> {
        let path = match &request.body {
            None => return Ok(None),
            Some(ListedBody::Text(text)) => return Ok(Some(text)),
            Some(ListedBody::File(path)) => path,
        };
        if !self.read.contains_key(path) {
            let bytes = self.sources.files.read(Path::new(path));
            let bytes = bytes
                .map_err(|error| AdhocError(format!("{path} cannot be read: {error}; check the path")))?;
            let (Body::Exact(text) | Body::Template(text)) = Body::of_file(path, bytes)?;
            self.read.insert(path.clone(), text);
        }
        Ok(self.read.get(path).map(String::as_str))
    }
}
