//! The origins and endpoints of a run: those of the plan, and those that iterations meet while they run; and the names of
//! the checks that iterations make.
//!
//! Loops share it. It only grows, so that an index stays valid, and what has an index is read without a lock. One is
//! taken when a loop first meets a name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use evidence::Name;
use evidence::url_pattern::{TOLD_APART, patterns_of};
use workload::message::Method;
use workload::model::{GrpcOrigin, HttpOrigin, Target, Workload};
use workload::{Reuse, Scheme, TlsFiles};

use super::error::CompileError;
use super::origin::{Origin, OriginKind};
use super::origin_rules::{MetOrigin, OriginRules};
use super::tls::ClientConfig;
use crate::index::{CheckNameIndex, EndpointIndex, OriginIndex, ScenarioIndex};

/// The most endpoints with a name of their own, unless the plan itself has more.
const MAX_NAMES: usize = 256;
/// From so many endpoints on, URLs of one pattern share an endpoint once more than [`TOLD_APART`] have one each.
const NAMES_BEFORE_PATTERNS: usize = MAX_NAMES / 2;
/// The most origins that are met while running.
pub(super) const MAX_ORIGINS: usize = 4_096;
/// The name of the endpoints that all further names of a scenario are counted for.
pub(crate) const OTHERS: &str = "all other names";
/// How many folded names are counted at most.
const MAX_FOLDED: usize = MAX_NAMES * 100;

/// One step of one scenario, or one name that a script gives to requests, for which load is counted.
#[derive(Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) scenario: ScenarioIndex,
    pub(crate) name: Name,
    pub(crate) checks: Vec<Name>,
    /// The method of a gRPC call.
    pub(crate) method: Option<Method>,
}

/// Why requests cannot be sent to a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableOrigin {
    /// It is not a URL of a server; what it should be like.
    #[error("{0}")]
    Malformed(String),
    /// Its TLS cannot be used.
    #[error("{0}")]
    Tls(String),
    /// There are too many, which is a limit of the generator.
    #[error("more than {MAX_ORIGINS} servers (scheme, host and port) in one run; `{0}` is not one of them")]
    TooMany(String),
}

/// The origins and endpoints of a run.
#[derive(Debug)]
pub(crate) struct Directory {
    origins: Table<Origin>,
    endpoints: Table<Endpoint>,
    /// The names of checks of iterations.
    checks: Table<Name>,
    growth: Mutex<Growth>,
    /// How often an origin was not added because there are too many.
    refused_origins: AtomicU64,
    targets: BTreeMap<String, Target>,
    /// The TLS configurations of targets that use TLS, by their names.
    tls: BTreeMap<String, Arc<ClientConfig>>,
    /// That of origins that are not targets, unless there are rules.
    default_tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    /// How origins are connected to that are not targets; none: as by default.
    rules: Option<Arc<dyn OriginRules>>,
}

/// What is known of an origin that is to be added.
struct NewOrigin<'a> {
    name: &'a str,
    target: &'a Target,
    kind: OriginKind,
    /// Its own TLS configuration, if it has one.
    tls: Option<Arc<ClientConfig>>,
}

/// What an origin is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OriginName<'a> {
    /// Its URL, without a path.
    pub(crate) url: &'a str,
    pub(crate) kind: OriginKind,
    /// Its own authorities and certificates.
    pub(crate) tls: Option<&'a TlsFiles>,
}

/// What changes while the directory grows.
#[derive(Debug)]
struct Growth {
    origins: usize,
    endpoints: usize,
    checks: usize,
    /// Hashes of folded names: only how many there are is needed.
    folded: HashSet<u64>,
    /// How many URLs of each pattern, by its hash, have an endpoint of their own.
    patterns: HashMap<u64, usize>,
}

