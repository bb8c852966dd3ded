//! Reads `[targets.NAME]`: where a target is, who it is, when it is ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::Files;
use super::connecting::{self, TlsFiles};
use super::http::{self, HttpDefaults};
use super::observation::{self, Uses};
use super::section::{Item, Section, Span};
use crate::connection::Scheme;
use crate::message::Schemas;
use crate::model::{GrpcOrigin, HttpOrigin, ProcessRef, ReadyProbe, Target, WaitReady};
use crate::template::is_name;

/// How many connections the calls to a gRPC target are spread over.
const DEFAULT_CONNECTIONS: u32 = 4;
/// How long readiness may take.
const DEFAULT_WITHIN: Duration = Duration::from_secs(30);
/// The highest TCP port.
const MAX_PORT: u64 = u16::MAX as u64;

/// All targets of the plan, and those that URLs imply.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) named: BTreeMap<String, Target>,
    /// Named by their authority, met in URLs.
    pub(super) implied: RefCell<BTreeMap<String, Target>>,
    pub(super) schemas: Schemas,
    /// What the files of their `tls` tables hold.
    pub(super) tls: BTreeMap<String, TlsFiles>,
    /// What targets say of all HTTP steps that go there.
    pub(super) http: BTreeMap<String, HttpDefaults>,
    /// Values from the environment in the URLs of what is watched.
    pub(super) uses: Uses,
    /// gRPC targets whose description is not known, or could not be read: their methods are not complained
    /// about.
    pub(super) undescribed: BTreeSet<String>,
}

impl Targets {
    /// Names of the plan's targets.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }
}

/// Read all targets. `folder` is where the plan is.
pub(super) fn read(root: &Section<'_>, folder: &Path, files: &dyn Files) -> Targets {
    let mut targets = Targets::default();
    for item in root.entries("targets") {
        let name = item.key.clone();
        if !is_name(&name) || name == "env" || name == "all" {
            root.issues
                .add(&item.key_span, format!("`{name}` cannot name a target; use letters, digits, `_`, `-`"));
        }
        let Some(section) = item.section(&format!("target `{name}`")) else { continue };
        let (mut target, user) = read_target(&section);
        let (observe, uses) = observation::read(&section);
        target.observe = observe;
        targets.uses.extend(uses);
        targets.http.insert(name.clone(), http::read_target(&section, user));
        let is_watched = target.process.is_some() || !target.observe.is_empty();
        if section.get("url").is_none() && section.get("grpc").is_none() && !is_watched {
            root.issues.add(&section.span, format!("target `{name}` needs `url` or `grpc`"));
        }
        describe(&mut targets, (&name, &target), &section, (folder, files));
        let tls = connecting::read_files(&section, &target.connecting.tls, (folder, files));
        targets.tls.insert(name.clone(), tls);
        section.finish();
        targets.named.insert(name, target);
    }
    targets
}

/// Read the files that describe a gRPC target. One without any is asked itself when a run begins.
fn describe(
    targets: &mut Targets,
    target: (&str, &Target),
    section: &Section<'_>,
    place: (&Path, &dyn Files),
) {
    let (name, target) = target;
    let folders = section.get("import_paths").map(|item| item.one_or_many()).unwrap_or_default();
    let folders: Vec<_> = folders.iter().filter_map(|i| Some(place.0.join(i.text()?))).collect();
    let Some(grpc) = &target.grpc else { return };
    if grpc.proto.is_empty() {
        targets.undescribed.insert(name.to_owned());
        return;
    }
    let span = section.get("proto").map_or(section.span.clone(), |item| item.span());
    let paths: Vec<_> = grpc.proto.iter().map(|path| place.0.join(path)).collect();
    if let Err(error) = targets.schemas.load_with(name, (&paths, &folders), place.1) {
        section.issues.add(&span, error.to_string());
        targets.undescribed.insert(name.to_owned());
    }
}

