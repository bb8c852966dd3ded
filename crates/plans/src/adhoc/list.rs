//! Ad-hoc runs of a list of requests, in order and from the first again after the last.
//!
//! A table contains what differs between requests, one row each; steps contain what requests have in common. So the
//! workload of a long list is small.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::time::Duration;

use super::http::{self, AdhocHttp, Body, RequestList, check_path, method_of, split_url};
use super::names::{endpoint_name, header_name};
use super::pace::Pace;
use super::texts::TemplateReader;
use super::{AdhocError, AdhocParts, Sources};
use crate::target_list::{ListedBody, ListedRequest, parse};
use workload::LoadedPlan;
use workload::connection::Connecting;
use workload::data::Table;
use workload::http::HttpOptions;
use workload::model::{DataFrom, DataSource, Expect, Flow, Pick, Request, Step, Target};
use workload::template::Template;

/// The name of the list's data.
const DATA: &str = "list";
/// The most endpoints with a name of their own.
const MAX_NAMES: usize = 256;
/// The name of all other endpoints.
const OTHERS: &str = "all other paths";
/// The most steps of a list: kinds of requests that differ in endpoint, host, method or names of headers.
const MAX_STEPS: usize = 4_096;
/// The most hosts of a list.
const MAX_HOSTS: usize = 64;
/// The largest total size of the paths, headers and bodies of a list, in bytes.
const MAX_TEXT_BYTES: usize = 512 << 20;

/// The plan of an ad-hoc run of a list. Unless the load is given, each request is sent once.
pub(super) fn listed(
    adhoc: &AdhocHttp,
    list: &RequestList,
    sources: Sources<'_>,
) -> Result<LoadedPlan, AdhocError> {
    let requests = parse(&list.content, &list.name).map_err(|error| AdhocError(error.to_string()))?;
    let once = Pace { requests: Some(requests.len() as u64), ..adhoc.pace };
    let shape = if adhoc.pace.is_open_ended() { once } else { adhoc.pace }.resolve()?;
    let mut texts = TemplateReader::new(sources);
    let defaults = Defaults {
        headers: texts.headers(&adhoc.headers)?,
        basic_auth: texts.basic_auth(adhoc.basic_auth.as_ref())?,
        body: http::body(adhoc.body.as_ref(), &mut texts)?,
        timeout: adhoc.timeout,
        redirects: adhoc.redirects,
        connecting: adhoc.connecting.clone(),
    };
    let mut builder = ListBuilder::new(defaults, &requests);
    let mut files = BodyFiles { sources, read: BTreeMap::new() };
    for request in &requests {
        let at = |message: AdhocError| AdhocError(format!("{}:{}: {message}", list.name, request.line));
        let body = files.body(request).map_err(at)?;
        builder.add(request, body).map_err(at)?;
    }
    let ListBuilder { targets, steps, table, folded, .. } = builder;
    let source =
        DataSource { from: DataFrom::File(list.name.clone()), pick: Pick::Sequential, rows: table.rows() };
    let parts = AdhocParts {
        name: list.name.clone(),
        seed: adhoc.seed,
        targets,
        flow: Flow::InTurn { data: DATA.to_owned(), steps, folded: folded.len() as u64 },
        shape,
        timeout: adhoc.timeout,
    };
    let mut plan = parts.plan(texts)?;
    plan.workload.data.insert(DATA.to_owned(), source);
    plan.tables.insert(DATA.to_owned(), table);
    Ok(plan)
}

/// The options of requests without options of their own.
struct Defaults {
    headers: Vec<(String, Template)>,
    basic_auth: Option<Template>,
    body: Template,
    timeout: Duration,
    redirects: u32,
    connecting: Connecting,
}

/// What requests of one step have in common.
#[derive(PartialEq, Eq, Hash)]
struct RequestKind {
    endpoint: String,
    target: String,
    method: String,
    headers: Vec<String>,
    has_body: bool,
}

/// Adds requests to the table, and their kinds to the steps.
struct ListBuilder {
    defaults: Defaults,
    targets: BTreeMap<String, Target>,
    /// The index of the step of each kind.
    kinds: HashMap<RequestKind, usize>,
    steps: Vec<Step>,
    table: Table,
    text_bytes: usize,
    /// Endpoints with a name of their own.
    names: HashSet<String>,
    /// Hashes of folded names, of which there may be a million and only the number is needed.
    folded: HashSet<u64>,
}