impl Directory {
    pub(super) fn new(
        origins: Vec<Origin>,
        endpoints: Vec<Endpoint>,
        workload: &Workload,
        tls: BTreeMap<String, Arc<ClientConfig>>,
    ) -> Directory {
        let growth = Growth {
            origins: origins.len(),
            endpoints: endpoints.len(),
            checks: 0,
            folded: HashSet::new(),
            patterns: HashMap::new(),
        };
        let most_origins = origins.len() + workload.targets.len() + MAX_ORIGINS;
        // Beside the scenarios' own there are the steps of the run's setup.
        let most_endpoints = endpoints.len().max(MAX_NAMES) + workload.scenarios.len() + 1;
        Directory {
            origins: Table::filled(origins, most_origins),
            endpoints: Table::filled(endpoints, most_endpoints),
            checks: Table::filled(Vec::new(), MAX_NAMES + 1),
            growth: Mutex::new(growth),
            refused_origins: AtomicU64::new(0),
            targets: workload.targets.clone(),
            tls,
            default_tls: OnceLock::new(),
            rules: None,
        }
    }

    pub(super) fn set_rules(&mut self, rules: Arc<dyn OriginRules>) {
        self.rules = Some(rules);
    }

    /// The TLS configuration of a target; none where it does not use TLS.
    pub(super) fn tls(&self, target: &str) -> Option<&Arc<ClientConfig>> {
        self.tls.get(target)
    }

    /// The origin of the plan's target that has this URL; none if no target has it.
    pub(crate) fn target_at(
        &self,
        url: &HttpOrigin,
        kind: OriginKind,
    ) -> Option<Result<OriginIndex, UnusableOrigin>> {
        let mut names = self.targets.iter().filter(|(_, target)| is_at(target, url, kind));
        let (name, target) = names.next()?;
        let known = |name: &String| self.known_origin(name, kind);
        let other = names.find_map(|(name, _)| known(name));
        let add = || {
            let tls = self.tls.get(name).cloned();
            self.add_origin(self.new_origin(NewOrigin { name, target, kind, tls })?)
        };
        Some(known(name).or(other).map_or_else(add, Ok))
    }

    /// The origin of any URL, which is added if it is new.
    fn meet_origin(&self, url: &HttpOrigin, named: OriginName<'_>) -> Result<OriginIndex, UnusableOrigin> {
        let kind = named.kind;
        if let (None, Some(target)) = (named.tls, self.target_at(url, kind)) {
            return target;
        }
        let mut name = format!("{}://{}:{}", url.scheme.name(), url.host, url.port);
        if let Some(files) = named.tls {
            name += &format!(" (TLS {:016x})", fingerprint(files));
        }
        if let Some(known) = self.known_origin(&name, kind) {
            return Ok(known);
        }
        let mut target = match kind {
            OriginKind::Http | OriginKind::WebSocket => {
                Target { http: Some(url.clone()), ..Target::default() }
            }
            OriginKind::Grpc => Target { grpc: Some(grpc_origin(url)), ..Target::default() },
        };
        let Some(rules) = &self.rules else {
            let own = named.tls.map(|files| MetOrigin::default().tls(files));
            let tls = own.transpose().map_err(UnusableOrigin::Tls)?;
            let new = NewOrigin { name: &name, target: &target, kind, tls };
            return self.add_origin(self.new_origin(new)?);
        };
        let (met, refusal) = match rules.connecting(&url.host, url.port) {
            Ok(met) => (met, None),
            Err(why) => (MetOrigin::default(), Some(why)),
        };
        let files = named.tls.cloned().unwrap_or_default();
        let tls = (url.scheme == Scheme::Https)
            .then(|| met.tls(&files).map_err(UnusableOrigin::Tls))
            .transpose()?;
        target.connecting = met.connecting;
        if kind == OriginKind::Grpc {
            // The client that calls opens and closes it.
            target.connecting.reuse = Some(Reuse::User);
        }
        let mut origin = self.new_origin(NewOrigin { name: &name, target: &target, kind, tls })?;
        origin.max_idle = met.max_idle.unwrap_or(usize::MAX);
        self.add_origin(match refusal {
            Some(why) => origin.refused(why),
            None => origin.with_rules(rules.clone()),
        })
    }

    fn known_origin(&self, target: &str, kind: OriginKind) -> Option<OriginIndex> {
        let is_same = |origin: &Origin| origin.kind == kind && origin.target == target;
        self.origins.iter().position(is_same).map(OriginIndex)
    }

