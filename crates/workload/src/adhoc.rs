//! Workloads that need no file: what the options of `plimsoll http` and `plimsoll grpc` ask for.
//!
//! A line has one target, one scenario and no objectives. What it makes is a [`LoadedPlan`] like any other,
//! so that everything after it is the same as for a plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::connection::Connecting;
use crate::message::Schemas;
use crate::model::{DataSource, Flow, Scenario, Target, Workload};
use crate::plan::{Files, LoadedPlan, TlsFiles};
use crate::proxy;
use crate::template::{Part, Template, Value};

pub use grpc::{GrpcAdhoc, StreamLine, grpc};
pub use http::{Body, HttpAdhoc, basic_auth, http};
pub use list::{ListAdhoc, list};
pub use pace::{DEFAULT_REQUESTS, DEFAULT_USERS, MAX_DURATION, Pace};

mod grpc;
mod http;
mod list;
mod pace;
#[cfg(test)]
mod tests;

/// The name of a line's one target.
const TARGET: &str = "target";
/// The longest name of an endpoint, in characters.
const MAX_NAME_CHARS: usize = 120;

/// What is wrong with a line, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AdhocError(pub String);

/// Where a line gets what it does not say itself.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Reads files.
    pub files: &'a dyn Files,
    /// Yields environment variables.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// Reads the texts of a line as templates and remembers which environment variables they use.
struct Texts<'a> {
    sources: Sources<'a>,
    used: BTreeMap<String, String>,
}

impl<'a> Texts<'a> {
    fn new(sources: Sources<'a>) -> Texts<'a> {
        Texts { sources, used: BTreeMap::new() }
    }

    /// The template that `text` is; `option` is where the user wrote it.
    fn template(&mut self, option: &str, text: &str) -> Result<Template, AdhocError> {
        let template =
            Template::parse(text).map_err(|error| AdhocError(format!("{option}: `{text}`: {error}")))?;
        self.note(option, &template)?;
        Ok(template)
    }

    /// Remember what `template` uses; a line has no data and extracts nothing.
    fn note(&mut self, option: &str, template: &Template) -> Result<(), AdhocError> {
        for value in template.values() {
            match value {
                Value::Data { .. } | Value::Variable(_) => {
                    return Err(AdhocError(format!(
                        "{option}: `${{{value}}}` stands for nothing here; write `$${{` where `${{` is meant, \
                         or use a plan for data and extracted values"
                    )));
                }
                Value::Env(name) => {
                    let value = (self.sources.env)(name).ok_or_else(|| {
                        AdhocError(format!("{option}: the environment variable `{name}` is not set; set it"))
                    })?;
                    self.used.insert(name.clone(), value);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A header: its name in lower case, and its value.
    fn header(&mut self, (name, value): &(String, String)) -> Result<(String, Template), AdhocError> {
        let name = header_name(name)?;
        let template = self.template("--header", value)?;
        let is_steering = |part: &Part| matches!(part, Part::Literal(text) if text.chars().any(|c| c.is_control() && c != '\t'));
        if template.parts().iter().any(is_steering) {
            return Err(AdhocError(format!(
                "the header `{name}` has a line break or another control character"
            )));
        }
        Ok((name, template))
    }
}

/// The name of a header that users may set, in lower case.
fn header_name(name: &str) -> Result<String, AdhocError> {
    let lower = name.trim().to_ascii_lowercase();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if lower.is_empty() || !lower.bytes().all(is_token) {
        return Err(AdhocError(format!("`{name}` is no header name; write `-H 'name: value'`")));
    }
    match lower.as_str() {
        "host" => Err(AdhocError(
            "the header `host` follows the URL; put the name into the URL, and say with `--connect-to` where to \
             connect"
                .to_owned(),
        )),
        "connection" | "content-length" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {
            Err(AdhocError(format!("the header `{lower}` is written by the connection; leave it out")))
        }
        _ => Ok(lower),
    }
}

/// What has no quotes and no control characters, and is not too long for a table: the name of an endpoint.
fn endpoint_name(text: &str) -> String {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut name: String = text.chars().take(MAX_NAME_CHARS).map(plain).collect();
    if text.chars().nth(MAX_NAME_CHARS).is_some() {
        name.push('…');
    }
    name
}

/// A line's one target.
fn one(target: Target) -> BTreeMap<String, Target> {
    BTreeMap::from([(TARGET.to_owned(), target)])
}

/// The parts of a line's workload that both protocols have.
struct Common {
    name: String,
    seed: u64,
    targets: BTreeMap<String, Target>,
    flow: Flow,
    shape: pace::Shape,
    /// The longest that a request may take.
    timeout: Duration,
}

impl Common {
    fn plan(mut self, texts: Texts<'_>) -> Result<LoadedPlan, AdhocError> {
        self.targets.values_mut().try_for_each(|target| choose_proxy(target, texts.sources.env))?;
        let read = |target: &Target| read_tls(&target.connecting, texts.sources.files);
        let tls = self.targets.iter().map(|(name, target)| Ok((name.clone(), read(target)?)));
        let tls = tls.collect::<Result<_, AdhocError>>()?;
        let scenario = Scenario {
            name: "load".to_owned(),
            max_vus: self.shape.cap(self.timeout),
            executor: self.shape.executor,
            arrivals: self.shape.arrivals,
            preallocated_vus: 0,
            start: Duration::ZERO,
            // What was due before the end has its whole time limit.
            graceful_stop: self.timeout,
            tags: BTreeMap::new(),
            setup: Vec::new(),
            flow: self.flow,
        };
        let workload = Workload {
            profiles: Vec::new(),
            name: self.name,
            seed: self.seed,
            targets: self.targets,
            data: BTreeMap::<String, DataSource>::new(),
            phases: self.shape.phases,
            scenarios: vec![scenario],
            setup: Vec::new(),
            objectives: Vec::new(),
            precheck: false,
            traceparent: false,
            secrets: Vec::new(),
        };
        let (tables, schemas) = (BTreeMap::new(), Schemas::default());
        Ok(LoadedPlan { workload, tables, schemas, tls, env: texts.used })
    }
}

/// Unless the line says how to get there, the environment may name a proxy.
fn choose_proxy(target: &mut Target, env: &dyn Fn(&str) -> Option<String>) -> Result<(), AdhocError> {
    let Connecting { proxy, unix, connect_to, .. } = &target.connecting;
    if proxy.is_some() || unix.is_some() || connect_to.is_some() {
        return Ok(());
    }
    let http = target.http.as_ref().map(|origin| (origin.scheme, origin.host.as_str(), origin.port));
    let grpc = target.grpc.as_ref().map(|origin| (origin.scheme, origin.host.as_str(), origin.port));
    if let Some(place) = http.or(grpc) {
        target.connecting.proxy = proxy::from_environment(place, env).map_err(AdhocError)?;
    }
    Ok(())
}

/// Read the files that name whom to trust and who we are.
fn read_tls(connecting: &Connecting, files: &dyn Files) -> Result<TlsFiles, AdhocError> {
    let read = |path: &Option<String>| {
        let read = path.as_ref().map(|path| {
            let wrong = |error| AdhocError(format!("{path} cannot be read: {error}; check the path"));
            files.read(Path::new(path)).map_err(wrong)
        });
        read.transpose()
    };
    let tls = &connecting.tls;
    Ok(TlsFiles { ca: read(&tls.ca)?, cert: read(&tls.cert)?, key: read(&tls.key)? })
}
