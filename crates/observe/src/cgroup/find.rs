//! Finds a control group by its path, or by the container that runs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a control group is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CgroupRef {
    /// By its folder: absolute, or below the root of the hierarchy of version 2.
    Path(String),
    /// By the name or id of the container in it.
    Container(String),
}

/// Where the hierarchy of version 2 is mounted: alone, or beside that of version 1.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Folders that are searched for a container's.
const MOST_FOLDERS: usize = 20_000;
/// The fewest digits of an id that identify a container.
const SHORTEST_ID: usize = 12;
/// Programs that know the ids of containers by name.
pub(crate) const CONTAINER_TOOLS: [&str; 2] = ["docker", "podman"];

impl CgroupRef {
    /// Looks for its folder; may ask a daemon.
    pub(super) fn find(&self) -> Result<PathBuf, String> {
        match self {
            CgroupRef::Path(path) => find_path(path),
            CgroupRef::Container(name) => find_container(name),
        }
    }
}

fn find_path(path: &str) -> Result<PathBuf, String> {
    let below = path.trim_start_matches('/');
    let places = [PathBuf::from(path)].into_iter().filter(|path| path.is_absolute());
    let mut places = places.chain(ROOTS.iter().map(|root| Path::new(root).join(below)));
    places
        .find(|folder| is_group(folder))
        .ok_or_else(|| format!("there is no control group of version 2 at `{path}`"))
}

fn is_group(folder: &Path) -> bool {
    folder.join("cpu.stat").is_file()
}

fn find_container(name: &str) -> Result<PathBuf, String> {
    let is_id = name.len() >= SHORTEST_ID && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = if is_id { ROOTS.iter().find_map(|root| folder_of(Path::new(root), name)) } else { None };
    if let Some(folder) = found {
        return Ok(folder);
    }
    let Some(id) = CONTAINER_TOOLS.iter().find_map(|tool| id_of(tool, name)) else {
        return Err(format!(
            "no container `{name}` is known to {}; name its control group with `cgroup`, or the container by its id",
            CONTAINER_TOOLS.join(" or ")
        ));
    };
    let found = ROOTS.iter().find_map(|root| folder_of(Path::new(root), &id));
    found.ok_or_else(|| format!("the container `{name}` has no control group of version 2 on this machine"))
}

/// The group nearest to the root whose name has `id` in it, as `docker-ID.scope` and `libpod-ID.scope` do.
fn folder_of(root: &Path, id: &str) -> Option<PathBuf> {
    let mut level = vec![root.to_owned()];
    let mut seen = 0;
    while !level.is_empty() && seen < MOST_FOLDERS {
        let entries =
            level.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut next: Vec<PathBuf> = folders.map(|entry| entry.path()).take(MOST_FOLDERS).collect();
        next.sort();
        let has_id = |folder: &&PathBuf| {
            folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains(id))
                && is_group(folder)
        };
        if let Some(found) = next.iter().find(has_id) {
            return Some(found.clone());
        }
        seen += next.len();
        level = next;
    }
    None
}

fn id_of(tool: &str, name: &str) -> Option<String> {
    inspect(tool, "{{.Id}}", name)
        .filter(|id| id.len() >= SHORTEST_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What `tool` says of a container, in the format of its templates; none where it does not know the container.
pub(crate) fn inspect(tool: &str, format: &str, name: &str) -> Option<String> {
    let mut command = Command::new(tool);
    command.args(["container", "inspect", "--format", format, "--", name]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
