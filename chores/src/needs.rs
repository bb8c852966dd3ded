//! Programs of the system that the build and its checks call, with their Debian packages.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use peers::faketime::Clock;
use peers::go::Toolchain;
use peers::nginx::Nginx;
use peers::postgres::Installation;
use peers::redis::Redis;

use crate::steps;

/// One program.
pub(crate) struct Need {
    binary: &'static str,
    package: &'static str,
    why: &'static str,
    is_there: fn(&str) -> bool,
}

impl Need {
    /// The program's name, or the path of a file.
    pub(crate) fn binary(&self) -> &'static str {
        self.binary
    }
}

/// A program in the search path.
pub(crate) const fn program(binary: &'static str, package: &'static str, why: &'static str) -> Need {
    Need { binary, package, why, is_there: in_path }
}

/// A file, by its absolute path.
pub(crate) const fn file(path: &'static str, package: &'static str, why: &'static str) -> Need {
    Need { binary: path, package, why, is_there: |path| Path::new(path).exists() }
}

/// What `cargo xtask test` needs. A browser is not among them: it is needed only to renew the picture in the README
/// (`docs/style.md`).
pub(crate) const NEEDS: &[Need] = &[
    Need { binary: "cc", package: "build-essential", why: "compiles SQLite", is_there: in_path },
    Need {
        binary: "curl",
        package: "curl",
        why: "sends what drafts of its commands are compared with",
        is_there: in_path,
    },
    Need { binary: "git", package: "git", why: "lists the files that `tidy` looks at", is_there: in_path },
    Need {
        binary: "go",
        package: "golang-go",
        why: "builds a target whose profiles `go tool pprof` reads too",
        is_there: |_| Toolchain::find().is_ok(),
    },
    Need {
        binary: "ip",
        package: "iproute2",
        why: "makes and cuts the cable between two network namespaces",
        is_there: in_path,
    },
    Need {
        binary: "libfaketime",
        package: "libfaketime",
        why: "sets the clock of a service while it runs",
        // It is not a program: tests look for the library in the same way.
        is_there: |_| Clock::is_installed(),
    },
    Need {
        binary: "nginx",
        package: "nginx-light",
        why: "is a third-party server that the engine is tested against",
        // It is outside the search path of most users.
        is_there: |_| Nginx::is_installed(),
    },
    Need {
        binary: "pgbouncer",
        package: "pgbouncer",
        why: "is between a service and its database",
        // It is outside the search path of most users.
        is_there: |_| Path::new("/usr/sbin/pgbouncer").exists(),
    },
    Need {
        binary: "postgres",
        package: POSTGRESQL,
        why: "is the other store of the services; version 15 or newer",
        // It is outside the search path; tests look for it in the same way.
        is_there: |_| Installation::find().is_ok(),
    },
    Need {
        binary: "redis-server",
        package: "redis-server",
        why: "is watched by the tool's observers",
        // It may be outside the search path; tests look for it in the same way.
        is_there: |_| Redis::is_installed(),
    },
    program("valgrind", "valgrind", "counts the instructions of a request"),
];

const POSTGRESQL: &str = "postgresql";

/// Read by PostgreSQL's packages when they are installed.
const CREATECLUSTER: &str = "/etc/postgresql-common/createcluster.d";

fn in_path(binary: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(binary).exists())
}

/// Installs what is missing, where this is allowed.
///
/// # Errors
/// Names the packages to install when this process may not, and fails when installing failed.
pub(crate) fn provide(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)(need.binary)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !may_install() {
        bail!("{}", request(&missing));
    }
    for need in missing {
        println!("installing {} ({} {})", need.package, need.binary, need.why);
        if need.package == POSTGRESQL {
            prevent_default_cluster(Path::new(CREATECLUSTER))?;
        }
        install(need.package)?;
    }
    Ok(())
}

fn request(missing: &[&Need]) -> String {
    let mut text = String::from("missing:");
    for need in missing {
        text.push_str(&format!(" `{}` ({});", need.binary, need.why));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    format!("{text} run `apt-get install {}` or install them your system's way", packages.join(" "))
}

fn may_install() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let root = std::fs::metadata("/proc/self").is_ok_and(|itself| itself.uid() == 0);
    root && Path::new("/usr/bin/apt-get").exists()
}

/// Debian would create a cluster and start it. Tests start their own, so the packages are configured not to, unless the
/// configuration exists already.
fn prevent_default_cluster(folder: &Path) -> Result<()> {
    let file = folder.join("no-main-cluster.conf");
    if file.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&file, "create_main_cluster = false\n"))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// A fresh image has no package lists: they are fetched only if the first attempt fails.
fn install(package: &str) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        // Another installation may be under way, such as the machine's own updates.
        command.args(["-o", "DPkg::Lock::Timeout=300"]).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        steps::run(command)
    };
    let attempt = ["install", "--yes", "--no-install-recommends", package];
    apt(&attempt).or_else(|_| {
        apt(&["update"])?;
        apt(&attempt)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_configuration_of_clusters_is_kept() {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let file = folder.path().join("postgresql/no-main-cluster.conf");
        let write = || prevent_default_cluster(file.parent().expect("it is in a folder"));
        write().expect("a fresh folder is made");
        let read = || std::fs::read_to_string(&file).expect("it is there");
        assert_eq!(read(), "create_main_cluster = false\n");
        std::fs::write(&file, "create_main_cluster = true\n").expect("it is ours");
        write().expect("nothing is to be done");
        assert_eq!(read(), "create_main_cluster = true\n");
    }

    #[test]
    fn an_installed_program_is_not_requested() {
        provide(&[Need { binary: "sh", package: "dash", why: "runs", is_there: in_path }])
            .expect("every system has a shell");
    }

    #[test]
    fn missing_programs_are_named_with_their_reasons() {
        assert_eq!(
            request(&NEEDS.iter().collect::<Vec<_>>()),
            "missing: `cc` (compiles SQLite); `curl` (sends what drafts of its commands are compared with); `git` (lists the files that `tidy` looks at); `go` (builds a target whose \
             profiles `go tool pprof` reads too); `ip` (makes and cuts the cable between two network namespaces); \
             `libfaketime` (sets the clock of a service while it runs); `nginx` (is a third-party server that the engine is tested against); \
             `pgbouncer` (is between a service and its database); `postgres` (is the other store of the services; version 15 or newer); `redis-server` (is watched by the \
             tool's observers); `valgrind` (counts the instructions of a request); run `apt-get install build-essential curl git \
             golang-go iproute2 libfaketime nginx-light pgbouncer postgresql redis-server valgrind` or install them your system's way"
        );
    }
}
