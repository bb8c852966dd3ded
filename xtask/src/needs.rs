//! Programs from the system that the build and its checks call, and where Debian keeps them.

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

/// What `cargo xtask test` cannot do without. A browser is not among them: only whoever renews the
/// screenshot in the README needs one.
pub(crate) const NEEDS: &[Need] = &[
    Need { binary: "cc", package: "build-essential", why: "compiles SQLite", is_there: in_path },
    Need { binary: "git", package: "git", why: "lists the files that `tidy` looks at", is_there: in_path },
    Need {
        binary: "go",
        package: "golang-go",
        why: "builds a target whose profiles `go tool pprof` reads too",
        is_there: |_| Toolchain::find().is_ok(),
    },
    Need {
        binary: "libfaketime",
        package: "libfaketime",
        why: "sets the clock of a service while it runs",
        // It is no program: tests look for the library in the same way.
        is_there: |_| Clock::is_installed(),
    },
    Need {
        binary: "nginx",
        package: "nginx-light",
        why: "is a server of others that the engine is held against",
        // It lies outside the search path of most users.
        is_there: |_| Nginx::is_installed(),
    },
    Need {
        binary: "postgres",
        package: POSTGRESQL,
        why: "is the other store of the services; version 15 or newer",
        // It lies outside the search path; tests look for it in the same way.
        is_there: |_| Installation::find().is_ok(),
    },
    Need {
        binary: "redis-server",
        package: "redis-server",
        why: "is watched by the tool's observers",
        // It may lie outside the search path; tests look for it in the same way.
        is_there: |_| Redis::is_installed(),
    },
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
            want_no_server_of_the_system(Path::new(CREATECLUSTER))?;
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

/// Debian would make a cluster and start it. Tests start their own, so none is wanted, unless somebody has decided
/// otherwise before.
fn want_no_server_of_the_system(folder: &Path) -> Result<()> {
    let file = folder.join("no-main-cluster.conf");
    if file.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&file, "create_main_cluster = false\n"))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// A fresh image has no package lists: they are fetched only if the first attempt shows that they lack.
fn install(package: &str) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
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
    fn whoever_wants_a_server_of_the_system_keeps_it() {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let file = folder.path().join("postgresql/no-main-cluster.conf");
        let write = || want_no_server_of_the_system(file.parent().expect("it lies in a folder"));
        write().expect("a fresh folder is made");
        let read = || std::fs::read_to_string(&file).expect("it is there");
        assert_eq!(read(), "create_main_cluster = false\n");
        std::fs::write(&file, "create_main_cluster = true\n").expect("it is ours");
        write().expect("nothing is to be done");
        assert_eq!(read(), "create_main_cluster = true\n");
    }

    #[test]
    fn what_is_there_is_not_asked_for() {
        provide(&[Need { binary: "sh", package: "dash", why: "runs", is_there: in_path }])
            .expect("every system has a shell");
    }

    #[test]
    fn what_is_missing_is_named_with_its_reason() {
        assert_eq!(
            request(&NEEDS.iter().collect::<Vec<_>>()),
            "missing: `cc` (compiles SQLite); `git` (lists the files that `tidy` looks at); `go` (builds a target whose \
             profiles `go tool pprof` reads too); `libfaketime` (sets the clock of a service while it runs); `nginx` (is a server of others that the engine is held against); \
             `postgres` (is the other store of the services; version 15 or newer); `redis-server` (is watched by the \
             tool's observers); run `apt-get install build-essential git golang-go libfaketime nginx-light postgresql \
             redis-server` or install them your system's way"
        );
    }
}
