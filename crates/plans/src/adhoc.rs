//! Ad-hoc runs: workloads from the options of `plimsoll http` and `plimsoll grpc`, without a plan file.
//!
//! An ad-hoc run has one scenario and no objectives. Its workload is a [`LoadedPlan`] like that of a plan file, so that
//! all later stages are the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use texts::TemplateReader;
use workload::LoadedPlan;
use workload::address::Origin;
use workload::connection::{Connecting, TlsFiles};
use workload::files::Files;
use workload::message::Schemas;
use workload::model::{Flow, GrpcOrigin, HttpOrigin, Request, Scenario, Step, Target, Workload};
use workload::proxy;

pub use grpc::{AdhocGrpc, AdhocStream, grpc};
pub use http::{AdhocHttp, AdhocRequests, Body, RequestList, UrlRequest};
pub use pace::{DEFAULT_REQUESTS, DEFAULT_USERS, MAX_DURATION, Pace};

mod grpc;
mod http;
mod list;
mod names;
mod pace;
#[cfg(test)]
mod tests;
mod texts;

/// The name of the target of an ad-hoc run.
pub const TARGET: &str = "target";

/// What is wrong with the options of an ad-hoc run, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AdhocError(pub String);

/// The files and environment variables that the options refer to.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Reads files.
    pub files: &'a dyn Files,
    /// Looks up environment variables.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// The plan of an ad-hoc run over HTTP. Unless the load is given, each request of a list is sent once.
///
/// # Errors
/// [`AdhocError`] if the options are invalid, or for the first error in the list, with its line.
pub fn http(adhoc: &AdhocHttp, sources: Sources<'_>) -> Result<LoadedPlan, AdhocError> {
    match &adhoc.requests {
        AdhocRequests::One(request) => http::one(adhoc, request, sources),
        AdhocRequests::Listed(list) => list::listed(adhoc, list, sources),
    }
}

/// The name of an ad-hoc run: the host and the port; none of a URL that is not valid.
pub fn http_name(url: &str) -> Option<String> {
    let (HttpOrigin { host, port, .. }, _) = http::split_url(url).ok()?;
    Some(format!("{host}:{port}"))
}

/// That of an ad-hoc run of gRPC; none of an address that is not valid.
pub fn grpc_name(address: &str) -> Option<String> {
    let Origin { host, port, .. } = grpc::origin(address).ok()?;
    Some(format!("{host}:{port}"))
}

/// The targets of a run with one target.
fn single_target(target: Target) -> BTreeMap<String, Target> {
    BTreeMap::from([(TARGET.to_owned(), target)])
}

/// The parts of an ad-hoc workload that are the same for both protocols.
struct AdhocParts {
    name: String,
    seed: u64,
    targets: BTreeMap<String, Target>,
    flow: Flow,
    shape: pace::Shape,
    /// The time limit of a request.
    timeout: Duration,
}

impl AdhocParts {
    fn plan(mut self, texts: TemplateReader<'_>) -> Result<LoadedPlan, AdhocError> {
        self.targets.values_mut().try_for_each(|target| choose_proxy(target, texts.sources.env))?;
        let read = |target: &Target| read_tls(&target.connecting, texts.sources.files);
        let tls = self.targets.iter().map(|(name, target)| Ok((name.clone(), read(target)?)));
        let tls = tls.collect::<Result<_, AdhocError>>()?;
        let scenario = Scenario {
            name: "load".to_owned(),
            max_vus: self.shape.max_vus(self.timeout),
            executor: self.shape.executor,
            arrivals: self.shape.arrivals,
            preallocated_vus: 0,
            start: Duration::ZERO,
            // A request that is due just before the end has its whole time limit.
            graceful_stop: self.timeout,
            tags: BTreeMap::new(),
            setup: Vec::new(),
            flow: self.flow,
        };
        let workload = Workload {
            precheck: may_be_sent_once_more(&scenario.flow),
            seed: self.seed,
            targets: self.targets,
            phases: self.shape.phases,
            scenarios: vec![scenario],
            ..Workload::named(self.name)
        };
        let (tables, schemas) = (BTreeMap::new(), Schemas::default());
        Ok(LoadedPlan { workload, tables, schemas, tls, env: texts.used })
    }
}

/// Whether one more request changes nothing at the target: one by a method that is safe (RFC 9110, section 9.2.1). Of a list
/// and of calls that is not known.
fn may_be_sent_once_more(flow: &Flow) -> bool {
    let is_safe = |step: &Step| match &step.request {
        Request::Http { method, .. } => matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS"),
        Request::Grpc { .. } => false,
    };
    matches!(flow, Flow::Sequence(steps) if steps.iter().all(is_safe))
}

/// Use the environment's proxy, unless the options say how to connect.
fn choose_proxy(target: &mut Target, env: &dyn Fn(&str) -> Option<String>) -> Result<(), AdhocError> {
    let Connecting { proxy, unix, connect_to, .. } = &target.connecting;
    if proxy.is_some() || unix.is_some() || connect_to.is_some() {
        return Ok(());
    }
    let http = target.http.as_ref().map(HttpOrigin::origin);
    let grpc = target.grpc.as_ref().map(GrpcOrigin::origin);
    if let Some(origin) = http.or(grpc) {
        target.connecting.proxy = proxy::from_environment(&origin, env).map_err(AdhocError)?;
    }
    Ok(())
}

/// Read the files of trusted authorities and of the client's certificate.
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