    fn new_origin(&self, new: NewOrigin<'_>) -> Result<Origin, UnusableOrigin> {
        let NewOrigin { name, target, kind, tls } = new;
        let scheme = match kind {
            OriginKind::Http | OriginKind::WebSocket => target.http.as_ref().map(|http| http.scheme),
            OriginKind::Grpc => target.grpc.as_ref().map(|grpc| grpc.scheme),
        };
        let tls = match tls {
            None if scheme == Some(Scheme::Https) => Some(self.default_tls()?.clone()),
            own => own,
        };
        let origin = Origin::new(name, target, kind, tls.as_ref());
        let origin = origin.map_err(|error: CompileError| UnusableOrigin::Tls(error.to_string()))?;
        origin.ok_or_else(|| UnusableOrigin::Malformed(format!("`{name}` has no URL")))
    }

    fn add_origin(&self, origin: Origin) -> Result<OriginIndex, UnusableOrigin> {
        let mut growth = self.growth();
        // Another loop may have been first.
        if let Some(known) = self.known_origin(&origin.target, origin.kind) {
            return Ok(known);
        }
        if !self.origins.has_space_at(growth.origins) {
            self.refused_origins.fetch_add(1, Ordering::Relaxed);
            return Err(UnusableOrigin::TooMany(origin.target));
        }
        self.origins.set(growth.origins, origin);
        growth.origins += 1;
        Ok(OriginIndex(growth.origins - 1))
    }

    fn default_tls(&self) -> Result<&Arc<ClientConfig>, UnusableOrigin> {
        let make = || MetOrigin::default().tls(&TlsFiles::default());
        self.default_tls.get_or_init(make).as_ref().map_err(|why| UnusableOrigin::Tls(why.clone()))
    }

    fn growth(&self) -> MutexGuard<'_, Growth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn origin(&self, index: OriginIndex) -> &Origin {
        self.origins.get(index.0)
    }

    /// How many requests were not sent because there are too many origins.
    pub(super) fn refused_origins(&self) -> u64 {
        self.refused_origins.load(Ordering::Relaxed)
    }

    pub(super) fn add_refused_origins(&self, count: u64) {
        self.refused_origins.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn endpoint(&self, index: EndpointIndex) -> &Endpoint {
        self.endpoints.get(index.0)
    }

    pub(crate) fn origins(&self) -> impl Iterator<Item = (OriginIndex, &Origin)> {
        self.origins.iter().enumerate().map(|(index, origin)| (OriginIndex(index), origin))
    }

    /// The endpoint of this name in a scenario, if it is there. Takes no lock.
    fn known_endpoint(&self, scenario: ScenarioIndex, name: &str) -> Option<EndpointIndex> {
        let is_same = |e: &Endpoint| e.scenario == scenario && *e.name == *name;
        self.endpoints.iter().position(is_same).map(EndpointIndex)
    }

    /// The endpoint of this name in a scenario, which is added if it is new. Where there are too many, it is one that
    /// all further names of the scenario share.
    fn meet_endpoint(&self, scenario: ScenarioIndex, name: &str) -> EndpointIndex {
        // Of one name only the first endpoint is found: steps that differ in their checks may share it.
        let known = |name: &str| self.known_endpoint(scenario, name);
        let add = |growth: &mut Growth, name: &str| {
            let endpoint = Endpoint { scenario, name: name.into(), checks: Vec::new(), method: None };
            self.endpoints.set(growth.endpoints, endpoint);
            growth.endpoints += 1;
            EndpointIndex(growth.endpoints - 1)
        };
        let mut growth = self.growth();
        if let Some(known) = known(name) {
            return known;
        }
        if growth.endpoints < MAX_NAMES {
            return add(&mut growth, name);
        }
        if growth.folded.len() < MAX_FOLDED {
            growth.folded.insert(fingerprint((scenario.0, name)));
        }
        known(OTHERS).unwrap_or_else(|| add(&mut growth, OTHERS))
    }

    /// The endpoint of requests to a URL that have no other name: its own, or its pattern's where URLs of it have taken
    /// many endpoints.
    fn meet_url(&self, scenario: ScenarioIndex, url: &str) -> EndpointIndex {
        if let Some(known) = self.known_endpoint(scenario, url) {
            return known;
        }
        let patterns = patterns_of(url);
        if let Some(known) = self.of_pattern(scenario, &patterns) {
            return known;
        }
        let name = self.growth().name_of(scenario, url, &patterns);
        self.meet_endpoint(scenario, name)
    }

    /// The endpoint that is named after one of these patterns, if there is one. Takes no lock.
    fn of_pattern(&self, scenario: ScenarioIndex, patterns: &[String]) -> Option<EndpointIndex> {
        patterns.iter().find_map(|pattern| self.known_endpoint(scenario, pattern))
    }

    /// The name of a check of iterations.
    pub(crate) fn check(&self, index: CheckNameIndex) -> &Name {
        self.checks.get(index.0)
    }

    /// The check of this name, if it is there. Takes no lock.
    fn known_check(&self, name: &str) -> Option<CheckNameIndex> {
        self.checks.iter().position(|known| **known == *name).map(CheckNameIndex)
    }

    /// The check of this name, which is added if it is new. Where there are too many, it is one that all further names share.
    fn meet_check(&self, name: &str) -> CheckNameIndex {
        let mut growth = self.growth();
        if let Some(known) = self.known_check(name) {
            return known;
        }
        let name = if growth.checks < MAX_NAMES { name } else { OTHERS };
        self.known_check(name).unwrap_or_else(|| {
            self.checks.set(growth.checks, name.into());
            growth.checks += 1;
            CheckNameIndex(growth.checks - 1)
        })
    }

    /// The endpoint that requests of this name, or to this URL, in a scenario are counted for.
    pub(crate) fn endpoint_for(&self, scenario: ScenarioIndex, name: &str) -> EndpointIndex {
        self.meet_url(scenario, name)
    }

    /// The check that results of checks of this name are counted for.
    pub(crate) fn check_for(&self, name: &str) -> CheckNameIndex {
        self.known_check(name).unwrap_or_else(|| self.meet_check(name))
    }

    /// How many names were folded because there are too many.
    pub(crate) fn folded_endpoints(&self) -> u64 {
        self.growth().folded.len() as u64
    }

    /// Fingerprints of the names that were folded, in order: the same in every process of a run.
    pub(crate) fn folded(&self) -> Vec<u64> {
        let mut folded: Vec<u64> = self.growth().folded.iter().copied().collect();
        folded.sort_unstable();
        folded
    }

    /// Other processes of the run have folded these.
    pub(crate) fn add_folded(&self, fingerprints: &[u64]) {
        let folded = &mut self.growth().folded;
        let space = MAX_FOLDED.saturating_sub(folded.len());
        folded.extend(fingerprints.iter().take(space));
    }
}

