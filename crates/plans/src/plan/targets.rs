//! Reads `[targets.NAME]`: where a target is, its process, and when it is ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::connecting;
use super::default_headers::{self, DefaultHeader};
use super::folder::PlanFolder;
use super::http_defaults::{self, HttpDefaults, UrlUser, split_user};
use super::observation;
use super::section::{Item, Section, Span};
use super::value_use::ValueUse;
use crate::descriptions;
use workload::address::Origin;
use workload::connection::TlsFiles;
use workload::message::Schemas;
use workload::model::{GrpcOrigin, HttpOrigin, ProcessRef, ReadyProbe, Target, WaitReady};
use workload::nearest::nearest;
use workload::redact::shown_address;
use workload::template::{Template, Value, is_name};

/// The default time limit of readiness.
const DEFAULT_WITHIN: Duration = Duration::from_secs(30);
/// The highest TCP port.
const MAX_PORT: u64 = u16::MAX as u64;

/// All targets of the plan, and those that URLs imply.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) named: BTreeMap<String, Target>,
    /// Targets of URLs with a host of their own, named by their authority.
    pub(super) implied: RefCell<BTreeMap<String, Target>>,
    pub(super) schemas: Schemas,
    /// The contents of the files in their `tls` tables.
    pub(super) tls: BTreeMap<String, TlsFiles>,
    /// The options that targets set for all of their HTTP steps.
    pub(super) http: BTreeMap<String, HttpDefaults>,
    /// The headers that targets set for all of their steps.
    pub(super) headers: BTreeMap<String, Vec<DefaultHeader>>,
    /// Where the plan sets the order in which a target's connections are used.
    pub(super) orders: BTreeMap<String, Span>,
    /// Environment variables in the URLs of observers.
    pub(super) uses: Vec<ValueUse>,
    /// gRPC targets without a description, or whose description has an error: their methods are not checked.
    pub(super) undescribed: BTreeSet<String>,
}

impl Targets {
    /// Names of the plan's targets.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// Read the files that describe a gRPC target. A run uses server reflection for a target without such files.
    fn describe(&mut self, name: &str, target: &Target, section: &Section<'_>, folder: PlanFolder<'_>) {
        let imports = section.get("import_paths").map(|item| item.one_or_many()).unwrap_or_default();
        let imports: Vec<_> = imports.iter().filter_map(|i| Some(folder.join(i.text()?))).collect();
        let Some(grpc) = &target.grpc else { return };
        if grpc.proto.is_empty() {
            self.undescribed.insert(name.to_owned());
            return;
        }
        let span =
            section.get("proto").or(section.get("protoset")).map_or(section.span.clone(), |item| item.span());
        let paths: Vec<_> = grpc.proto.iter().map(|path| folder.join(path)).collect();
        if let Err(error) = descriptions::load(&mut self.schemas, name, &paths, &imports, folder.files) {
            section.issues.add(&span, error.to_string());
            self.undescribed.insert(name.to_owned());
        }
    }
}

pub(super) fn read(root: &Section<'_>, folder: PlanFolder<'_>) -> Targets {
    let mut targets = Targets::default();
    for item in root.entries("targets") {
        let name = item.key.clone();
        if !is_name(&name) || name == "env" || name == "all" {
            root.issues
                .add(&item.key_span, format!("`{name}` cannot name a target; use letters, digits, `_`, `-`"));
        }
        if item.is_text() {
            targets.named.insert(name.clone(), without_table(&item));
            continue;
        }
        let found_before = root.issues.count();
        let Some(section) = item.section(&format!("target `{name}`")) else { continue };
        let (mut target, user) = read_target(&section);
        targets.uses.extend(read_ready_uses(&section));
        let (observe, uses) = observation::read(&section);
        target.observe = observe;
        targets.uses.extend(uses);
        targets.http.insert(name.clone(), http_defaults::read(&section, user));
        targets.headers.insert(name.clone(), read_headers(&section));
        let is_observed = target.process.is_some() || !target.observe.is_empty();
        let has_address = section.get("url").is_some() || section.get("grpc").is_some();
        targets.describe(&name, &target, &section, folder);
        let tls = connecting::read_files(&section, &target.connecting.tls, folder);
        targets.tls.insert(name.clone(), tls);
        if let Some(order) = section.get("connection_order") {
            targets.orders.insert(name.clone(), order.key_span);
        }
        section.finish();
        // A misspelt key is the address that is missing.
        if !has_address && !is_observed && root.issues.count() == found_before {
            root.issues.add(&section.span, format!("target `{name}` needs `url` or `grpc`"));
        }
        targets.named.insert(name, target);
    }
    targets
}