impl ListBuilder {
    fn new(defaults: Defaults, requests: &[ListedRequest]) -> ListBuilder {
        let most_headers = requests.iter().map(|request| request.headers.len()).max().unwrap_or(0);
        let headers = (0..most_headers).map(header_column);
        let columns = ["step", "path", "body"].map(str::to_owned).into_iter().chain(headers);
        ListBuilder {
            defaults,
            targets: BTreeMap::new(),
            kinds: HashMap::new(),
            steps: Vec::new(),
            table: Table::with_columns(columns.collect()),
            text_bytes: 0,
            names: HashSet::new(),
            folded: HashSet::new(),
        }
    }

    fn add(&mut self, request: &ListedRequest, body: Option<&str>) -> Result<(), AdhocError> {
        let method = method_of(&request.method)?;
        let (origin, path) = split_url(&request.url)?;
        check_path(&Template::literal(&path))?;
        let target = format!("{}://{}:{}", origin.scheme.name(), origin.host, origin.port);
        if !self.targets.contains_key(&target) {
            if self.targets.len() == MAX_HOSTS {
                return Err(AdhocError(format!("more than {MAX_HOSTS} hosts; split the list")));
            }
            let connecting = self.defaults.connecting.clone();
            let of_host = Target { http: Some(origin), connecting, ..Target::default() };
            self.targets.insert(target.clone(), of_host);
        }
        let names =
            request.headers.iter().map(|(name, _)| header_name(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some((name, _)) = request.headers.iter().find(|(_, value)| value.chars().any(char::is_control))
        {
            return Err(AdhocError(format!("the header `{name}` has a control character")));
        }
        let endpoint = self.endpoint(&method, path.split('?').next().unwrap_or_default());
        let kind = RequestKind { endpoint, target, method, headers: names, has_body: body.is_some() };
        let step = self.step(kind)?.to_string();
        let mut row = vec![step.as_str(), &path, body.unwrap_or_default()];
        row.extend(request.headers.iter().map(|(_, value)| value.as_str()));
        self.text_bytes += row.iter().map(|cell| cell.len()).sum::<usize>();
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(AdhocError(format!(
                "paths, headers and bodies of more than {MAX_TEXT_BYTES} bytes; split the list"
            )));
        }
        self.table.push(row);
        Ok(())
    }

    /// The name of a request's endpoint.
    fn endpoint(&mut self, method: &str, path: &str) -> String {
        let name = endpoint_name(&format!("{method} {path}"));
        if self.names.contains(&name) {
            return name;
        }
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.clone());
            return name;
        }
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        self.folded.insert(hasher.hash_one(&name));
        OTHERS.to_owned()
    }

    /// The index of the step of a kind, which is added if it is new.
    fn step(&mut self, kind: RequestKind) -> Result<usize, AdhocError> {
        if let Some(index) = self.kinds.get(&kind) {
            return Ok(*index);
        }
        if self.steps.len() == MAX_STEPS {
            return Err(AdhocError(format!(
                "more than {MAX_STEPS} kinds of requests (path, host, method, names of headers); split the list"
            )));
        }
        let own = kind.headers.iter().enumerate();
        let own = own.map(|(index, name)| (name.clone(), cell(&header_column(index))));
        let is_own = |name: &String| kind.headers.contains(name);
        let default = self.defaults.headers.iter().filter(|(name, _)| !is_own(name)).cloned();
        let has_own = kind.headers.iter().any(|name| name == "authorization");
        let basic_auth = self.defaults.basic_auth.clone().filter(|_| !has_own);
        let request = Request::Http {
            target: kind.target.clone(),
            method: kind.method.clone(),
            path: cell("path"),
            headers: own.chain(default).collect(),
            body: if kind.has_body { cell("body") } else { self.defaults.body.clone() },
            options: HttpOptions { redirects: self.defaults.redirects, basic_auth, compress: false },
        };
        self.steps.push(Step {
            name: kind.endpoint.clone(),
            request,
            timeout: self.defaults.timeout,
            think: workload::think::Think::default(),
            expect: Expect::default(),
            extract: Vec::new(),
        });
        self.kinds.insert(kind, self.steps.len() - 1);
        Ok(self.steps.len() - 1)
    }
}

/// The column of a request's header, by its index.
fn header_column(index: usize) -> String {
    format!("header{index}")
}

/// The value of this column in the request's row.
fn cell(column: &str) -> Template {
    Template::parse(&format!("${{{DATA}.{column}}}")).expect("the names of data and columns are valid")
}

/// The files that contain bodies; each is read once.
struct BodyFiles<'a> {
    sources: Sources<'a>,
    read: BTreeMap<String, String>,
}

impl BodyFiles<'_> {
    fn body<'b>(&'b mut self, request: &'b ListedRequest) -> Result<Option<&'b str>, AdhocError> {
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