/// A target, and the user that its URL names.
fn read_target(section: &Section<'_>) -> (Target, Option<(String, Span)>) {
    let mut user = None;
    let http = section.get("url").and_then(|item| {
        let (url, named) = http::split_user(item.text()?);
        user = named.map(|named| (named, item.span()));
        section.issues.check(&item.span(), http_origin(&url))
    });
    let proto = match section.get("proto") {
        Some(item) => item.one_or_many().iter().filter_map(|i| i.text().map(str::to_owned)).collect(),
        None => Vec::new(),
    };
    let connecting = connecting::read(section);
    let connections = connecting.connections.unwrap_or(DEFAULT_CONNECTIONS);
    let grpc = section.get("grpc").and_then(|item| {
        let text = item.text()?;
        let (scheme, host, port) = section.issues.check(&item.span(), grpc_authority(text))?;
        Some(GrpcOrigin { scheme, host, port, proto, connections })
    });
    let process = section.get("process").and_then(|item| read_process(&item));
    let wait_ready = section.get("wait_ready").and_then(|item| read_ready(&item, grpc.as_ref()));
    let cookies = section.get("cookies").and_then(|item| item.flag()).unwrap_or(false);
    (Target { http, grpc, process, wait_ready, connecting, cookies, ..Target::default() }, user)
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
            section.issues.check(&url.span(), http_origin(text))?;
        }
        Some(ReadyProbe::Url(text.to_owned()))
    });
    let service = section.get("service").and_then(|s| s.text()).unwrap_or_default().to_owned();
    let health = section.get("grpc_health").and_then(|health| {
        let (scheme, authority) = if health.is_text() {
            let text = health.text()?;
            let (scheme, host, port) = section.issues.check(&health.span(), grpc_authority(text))?;
            (scheme, format!("{}:{port}", bracketed(&host)))
        } else {
            health.flag()?;
            let Some(grpc) = grpc else {
                health.wrong("`grpc_health = true` asks the target's own `grpc`, which it has not");
                return None;
            };
            (grpc.scheme, grpc.authority())
        };
        Some(ReadyProbe::GrpcHealth { scheme, authority, service })
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

/// Put the places of targets into readiness URLs that begin with `${NAME.url}`, once it is known where they
/// are. Yields the targets for which that is not possible, and why.
pub(super) fn resolve_ready(named: &mut BTreeMap<String, Target>) -> Vec<(String, String)> {
    let origins: BTreeMap<String, HttpOrigin> =
        named.iter().filter_map(|(name, target)| Some((name.clone(), target.http.clone()?))).collect();
    let mut wrong = Vec::new();
    for (name, target) in named {
        let Some(ReadyProbe::Url(url)) = target.wait_ready.as_mut().map(|ready| &mut ready.probe) else {
            continue;
        };
        let Some((of, rest)) = url.strip_prefix("${").and_then(|rest| rest.split_once(".url}")) else {
            if url.starts_with("${") {
                wrong.push((
                    name.clone(),
                    format!("`{url}`: only a target's url can be put in here: `${{{name}.url}}`"),
                ));
            }
            continue;
        };
        match origins.get(of) {
            Some(origin) => {
                *url = {
                    let HttpOrigin { scheme, host, port, base_path } = origin;
                    format!("{}://{}:{port}{base_path}{rest}", scheme.name(), bracketed(host))
                }
            }
            None => wrong.push((name.clone(), format!("`{url}`: there is no target `{of}` with a `url`"))),
        }
    }
    wrong
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The scheme a URL begins with, and what follows `://`; none for another scheme or none.
pub fn scheme_of(text: &str) -> Option<(Scheme, &str)> {
    [Scheme::Http, Scheme::Https]
        .into_iter()
        .find_map(|scheme| Some((scheme, text.strip_prefix(scheme.name())?.strip_prefix("://")?)))
}

/// The origin and base path of `http://host:port/path`, or the same with `https`.
pub(crate) fn http_origin(text: &str) -> Result<HttpOrigin, String> {
    let (scheme, rest) =
        scheme_of(text).ok_or_else(|| format!("`{text}` is no URL; write `http://host:port/path`"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority_of(authority, Some(scheme.default_port()))?;
    if path.contains(['?', '#', '$']) || !is_target_text(path) {
        return Err(format!(
            "`{text}`: the path of a target ends before `?` and `#` and has no blanks or `$`"
        ));
    }
    Ok(HttpOrigin { scheme, host, port, base_path: path.trim_end_matches('/').to_owned() })
}

/// Whether a path may be sent as it stands: visible ASCII only.
pub(crate) fn is_target_text(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_graphic())
}

/// Scheme, host and port of a gRPC target: `host:port`, or a URL without a path.
pub(crate) fn grpc_authority(text: &str) -> Result<(Scheme, String, u16), String> {
    let (scheme, rest) = scheme_of(text).unwrap_or((Scheme::Http, text));
    let default_port = (rest.len() < text.len()).then(|| scheme.default_port());
    let (host, port) = authority_of(rest.trim_end_matches('/'), default_port)?;
    Ok((scheme, host, port))
}

/// Host (without brackets) and port of `host:port`.
///
/// # Errors
/// In words, when it is neither a name nor an address, or has no port and none is the default.
pub fn authority_of(text: &str, default_port: Option<u16>) -> Result<(String, u16), String> {
    let form = || format!("`{text}` is no host and port; write `127.0.0.1:8000`");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(form)?;
            (host, port.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match (port, default_port) {
        (Some(port), _) => port.parse::<u16>().ok().filter(|p| *p > 0).ok_or_else(form)?,
        (None, Some(port)) => port,
        (None, None) => return Err(form()),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    if host.is_empty() || !host.chars().all(is_host) || (host.contains(':') && !text.starts_with('[')) {
        return Err(form());
    }
    Ok((host.to_owned(), port))
}