/// The target of an address that is written where its table belongs: the steps that name it are right.
fn without_table(item: &Item<'_>) -> Target {
    let (name, text) = (&item.key, item.text().unwrap_or_default());
    let http = HttpOrigin::parse(text).ok();
    let key = if http.is_some() { "url" } else { "grpc" };
    item.wrong(format!("a target is a table: write `{name} = {{ {key} = \"{}\" }}`", shown_address(text)));
    Target { http, ..Target::default() }
}

/// The headers that a target sets for all of its steps.
fn read_headers(section: &Section<'_>) -> Vec<DefaultHeader> {
    let headers = default_headers::read(section);
    let has_authorization = headers.iter().any(|header| header.name == "authorization");
    if let Some(auth) = section.get("auth").filter(|_| has_authorization) {
        section.issues.add(&auth.key_span, "the header `authorization` is in `headers` too; leave one out");
    }
    headers
}

/// A target, and the user in its URL.
fn read_target(section: &Section<'_>) -> (Target, Option<UrlUser>) {
    let mut user = None;
    let http = section.get("url").and_then(|item| {
        let (url, credentials) = section.issues.check(&item.span(), split_user(item.text()?))?;
        user = credentials.map(|credentials| UrlUser { credentials, span: item.span() });
        section.issues.check(&item.span(), HttpOrigin::parse(&url))
    });
    // What a file is follows from its name: the second key is the one that other tools have for descriptor sets.
    let files = ["proto", "protoset"].into_iter().filter_map(|key| section.get(key));
    let files = files.flat_map(|item| item.one_or_many());
    let proto = files.filter_map(|item| item.text().map(str::to_owned)).collect();
    let connecting = connecting::read(section);
    let grpc = section.get("grpc").and_then(|item| {
        let text = item.text()?;
        let Origin { scheme, host, port } = section.issues.check(&item.span(), Origin::parse(text))?;
        Some(GrpcOrigin { scheme, host, port, proto })
    });
    let process = section.get("process").and_then(|item| read_process(&item));
    let wait_ready = section.get("wait_ready").and_then(|item| read_ready(&item, grpc.as_ref()));
    let (cookies, fresh_cookies) = section.get("cookies").map_or((false, false), |item| read_cookies(&item));
    let target =
        Target { http, grpc, process, wait_ready, connecting, cookies, fresh_cookies, ..Target::default() };
    (target, user)
}

/// Whether cookies are kept, and whether each iteration begins without those of the one before.
fn read_cookies(item: &Item<'_>) -> (bool, bool) {
    if !item.is_text() {
        return (item.flag().unwrap_or(false), false);
    }
    match item.text() {
        Some("iteration") => (true, true),
        Some("user") => (true, false),
        Some(other) => {
            item.wrong(format!("`{other}` is not known: `true`, `false`, `\"user\"` or `\"iteration\"`"));
            (false, false)
        }
        None => (false, false),
    }
}

fn read_process(item: &Item<'_>) -> Option<ProcessRef> {
    let section = item.section("`process`")?;
    let port = section.get("port").and_then(|port| port.whole(1..=MAX_PORT));
    let pid = section.get("pid").and_then(|pid| pid.whole(1..=u64::from(u32::MAX)));
    section.finish();
    match (port, pid) {
        (Some(port), None) => Some(ProcessRef::Port(port as u16)),
        (None, Some(pid)) => Some(ProcessRef::Pid(pid as u32)),
        _ => {
            item.wrong("`process` takes one of `port` and `pid`: `{ port = 8000 }`");
            None
        }
    }
}