impl Growth {
    /// What a URL without an endpoint is to be called: itself, or the most frequent of its patterns.
    fn name_of<'a>(&mut self, scenario: ScenarioIndex, url: &'a str, patterns: &'a [String]) -> &'a str {
        let of = |pattern: &String| fingerprint((scenario.0, pattern));
        if self.endpoints >= NAMES_BEFORE_PATTERNS {
            let urls = |pattern: &&String| self.patterns.get(&of(pattern)).copied().unwrap_or(0);
            let most = patterns.iter().max_by_key(urls);
            if let Some(pattern) = most.filter(|pattern| urls(pattern) > TOLD_APART) {
                return pattern;
            }
        }
        if self.endpoints < MAX_NAMES {
            patterns.iter().for_each(|pattern| *self.patterns.entry(of(pattern)).or_default() += 1);
        }
        url
    }
}

fn fingerprint(name: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// Whether requests of this kind to a target are sent to the server of `url`.
fn is_at(target: &Target, url: &HttpOrigin, kind: OriginKind) -> bool {
    let own = match kind {
        OriginKind::Http | OriginKind::WebSocket => {
            target.http.as_ref().map(|own| (own.scheme, &own.host, own.port))
        }
        OriginKind::Grpc => target.grpc.as_ref().map(|own| (own.scheme, &own.host, own.port)),
    };
    own.is_some_and(|(scheme, host, port)| {
        (scheme, port) == (url.scheme, url.port) && host.eq_ignore_ascii_case(&url.host)
    })
}

fn grpc_origin(url: &HttpOrigin) -> GrpcOrigin {
    let HttpOrigin { scheme, host, port, .. } = url.clone();
    GrpcOrigin { scheme, host, port, proto: Vec::new() }
}

/// The names that one loop has met, by their hashes, so that it takes no lock for them again.
#[derive(Debug, Default)]
pub(crate) struct MetNames {
    endpoints: HashMap<u64, EndpointIndex>,
    origins: HashMap<u64, OriginIndex>,
    checks: HashMap<u64, CheckNameIndex>,
}

impl MetNames {
    /// The endpoint of this name in a scenario, which is added to the directory if it is new.
    pub(crate) fn endpoint(
        &mut self,
        directory: &Directory,
        scenario: ScenarioIndex,
        name: &str,
    ) -> EndpointIndex {
        let fingerprint = fingerprint((scenario.0, name));
        if let Some(known) = self.endpoints.get(&fingerprint) {
            return *known;
        }
        if self.endpoints.len() < MAX_NAMES + MAX_FOLDED {
            let met = directory.meet_endpoint(scenario, name);
            self.endpoints.insert(fingerprint, met);
            return met;
        }
        // So many were met that no further one is given an endpoint or counted.
        let known = |name: &str| directory.known_endpoint(scenario, name);
        known(name).or_else(|| known(OTHERS)).unwrap_or_else(|| directory.meet_endpoint(scenario, name))
    }

    /// The endpoint of a URL in a scenario; see [`Directory::meet_url`].
    pub(crate) fn url(&mut self, directory: &Directory, scenario: ScenarioIndex, url: &str) -> EndpointIndex {
        // A name that a script gives may be the same text.
        let fingerprint = fingerprint((scenario.0, url, "URL"));
        if let Some(known) = self.endpoints.get(&fingerprint) {
            return *known;
        }
        if self.endpoints.len() < MAX_NAMES + MAX_FOLDED {
            let met = directory.meet_url(scenario, url);
            self.endpoints.insert(fingerprint, met);
            return met;
        }
        let of_pattern = || directory.of_pattern(scenario, &patterns_of(url));
        directory
            .known_endpoint(scenario, url)
            .or_else(of_pattern)
            .unwrap_or_else(|| self.endpoint(directory, scenario, url))
    }

    /// The check of this name, which is added to the directory if it is new.
    pub(crate) fn check(&mut self, directory: &Directory, name: &str) -> CheckNameIndex {
        let fingerprint = fingerprint(name);
        if let Some(known) = self.checks.get(&fingerprint) {
            return *known;
        }
        if self.checks.len() < MAX_NAMES + MAX_FOLDED {
            let met = directory.meet_check(name);
            self.checks.insert(fingerprint, met);
            return met;
        }
        let known = |name: &str| directory.known_check(name);
        known(name).or_else(|| known(OTHERS)).unwrap_or_else(|| directory.meet_check(name))
    }

    /// The origin of a URL without a path, which is added to the directory if it is new.
    pub(crate) fn origin(
        &mut self,
        directory: &Directory,
        named: OriginName<'_>,
    ) -> Result<OriginIndex, UnusableOrigin> {
        let fingerprint = fingerprint(named);
        if let Some(known) = self.origins.get(&fingerprint) {
            return Ok(*known);
        }
        let parsed = HttpOrigin::parse(named.url).map_err(UnusableOrigin::Malformed)?;
        let met = directory.meet_origin(&parsed, named)?;
        // One origin can be written in several ways.
        if self.origins.len() < 4 * MAX_ORIGINS {
            self.origins.insert(fingerprint, met);
        }
        Ok(met)
    }
}

/// A list that only grows, up to a fixed length, and that is read without a lock.
#[derive(Debug)]
struct Table<T> {
    cells: Box<[OnceLock<T>]>,
}

impl<T> Table<T> {
    /// These items, with space for others up to `capacity`.
    fn filled(items: Vec<T>, capacity: usize) -> Table<T> {
        let empty = capacity.saturating_sub(items.len());
        let filled = items.into_iter().map(OnceLock::from);
        Table { cells: filled.chain(std::iter::repeat_with(OnceLock::new).take(empty)).collect() }
    }

    fn get(&self, index: usize) -> &T {
        self.cells[index].get().expect("an index is given out when its cell is filled")
    }

    fn set(&self, index: usize, item: T) {
        let is_new = self.cells[index].set(item).is_ok();
        debug_assert!(is_new, "a cell is filled once");
    }

    fn has_space_at(&self, index: usize) -> bool {
        index < self.cells.len()
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.cells.iter().map_while(OnceLock::get)
    }
}

#[cfg(test)]
mod tests;
