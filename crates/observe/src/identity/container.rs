//! The container that a process runs in, as far as its control groups show.

use std::fs;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::{UNKNOWN, or_unknown};
use crate::cgroup::{CONTAINER_TOOLS, inspect};

/// Hexadecimal digits of an id, in every runtime.
const ID_DIGITS: usize = 64;
const NONE: &str = "none visible";
/// How long a daemon may take to name an image.
const PATIENCE: Duration = Duration::from_secs(5);

/// Its id and its image.
pub(super) fn of(pid: u32) -> Vec<(&'static str, String)> {
    let groups = match fs::read_to_string(format!("/proc/{pid}/cgroup")) {
        Ok(groups) => groups,
        Err(why) => return vec![("container", or_unknown(Err(why)))],
    };
    let Some(id) = id_in(&groups) else { return vec![("container", NONE.to_owned())] };
    vec![("container", id.to_owned()), ("container_image", image(id))]
}

/// The id in the paths of its control groups: `/docker/ID`, `/…/cri-containerd-ID.scope` and their like.
fn id_in(groups: &str) -> Option<&str> {
    let mut runs = groups.split(|char: char| !char.is_ascii_hexdigit());
    runs.find(|run| run.len() == ID_DIGITS)
}

/// The id of its image, which is a digest of all that is in it.
fn image(id: &str) -> String {
    let (found, image) = channel();
    let id = id.to_owned();
    let asking = thread::Builder::new().spawn(move || {
        let image = CONTAINER_TOOLS.iter().find_map(|tool| inspect(tool, "{{.Image}}", &id));
        drop(found.send(image));
    });
    let image = asking.ok().and_then(|_| image.recv_timeout(PATIENCE).ok()?);
    image.unwrap_or_else(|| format!("{UNKNOWN}: {} did not name it", CONTAINER_TOOLS.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_the_paths_of_every_runtime() {
        let id = "0123456789abcdef".repeat(4);
        for path in [
            format!("12:cpu,cpuacct:/docker/{id}\n0::/docker/{id}\n"),
            format!("0::/system.slice/docker-{id}.scope\n"),
            format!("0::/kubepods.slice/kubepods-pod1a.slice/cri-containerd-{id}.scope\n"),
            format!("0::/machine.slice/libpod-{id}.scope/container\n"),
        ] {
            assert_eq!(id_in(&path), Some(id.as_str()), "{path}");
        }
        assert_eq!(id_in("0::/user.slice/user-1000.slice/session-2.scope\n"), None);
        assert_eq!(id_in(&format!("0::/{id}f\n")), None);
    }
}