fn read_ready(item: &Item<'_>, grpc: Option<&GrpcOrigin>) -> Option<WaitReady> {
    let section = item.section("`wait_ready`")?;
    let url = section.get("url").and_then(|url| {
        let text = url.text()?;
        if !text.starts_with("${") {
            section.issues.check(&url.span(), HttpOrigin::parse(text))?;
        }
        Some(ReadyProbe::Url(text.to_owned()))
    });
    let service = section.get("service").and_then(|s| s.text()).unwrap_or_default().to_owned();
    let health = section.get("grpc_health").and_then(|health| {
        let origin = if health.is_text() {
            let text = health.text()?;
            section.issues.check(&health.span(), Origin::parse(text))?
        } else {
            health.flag()?;
            let Some(grpc) = grpc else {
                health
                    .wrong("`grpc_health = true` needs the target's own `grpc`; add `grpc = \"host:port\"`");
                return None;
            };
            grpc.origin()
        };
        Some(ReadyProbe::GrpcHealth { scheme: origin.scheme, authority: origin.authority(), service })
    });
    let within = section.get("within").map_or(Some(DEFAULT_WITHIN), |w| w.duration());
    let both = section.get("url").is_some() == section.get("grpc_health").is_some();
    section.finish();
    if both {
        item.wrong("`wait_ready` takes one of `url` and `grpc_health`");
        return None;
    }
    Some(WaitReady { probe: url.or(health)?, within: within? })
}

/// The environment variables in a readiness URL, after the target that it begins with.
fn read_ready_uses(section: &Section<'_>) -> Vec<ValueUse> {
    let ready = section.get("wait_ready").filter(|item| item.is_table());
    let url = ready.and_then(|item| item.entries().into_iter().find(|entry| entry.key == "url"));
    let Some(template) = url.as_ref().and_then(|item| Template::parse(item.text()?).ok()) else {
        return Vec::new();
    };
    let span = url.map(|item| item.span()).unwrap_or_default();
    let env = template.values().filter(|value| matches!(value, Value::Env(_)));
    let of = |value: &Value| ValueUse { value: value.clone(), span: span.clone(), is_of_default: false };
    env.map(of).collect()
}

/// Replace `${NAME.url}` at the beginning of readiness URLs, when the targets' final URLs are known. Returns the names
/// of targets for which that is not possible, and why.
pub(super) fn resolve_ready(named: &mut BTreeMap<String, Target>) -> Vec<(String, String)> {
    let origins: BTreeMap<String, HttpOrigin> =
        named.iter().filter_map(|(name, target)| Some((name.clone(), target.http.clone()?))).collect();
    let mut wrong = Vec::new();
    for (name, target) in named {
        let Some(ReadyProbe::Url(url)) = target.wait_ready.as_mut().map(|ready| &mut ready.probe) else {
            continue;
        };
        let Some((referenced, rest)) = url.strip_prefix("${").and_then(|rest| rest.split_once(".url}"))
        else {
            if url.starts_with("${") {
                wrong.push((
                    name.clone(),
                    format!("`{url}`: only a target's url is allowed here: `${{{name}.url}}`"),
                ));
            }
            continue;
        };
        match origins.get(referenced) {
            Some(http) => {
                let authority = http.origin().authority();
                *url = format!("{}://{authority}{}{rest}", http.scheme.name(), http.base_path);
            }
            None => {
                wrong.push((name.clone(), format!("`{url}`: there is no target `{referenced}` with a `url`")))
            }
        }
    }
    wrong
}

/// The message for a name that is not a target's.
pub(super) fn unknown_target<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no target `{name}`; did you mean `{near}`?"),
        None => format!("there is no target `{name}`; add `[targets.{name}]`"),
    }
}
