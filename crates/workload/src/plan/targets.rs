//! Reads `[targets.NAME]`: where a target is, who it is, when it is ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::Files;
use super::section::{Item, Section};
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
    /// gRPC targets whose description could not be read: their methods are not complained about.
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
        let target = read_target(&section);
        if section.get("url").is_none() && section.get("grpc").is_none() {
            root.issues.add(&section.span, format!("target `{name}` needs `url` or `grpc`"));
        }
        describe(&mut targets, (&name, &target), &section, (folder, files));
        section.finish();
        targets.named.insert(name, target);
    }
    targets
}

/// Read the `.proto` files of a gRPC target.
fn describe(
    targets: &mut Targets,
    target: (&str, &Target),
    section: &Section<'_>,
    place: (&Path, &dyn Files),
) {
    let (name, target) = target;
    let Some(grpc) = &target.grpc else { return };
    let span = section.get("proto").map_or(section.span.clone(), |item| item.span());
    if grpc.proto.is_empty() {
        section
            .issues
            .add(&span, format!("target `{name}` needs `proto`: the `.proto` files that describe it"));
        targets.undescribed.insert(name.to_owned());
        return;
    }
    let paths: Vec<_> = grpc.proto.iter().map(|path| place.0.join(path)).collect();
    if let Err(error) = targets.schemas.load(name, &paths, place.1) {
        section.issues.add(&span, error.to_string());
        targets.undescribed.insert(name.to_owned());
    }
}

fn read_target(section: &Section<'_>) -> Target {
    let http = section.get("url").and_then(|item| {
        let text = item.text()?;
        section.issues.check(&item.span(), http_origin(text))
    });
    let proto = match section.get("proto") {
        Some(item) => item.one_or_many().iter().filter_map(|i| i.text().map(str::to_owned)).collect(),
        None => Vec::new(),
    };
    let connections = section.get("connections").and_then(|item| item.whole(1..=10_000));
    let connections = connections.map_or(DEFAULT_CONNECTIONS, |n| n as u32);
    let grpc = section.get("grpc").and_then(|item| {
        let text = item.text()?;
        let (host, port) = section.issues.check(&item.span(), grpc_authority(text))?;
        Some(GrpcOrigin { host, port, proto, connections })
    });
    let process = section.get("process").and_then(|item| read_process(&item));
    let wait_ready = section.get("wait_ready").and_then(|item| read_ready(&item, grpc.as_ref()));
    Target { http, grpc, process, wait_ready }
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
        let authority = if health.is_text() {
            let text = health.text()?;
            section.issues.check(&health.span(), grpc_authority(text))?;
            text.to_owned()
        } else {
            health.flag()?;
            let Some(grpc) = grpc else {
                health.wrong("`grpc_health = true` asks the target's own `grpc`, which it has not");
                return None;
            };
            authority(grpc)
        };
        Some(ReadyProbe::GrpcHealth { authority, service })
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

/// `HOST:PORT` as it is written.
pub(super) fn authority(grpc: &GrpcOrigin) -> String {
    format!("{}:{}", bracketed(&grpc.host), grpc.port)
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
                *url = format!("http://{}:{}{}{rest}", bracketed(&origin.host), origin.port, origin.base_path)
            }
            None => wrong.push((name.clone(), format!("`{url}`: there is no target `{of}` with a `url`"))),
        }
    }
    wrong
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The origin and base path of `http://host:port/path`.
pub(super) fn http_origin(text: &str) -> Result<HttpOrigin, String> {
    if text.starts_with("https://") {
        return Err(format!("`{text}`: TLS is not supported yet; use `http://`"));
    }
    let rest = text
        .strip_prefix("http://")
        .ok_or_else(|| format!("`{text}` is no URL; write `http://host:port/path`"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority_of(authority, Some(80))?;
    if path.contains(['?', '#', '$']) || !is_target_text(path) {
        return Err(format!(
            "`{text}`: the path of a target ends before `?` and `#` and has no blanks or `$`"
        ));
    }
    Ok(HttpOrigin { host, port, base_path: path.trim_end_matches('/').to_owned() })
}

/// Whether a path may be sent as it stands: visible ASCII only.
pub(super) fn is_target_text(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_graphic())
}

/// Host and port of a gRPC target.
pub(super) fn grpc_authority(text: &str) -> Result<(String, u16), String> {
    let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    if text.starts_with("https://") {
        return Err(format!("`{text}`: TLS is not supported yet; write `host:port`"));
    }
    authority_of(text, None)
}

/// Host (without brackets) and port of `host:port`.
pub(super) fn authority_of(text: &str, default_port: Option<u16>) -> Result<(String, u16), String> {
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
